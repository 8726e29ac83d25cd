package forecasting

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
)

// Generate answers GET /forecast: hourly values from the next whole hour (UTC) on,
// from the newest stored forecast if that reaches far enough, else computed now
// from the site's model. Without a site it is the sum over the customer's sites
// that have a model, without their forecasts, see [Forecaster.Customer].
func (fc *Forecaster) Generate(ctx context.Context, scope api.Scope, q api.ForecastQuery) (api.GeneratedForecast, error) {
	if q.SiteID == "" {
		c, err := fc.Customer(ctx, scope, q)
		if err != nil {
			return api.GeneratedForecast{}, err
		}
		return c.Sum(), nil
	}
	if q.HorizonHours <= 0 {
		q.HorizonHours = fc.HorizonHours
	}
	site, err := fc.Domain.Sites.Site(ctx, scope, q.SiteID)
	if err != nil {
		return api.GeneratedForecast{}, err
	}
	if q.CustomerID != "" && site.CustomerID != q.CustomerID {
		return api.GeneratedForecast{}, api.ErrSiteNotFound
	}
	g, err := fc.generateSite(ctx, site, q)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return g, api.ErrNoModel
	case err != nil:
		return g, fc.RequestError(site.SiteID, err)
	}
	return g, nil
}

// RequestError logs the failure of a forecast on request and returns the API's
// error for it.
func (fc *Forecaster) RequestError(siteID string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrUnavailable) {
		return err
	}
	fc.Logger.Error("forecast on demand", "site", siteID, "error", err)
	return api.ErrForecastFailed
}

// Current returns a forecast of the site that has the given number of hours from
// the next whole hour on: the stored one, or one computed now. It returns
// [store.ErrNotFound] for a site without a model.
func (fc *Forecaster) Current(ctx context.Context, site api.Site, hours int) (forecast.Forecast, model.Model, error) {
	m, err := fc.Domain.Models.InProduction(ctx, site.SiteID, sitedata.ModelType)
	if err != nil {
		return forecast.Forecast{}, model.Model{}, err
	}
	now := fc.Now()
	until := forecast.NextHour(now).Add(time.Duration(hours) * time.Hour)
	f, err := fc.Domain.Forecasts.Latest(ctx, site.SiteID)
	if err == nil && f.ModelVersion == m.ModelVersion && !f.End().Before(until) && !f.IssuedAt.After(now) {
		return f, m, nil // without decoding the model
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return f, m, err
	}
	s, err := fc.subject(ctx, site.SiteID)
	if err != nil {
		return forecast.Forecast{}, model.Model{}, err
	}
	f, err = s.make(ctx, now, time.Duration(hours)*time.Hour) // from the next whole hour on, as model steps are
	return f, s.model.Record, err
}

func (fc *Forecaster) generateSite(ctx context.Context, site api.Site, q api.ForecastQuery) (api.GeneratedForecast, error) {
	hours := q.HorizonHours
	f, m, err := fc.Current(ctx, site, hours)
	if err != nil {
		return api.GeneratedForecast{}, err
	}
	out := api.GeneratedForecast{ForecastID: f.ForecastID, CustomerID: site.CustomerID, SiteID: site.SiteID, GeneratedAt: api.At(f.IssuedAt),
		HorizonHours: hours, StepMinutes: 60, Forecasts: f.Values(forecast.NextHour(fc.Now()), hours),
		Metadata: api.ForecastMetadata{ModelVersion: m.ModelVersion, TrainingDataPoints: m.Points, ModelAccuracy: m.ModelAccuracy,
			ModelType: m.ModelName, WeatherSource: f.Source}}
	d, err := fc.Domain.Forecasts.Day(ctx, site.SiteID, fc.Now(), record.Zone(site.Timezone))
	bands := map[string]forecast.Band{}
	if err == nil {
		out.Today, bands[d.Day] = d.Values(), d.Band
		if !d.FirstIssuedAt.IsZero() {
			out.TodayP50KWh, out.TodayIssuedAt = sitedata.Round(d.FirstP50KWh), api.At(d.FirstIssuedAt)
		}
	} else if !errors.Is(err, store.ErrNotFound) {
		return out, err
	}
	var backcasts map[string]forecast.Day
	out.Past, backcasts, err = fc.pastForecast(ctx, site, q.PastDays, bands)
	out.Days = forecastDays(record.Zone(site.Timezone), bands, f.Band, out.Past, out.Today, out.Forecasts)
	for i := range out.Days {
		if d, ok := backcasts[out.Days[i].Day]; ok {
			out.Days[i].Issued, out.Days[i].TrainedOnDay, out.Days[i].WeatherSource = api.IssuedBackcast, d.TrainedOn(), d.Backcast.Weather
		}
	}
	return out, err
}

// pastForecast returns what was issued for the site's past days, ascending. Days
// without a forecast are left out. Their bands are added to bands. backcasts are those of
// the days that were computed afterwards, by date.
func (fc *Forecaster) pastForecast(ctx context.Context, site api.Site, days int, bands map[string]forecast.Band) (out []api.ForecastValue, backcasts map[string]forecast.Day, err error) {
	backcasts = map[string]forecast.Day{}
	zone := record.Zone(site.Timezone)
	y, m, today := fc.Now().In(zone).Date()
	for back := days; back > 0; back-- {
		noon := time.Date(y, m, today-back, 12, 0, 0, 0, zone) // which clocks never skip
		d, err := fc.Domain.Forecasts.Day(ctx, site.SiteID, noon, zone)
		switch {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return nil, nil, err
		default:
			out, bands[d.Day] = append(out, d.Values()...), d.Band
			if d.Backcast != nil {
				backcasts[d.Day] = d
			}
		}
	}
	return out, backcasts, nil
}

func joined(set map[string]bool) string {
	var names []string
	for n := range set {
		names = append(names, n)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// defaultEnergyHours is the horizon of POST /forecast without forecast_hours.
const defaultEnergyHours = 24

// Energy answers POST /forecast: hourly median energy of an asset, a site, or all
// sites of a customer. An asset's is its share of the site by rated power.
func (fc *Forecaster) Energy(ctx context.Context, scope api.Scope, req api.EnergyForecastRequest) (api.EnergyForecast, error) {
	out := api.EnergyForecast{Success: true, CustomerID: req.CustomerID, SiteID: req.SiteID, DeviceID: req.DeviceID, GeneratedAt: api.At(fc.Now())}
	g, err := fc.Generate(ctx, scope, api.ForecastQuery{CustomerID: req.CustomerID, SiteID: req.SiteID, HorizonHours: cmp.Or(req.ForecastHours, defaultEnergyHours)})
	if err != nil {
		return out, err
	}
	out.CustomerID = g.CustomerID
	out.ModelInfo = api.ModelInfo{ModelType: g.Metadata.ModelType, ModelVersion: g.Metadata.ModelVersion, ModelAccuracy: g.Metadata.ModelAccuracy, AggregationMethod: api.AggregationSum}
	share := 1.0
	if req.SiteID != "" {
		units, err := fc.Domain.Sites.SiteAssets(ctx, req.SiteID)
		if err != nil {
			return out, err
		}
		total := 0.0
		for _, u := range units {
			total += u.CapacityKW
		}
		of := func(u api.Asset) float64 {
			if total > 0 {
				return u.CapacityKW / total
			}
			return 1 / float64(len(units))
		}
		out.ModelInfo.AggregationMethod = api.AggregationSite
		if req.DeviceID != "" {
			out.ModelInfo.AggregationMethod = api.AggregationShare
			i := slices.IndexFunc(units, func(u api.Asset) bool { return u.AssetID == req.DeviceID })
			if i < 0 {
				return out, api.ErrAssetNotFound
			}
			share, units = of(units[i]), units[i:i+1]
		}
		out.DeviceCount = len(units)
		for _, u := range units {
			out.DevicesIncluded = append(out.DevicesIncluded, u.AssetID)
			if req.IncludeDeviceBreakdown {
				out.DeviceForecasts = append(out.DeviceForecasts, api.DeviceForecast{DeviceID: u.AssetID, Forecasts: energy(g.Forecasts, of(u))})
			}
		}
	}
	out.Forecasts = energy(g.Forecasts, share)
	return out, nil
}

// energy converts hourly mean power into energy.
func energy(values []api.ForecastValue, share float64) []api.EnergyForecastValue {
	out := make([]api.EnergyForecastValue, len(values))
	for i, v := range values {
		out[i] = api.EnergyForecastValue{Timestamp: v.Timestamp, HourAhead: i + 1, KWhForecast: sitedata.Round(v.PredictedPowerKW * share), Weather: &v.WeatherConditions}
	}
	return out
}

// Stored lists the forecasts within the scope as they were issued.
func (fc *Forecaster) Stored(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.StoredForecast, string, error) {
	return fc.Domain.Forecasts.Stored(ctx, scope, q)
}

// Accuracy returns the errors of stored forecasts by lead time.
func (fc *Forecaster) Accuracy(ctx context.Context, scope api.Scope, q api.AccuracyRequest) (api.Accuracy, error) {
	return fc.Domain.Forecasts.Accuracy(ctx, scope, q)
}
