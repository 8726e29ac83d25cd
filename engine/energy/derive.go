package energy

import (
	"math"
	"slices"

	"app.sunloop/engine/series"
)

// derivedMark is added to a step in seconds that no source states: half a second,
// which integers of seconds drop.
const derivedMark = 0.5

// DeriveSteps states what samples of a complete day cover whose source states
// nothing and of which the usual step of the unit decides, so that the energy of
// the day does not change when the usual step does. start and end are those of the
// day, and f may reach over it. Other samples are left as they are.
func DeriveSteps(f series.Frame, start, end, usualS int64) series.Frame {
	if usualS <= 0 {
		return f
	}
	lo, _ := slices.BinarySearch(f.Times, start)
	hi, _ := slices.BinarySearch(f.Times, end)
	var g Integrator
	in := FrameInput(f, 0, 0, 0).Slice(lo, hi, start, end)
	g.gather(in)
	span := series.Span{Times: g.at, Stated: g.stated, Steps: g.steps, End: end}
	without := series.Intervals(nil, span)
	span.Usual = usualS
	with := series.Intervals(nil, span)
	var steps []float64
	for k, i := range g.index {
		if with[k] == without[k] || with[k] <= 0 || known(in.StepS, i) || known(in.CoveredS, i) {
			continue
		}
		if steps == nil {
			f.Columns = slices.Clone(f.Columns)
			if steps = slices.Clone(f.Values(series.StepS)); steps == nil {
				steps = make([]float64, f.Len())
				for n := range steps {
					steps[n] = math.NaN()
				}
			}
			f.Set(series.StepS, steps)
		}
		steps[lo+i] = float64(with[k]) + derivedMark
	}
	return f
}

// WithoutDerived returns a frame without the steps that [DeriveSteps] stated in
// from..to.
func WithoutDerived(f series.Frame, from, to int64) series.Frame {
	steps := f.Values(series.StepS)
	cloned := false
	for i, v := range steps {
		if math.IsNaN(v) || v == math.Trunc(v) || f.Times[i] < from || f.Times[i] >= to {
			continue
		}
		if !cloned {
			cloned = true
			f.Columns, steps = slices.Clone(f.Columns), slices.Clone(steps)
			f.Set(series.StepS, steps)
		}
		steps[i] = math.NaN()
	}
	return f
}
