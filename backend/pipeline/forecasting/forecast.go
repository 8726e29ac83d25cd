// Package forecasting issues and scores the forecasts of sites, calibrates their
// models with actuals, and answers requests for forecasts.
package forecasting

import (
	"context"
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/activity"
	forecasts "app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/domain/record"
	"app.sunloop/internal/display"

	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/forecast"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// Forecaster issues, stores and scores forecasts, and answers requests for them.
type Forecaster struct {
	*sitedata.Data
	HorizonHours  int           // of stored forecasts
	KeepForecasts time.Duration // how long every forecast is kept; then only the first of each day
}

const day = 24 * time.Hour

// horizonMargin is how far a stored forecast reaches beyond the horizon, so that
// it serves the whole horizon until the next one.
const horizonMargin = 6 * time.Hour

// RunJob issues a site's forecast.
func (fc *Forecaster) RunJob(ctx context.Context, job store.Claimed) error {
	body, err := sitedata.ReadPayload(job)
	if err != nil {
		return err
	}
	return fc.Issue(ctx, body.SiteID)
}

// Issue learns from the days that have ended, scores former forecasts, and stores
// a forecast as of now. It does nothing for a site without a model.
func (fc *Forecaster) Issue(ctx context.Context, siteID string) error {
	s, err := fc.subject(ctx, siteID)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, api.ErrSiteNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	now := fc.Now()
	state, err := fc.State(ctx, siteID)
	if err != nil {
		return err
	}
	if err := s.observe(ctx, state.LastData); err != nil {
		return err
	}
	fitted := s.band
	scores, scored, err := s.scores(ctx, state, now)
	if err != nil {
		return err
	}
	f, err := s.make(ctx, now, time.Duration(fc.HorizonHours)*time.Hour+horizonMargin)
	if err != nil {
		return err
	}
	f.HorizonHours = fc.HorizonHours
	if _, err := fc.Domain.Forecasts.Day(ctx, siteID, now, s.zone); errors.Is(err, store.ErrNotFound) {
		if f, err = s.prependMorning(ctx, f); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	parts := partsOf(f, s.zone)
	err = fc.Records.Update(ctx, func(tx store.Tx) error {
		if err := fc.Domain.Forecasts.Add(tx, f, s.zone); err != nil {
			return err
		}
		if err := putExtract(tx, fc.Domain.Forecasts, f, s.model.Record, s.zone, parts); err != nil {
			return fmt.Errorf("store the extract of forecast %s: %w", f.ForecastID, err)
		}
		if err := fc.Domain.Forecasts.PutScores(tx, scores); err != nil {
			return err
		}
		former := time.Time{}
		_, err := sitedata.UpdateState(tx, siteID, func(t *sitedata.State) {
			former = t.ForecastAt
			t.ForecastAt, t.ForecastData, t.ScoredTo, t.DayBand = now, state.Data, scored, fitted
		})
		// One word an hour is news; a live feed may issue one a minute.
		if err != nil || now.Sub(former) < time.Hour {
			return err
		}
		return fc.Domain.Activities.Record(tx, activity.Record{CustomerID: s.site.CustomerID, SiteID: siteID, Phase: api.PhaseDecide, Title: "Forecast issued",
			Description: fmt.Sprintf("%s ahead by %s %s", display.CountOf(f.HorizonHours, "hour", "hours"), f.ModelName, f.ModelVersion), Actor: sitedata.Actor})
	})
	if err == nil {
		fc.Hooks.Forecast()
	}
	return err
}

// subject is a site with everything that its forecasts are computed from.
type subject struct {
	fc       *Forecaster
	site     api.Site
	zone     *time.Location
	units    []api.Asset
	model    sitedata.LoadedModel
	location solar.Location
	band     sitedata.DayBand
}

// subject reads a site and its model; [store.ErrNotFound] if it has none.
func (fc *Forecaster) subject(ctx context.Context, siteID string) (subject, error) {
	s := subject{fc: fc}
	var err error
	if s.site, err = fc.Domain.Sites.Site(ctx, api.Unlimited(sitedata.Actor), siteID); err != nil {
		return s, err
	}
	s.zone = record.Zone(s.site.Timezone)
	if s.units, err = fc.Domain.Sites.SiteAssets(ctx, siteID); err != nil {
		return s, err
	}
	if s.model, err = fc.Model(ctx, siteID); err != nil {
		return s, err
	}
	s.location, _ = model.LocationOf(s.site, s.model.Record.Place)
	state, err := fc.State(ctx, siteID)
	s.band = state.DayBand
	return s, err
}

// make computes a forecast from what is known at the issue.
func (s subject) make(ctx context.Context, issue time.Time, horizon time.Duration) (forecasts.Forecast, error) {
	h, err := s.fc.ReadHistory(ctx, s.site.SiteID, s.units, issue.Add(-sitedata.RecentSpan), issue.Add(horizon+sitedata.ModelStep), sitedata.ModelStep, s.zone)
	if err != nil {
		return forecasts.Forecast{}, err
	}
	// Beyond the issue only forecasts may be seen; the hour that holds it is
	// not over.
	h = h.Before(issue.Truncate(sitedata.ModelStep))
	wx, issued, err := s.fc.WeatherFor(ctx, s.location, h, issue, horizon)
	if err != nil {
		return forecasts.Forecast{}, err
	}
	points, err := s.model.Model.Forecast(issue, h.Trimmed(), wx, horizon)
	if err != nil {
		return forecasts.Forecast{}, fmt.Errorf("forecast site %s: %w", s.site.SiteID, err)
	}
	if len(points) == 0 {
		return forecasts.Forecast{}, fmt.Errorf("forecast site %s: the model gave no point", s.site.SiteID)
	}
	m := s.model.Record
	f := forecasts.Forecast{ForecastID: record.NewID("fc", issue), CustomerID: s.site.CustomerID, SiteID: s.site.SiteID, IssuedAt: issue.UTC(),
		ModelName: m.ModelName, ModelVersion: m.ModelVersion, HorizonHours: int(horizon / time.Hour), Metrics: forecasts.Metrics(m.Metrics), Source: wx.Source,
		Band: forecasts.Band{Low: s.band.Low, High: s.band.High}}
	if issued != nil {
		kept := forecasts.WeatherOf(s.site.SiteID, *issued)
		f.Weather = &kept
	}
	fill(&f, points)
	return f, nil
}

func fill(f *forecasts.Forecast, points []forecast.Point) {
	f.Start, f.StepMinutes = points[0].Time.UTC(), int(points[0].Step/time.Minute)
	for _, pt := range points {
		f.P10KW, f.P50KW, f.P90KW = append(f.P10KW, pt.P10KW), append(f.P50KW, pt.P50KW), append(f.P90KW, pt.P90KW)
		f.ClearSkyKW = append(f.ClearSkyKW, pt.ClearSkyKW)
		f.TemperatureC = append(f.TemperatureC, pt.Weather.TemperatureC)
		f.GHIWM2 = append(f.GHIWM2, pt.Weather.GHI)
		f.WindMS = append(f.WindMS, pt.Weather.WindSpeedMS)
	}
}

// prependMorning adds the hours of today before the forecast's first, as they
// would have been issued at the site's midnight. Without them a site's first day
// would begin in the middle.
func (s subject) prependMorning(ctx context.Context, f forecasts.Forecast) (forecasts.Forecast, error) {
	midnight := series.Midnight(f.IssuedAt, s.zone)
	if !f.Start.After(midnight) {
		return f, nil
	}
	early, err := s.make(ctx, midnight, f.Start.Sub(midnight)+f.Step())
	if err != nil {
		return f, err
	}
	k := int(f.Start.Sub(early.Start) / f.Step())
	if early.StepMinutes != f.StepMinutes || k <= 0 || k > len(early.P50KW) {
		return f, nil
	}
	f.Start = early.Start
	for _, v := range []struct {
		to    *record.Numbers
		early record.Numbers
	}{{&f.P10KW, early.P10KW}, {&f.P50KW, early.P50KW}, {&f.P90KW, early.P90KW}, {&f.ClearSkyKW, early.ClearSkyKW},
		{&f.TemperatureC, early.TemperatureC}, {&f.GHIWM2, early.GHIWM2}, {&f.WindMS, early.WindMS}} {
		*v.to = append(v.early[:k:k], *v.to...)
	}
	return f, nil
}

// JobFailed lets the planner enqueue the next forecast at its usual time.
func (fc *Forecaster) JobFailed(ctx context.Context, job store.Claimed, _ error) error {
	return fc.SkipJob(ctx, job, func(t *sitedata.State) { t.ForecastAt = fc.Now() })
}
