package telemetry

import (
	"math"
	"math/rand/v2"
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
		if err := checkDay(f, day, stored); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, wrong := range []float64{0.5, 2} {
			bad := []daySum{stored[0]}
			bad[0].ProductionKWh *= wrong
			if err := checkDay(f, day, bad); err == nil || !strings.Contains(err.Error(), "stored production") {
				t.Errorf("%s: %v of the energy is not found: %v", name, wrong, err)
			}
		}
		if err := checkDay(f, day, nil); err == nil {
			t.Errorf("%s: a missing sum is not found", name)
		}
	}
}

// TestCheckAgreesWithUnevenDays: the bounds of the check hold for days of any
// steps and of any number of samples, whatever the usual step of the unit was
// when they were summed.
func TestCheckAgreesWithUnevenDays(t *testing.T) {
	const day = 86400
	rng := rand.New(rand.NewPCG(18, 1))
	for n := range 5000 {
		steps := []int64{300, 600, 900, 1200, 3600}[:1+rng.IntN(5)]
		same := rng.IntN(4) * 3 // samples between changes of the step
		var f series.Frame
		var kW []float64
		step := steps[0]
		most := 1 + rng.IntN([]int{6, 12, 300}[rng.IntN(3)])
		for at := rng.Int64N(day); at < day && len(f.Times) < most; at += step {
			f.Times, kW = append(f.Times, at), append(kW, math.Floor(rng.Float64()*1000)/10)
			if same == 0 || len(f.Times)%same == 0 {
				step = steps[rng.IntN(len(steps))]
			}
		}
		f.Set(series.PowerKW, kW)
		usual := []int64{irregularStep, 0, 300, 900, 3600}[rng.IntN(5)]
		if err := checkDay(f, day, new(summer).sums(nil, f, []int64{0}, day, usual, 0)); err != nil {
			t.Fatalf("day %d, usual step %d s: %v\n%v", n, usual, err, f.Times)
		}
	}
}
