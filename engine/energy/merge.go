package energy

import (
	"math"
	"slices"
	"sort"

	"app.sunloop/engine/series"
)

// Merge is series.Merge, except that a sample of newer which covers several
// samples of older replaces them: a meter's corrected hour takes the place of the
// twelve samples of that hour. Their power and interval energy are dropped;
// counters and weather remain. What such a sample covers is stated in the result,
// unless the step of its source states it, because its new neighbours do not show
// it.
func Merge(older, newer series.Frame) series.Frame {
	out := series.Merge(older, newer)
	if older.Len() == 0 || newer.Len() == 0 {
		return out
	}
	dropStale(&out, older, newer)
	for _, c := range Corrections(older, newer) {
		c.apply(&out)
	}
	return out
}

// Correction is a sample that replaces finer ones.
type Correction struct {
	At       int64
	CoveredS int64
}

// Corrections are the samples of newer that cover at least two samples of older
// with power or interval energy. The interval of a sample is the one that newer
// states, or the step of its source, or the step that nearly all samples have, or,
// in a frame of one or two samples, its energy over its power.
func Corrections(older, newer series.Frame) []Correction {
	if !MayCorrect(newer) || older.Len() == 0 || newer.Times[0] > older.Times[older.Len()-1] || older.Times[0] > newer.Times[newer.Len()-1]+day {
		return nil
	}
	power, energy, stated := newer.Values(series.PowerKW), newer.Values(series.EnergyKWh), newer.Values(series.CoveredS)
	steps := newer.Values(series.StepS)
	oldPower, oldEnergy := older.Values(series.PowerKW), older.Values(series.EnergyKWh)
	step := evenStep(newer.Times)
	var out []Correction
	for i, at := range newer.Times {
		if !known(power, i) && !known(energy, i) {
			continue
		}
		covered := step
		switch {
		case known(stated, i):
			covered = int64(stated[i])
		case known(steps, i):
			covered = int64(steps[i])
		case newer.Len() <= 2 && known(power, i) && known(energy, i) && power[i] > 0 && energy[i] > 0:
			minutes := energy[i] / power[i] * 60
			if covered = 60 * int64(math.Round(minutes)); math.Abs(minutes-math.Round(minutes)) > 0.01*minutes {
				covered = 0
			}
		}
		if i+1 < newer.Len() {
			covered = min(covered, newer.Times[i+1]-at)
		}
		if covered <= 0 || covered > day {
			continue
		}
		k, _ := slices.BinarySearch(older.Times, at)
		n, inside := 0, false
		for ; k < older.Len() && older.Times[k] < at+covered; k++ {
			if known(oldPower, k) || known(oldEnergy, k) {
				n++
				inside = inside || older.Times[k] > at
			}
		}
		if n >= 2 && inside {
			out = append(out, Correction{at, covered})
		}
	}
	return out
}

const day = 86400

// MayCorrect reports whether a frame shows what its samples cover, so that they
// can replace finer ones.
func MayCorrect(f series.Frame) bool {
	return f.Len() > 2 || f.Len() > 0 && (f.Values(series.EnergyKWh) != nil || f.Values(series.CoveredS) != nil || f.Values(series.StepS) != nil)
}

// evenStep is the step that at least four fifths of the steps have; 0 if no
// step is that common, or with fewer than two steps.
func evenStep(times []int64) int64 {
	if step, n := series.CommonStep(times); len(times) > 2 && 5*n >= 4*(len(times)-1) {
		return step
	}
	return 0
}

// apply drops what a correction replaces in a merged frame.
func (c Correction) apply(f *series.Frame) {
	stated, steps := f.Values(series.CoveredS), f.Values(series.StepS)
	if stated == nil {
		stated = make([]float64, f.Len())
		for i := range stated {
			stated[i] = math.NaN()
		}
		f.Set(series.CoveredS, stated)
	}
	from := sort.Search(f.Len(), func(i int) bool { return f.Times[i] >= c.At })
	for i := from; i < f.Len() && f.Times[i] < c.At+c.CoveredS; i++ {
		if f.Times[i] == c.At {
			if !known(steps, i) {
				stated[i] = float64(c.CoveredS)
			}
			continue
		}
		for _, q := range []series.Quantity{series.PowerKW, series.EnergyKWh, series.CoveredS, series.StepS} {
			if v := f.Values(q); v != nil {
				v[i] = math.NaN()
			}
		}
	}
}

// Stale reports what a sample loses when another one replaces its production,
// given what the two have: the step of its source, and the interval that it
// states together with the interval energy.
func Stale(older, newer func(q series.Quantity) bool) (step, interval bool) {
	power, energy := newer(series.PowerKW), newer(series.EnergyKWh)
	step = (power || energy) && !newer(series.StepS)
	interval = power && !energy && !newer(series.CoveredS) && older(series.CoveredS)
	return step, interval
}

// dropStale drops from a merged frame what samples of older lost.
func dropStale(out *series.Frame, older, newer series.Frame) {
	steps, stated, energy := out.Values(series.StepS), out.Values(series.CoveredS), out.Values(series.EnergyKWh)
	if older.Values(series.StepS) == nil && older.Values(series.CoveredS) == nil {
		return
	}
	k, m := 0, 0
	var has [2]struct {
		f  series.Frame
		at int
	}
	of := func(n int) func(q series.Quantity) bool {
		return func(q series.Quantity) bool { return known(has[n].f.Values(q), has[n].at) }
	}
	was, is := of(0), of(1)
	has[0].f, has[1].f = older, newer
	for i, at := range newer.Times {
		for ; m < older.Len() && older.Times[m] < at; m++ {
		}
		if m == older.Len() || older.Times[m] != at {
			continue
		}
		for ; out.Times[k] < at; k++ {
		}
		has[0].at, has[1].at = m, i
		step, interval := Stale(was, is)
		if step && steps != nil {
			steps[k] = math.NaN()
		}
		if interval {
			stated[k] = math.NaN()
			if energy != nil {
				energy[k] = math.NaN()
			}
		}
	}
}

// A logger that writes when a value changes shows itself by steps of many
// lengths, of which at least heldSteps are longer than 1.5 of the commonest one,
// and by values of which at most sameValues equal the one before.
const (
	leastHeld  = 20 // samples
	heldSteps  = 0.2
	sameValues = 0.02
	mostHeld   = day
)

// Hold states what samples cover in a frame of power that was written when a
// value changed: until the next sample, for a day at most. At the site's
// midnights, which next yields, the value is repeated, so that each day has its
// part. Another frame is returned as it is; held reports whether it was changed.
func Hold(f series.Frame, next func(at int64) int64) (out series.Frame, held bool) {
	power := f.Values(series.PowerKW)
	if power == nil || f.Len() < leastHeld || f.Values(series.CoveredS) != nil || f.Values(series.EnergyKWh) != nil || f.Values(series.EnergyCounterKWh) != nil {
		return f, false
	}
	common := int64(series.Interval(f.Times).Seconds())
	long, same := 0, 0
	for i := 1; i < f.Len(); i++ {
		if math.IsNaN(power[i]) {
			return f, false // a change to no value is not written
		}
		if 2*(f.Times[i]-f.Times[i-1]) > 3*common {
			long++
		}
		if power[i] == power[i-1] {
			same++
		}
	}
	steps := float64(f.Len() - 1)
	if float64(long) < heldSteps*steps || float64(same) > sameValues*steps {
		return f, false
	}
	var at []int64
	var from []int // the sample whose value holds
	for i, t := range f.Times {
		at, from = append(at, t), append(from, i)
		if i+1 == f.Len() || f.Times[i+1]-t > mostHeld {
			continue
		}
		for m := next(t); m < f.Times[i+1]; m = next(m) {
			at, from = append(at, m), append(from, i)
		}
	}
	out = f.Select(from)
	out.Times = at
	stated := make([]float64, len(at))
	for k := range stated {
		stated[k] = math.NaN()
		if k+1 < len(at) && at[k+1]-f.Times[from[k]] <= mostHeld {
			stated[k] = float64(at[k+1] - at[k])
		}
	}
	out.Set(series.CoveredS, stated)
	return out, true
}
