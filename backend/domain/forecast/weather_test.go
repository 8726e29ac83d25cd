package forecast_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"app.sunloop/backend/domain"
	"app.sunloop/backend/domain/domaintest"
	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
	"app.sunloop/engine/weather"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// said is a forecast of n hours whose hour k has k W/m² more than first.
func said(source string, issued, start time.Time, n int, first float64) weather.Forecast {
	f := weather.Forecast{IssuedAt: issued, Start: start, Step: time.Hour, Source: source}
	for k := range n {
		c := weather.Unknown()
		c.GHI, c.TemperatureC, c.CloudCover = first+float64(k), 20, 0.5
		f.Conditions = append(f.Conditions, c)
	}
	return f
}

// showers is a forecast of n hours with wind and, if wet, a column of mm of rain
// an hour.
func showers(issued, start time.Time, wind float64, rain ...float64) weather.Forecast {
	f := said("Sky", issued, start, max(len(rain), 4), 100)
	for i := range f.Conditions {
		f.Conditions[i].WindSpeedMS = wind + float64(i)
	}
	if len(rain) > 0 {
		f.Columns = []weather.Column{
			{Name: "gauge", Quantity: weather.Precipitation, Measured: true, Series: series.Series{Start: start, Step: time.Hour, Values: []float64{9, 9, 9, 9}}},
			{Name: "precipitation", Quantity: weather.Precipitation, Series: series.Series{Start: start, Step: time.Hour, Values: rain}}}
	}
	return f
}

func TestWeatherOver(t *testing.T) {
	t0 := time.Date(2026, 6, 1, 10, 0, 0, 0, time.UTC)
	at := func(hours float64) time.Time { return t0.Add(time.Duration(hours * float64(time.Hour))) }
	wet := forecast.WeatherOf("South", showers(t0, t0, 5, 0, 0.4, 2, math.NaN()))
	for _, c := range []struct {
		from, to        float64
		wind, most, sum float64
		known           bool
	}{{0, 1, 5, 0, 0, true}, {0.5, 1.5, 6, 0.4, 0.2, true}, {0, 3, 7, 2, 2.4, true}, {2.5, 3, 7, 2, 1, true}, {2, 3.5, 0, 0, 0, false}, {-1, 1, 0, 0, 0, false}, {3, 9, 0, 0, 0, false}} {
		wind, most, sum, known := wet.WindAndRain(at(c.from), at(c.to))
		if known != c.known || wind != c.wind || math.Abs(most-c.most) > 1e-9 || math.Abs(sum-c.sum) > 1e-9 {
			t.Errorf("from hour %g to %g: wind %g, rain %g an hour, %g in all, known %v", c.from, c.to, wind, most, sum, known)
		}
	}
	if _, _, _, known := forecast.WeatherOf("South", showers(t0, t0, 5)).WindAndRain(at(0), at(1)); known {
		t.Error("a source without rain knows of it")
	}
	if _, _, _, known := (forecast.Weather{}).WindAndRain(at(0), at(1)); known {
		t.Error("no weather is known")
	}
	// Joined, what was not said of rain stays unknown.
	later := forecast.WeatherOf("South", showers(t0, at(2), 1, 3, 3, 3, 3))
	j := forecast.WeatherOf("South", showers(t0, t0, 5)).Joined(later)
	if len(j.RainMMH) != 6 || !math.IsNaN(j.RainMMH[1]) || j.RainMMH[2] != 3 {
		t.Errorf("joined: %v", j.RainMMH)
	}
	if j := wet.Joined(later); j.RainMMH[1] != 0.4 || j.RainMMH[2] != 3 {
		t.Errorf("joined: %v", j.RainMMH)
	}
	dry := forecast.WeatherOf("South", showers(t0, t0, 5))
	if j := dry.Joined(forecast.WeatherOf("South", showers(t0, at(2), 1))); len(j.RainMMH) != 0 || len(j.GHIWM2) != 6 {
		t.Errorf("joined: %v", j.RainMMH)
	}
}

func TestWeatherIsKeptAsIssued(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	t0 := time.Date(2026, 6, 1, 10, 7, 30, 123456789, time.UTC)
	hour := t0.Truncate(time.Hour)
	id := ""
	keep := func(f weather.Forecast, at time.Time) string {
		w := forecast.WeatherOf("South", f)
		fc := domaintest.Hours(at, at, 2, 1)
		fc.Weather = &w
		d.Update(func(tx store.Tx) error { return d.Forecasts.Add(tx, fc, record.Zone(site.Timezone)) })
		last, err := d.Forecasts.Latest(t.Context(), "South")
		if err != nil || last.WeatherID == "" {
			t.Fatalf("%+v, %v", last, err)
		}
		return last.WeatherID
	}
	first := said("Sky", t0, hour, 4, 100)
	id = keep(first, t0)
	if again := keep(said("Sky", t0, hour, 4, 100), t0.Add(10*time.Minute)); again != id {
		t.Errorf("the same issue is kept twice: %s, %s", id, again)
	}
	// An hour on, the same issue reaches an hour further.
	if further := keep(said("Sky", t0, hour.Add(time.Hour), 4, 101), t0.Add(50*time.Minute)); further != id {
		t.Errorf("the same issue, further: %s, %s", id, further)
	}
	w, err := d.Forecasts.IssuedWeather(t.Context(), "South", t0)
	if err != nil || w.WeatherID != id {
		t.Fatalf("%+v, %v", w, err)
	}
	if diff := cmp.Diff(said("Sky", t0, hour, 5, 100), w.Forecast(), cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	next := keep(said("Sky", t0.Add(time.Hour), hour.Add(time.Hour), 4, 200), t0.Add(time.Hour))
	if next == id {
		t.Error("the next issue took the place of the former")
	}
	for at, want := range map[time.Duration]string{0: id, time.Hour - 1: id, time.Hour: next, 48 * time.Hour: next} {
		if w, err := d.Forecasts.IssuedWeather(t.Context(), "South", t0.Add(at)); err != nil || w.WeatherID != want || w.IssuedAt.After(t0.Add(at)) {
			t.Errorf("known after %v: %s issued %v, %v", at, w.WeatherID, w.IssuedAt, err)
		}
	}
	for site, at := range map[string]time.Time{"South": t0.Add(-1), "North": t0} {
		if _, err := d.Forecasts.IssuedWeather(t.Context(), site, at); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s at %v: %v", site, at, err)
		}
	}
}

func TestWeatherOfAnotherSourceIsApart(t *testing.T) {
	d := domaintest.New(t)
	t0 := time.Date(2026, 6, 1, 10, 0, 0, 0, time.UTC)
	ids := map[string]bool{}
	for _, source := range []string{"Sky", "Other sky"} {
		d.Update(func(tx store.Tx) error {
			id, err := forecast.KeepWeather(tx, forecast.WeatherOf("South", said(source, t0, t0, 2, 1)))
			ids[id] = true
			return err
		})
	}
	if len(ids) != 2 {
		t.Errorf("ids %v", ids)
	}
}

func TestWeatherIsPruned(t *testing.T) {
	d := domaintest.New(t)
	for k := range 6 {
		at := d.Clock.Add(time.Duration(4*k) * time.Hour)
		d.Update(func(tx store.Tx) error {
			_, err := forecast.KeepWeather(tx, forecast.WeatherOf("South", said("Sky", at, at, 2, 1)))
			return err
		})
	}
	if n, err := d.Prune(t.Context(), domain.Limits{Forecasts: d.Clock.Add(18 * time.Hour)}); err != nil || n != 3 { // of the first day all but its first
		t.Errorf("dropped %d, %v", n, err)
	}
	if w, err := d.Forecasts.IssuedWeather(t.Context(), "South", d.Clock.Add(13*time.Hour)); err != nil || !w.IssuedAt.Equal(d.Clock) {
		t.Errorf("%+v, %v", w, err)
	}
}

func TestWeatherKeepsWhatIsUnknown(t *testing.T) {
	f := said("Sky", time.Unix(0, 0).UTC(), time.Unix(0, 0).UTC(), 1, 0)
	c := forecast.WeatherOf("South", f).Forecast().Conditions[0]
	if !math.IsNaN(c.DNI) || !math.IsNaN(c.WindSpeedMS) || c.GHI != 0 {
		t.Errorf("%+v", c)
	}
}
