package pane

import (
	"math"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// hourly is a forecast of even 10 kW, with P10 at 8 and P90 at 12, but for the
// kW given for hours of the day.
func hourly(from time.Time, hours int, other map[int]float64) api.GeneratedForecast {
	f := api.GeneratedForecast{StepMinutes: 60}
	for h := range hours {
		t := from.Add(time.Duration(h) * time.Hour)
		kw := 10.0
		if o, ok := other[t.Hour()]; ok {
			kw = o
		}
		f.Forecasts = append(f.Forecasts, api.ForecastValue{Timestamp: api.At(t), PredictedPowerKW: kw, ConfidenceInterval: api.Interval{Lower: 8, Upper: 12}})
	}
	return f
}

func TestDaysAhead(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones here")
	}
	at := func(month time.Month, day, hour int) time.Time {
		return time.Date(2026, month, day, hour, 0, 0, 0, zone)
	}
	type day struct {
		name     string
		p50      float64
		complete bool
		window   int // hour, -1 without one
		kwh      float64
	}
	for _, tt := range []struct {
		name     string
		from     time.Time
		hours    int
		other    map[int]float64
		now      time.Time
		want     []day
		stepless bool
	}{
		{"two whole days", at(6, 1, 0), 48, nil, at(6, 1, 0), []day{{"2026-06-01", 240, true, 6, 30}, {"2026-06-02", 240, true, 6, 30}}, false},
		{"the cheapest hours", at(6, 1, 0), 24, map[int]float64{15: 1, 16: 2, 17: 3}, at(6, 1, 0), []day{{"2026-06-01", 216, true, 15, 6}}, false},
		{"what has passed is no window", at(6, 1, 0), 24, map[int]float64{6: 0, 7: 0, 8: 0}, at(6, 1, 10), []day{{"2026-06-01", 210, true, 10, 30}}, false},
		{"evening: no window is left", at(6, 1, 18), 6, nil, at(6, 1, 18), []day{{"2026-06-01", 60, false, -1, 0}}, false},
		{"clocks forward: a day of 23 hours", at(3, 29, 0), 23, nil, at(3, 29, 0), []day{{"2026-03-29", 230, true, 6, 30}}, false},
		{"clocks back: a day of 25 hours", at(10, 25, 0), 25, nil, at(10, 25, 0), []day{{"2026-10-25", 250, true, 6, 30}}, false},
		{"clocks back: 24 hours are not all", at(10, 25, 0), 24, nil, at(10, 25, 0), []day{{"2026-10-25", 240, false, 6, 30}}, false},
		{"a step that is not told is an hour", at(6, 1, 0), 24, nil, at(6, 1, 0), []day{{"2026-06-01", 240, true, 6, 30}}, true},
		{"nothing", at(6, 1, 0), 0, nil, at(6, 1, 0), nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := hourly(tt.from, tt.hours, tt.other)
			if tt.stepless {
				f.StepMinutes = 0
			}
			days := daysAhead(f, tt.now, zone)
			if len(days) != len(tt.want) {
				t.Fatalf("%d days, want %d", len(days), len(tt.want))
			}
			for i, want := range tt.want {
				d := days[i]
				if d.day.Format(time.DateOnly) != want.name || math.Abs(d.p50-want.p50) > 1e-9 || d.complete != want.complete {
					t.Errorf("day %d: %s, %g kWh, complete %v; want %+v", i, d.day.Format(time.DateOnly), d.p50, d.complete, want)
				}
				if want.window < 0 {
					if !math.IsNaN(d.windowKWh) {
						t.Errorf("day %d has a window at %v", i, d.window)
					}
				} else if d.window.Hour() != want.window || math.Abs(d.windowKWh-want.kwh) > 1e-9 {
					t.Errorf("day %d: window at %v of %g kWh, want %d of %g", i, d.window, d.windowKWh, want.window, want.kwh)
				}
			}
		})
	}
}

// Quarter hours give the same days as hours of the same power.
func TestDaysAheadOfQuarters(t *testing.T) {
	f := hourly(noon, 0, nil)
	f.StepMinutes = 15
	start := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for q := range 96 {
		f.Forecasts = append(f.Forecasts, api.ForecastValue{Timestamp: api.At(start.Add(time.Duration(q) * 15 * time.Minute)), PredictedPowerKW: 10})
	}
	d := daysAhead(f, start, time.UTC)[0]
	if math.Abs(d.p50-240) > 1e-9 || !d.complete || math.Abs(d.windowKWh-30) > 1e-9 {
		t.Errorf("%+v", d)
	}
}
