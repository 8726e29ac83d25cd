package detection

import (
	"context"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/detect"
)

// window is the time that a run of the detector reads: from to before now. Events
// that were over at judged are those of an earlier window.
type window struct{ from, now, judged time.Time }

// spans are what a detection of a site evaluates.
type spans struct {
	window          // of the run over the present
	long   bool     // it evaluates months
	past   []window // of imported years before it, ascending
}

// spanOf returns what a detection evaluates: the last 60 days, months once a day and
// when an import reaches back further, and all of an imported history. Years that do
// not fit into the run over the present, or that are separated from it by years without
// data, have windows of their own, which overlap so that a fault at an edge is seen.
func (de *Detector) spanOf(s sitedata.State, units int) spans {
	now := de.Now()
	if !s.IsReporting(now) || s.LastData.After(now) || s.Rhythm.Judge(now).Daily {
		// A file without a feed ends where it ends, and so does one a day: between two
		// files nothing is missing.
		now = s.LastData.Add(time.Second)
	}
	most := max(longRunSamples*5*time.Minute/time.Duration(max(units, 1)), minLongSpan)
	first := s.HistoryFrom.Add(-leadSpan)
	out := spans{window: window{from: now.Add(-shortSpan), now: now}}
	out.long = s.DetectData == 0 || de.Now().Sub(s.LongRunAt) >= longRunEvery || s.LongRunAt.After(de.Now()) ||
		!s.HistoryFrom.IsZero() && s.HistoryFrom.Before(out.from.Add(learnSpan))
	if !out.long {
		return out
	}
	out.from = now.Add(-min(most, maxLongSpan))
	if s.HistoryFrom.IsZero() || !first.Before(out.from) {
		return out
	}
	end := s.HistoryTo.Add(time.Second)
	if end.Add(leadSpan).After(out.from) {
		out.from = now.Add(-most)
		if !first.Before(out.from) {
			out.from = first
			return out
		}
		end = out.from.Add(most / 3)
	}
	for from, judged := first, s.HistoryFrom; ; from = from.Add(most * 2 / 3) {
		w := window{from: from, now: from.Add(most), judged: judged}
		if !w.now.Before(end) {
			w.now = end
			out.past = append(out.past, w)
			return out
		}
		out.past = append(out.past, w)
		judged = w.now
	}
}

// detectPast evaluates imported years before those of the run over the present.
func (de *Detector) detectPast(ctx context.Context, site api.Site, units []api.Asset, w window) error {
	in, err := de.detectorInput(ctx, site, units, w)
	if err != nil {
		return err
	}
	in.Keep = 0
	report, err := detect.Run(ctx, in)
	if err != nil {
		return err
	}
	run := de.runRecord(site, units, in, report, true)
	run.Events = slices.DeleteFunc(run.Events, func(e finding.Event) bool { return !e.LastPresent().After(w.judged) })
	for i := range run.Events {
		if e := &run.Events[i]; e.End.IsZero() {
			e.End = e.LastSeen
		}
	}
	return de.Records.Update(ctx, func(tx store.Tx) error { return de.Domain.Detections.RecordPast(tx, run) })
}
