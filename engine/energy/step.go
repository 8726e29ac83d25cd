package energy

import (
	"math"
	"slices"

	"app.sunloop/engine/series"
)

// A file shows its step if at least half of its steps are equal to it, and nearly
// all others are multiples of it, as where samples are missing.
const (
	leastSteps  = 2
	equalSteps  = 0.5
	fittedSteps = 0.8
	nearSteps   = 4 // steps on each side of a sample, of which
	leastNear   = 2 // are equal to the file's
	otherRun    = 6 // equal steps in succession that show another step
	shortestDay = 23 * 3600
)

// StateStep states the step of the file that a frame was read from with each
// sample whose surroundings in the file show that step. Where samples of several
// files are neighbours in the store, they no longer show it. A frame without an
// evident step, or whose samples state what they cover, is returned as it is.
// The result shares the columns of f.
func StateStep(f series.Frame) series.Frame {
	if f.Values(series.CoveredS) != nil || f.Values(series.StepS) != nil {
		return f
	}
	power, energy := f.Values(series.PowerKW), f.Values(series.EnergyKWh)
	times, index := make([]int64, 0, f.Len()), make([]int, 0, f.Len())
	for i, t := range f.Times {
		if known(power, i) || known(energy, i) {
			times, index = append(times, t), append(index, i)
		}
	}
	step := fileStep(times)
	if step == 0 {
		return f
	}
	steps := make([]float64, f.Len())
	for i := range steps {
		steps[i] = math.NaN()
	}
	for k, i := range index {
		if showsStep(times, k, step) {
			steps[i] = float64(step)
		}
	}
	out := series.Frame{Times: f.Times, Columns: slices.Clone(f.Columns)}
	out.Set(series.StepS, steps)
	return out
}

// fileStep is the step of a file, to the minute if it is longer than half of one;
// 0 if the file shows none. Steps of a day or more are those of totals.
func fileStep(times []int64) int64 {
	n := len(times) - 1
	if n < leastSteps {
		return 0
	}
	step, _ := series.CommonStep(times)
	if minutes := (step + 30) / 60 * 60; minutes > 0 && sameStep(step, minutes) {
		step = minutes
	}
	fitted, equal := 0, 0
	equal = 0
	for i := range n {
		d := times[i+1] - times[i]
		if sameStep(d, step) {
			equal++
		}
		if multiple := (d + step/2) / step; multiple > 0 && 16*abs(d-multiple*step) <= step {
			fitted++
		}
	}
	if step >= shortestDay || float64(equal) < equalSteps*float64(n) || float64(fitted) < fittedSteps*float64(n) {
		return 0
	}
	return step
}

// showsStep reports whether the surroundings of sample k show the step.
func showsStep(times []int64, k int, step int64) bool {
	equal, run := 0, 1
	last := len(times) - 1
	for i := max(k-nearSteps, 0); i < min(k+nearSteps, last); i++ {
		if sameStep(times[i+1]-times[i], step) {
			equal++
		}
	}
	if equal < min(leastNear, last) {
		return false
	}
	if k == last || sameStep(times[k+1]-times[k], step) {
		return true
	}
	own := times[k+1] - times[k]
	for i := k; i > 0 && run < otherRun && sameStep(times[i]-times[i-1], own); i-- {
		run++
	}
	for i := k + 1; i < last && run < otherRun && sameStep(times[i+1]-times[i], own); i++ {
		run++
	}
	return run < otherRun
}

// sameStep reports whether two steps are equal except for the jitter of a logger.
func sameStep(a, b int64) bool { return 16*abs(a-b) <= b }

func abs(v int64) int64 { return max(v, -v) }
