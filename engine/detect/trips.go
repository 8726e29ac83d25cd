package detect

import (
	"math"

	"app.sunloop/engine/loss"
	"app.sunloop/internal/display"
)

// trips finds units that stop again and again for less than half an hour, by the other
// units of the site or, where there are none, by readings of nothing between readings of
// much power.
type trips struct{ units []tripping }

// tripping is the state of one unit.
type tripping struct {
	before  float64 // ratio of the last sound sample
	steady  bool    // the samples before the stop were in steady sun
	level   float64 // of a unit without peers: power of the last sample, kW
	highest float64 // the same: of that sample and the one before it
	was     float64 // the same: highest before the stop
	alone   bool    // the stops of the day were judged without peers
	from    int64   // of the present stop; 0 while it runs
	cells   int
	stops   []stretch
	missing []loss.Ledger // of each stop
	record  *record
	total   int
	good    int // days in a row without a stop
}

// Figures of the rule: a sample of five minutes or less sees a stop as none of
// the power, a longer one as a part of it.
const (
	tripsADay   = 3
	tripFine    = 0.05
	tripCoarse  = 0.62
	tripBefore  = 0.8
	tripBack    = 0.3 // of the expectation, after a sample of nothing
	tripArmed   = 0.2
	tripFineArm = 0.08
	tripGoOn    = 2 // days without a stop that end it
	tripSteady  = 0.2
	tripLongest = 1800
	tripAlone   = 0.1 // of the rating, before the stop of a unit without peers
	tripClear   = 0.2 // kW/m² of a clear sky
)

func newTrips(s *session) *trips { return &trips{make([]tripping, len(s.in.Units))} }

func (o *trips) look(v *view, s *session) {
	if v.step > 900 {
		return
	}
	rule := tripRule{tripFine, 0, 0.3, tripFineArm, math.Inf(1)}
	if v.step > 300 {
		rule = tripRule{tripCoarse, tripBefore, tripBefore, tripArmed, tripSteady}
	}
	for k := range o.units {
		m := &o.units[k]
		m.from, m.before, m.stops, m.missing = 0, 0, m.stops[:0], m.missing[:0]
		m.level, m.highest, m.alone = 0, 0, false
		lit := false
		for i := range v.cells {
			lit = m.at(v, s, k, i, rule) || lit
		}
		m.day(lit)
	}
}

// tripRule describes a stop at a time step: with few minutes per sample no
// power remains, otherwise part of it, which only steady sun distinguishes from
// a cloud.
type tripRule struct{ low, before, after, armed, steady float64 }

// at follows the unit through a cell. lit reports that a stop would have been
// visible.
func (m *tripping) at(v *view, s *session, k, i int, rule tripRule) (lit bool) {
	u, rating, t := &v.units[k], s.rating(k), v.first+int64(i)*v.step
	e, p := u.expected[i], u.power[i]
	if u.tier[i] != tierPeers || u.peers[i] < 2 {
		return m.atAlone(v, s, k, i)
	}
	m.level, m.highest = 0, 0
	if math.IsNaN(p) || u.claimed[i] != "" || !(e > rule.armed*rating) {
		m.from, m.before = 0, 0
		return false
	}
	ratio := p / e
	nothing := p < offShare*rating
	switch {
	case ratio < rule.low && (m.from != 0 || m.before > rule.before), nothing && m.before > 0:
		if m.from == 0 {
			m.from, m.cells = t, 0
			m.steady = nothing || i > 0 && !(math.Abs(u.expected[i-1]-e) > rule.steady*e)
		}
		m.cells++
		m.steady = m.steady || nothing // no cloud takes all
		if t+v.step-m.from > max(tripLongest, 2*v.step) {
			m.from, m.before = 0, 0
		}
	case m.from != 0 && (ratio >= rule.after || m.steady && ratio >= tripBack):
		if m.steady {
			m.stop(v, s, k, i, func(j int) float64 { return u.expected[j] })
		}
		m.from, m.before = 0, ratio
	case m.from != 0 && m.cells < 2: // the sample in which it restarts
		m.cells++
	default:
		m.from, m.before = 0, ratio
	}
	return true
}

// atAlone follows a unit without peers through a cell: a stop is a reading of no more
// than by night, by the thickest clouds at the most, right after one of a tenth of the
// rating, with the sun up. It ends with a third of the former power within half an hour.
// A counter that increases shows that the readings are wrong, not the unit.
func (m *tripping) atAlone(v *view, s *session, k, i int) (lit bool) {
	u, rating, t := &v.units[k], s.rating(k), v.first+int64(i)*v.step
	p := u.power[i]
	if math.IsNaN(p) || u.claimed[i] != "" || !(v.clear[i] > tripClear) || !(rating > 0) {
		m.from, m.before, m.level, m.highest = 0, 0, 0, 0
		return false
	}
	m.before = 0
	switch {
	case p <= s.memory.units[k].idleKW+dimShare*rating:
		if m.from == 0 && m.level > 0 && m.highest >= tripAlone*rating {
			m.from, m.cells, m.was = t, 0, m.highest
		}
		if m.from != 0 && t+v.step-m.from > max(tripLongest, 2*v.step) {
			m.from = 0
		}
		m.level, m.highest = 0, 0
		return false
	case m.from != 0 && p >= tripBack*m.was:
		from := int((m.from - v.first) / v.step)
		between := func(j int) float64 { return m.was + (p-m.was)*float64(j+1-from)/float64(i+1-from) }
		due := 0.0
		for j := from; j < i; j++ {
			due += between(j) * v.hours()
		}
		if gained := u.counter[i] - u.counter[from]; !(gained > 0.3*due) {
			m.alone = true
			m.stop(v, s, k, i, between)
		}
		m.from = 0
	case m.from != 0 && m.cells < 1: // the sample in which it restarts
		m.cells++
	default:
		m.from = 0
	}
	m.highest, m.level = max(p, m.level), p
	return p >= tripAlone*rating
}

// stop books a stop that has just ended. expected is what it would have made in a cell.
func (m *tripping) stop(v *view, s *session, k, i int, expected func(cell int) float64) {
	u, t := &v.units[k], v.first+int64(i)*v.step
	var lost loss.Ledger
	for j := int((m.from - v.first) / v.step); j < i; j++ {
		v.addLoss(&lost, j, expected(j)-u.power[j])
		u.claimed[j] = IntermittentTrip
	}
	m.stops, m.missing = append(m.stops, stretch{m.from, t}), append(m.missing, lost)
	if m.record == nil && len(m.stops) >= tripsADay {
		f := newFacts()
		f.rating = s.rating(k)
		r := &record{family: IntermittentTrip, units: []int{k}, start: m.stops[0].from, detected: t, lastSeen: t, seen: f}
		m.record, m.total = s.open(r), 0
		for j := range m.stops[:len(m.stops)-1] {
			m.book(m.stops[j], m.missing[j])
		}
	}
	if m.record != nil {
		if c := codeBetween(u.code, int((m.from-v.first)/v.step), i); c > 0 {
			m.record.seen.code = c
		}
		m.book(stretch{m.from, t}, lost)
	}
}

// codeBetween is the first event code in cells [from, to), or 0.
func codeBetween(codes []float64, from, to int) float64 {
	for _, c := range codes[from:to] {
		if c > 0 {
			return c
		}
	}
	return 0
}

func (m *tripping) book(stop stretch, lost loss.Ledger) {
	r := m.record
	m.total++
	r.losses.AddScaled(lost, 1)
	r.lastSeen = stop.to
	r.spans = append(r.spans, stop.span())
	var hours float64
	for _, sp := range r.spans {
		hours += sp.To.Sub(sp.From).Hours()
	}
	r.fraction = 1
	meanwhile := "while its peers ran"
	if m.alone {
		meanwhile = "from and to much power, which no cloud does"
	}
	r.observed = []Evidence{
		shows("short_stops", 2, float64(len(r.spans)), tripsADay, "stops", "It stopped %s for %s on average, %s.", display.CountOf(len(r.spans), "time", "times"), formatMinutes(60*hours/float64(len(r.spans))), meanwhile),
		shows("returns", 1.5, float64(len(r.spans)), 0, "times", "Each time it came back by itself in less than half an hour."),
	}
	if r.seen.code > 0 {
		r.observed = append(r.observed, codeEvidence(r.seen.code))
	}
}

// day ends the event after days in good light without a stop.
func (m *tripping) day(lit bool) {
	switch {
	case m.record == nil || !lit:
	case len(m.stops) > 0:
		m.good = 0
	default:
		if m.good++; m.good >= tripGoOn {
			m.record.end = m.record.lastSeen
			m.record, m.good = nil, 0
		}
	}
}
