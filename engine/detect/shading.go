package detect

import (
	"math"
	"slices"

	"app.sunloop/engine/solar"
)

// shading finds units that lack light only while the sun stands in one part of
// the sky: on clear days the same directions are low again and again and all
// others sound. It needs coordinates.
type shading struct {
	location *solar.Location
	units    []shadow
	bin      []int // of each cell's sun: direction over shadeBin, -1 below the horizon
}

// shadow is the state of one unit: what its last clear days showed in each
// direction of the sun.
type shadow struct {
	bins   [360 / shadeBin]ring
	low    [360 / shadeBin]int // days in a row
	record *record
	window [2]int // bins of an event: [from, to]
	good   int
	goodAt int64
	days   int
}

// Figures of the rule: directions by 5°, a low one is below 0.9 while the
// others stand above 0.97 in the middle, on five days.
const (
	shadeBin     = 5
	shadeLow     = 0.92
	shadeSound   = 0.965
	shadeDays    = 5
	shadeKeep    = 7
	shadeOver    = 0.955
	shadeLight   = 0.7 // of the best that the site made at the hour: the beam is there
	shadeDeep    = 0.85
	shadeLearned = 12 // days against peers before a low direction is strange
)

func newShading(s *session) *shading {
	return &shading{location: s.in.Site.Location, units: make([]shadow, len(s.in.Units))}
}

func (o *shading) look(v *view, s *session) {
	if o.location == nil {
		return
	}
	fit(&o.bin, v.cells)
	for i := range v.cells {
		o.bin[i] = -1
		if v.clear[i] > 0.08 {
			p := solar.At(v.time(i), *o.location)
			o.bin[i] = int(p.AzimuthDeg/shadeBin) % (360 / shadeBin)
		}
	}
	for k := range o.units {
		if s.memory.units[k].alike && !s.in.Units[k].Tracker && !s.modules.tracker && v.sky.bright && s.memory.units[k].steadyDays >= shadeLearned {
			o.units[k].day(v, s, k, o.bin)
		}
	}
}

func (m *shadow) day(v *view, s *session, k int, bin []int) {
	u, rating := &v.units[k], s.rating(k)
	var ratios [360 / shadeBin][]float64
	var all []float64
	alike := func(i, j int) bool {
		return j >= 0 && j < v.cells && math.Abs(u.power[i]/u.even[i]-u.power[j]/u.even[j]) < steadyWithin
	}
	for i := range v.cells {
		e, p := u.expected[i], u.power[i]
		if !(e > shadeLight*rating*s.memory.stats[v.slot(i)].high) || !alike(i, i-1) && !alike(i, i+1) {
			continue
		}
		if bin[i] < 0 || u.claimed[i] != "" || u.tier[i] != tierPeers || u.peers[i] < 2 || !(e > 0.1*rating) || e > 0.9*rating || clips(p, rating) {
			continue
		}
		ratios[bin[i]] = append(ratios[bin[i]], p/e)
		all = append(all, p/e)
	}
	if float64(len(all))*v.hours() < 2 {
		return
	}
	var now [360 / shadeBin]float64
	var others []float64
	for b := range ratios {
		now[b] = median(ratios[b])
		if now[b] >= shadeLow {
			others = append(others, now[b])
		}
	}
	sound := len(others) >= 4 && quantile(others, 0.3) > shadeSound
	suspect := false
	for b, r := range now {
		switch {
		case math.IsNaN(r):
		case r < shadeLow && sound:
			m.low[b]++
			m.bins[b].remember(r, shadeKeep)
		case r >= shadeLow:
			m.low[b] = 0
			m.bins[b].remember(r, shadeKeep)
		}
		suspect = suspect || m.low[b] >= 1
	}
	if !sound && m.record == nil {
		return
	}
	if m.record != nil {
		m.goOn(v, s, k, bin, now)
	} else if suspect {
		m.judge(v, s, k, bin)
	}
	s.memory.units[k].hold(PartialShading, m.record != nil)
}

// judge opens an event when a window of directions has been low long enough.
func (m *shadow) judge(v *view, s *session, k int, bin []int) {
	from, to := -1, -1
	for b, n := range m.low {
		if n >= shadeDays {
			if from < 0 {
				from = b
			}
			to = b
		}
	}
	if from < 0 || from == to && (m.low[from] < shadeDays+1 || m.bins[from].quantile(0.5, 1, 1) > shadeDeep) {
		return
	}
	m.window = [2]int{from, to}
	f := newFacts()
	f.rating = s.rating(k)
	now := v.end()
	r := &record{family: PartialShading, units: []int{k}, start: v.first - int64(slices.Max(m.low[from:to+1])-1)*86400, detected: now, lastSeen: now, seen: f}
	m.days = shadeDays
	m.record = s.open(r)
	before := m.record.lost
	m.book(v, s, k, bin)
	m.record.lost += (shadeDays - 1) * (m.record.lost - before) // the days before were like this one
}

// inWindow says whether a direction is in the window or beside it.
func (m *shadow) inWindow(b int) bool { return b >= m.window[0]-1 && b <= m.window[1]+1 }

// book claims the samples of the window and what they lack.
func (m *shadow) book(v *view, s *session, k int, bin []int) {
	u, r := &v.units[k], m.record
	var ratios []float64
	first, last := -1, -1
	for i := range v.cells {
		if bin[i] < 0 || !m.inWindow(bin[i]) || u.claimed[i] != "" || u.tier[i] != tierPeers || math.IsNaN(u.power[i]) {
			continue
		}
		u.claimed[i] = PartialShading
		r.lost += max(u.expected[i]-u.power[i], 0) * v.hours()
		if e := u.expected[i]; e > 0.1*s.rating(k) {
			if first < 0 {
				first = i
			}
			last = i
			if bin[i] >= m.window[0] && bin[i] <= m.window[1] {
				ratios = append(ratios, u.power[i]/e)
			}
		}
	}
	if first >= 0 {
		r.spans = append(r.spans, stretch{v.first + int64(first)*v.step, v.first + int64(last+1)*v.step}.span())
		r.lastSeen = v.first + int64(last+1)*v.step
	}
	var usual []float64
	for b := m.window[0]; b <= m.window[1]; b++ {
		if x := m.bins[b].quantile(0.5, 1, math.NaN()); !math.IsNaN(x) {
			usual = append(usual, x)
		}
	}
	if level := median(usual); !math.IsNaN(level) {
		r.fraction = max(1-level, 0)
	}
	if len(ratios) > 0 {
		r.observed = []Evidence{
			shows("sun_window", 2, float64(m.window[0]*shadeBin), float64((m.window[1]+1)*shadeBin), "°",
				"On %d clear days it made %.0f %% less than its peers while the sun stood between %d° and %d° from north.",
				m.days, 100*r.fraction, m.window[0]*shadeBin, (m.window[1]+1)*shadeBin),
			shows("sound_outside", 1.5, 100*shadeSound, 100, "%", "At all other hours of these days it made as much as its peers."),
		}
	}
}

func (m *shadow) goOn(v *view, s *session, k int, bin []int, now [360 / shadeBin]float64) {
	var inside []float64
	for b := m.window[0]; b <= m.window[1]; b++ {
		if !math.IsNaN(now[b]) {
			inside = append(inside, now[b])
		}
	}
	if len(inside) > 0 && median(inside) > shadeOver {
		if m.good == 0 {
			m.goodAt = v.first
		}
		if m.good++; m.good >= 3 {
			m.record.end = max(m.record.lastSeen, m.record.start)
			*m = shadow{}
		}
		return
	}
	if len(inside) > 0 {
		m.good = 0
		m.days++
		for b := max(m.window[0]-2, 0); b <= min(m.window[1]+2, len(m.low)-1); b++ {
			if m.low[b] >= shadeDays { // the window moves with the season
				m.window[0], m.window[1] = min(m.window[0], b), max(m.window[1], b)
			}
		}
	}
	m.book(v, s, k, bin)
}
