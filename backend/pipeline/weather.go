package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

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

// offline is the weather without a provider: the climate, with the site's own
// temperatures.
func offline(ctx context.Context, loc solar.Location, h history, issue time.Time, horizon time.Duration) (weather.Forecast, error) {
	var provider weather.Offline
	if h.temperature.Len() > 0 {
		if fit, err := weather.FitTemperature(loc, h.temperature); err == nil {
			provider.Temperature = fit
		}
	}
	wx, err := provider.Forecast(ctx, loc, issue, horizon+modelStep, modelStep)
	if err != nil {
		return wx, fmt.Errorf("weather: %w", err)
	}
	return wx, nil
}

// overlay puts the customer's own forecasts over others.
func overlay(wx *weather.Forecast, h history) {
	given := 0
	for i := range wx.Conditions {
		t := wx.Time(i)
		if v := h.temperatureFct.At(t); !math.IsNaN(v) {
			wx.Conditions[i].TemperatureC = v
		}
		if v := h.ghiForecast.At(t); !math.IsNaN(v) {
			wx.Conditions[i].GHI, wx.Conditions[i].DNI, wx.Conditions[i].DHI = v, math.NaN(), math.NaN()
			given++
		}
	}
	if given > 0 {
		wx.Source = fmt.Sprintf("the customer's own forecast for %d of %d hours, else %s", given, len(wx.Conditions), wx.Source)
	}
}
