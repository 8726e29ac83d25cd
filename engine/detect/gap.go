package detect

import (
	"math"
	"slices"
	"time"

	"app.sunloop/engine/loss"
	"app.sunloop/internal/display"
)

// gaps finds times by day in which no new data arrive from a unit, and uses the
// lifetime counter afterwards to decide whether the plant ran meanwhile.
type gaps struct {
	units []missingRun
}

// missingRun is the state of one unit.
type missingRun struct {
	known   bool  // it has reported before
	since   int64 // start of the first cell without a reading; 0 while it reports
	counted int   // cells of those that count: by day, or when the unit should be awake
	record  *record

	counter    float64     // at the end of the last cell with a reading
	expected   float64     // kWh that should have been added since
	due        loss.Ledger // the same by hour, while the sun is up
	byPeers    float64     // of it, known from peers or light
	dayCounter float64     // first counter of the day and what was expected since
	dayFrom    float64
	dayKWh     float64
}

func newGaps(s *session) *gaps {
	g := &gaps{make([]missingRun, len(s.in.Units))}
	for k := range g.units {
		g.units[k].counter = math.NaN()
	}
	return g
}

func (g *gaps) look(v *view, s *session) {
	for k := range g.units {
		g.units[k].dayFrom, g.units[k].dayKWh = math.NaN(), 0
	}
	var due, ended []int
	for i := range v.cells {
		t := v.first + int64(i)*v.step
		due, ended = due[:0], ended[:0]
		for k := range g.units {
			sl, u := &g.units[k], &v.units[k]
			if u.heard[i] {
				if sl.record != nil {
					ended = append(ended, k)
				} else {
					sl.since, sl.counted = 0, 0
				}
				sl.known = true
				continue
			}
			if !sl.known {
				continue
			}
			if g.awake(v, s, k, i) {
				if sl.counted == 0 && (sl.since == 0 || s.memory.units[k].awake < 0.5) {
					sl.since = t
				}
				sl.counted++
				if sl.record != nil {
					sl.record.lastSeen = t + v.step
				} else if established(sl.counted, float64(sl.counted)*v.hours()) {
					due = append(due, k)
				}
			} else if sl.since == 0 {
				sl.since = t
			}
			if sl.record != nil {
				u.claimed[i] = claimOr(u.claimed[i], CommunicationGap)
			}
		}
		if len(ended) > 0 {
			g.end(v, s, ended, t, i)
		}
		if len(due) > 0 {
			g.announce(s, due, t+v.step)
		}
		for k := range g.units {
			g.units[k].count(v, k, i)
		}
	}
	for k := range g.units {
		g.units[k].learn(&s.memory.units[k], s.rating(k))
	}
}

func claimOr(had, now Family) Family {
	if had != "" {
		return had
	}
	return now
}

// awake reports whether data from the unit are expected: by day, and for
// loggers that switch off with their inverter only when the inverter certainly
// runs.
func (g *gaps) awake(v *view, s *session, k, i int) bool {
	if !v.day[i] {
		return false
	}
	m := &s.memory.units[k]
	if m.nights > 0 && m.awake >= 0.5 {
		return true
	}
	u := &v.units[k]
	rating := s.rating(k)
	return u.tier[i] == tierPeers && u.expected[i] >= 2*armedShare*rating || s.memory.stats[v.slot(i)].low >= armedShare || v.clear[i] >= 0.35
}

// announce opens the gaps of units whose silence is long enough now. If they are most of
// the site, their gaps begin together, whenever each of them was heard last.
func (g *gaps) announce(s *session, due []int, now int64) {
	if len(due) >= 2 && 5*len(due) >= 4*g.knownUnits() {
		first := g.units[due[0]].since
		for _, k := range due {
			first = min(first, g.units[k].since)
		}
		for _, k := range due {
			g.units[k].since = first
		}
	}
	for _, k := range due {
		r := &record{family: CommunicationGap, class: Unknown, units: []int{k}, start: g.units[k].since, detected: now, lastSeen: now, seen: newFacts()}
		r.seen.heard, r.seen.rating = g.knownUnits(), s.rating(k)
		g.units[k].record = s.open(r)
	}
}

func (g *gaps) knownUnits() int {
	n := 0
	for k := range g.units {
		if g.units[k].known {
			n++
		}
	}
	return n
}

// end closes the gaps of units that report again at cell i. Those that fell silent
// together are classified together.
func (g *gaps) end(v *view, s *session, ended []int, t int64, i int) {
	for len(ended) > 0 {
		first := g.units[ended[0]].record
		var back, others []int
		for _, k := range ended {
			if sameMoment(first, g.units[k].record, v.step) {
				back = append(back, k)
			} else {
				others = append(others, k)
			}
		}
		for _, k := range back {
			r := g.units[k].record
			r.end = t
			if n := len(r.spans); n > 0 {
				r.spans[n-1].To = time.Unix(t, 0).UTC()
			}
		}
		g.classify(v, s, back, i)
		for _, k := range back {
			g.units[k].record, g.units[k].since, g.units[k].counted = nil, 0, 0
		}
		ended = others
	}
}

// classify compares what the counters of units gained over their gap with what was
// expected, and opens an outage for what is missing.
func (g *gaps) classify(v *view, s *session, back []int, i int) {
	var gained, expected, sure, rating float64
	known := 0
	var still []int
	missing := map[int]loss.Ledger{} // by unit
	start, now := g.units[back[0]].record.start, v.first+int64(i)*v.step
	for _, k := range back {
		sl := &g.units[k]
		f := &sl.record.seen
		rating += s.rating(k)
		d := v.units[k].counter[i] - sl.counter
		if d = max(d, 0) + min(d+0.02*s.rating(k), 0); math.IsNaN(d) || d < 0 || d > 1.5*s.rating(k)*float64(now-start)/3600+3 {
			f.counterFrom, f.counterTo, f.counterKWh = math.NaN(), math.NaN(), sl.expected
			continue
		}
		f.counterFrom, f.counterTo, f.counterKWh = 0, d, sl.expected
		known++
		gained, expected, sure = gained+d, expected+sl.expected, sure+sl.byPeers
		if d < sl.expected {
			missing[k] = sl.due.Scaled(1 - d/sl.expected)
		}
		if d < 0.5*sl.expected {
			still = append(still, k)
		}
	}
	class := func(c Class) {
		for _, k := range back {
			g.units[k].record.class = c
		}
	}
	class(Unknown)
	if known == 0 || expected < 0.05*rating {
		return
	}
	band := g.band(s, back, sure/expected, float64(g.units[back[0]].counted)*v.hours())
	for _, k := range back {
		g.units[k].record.seen.band = band
	}
	if gained >= band*expected {
		class(Comms)
		return
	}
	const ran = 0.5 // of what was expected: some energy is missing, yet the units ran
	stopped := gained < ran*expected && !(sure < 0.5*expected && gained > 0.1*expected)
	if stopped && 5*len(back) >= 4*len(s.in.Units) && now-start <= int64(clockJump.Seconds()) {
		return // a clock that was set forward leaves the same
	}
	class(Real)
	if stopped {
		s.hiddenOutage(back, g, still, missing, start, now)
		for _, k := range still { // the outage carries it
			delete(missing, k)
		}
	}
	for k, lost := range missing {
		g.units[k].record.losses.AddScaled(lost, 1)
	}
}

// clockJump is the longest silence of a whole site, its counters standing
// still, that a clock set forward leaves.
const clockJump = time.Hour

// band returns the lowest share of the expected energy that is still normal:
// the 2 % quantile of what counters have gained relative to the expectation on
// earlier days, with a fifth of margin, and more the fewer hours of daylight
// the gap has, since one cloud can take half an hour's energy. An expectation
// from the site's typical days varies far more than one from peers.
func (g *gaps) band(s *session, units []int, sure, hours float64) float64 {
	if sure < 0.5 {
		return min(max(0.5*s.memory.stray.quantile(0.02, 5, 0.2), 0.04), 0.12)
	}
	lowest := 0.9
	for _, k := range units {
		lowest = min(lowest, 0.8*s.memory.units[k].counted.quantile(0.02, 5, 0.7))
	}
	return max(lowest-0.6/math.Sqrt(1+hours), 0.2)
}

// hiddenOutage records that units produced nothing while their data were
// missing, with what each of them lost.
func (s *session) hiddenOutage(back []int, g *gaps, units []int, lost map[int]loss.Ledger, start, end int64) {
	units = slices.DeleteFunc(slices.Clone(units), func(k int) bool { return s.covered(k, start, end) })
	family := InverterOutage
	if len(units) >= 2 && 5*len(units) >= 4*len(s.in.Units) {
		family = SiteOutage
	}
	for _, k := range units {
		r := &record{
			family: family, units: []int{k}, start: start, detected: end, lastSeen: end, end: end,
			fraction: 1, losses: lost[k].Clone(), seen: g.units[k].record.seen,
		}
		r.seen.expectedKWh = r.losses.Total()
		s.records = append(s.records, r)
	}
}

// covered reports whether an outage of the unit around a gap is known already;
// that outage then also explains the gap from its start.
func (s *session) covered(unit int, start, end int64) bool {
	for i := len(s.records) - 1; i >= 0; i-- {
		r := s.records[i]
		if r.family != InverterOutage && r.family != SiteOutage && r.family != GroundFault && r.family != ArcFault || r.start > end+int64(mergeWithin.Seconds()) || r.end != 0 && r.end < start {
			continue
		}
		if slices.Contains(r.units, unit) {
			r.start = min(r.start, start)
			return true
		}
	}
	return false
}

// count keeps the unit's counter at the end of the last cell that had one, and
// what was expected since.
func (sl *missingRun) count(v *view, k, i int) {
	u, hours := &v.units[k], v.hours()
	if c := u.counter[i]; !math.IsNaN(c) && u.heard[i] {
		// What the cell itself produces is known from its power; only
		// the energy after it is unknown.
		sl.counter, sl.expected, sl.byPeers, sl.due = c+max(zeroIfMissing(u.power[i]), 0)*hours, 0, 0, loss.Ledger{}
		if math.IsNaN(sl.dayFrom) {
			sl.dayFrom, sl.dayKWh = c, 0
		}
		sl.dayCounter = c
	}
	if e := u.expected[i] * hours; e > 0 {
		if !u.heard[i] || math.IsNaN(u.counter[i]) {
			sl.expected += e
			if !math.IsNaN(sl.counter) {
				v.addLoss(&sl.due, i, u.expected[i])
			}
			if u.tier[i] == tierPeers || u.tier[i] == tierLight {
				sl.byPeers += e
			}
		}
		if u.claimed[i] == "" {
			sl.dayKWh += e
		} else {
			sl.dayKWh = math.NaN() // a day with a fault is not a normal day
		}
	}
}

// learn remembers how well the day's expectation met the counter.
func (sl *missingRun) learn(m *unitMemory, rating float64) {
	if gained := sl.dayCounter - sl.dayFrom; sl.dayKWh > 0.5*rating && gained >= 0 {
		m.counted.remember(min(gained/sl.dayKWh, 2), sizeDays)
	}
}

func zeroIfMissing(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}

func gapEvidence(r *record) []Evidence {
	f := &r.seen
	end := r.lastSeen
	if r.end != 0 {
		end = r.end
	}
	hours := float64(end-r.start) / 3600
	out := []Evidence{shows("rows_missing", 3, hours, 0, "h", "Nothing new arrived for %s.", formatMinutes(hours*60))}
	if n := len(r.units); n > 1 && n < f.heard {
		out = append(out, shows("same_sample", 0.3, float64(n), float64(f.heard), "units", "%s fell silent within one sample: one logger or connection is likely.", display.CountOf(n, "unit", "units")))
	}
	if others := f.heard - len(r.units); others > 0 {
		out = append(out, shows("others_heard", 0.3, float64(others), float64(f.heard), "units", "Meanwhile %d of %s sent data.", others, display.CountOf(f.heard, "unit", "units")))
	} else if f.heard > 1 {
		out = append(out, shows("all_silent", 0.5, float64(len(r.units)), float64(f.heard), "units", "All %s stopped sending at the same time.", display.CountOf(f.heard, "unit", "units")))
	}
	gained := f.counterTo - f.counterFrom
	switch share := 100 * gained / f.counterKWh; {
	case math.IsNaN(gained):
	case r.class == Comms:
		out = append(out, shows("counter_continues", 1.5, gained, f.counterKWh, "kWh", "Over the gap the counter gained %s, %s of the %s expected: the plant ran.",
			display.Energy(gained), display.Percent(share/100), display.Energy(f.counterKWh)))
	case r.class == Real:
		out = append(out, shows("counter_short", -1, gained, f.counterKWh, "kWh", "Over the gap the counter gained only %s, %s of the %s expected; %s would still be usual.",
			display.Energy(gained), display.Percent(share/100), display.Energy(f.counterKWh), display.Percent(f.band)))
	}
	return out
}
