package energy

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"app.sunloop/engine/series"
)

// frame has power at the times.
func frame(kW float64, times ...int64) series.Frame {
	f := series.Frame{Times: times}
	f.Set(series.PowerKW, fill(len(times), kW))
	return f
}

// stated are the steps that StateStep states, 0 for none.
func stated(times ...int64) []int64 {
	out := make([]int64, len(times))
	steps := StateStep(frame(1, times...)).Values(series.StepS)
	for i, v := range steps {
		if !math.IsNaN(v) {
			out[i] = int64(v)
		}
	}
	return out
}

// TestStateStep: files with and without a step.
func TestStateStep(t *testing.T) {
	all := func(name string, want int64, times ...int64) {
		t.Helper()
		for i, step := range stated(times...) {
			if step != want {
				t.Errorf("%s: sample %d at %d has the step %d, want %d", name, i, times[i], step, want)
				return
			}
		}
	}
	all("three times", 300, 0, 300, 600)
	all("two times", 0, 0, 300)
	all("missing samples", 300, 0, 300, 900, 1200, 2100, 2400, 2700)
	all("late by seconds", 300, 2, 299, 605, 901, 1198, 1500)
	all("days", 0, 0, day, 2*day, 3*day)
	all("uneven", 0, 0, 300, 1500, 1800, 4000, 4111, 5000)
	r := rand.New(rand.NewPCG(3, 3))
	lossy := []int64{}
	for i := range int64(2000) {
		if r.IntN(100) >= 20 {
			lossy = append(lossy, 300*i)
		}
	}
	n := 0
	for _, step := range stated(lossy...) {
		if step == 300 {
			n++
		} else if step != 0 {
			t.Fatalf("a step of %d s", step)
		}
	}
	if 100*n < 95*len(lossy) {
		t.Errorf("a file that lost a fifth of its samples: %d of %d have a step", n, len(lossy))
	}
	// A stretch of another step in a file keeps the rule of the neighbours.
	for i, step := range stated(append(even(0, 300, 300), even(300*300, 900, 20)...)...) {
		if want := int64(300); i < 300 && step != want || i >= 300 && step != 0 {
			t.Fatalf("sample %d of a file of two steps has the step %d", i, step)
		}
	}
}

// TestOverlap: two files of different steps that agree overlap, in any order and
// in any pieces: their energy is that of the time that they cover.
func TestOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steps := []int64{5 * minute, 10 * minute, 15 * minute, 30 * minute, hour}
		a, b := rapid.SampledFrom(steps).Draw(t, "step"), rapid.SampledFrom(steps).Draw(t, "other step")
		grid := a * b / 60 // both steps divide it
		for grid > 2*hour && grid%120 == 0 {
			grid /= 2
		}
		for grid%a != 0 || grid%b != 0 {
			grid++
		}
		file := func(step int64, label string) series.Frame {
			from := grid * rapid.Int64Range(0, 3).Draw(t, label+" from")
			n := int(grid/step) * rapid.IntRange(3, 6).Draw(t, label+" length")
			return StateStep(frame(60, even(from, step, n)...))
		}
		files := []series.Frame{file(a, "first"), file(b, "second")}
		covered := map[int64]bool{}
		for i, step := range []int64{a, b} {
			for _, at := range files[i].Times {
				for m := at; m < at+step; m += minute {
					covered[m] = true
				}
			}
		}
		want := float64(len(covered)) // 60 kW for a minute
		for range 2 {
			files[0], files[1] = files[1], files[0]
			var whole series.Frame
			for _, f := range files {
				for f.Len() > 0 {
					n := rapid.IntRange(1, f.Len()).Draw(t, "piece")
					end := f.Times[n-1] + 1
					whole = Merge(whole, f.Slice(f.Times[0], end))
					f = f.Slice(end, math.MaxInt64)
				}
			}
			in := FrameInput(whole, 0, 30*day, 0)
			g := &Integrator{}
			samples, s := g.Samples(nil, in)
			var total float64
			for _, one := range samples {
				if !math.IsNaN(one.KWh) {
					total += one.KWh
				}
			}
			if math.Abs(s.ProductionKWh-want) > 1e-6 || math.Abs(total-want) > 1e-6 {
				t.Fatalf("steps %d and %d: %v kWh, samples %v, want %v", a, b, s.ProductionKWh, total, want)
			}
		}
	})
}

// TestStaleStep: a sample without a step that replaces one with a step has what its
// neighbours show.
func TestStaleStep(t *testing.T) {
	coarse := StateStep(frame(10, even(0, hour, 4)...))
	merged := Merge(coarse, frame(10, 0, 300))
	if v := merged.Values(series.StepS); !math.IsNaN(v[0]) || v[2] != hour {
		t.Errorf("steps %v", v)
	}
	weather := series.Frame{Times: []int64{hour}}
	weather.Set(series.TemperatureC, []float64{20})
	if v := Merge(coarse, weather).Values(series.StepS); v[1] != hour {
		t.Errorf("a temperature changes the steps to %v", v)
	}
}

// TestLossyFile: a file that lost samples at random has the energy of those that
// arrived, within 0.5 %: short gaps are not held, unless six successive steps agree. By the neighbours alone some are.
func TestLossyFile(t *testing.T) {
	for _, lost := range []int{5, 20, 30} {
		r := rand.New(rand.NewPCG(uint64(lost), 4))
		var times []int64
		for i := range int64(2880) {
			if r.IntN(100) >= lost {
				times = append(times, 300*i)
			}
		}
		f := frame(12, times...)
		got := sum(FrameInput(StateStep(f), 0, 30*day, 300)).ProductionKWh
		if math.Abs(got-float64(len(times))) > 0.005*float64(len(times)) {
			t.Errorf("%d %% lost: %v kWh, %d samples", lost, got, len(times))
		}
		if byNeighbours := sum(FrameInput(f, 0, 30*day, 300)).ProductionKWh; lost > 5 && byNeighbours <= float64(len(times)) {
			t.Errorf("%d %% lost: %v kWh by the neighbours, %d samples", lost, byNeighbours, len(times))
		}
	}
}

// TestOtherSource: a sample does not reach over a gap to a sample of another step, and
// does to a late sample of the same step.
func TestOtherSource(t *testing.T) {
	coarse, fine := StateStep(frame(60, even(0, 900, 4)...)), StateStep(frame(60, even(4*900+300, 300, 4)...))
	near(t, "a gap of 5 minutes before another step", sum(FrameInput(Merge(coarse, fine), 0, day, 0)).ProductionKWh, 80)
	late := StateStep(frame(60, 0, 900, 1800, 3000, 3900, 4800))
	near(t, "a sample that is 5 minutes late", sum(FrameInput(late, 0, day, 0)).ProductionKWh, 95)
}
