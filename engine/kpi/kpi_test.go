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
