package forecasting

import (
	"context"
	"fmt"
	"math"
	"time"

	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/pipeline/sitedata"
	engine "app.sunloop/engine/forecast"
	"app.sunloop/engine/series"
	"app.sunloop/engine/weather"
)

// maxObservedSpan is how far back a model learns from actuals after its training:
// a model that returns from the archive catches up with the season.
const maxObservedSpan = 60 * day

// maxIssueDelay is the greatest time after midnight at which a forecast counts as
// the first of its day.
const maxIssueDelay = 3 * time.Hour

// observe calibrates the production model with the days that have ended since it
// last did, each as its first forecast saw it. The result does not depend on
// restarts in between.
func (s *subject) observe(ctx context.Context, lastData time.Time) error {
	record := s.model.Record
	c, err := s.fc.Calibration(ctx, record)
	if err != nil {
		return err
	}
	from := c.To
	if from.IsZero() {
		from = record.TrainingDataWindow.End.UTC()
	}
	if earliest := lastData.Add(-maxObservedSpan); from.Before(earliest) {
		from = earliest
	}
	if midnight := series.Midnight(from, s.zone); midnight.Before(from) {
		from = series.NextMidnight(from, s.zone)
	}
	if series.NextMidnight(from, s.zone).After(lastData) {
		return nil // the next day is not over
	}
	// A copy: other goroutines may be forecasting with the model.
	m, err := s.fc.DecodeModel(ctx, record)
	if err != nil {
		return fmt.Errorf("read the model of site %s: %w", s.site.SiteID, err)
	}
	c = s.fc.Calibrate(record, c, m)
	h, err := s.fc.ReadHistory(ctx, s.site.SiteID, s.units, from.Add(-sitedata.RecentSpan), lastData, sitedata.ModelStep, s.zone)
	if err != nil {
		return err
	}
	issued, err := s.fc.Domain.Forecasts.IssuedSince(ctx, s.site.SiteID, from)
	if err != nil {
		return err
	}
	for start, end := range series.Days(from, lastData, s.zone) {
		if end.After(lastData) {
			break
		}
		issue, wx, err := s.issueConditions(ctx, h, issued, start, end)
		if err != nil {
			return err
		}
		known := h.Before(issue.Truncate(sitedata.ModelStep)).Power
		if end.After(s.band.To) {
			points, err := m.Forecast(issue, known, wx, end.Sub(issue))
			if err != nil {
				return fmt.Errorf("forecast %s of site %s again: %w", start.In(s.zone).Format(time.DateOnly), s.site.SiteID, err)
			}
			s.observeBand(points, h.Power, start, end)
		}
		if _, err := m.Observe(issue, known, wx, end.Sub(issue), h.Power.Slice(start, end)); err != nil {
			return fmt.Errorf("observe %s of site %s: %w", start.In(s.zone).Format(time.DateOnly), s.site.SiteID, err)
		}
		c.To = end.UTC()
	}
	c.State = m.Calibration()
	if err := s.fc.StoreCalibration(ctx, c); err != nil {
		return err
	}
	s.model = sitedata.LoadedModel{Record: record, Model: m, LearnedTo: c.To}
	s.fc.ModelCache.Put(s.site.SiteID, s.model)
	return nil
}

// leastOfDay is the time with the sun up that must have been measured of a day
// from which its band is learned.
const leastOfDay = 4 * time.Hour

// observeBand fits the bands of days by a day that is over, as it was forecast.
func (s *subject) observeBand(points []engine.Point, power series.Series, start, end time.Time) {
	var measured []engine.Point
	var kWh float64
	var span time.Duration
	for _, p := range points {
		actual := power.At(p.Time)
		if p.Time.Before(start) || !p.Time.Before(end) || !(p.P90KW > p.P10KW) || math.IsNaN(actual) {
			continue
		}
		measured = append(measured, p)
		kWh += max(actual, 0) * p.Step.Hours()
		span += p.Step
	}
	if span >= leastOfDay {
		b := engine.DayBand{Low: s.band.Low, High: s.band.High}.Observe(engine.EnergyOf(measured), kWh)
		s.band.Low, s.band.High = b.Low, b.High
	}
	s.band.To = end.UTC()
}

// issueConditions returns the issue time of a day's first forecast and the weather
// that was known then; midnight if there was none.
func (s *subject) issueConditions(ctx context.Context, h sitedata.History, issued []forecast.Forecast, start, end time.Time) (time.Time, weather.Forecast, error) {
	issue := start
	for _, f := range issued {
		if f.IssuedAt.Before(start) {
			continue
		}
		if f.IssuedAt.Sub(start) <= maxIssueDelay {
			issue = f.IssuedAt
		}
		break
	}
	wx, err := s.fc.WeatherAsOf(ctx, s.site.SiteID, s.location, h.Before(issue.Truncate(sitedata.ModelStep)), issue, end.Sub(issue))
	return issue, wx, err
}
