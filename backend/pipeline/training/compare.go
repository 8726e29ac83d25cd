package training

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"app.sunloop/backend/api"
	forecasts "app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/forecast"
	"app.sunloop/engine/series"
)

// Number of days on which a challenger and the production model are compared.
// Neither may have seen them. They are half of the new days, so that the
// challenger is trained on the other half.
const (
	minHoldoutDays = 14
	maxHoldoutDays = 30
)

// holdoutStart returns where the hold-out days begin, for a model that was trained
// on data up to one time and data that reach to another. ok is false if there are
// too few days.
func holdoutStart(learned, end time.Time) (cut time.Time, ok bool) {
	days := min(int(end.Sub(learned)/(2*day)), maxHoldoutDays)
	return end.Add(-time.Duration(days) * day), days >= minHoldoutDays
}

// trained is the result of a training. The evaluation is nil if there was no other
// model to compare with, or there were no hold-out days.
type trained struct {
	model      *forecast.Model
	report     forecast.Report
	evaluation *api.ModelEvaluation
}

// trainChallenger trains a site's model. If the production model has not seen the
// newest days, these are held out first: a model of the data before them and the
// production model forecast them from what was known at the time. If the new model
// wins, it is trained again on all data; if not, it stays as it was evaluated.
func (tr *Trainer) trainChallenger(ctx context.Context, site forecast.Site, h sitedata.History) (trained, error) {
	former, err := tr.Model(ctx, site.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return trained{}, err
	}
	power := h.Trimmed()
	learned := former.Record.TrainingDataWindow.End.UTC()
	cut, ok := holdoutStart(learned, power.End())
	if former.Model == nil || !ok {
		return tr.fit(ctx, site, h, 0, 1)
	}
	t, err := tr.fit(ctx, site, h.Before(cut), 0, 0.5)
	if errors.Is(err, forecast.ErrUnfit) {
		return tr.fit(ctx, site, h, 0.5, 1)
	}
	if err != nil {
		return t, err
	}
	// As it was trained: what it has learned of its bands since, it has from
	// these very days.
	then, err := tr.DecodeModel(ctx, former.Record)
	if err != nil {
		return t, fmt.Errorf("read the model of site %s: %w", site.ID, err)
	}
	scores, err := tr.compareModels(ctx, site, h, cut, power.End(), then, t.model)
	if err != nil {
		return t, err
	}
	e := model.EvaluateHoldout(scores[0], scores[1], api.Window{Start: api.At(cut), End: api.At(power.End())}, power.End().Sub(learned))
	e.Against = former.Record.ModelVersion
	if e.Eligible {
		if t, err = tr.fit(ctx, site, h, 0.5, 1); err != nil {
			return t, err
		}
		e.Verdict += "; then it learned from these days too"
	}
	t.evaluation = &e
	return t, nil
}

// fit trains a model; from and to are the part of the progress that it covers.
func (tr *Trainer) fit(ctx context.Context, site forecast.Site, h sitedata.History, from, to float64) (trained, error) {
	train := forecast.Train
	if h.ColdStart {
		train = forecast.TrainPooled
	}
	model, report, err := train(ctx, site, forecast.History{Power: h.Trimmed(), Weather: h.Weather, Siblings: h.Peers}, forecast.Options{
		Seed: sitedata.Seed(site.ID), Workers: tr.Workers, Resolution: sitedata.ModelStep,
		Progress: func(_ string, share float64) {
			tr.Progress.SetSite(site.ID, sitedata.StageTraining, from+(to-from)*share)
		},
	})
	return trained{model: model, report: report}, err
}

// compareModels lets models forecast each day of a span from its midnight on, from
// what was known then, and scores them on the same hours.
func (tr *Trainer) compareModels(ctx context.Context, site forecast.Site, h sitedata.History, from, to time.Time, models ...*forecast.Model) ([]api.ModelScore, error) {
	tallies := make([]forecasts.ScoreSum, len(models))
	for start, end := range series.Days(from, to, site.Zone) {
		if start.Before(from) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		said, err := tr.hindcast(ctx, site, models, h, start, end.Sub(start))
		if err != nil {
			return nil, fmt.Errorf("evaluate the models of site %s on %s: %w", site.ID, start.Format(time.DateOnly), err)
		}
		for k := range said[0] {
			scoreHour(tallies, said, k, h.Power.At(said[0][k].Time), site.CapacityKW)
		}
	}
	out := make([]api.ModelScore, len(models))
	for i, t := range tallies {
		out[i] = t.Score()
	}
	return out, nil
}

// hindcast returns the forecast of each model at an issue in the past, from what
// was known then.
func (tr *Trainer) hindcast(ctx context.Context, site forecast.Site, models []*forecast.Model, h sitedata.History, issue time.Time, horizon time.Duration) ([][]forecast.Point, error) {
	known := h.Before(issue.Truncate(sitedata.ModelStep))
	wx, err := tr.WeatherAsOf(ctx, site.ID, site.Location, known, issue, horizon)
	if err != nil {
		return nil, err
	}
	said := make([][]forecast.Point, len(models))
	for i, m := range models {
		if said[i], err = m.Forecast(issue, known.Power, wx, horizon); err != nil {
			return nil, err
		}
	}
	return said, nil
}

// scoreHour scores one hour, if it was measured and is daylight for all models.
func scoreHour(tallies []forecasts.ScoreSum, said [][]forecast.Point, k int, actualKW, capacityKW float64) {
	if math.IsNaN(actualKW) {
		return
	}
	for _, points := range said {
		if k >= len(points) || !points[k].Time.Equal(said[0][k].Time) || points[k].ClearSkyKW <= sitedata.Daylight*capacityKW {
			return
		}
	}
	for i, points := range said {
		tallies[i].Add(points[k].P10KW, points[k].P50KW, points[k].P90KW, actualKW, capacityKW)
	}
}
