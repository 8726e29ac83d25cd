// Package domain composes the packages of the domain: sites, uploads, models,
// forecasts, findings, alerts, issues, detections, KPIs and shift logs, each with its
// records and rules. backend/domain/maintenance is above them.
//
// Records are kept in [store.Table]s. A query takes the caller's [api.Scope] and
// returns the errors of the contract (*[api.Error]); what the service does by itself
// takes none. No package reads the table of another; it calls a function with a
// [store.Tx]. The packages know neither HTTP nor the pipeline, and read no clock but
// the one that they are given.
package domain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/domain/activity"
	"app.sunloop/backend/domain/alert"
	"app.sunloop/backend/domain/availability"
	"app.sunloop/backend/domain/detection"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/domain/issue"
	"app.sunloop/backend/domain/kpi"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/run"
	"app.sunloop/backend/domain/shift"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/store"
)

// Services are the domain's services over one store and one clock.
type Services struct {
	Activities   *activity.Service
	Sites        *site.Service
	Uploads      *upload.Service
	Models       *model.Service
	Forecasts    *forecast.Service
	Findings     *finding.Service
	Alerts       *alert.Service
	Issues       *issue.Service
	Detections   *detection.Service
	Availability *availability.Service
	KPIs         *kpi.Service
	Runs         *run.Service
	Shifts       *shift.Service

	records store.Records
}

// New returns the services over a store. now is the plant's clock: what the times of
// telemetry are compared with.
func New(records store.Records, telemetry store.Telemetry, now func() time.Time) *Services {
	s := &Services{Activities: activity.New(records, now), Uploads: upload.New(records, now), Findings: finding.New(records, now), records: records}
	s.Sites = site.New(records, telemetry, now, s.Activities)
	s.Models = model.New(records, now, s.Sites)
	s.Forecasts = forecast.New(records, now, s.Sites)
	s.Alerts = alert.New(records, now, s.Activities, s.Sites)
	s.Issues = issue.New(records, now, s.Activities, s.Sites, s.Alerts)
	s.Detections = detection.New(records, now, s.Activities, s.Sites, s.Findings, s.Alerts, s.Issues)
	s.Availability = availability.New(records, telemetry, now, s.Activities, s.Sites, s.Models, s.Forecasts)
	s.Runs = run.New(records, now, s.Sites)
	s.KPIs = kpi.New(records, telemetry, now, s.Sites, s.Models, s.Forecasts, s.Availability)
	s.Shifts = shift.New(records, now, s.Activities, s.Sites)
	return s
}

// Tables returns the tables of these packages, for a check of the data.
func Tables() []store.Checked {
	return slices.Concat(activity.Tables(), site.Tables(), upload.Tables(), model.Tables(), forecast.Tables(), finding.Tables(), alert.Tables(), issue.Tables(), detection.Tables(), availability.Tables(), kpi.Tables(), run.Tables(), shift.Tables())
}

// SiteRecords returns the records of these packages: all are of sites.
func SiteRecords() []record.OfSite {
	list := slices.Concat(site.SiteRecords(), upload.SiteRecords(), model.SiteRecords(), finding.SiteRecords(), alert.SiteRecords())
	for _, t := range slices.Concat(activity.Tables(), forecast.Tables(), issue.Tables(), detection.Tables(), availability.Tables(), kpi.Tables(), run.Tables(), shift.Tables()) {
		list = append(list, record.OfSite{Prefixed: t.(store.Prefixed)})
	}
	return list
}

// RenameAsset replaces a unit of a site by another one in the records of these
// packages but those of the units themselves.
func RenameAsset(tx store.Tx, siteID, from, to string) error {
	for _, rename := range []func(tx store.Tx, siteID, from, to string) error{upload.RenameAsset, finding.RenameAsset, alert.RenameAsset, issue.RenameAsset,
		detection.RenameAsset, availability.RenameAsset} {
		if err := rename(tx, siteID, from, to); err != nil {
			return fmt.Errorf("replace the unit %s of site %s by %s: %w", from, siteID, to, err)
		}
	}
	return nil
}

// ObjectRefs returns all objects that records refer to. Records that cannot be read
// are left out: the check of their table reports them.
func ObjectRefs(tx store.Tx) ([]record.ObjectRef, error) {
	ofUploads, err := upload.ObjectRefs(tx)
	ofModels, err2 := model.ObjectRefs(tx)
	return append(ofUploads, ofModels...), errors.Join(err, err2)
}

// IsReferenced reports whether an upload refers to an object by its key, or a model or
// a result of the site by its key or URI; siteID is empty for what only uploads refer
// to.
func IsReferenced(tx store.Tx, siteID, key, uri string) (bool, error) {
	if is, err := upload.IsReferenced(tx, key); err != nil || is || siteID == "" {
		return is, err
	}
	return model.IsReferenced(tx, siteID, key, uri)
}

// Limits are the times before which records are deleted.
type Limits struct {
	Forecasts  time.Time // and their weather; the first of each site's day stays
	Activities time.Time
	Detections time.Time
	Shifts     time.Time // entries of shift logs
}

// Prune deletes some of the records that are older than the limits, and returns how
// many it deleted: 0 when none is left to delete.
func (s *Services) Prune(ctx context.Context, limits Limits) (n int, err error) {
	err = s.records.Update(ctx, func(tx store.Tx) error {
		n = 0
		for _, one := range []struct {
			prune  func(store.Tx, time.Time) (int, error)
			before time.Time
		}{
			{forecast.Prune, limits.Forecasts}, {forecast.PruneWeather, limits.Forecasts}, {activity.Prune, limits.Activities},
			{detection.PruneDetections, limits.Detections}, {detection.PruneDiagnostics, limits.Detections}, {shift.Prune, limits.Shifts},
		} {
			k, err := one.prune(tx, one.before)
			if err != nil {
				return err
			}
			n += k
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("delete old records: %w", err)
	}
	return n, nil
}
