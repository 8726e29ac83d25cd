package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/ops"
	"app.sunloop/backend/store"
	"app.sunloop/engine/forecast"
	"app.sunloop/engine/series"
)

// Days that a challenger and the production model are held against each other
// on: neither may have seen them. They are half of the new days, so that the
// challenger has learned from the other half.
const (
	fewestHeldOut = 14
	mostHeldOut   = 30
)

// heldOut is where the held-out days begin, for a model that learned up to one
// time from data that reach to another; ok is false where they are too few.
func heldOut(learned, end time.Time) (cut time.Time, ok bool) {
	days := min(int(end.Sub(learned)/(2*day)), mostHeldOut)
	return end.Add(-time.Duration(days) * day), days >= fewestHeldOut
}

// trained is what a training gave. The evaluation is nil where there was
// nothing to hold the model against, or no days to do it on.
type trained struct {
	model      *forecast.Model
	report     forecast.Report
	evaluation *api.ModelEvaluation
}

// compete trains a site's model. Where the production model has not seen the
// newest days, these are held out first: a model that learned from what lies
// before them and the production model forecast them, as they would have been
// forecast then. If the new one wins it learns again from all data; if not, it
// stays as it was judged.
func (p *Pipeline) compete(ctx context.Context, site forecast.Site, h history) (trained, error) {
	former, err := p.model(ctx, site.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return trained{}, err
	}
	power := h.trimmed()
	learned := former.record.TrainingDataWindow.End.UTC()
	cut, ok := heldOut(learned, power.End())
	if former.model == nil || !ok {
		return p.fit(ctx, site, h, 0, 1)
	}
	t, err := p.fit(ctx, site, h.before(cut), 0, 0.5)
	if errors.Is(err, forecast.ErrUnfit) {
		return p.fit(ctx, site, h, 0.5, 1)
	}
	if err != nil {
		return t, err
	}
	// As it was trained: what it has learned of its bands since, it has from
	// these very days.
	then, err := p.decode(ctx, former.record)
	if err != nil {
		return t, fmt.Errorf("read the model of site %s: %w", site.ID, err)
	}
	scores, err := p.contest(ctx, site, h, cut, power.End(), then, t.model)
	if err != nil {
		return t, err
	}
	e := ops.HeldOut(scores[0], scores[1], api.Window{Start: api.At(cut), End: api.At(power.End())}, power.End().Sub(learned))
	e.Against = former.record.ModelVersion
	if e.Eligible {
		if t, err = p.fit(ctx, site, h, 0.5, 1); err != nil {
			return t, err
		}
		e.Verdict += "; then it learned from these days too"
	}
	t.evaluation = &e
	return t, nil
}

// fit trains; from and to are the shares of the stage that it takes.
func (p *Pipeline) fit(ctx context.Context, site forecast.Site, h history, from, to float64) (trained, error) {
	train := forecast.Train
	if h.young {
		train = forecast.Join
	}
	model, report, err := train(ctx, site, forecast.History{Power: h.trimmed(), Weather: h.weather, Siblings: h.siblings}, forecast.Options{
		Seed: seed(site.ID), Workers: p.TrainWorkers, Resolution: modelStep,
		Progress: func(_ string, share float64) { p.progress.siteAt(site.ID, stageTraining, from+(to-from)*share) },
	})
	return trained{model: model, report: report}, err
}

// daylight is what share of capacity a clear sky must give for an hour to
// count.
const daylight = 0.02

// contest lets models forecast each day of a span from its midnight on, all
// from what was known then, and scores them on the same hours.
func (p *Pipeline) contest(ctx context.Context, site forecast.Site, h history, from, to time.Time, models ...*forecast.Model) ([]api.ModelScore, error) {
	tallies := make([]ops.Tally, len(models))
	for start, end := range series.Days(from, to, site.Zone) {
		if start.Before(from) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		said, err := p.hindsight(ctx, site, models, h, start, end.Sub(start))
		if err != nil {
			return nil, fmt.Errorf("evaluate the models of site %s on %s: %w", site.ID, start.Format(time.DateOnly), err)
		}
		for k := range said[0] {
			compare(tallies, said, k, h.power.At(said[0][k].Time), site.CapacityKW)
		}
	}
	out := make([]api.ModelScore, len(models))
	for i, t := range tallies {
		out[i] = t.Score()
	}
	return out, nil
}

// hindsight is what each model says at an issue in the past, from what was
// known then.
func (p *Pipeline) hindsight(ctx context.Context, site forecast.Site, models []*forecast.Model, h history, issue time.Time, horizon time.Duration) ([][]forecast.Point, error) {
	known := h.before(issue.Truncate(modelStep))
	wx, err := p.weatherThen(ctx, site.ID, site.Location, known, issue, horizon)
	if err != nil {
		return nil, err
	}
	said := make([][]forecast.Point, len(models))
	for i, m := range models {
		if said[i], err = m.Forecast(issue, known.power, wx, horizon); err != nil {
			return nil, err
		}
	}
	return said, nil
}

// compare adds one hour to the tallies, if it was measured and all models take
// it for daylight.
func compare(tallies []ops.Tally, said [][]forecast.Point, k int, actualKW, capacityKW float64) {
	if math.IsNaN(actualKW) {
		return
	}
	for _, points := range said {
		if k >= len(points) || !points[k].Time.Equal(said[0][k].Time) || points[k].ClearSkyKW <= daylight*capacityKW {
			return
		}
	}
	for i, points := range said {
		tallies[i].Add(points[k].P10KW, points[k].P50KW, points[k].P90KW, actualKW, capacityKW)
	}
}
