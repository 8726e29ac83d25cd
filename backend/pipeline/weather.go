package pipeline

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
)

// weatherFor asks the provider, and puts the forecasts that came with the
// customer's files over what it says. Where the provider has none it is the
// climate, which says so. issued is what the provider said, as it said it; nil
// when nothing.
func (p *Pipeline) weatherFor(ctx context.Context, loc solar.Location, h history, issue time.Time, horizon time.Duration) (wx weather.Forecast, issued *weather.Forecast, err error) {
	climate, err := offline(ctx, loc, h, issue, horizon)
	if err != nil {
		return climate, nil, err
	}
	wx = climate
	if p.Weather != nil {
		wx, err = p.Weather.Forecast(ctx, loc, issue, horizon+modelStep, modelStep)
		switch {
		case errors.Is(err, weather.ErrUnavailable) && ctx.Err() == nil:
			p.Logger.Warn("the weather is the climate's", "at", fmt.Sprintf("%.2f,%.2f", loc.LatitudeDeg, loc.LongitudeDeg), "issue", issue, "error", err)
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

// archive is the weather that was over a history whose files tell of no light,
// where the provider of forecasts keeps it: a model learns from it what the
// site makes of weather. words say what came of asking; none where it was not.
func (p *Pipeline) archive(ctx context.Context, loc solar.Location, h history) (words string, columns []weather.Column) {
	keeper, ok := p.Weather.(interface {
		Archive(ctx context.Context, loc solar.Location, from, to time.Time) ([]weather.Column, error)
	})
	lit := slices.ContainsFunc(h.weather, func(c weather.Column) bool { return c.Quantity == weather.GHI || c.Quantity == weather.POA })
	if !ok || lit || loc == (solar.Location{}) {
		return "", nil
	}
	power := h.trimmed()
	columns, err := keeper.Archive(ctx, loc, power.Start, power.End())
	if err != nil {
		p.Logger.Warn("training goes without the weather that was", "error", err)
		return "weather: training goes without; " + err.Error(), nil
	}
	return fmt.Sprintf("weather: the files tell of none; %d quantities of what it was come from the provider's archive", len(columns)), columns
}

// oldestWeather is how long before an issue weather may have been issued for
// it.
const oldestWeather = 12 * time.Hour

// weatherThen is the weather as it was known at an issue in the past: what a
// provider had said by then, as far as it was kept. What a provider says of
// that time today is no forecast.
func (p *Pipeline) weatherThen(ctx context.Context, siteID string, loc solar.Location, h history, issue time.Time, horizon time.Duration) (weather.Forecast, error) {
	wx, err := offline(ctx, loc, h, issue, horizon)
	if err != nil {
		return wx, err
	}
	kept, err := p.Ops.IssuedWeather(ctx, siteID, issue)
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

// offline is the weather without a provider: the climate, with the site's own
// temperatures.
func offline(ctx context.Context, loc solar.Location, h history, issue time.Time, horizon time.Duration) (weather.Forecast, error) {
	var provider weather.Offline
	if measured := h.of(series.TemperatureC); measured.Len() > 0 {
		if fit, err := weather.FitTemperature(loc, measured); err == nil {
			provider.Temperature = fit
		}
	}
	wx, err := provider.Forecast(ctx, loc, issue, horizon+modelStep, modelStep)
	if err != nil {
		return wx, fmt.Errorf("weather: %w", err)
	}
	return wx, nil
}

// overlay puts the customer's own forecasts over others, and lets what the
// files measured go along by name.
func overlay(wx *weather.Forecast, h history) {
	own := weather.FromColumns(wx.IssuedAt, wx.Source, wx.Start, wx.Step, len(wx.Conditions), h.weather)
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
		wx.Source = fmt.Sprintf("the customer's own forecast for %d of %d hours, else %s", given, len(wx.Conditions), wx.Source)
	}
}
