package detect

import (
	"math"

	"app.sunloop/internal/display"
)

// capacity finds units that make more than they ever did, against their peers:
// more array, or another factor in the logger. It costs nothing, and is booked
// so that the new yield is not taken for the old one.
type capacity struct{ units []grown }

// grown is the state of one unit.
type grown struct {
	days   []float64 // in a row above the best so far, as shares of it
	since  int64
	record *record
	left   int // days until the new yield is the normal
}

// Figures of the rule.
const (
	grownStep = 1.05
	grownDays = 5
	grownNew  = 45
)

func newCapacity(s *session) *capacity { return &capacity{make([]grown, len(s.in.Units))} }

func (o *capacity) look(v *view, s *session) {
	for k := range o.units {
		if v.units[k].charted {
			o.units[k].day(v, s, k)
		}
	}
}

func (m *grown) day(v *view, s *session, k int) {
	mem := &s.memory.units[k]
	end := v.end()
	if m.record != nil {
		m.record.lastSeen = end
		if m.left--; m.left <= 0 {
			m.record.end = end
			*m = grown{}
		}
		return
	}
	best := mem.long.quantile(0.8, 20, math.NaN())
	share := v.units[k].relative.ratio * mem.size() / best
	if !(share > grownStep) || !v.units[k].relative.evenly(share-1) {
		m.days = m.days[:0]
		return
	}
	if len(m.days) == 0 {
		m.since = v.first
	}
	if m.days = append(m.days, share); len(m.days) < grownDays {
		return
	}
	step := 100 * medianOf(m.days)
	r := &record{family: CapacityChange, units: []int{k}, start: m.since, detected: end, lastSeen: end, seen: newFacts()}
	r.observed = []Evidence{
		shows("relative_yield", 2, step, 100, "%", "On %s it made %s of the best it had made before, against its peers.", display.CountOf(len(m.days), "day", "days"), display.Percentage(step)),
		shows("all_day", 1, step-100, 0, "%", "It does so in the morning, at noon and in the afternoon."),
	}
	m.record, m.left = s.open(r), grownNew
	mem.long = ring{}
}

// evenly reports whether a gain appears in all parts of the day.
func (d relative) evenly(gain float64) bool {
	for _, p := range d.parts {
		if p-d.ratio < -0.5*gain || p-d.ratio > gain {
			return false
		}
	}
	return true
}
