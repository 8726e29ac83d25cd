package kpi

import (
	"context"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/issue"
	"app.sunloop/backend/store"
	"app.sunloop/engine/detect"
	"app.sunloop/engine/kpi"
	"app.sunloop/engine/loss"
	"app.sunloop/engine/series"
)

// events are what detection and people said of a site.
type events struct {
	findings     []finding.Finding
	losses       []loss.Ledger        // of each finding
	acknowledged map[string]time.Time // when a person took the finding's issue on
}

// Families that figures take together.
var (
	failureFamilies = []string{string(detect.InverterOutage), string(detect.GroundFault), string(detect.ArcFault), string(detect.IntermittentTrip), string(detect.TrackerFault), string(detect.StringOutage)}
	soilingFamilies = []string{string(detect.Soiling)}
)

// readEvents reads the site's findings, without the texts and lists that no figure
// needs, and when their issues were acknowledged.
func (s *Service) readEvents(ctx context.Context, siteID string, zone *time.Location) (e events, err error) {
	err = s.records.View(ctx, func(tx store.Tx) error {
		e = events{acknowledged: map[string]time.Time{}}
		err := finding.EachOfSite(tx, siteID, func(f finding.Finding) error {
			f.RecommendedActions, f.Detections, f.Causes, f.Evidence, f.Summary, f.RootCause = nil, nil, nil, nil, "", ""
			e.losses = append(e.losses, f.Ledger(zone))
			f.Losses = nil
			e.findings = append(e.findings, f)
			return ctx.Err()
		})
		if err != nil {
			return fmt.Errorf("list the findings of site %s: %w", siteID, err)
		}
		err = issue.EachOfSite(tx, siteID, func(i issue.Issue) error {
			for _, m := range i.History {
				if m.From == api.IssueNew && m.To == api.IssueInProgress {
					e.acknowledged[i.SummaryID] = m.At.Time
				}
			}
			return ctx.Err()
		})
		if err != nil {
			return fmt.Errorf("list the issues of site %s: %w", siteID, err)
		}
		return nil
	})
	return e, err
}

// lostKWh returns the losses in from..to of findings of the families, nil for all,
// by the hours in which they occurred.
func (e events) lostKWh(from, to time.Time, families []string) float64 {
	sum := 0.0
	for i, f := range e.findings {
		if families != nil && !slices.Contains(families, f.FaultFamily) {
			continue
		}
		sum += e.losses[i].Between(from, to)
	}
	return sum
}

// begun counts the failures of units that began in from..to.
func (e events) begun(from, to time.Time) int {
	n := 0
	for _, f := range e.findings {
		if slices.Contains(failureFamilies, f.FaultFamily) && !f.StartedAt.Before(from) && f.StartedAt.Before(to) {
			n++
		}
	}
	return n
}

// failures returns those of units that ended in from..to.
func (e events) failures(from, to time.Time) []kpi.Failure {
	var list []kpi.Failure
	for _, f := range e.findings {
		if f.Active || !slices.Contains(failureFamilies, f.FaultFamily) || f.EndedAt.Before(from) || !f.EndedAt.Before(to) {
			continue
		}
		one := kpi.Failure{Onset: f.StartedAt.Time, Detected: f.DetectedAt.Time, Acknowledged: e.acknowledged[f.SummaryID], Restored: f.EndedAt.Time}
		if one.Detected.IsZero() && f.CreatedAt.Before(f.EndedAt.Time) {
			one.Detected = f.CreatedAt.Time // a finding of an earlier version
		}
		if one.Detected.Before(one.Onset) {
			one.Detected = time.Time{}
		}
		if one.Acknowledged.Before(one.Detected) {
			one.Acknowledged = time.Time{}
		}
		list = append(list, one)
	}
	return list
}

// soiling is the site's soiling ratio: of each day its yield, and what it would
// have been without what dirt took.
func (r *reading) soiling(e events) float64 {
	var yield, clean, insolation []float64
	for from, to := range series.Days(r.from, r.to, r.zone) {
		power, sun := r.power.Slice(from, to), r.irradiance.Slice(from, to)
		made := kpi.SpecificYield(power.EnergyKWh(), r.ratedKW)
		yield = append(yield, made)
		clean = append(clean, made+e.lostKWh(from, to, soilingFamilies)/r.ratedKW)
		insolation = append(insolation, kpi.ReferenceYield(sun, nil).Hours)
	}
	return kpi.SoilingRatio(yield, clean, insolation)
}
