package telemetry

import (
	"math"
	"strings"
	"testing"

	"app.sunloop/engine/series"
)

// TestCheckFindsAWrongSum: the check integrates by itself. It agrees with the
// sums of even steps, of a change of the step, of gaps and of a counter, and finds
// a sum that is wrong.
func TestCheckFindsAWrongSum(t *testing.T) {
	const day = 86400
	even := func(from, to, step int64) (times []int64) {
		for at := from; at < to; at += step {
			times = append(times, at)
		}
		return times
	}
	frame := func(times []int64, counter bool) series.Frame {
		f := series.Frame{Times: times}
		power, values := make([]float64, len(times)), make([]float64, len(times))
		for i, at := range times {
			power[i] = max(0, 50*math.Sin(math.Pi*(float64(at)/3600-6)/12))
			if i > 0 {
				values[i] = values[i-1] + power[i-1]*float64(at-times[i-1])/3600
			}
		}
		f.Set(series.PowerKW, power)
		if counter {
			f.Set(series.EnergyCounterKWh, values)
		}
		return f
	}
	for name, f := range map[string]series.Frame{
		"even":     frame(even(0, day, 300), false),
		"mixed":    frame(append(even(0, day/2, 900), even(day/2, day, 300)...), false),
		"a gap":    frame(append(even(0, day/2, 300), even(day/2+7200, day, 300)...), false),
		"counter":  frame(append(even(0, day/2, 300), even(day/2+7200, day, 300)...), true),
		"one hour": frame(even(0, day, 3600), false),
	} {
		step := usualStep(f.Times)
		stored := new(summer).sums(nil, f, []int64{0}, day, step, 0)
		if len(stored) != 1 {
			t.Fatalf("%s: %d sums", name, len(stored))
		}
		if err := checkDay(f, day, step, stored); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, wrong := range []float64{0.5, 2} {
			bad := []daySum{stored[0]}
			bad[0].ProductionKWh *= wrong
			if err := checkDay(f, day, step, bad); err == nil || !strings.Contains(err.Error(), "stored production") {
				t.Errorf("%s: %v of the energy is not found: %v", name, wrong, err)
			}
		}
		if err := checkDay(f, day, step, nil); err == nil {
			t.Errorf("%s: a missing sum is not found", name)
		}
	}
}
