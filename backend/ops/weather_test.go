package ops

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"app.sunloop/backend/store"
	"app.sunloop/engine/weather"
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

func TestWeatherIsKeptAsIssued(t *testing.T) {
	d := newDesk(t)
	site := d.site("South", "acme")
	t0 := time.Date(2026, 6, 1, 10, 7, 30, 123456789, time.UTC)
	hour := t0.Truncate(time.Hour)
	id := ""
	keep := func(f weather.Forecast, at time.Time) string {
		w := WeatherOf("South", f)
		fc := hours(at, at, 2, 1)
		fc.Weather = &w
		d.update(func(tx store.Tx) error { return d.AddForecast(tx, fc, Zone(site)) })
		last, err := d.LatestForecast(t.Context(), "South")
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
	w, err := d.IssuedWeather(t.Context(), "South", t0)
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
		if w, err := d.IssuedWeather(t.Context(), "South", t0.Add(at)); err != nil || w.WeatherID != want || w.IssuedAt.After(t0.Add(at)) {
			t.Errorf("known after %v: %s issued %v, %v", at, w.WeatherID, w.IssuedAt, err)
		}
	}
	for site, at := range map[string]time.Time{"South": t0.Add(-1), "North": t0} {
		if _, err := d.IssuedWeather(t.Context(), site, at); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s at %v: %v", site, at, err)
		}
	}
}

func TestWeatherOfAnotherSourceIsApart(t *testing.T) {
	d := newDesk(t)
	t0 := time.Date(2026, 6, 1, 10, 0, 0, 0, time.UTC)
	ids := map[string]bool{}
	for _, source := range []string{"Sky", "Other sky"} {
		d.update(func(tx store.Tx) error {
			id, err := keepWeather(tx, WeatherOf("South", said(source, t0, t0, 2, 1)))
			ids[id] = true
			return err
		})
	}
	if len(ids) != 2 {
		t.Errorf("ids %v", ids)
	}
}

func TestWeatherIsPruned(t *testing.T) {
	d := newDesk(t)
	for k := range 6 {
		at := d.clock.Add(time.Duration(4*k) * time.Hour)
		d.update(func(tx store.Tx) error {
			_, err := keepWeather(tx, WeatherOf("South", said("Sky", at, at, 2, 1)))
			return err
		})
	}
	if n, err := d.Prune(t.Context(), Limits{Forecasts: d.clock.Add(18 * time.Hour)}); err != nil || n != 3 { // of the first day all but its first
		t.Errorf("dropped %d, %v", n, err)
	}
	if w, err := d.IssuedWeather(t.Context(), "South", d.clock.Add(13*time.Hour)); err != nil || !w.IssuedAt.Equal(d.clock) {
		t.Errorf("%+v, %v", w, err)
	}
}

func TestWeatherKeepsWhatIsUnknown(t *testing.T) {
	f := said("Sky", time.Unix(0, 0).UTC(), time.Unix(0, 0).UTC(), 1, 0)
	c := WeatherOf("South", f).Forecast().Conditions[0]
	if !math.IsNaN(c.DNI) || !math.IsNaN(c.WindSpeedMS) || c.GHI != 0 {
		t.Errorf("%+v", c)
	}
}
