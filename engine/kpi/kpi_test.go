package kpi

import (
	"math"
	"testing"
	"time"

	"app.sunloop/engine/series"
)

func hourly(values ...float64) series.Series {
	return series.Series{Start: time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC), Step: time.Hour, Values: values}
}

var nan = math.NaN()

func near(t *testing.T, name string, got, want float64) {
	t.Helper()
	if math.IsNaN(want) != math.IsNaN(got) || math.Abs(got-want) > 1e-9 {
		t.Errorf("%s is %g, want %g", name, got, want)
	}
}

func TestSpecificYield(t *testing.T) {
	near(t, "yield of 450 kWh by 100 kW", SpecificYield(450, 100), 4.5)
	near(t, "yield without a rating", SpecificYield(450, 0), nan)
}

func TestPerformanceRatio(t *testing.T) {
	near(t, "PR of 80 kW a 1000 W/m² on 100 kW", PerformanceRatio(hourly(80, 40), hourly(1000, 500), 100), 0.8)
	near(t, "PR leaves out what either lacks", PerformanceRatio(hourly(80, nan, 50), hourly(1000, 700, nan), 100), 0.8)
	near(t, "PR by night", PerformanceRatio(hourly(0, 0), hourly(0, 0), 100), nan)
	near(t, "PR in half hours", PerformanceRatio(
		series.Series{Start: hourly().Start, Step: 30 * time.Minute, Values: []float64{80, 80}},
		series.Series{Start: hourly().Start, Step: 30 * time.Minute, Values: []float64{1000, 1000}}, 100), 0.8)
}

func TestAvailability(t *testing.T) {
	sun := func(i int, _ Unit) float64 { return []float64{0.01, 0.5, 0.6, 0.7}[i] }
	small, large := Unit{10, hourly(0, 5, 0, 7)}, Unit{30, hourly(0, 15, 18, nan)}
	near(t, "one of three useful hours down", Availability([]Unit{small}, sun), 2.0/3)
	near(t, "weighted by capacity, without the missing hour", Availability([]Unit{small, large}, sun), 1-10.0/(30+60))
	near(t, "by night", Availability([]Unit{small}, func(int, Unit) float64 { return 0 }), nan)
	near(t, "no units", Availability(nil, sun), nan)
}
