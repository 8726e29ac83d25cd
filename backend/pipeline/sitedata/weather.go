package sitedata

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
	"app.sunloop/engine/weather"
	"app.sunloop/internal/display"
)

// WeatherFor returns the provider's forecast, overlaid with the forecasts in the
// customer's own files. If the provider has none it is climatology, and its source
// says so. issued is the provider's forecast, unchanged; nil without one.
func (d *Data) WeatherFor(ctx context.Context, loc solar.Location, h History, issue time.Time, horizon time.Duration) (wx weather.Forecast, issued *weather.Forecast, err error) {
	climate, err := offline(ctx, loc, h, issue, horizon)
	if err != nil {
		return climate, nil, err
	}
	wx = climate
	if d.Weather != nil {
		wx, err = d.Weather.Forecast(ctx, loc, issue, horizon+ModelStep, ModelStep)
		switch {
		case errors.Is(err, weather.ErrUnavailable) && ctx.Err() == nil:
			d.Logger.Warn("weather unavailable, using climatology", "at", fmt.Sprintf("%.2f,%.2f", loc.LatitudeDeg, loc.LongitudeDeg), "issue", issue, "error", err)
			wx = climate
			wx.Source += "; " + err.Error()
		case err != nil:
			return wx, nil, fmt.Errorf("weather: %w", err)
		default:
			said := wx
			said.Conditions = slices.Clone(wx.Conditions)
			issued = &said
			wx.Complement(climate)
		}
	}
	overlay(&wx, h)
	return wx, issued, nil
}

// ArchivedWeather returns the past weather of the provider's archive for a history
// whose files have no irradiance: a model learns from it how the site responds to
// weather. words describe the result; they are empty if the archive was not asked.
func (d *Data) ArchivedWeather(ctx context.Context, loc solar.Location, h History) (words string, columns []weather.Column) {
	archive, ok := d.Weather.(interface {
		Archive(ctx context.Context, loc solar.Location, from, to time.Time) ([]weather.Column, error)
	})
	lit := slices.ContainsFunc(h.Weather, func(c weather.Column) bool { return c.Quantity == weather.GHI || c.Quantity == weather.POA })
	if !ok || lit || loc == (solar.Location{}) {
		return "", nil
	}
	power := h.Trimmed()
	columns, err := archive.Archive(ctx, loc, power.Start, power.End())
	if err != nil {
		d.Logger.Warn("archived weather unavailable, training without", "error", err)
		return "weather: training goes without; " + err.Error(), nil
	}
	return fmt.Sprintf("weather: the files contain none; %s from the provider's archive", display.CountOf(len(columns), "quantity is", "quantities are")), columns
}

// oldestWeather is the greatest age of a weather forecast at the issue of a power
// forecast.
const oldestWeather = 12 * time.Hour

// WeatherAsOf returns the weather as it was known at an issue in the past: the
// provider's stored forecast of that time, as far as there is one. What the
// provider says of that time today is no forecast.
func (d *Data) WeatherAsOf(ctx context.Context, siteID string, loc solar.Location, h History, issue time.Time, horizon time.Duration) (weather.Forecast, error) {
	wx, err := offline(ctx, loc, h, issue, horizon)
	if err != nil {
		return wx, err
	}
	kept, err := d.Domain.Forecasts.IssuedWeather(ctx, siteID, issue)
	switch {
	case err == nil && issue.Sub(kept.IssuedAt) <= oldestWeather:
		said := kept.Forecast()
		said.Complement(wx)
		wx = said
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return wx, err
	}
	overlay(&wx, h)
	return wx, nil
}

// offline returns the weather without a provider: climatology with the site's own
// temperatures.
func offline(ctx context.Context, loc solar.Location, h History, issue time.Time, horizon time.Duration) (weather.Forecast, error) {
	var provider weather.Offline
	if measured := h.Quantity(series.TemperatureC); measured.Len() > 0 {
		if fit, err := weather.FitTemperature(loc, measured); err == nil {
			provider.Temperature = fit
		}
	}
	wx, err := provider.Forecast(ctx, loc, issue, horizon+ModelStep, ModelStep)
	if err != nil {
		return wx, fmt.Errorf("weather: %w", err)
	}
	return wx, nil
}

// overlay replaces conditions by the customer's own forecasts, and adds the
// measured columns of the files.
func overlay(wx *weather.Forecast, h History) {
	own := weather.FromColumns(wx.IssuedAt, wx.Source, wx.Start, wx.Step, len(wx.Conditions), h.Weather)
	wx.Columns = append(own.Columns, wx.Columns...)
	given := 0
	for i, c := range own.Conditions {
		if !math.IsNaN(c.TemperatureC) {
			wx.Conditions[i].TemperatureC = c.TemperatureC
		}
		if !math.IsNaN(c.GHI) {
			wx.Conditions[i].GHI, wx.Conditions[i].DNI, wx.Conditions[i].DHI = c.GHI, math.NaN(), math.NaN()
			given++
		}
	}
	if given > 0 {
		wx.Source = fmt.Sprintf("the customer's own forecast for %d of %s, else %s", given, display.CountOf(len(wx.Conditions), "hour", "hours"), wx.Source)
	}
}
