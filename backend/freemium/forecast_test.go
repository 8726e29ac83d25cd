package freemium

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/engine/solar"
	"app.sunloop/engine/weather"
)

// check asserts what every answer holds.
func check(t *testing.T, f api.FreemiumForecast) {
	t.Helper()
	if f.ForecastHours != 24 || len(f.Forecasts) != 24 || !f.GeneratedAt.Equal(now) {
		t.Fatalf("%d hours, %d points, generated at %v", f.ForecastHours, len(f.Forecasts), f.GeneratedAt)
	}
	total, peak := 0.0, api.FreemiumPoint{}
	for i, p := range f.Forecasts {
		if want := now.Truncate(time.Hour).Add(time.Duration(i+1) * time.Hour); !p.Timestamp.Equal(want) || p.HourAhead != i+1 {
			t.Errorf("point %d is %d hours ahead at %v, want %v", i, p.HourAhead, p.Timestamp, want)
		}
		elevation := 90 - solar.At(p.Timestamp.Add(30*time.Minute), durban).ZenithDeg
		switch {
		case !(p.KWhForecast >= 0 && p.KWhForecast <= 100) || !(p.Confidence >= 0 && p.Confidence <= 1):
			t.Errorf("%+v", p)
		case elevation < -8 && (p.KWhForecast != 0 || p.Confidence != 1), elevation > 25 && p.KWhForecast <= 0:
			t.Errorf("the sun is at %.0f°: %+v", elevation, p)
		}
		total += p.KWhForecast
		if p.KWhForecast > peak.KWhForecast {
			peak = p
		}
	}
	s := f.Summary
	if math.Abs(s.TotalKWh24h-total) > 0.01 || math.Abs(s.AverageHourlyKWh-total/24) > 0.01 || s.PeakKWh != peak.KWhForecast || s.PeakHour != peak.Timestamp {
		t.Errorf("summary %+v of %.3f kWh with its peak at %+v", s, total, peak)
	}
}

func TestForecast(t *testing.T) {
	year := csvOf(now, 366)
	tests := []struct {
		name, file, location string
		model                string
		notes                string
	}{
		{"two days", csvOf(now, 2), "Durban, ZA", modelAnalog, "place: Durban, ZA (-29.86, 31.03)"},
		{"a month", csvOf(now, 30), "-29.86,31.03", modelAnalog, "the nearest town is"},
		{"a quarter that ended long ago", csvOf(now.AddDate(-2, 0, 0), 90), "Durban", modelAnalog, "place: Durban"},
		{"a place that is not known", csvOf(now, 90), "Roof", modelAnalog, "the sun in the data says about -"},
		{"a file that continues after now", csvOf(now.AddDate(0, 0, 1), 30), "Durban", modelAnalog, ""},
		{"local times", localTimes(csvOf(now, 30)), "Durban", modelAnalog, "zone of the location"},
		{"a year", year, "Durban", modelBlend, "place: Durban"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if testing.Short() && test.model == modelBlend {
				t.Skip("trains")
			}
			w := newWorld(t)
			r := request(w.code(t, ana, remote(1)))
			r.Location = test.location
			f, err := w.Forecast(t.Context(), r, remote(1), strings.NewReader(test.file))
			if err != nil {
				t.Fatal(err)
			}
			check(t, f)
			// On a busy machine the learners may be out of time.
			if f.ModelType != test.model && !(test.model == modelBlend && f.ModelType == modelAnalog) {
				t.Errorf("model %q", f.ModelType)
			}
			if !strings.Contains(strings.Join(f.Notes, "\n"), test.notes) || f.WeatherSource != weather.SourceClimatology || f.Manufacturer != "unknown" || f.SiteName != "Roof" || f.Location != test.location {
				t.Errorf("%+v", f)
			}
			if _, err := w.Forecast(t.Context(), r, remote(1), strings.NewReader(test.file)); !errors.Is(err, api.ErrInvalidCode) {
				t.Errorf("the code a second time: %v", err)
			}
		})
	}
}

// localTimes are the file's times as a clock in Durban shows them, without a
// zone.
func localTimes(file string) string {
	var b strings.Builder
	for line := range strings.Lines(file) {
		at, rest, _ := strings.Cut(line, ",")
		if when, err := time.Parse(time.RFC3339, at); err == nil {
			at = when.Add(2 * time.Hour).Format("2006-01-02 15:04:05")
		}
		b.WriteString(at + "," + rest)
	}
	return b.String()
}

// TestLocalTimes asserts that both spellings of a file's times give one
// forecast.
func TestLocalTimes(t *testing.T) {
	w := newWorld(t)
	file := csvOf(now, 20)
	a, err := w.make(t.Context(), request(""), strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	b, err := w.make(t.Context(), request(""), strings.NewReader(localTimes(file)))
	if err != nil || !slices.Equal(a.Forecasts, b.Forecasts) {
		t.Errorf("%v; UTC %+v, local %+v", err, a.Forecasts, b.Forecasts)
	}
}

// TestAsGoodAsTheSky asserts that a month of days determines the level: the
// power of the same plant tomorrow under its usual sky.
func TestAsGoodAsTheSky(t *testing.T) {
	w := newWorld(t)
	f, err := w.make(t.Context(), request(""), strings.NewReader(csvOf(now, 30)))
	if err != nil {
		t.Fatal(err)
	}
	clear := 0.0
	for _, p := range f.Forecasts {
		mid := p.Timestamp.Add(30 * time.Minute)
		clear += solar.ClearSky(mid, solar.At(mid, durban), durban, 0).GHI / 1000 * 90
	}
	// Skies are 0.3 + 0.7 √u times about 0.95: 0.73 in the mean.
	if share := f.Summary.TotalKWh24h / clear; share < 0.5 || share > 0.95 {
		t.Errorf("%.2f of the clear sky's energy", share)
	}
}

func TestRefusals(t *testing.T) {
	good := csvOf(now, 5)
	tests := []struct {
		name   string
		change func(*api.FreemiumRequest)
		file   string
		want   *api.Error
		detail string // of reason
		line   any
	}{
		{"address", func(r *api.FreemiumRequest) { r.Email = "ana" }, good, api.ErrInvalidEmail, "", nil},
		{"terms", func(r *api.FreemiumRequest) { r.TOUAccepted = false }, good, api.ErrTermsNotAccepted, "", nil},
		{"code", func(r *api.FreemiumRequest) { r.VerificationCode = wrong(r.VerificationCode) }, good, api.ErrInvalidCode, "", nil},
		{"no CSV", nil, "\x89PNG\r\n\x1a\n\x00\x00", api.ErrFreemiumCSV, "", nil},
		{"no power", nil, "timestamp,colour\n2026-01-01T00:00:00Z,blue\n2026-01-01T01:00:00Z,red\n", api.ErrFreemiumCSV, "power", 1},
		{"no time", nil, "colour,power_kw\nred,1\nblue,2\n", api.ErrFreemiumCSV, "time", 1},
		{"place", func(r *api.FreemiumRequest) { r.Location = "Unknown Town" }, good, errUnknownPlace, "no town of that name", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			r := request(w.code(t, ana, remote(1)))
			if test.change != nil {
				test.change(&r)
			}
			_, err := w.Forecast(t.Context(), r, remote(1), strings.NewReader(test.file))
			var refusal *api.Error
			if !errors.Is(err, test.want) || !errors.As(err, &refusal) {
				t.Fatalf("%v", err)
			}
			if reason, _ := refusal.Details["reason"].(string); !strings.Contains(reason, test.detail) || test.line != nil && refusal.Details["line"] != test.line {
				t.Errorf("details %v", refusal.Details)
			}
			if list, err := w.Customers(t.Context()); err != nil || len(list) > 0 {
				t.Errorf("customers %v, %v", list, err)
			}
			// The code is good still.
			r = request(w.code(t, ana, remote(1)))
			if _, err := w.Forecast(t.Context(), r, remote(1), strings.NewReader(good)); err != nil {
				t.Errorf("then a good one: %v", err)
			}
		})
	}
}

// TestOddFiles asserts that data that are no plant's production are rejected
// with a reason or forecast within bounds.
func TestOddFiles(t *testing.T) {
	days := csvOf(now, 30)
	each := func(of func(i int, value string) string) string {
		var b strings.Builder
		i := -1
		for line := range strings.Lines(days) {
			at, value, _ := strings.Cut(strings.TrimSpace(line), ",")
			if i++; i > 0 {
				value = of(i, value)
			}
			b.WriteString(at + "," + value + "\n")
		}
		return b.String()
	}
	for name, file := range map[string]string{
		"zeros":          each(func(int, string) string { return "0" }),
		"a constant":     each(func(int, string) string { return "42" }),
		"negative":       each(func(_ int, v string) string { return "-" + v }),
		"ten times more": each(func(_ int, v string) string { return v + "0" }),
		"gaps":           each(func(i int, v string) string { return []string{v, v, "", v, ""}[i%5] }),
		"huge":           each(func(int, string) string { return "1e300" }),
		"one row":        strings.Join(strings.SplitAfterN(days, "\n", 4)[:3], ""),
	} {
		t.Run(name, func(t *testing.T) {
			f, err := newWorld(t).make(t.Context(), request(""), strings.NewReader(file))
			var refusal *api.Error
			switch {
			case errors.As(err, &refusal):
				if reason, _ := refusal.Details["reason"].(string); reason == "" || !errors.Is(err, api.ErrFreemiumCSV) {
					t.Errorf("%v %v", err, refusal.Details)
				}
			case err != nil:
				t.Error(err)
			default:
				for _, p := range f.Forecasts {
					if !(p.KWhForecast >= 0 && p.KWhForecast <= 100) || !(p.Confidence >= 0 && p.Confidence <= 1) {
						t.Errorf("%+v", p)
					}
				}
				if len(f.Forecasts) != 24 {
					t.Errorf("%d points", len(f.Forecasts))
				}
			}
		})
	}
}

// TestNoFileIsStored asserts that of the upload nothing is in the store, and of
// the person what the customer record holds.
func TestNoFileIsStored(t *testing.T) {
	w := newWorld(t)
	r := request(w.code(t, ana, remote(1)))
	r.SiteName, r.Location, r.Filename, r.MarketingOptIn = "Very secret roof", "-29.861234, 31.021234", "secret.csv", true
	file := csvOf(now, 5)
	if _, err := w.Forecast(t.Context(), r, remote(1), strings.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	var copied bytes.Buffer
	if _, err := w.store.Backup(t.Context(), &copied); err != nil {
		t.Fatal(err)
	}
	last := strings.Split(strings.TrimSpace(file), "\n")
	for _, secret := range []string{"secret", "861234", last[len(last)-1]} {
		if strings.Contains(copied.String(), secret) {
			t.Errorf("%s is in the store", secret)
		}
	}
	w.pass(time.Hour)
	r.VerificationCode, r.MarketingOptIn = w.code(t, "ANA@example.org", remote(2)), false
	if _, err := w.Forecast(t.Context(), r, remote(1), strings.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	list, err := w.Customers(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	c := list[0]
	if c.Email != ana || c.Forecasts != 2 || c.MarketingOptIn || !c.FirstForecast.Equal(now) || !c.LastForecast.Equal(now.Add(time.Hour)) || !c.TermsAccepted.Equal(c.LastForecast) || !strings.HasPrefix(c.CustomerID, "freemium_") {
		t.Errorf("%+v", c)
	}
}

func FuzzMake(f *testing.F) {
	f.Add(csvOf(now, 3), "Durban", 100.0)
	f.Add("timestamp,power\n2026-03-01T00:00:00Z,1\n", "0,0", 1e-9)
	f.Add("a;b\n1;2\n", "89.9,180", 1e9)
	w := newWorld(f)
	f.Fuzz(func(t *testing.T, file, location string, capacity float64) {
		if !(capacity > 0 && capacity <= 1e7) {
			t.Skip("refused before")
		}
		r := request("")
		r.Location, r.CapacityKW = location, capacity
		out, err := w.make(t.Context(), r, strings.NewReader(file))
		var refusal *api.Error
		switch {
		case err != nil && !errors.As(err, &refusal):
			t.Errorf("%v", err)
		case err == nil && len(out.Forecasts) != 24:
			t.Errorf("%d points", len(out.Forecasts))
		}
		for _, p := range out.Forecasts {
			if !(p.KWhForecast >= 0 && p.KWhForecast <= capacity*1.001+0.001) {
				t.Errorf("%+v of %g kW", p, capacity)
			}
		}
	})
}
