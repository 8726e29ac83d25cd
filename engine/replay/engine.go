package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"app.sunloop/engine/forecast"
	"app.sunloop/engine/replay/metric"
	"app.sunloop/engine/series"
	"app.sunloop/engine/weather"
)

// engine is a fitted model with the inputs of its forecasts.
type engine struct {
	model  *forecast.Model
	report forecast.Report
	unfit  error     // why the site cannot be trained on its own history, if it cannot
	seen   time.Time // the model was fitted on what lies before
}

// quantileForecast is the forecast of one interval, shares of the capacity.
type quantileForecast struct {
	at    time.Time
	power metric.Distribution
}

// fit trains a model on data before at; if these are too few it uses the
// cold-start model, as the service does.
func fit(ctx context.Context, s *Replay, at time.Time, workers int) (engine, error) {
	history := s.history(s.from(at), at)
	for _, f := range s.Fleet {
		history.Siblings = append(history.Siblings, forecast.Sibling{Site: f.Site, History: f.history(f.Power.Start, at)})
	}
	o := forecast.Options{Seed: 1, Workers: workers, Resolution: s.Protocol.Resolution, Quantiles: s.Protocol.Levels}
	e := engine{seen: at}
	var err error
	e.model, e.report, err = forecast.Train(ctx, s.Site, history, o)
	if errors.Is(err, forecast.ErrUnfit) {
		e.unfit = err
		e.model, e.report, err = forecast.TrainPooled(ctx, s.Site, history, o)
	}
	if errors.Is(err, forecast.ErrUnfit) {
		e.model, e.report, err = forecast.ColdStart(ctx, s.Site, history, o)
	}
	return e, err
}

// history returns what is known of the site in the interval.
func (s *Replay) history(from, at time.Time) forecast.History {
	h := forecast.History{Power: s.Power.Slice(from, at)}
	for _, c := range s.Weather {
		c.Series = c.Series.Slice(from, at)
		h.Weather = append(h.Weather, c)
	}
	return h
}

// from is where the history of a fit or a forecast at a time begins.
func (s *Replay) from(at time.Time) time.Time {
	if s.Protocol.HistoryDays > 0 {
		return at.AddDate(0, 0, -s.Protocol.HistoryDays)
	}
	return s.Power.Start
}

// recent is the power a forecast at a time sees that its model has not seen.
func (s *Replay) recent(e *engine, at time.Time) series.Series {
	if s.Protocol.PastOnly {
		return series.Series{}
	}
	from := e.seen.AddDate(0, 0, -2)
	if limit := s.from(at); from.Before(limit) {
		from = limit
	}
	return s.Power.Slice(from, at)
}

// outlook is the weather forecast that was there at a time; empty where the
// site has none.
func (s *Replay) outlook(at time.Time) weather.Forecast {
	if !slices.ContainsFunc(s.Weather, func(c weather.Column) bool { return !c.Measured }) {
		return weather.Forecast{}
	}
	step := s.Protocol.Resolution
	return weather.FromColumns(at, "the columns of the files", at, step, int(s.Protocol.Horizon/step), s.Weather)
}

// forecast is the engine's forecast at a time.
func (e *engine) forecast(s *Replay, at time.Time) ([]quantileForecast, error) {
	times, rows, err := e.model.ForecastQuantiles(at, s.recent(e, at), s.outlook(at), s.Protocol.Horizon)
	if err != nil {
		return nil, fmt.Errorf("forecast of %s: %w", at.Format(time.RFC3339), err)
	}
	levels := e.model.Quantiles()
	out := make([]quantileForecast, len(times))
	for i, t := range times {
		for j := range rows[i] {
			rows[i][j] /= s.Site.CapacityKW
		}
		out[i] = quantileForecast{t, metric.Spread(levels, rows[i])}
	}
	return out, nil
}

// observe lets the model learn from the measurements of the forecast at then, as far
// as it is measured now.
func (e *engine) observe(s *Replay, then, now time.Time) error {
	_, err := e.model.Observe(then, s.recent(e, then), s.outlook(then), s.Protocol.Horizon, s.Power.Slice(then, now))
	return err
}
