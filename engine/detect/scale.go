package detect

import (
	"math"

	"app.sunloop/internal/display"
)

// scaleErrors finds power readings in another unit than the unit's own, and values
// that no unit can give: registers without a reading, for example.
type scaleErrors struct{ units []scaleState }

// A reading beyond what the unit can give is announced when another follows
// within a day: so many of them, within so many seconds.
const (
	wildLeast  = 2
	wildWithin = 86400
)

// scaleState is the state of one unit.
type scaleState struct {
	factor    float64 // that the last samples show; 0 for none
	samples   int
	since     int64
	strong    int     // of the samples, those that would be beyond what the unit can give
	fair      int     // samples in a row that are as expected
	last      float64 // reading
	idle      int     // samples in a row that are as by night
	record    *record
	wild      *record // of values beyond belief
	wildRows  int
	wildSince int64
}

// wrongFactors are the factors of readings in another unit: watts, hours and
// minutes, quarter hours, five minutes.
var wrongFactors = [...]float64{1000, 60, 12, 4, 0.001}

// Figures of the rule.
const (
	factorWithin  = 0.2  // natural logarithm
	factorFaint   = 0.45 // of readings so small that nothing else makes them
	factorSamples = 6
	// At low irradiance, a unit of another orientation produces four times
	// the expectation and more: a small factor must also show above the
	// rating.
	smallFactor   = 20
	strongShare   = 1.2 // of the rating
	strongSamples = 2
	fairWithin    = 0.4
	wildGap       = 20 * 3600 // seconds between values beyond belief that are one event: a night
	idleWithin    = 0.0015    // kW
	idleSamples   = 3
	fairLight     = 0.15 // of the rating, to be taken for sound again
)

func newScales(s *session) *scaleErrors { return &scaleErrors{make([]scaleState, len(s.in.Units))} }

func (o *scaleErrors) look(v *view, s *session) {
	for k := range o.units {
		for i := range v.cells {
			o.units[k].at(v, s, k, i)
		}
	}
}

func (m *scaleState) at(v *view, s *session, k, i int) {
	u, rating, t := &v.units[k], s.rating(k), v.first+int64(i)*v.step
	raw, e := u.raw[i], u.expected[i]
	if math.IsNaN(raw) || rating <= 0 {
		return
	}
	if m.wild != nil && t-m.wild.lastSeen > wildGap {
		m.wild.end, m.wild = m.wild.lastSeen, nil
	}
	same := raw == m.last
	m.last = raw
	ratio := raw / e
	if !(e > 0.05*rating) || u.tier[i] != tierPeers && u.tier[i] != tierLight {
		ratio = math.NaN()
	}
	factor := wrongFactor(ratio)
	if m.idle++; math.Abs(raw-s.memory.units[k].idleKW) > idleWithin {
		m.idle = 0
	}
	if factor > 1 && same {
		factor = 0 // it is frozen: that is another family's
	}
	if factor < 1 && m.idle >= idleSamples {
		factor = 0 // it continues with its night reading: it produces nothing
	}
	switch {
	case factor != 0:
		if factor != m.factor {
			m.factor, m.samples, m.strong, m.since = factor, 0, 0, t
		}
		m.samples, m.fair = m.samples+1, 0
		if raw > strongShare*rating {
			m.strong++
		}
		u.scaled[i] = true
	case e > fairLight*rating && math.Abs(math.Log(ratio)) < fairWithin: // false of NaN
		if m.fair++; m.fair >= 3 {
			if m.record != nil {
				m.record.end = m.record.lastSeen
			}
			m.factor, m.samples, m.strong, m.record = 0, 0, 0, nil
		}
	}
	shown := m.samples >= factorSamples && float64(m.samples)*v.hours() >= 1
	if m.factor > 1 && m.factor < smallFactor {
		shown = shown && m.strong >= strongSamples
	}
	if shown && factor != 0 {
		m.follow(v, s, k, i)
	}
	if m.record != nil {
		u.power[i] = math.NaN()
		u.claimed[i] = DataQuality
		return
	}
	if beyondCredible(raw, rating) {
		m.recordOutOfRange(v, s, k, i)
	}
}

// wrongFactor is the factor that a ratio of reading to expectation shows, or 0.
func wrongFactor(ratio float64) float64 {
	if !(ratio > 2) && !(ratio > 0 && ratio < 0.1) {
		return 0
	}
	for _, f := range wrongFactors {
		within := factorWithin
		if f < 1 {
			within = factorFaint
		}
		if math.Abs(math.Log(ratio/f)) < within {
			return f
		}
	}
	return 0
}

func (m *scaleState) follow(v *view, s *session, k, i int) {
	t := v.first + int64(i+1)*v.step
	if m.record == nil && m.wild != nil { // the same fault, by night
		m.record, m.wild = m.wild, nil
		m.record.class = Scale
	}
	if m.record == nil {
		r := &record{family: DataQuality, class: Scale, units: []int{k}, start: m.since, detected: t, lastSeen: t, seen: newFacts()}
		m.record = s.open(r)
	}
	m.record.lastSeen = t
	m.record.seen.samples = m.samples
	m.record.observed = []Evidence{
		shows("factor", 2.5, m.factor, 1, "", "The power reading was about %.4g times the expected power, in %s.", m.factor, display.CountOf(m.samples, "sample", "samples")),
		shows("factor_of_units", 1.5, m.factor, 1, "", "That is a factor between units of measurement."),
	}
}

// recordOutOfRange books a value that no unit can give.
func (m *scaleState) recordOutOfRange(v *view, s *session, k, i int) {
	u, t := &v.units[k], v.first+int64(i)*v.step
	u.claimed[i] = DataQuality
	if m.wild == nil {
		if m.wildRows == 0 || t-m.wildSince > wildWithin {
			m.wildRows, m.wildSince = 0, t
		}
		if m.wildRows+1 < wildLeast {
			m.wildRows++
			return // a single one is left out of everything, which is all that it asks for
		}
		m.wild = s.open(&record{family: DataQuality, class: Sentinel, units: []int{k}, start: m.wildSince, detected: t + v.step, lastSeen: t + v.step, seen: newFacts()})
	}
	m.wildRows++
	u.claimed[i] = DataQuality
	m.wild.lastSeen = t + v.step
	m.wild.observed = []Evidence{
		shows("sentinel", 2.5, u.raw[i], s.rating(k), "kW", "%s beyond what the unit can produce, the last %s.", display.CountOf(m.wildRows, "reading was", "readings were"), display.Power(u.raw[i])),
		shows("beyond_rating", 1.5, u.raw[i]/s.rating(k), highestShare, "", "That is %.3g times its rating.", u.raw[i]/s.rating(k)),
	}
}
