package detection

import (
	"context"
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/detect"
	"app.sunloop/engine/diagnose"
	"app.sunloop/engine/rhythm"
	"app.sunloop/internal/display"
)

// silentAgain is the time after which a lasting silence is recorded again.
const silentAgain = 6 * time.Hour

// SilenceDue reports whether the finding of a silence of a site has to be opened,
// recorded again, or ended.
func SilenceDue(s sitedata.State, now time.Time) bool {
	recorded := !s.SilentSince.IsZero()
	if !s.Rhythm.Judge(now).Silent {
		return recorded
	}
	return !recorded || now.Sub(s.SilentAt) >= silentAgain
}

// RecordSilence opens, continues or ends the finding of a silence: a site whose data
// should have arrived by its rhythm. It is a finding with an issue and an alert, as any
// other.
func (de *Detector) RecordSilence(ctx context.Context, siteID string) error {
	err := de.Records.Update(ctx, func(tx store.Tx) error {
		site, err := de.Domain.Sites.SiteIn(tx, api.Unlimited(sitedata.Actor), siteID)
		if err != nil {
			return err
		}
		units, err := de.Domain.Sites.AssetsInTx(tx, siteID)
		if err != nil {
			return err
		}
		now, event := de.Now(), detect.Event{}
		_, err = sitedata.UpdateState(tx, siteID, func(t *sitedata.State) {
			event = silence(t, now)
		})
		if err != nil || event.Family == "" || len(units) == 0 {
			return err
		}
		ratings := map[string]float64{}
		for _, u := range units {
			event.Units = append(event.Units, u.AssetID)
			ratings[u.AssetID] = u.CapacityKW
		}
		in := detect.Input{Site: detect.Site{ID: siteID, Zone: record.Zone(site.Timezone)}, Now: now}
		run := finding.Run{Site: site, ModelVersion: detectorVersion, From: event.Start, Now: now, Analyses: map[string]api.Analysis{}}
		for _, f := range diagnose.Explain(in, detect.Report{Events: []detect.Event{event}, RatingKW: ratings}) {
			run.Events = append(run.Events, eventOf(f))
		}
		_, err = de.Domain.Detections.RecordRun(tx, run)
		return err
	})
	if errors.Is(err, api.ErrSiteNotFound) {
		return nil
	}
	return record.Wrap(err, "record the silence of site "+siteID)
}

// silence is the event by the rhythm of a site, whose state it changes; an event without
// a family if there is nothing to record.
func silence(t *sitedata.State, now time.Time) detect.Event {
	return silenceEvent(t.Rhythm, &t.SilentSince, &t.SilentAt, now)
}

// silenceEvent is the event by a rhythm; since is the last arrival before a recorded
// silence, and at when that was recorded last, which it changes.
func silenceEvent(arrivals rhythm.Record, since, at *time.Time, now time.Time) detect.Event {
	r := arrivals.Judge(now)
	e := detect.Event{Family: detect.DataSilence, LastSeen: now, DetectedAt: now}
	switch {
	case r.Silent:
		if since.IsZero() || since.Before(r.Since) {
			*since = r.Since
		}
		*at = now
		e.Start = *since
	case !since.IsZero():
		end := arrivals.Last
		if !end.After(*since) {
			end = now
		}
		e.Start, e.End, e.LastSeen, e.DetectedAt = *since, &end, end, end
		*since, *at = time.Time{}, time.Time{}
	default:
		return detect.Event{}
	}
	e.Evidence = silenceEvidence(arrivals, r, now)
	return e
}

func silenceEvidence(record rhythm.Record, r rhythm.Evaluation, now time.Time) []detect.Evidence {
	hours := func(d time.Duration) float64 { return float64(d) / float64(time.Hour) }
	out := []detect.Evidence{{Kind: "no_arrival", Weight: 3, Value: hours(now.Sub(record.Last)), Unit: "h",
		Text: fmt.Sprintf("The newest sample is from %s UTC; the last data arrived at %s UTC.", display.DateTime(record.Newest.UTC()), display.DateTime(record.Last.UTC()))}}
	if r.Known {
		out = append(out, detect.Evidence{Kind: "usual_interval", Weight: 2, Value: hours(r.Usual), Unit: "h", Text: "Usually data arrive " + r.Describe() + "."})
	}
	if r.Repeating {
		out = append(out, detect.Evidence{Kind: "old_data", Weight: 1, Value: float64(record.Old), Unit: "deliveries",
			Text: display.CountOf(record.Old, "delivery", "deliveries") + " since held no newer sample: the sender repeats old data."})
	}
	return out
}
