package detect

import (
	"math"

	"app.sunloop/engine/loss"
	"app.sunloop/internal/display"
)

// trackers finds modules on trackers that do not follow the sun: part of the
// day is as it should be and another part lacks a good share of the light, on
// clear days.
type trackers struct{ units []trackerState }

// trackerState is the state of one unit.
type trackerState struct {
	days   []stuckDay // clear days in a row that show it
	record *record
	ratios []float64
	right  int
	at     int64
}

// stuckDay is a day that shows it.
type stuckDay struct {
	start, end int64
	parts      [3]float64
	lost       loss.Ledger
	ratio      float64
}

// Figures of the rule.
const (
	trackerRatio   = 0.85 // worst part of the day over the best
	trackerBest    = 0.88
	trackerDays    = 3
	trackerRight   = 0.93
	trackerLearned = 8 // days against peers
)

func newTrackers(s *session) *trackers { return &trackers{make([]trackerState, len(s.in.Units))} }

func (o *trackers) look(v *view, s *session) {
	for k := range o.units {
		if s.in.Units[k].Tracker || s.modules.tracker && s.in.Units[k].Plane == nil {
			o.units[k].day(v, s, k)
		}
	}
}

func (m *trackerState) day(v *view, s *session, k int) {
	u := &v.units[k]
	parts, ok := partsOfDay(v, k, s.rating(k))
	if ok = ok && v.sky.bright && !s.memory.units[k].held[ThermalDerating] && s.memory.units[k].steadyDays >= trackerLearned; !ok {
		if m.record != nil {
			u.charted = false
		}
		return
	}
	worst, best := min(parts[0], parts[1], parts[2]), max(parts[0], parts[1], parts[2])
	shows := best >= trackerBest && worst <= trackerRatio*min(best, 1)
	switch {
	case m.record != nil && worst >= trackerRight*best:
		if m.right == 0 {
			m.at = v.first
		}
		if m.right++; m.right >= 2 {
			m.record.end = max(m.at, m.record.lastSeen)
			*m = trackerState{}
		}
	case shows:
		m.right = 0
		m.take(v, s, k, parts)
	case m.record == nil:
		m.days = m.days[:0]
	}
	if m.record != nil || len(m.days) > 0 {
		u.charted = false // the day is explained, or in question
	}
	s.memory.units[k].hold(TrackerFault, m.record != nil)
}

// partsOfDay are the ratios of power to expectation of the day's thirds, by
// the time between the first and the last good sample.
func partsOfDay(v *view, k int, rating float64) (parts [3]float64, ok bool) {
	u := &v.units[k]
	usable := func(i int) bool {
		return u.tier[i] == tierPeers && u.peers[i] >= 2 && u.claimed[i] == "" && u.expected[i] > 0.15*rating && !clips(u.power[i], rating)
	}
	first, last := -1, -1
	for i := range v.cells {
		if usable(i) {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 || float64(last-first)*v.hours() < 5 {
		return parts, false
	}
	var thirds [3][]float64
	for i := first; i <= last; i++ {
		if usable(i) {
			t := min(3*(i-first)/(last-first+1), 2)
			thirds[t] = append(thirds[t], u.power[i]/u.expected[i])
		}
	}
	for t := range thirds {
		if float64(len(thirds[t]))*v.hours() < 0.75 {
			// At its limit at noon the unit is as it should be.
			if t != 1 {
				return parts, false
			}
			parts[t] = 1
			continue
		}
		parts[t] = median(thirds[t])
	}
	return parts, true
}

func (m *trackerState) take(v *view, s *session, k int, parts [3]float64) {
	u := &v.units[k]
	day := stuckDay{start: v.first, parts: parts}
	var ratios []float64
	for i := range v.cells {
		if u.claimed[i] != "" || u.tier[i] != tierPeers || math.IsNaN(u.power[i]) || !(u.expected[i] > 0.02*s.rating(k)) {
			continue
		}
		day.end = v.first + int64(i+1)*v.step
		v.addLoss(&day.lost, i, u.expected[i]-u.power[i])
		if ratio := u.power[i] / u.expected[i]; ratio < 0.95 && u.expected[i] > 0.1*s.rating(k) {
			ratios = append(ratios, ratio)
		}
		u.claimed[i] = TrackerFault
	}
	day.ratio = median(ratios)
	if m.record == nil {
		if m.days = append(m.days, day); len(m.days) < trackerDays {
			return
		}
		r := &record{family: TrackerFault, units: []int{k}, start: m.days[0].start, detected: v.end(), seen: newFacts()}
		for _, d := range m.days {
			r.losses.AddScaled(d.lost, 1)
			m.ratios = append(m.ratios, d.ratio)
		}
		m.record, m.days = s.open(r), nil
	} else {
		m.record.losses.AddScaled(day.lost, 1)
		m.ratios = append(m.ratios, day.ratio)
	}
	r := m.record
	r.lastSeen = day.end
	r.fraction = 1 - medianOf(m.ratios[max(len(m.ratios)-7, 0):])
	r.observed = []Evidence{
		shows("uneven_day", 2, 100*min(parts[0], parts[1], parts[2]), 100*max(parts[0], parts[1], parts[2]), "%",
			"On the last of %d such days it made %s, %s and %s of what was expected from its peers in the morning, around noon and in the afternoon.",
			len(m.ratios), display.Percent(parts[0]), display.Percent(parts[1]), display.Percent(parts[2])),
		shows("peers_follow", 1.2, 100, 100, "%", "The other trackers of the site follow the sun."),
	}
	if parts[1] > parts[0]/trackerRight && parts[1] > parts[2]/trackerRight {
		r.observed = append(r.observed, shows("flat_all_day", 0.7, 100*parts[1], 100, "%", "Noon is sound and both shoulders are missing: it lies flat."))
	}
}
