package forecast_test

import (
	"math"
	"testing"
	"time"

	"app.sunloop/backend/domain/domaintest"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
)

func TestPastHoursStayAsIssued(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme") // Vienna: UTC+2
	zone := record.Zone(site.Timezone)
	midnight := time.Date(2026, 6, 14, 22, 0, 0, 0, time.UTC)
	issue := func(f forecast.Forecast) {
		t.Helper()
		d.Update(func(tx store.Tx) error { return d.Forecasts.Add(tx, f, zone) })
	}
	issue(domaintest.Hours(midnight.Add(-time.Hour), midnight, 48, 10))
	issue(domaintest.Hours(midnight.Add(11*time.Hour), midnight.Add(11*time.Hour), 48, 20))
	day, err := d.Forecasts.Day(t.Context(), "South", midnight.Add(12*time.Hour), zone)
	if err != nil {
		t.Fatal(err)
	}
	if len(day.P50KW) != 24 || day.P50KW[10] != 10 || day.P50KW[11] != 20 {
		t.Errorf("the day holds %v", day.P50KW)
	}
	if day.FirstP50KWh != 240 || !day.FirstIssuedAt.Equal(midnight.Add(-time.Hour)) {
		t.Errorf("the whole day was first %v kWh, issued %v", day.FirstP50KWh, day.FirstIssuedAt)
	}
	if got := day.EnergyKWh(day.Start, midnight.Add(11*time.Hour+30*time.Minute)); got != 120 {
		t.Errorf("until half past eleven %v kWh, want 120", got)
	}
	if got := day.At(day.P50KW, midnight.Add(11*time.Hour)); got != 15 {
		t.Errorf("between the hours %v, want 15", got)
	}
	// A day that begins with a forecast in its middle takes what that has.
	late := midnight.Add(5 * 24 * time.Hour)
	f := domaintest.Hours(late.Add(9*time.Hour), late, 48, 7)
	issue(f)
	if day, err = d.Forecasts.Day(t.Context(), "South", late.Add(time.Hour), zone); err != nil || day.P50KW[3] != 7 || day.FirstP50KWh != 168 {
		t.Errorf("a late first forecast gives %v, %v", day, err)
	}
}

func TestStoredForecast(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	start := d.Clock.Add(-3 * time.Hour)
	for i := range 3 {
		f := domaintest.Hours(d.Clock.Add(time.Duration(i)*time.Hour-30*time.Minute), start, 60, float64(i+1))
		d.Update(func(tx store.Tx) error { return d.Forecasts.Add(tx, f, record.Zone(site.Timezone)) })
	}
	list, next, err := d.Forecasts.Stored(t.Context(), domaintest.Acme, api.ListQuery{CustomerID: "acme", Page: api.Page{Limit: 2}})
	if err != nil || len(list) != 2 || next == "" {
		t.Fatalf("stored %v %q %v", list, next, err)
	}
	p := list[0].ForecastPoints
	if len(p) != 48 || p[0].HourAhead != 1 || p[0].PredictedPowerKW != 3 || !p[0].Timestamp.Equal(d.Clock.Add(2*time.Hour)) {
		t.Errorf("newest first: %d points, first %+v", len(p), p[0])
	}
	if c := list[0].WeatherContext; c.AvgTemperatureC != 20 || c.AvgIrradianceWM2 != 0 {
		t.Errorf("weather %+v", c)
	}
	_, _, err = d.Forecasts.Stored(t.Context(), api.Scope{Customers: []string{"else"}, Sites: []string{api.Every}}, api.ListQuery{CustomerID: "else"})
	domaintest.WantError(t, err, 404, "No forecast results found")
	f, err := d.Forecasts.Latest(t.Context(), "South")
	if err != nil || !math.IsNaN(f.GHIWM2[0]) || f.P90KW[0] != 6 {
		t.Errorf("read back %+v, %v", f, err)
	}
}

func TestHourlyIsTheMeanOfWholeHours(t *testing.T) {
	f := forecast.Forecast{Start: time.Date(2026, 6, 1, 10, 30, 0, 0, time.UTC), StepMinutes: 30, P10KW: record.Numbers{1, 2, 4, 5, 7, 9}, P50KW: record.Numbers{1, 2, 4, 5, math.NaN(), 9},
		P90KW: record.Numbers{1, 2, 4, 5, 7, 9}, ClearSkyKW: record.Numbers{1, 2, 4, 5, 7, 9}}
	h := f.Hourly()
	if h.Start.Hour() != 11 || len(h.P50KW) != 2 || h.P50KW[0] != 3 || h.P10KW[1] != 6 || h.P50KW[1] != 5 {
		t.Errorf("hourly %+v", h)
	}
}

func TestNumbersSurviveJSON(t *testing.T) {
	var back record.Numbers
	b, err := record.Numbers{1.23456, math.NaN(), -0.5, 1e6}.MarshalJSON()
	if err != nil || string(b) != "[1.2346,null,-0.5,1000000]" {
		t.Fatalf("%s, %v", b, err)
	}
	if err := back.UnmarshalJSON(b); err != nil || len(back) != 4 || !math.IsNaN(back[1]) || back[3] != 1e6 {
		t.Errorf("back %v, %v", back, err)
	}
}

func TestPruneKeepsTheFirstOfADay(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	for i := range 6 { // 10:00, 14:00, 18:00, 22:00, 2:00, 6:00 UTC
		at := d.Clock.Add(time.Duration(4*i) * time.Hour)
		d.Update(func(tx store.Tx) error {
			return d.Forecasts.Add(tx, domaintest.Hours(at, at, 2, 1), record.Zone(site.Timezone))
		})
	}
	limits := domain.Limits{Forecasts: d.Clock.Add(18 * time.Hour), Activities: d.Clock.Add(time.Hour)}
	n, err := d.Prune(t.Context(), limits)
	if err != nil || n != 4 { // three forecasts of the first day, one activity
		t.Errorf("dropped %d, %v", n, err)
	}
	if n, err = d.Prune(t.Context(), limits); err != nil || n != 0 {
		t.Errorf("then %d, %v", n, err)
	}
	list, _, err := d.Forecasts.Stored(t.Context(), domaintest.Acme, api.ListQuery{CustomerID: "acme"})
	if err != nil || len(list) != 3 {
		t.Errorf("%d forecasts stay, %v", len(list), err)
	}
}
