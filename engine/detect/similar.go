package detect

import (
	"cmp"
	"math"
	"slices"
)

// A step against peers is a change of the unit only if it shows against those units, too, whose
// power goes with its own. The median of all peers may change without it: where rows
// shade each other in winter, or orientations differ, half of the units gain on the
// other half from one week to the next.
const (
	similarAsked  = 3   // units that resemble the unit most
	similarShown  = 0.5 // of the step, that more than half of them must show
	similarBefore = 12  // usable days before the step
	similarLeast  = 5   // of these at the least
	similarSince  = 2   // days since
	similarShared = 4   // clear moments of a day that two units must share
	similarKept   = indexKept + 30
)

// clearDay is a unit's power of the clear moments of a day over its rating, NaN at
// other moments.
type clearDay struct {
	day   int64
	first int64 // start of the first moment
	power []float32
}

// remember stores the day's clear moments of the unit.
func (u *unitLosses) remember(b *baseline, m *moments, rating float64, day int64) {
	var one clearDay
	if len(u.clear) >= similarKept {
		one, u.clear = u.clear[0], slices.Delete(u.clear, 0, 1)
	}
	one.day, one.first, one.power = day, m.first, one.power[:0]
	for j := range m.n {
		p := math.NaN()
		if b.weight[j] > 0 && b.power[j] > 0 {
			p = b.power[j] / rating
		}
		one.power = append(one.power, float32(p))
	}
	u.clear = append(u.clear, one)
}

// against returns the logarithm of the unit's power over that of another one on the days
// in [from, to), without the known losses of both: the median of the moments of each day
// that are clear for both.
func (u *unitLosses) against(other *unitLosses, from, to int64) (ratios []float64) {
	var some []float64
	at := 0
	for _, d := range u.clear {
		if d.day < from || d.day >= to {
			continue
		}
		for at < len(other.clear) && other.clear[at].day < d.day {
			at++
		}
		if at == len(other.clear) || other.clear[at].day != d.day || other.clear[at].first != d.first {
			continue
		}
		some = some[:0]
		for j, p := range d.power[:min(len(d.power), len(other.clear[at].power))] {
			if r := math.Log(float64(p / other.clear[at].power[j])); !math.IsNaN(r) {
				some = append(some, r)
			}
		}
		if len(some) >= similarShared {
			ratios = append(ratios, median(some)-math.Log(u.factor(d.day)/other.factor(d.day)))
		}
	}
	return ratios
}

// similarShow reports whether a step of unit k on its index of peers shows against the units that
// resemble it most: those to which its ratio changed least from day to day before. Without two
// such units, it is taken to show.
func (l *losses) similarShow(k int, b *baseline, f shift) bool {
	u := &l.units[k]
	from, at, end := b.index[max(f.at-similarBefore, 0)].day, b.index[f.at].day, b.index[len(b.index)-1].day+1
	type unitBeside struct{ noise, moved float64 }
	var others []unitBeside
	for other := range l.units {
		if other == k {
			continue
		}
		before, since := u.against(&l.units[other], from, at), u.against(&l.units[other], at, end)
		if len(before) < similarLeast || len(since) < similarSince {
			continue
		}
		var turns []float64
		for i := range before[1:] {
			turns = append(turns, math.Abs(before[i+1]-before[i]))
		}
		others = append(others, unitBeside{median(turns), median(since) - median(before)})
	}
	if len(others) < 2 {
		return true
	}
	slices.SortStableFunc(others, func(a, b unitBeside) int { return cmp.Compare(a.noise, b.noise) })
	others = others[:min(len(others), similarAsked)]
	shown := 0
	for _, o := range others {
		if o.moved < similarShown*f.size {
			shown++
		}
	}
	return 2*shown > len(others)
}
