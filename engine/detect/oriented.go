package detect

import (
	"cmp"
	"math"
	"slices"
)

// orientations finds, for units whose planes are unknown, the others that lie as they
// do. Between units of one orientation the ratio of the power is the same in each hour
// of a day; between others it changes with the sun. The median of a site with several
// orientations follows one of them in the morning and another one in the afternoon, and
// its noise is that of neither. What was found once is kept, as a reference that changes
// would be a step of the unit.
type orientations struct {
	strays [][]ring  // of each pair of units, the second one below the first: how far the ratio of their power strays over the clear moments of a day
	some   []float64 // scratch
	days   int       // so far
	peers  [][]int   // of each unit; nil while all others are its peers
}

// Figures of the rule.
const (
	orientedDays    = 8   // days on which two units were compared
	orientedEvery   = 4   // days between choices
	orientedUnits   = 200 // of a site at the most: its pairs are kept in memory
	orientedKept    = 30
	orientedUntil   = 400  // days after which all others remain the peers
	orientedLeast   = 3    // peers of the same orientation
	orientedMost    = 0.8  // quantile of the days: in haze all orientations are alike
	orientedMoments = 6    // of a day, with power of both
	orientedPower   = 0.05 // of the rating
	orientedApart   = 0.12 // stray of the next unit, in the logarithm: less is a tilt or a shadow
	orientedTimes   = 2    // how many times that of the chosen ones it is
	orientedShown   = 3    // peers with a reading that make a reference
)

func newOrientations(units int) orientations {
	o := orientations{peers: make([][]int, units)}
	if units <= orientedLeast+1 || units > orientedUnits {
		o.days = orientedUntil // there is no choice
		return o
	}
	for k := range units {
		o.strays = append(o.strays, make([]ring, k))
	}
	return o
}

// learn adds the clear moments of a day. Clouds pass the units one by one, so that only
// these show how the units lie.
func (o *orientations) learn(l *losses, day int64) {
	if o.days >= orientedUntil {
		return
	}
	for k := range o.strays {
		power := l.units[k].clearOn(day)
		if power == nil {
			continue
		}
		for other := range o.strays[k] {
			o.some = o.some[:0]
			for j, p := range l.units[other].clearOn(day) {
				if j < len(power) && p > orientedPower && power[j] > orientedPower {
					o.some = append(o.some, math.Log(float64(p/power[j])))
				}
			}
			if len(o.some) >= orientedMoments {
				level := median(o.some)
				for i, d := range o.some {
					o.some[i] = math.Abs(d - level)
				}
				o.strays[k][other].remember(1.4826*median(o.some), orientedKept)
			}
		}
	}
	o.days++
}

// clearOn returns the unit's clear moments of the day that was added last, nil if that is
// another one.
func (u *unitLosses) clearOn(day int64) []float32 {
	if n := len(u.clear); n > 0 && u.clear[n-1].day == day {
		return u.clear[n-1].power
	}
	return nil
}

// of returns the units that lie as unit k does, in ascending order; nil if that is not
// known, or all do.
func (o *orientations) of(k int) []int {
	type other struct {
		unit  int
		stray float64
	}
	var others []other
	for unit := range o.strays {
		if unit == k {
			continue
		}
		stray := o.strays[max(k, unit)][min(k, unit)].quantile(orientedMost, orientedDays, math.NaN())
		if !math.IsNaN(stray) {
			others = append(others, other{unit, stray})
		}
	}
	slices.SortStableFunc(others, func(a, b other) int { return cmp.Compare(a.stray, b.stray) })
	for n := len(others) - 1; n >= orientedLeast; n-- {
		if next := others[n].stray; next > orientedApart && next > orientedTimes*others[n-1].stray {
			var out []int
			for _, one := range others[:n] {
				out = append(out, one.unit)
			}
			slices.Sort(out)
			return out
		}
	}
	return nil
}

// choose finds peers for the units that have none of their own yet, and reports which got
// some. A unit with an open loss keeps its reference until that has ended.
func (o *orientations) choose(l *losses, s *session) (found []int) {
	if o.days >= orientedUntil || o.days < orientedDays || o.days%orientedEvery != 0 {
		return nil
	}
	for k := range o.peers {
		u := &l.units[k]
		if o.peers[k] != nil || s.memory.units[k].alike || u.last() != nil || u.shade.record != nil || u.soil.record != nil {
			continue
		}
		if o.peers[k] = o.of(k); o.peers[k] != nil {
			found = append(found, k)
		}
	}
	return found
}

// median is the median of values by unit over the peers of unit k, NaN without enough of
// them; ok is false if all others are its peers.
func (o *orientations) median(k int, values []float64) (middle float64, ok bool) {
	if o.peers[k] == nil {
		return math.NaN(), false
	}
	o.some = o.some[:0]
	for _, other := range o.peers[k] {
		if !math.IsNaN(values[other]) {
			o.some = append(o.some, values[other])
		}
	}
	if len(o.some) < orientedShown {
		return math.NaN(), true
	}
	return median(o.some), true
}
