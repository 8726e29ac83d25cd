package detection

import (
	"context"
	"errors"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/detect"
	"app.sunloop/engine/diagnose"
)

// silentTogether is the time between the last data of units that are silent of one cause, such as their
// logger.
const silentTogether = 5 * time.Minute

// RecordUnitSilences opens, continues or ends the findings of units of a site whose data
// should have arrived by their own rhythm, while the site delivers. If the whole site is
// silent, that is the finding. A unit whose gap the detector has found already has no
// second one.
func (de *Detector) RecordUnitSilences(ctx context.Context, siteID string) error {
	due := false
	err := de.Records.View(ctx, func(tx store.Tx) error {
		list, err := sitedata.UnitRhythms(tx, siteID)
		due = len(list) > 1 && slices.ContainsFunc(list, func(u sitedata.UnitRhythm) bool { return unitSilenceDue(u, de.Now()) })
		return err
	})
	if err != nil || !due {
		return err
	}
	err = de.Records.Update(ctx, func(tx store.Tx) error {
		site, err := de.Domain.Sites.SiteIn(tx, api.Unlimited(sitedata.Actor), siteID)
		if err != nil {
			return err
		}
		units, err := de.Domain.Sites.AssetsInTx(tx, siteID)
		if err != nil {
			return err
		}
		now := de.Now()
		state, err := sitedata.StateIn(tx, siteID)
		if err != nil {
			return err
		}
		whole := state.Rhythm.Judge(now).Silent
		list, err := sitedata.UnitRhythms(tx, siteID)
		if err != nil {
			return err
		}
		active, err := finding.Active(tx, siteID)
		if err != nil {
			return err
		}
		ratings := map[string]float64{}
		for _, u := range units {
			ratings[u.AssetID] = u.CapacityKW
		}
		var events []detect.Event
		for _, u := range list {
			if _, ok := ratings[u.AssetID]; !ok || len(units) < 2 || !unitSilenceDue(u, now) && u.SilentSince.IsZero() {
				continue // one whose silence is a finding is recorded with those that have the same cause
			}
			if u.SilentSince.IsZero() && (whole || hasGap(active, u.AssetID)) {
				continue
			}
			e := silenceEvent(u.Rhythm, &u.SilentSince, &u.SilentAt, now)
			if e.Family == "" {
				continue
			}
			e.Units = []string{u.AssetID}
			events = append(events, e)
			if err := sitedata.PutUnitRhythm(tx, u); err != nil {
				return err
			}
		}
		if len(events) == 0 {
			return nil
		}
		events = detect.Together(events, silentTogether, ratings)
		from := events[0].Start
		for _, e := range events {
			from = record.Earlier(from, e.Start)
		}
		in := detect.Input{Site: detect.Site{ID: siteID, Zone: record.Zone(site.Timezone)}, Now: now}
		run := finding.Run{Site: site, ModelVersion: detectorVersion, From: from, Now: now, Analyses: map[string]api.Analysis{}}
		for _, f := range diagnose.Explain(in, detect.Report{Events: events, RatingKW: ratings}) {
			run.Events = append(run.Events, eventOf(f))
		}
		_, err = de.Domain.Detections.RecordRun(tx, run)
		return err
	})
	if errors.Is(err, api.ErrSiteNotFound) {
		return nil
	}
	return record.Wrap(err, "record the silence of units of site "+siteID)
}

// unitSilenceDue reports whether the finding of a silence of a unit has to be opened,
// recorded again, or ended.
func unitSilenceDue(u sitedata.UnitRhythm, now time.Time) bool {
	recorded := !u.SilentSince.IsZero()
	if !u.Rhythm.Judge(now).Silent {
		return recorded
	}
	return !recorded || now.Sub(u.SilentAt) >= silentAgain
}

// hasGap reports whether a lasting gap of a unit is a finding of the detector.
func hasGap(active []finding.Finding, unit string) bool {
	return slices.ContainsFunc(active, func(f finding.Finding) bool {
		return f.FaultFamily == string(detect.CommunicationGap) && f.Affects(unit)
	})
}

// withoutSilent leaves out the lasting gaps of units whose silence is a finding already:
// one cause has one alarm.
func (de *Detector) withoutSilent(ctx context.Context, siteID string, events []finding.Event) ([]finding.Event, error) {
	silent := map[string]bool{}
	var active []finding.Finding
	err := de.Records.View(ctx, func(tx store.Tx) error {
		list, err := sitedata.UnitRhythms(tx, siteID)
		if err != nil {
			return err
		}
		for _, u := range list {
			if !u.SilentSince.IsZero() {
				silent[u.AssetID] = true
			}
		}
		if len(silent) > 0 {
			active, err = finding.Active(tx, siteID)
		}
		return err
	})
	return slices.DeleteFunc(events, func(e finding.Event) bool {
		return e.Family == string(detect.CommunicationGap) && e.End.IsZero() && !slices.ContainsFunc(e.Affected(), func(u string) bool { return !silent[u] || hasGap(active, u) })
	}), err
}
