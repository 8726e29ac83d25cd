package detection

import (
	"context"
	"errors"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/detect"
	"app.sunloop/engine/diagnose"
)

// How far back the samples are read in which units report faults: for a new report, and
// for those that last, of units that may be silent meanwhile.
const (
	reportedSpan = 2 * time.Hour
	lastingSpan  = 25 * time.Hour
)

// RecordReported opens findings of what units of a site report with their newest samples,
// by state and event bits, unless there is one: within the commit of these samples, before
// the detector runs. The runs of the detector keep such a finding as long as the unit
// reports it, and end it.
func (de *Detector) RecordReported(ctx context.Context, siteID string) error {
	site, err := de.Domain.Sites.Site(ctx, api.Unlimited(sitedata.Actor), siteID)
	if errors.Is(err, api.ErrSiteNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	units, err := de.Domain.Sites.SiteAssets(ctx, siteID)
	if err != nil {
		return err
	}
	events, found, err := de.reported(ctx, site, units, reportedSpan)
	if err != nil || len(events) == 0 {
		return err
	}
	err = de.Records.Update(ctx, func(tx store.Tx) error {
		list, err := finding.Active(tx, siteID)
		if err != nil {
			return err
		}
		var active []detect.Event
		for _, f := range list {
			active = append(active, detect.Event{Family: detect.Family(f.FaultFamily), Units: f.Affected()})
		}
		now := de.Now()
		run := finding.Run{Site: site, ModelVersion: detectorVersion, From: now.Add(-reportedSpan), Now: now, Analyses: map[string]api.Analysis{}}
		for i, e := range events {
			if !detect.Covered(active, e) {
				run.Events = append(run.Events, found[i])
			}
		}
		if len(run.Events) == 0 {
			return nil
		}
		_, err = de.Domain.Detections.RecordRun(tx, run)
		return err
	})
	return record.Wrap(err, "record what units of site "+siteID+" report")
}

// reported returns what units of a site report now, by the samples of a span, as events and as they are recorded.
func (de *Detector) reported(ctx context.Context, site api.Site, units []api.Asset, span time.Duration) (events []detect.Event, found []finding.Event, err error) {
	now := de.Now()
	in, err := de.detectorInput(ctx, site, units, window{from: now.Add(-span), now: now.Add(time.Second)})
	if err != nil {
		return nil, nil, err
	}
	events = detect.Reported(in)
	ratings := map[string]float64{}
	for _, u := range units {
		ratings[u.AssetID] = u.CapacityKW
	}
	for _, f := range diagnose.Explain(in, detect.Report{Events: events, RatingKW: ratings}) {
		found = append(found, eventOf(f))
	}
	return events, found, nil
}

// withReported adds what units report and a run did not find by itself, of a site whose
// devices are read now: such a finding lasts as long as its report.
func (de *Detector) withReported(ctx context.Context, site api.Site, units []api.Asset, state sitedata.State, run *finding.Run, report detect.Report) error {
	if !state.Live {
		return nil
	}
	events, found, err := de.reported(ctx, site, units, lastingSpan)
	if err != nil {
		return err
	}
	for i, e := range events {
		if !detect.Covered(report.Events, e) {
			run.Events = append(run.Events, found[i])
		}
	}
	return nil
}
