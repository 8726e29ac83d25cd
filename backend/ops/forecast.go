package ops

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// Forecast is a forecast as it was issued: even intervals from Start.
type Forecast struct {
	ForecastID   string              `json:"forecast_id" limit:"id"`
	CustomerID   string              `json:"customer_id" limit:"id"`
	SiteID       string              `json:"site_id" limit:"id"`
	IssuedAt     time.Time           `json:"issued_at"`
	ModelName    string              `json:"model_name" limit:"id"`
	ModelVersion string              `json:"model_version" limit:"id"`
	HorizonHours int                 `json:"horizon_hours"` // as answered; what is stored reaches further
	Start        time.Time           `json:"start"`
	StepMinutes  int                 `json:"step_minutes"`
	P10KW        Numbers             `json:"p10_kw" limit:"20000"`
	P50KW        Numbers             `json:"p50_kw" limit:"20000"`
	P90KW        Numbers             `json:"p90_kw" limit:"20000"`
	ClearSkyKW   Numbers             `json:"clear_sky_kw" limit:"20000"`
	TemperatureC Numbers             `json:"temperature_c" limit:"20000"`
	GHIWM2       Numbers             `json:"ghi_wm2" limit:"20000"`
	WindMS       Numbers             `json:"wind_ms" limit:"20000"`
	Metrics      api.ForecastMetrics `json:"metrics"`
	Source       string              `json:"source" limit:"name"`             // of the weather
	WeatherID    string              `json:"weather_id,omitempty" limit:"id"` // of the [Weather] that it was made from

	// Weather is what a source outside issued for it, to be kept with it.
	Weather *Weather `json:"-"`
}

// Step is the length of an interval.
func (f Forecast) Step() time.Duration { return time.Duration(f.StepMinutes) * time.Minute }

// Time is the start of interval i.
func (f Forecast) Time(i int) time.Time { return f.Start.Add(time.Duration(i) * f.Step()) }

// End is the end of the last interval.
func (f Forecast) End() time.Time { return f.Time(len(f.P50KW)) }

// Hourly is f in hourly means. The mean of quantiles is not the quantile of
// the mean: for steps below an hour the band is a little wide, never narrow.
func (f Forecast) Hourly() Forecast {
	if f.StepMinutes >= 60 {
		return f
	}
	first := f.Start.Truncate(time.Hour)
	if first.Before(f.Start) {
		first = first.Add(time.Hour)
	}
	skip, per := int(first.Sub(f.Start)/f.Step()), 60/f.StepMinutes
	mean := func(v Numbers) Numbers {
		var out Numbers
		for i := skip; i+per <= len(v); i += per {
			sum, n := 0.0, 0
			for _, x := range v[i : i+per] {
				if finite(x) {
					sum, n = sum+x, n+1
				}
			}
			if n == 0 {
				sum = math.NaN()
			}
			out = append(out, sum/float64(max(n, 1)))
		}
		return out
	}
	f.Start, f.StepMinutes = first, 60
	for _, v := range []*Numbers{&f.P10KW, &f.P50KW, &f.P90KW, &f.ClearSkyKW, &f.TemperatureC, &f.GHIWM2, &f.WindMS} {
		*v = mean(*v)
	}
	return f
}

// Values are the first hours hourly values that start at or after from.
func (f Forecast) Values(from time.Time, hours int) []api.ForecastValue {
	h := f.Hourly()
	out := []api.ForecastValue{}
	for i := range h.P50KW {
		if h.Time(i).Before(from) {
			continue
		}
		if len(out) == hours {
			break
		}
		out = append(out, h.value(i))
	}
	return out
}

func (f Forecast) value(i int) api.ForecastValue {
	return api.ForecastValue{
		Timestamp:          api.At(f.Time(i)),
		PredictedPowerKW:   known(f.P50KW.At(i)),
		ConfidenceInterval: api.Interval{Lower: known(f.P10KW.At(i)), Upper: known(f.P90KW.At(i))},
		WeatherConditions: api.WeatherConditions{TemperatureC: known(f.TemperatureC.At(i)), IrradianceWM2: known(f.GHIWM2.At(i)),
			WindSpeedMS: known(f.WindMS.At(i))},
		ClearSkyKW: known(f.ClearSkyKW.At(i)),
	}
}

// known is v for the wire, whose fields are always there: three decimals, and
// 0 for what is not known.
func known(v float64) float64 {
	if !finite(v) {
		return 0
	}
	return math.Round(v*1e3)/1e3 + 0 // never -0
}

// WeatherContext is the mean weather over the intervals with the sun up: where
// the clear-sky power is not zero.
func (f Forecast) WeatherContext() api.WeatherContext {
	mean := func(v Numbers) float64 {
		sum, n := 0.0, 0
		for i, x := range v {
			if finite(x) && f.ClearSkyKW.At(i) > 0 {
				sum, n = sum+x, n+1
			}
		}
		return known(sum / float64(n))
	}
	return api.WeatherContext{AvgTemperatureC: mean(f.TemperatureC), AvgIrradianceWM2: mean(f.GHIWM2), AvgWindSpeedMS: mean(f.WindMS), Source: f.Source}
}

// Stored is f as /terminal/forecast shows it, in hours.
func (f Forecast) Stored() api.StoredForecast {
	out := api.StoredForecast{ForecastID: f.ForecastID, SiteID: f.SiteID, GeneratedAt: api.At(f.IssuedAt), ModelName: f.ModelName,
		ModelVersion: f.ModelVersion, HorizonHours: f.HorizonHours, Metrics: f.Metrics, WeatherContext: f.WeatherContext(),
		ForecastPoints: []api.ForecastPoint{}}
	for i, v := range f.Values(NextHour(f.IssuedAt), f.HorizonHours) {
		out.ForecastPoints = append(out.ForecastPoints, api.ForecastPoint{Timestamp: v.Timestamp, HourAhead: i + 1,
			PredictedPowerKW: v.PredictedPowerKW, LowerConfKW: v.ConfidenceInterval.Lower, UpperConfKW: v.ConfidenceInterval.Upper,
			ClearSkyKW: v.ClearSkyKW})
	}
	return out
}

// NextHour is the first whole hour (UTC) at or after t: where a forecast's
// hourly values begin.
func NextHour(t time.Time) time.Time {
	h := t.UTC().Truncate(time.Hour)
	if h.Before(t) {
		h = h.Add(time.Hour)
	}
	return h
}

var forecasts = store.Table[Forecast]{
	Bucket: "forecasts",
	Key:    func(f Forecast) []byte { return store.Key(f.SiteID, f.ForecastID) },
	Indexes: []store.Index[Forecast]{
		{Name: "customer", Key: func(f Forecast) []byte { return store.Key(f.CustomerID, f.ForecastID) }},
		{Name: "time", Key: func(f Forecast) []byte { return store.Key(f.ForecastID) }},
	},
}

// AddForecast keeps a forecast and brings the site's days up to date with it.
func (s *Service) AddForecast(tx store.Tx, f Forecast, zone *time.Location) error {
	if f.Weather != nil {
		var err error
		if f.WeatherID, err = keepWeather(tx, *f.Weather); err != nil {
			return fmt.Errorf("store the weather of forecast %s: %w", f.ForecastID, err)
		}
	}
	if err := forecasts.Insert(tx, f); err != nil {
		return fmt.Errorf("store forecast %s: %w", f.ForecastID, err)
	}
	return s.issueDays(tx, f, zone)
}

// LatestForecast is the newest forecast of a site; [store.ErrNotFound] when
// there is none.
func (s *Service) LatestForecast(ctx context.Context, siteID string) (Forecast, error) {
	var f Forecast
	err := s.records.View(ctx, func(tx store.Tx) error {
		list, _, err := forecasts.List(tx, store.Query{Prefix: store.Key(siteID), Reverse: true, Limit: 1})
		if err != nil {
			return fmt.Errorf("read the latest forecast of site %s: %w", siteID, err)
		}
		if len(list) == 0 {
			return store.ErrNotFound
		}
		f = list[0]
		return nil
	})
	return f, err
}

// Stored lists the forecasts within the scope as they were issued, newest
// first; [api.ErrNoForecastResult] when there is none.
func (s *Service) Stored(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.StoredForecast, string, error) {
	sq := newest(q)
	list, next, err := list(ctx, s.records, forecasts, sq, scope, q, func(f Forecast) (string, string, string) { return f.CustomerID, f.SiteID, "" })
	if err != nil {
		return nil, "", fmt.Errorf("list forecasts: %w", err)
	}
	if len(list) == 0 && q.Cursor == "" {
		return nil, "", api.ErrNoForecastResult
	}
	out := make([]api.StoredForecast, len(list))
	for i, f := range list {
		out[i] = f.Stored()
	}
	return out, next, nil
}

// ForecastDay is what was issued for one day of a site: each interval holds
// the newest value issued before the interval began, so that a past hour never
// knows what came after it.
type ForecastDay struct {
	SiteID      string    `json:"site_id" limit:"id"`
	Day         string    `json:"day" limit:"word"` // 2006-01-02, the site's
	Start       time.Time `json:"start"`
	StepMinutes int       `json:"step_minutes"`
	P10KW       Numbers   `json:"p10_kw" limit:"20000"`
	P50KW       Numbers   `json:"p50_kw" limit:"20000"`
	P90KW       Numbers   `json:"p90_kw" limit:"20000"`
	ClearSkyKW  Numbers   `json:"clear_sky_kw" limit:"20000"`
	// FirstP50KWh is the whole day's P50 of the first forecast that reached
	// over all of it, issued at FirstIssuedAt.
	FirstP50KWh   float64   `json:"first_p50_kwh"`
	FirstIssuedAt time.Time `json:"first_issued_at,omitzero"`
}

var forecastDays = store.Table[ForecastDay]{
	Bucket: "forecast-days",
	Key:    func(d ForecastDay) []byte { return store.Key(d.SiteID, d.Day) },
}

// Day is what was issued for the site's day that holds t;
// [store.ErrNotFound] when nothing was.
func (s *Service) Day(ctx context.Context, siteID string, t time.Time, zone *time.Location) (ForecastDay, error) {
	var d ForecastDay
	err := s.records.View(ctx, func(tx store.Tx) error {
		var err error
		d, err = forecastDays.Get(tx, store.Key(siteID, t.In(zone).Format(time.DateOnly)))
		return err
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		err = fmt.Errorf("read the forecast day of site %s: %w", siteID, err)
	}
	return d, err
}
