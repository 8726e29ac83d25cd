package detect

import (
	"math"

	"app.sunloop/engine/loss"
	"app.sunloop/internal/display"
)

// unexplained finds units that make less than they did, day after day, without
// any of the other families' signs: something crept in.
type unexplained struct{ units []deficitState }

// deficitState is the state of one unit.
type deficitState struct {
	days   []float64 // in a row below the best, as shares of it
	since  int64
	lost   loss.Ledger
	record *record
	shares []float64
	back   int
	backAt int64
}

// Figures of the rule.
const (
	lagShare = 0.92
	lagDays  = 6
	lagBack  = 0.96
)

func newUnexplained(s *session) *unexplained {
	return &unexplained{make([]deficitState, len(s.in.Units))}
}

func (o *unexplained) look(v *view, s *session) {
	for k := range o.units {
		mem, u := &s.memory.units[k], &v.units[k]
		if u.charted && !mem.held[StringOutage] && !mem.held[PartialShading] && !mem.held[TrackerFault] {
			o.units[k].day(v, s, k)
		} else if o.units[k].record == nil && (mem.held[PartialShading] || mem.held[TrackerFault]) {
			o.units[k].days = o.units[k].days[:0]
		}
		if m := &o.units[k]; u.charted && m.record == nil && len(m.days) == 0 && !mem.learningSuspended() {
			mem.long.remember(u.relative.ratio*mem.size(), longDays)
		}
	}
}

// longDays is how long a unit's best yield among its peers is remembered.
const longDays = 60

func (m *deficitState) day(v *view, s *session, k int) {
	mem, u := &s.memory.units[k], &v.units[k]
	best := mem.long.quantile(0.6, 20, math.NaN())
	share := u.relative.ratio * mem.size() / best
	end := v.end()
	scale, rating := best/mem.size(), s.rating(k)
	due := func(i int) float64 { return min(u.expected[i]*scale, rating) }
	switch {
	case math.IsNaN(share):
	case m.record != nil && share > lagBack:
		if m.back == 0 {
			m.backAt = v.first
		}
		if m.back++; m.back >= 3 {
			m.record.end = max(m.backAt, m.record.lastSeen)
			*m = deficitState{}
		}
	case m.record != nil:
		m.back = 0
		m.shares = append(m.shares, share)
		v.addDayLoss(&m.record.losses, k, due)
		m.record.lastSeen = end
		m.record.fraction = max(1-medianOf(m.shares[max(len(m.shares)-7, 0):]), 0)
		m.word()
	case share < lagShare:
		if len(m.days) == 0 {
			m.since, m.lost = v.first, loss.Ledger{}
		}
		m.days = append(m.days, share)
		v.addDayLoss(&m.lost, k, due)
		if len(m.days) >= lagDays {
			r := &record{family: Underperformance, units: []int{k}, start: m.since, detected: end, lastSeen: end, losses: m.lost, fraction: 1 - medianOf(m.days), seen: newFacts()}
			m.shares = append(m.shares[:0], m.days...)
			m.record = s.open(r)
			m.word()
		}
	default:
		m.days = m.days[:0]
	}
}

func (m *deficitState) word() {
	r := m.record
	r.observed = []Evidence{
		shows("relative_yield", 1.2, 100*(1-r.fraction), 100, "%", "On %s it made about %s of what it used to make against its peers.", display.CountOf(len(m.shares), "day", "days"), display.Percentage(100*(1-r.fraction))),
		shows("came_slowly", 0.6, float64(len(m.shares)), lagDays, "days", "It came on over days, and is neither a whole number of strings at once nor bound to hours or heat."),
	}
}
