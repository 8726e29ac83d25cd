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
	engine "app.sunloop/engine/forecast"
)

// Generate answers GET /forecast: hourly values from the next whole hour (UTC) on,
// from the newest stored forecast if that reaches far enough, else computed now
// from the site's model. Without a site it is the sum over the customer's sites
// that have a model; the bands of hours and days are joined by the distance of the
// sites.
func (fc *Forecaster) Generate(ctx context.Context, scope api.Scope, q api.ForecastQuery) (api.GeneratedForecast, error) {
	if q.HorizonHours <= 0 {
		q.HorizonHours = fc.HorizonHours
	}
	sites, err := fc.forecastSites(ctx, scope, q.CustomerID, q.SiteID)
	if err != nil {
		return api.GeneratedForecast{}, err
	}
	var parts []api.GeneratedForecast
	var of []api.Site // the sites of the parts
	for _, site := range sites {
		part, err := fc.generateSite(ctx, site, q)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return api.GeneratedForecast{}, fc.RequestError(site.SiteID, err)
		}
		parts, of = append(parts, part), append(of, site)
	}
	switch {
	case len(parts) == 0:
		return api.GeneratedForecast{}, api.ErrNoModel
	case q.SiteID != "":
		return parts[0], nil
	}
	return sumOfSites(q, parts, of, fc.Now()), nil
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

// forecastSites returns the sites that a query addresses.
func (fc *Forecaster) forecastSites(ctx context.Context, scope api.Scope, customerID, siteID string) ([]api.Site, error) {
	if siteID == "" {
		var all []api.Site
		q := api.ListQuery{CustomerID: customerID, Page: api.Page{Limit: api.MaxLimit}}
		for {
			part, next, err := fc.Domain.Sites.Sites(ctx, scope, q)
			if err != nil {
				return nil, err
			}
			if all = append(all, part...); next == "" {
				return all, nil
			}
			q.Cursor = next
		}
	}
	site, err := fc.Domain.Sites.Site(ctx, scope, siteID)
	if err != nil {
		return nil, err
	}
	if customerID != "" && site.CustomerID != customerID {
		return nil, api.ErrSiteNotFound
	}
	return []api.Site{site}, nil
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
	out.Past, err = fc.pastForecast(ctx, site, q.PastDays, bands)
	out.Days = forecastDays(record.Zone(site.Timezone), bands, f.Band, out.Past, out.Today, out.Forecasts)
	return out, err
}

// pastForecast returns what was issued for the site's past days, ascending. Days
// without a forecast are left out. Their bands are added to bands.
func (fc *Forecaster) pastForecast(ctx context.Context, site api.Site, days int, bands map[string]forecast.Band) ([]api.ForecastValue, error) {
	var out []api.ForecastValue
	zone := record.Zone(site.Timezone)
	y, m, today := fc.Now().In(zone).Date()
	for back := days; back > 0; back-- {
		noon := time.Date(y, m, today-back, 12, 0, 0, 0, zone) // which clocks never skip
		d, err := fc.Domain.Forecasts.Day(ctx, site.SiteID, noon, zone)
		switch {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return nil, err
		default:
			out, bands[d.Day] = append(out, d.Values()...), d.Band
		}
	}
	return out, nil
}

// sumOfSites adds the sites' forecasts hour by hour, and their bands as those of days.
// Hours that a site lacks are left out.
func sumOfSites(q api.ForecastQuery, parts []api.GeneratedForecast, sites []api.Site, now time.Time) api.GeneratedForecast {
	out := api.GeneratedForecast{ForecastID: record.NewID("fc", now), CustomerID: q.CustomerID, GeneratedAt: api.At(now), HorizonHours: q.HorizonHours,
		StepMinutes: 60, Sites: parts, Metadata: parts[0].Metadata}
	var accuracy, weight float64
	sources, versions := map[string]bool{}, map[string]bool{}
	out.Metadata.TrainingDataPoints = 0
	for _, part := range parts {
		n := float64(part.Metadata.TrainingDataPoints)
		accuracy, weight = accuracy+n*part.Metadata.ModelAccuracy, weight+n
		out.Metadata.TrainingDataPoints += part.Metadata.TrainingDataPoints
		sources[part.Metadata.WeatherSource], versions[part.Metadata.ModelVersion] = true, true
		out.TodayP50KWh += part.TodayP50KWh
	}
	out.TodayP50KWh = sitedata.Round(out.TodayP50KWh)
	if weight > 0 {
		out.Metadata.ModelAccuracy = accuracy / weight
	}
	out.Metadata.WeatherSource, out.Metadata.ModelVersion = joined(sources), joined(versions)
	out.ModelInfo = &api.ModelInfo{ModelType: out.Metadata.ModelType, ModelVersion: out.Metadata.ModelVersion, ModelAccuracy: out.Metadata.ModelAccuracy, AggregationMethod: api.AggregationSum}
	together, each := correlationsOf(sites), make([]engine.Energy, len(parts))
	out.Days = sumOfDays(parts, together)
	for i, v := range parts[0].Forecasts {
		var temperature, ghi, wind float64
		complete := true
		v.PredictedPowerKW, v.ConfidenceInterval, v.ClearSkyKW = 0, api.Interval{}, 0
		for k, part := range parts {
			if i >= len(part.Forecasts) || !part.Forecasts[i].Timestamp.Equal(v.Timestamp.Time) {
				complete = false
				break
			}
			w := part.Forecasts[i]
			v.PredictedPowerKW += w.PredictedPowerKW
			each[k] = engine.Energy{P10: w.ConfidenceInterval.Lower, P50: w.PredictedPowerKW, P90: w.ConfidenceInterval.Upper}
			v.ClearSkyKW += w.ClearSkyKW
			temperature, ghi, wind = temperature+w.WeatherConditions.TemperatureC, ghi+w.WeatherConditions.IrradianceWM2, wind+w.WeatherConditions.WindSpeedMS
		}
		if !complete {
			continue
		}
		n := float64(len(parts))
		v.WeatherConditions = api.WeatherConditions{TemperatureC: sitedata.Round(temperature / n), IrradianceWM2: sitedata.Round(ghi / n), WindSpeedMS: sitedata.Round(wind / n)}
		v.PredictedPowerKW, v.ClearSkyKW = sitedata.Round(v.PredictedPowerKW), sitedata.Round(v.ClearSkyKW)
		band := engine.Together(each, together.of)
		v.ConfidenceInterval = api.Interval{Lower: sitedata.Round(band.P10), Upper: sitedata.Round(band.P90)}
		out.Forecasts = append(out.Forecasts, v)
	}
	return out
}

func joined(set map[string]bool) string {
	var names []string
	for n := range set {
		names = append(names, n)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// never -0

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
