package openmeteo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"app.sunloop/engine/solar"
	"app.sunloop/engine/weather"
)

var (
	madrid = solar.Location{LatitudeDeg: 40.4532, LongitudeDeg: -3.7268}
	noon   = time.Date(2026, 6, 1, 12, 4, 0, 0, time.UTC)
)

// answer is a forecast as the service writes it: hour k since its start has
// 10·k W/m², k °C, and k % of cloud.
func answer(start time.Time, hours int) []byte {
	time, ghi, temperature, cloud := make([]int64, hours), make([]any, hours), make([]any, hours), make([]any, hours)
	for k := range hours {
		time[k], ghi[k], temperature[k], cloud[k] = start.Unix()+int64(k)*3600, 10*float64(k), float64(k), float64(k%100)
	}
	ghi[5] = nil
	b, err := json.Marshal(map[string]any{
		"latitude": 40.4375, "longitude": -3.6875, "elevation": 651.0, "utc_offset_seconds": 0,
		"hourly_units": map[string]string{"time": "unixtime", "shortwave_radiation": "W/m²", "temperature_2m": "°C", "cloud_cover": "%"},
		"hourly":       map[string]any{"time": time, "shortwave_radiation": ghi, "temperature_2m": temperature, "cloud_cover": cloud},
	})
	if err != nil {
		panic(err)
	}
	return b
}

// server responds by reply and counts the calls.
func server(t *testing.T, reply func(call int32, w http.ResponseWriter, r *http.Request)) (*Client, *atomic.Int32, *time.Time) {
	t.Helper()
	var calls atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { reply(calls.Add(1), w, r) }))
	t.Cleanup(s.Close)
	now := noon
	c, err := New(Config{ForecastURL: s.URL + "/", ArchiveURL: s.URL, APIKey: "secret", Now: func() time.Time { return now }, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return c, &calls, &now
}

func TestForecast(t *testing.T) {
	midnight := noon.Truncate(24 * time.Hour)
	c, calls, now := server(t, func(_ int32, w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		for name, want := range map[string]string{"latitude": "40.45", "longitude": "-3.73", "timezone": "UTC", "timeformat": "unixtime",
			"wind_speed_unit": "ms", "forecast_days": "16", "past_days": "2", "apikey": "secret"} {
			if got := q.Get(name); got != want {
				t.Errorf("%s = %q, want %q", name, got, want)
			}
		}
		if r.URL.Path != "/v1/forecast" || !strings.Contains(q.Get("hourly"), "shortwave_radiation,direct_normal_irradiance") {
			t.Errorf("asked for %s", r.URL)
		}
		_, _ = w.Write(answer(midnight.AddDate(0, 0, -2), 18*24))
	})
	f, err := c.Forecast(t.Context(), madrid, noon, 48*time.Hour, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if f.Source != Source || !f.IssuedAt.Equal(noon) || !f.Start.Equal(noon.Truncate(time.Hour)) || len(f.Conditions) != 49 {
		t.Fatalf("%s, issued %v, %d hours from %v", f.Source, f.IssuedAt, len(f.Conditions), f.Start)
	}
	// Noon is hour 60 of the response. Precipitation and radiation of the
	// hour to 13:00 are labelled 13:00; a temperature is the mean of both
	// ends.
	if c := f.Conditions[0]; c.GHI != 610 || c.TemperatureC != 60.5 || math.Abs(c.CloudCover-0.605) > 1e-12 || !math.IsNaN(c.WindSpeedMS) {
		t.Errorf("noon is %+v", c)
	}

	// The same hour costs no other call, nor does a site around the corner.
	*now = noon.Add(59 * time.Minute)
	again, err := c.Forecast(t.Context(), solar.Location{LatitudeDeg: 40.4512, LongitudeDeg: -3.7312}, *now, time.Hour, 15*time.Minute)
	if err != nil || calls.Load() != 1 || !again.IssuedAt.Equal(noon) || again.Step != 15*time.Minute {
		t.Errorf("%v after %d calls: issued %v in steps of %v", err, calls.Load(), again.IssuedAt, again.Step)
	}
	*now = noon.Add(2 * time.Hour)
	if _, err := c.Forecast(t.Context(), madrid, *now, time.Hour, time.Hour); err != nil || calls.Load() != 2 {
		t.Errorf("two hours later: %v after %d calls", err, calls.Load())
	}
}

func TestNothingFromTheFuture(t *testing.T) {
	c, calls, now := server(t, func(_ int32, w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(answer(noon.Truncate(24*time.Hour), 48))
	})
	if _, err := c.Forecast(t.Context(), madrid, noon.Add(-2*time.Hour), 24*time.Hour, time.Hour); !errors.Is(err, weather.ErrUnavailable) || calls.Load() != 0 {
		t.Errorf("an issue of two hours ago: %v after %d calls", err, calls.Load())
	}
	if _, err := c.Forecast(t.Context(), madrid, noon, 24*time.Hour, time.Hour); err != nil {
		t.Fatal(err)
	}
	*now = noon.Add(5 * time.Hour)
	f, err := c.Forecast(t.Context(), madrid, noon.Add(time.Hour), 24*time.Hour, time.Hour)
	if err != nil || !f.IssuedAt.Equal(noon) || calls.Load() != 1 {
		t.Errorf("what was known then: %v, issued %v, %d calls", err, f.IssuedAt, calls.Load())
	}
}

func TestFailures(t *testing.T) {
	good := answer(noon.Truncate(24*time.Hour), 48)
	shifted := func(old, by string) []byte { return []byte(strings.Replace(string(good), old, by, 1)) }
	for _, tt := range []struct {
		name  string
		reply func(call int32, w http.ResponseWriter)
		calls int32
		says  string // empty: it works
	}{
		{"busy, then well", func(call int32, w http.ResponseWriter) {
			if call == 1 {
				w.Header().Set("Retry-After", "0")
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			_, _ = w.Write(good)
		}, 2, ""},
		{"busy for an hour", func(_ int32, w http.ResponseWriter) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		}, 1, "asks to wait 1h0m0s"},
		{"broken", func(_ int32, w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }, 1 + retries, "status 502"},
		{"refused", func(_ int32, w http.ResponseWriter) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":true,"reason":"Latitude must be in range of -90 to 90°."}`))
		}, 1, "status 400: Latitude must be"},
		{"not JSON", func(_ int32, w http.ResponseWriter) { _, _ = w.Write([]byte("<html>")) }, 1, "not the JSON"},
		{"broken off", func(_ int32, w http.ResponseWriter) {
			w.Header().Set("Content-Length", strconv.Itoa(len(good)))
			_, _ = w.Write(good[:len(good)/2])
		}, 0, "broke off"},
		{"no hours", func(_ int32, w http.ResponseWriter) { _, _ = w.Write([]byte(`{"hourly":{}}`)) }, 1, "no hourly.time"},
		{"another unit", func(_ int32, w http.ResponseWriter) { _, _ = w.Write(shifted("°C", "°F")) }, 1, `temperature_2m is "°F"`},
		{"too few values", func(_ int32, w http.ResponseWriter) {
			_, _ = w.Write(shifted(`"cloud_cover":[0,`, `"cloud_cover":[`))
		}, 1, "cloud_cover does not have"},
		{"a hole in time", func(_ int32, w http.ResponseWriter) {
			_, _ = w.Write(shifted(fmt.Sprint(noon.Truncate(24*time.Hour).Unix()+7200), "7"))
		}, 1, "hourly.time[2]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, calls, _ := server(t, func(call int32, w http.ResponseWriter, _ *http.Request) { tt.reply(call, w) })
			f, err := c.Forecast(t.Context(), madrid, noon, 12*time.Hour, time.Hour)
			if tt.says == "" {
				if err != nil || f.Conditions[0].GHI != 130 {
					t.Fatalf("%v: %+v", err, f.Conditions)
				}
			} else if !errors.Is(err, weather.ErrUnavailable) || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "secret") {
				t.Fatalf("error %v, want one that says %q", err, tt.says)
			}
			if got := calls.Load(); tt.calls > 0 && got != tt.calls {
				t.Errorf("%d calls, want %d", got, tt.calls)
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	release := make(chan struct{})
	c, _, _ := server(t, func(_ int32, _ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Forecast(ctx, madrid, noon, time.Hour, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	close(release)
}

func TestArchive(t *testing.T) {
	from, to := noon.AddDate(-1, 0, 0).Truncate(24*time.Hour), noon.AddDate(-1, 0, 2).Truncate(24*time.Hour)
	c, _, _ := server(t, func(_ int32, w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); r.URL.Path != "/v1/archive" || q.Get("start_date") != "2025-06-01" || q.Get("end_date") != "2025-06-03" {
			t.Errorf("asked for %s", r.URL)
		}
		_, _ = w.Write(answer(from, 72))
	})
	columns, err := c.Archive(t.Context(), madrid, from, to)
	if err != nil {
		t.Fatal(err)
	}
	if len(columns) != 3 || columns[0].Name != "shortwave_radiation" || columns[0].Quantity != weather.GHI || !columns[0].Measured {
		t.Fatalf("columns %+v", columns)
	}
	s := columns[0].Series
	if !s.Start.Equal(from) || s.Len() != 48 || s.Values[0] != 10 || !math.IsNaN(s.Values[4]) || s.Values[47] != 480 {
		t.Errorf("%d hours from %v: %v", s.Len(), s.Start, s.Values)
	}
	if _, err := c.Archive(t.Context(), madrid, to, from); err == nil {
		t.Error("an empty span was asked for")
	}
}

func TestNewRefusesAddresses(t *testing.T) {
	for _, u := range []string{"ftp://example.org", "example.org", "http://?", "::"} {
		if _, err := New(Config{ForecastURL: u}); err == nil || !strings.Contains(err.Error(), u) {
			t.Errorf("%q: %v", u, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(answer(noon, 6))
	f.Add([]byte(`{"hourly":{"time":[0,3600],"precipitation":[null,1e400]},"hourly_units":{"precipitation":"mm"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		columns, err := decode(body, false)
		for _, c := range columns {
			if err != nil || c.Series.Len() != columns[0].Series.Len() {
				t.Fatalf("%v with %+v", err, columns)
			}
		}
	})
}
