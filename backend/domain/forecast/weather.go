package forecast

import (
	"context"
	"fmt"
	"math"
	"time"

	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/engine/weather"
)

// Weather is a weather forecast as its source issued it, that forecasts of a
// site were made from: what a later backtest may know of the weather.
type Weather struct {
	WeatherID    string         `json:"weather_id" limit:"id"`
	SiteID       string         `json:"site_id" limit:"id"`
	IssuedAt     time.Time      `json:"issued_at"` // by its source
	Source       string         `json:"source" limit:"name"`
	Start        time.Time      `json:"start"`
	StepMinutes  int            `json:"step_minutes"`
	GHIWM2       record.Numbers `json:"ghi_wm2" limit:"20000"`
	DNIWM2       record.Numbers `json:"dni_wm2" limit:"20000"`
	DHIWM2       record.Numbers `json:"dhi_wm2" limit:"20000"`
	TemperatureC record.Numbers `json:"temperature_c" limit:"20000"`
	WindMS       record.Numbers `json:"wind_ms" limit:"20000"`
	CloudCover   record.Numbers `json:"cloud_cover" limit:"20000"`         // share of the sky, 0..1
	RainMMH      record.Numbers `json:"rain_mm_h,omitempty" limit:"20000"` // rain and snow as water, mm an hour; none where the source has none
}

var weatherTable = store.Table[Weather]{
	Bucket: "weather",
	Key:    func(w Weather) []byte { return store.Key(w.SiteID, w.WeatherID) },
}

// WeatherOf is the record of a forecast of a site's weather.
func WeatherOf(siteID string, f weather.Forecast) Weather {
	w := Weather{WeatherID: record.NewID("wx", f.IssuedAt), SiteID: siteID, IssuedAt: f.IssuedAt.UTC(), Source: f.Source, Start: f.Start.UTC(), StepMinutes: int(f.Step / time.Minute)}
	rain, wet := f.Forecasted(weather.Precipitation)
	for i, c := range f.Conditions {
		if wet {
			w.RainMMH = append(w.RainMMH, rain.At(f.Time(i))/rain.Step.Hours())
		}
		w.GHIWM2, w.DNIWM2, w.DHIWM2 = append(w.GHIWM2, c.GHI), append(w.DNIWM2, c.DNI), append(w.DHIWM2, c.DHI)
		w.TemperatureC, w.WindMS, w.CloudCover = append(w.TemperatureC, c.TemperatureC), append(w.WindMS, c.WindSpeedMS), append(w.CloudCover, c.CloudCover)
	}
	return w
}

// Forecast is the weather as engine/weather has it.
func (w Weather) Forecast() weather.Forecast {
	f := weather.Forecast{IssuedAt: w.IssuedAt, Start: w.Start, Step: time.Duration(w.StepMinutes) * time.Minute, Source: w.Source}
	for i := range w.GHIWM2 {
		c := weather.Unknown()
		c.GHI, c.DNI, c.DHI = w.GHIWM2.At(i), w.DNIWM2.At(i), w.DHIWM2.At(i)
		c.TemperatureC, c.WindSpeedMS, c.CloudCover = w.TemperatureC.At(i), w.WindMS.At(i), w.CloudCover.At(i)
		f.Conditions = append(f.Conditions, c)
	}
	return f
}

// keepWeather keeps w unless it is kept already, as one that several forecasts
// are made from is, and returns the id that it has. One that reaches further
// than the one kept takes its place.
func keepWeather(tx store.Tx, w Weather) (id string, err error) {
	last, err := weatherBefore(tx, w.SiteID, w.IssuedAt)
	if err != nil {
		return "", err
	}
	if len(last) > 0 && last[0].IssuedAt.Equal(w.IssuedAt) && last[0].Source == w.Source {
		if w.WeatherID = last[0].WeatherID; !end(w).After(end(last[0])) {
			return w.WeatherID, nil
		}
		if last[0].Start.Before(w.Start) && last[0].StepMinutes == w.StepMinutes {
			w = last[0].joined(w)
		}
	}
	return w.WeatherID, weatherTable.Put(tx, w)
}

func end(w Weather) time.Time {
	return w.Start.Add(time.Duration(len(w.GHIWM2)*w.StepMinutes) * time.Minute)
}

// joined is w up to where later begins, then later: both are of one issue.
func (w Weather) joined(later Weather) Weather {
	n := int(later.Start.Sub(w.Start) / (time.Duration(w.StepMinutes) * time.Minute))
	if n > len(w.GHIWM2) {
		return later
	}
	if len(w.RainMMH)+len(later.RainMMH) > 0 {
		w.RainMMH, later.RainMMH = w.rain(), later.rain()
	}
	for _, v := range []struct{ to, then *record.Numbers }{
		{&w.GHIWM2, &later.GHIWM2}, {&w.DNIWM2, &later.DNIWM2}, {&w.DHIWM2, &later.DHIWM2},
		{&w.TemperatureC, &later.TemperatureC}, {&w.WindMS, &later.WindMS}, {&w.CloudCover, &later.CloudCover}, {&w.RainMMH, &later.RainMMH},
	} {
		if len(*v.to) == 0 { // the rain of a source that has none
			continue
		}
		*v.to = append((*v.to)[:n:n], *v.then...)
	}
	return w
}

// rain is the rain of every interval; unknown where it was not said.
func (w Weather) rain() record.Numbers {
	out := make(record.Numbers, len(w.GHIWM2))
	for i := range out {
		out[i] = w.RainMMH.At(i)
	}
	return out
}

// weatherBefore is the newest weather that was issued at or before a time, or
// none. Ids go by the time of issue.
func weatherBefore(tx store.Tx, siteID string, at time.Time) ([]Weather, error) {
	prefix := store.Key(siteID)
	for e, err := range tx.Scan(weatherTable.Bucket, prefix, store.After(prefix), true) {
		if err != nil {
			return nil, err
		}
		parts := store.Parts(e.Key)
		if made, ok := record.MadeAt(parts); !ok || made.After(at) {
			continue
		}
		w, err := weatherTable.Get(tx, e.Key)
		if err != nil {
			return nil, err
		}
		if !w.IssuedAt.After(at) {
			return []Weather{w}, nil
		}
	}
	return nil, nil
}

// WeatherOfForecast is the weather that a forecast was made from, as its source
// issued it; [store.ErrNotFound] for one made without a source.
func (s *Service) WeatherOfForecast(ctx context.Context, f Forecast) (w Weather, err error) {
	if f.WeatherID == "" {
		return w, store.ErrNotFound
	}
	err = s.records.View(ctx, func(tx store.Tx) error {
		w, err = weatherTable.Get(tx, store.Key(f.SiteID, f.WeatherID))
		return err
	})
	if err != nil {
		return w, fmt.Errorf("read the weather behind forecast %s: %w", f.ForecastID, err)
	}
	return w, nil
}

// WindAndRain is the most wind, in m/s, and rain, in mm an hour, that the source said
// for a span, with how much rain in mm; known is false unless it covered all
// of it.
func (w Weather) WindAndRain(from, to time.Time) (windMS, rainMMH, rainMM float64, known bool) {
	step := time.Duration(w.StepMinutes) * time.Minute
	if step <= 0 || from.Before(w.Start) || !from.Before(to) {
		return 0, 0, 0, false
	}
	for i := int(from.Sub(w.Start) / step); w.Start.Add(time.Duration(i) * step).Before(to); i++ {
		wind, rain := w.WindMS.At(i), w.RainMMH.At(i)
		if math.IsNaN(wind) || math.IsNaN(rain) {
			return 0, 0, 0, false
		}
		begin, end := w.Start.Add(time.Duration(i)*step), w.Start.Add(time.Duration(i+1)*step)
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		windMS, rainMMH, rainMM = max(windMS, wind), max(rainMMH, rain), rainMM+rain*end.Sub(begin).Hours()
	}
	return windMS, rainMMH, rainMM, true
}

// IssuedWeather is the newest forecast of a site's weather that was there at a
// time; [store.ErrNotFound] when there was none.
func (s *Service) IssuedWeather(ctx context.Context, siteID string, at time.Time) (w Weather, err error) {
	err = s.records.View(ctx, func(tx store.Tx) error {
		found, err := weatherBefore(tx, siteID, at)
		if err != nil {
			return fmt.Errorf("read the weather of site %s: %w", siteID, err)
		}
		if len(found) == 0 {
			return store.ErrNotFound
		}
		w = found[0]
		return nil
	})
	return w, err
}
