package detect

import (
	"math"
	"slices"

	"app.sunloop/engine/loss"
)

// plateaus finds constant power by day where no other unit shows the expected
// power: a limit of one unit or plant, or a stuck reading. Both are constant. A
// limit begins and ends on the curve of the day, and the available power is
// above it throughout; a stuck reading stays at any level, also when the
// available power falls below it, and at night.
type plateaus struct{ units []holding }

// holding is the recent state of one unit, by cell of the last days.
type holding struct {
	t       []int64
	power   []float64
	model   []float64 // expected by peers or light; NaN where neither is known
	sky     []float64 // what a clear sky gives, in the unit's usual scale
	clear   []float64 // clear sky over 1 kW/m²
	sun     []float64 // elevation, degrees
	judged  int64     // runs that ended before are done
	peaks   ring      // highest power of each day
	scales  ring      // daily power over the clear sky, upper tenth
	values  []float64 // first readings, for the quantum
	quantum float64
	days    int
	limit   *record
	still   *record
}

// Figures of the rule.
const (
	plateauLeast     = 0.03  // of the rating
	plateauHours     = 1.75  // that power must hold still
	plateauReadings  = 4     // that must be equal: two of an hour are by chance
	plateauNatural   = 1.8   // times the width of a natural flat top
	plateauTop       = 0.985 // of the third highest day: that is the unit's own limit
	plateauEqual     = 2e-5
	plateauDark      = -3.0 // degrees of elevation: no unit produces power
	plateauNight     = 0.75 // hours
	plateauBeside    = 2.0  // hours on both sides that set the scale
	plateauKept      = 7    // days
	plateauRecent    = 5    // days in which the same value is a limit's
	plateauMerge     = 30 * 3600
	plateauTail      = 0.8 // of the reading: at the end of a run the light gives no more than that
	plateauTailHours = 0.75
	plateauCoarse    = 0.002  // of the value, from which quanta make equal values common
	flatTop          = 0.0005 // of a day's highest power, for the second test
	flatHours        = 1.5
	flatNatural      = 1.6
	flatBelow        = 0.97
	flatHeadroom     = 1.05
	curvature        = 0.034 // of the day's curve about its top, for each hour squared
	quantumOf        = 8000  // readings
	quantumMost      = 400   // different values
)

func newPlateaus(s *session) *plateaus {
	o := &plateaus{make([]holding, len(s.in.Units))}
	s.holdings = o.units
	return o
}

func (o *plateaus) look(v *view, s *session) {
	for k := range o.units {
		if s.rating(k) > 0 && v.cells > 0 && s.in.Site.Location != nil {
			o.units[k].day(v, s, k)
		}
	}
}

// natural is how many hours a unit may hold still at the top of a clear day, for
// readings in whole quanta or within a share of the power.
func (p *holding) natural(value, share, step float64) float64 {
	q := 0.0
	if p.quantum > 0 {
		q = p.quantum / 2 / value
	}
	return 2*math.Sqrt(max(q, share)/curvature) + step
}

func (p *holding) day(v *view, s *session, k int) {
	u, rating := &v.units[k], s.rating(k)
	first := len(p.t)
	for i := range v.cells {
		if math.IsNaN(u.power[i]) || u.claimed[i] != "" {
			continue
		}
		model := s.losses.expects(v, k, i)
		p.t, p.power, p.model = append(p.t, v.first+int64(i)*v.step), append(p.power, u.power[i]), append(p.model, model)
		p.clear, p.sun = append(p.clear, v.clear[i]), append(p.sun, s.losses.sun.elevation[i/s.losses.sun.per])
		p.sky = append(p.sky, v.clear[i]*p.scales.quantile(0.8, 7, math.NaN()))
	}
	p.learnQuantum(v)
	if p.days >= 10 {
		p.runs(v, s, k, rating)
		if !v.partial && len(s.in.Units) < 3 {
			p.flat(v, s, k, first, rating)
		}
	}
	if v.partial {
		return
	}
	p.days++
	peak := math.NaN()
	var shares []float64
	for i := first; i < len(p.t); i++ {
		if x := p.power[i]; x < 1.3*rating && !(peak > x) {
			peak = x
		}
		if p.clear[i] > 0.25 && p.power[i] > 0 {
			shares = append(shares, p.power[i]/p.clear[i])
		}
	}
	p.peaks.remember(peak, 60)
	if len(shares) > 4 {
		p.scales.remember(quantile(shares, 0.9), usualDays)
	}
	keep, _ := slices.BinarySearch(p.t, v.end()-plateauKept*86400)
	for _, c := range []*[]float64{&p.power, &p.model, &p.sky, &p.clear, &p.sun} {
		*c = append((*c)[:0], (*c)[keep:]...)
	}
	p.t = append(p.t[:0], p.t[keep:]...)
}

// learnQuantum learns in what steps the readings come, if few.
func (p *holding) learnQuantum(v *view) {
	if len(p.values) >= quantumOf || p.days%5 != 0 && p.days > 10 {
		if len(p.values) >= quantumOf {
			return
		}
	}
	for _, x := range p.power[max(len(p.power)-v.cells, 0):] {
		if x > 0 {
			p.values = append(p.values, math.Round(x*1e6)/1e6)
		}
	}
	if p.days%5 != 0 {
		return
	}
	some := slices.Compact(slices.Sorted(slices.Values(p.values)))
	p.quantum = 0
	if len(some) >= 5 && len(some) < quantumMost {
		steps := make([]float64, 0, len(some))
		for i := 1; i < len(some); i++ {
			steps = append(steps, some[i]-some[i-1])
		}
		p.quantum = median(steps)
	}
}

// top is the highest power that the unit usually shows.
func (p *holding) top() float64 {
	some := slices.Sorted(slices.Values(p.peaks.values))
	if len(some) < 3 {
		return math.NaN()
	}
	return some[len(some)-3]
}

// runs evaluates stretches of equal readings that ended in time to see what came
// after them.
func (p *holding) runs(v *view, s *session, k int, rating float64) {
	step := v.hours()
	beside := int64(plateauBeside * 3600)
	last := v.end()
	top := p.top()
	for i := 0; i < len(p.t); {
		e := i + 1
		for e < len(p.t) && math.Abs(p.power[e]-p.power[e-1]) <= 1e-9+plateauEqual*math.Abs(p.power[e]) && float64(p.t[e]-p.t[e-1]) <= 1.6*float64(v.step) {
			e++
		}
		from, to := i, e
		i = e
		end := p.t[to-1] + v.step
		value := p.power[from]
		if end <= p.judged || value <= plateauLeast*rating || math.IsNaN(top) {
			continue
		}
		if at, dark := p.dark(from, to, v.step); dark {
			p.stand(v, s, k, from, to, at, "dark")
			p.judged = max(p.judged, end)
			continue
		}
		ended := to < len(p.t)
		if !ended || v.partial && end+beside > last {
			continue // it lasts, or what follows is not known yet
		}
		p.judged = max(p.judged, end)
		hours := float64(end-p.t[from]) / 3600
		if to-from < plateauReadings || hours < max(plateauHours, plateauNatural*p.natural(value, 1e-4, step)) {
			continue
		}
		if p.shared(v, s, k, from, to) {
			continue
		}
		seen := min(end+beside, v.end())
		family, why, lost := p.name(from, to, v.step, rating)
		if value > plateauTop*top && (why != "light" || len(s.in.Units) >= 3) {
			continue // at its own limit
		}
		if len(s.in.Units) >= 3 {
			// With peers, stuck readings are found as they occur (see stuck). What remains is a limit
			// of one unit.
			if family == Curtailment && p.modelled(from, to) {
				p.hold(v, s, k, from, to, seen, lost, why)
			}
			continue
		}
		if family == Curtailment {
			p.hold(v, s, k, from, to, seen, lost, why)
		} else {
			p.stand(v, s, k, from, to, seen, why)
		}
	}
}

// shared reports whether another unit was at the same share of its rating,
// which indicates a limit of the site.
func (p *holding) shared(v *view, s *session, k, from, to int) bool {
	for i := from; i < to; i++ {
		if c := int((p.t[i] - v.first) / v.step); p.t[i] >= v.first && c < v.cells && held(v, s, k, c) {
			return true
		}
	}
	return false
}

// dark reports from when power has stayed constant through the night.
func (p *holding) dark(from, to int, step int64) (at int64, ok bool) {
	hours := 0.0
	for i := from; i < to; i++ {
		if p.sun[i] < plateauDark {
			if hours += float64(step) / 3600; hours >= plateauNight {
				return p.t[i] + step, true
			}
		}
	}
	return 0, false
}

// modelled reports whether peers or irradiance give an expected power.
func (p *holding) modelled(from, to int) bool {
	known := 0
	for _, x := range p.model[from:to] {
		if !math.IsNaN(x) {
			known++
		}
	}
	return 2*known > to-from
}

// basis returns the reference of a run, see Event.Basis.
func (p *holding) basis(s *session, from, to int) string {
	switch {
	case !p.modelled(from, to):
		return referenceNames[bySky]
	case len(s.in.Units) >= 3:
		return referenceNames[byPeers]
	}
	return referenceNames[byLight]
}

// comesBack reports whether the unit held the value on earlier days as well.
func (p *holding) comesBack(value float64) bool {
	n := 0
	for _, x := range p.power {
		if math.Abs(x-value) <= plateauEqual*value {
			n++
		}
	}
	return n >= 3 && !(p.quantum > plateauCoarse*value)
}

// name classifies a run of equal readings and computes the loss of a limit.
func (p *holding) name(from, to int, seconds int64, rating float64) (family Family, why string, lost loss.Ledger) {
	step := float64(seconds) / 3600
	value := p.power[from]
	modelled := p.modelled(from, to)
	expected := p.sky
	if modelled {
		expected = p.model
	}
	w := int(math.Round(plateauBeside / step))
	beside := func(f func(i int)) {
		for i := max(from-w, 0); i < from; i++ {
			f(i)
		}
		for i := to; i < min(to+w, len(p.t)); i++ {
			f(i)
		}
	}
	var shares []float64
	beside(func(i int) {
		if p.power[i] > plateauLeast*rating && expected[i] > plateauLeast*rating && p.sun[i] > 5 {
			shares = append(shares, p.power[i]/expected[i])
		}
	})
	scale := 1.0
	if len(shares) >= 3 {
		if modelled {
			scale = min(max(quantile(shares, 0.5), 0.6), 1.5)
		} else {
			scale = min(max(quantile(shares, 0.75), 0.3), 1.5)
		}
	}
	below, highest, tail := 0, 0.0, 0.0
	for i := from; i < to; i++ {
		rho := scale * expected[i] / value
		if rho < 0.93 {
			below++
		}
		if rho < plateauTail {
			tail += step
		} else {
			tail = 0
		}
		if rho > highest {
			highest = rho
		}
		lost.Add(p.t[i], p.t[i]+seconds, (zeroIfMissing(scale*expected[i])-value)*step)
	}
	share := float64(below) / float64(to-from)
	recurs := 0
	for i := from - 1; i >= 0 && p.t[i] >= p.t[from]-plateauRecent*86400; i-- {
		if float64(p.t[from]-p.t[i]) > 0.9*step*3600 && math.Abs(p.power[i]-value) <= plateauEqual*value {
			recurs++
		}
	}
	for i := to; i < min(to+w, len(p.t)); i++ {
		if math.Abs(p.power[i]-value) <= plateauEqual*value {
			recurs++
		}
	}
	drop := from > 0 && p.power[from-1] > 1.03*value*max(1, p.clear[from-1]/max(p.clear[from], 1e-9))
	endsUp := to < len(p.t) && p.power[to] > 1.06*value
	endsDown := to < len(p.t) && p.power[to] < 0.93*value*min(1, p.clear[to]/max(p.clear[to-1], 1e-9))
	if p.quantum > 0 && p.quantum > plateauCoarse*value {
		recurs = 0 // whole quanta recur by chance
	}
	switch {
	case tail >= plateauTailHours:
		return StuckSensor, "light", lost
	case recurs >= 3:
		return Curtailment, "recurs", lost
	case drop && share < 0.5:
		return Curtailment, "drop", lost
	case share > 0.25 || highest < 1.015:
		return StuckSensor, "light", lost
	case !modelled && (p.stormy(from, to, w) || endsDown):
		return StuckSensor, "clouds", lost
	case endsUp && !drop:
		return StuckSensor, "jump", lost
	}
	return Curtailment, "curve", lost
}

// stormy reports whether clouds passed before and after a run in which power
// was constant.
func (p *holding) stormy(from, to, w int) bool {
	rough := func(a, b int) float64 {
		var turns, level []float64
		for i := max(a, 0); i < min(b, len(p.t)); i++ {
			y := p.power[i] / max(p.clear[i], 0.05)
			if n := len(level); n > 0 {
				turns = append(turns, math.Abs(y-level[n-1]))
			}
			level = append(level, y)
		}
		if len(level) < 3 {
			return 0
		}
		return median(turns) / max(median(level), 1e-9)
	}
	return min(rough(from-w, from), rough(to, to+w)) > 0.04
}

var standWords = map[string]string{
	"dark":   "It continued after dark.",
	"light":  "Meanwhile the light fell below what the reading says, or never reached it.",
	"clouds": "Clouds passed before and after it, and it ended below.",
	"jump":   "It began where the power was and ended with a jump.",
}

var holdWords = map[string]string{
	"recurs": "The same value was held before, with other readings between.",
	"drop":   "It began with a step down onto the value.",
	"curve":  "It began and ended on the curve of the day, and the light was above it all the while.",
	"flat":   "The day's power comes back to the same ceiling and never exceeds it.",
}

// stand records a stuck reading.
func (p *holding) stand(v *view, s *session, k, from, to int, seen int64, why string) {
	p.claim(v, k, from, to, StuckSensor)
	start, end := p.t[from], p.t[to-1]+v.step
	hours := float64(end-start) / 3600
	if r := p.still; r != nil && start-r.lastSeen < plateauMerge {
		r.lastSeen = max(r.lastSeen, end)
		r.end = 0
		if to < len(p.t) {
			r.end = r.lastSeen
		}
		return
	}
	r := &record{family: StuckSensor, units: []int{k}, start: start, detected: seen, lastSeen: max(end, start), seen: newFacts(), basis: p.basis(s, from, to)}
	r.observed = []Evidence{
		shows("equal_readings", 2.5, hours, plateauHours, "h", "The reading was %.4g kW for %s, to the last digit.", p.power[from], FormatDuration(60*hours)),
		shows("stands_"+why, 1.5, hours, 0, "h", "%s", standWords[why]),
	}
	if to < len(p.t) {
		r.end = end
	}
	p.still = s.open(r)
}

// hold books a limit, if it cost enough to matter.
func (p *holding) hold(v *view, s *session, k, from, to int, seen int64, lost loss.Ledger, why string) {
	p.claim(v, k, from, to, Curtailment)
	start, end := p.t[from], p.t[to-1]+v.step
	if r := p.limit; r != nil && start-r.lastSeen < plateauMerge && start >= r.start {
		r.lastSeen, r.end = max(r.lastSeen, end), max(r.lastSeen, end)
		r.losses.AddScaled(lost, 1)
		r.spans = append(r.spans, stretch{start, end}.span())
		return
	}
	if lost.Total() < matters*s.memory.units[k].usualDay() {
		return
	}
	hours := float64(end-start) / 3600
	r := &record{family: Curtailment, units: []int{k}, start: start, detected: seen, lastSeen: end, end: end, losses: lost, seen: newFacts(), basis: p.basis(s, from, to)}
	r.fraction = lost.Total() / (lost.Total() + p.power[from]*hours)
	r.seen.level = p.power[from] / s.rating(k)
	r.observed = []Evidence{
		shows("own_plateau", 2, 100*p.power[from]/s.rating(k), 100, "%", "The power was held at %.4g kW, %.0f %% of the rating, for %s.", p.power[from], 100*p.power[from]/s.rating(k), FormatDuration(60*hours)),
		shows("held_"+why, 1.5, hours, 0, "h", "%s", holdWords[why]),
		shows("headroom", 1, lost.Total(), 0, "kWh", "Without it about %s more would have been made.", FormatKWh(lost.Total())),
	}
	p.limit = s.open(r)
	p.limit.spans = append(p.limit.spans, stretch{start, end}.span())
}

// claim explains the cells of the day that a run holds.
func (p *holding) claim(v *view, k, from, to int, f Family) {
	u := &v.units[k]
	for i := from; i < to; i++ {
		if c := int((p.t[i] - v.first) / v.step); p.t[i] >= v.first && c < v.cells {
			u.claimed[c] = claimOr(u.claimed[c], f)
		}
	}
}

// flat finds a ceiling to which the whole day keeps coming back.
func (p *holding) flat(v *view, s *session, k, first int, rating float64) {
	u := &v.units[k]
	top := p.top()
	var at []int
	highest := 0.0
	for i := first; i < len(p.t); i++ {
		c := int((p.t[i] - v.first) / v.step)
		if p.sun[i] > lowestSun && u.claimed[c] == "" {
			at = append(at, i)
			highest = max(highest, p.power[i])
		}
	}
	if len(at) < 8 || !(highest <= flatBelow*top) || highest < 0.1*top || highest > flatBelow*rating {
		return
	}
	var on []int
	for _, i := range at {
		if p.power[i] >= highest*(1-flatTop)-1e-9 {
			on = append(on, i)
		}
	}
	step := v.hours()
	if len(on) < plateauReadings || float64(len(on))*step < max(flatHours, flatNatural*p.natural(highest, flatTop, step)) {
		return
	}
	known := 0
	var lost loss.Ledger
	for _, i := range on {
		if !math.IsNaN(p.model[i]) {
			known++
		}
	}
	expected := p.sky
	if 2*known > len(on) {
		expected = p.model
	}
	var heads []float64
	for _, i := range on {
		if !math.IsNaN(expected[i]) {
			heads = append(heads, expected[i]/highest)
			lost.Add(p.t[i], p.t[i]+v.step, (expected[i]-highest)*step)
		}
	}
	if len(heads) == 0 || median(heads) < flatHeadroom {
		return
	}
	from, to := on[0], on[len(on)-1]+1
	p.hold(v, s, k, from, to, v.end(), lost, "flat")
}
