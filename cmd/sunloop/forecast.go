package main

import (
	"context"
	"fmt"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/plain"
)

// ForecastCmd prints what the sites will produce.
type ForecastCmd struct {
	FactFlags
	ChartFlags
	Hours int `default:"48" help:"Horizon, from 1 to 720 hours (${default})."`
}

// Run prints the forecasts; exit status 1 as that of status.
func (c *ForecastCmd) Run(ctx context.Context, g *Globals, std streams) error {
	if c.Hours < 1 || c.Hours > api.MaxHorizonHours {
		return wrong("--hours is from 1 to %d, not %d", api.MaxHorizonHours, c.Hours)
	}
	return c.report(ctx, g, std, func(ctx context.Context, f *facts) (bool, error) {
		err := each(ctx, f, func(ctx context.Context, site api.Site) (*api.GeneratedForecast, error) {
			return f.Client.Forecast(ctx, api.ForecastQuery{CustomerID: site.CustomerID, SiteID: site.SiteID, HorizonHours: c.Hours})
		}, func(site api.Site, v *api.GeneratedForecast) error { return c.print(f, site, v) })
		if err != nil {
			return false, err
		}
		return f.critical(ctx)
	})
}

// print prints a site's forecast: days, intervals, charts.
func (c *ForecastCmd) print(f *facts, site api.Site, v *api.GeneratedForecast) error {
	fmt.Fprintf(f.out, "%s: forecast of %s, model %s", f.Zones.Label(site.Ref()), plain.When(v.GeneratedAt, f.Zones.Of(site.Ref())), v.Metadata.ModelVersion)
	if v.Metadata.WeatherSource != "" {
		fmt.Fprintf(f.out, ", weather: %s", v.Metadata.WeatherSource)
	}
	fmt.Fprintln(f.out)
	if err := plain.ForecastDays(*v, f.Zones).Write(f.out, "  "); err != nil {
		return err
	}
	if err := plain.Forecast(*v, f.Zones).Write(f.out, "  "); err != nil {
		return err
	}
	if !c.Chart || len(v.Forecasts) == 0 {
		return nil
	}
	median := chart.Points{Step: time.Duration(v.StepMinutes) * time.Minute}
	clear := chart.Points{Step: median.Step}
	for _, p := range v.Forecasts {
		at := p.Timestamp.Unix()
		median.At, median.Value = append(median.At, at), append(median.Value, p.PredictedPowerKW)
		clear.At, clear.Value = append(clear.At, at), append(clear.Value, p.ClearSkyKW)
	}
	zone := f.Zones.Of(site.Ref())
	last := v.Forecasts[len(v.Forecasts)-1].Timestamp.In(zone)
	for day := midnight(v.Forecasts[0].Timestamp.In(zone)); !day.After(last); day = day.AddDate(0, 0, 1) {
		if err := c.day(f.out, site, day, fmt.Sprintf("%s, forecast of %s: line P50, dots clear sky", f.Zones.Label(site.Ref()), display.Date(day)), clear, median); err != nil {
			return err
		}
	}
	return nil
}
