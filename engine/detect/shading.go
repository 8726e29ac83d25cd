package detect

import (
	"math"

	"app.sunloop/engine/loss"
	"app.sunloop/engine/solar"
	"app.sunloop/internal/display"
)

// shading finds units that lack irradiance only while the sun is in one part of
// the sky. For each direction of the sun the log likelihood ratio of its
// samples with and without a shadow is accumulated over all days that have an
// hour of beam irradiance there. A shadow is found when adjacent directions are
// certain of it and the others are normal. The stage needs coordinates.
type shading struct {
	location *solar.Location
	units    []shadingState
	bin      []int       // of each cell's sun: direction over shadeBin, -1 without beam
	level    [][]float64 // of each group of units and cell: middle of power over rating and size
	stray    [][]float64 // how far its units stray from that, as a share of it; NaN where too few show it
	sizes    []float64
	some     []float64 // scratch
}

// shadingState is the state of one unit.
type shadingState struct {
	bins   [360 / shadeBin]direction
	record *record
	window [2]int // directions of an event: [from, to]
	days   int
}

// direction is the state of a unit for one direction of the sun.
type direction struct {
	sum    float64     // log odds of a shadow, from zero up
	since  int64       // start of the day on which it began to rise
	days   int         // that raised it
	lost   loss.Ledger // since
	losses ring        // of the last days in question
	usual  float64     // what it shows without a shadow, against the other directions, less one
}

// Figures of the rule.
const (
	shadeBin     = 5    // degrees
	shadeDepth   = 0.13 // loss that is asked for
	shadeNoise   = 0.02 // that a sample's ratio strays by in any light
	shadeStray   = 0.06 // above that clouds pass the units one by one
	shadeDay     = 2.5  // log odds that a day counts for at most
	shadeSure    = 6    // log odds of each direction of a shadow
	shadeTotal   = 14   // of all of them
	shadeMost    = 10
	shadeLeast   = 0.07 // loss of an event
	shadeSlow    = 20   // days in which what is usual is learned
	shadeUsual   = 0.1  // most that the usual may lie off the other directions
	shadeDays    = 3
	shadeSound   = 0.03 // that the other directions may differ among themselves
	shadeOver    = 0.045
	shadeLight   = 0.65 // of the best that the site made at the hour: the beam is there
	shadeLearned = 12   // days against peers before a low direction is strange
)

func newShading(s *session) *shading {
	n := len(s.memory.groups) + 1
	return &shading{
		location: s.in.Site.Location, units: make([]shadingState, len(s.in.Units)), sizes: make([]float64, len(s.in.Units)),
		level: make([][]float64, n), stray: make([][]float64, n),
	}
}

func (o *shading) look(v *view, s *session) {
	if o.location == nil || s.modules.tracker {
		return
	}
	o.aim(v, s)
	for k := range o.units {
		if s.memory.units[k].alike && !s.in.Units[k].Tracker && s.memory.units[k].steadyDays >= shadeLearned {
			o.units[k].day(v, s, k, o)
		}
	}
}

// aim finds the direction of the sun at each cell with beam irradiance, and the
// power there of the units of the same orientation.
func (o *shading) aim(v *view, s *session) {
	fit(&o.bin, v.cells)
	for k := range o.sizes {
		o.sizes[k] = s.rating(k) * s.memory.units[k].size()
	}
	for i := range v.cells {
		o.bin[i] = -1
		if v.clear[i] > 0.08 && v.share[i] > shadeLight*s.memory.stats[v.slot(i)].high {
			p := solar.At(v.middle(i), *o.location)
			o.bin[i] = int(p.AzimuthDeg/shadeBin) % (360 / shadeBin)
		}
	}
	for g := range o.level {
		fit(&o.level[g], v.cells)
		fit(&o.stray[g], v.cells)
		for i, b := range o.bin {
			o.stray[g][i] = math.NaN()
			if b < 0 {
				continue
			}
			o.some = o.some[:0]
			for k := range v.units {
				if m := &s.memory.units[k]; m.group+1 == g && m.alike && usable(&v.units[k], s.rating(k), i) {
					o.some = append(o.some, v.units[k].power[i]/o.sizes[k])
				}
			}
			if len(o.some) < 3 {
				continue
			}
			level := median(o.some)
			for j, x := range o.some {
				o.some[j] = math.Abs(x - level)
			}
			o.level[g][i], o.stray[g][i] = level, 1.48*median(o.some)/level
		}
	}
}

// usable reports whether a unit's power at a cell is unexplained and not zero.
func usable(u *unitView, rating float64, i int) bool {
	return u.claimed[i] == "" && u.power[i] > offShare*rating
}

// peerSample is what a unit and its peers make at a cell.
type peerSample struct{ powerKW, peersKW, stray float64 }

// glimpse returns the sample of cell i with the peers' power scaled to the
// unit. The unit's learned daily profile is not applied, because it would learn
// the shadow. ok is false for cells with little power, and for cells passed by
// clouds one unit after the other.
func (o *shading) glimpse(v *view, s *session, k, i int) (c peerSample, ok bool) {
	u, rating, g := &v.units[k], s.rating(k), s.memory.units[k].group+1
	if o.bin[i] < 0 || !(o.stray[g][i] < shadeStray) || !usable(u, rating, i) {
		return peerSample{}, false
	}
	c = peerSample{u.power[i], o.level[g][i] * o.sizes[k], o.stray[g][i]}
	return c, c.peersKW >= 0.1*rating
}

// evenly is the unit's part of its peers' power in most directions of the day; ok
// is false where there is no even level to hold a direction against.
func (o *shading) evenly(v *view, s *session, k int) (level float64, ok bool) {
	var sum, count [360 / shadeBin]float64
	rating := s.rating(k)
	for i, b := range o.bin {
		if c, ok := o.glimpse(v, s, k, i); ok && c.peersKW < nearLimit*rating && !clips(c.powerKW, rating) {
			sum[b], count[b] = sum[b]+c.powerKW/c.peersKW, count[b]+1
		}
	}
	o.some = o.some[:0]
	for b, n := range count {
		if n > 0 {
			o.some = append(o.some, sum[b]/n)
		}
	}
	if len(o.some) < 5 {
		return 0, false
	}
	level = quantile(o.some, 0.65)
	return level, level > 0.5 && quantile(o.some, 0.85)-quantile(o.some, 0.5) < 2*shadeSound
}

func (m *shadingState) day(v *view, s *session, k int, o *shading) {
	level, ok := o.evenly(v, s, k)
	if !ok {
		return
	}
	var lacks, strays, missing, count [360 / shadeBin]float64 // sums over the day's cells
	var span [360 / shadeBin][2]int64                         // from when to when the sun was there
	for i, b := range o.bin {
		if c, ok := o.glimpse(v, s, k, i); ok {
			// At its limit a unit lacks nothing.
			lack := max(1-c.powerKW/min(level*c.peersKW, s.rating(k)), -shadeDepth)
			if count[b]++; count[b] == 1 {
				span[b][0] = v.first + int64(i)*v.step
			}
			span[b][1] = v.first + int64(i+1)*v.step
			lacks[b], strays[b], missing[b] = lacks[b]+lack, strays[b]+math.Hypot(c.stray, shadeNoise), missing[b]+lack*c.peersKW*v.hours()
		}
	}
	shown := false
	for b, n := range count {
		if n > 0 {
			m.bins[b].take(v.first, lacks[b]/n, strays[b]/n/math.Sqrt(n), missing[b], span[b])
			shown = shown || lacks[b]/n > shadeOver && b >= m.window[0] && b <= m.window[1]
		}
	}
	if m.record != nil {
		m.goOn(v, s, k, o, shown)
	} else {
		m.judge(v, s, k, o)
	}
	s.memory.units[k].hold(PartialShading, m.record != nil)
}

// take adds a day on which the direction lacked a share of its light, with the
// standard error of that and the energy that is missing over the span.
func (d *direction) take(start int64, lack, stray, kWh float64, span [2]int64) {
	lack = 1 - (1-lack)/(1+d.usual)
	stray = math.Hypot(stray, shadeNoise/2)
	gain := shadeDepth * (lack - shadeDepth/2) / (stray * stray)
	before := d.sum
	d.sum = min(max(d.sum+min(max(gain, -shadeDay), shadeDay), 0), shadeMost)
	if d.sum == 0 {
		*d = direction{usual: min(max(d.usual-lack/shadeSlow, -shadeUsual), shadeUsual)}
		return
	}
	if before == 0 {
		d.since = start
	}
	if gain > 0 {
		d.days++
		d.losses.remember(lack, 15)
	}
	d.lost.Add(span[0], span[1], kWh)
}

func (d *direction) sure() bool { return d.sum >= shadeSure && d.days >= shadeDays }

// judge opens an event when adjacent directions are certain of a shadow.
func (m *shadingState) judge(v *view, s *session, k int, o *shading) {
	for from := 0; from < len(m.bins); from++ {
		if !m.bins[from].sure() {
			continue
		}
		to, total := from, 0.0
		start := v.first
		var lost loss.Ledger
		for ; to < len(m.bins) && m.bins[to].sure(); to++ {
			d := &m.bins[to]
			total, start = total+d.sum, min(start, d.since)
			lost.AddScaled(d.lost, 1)
			m.days = max(m.days, d.days)
		}
		m.window = [2]int{from, to - 1}
		if total < shadeTotal || to-from > len(m.bins)/4 || m.loss() < shadeLeast {
			from = to
			continue
		}
		f := newFacts()
		f.rating = s.rating(k)
		r := &record{family: PartialShading, units: []int{k}, start: start, detected: v.end(), lastSeen: v.end(), seen: f, losses: lost, window: [2]float64{float64(m.window[0] * shadeBin), float64((m.window[1] + 1) * shadeBin)}}
		m.record = s.open(r)
		m.book(v, s, k, o, false)
		return
	}
	m.days = 0
}

// loss is what the window's directions have lacked in the middle of the last
// days in question.
func (m *shadingState) loss() float64 {
	var usual []float64
	for b := m.window[0]; b <= m.window[1]; b++ {
		usual = append(usual, m.bins[b].losses.quantile(0.5, 1, 0))
	}
	return max(median(usual), 0)
}

// inWindow reports whether a direction is in the window or adjacent to it.
func (m *shadingState) inWindow(b int) bool { return b >= m.window[0]-1 && b <= m.window[1]+1 }

// book claims the samples of the window, and counts what they lack.
func (m *shadingState) book(v *view, s *session, k int, o *shading, count bool) {
	u, r := &v.units[k], m.record
	first, last := -1, -1
	for i, b := range o.bin {
		if b < 0 || !m.inWindow(b) || u.claimed[i] != "" || u.tier[i] != tierPeers || math.IsNaN(u.power[i]) {
			continue
		}
		u.claimed[i] = PartialShading
		if count {
			v.addLoss(&r.losses, i, u.even[i]-u.power[i])
		}
		if first < 0 {
			first = i
		}
		last = i
	}
	if first >= 0 {
		span := stretch{v.first + int64(first)*v.step, v.first + int64(last+1)*v.step}
		r.spans = append(r.spans, span.span())
		r.lastSeen = span.to
	}
	r.fraction = min(m.loss(), 1)
	r.observed = []Evidence{
		shows("sun_window", 2, float64(m.window[0]*shadeBin), float64((m.window[1]+1)*shadeBin), "°",
			"On %s with sun it made %s less than its peers while the sun stood between %d° and %d° from north.",
			display.CountOf(m.days, "day", "days"), display.Percent(r.fraction), m.window[0]*shadeBin, (m.window[1]+1)*shadeBin),
		shows("sound_outside", 1.5, 100*(1-shadeSound), 100, "%", "At the other hours of these days it made its usual part."),
	}
}

// goOn follows an event until none of its directions shows it any more.
func (m *shadingState) goOn(v *view, s *session, k int, o *shading, shown bool) {
	gone := true
	for b := m.window[0]; b <= m.window[1]; b++ {
		gone = gone && m.bins[b].sum == 0
	}
	if gone {
		m.record.end = max(m.record.lastSeen, m.record.start)
		m.record, m.days = nil, 0
		return
	}
	if !shown {
		return
	}
	m.days++
	for _, b := range [...]int{m.window[0] - 1, m.window[1] + 1} { // the window moves with the season
		if b >= 0 && b < len(m.bins) && m.bins[b].sure() {
			m.window[0], m.window[1] = min(m.window[0], b), max(m.window[1], b)
		}
	}
	m.book(v, s, k, o, true)
}
