package simulate

import (
	"math"
	"slices"
	"time"
)

// LostKWh returns the energy that a fault on the site's list prevented in
// [from, to): zero for data faults.
func (s *Site) LostKWh(fault Fault, from, to time.Time) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if from.Before(fault.From) {
		from = fault.From
	}
	if !fault.To.IsZero() && fault.To.Before(to) {
		to = fault.To
	}
	var others []Fault
	for _, f := range s.Faults {
		if f.ID != fault.ID {
			others = append(others, f)
		}
	}
	var lost float64
	for index := s.dayIndex(from); from.Before(to); index++ {
		with, without := s.at(index), s.generate(index, others)
		a, b := max(from.Unix()-with.startS, 0), to.Unix()-with.startS
		for k, u := range s.Units {
			if fault.Concerns(u.AssetID) {
				lost += without.units[k].upTo(b) - without.units[k].upTo(a) - with.units[k].upTo(b) + with.units[k].upTo(a)
			}
		}
		from = s.dayStart(index + 1)
	}
	return lost
}

// Truth is a fault together with what it did: an entry of the list that
// detection is scored against.
type Truth struct {
	Fault
	Family       string
	Onset        time.Time // when it had first cost, or falsified, 1 % of its units' usual day
	Seen         time.Time // end of the last daylight in which it showed
	LostKWh      float64   // not made because of it
	FirstDay     time.Time // of DailyLostKWh: the first instant of the site's day
	DailyLostKWh []float64 // the same by day; empty for faults of the data
	LossFraction float64   // share of the production that was lost while it showed, of its last week
	ShownHours   float64   // hours of daylight in which it showed, mean over its units
	Visible      bool      // it cost, or falsified, more than the onset and lasted long enough to be distinguished from chance
}

// TruthBetween is the truth of [from, to), in order of time. The days in it are
// generated if they have not been before.
func (s *Site) TruthBetween(from, to time.Time) []Truth {
	s.mu.Lock()
	defer s.mu.Unlock()
	first, last := s.dayIndex(from), s.dayIndex(to.Add(-time.Second))
	s.counters(last + 1) // generates every day up to last
	sums := make([]Truth, len(s.Faults))
	week, newest := make([]entry, len(s.Faults)), make([]int, len(s.Faults))
	for k, f := range s.Faults {
		sums[k] = Truth{Fault: f, Family: f.Kind.Family()}
	}
	for d := last; d >= first; d-- { // backwards: the last week is met first
		for _, e := range s.ledger[d] {
			t, w := &sums[e.fault], &week[e.fault]
			if t.Seen.IsZero() {
				t.Seen = time.Unix(e.last, 0).UTC()
				w.last = e.last
			}
			t.LostKWh += e.lostKWh
			if e.lostKWh > 0 {
				t.FirstDay = s.dayStart(d)
				for len(t.DailyLostKWh) < newest[e.fault]-d { // days without a loss between
					t.DailyLostKWh = append(t.DailyLostKWh, 0)
				}
				if len(t.DailyLostKWh) == 0 {
					newest[e.fault] = d
				}
				t.DailyLostKWh = append(t.DailyLostKWh, e.lostKWh)
			}
			t.ShownHours += e.hours
			if w.last-e.last <= 7*86400 {
				w.lostKWh, w.fullKWh = w.lostKWh+e.lostKWh, w.fullKWh+e.fullKWh
			}
		}
	}
	var out []Truth
	for k := range sums {
		t, n := &sums[k], float64(len(sums[k].Units))
		if !t.From.Before(to) || !t.Overlaps(from, to) {
			continue
		}
		t.ShownHours /= n
		if w := week[k]; w.fullKWh > 0 {
			t.LossFraction = min(max(w.lostKWh/w.fullKWh, 0), 1)
		}
		switch t.Kind {
		case StringLoss:
			t.LossFraction = t.Severity
		case UnitOutage, SiteOutage, GroundFault:
			t.LossFraction = 1
		}
		t.LostKWh = max(t.LostKWh, 0)
		slices.Reverse(t.DailyLostKWh)
		t.Onset = s.onset(k, first, last)
		if t.Kind == Degradation && t.Severity < 0.015 {
			out = append(out, *t) // within what modules are sold for
			continue
		}
		t.Visible = !t.Onset.IsZero() && t.ShownHours >= leastShown(t.Kind)
		out = append(out, *t)
	}
	return out
}

// onset is when the fault had shown the onset share of a day of its units.
func (s *Site) onset(fault, first, last int) time.Time {
	threshold := 0.0
	for _, u := range s.Units {
		if s.Faults[fault].Concerns(u.AssetID) {
			threshold += onsetShare * 4 * u.CapacityKW
		}
	}
	sum := 0.0
	for d := first; d <= last; d++ {
		for _, e := range s.ledger[d] {
			if e.fault != fault {
				continue
			}
			if sum += e.shown; sum < threshold {
				continue
			}
			if e.at != 0 {
				return time.Unix(e.at, 0).UTC()
			}
			return time.Unix(e.last, 0).UTC()
		}
	}
	return time.Time{}
}

// leastShown returns how many hours of daylight a fault must be visible to be
// distinguishable from chance: an hour for sudden stops, days for small losses.
func leastShown(k Kind) float64 {
	switch k {
	case StringLoss, CapacityChange, Underperformance, TrackerFault:
		return 24
	case PartialShade:
		return 8
	case Soiling:
		return 100
	case Degradation:
		return 5000
	case TimeShift:
		return 40
	case Derating:
		return 4
	case GroundFault, IrradianceSensor, Snow:
		return 2
	case Curtailment:
		return 1
	case Spikes:
		return 0.2
	case IntermittentTrip:
		return 0.5
	}
	return 1
}

// clipsAt is the share of the rating at which a unit counts as clipping.
const clipsAt = 0.999

// ClippedHours is how long each unit stood at its rating on each day on which
// it did, by asset id and the site's date (2006-01-02).
func (s *Site) ClippedHours(from, to time.Time) map[string]map[string]float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]map[string]float64{}
	for _, u := range s.Units {
		out[u.AssetID] = map[string]float64{}
	}
	first, last := s.dayIndex(from), s.dayIndex(to.Add(-time.Second))
	s.counters(last + 1)
	for index := first; index <= last; index++ {
		for k, cells := range s.clipped[index] {
			if cells > 0 {
				date := time.Unix(int64(index)*86400, 0).UTC().Format(time.DateOnly)
				out[s.Units[k].AssetID][date] = float64(cells) * cellHours
			}
		}
	}
	return out
}

// atLimit counts the cells in which a unit is at its rating.
func (u *Unit) atLimit(c curve) int {
	n := 0
	for i, l := range c.left {
		if math.Min(l, c.right[i]) >= clipsAt*u.CapacityKW {
			n++
		}
	}
	return n
}
