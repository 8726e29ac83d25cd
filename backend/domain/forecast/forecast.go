// Package forecast keeps forecasts as they were issued, the weather that they were
// made from, and their accuracy by lead time.
package forecast

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/store"
)

// Service keeps forecasts as they were issued and their accuracy. It is safe for concurrent use; its state is in the store.
type Service struct {
	records store.Records
	now     func() time.Time
	sites   *site.Service
}

// New returns a Service over a store. now is the plant's clock.
func New(records store.Records, now func() time.Time, sites *site.Service) *Service {
	return &Service{records: records, now: now, sites: sites}
}

// Tables returns the tables of the package, for a check of the data.
func Tables() []store.Checked {
	// Extracts are written with each forecast by the package that reads them, and can be made again.
	return []store.Checked{forecasts, days, weatherTable, scoreDays, store.Unchecked("forecast-extracts")}
}

// Forecast is a forecast as it was issued: even intervals from Start.
type Forecast struct {
	ForecastID   string         `json:"forecast_id" limit:"id"`
	CustomerID   string         `json:"customer_id" limit:"id"`
	SiteID       string         `json:"site_id" limit:"id"`
	IssuedAt     time.Time      `json:"issued_at"`
	ModelName    string         `json:"model_name" limit:"id"`
	ModelVersion string         `json:"model_version" limit:"id"`
	HorizonHours int            `json:"horizon_hours"` // as answered; what is stored reaches further
	Start        time.Time      `json:"start"`
	StepMinutes  int            `json:"step_minutes"`
	P10KW        record.Numbers `json:"p10_kw" limit:"20000"`
	P50KW        record.Numbers `json:"p50_kw" limit:"20000"`
	P90KW        record.Numbers `json:"p90_kw" limit:"20000"`
	ClearSkyKW   record.Numbers `json:"clear_sky_kw" limit:"20000"`
	TemperatureC record.Numbers `json:"temperature_c" limit:"20000"`
	GHIWM2       record.Numbers `json:"ghi_wm2" limit:"20000"`
	WindMS       record.Numbers `json:"wind_ms" limit:"20000"`
	Metrics      Metrics        `json:"metrics"`
	Band         Band           `json:"band,omitzero"`                   // of its days
	Source       string         `json:"source" limit:"name"`             // of the weather
	WeatherID    string         `json:"weather_id,omitempty" limit:"id"` // of the [Weather] that it was made from

	// Weather is what a source outside issued for it, to be kept with it.
	Weather *Weather `json:"-"`
}

// Metrics are the errors of the model that made a forecast, in kW and percent.
type Metrics struct {
	TrainingRMSE   float64 `json:"training_rmse"`
	ValidationRMSE float64 `json:"validation_rmse"`
	MAPEPercent    float64 `json:"mape_percent"`
	SMAPEPercent   float64 `json:"smape_percent"`
}

// Band are the factors by which the bands of a site's days were fitted to the site
// when the forecast was issued; zero: they were not.
type Band struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
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
	mean := func(v record.Numbers) record.Numbers {
		var out record.Numbers
		for i := skip; i+per <= len(v); i += per {
			sum, n := 0.0, 0
			for _, x := range v[i : i+per] {
				if record.Finite(x) {
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
	for _, v := range f.columns() {
		*v = mean(*v)
	}
	return f
}

// AsStored is f with its values as a stored forecast has them.
func (f Forecast) AsStored() Forecast {
	for _, v := range f.columns() {
		stored := make(record.Numbers, len(*v))
		for i, x := range *v {
			stored[i] = math.Round(x*1e4) / 1e4
		}
		*v = stored
	}
	return f
}

// HasGaps reports whether a value of the power is missing.
func (f Forecast) HasGaps() bool {
	for _, v := range []record.Numbers{f.P10KW, f.P50KW, f.P90KW} {
		if len(v) != len(f.P50KW) || slices.ContainsFunc(v, func(x float64) bool { return !record.Finite(x) }) {
			return true
		}
	}
	return false
}

func (f *Forecast) columns() []*record.Numbers {
	return []*record.Numbers{&f.P10KW, &f.P50KW, &f.P90KW, &f.ClearSkyKW, &f.TemperatureC, &f.GHIWM2, &f.WindMS}
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
		PredictedPowerKW:   record.Known(f.P50KW.At(i)),
		ConfidenceInterval: api.Interval{Lower: record.Known(f.P10KW.At(i)), Upper: record.Known(f.P90KW.At(i))},
		WeatherConditions: api.WeatherConditions{TemperatureC: record.Known(f.TemperatureC.At(i)), IrradianceWM2: record.Known(f.GHIWM2.At(i)),
			WindSpeedMS: record.Known(f.WindMS.At(i))},
		ClearSkyKW: record.Known(f.ClearSkyKW.At(i)),
	}
}

// WeatherContext is the mean weather over the intervals with the sun up: where
// the clear-sky power is not zero.
func (f Forecast) WeatherContext() api.WeatherContext {
	mean := func(v record.Numbers) float64 {
		sum, n := 0.0, 0
		for i, x := range v {
			if record.Finite(x) && f.ClearSkyKW.At(i) > 0 {
				sum, n = sum+x, n+1
			}
		}
		return record.Known(sum / float64(n))
	}
	return api.WeatherContext{AvgTemperatureC: mean(f.TemperatureC), AvgIrradianceWM2: mean(f.GHIWM2), AvgWindSpeedMS: mean(f.WindMS), Source: f.Source}
}

// Stored is f as /terminal/forecast shows it, in hours.
func (f Forecast) Stored() api.StoredForecast {
	out := api.StoredForecast{ForecastID: f.ForecastID, SiteID: f.SiteID, GeneratedAt: api.At(f.IssuedAt), ModelName: f.ModelName,
		ModelVersion: f.ModelVersion, HorizonHours: f.HorizonHours, Metrics: api.ForecastMetrics(f.Metrics), WeatherContext: f.WeatherContext(),
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

// Add keeps a forecast and brings the site's days up to date with it.
func (s *Service) Add(tx store.Tx, f Forecast, zone *time.Location) error {
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

// Latest returns the newest forecast of a site, or
// [store.ErrNotFound].
func (s *Service) Latest(ctx context.Context, siteID string) (Forecast, error) {
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
// first; [api.ErrNoForecastResult] if none exists.
func (s *Service) Stored(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.StoredForecast, string, error) {
	sq := record.NewestFirst(q)
	list, next, err := record.List(ctx, s.records, forecasts, sq, q.Page, func(f Forecast) bool {
		return record.Matches(scope, q)(f.CustomerID, f.SiteID, "") && q.Since(f.IssuedAt)
	})
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

// Prune deletes forecasts from before a time, except the first of each
// site's day.
func Prune(tx store.Tx, before time.Time) (int, error) {
	return record.Prune(tx, forecasts, laterOfDay(before))
}

// PruneWeather deletes the weather of such forecasts.
func PruneWeather(tx store.Tx, before time.Time) (int, error) {
	return record.Prune(tx, weatherTable, laterOfDay(before))
}

// laterOfDay reports of records in their order whether they are due: all from
// before a limit except the first of each site's day.
func laterOfDay(limit time.Time) func(siteID string, made time.Time) bool {
	former := ""
	return func(siteID string, made time.Time) bool {
		day := siteID + made.Format(time.DateOnly)
		first := day != former
		former = day
		return !first && made.Before(limit)
	}
}
