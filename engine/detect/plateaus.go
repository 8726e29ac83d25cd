package detect

import (
	"math"
	"slices"

	"app.sunloop/engine/loss"
	"app.sunloop/internal/display"
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
	values  []float64 // different values of the first readings, ascending, for the quantum
	read    int       // how many readings these were
	quantum float64
	days    int
	limit   *record
	still   *record
	lit     []int // scratch of flat
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
	plateauGap       = 7200 // seconds without readings that do not end a run
	plateauRecent    = 5    // days in which the same value is a limit's
	plateauMerge     = 30 * 3600
	plateauTail      = 0.8 // of the reading: at the end of a run the light gives no more than that
	plateauTailHours = 0.75
	plateauCoarse    = 0.002 // of the value, from which quanta make equal values common
	plateauAround    = 0.2   // of the value: readings that show by what steps they differ
	plateauKnown     = 20    // such readings
	plateauRecurs    = 3     // readings of the same value that show a limit, if there are fewer of them
	plateauNear      = 0.05  // of the value: readings that show how often it recurs by chance
	plateauSteps     = 3     // or the same in steps
	plateauChance    = 0.01
	plateauOften     = 5    // recurrences by chance, from which they say nothing
	plateauAgain     = 2    // readings of the same value at the least
	plateauFollow    = 3    // readings after a run that show the scale of the model
	plateauAgree     = 1.25 // times the lowest of their scales is the highest at the most
	plateauSunk      = 0.97 // of a run: the power expected lies below it
	plateauSunkLast  = 0.9  // the same at its last reading
	plateauSunkHours = 0.5
	plateauSlope     = 1.2    // times the fall of the next step
	plateauRise      = 4      // steps before a run
	plateauEven      = 0.6    // of the usual step is the least, and the greatest is at most the usual one over it
	plateauStopped   = 0.5    // of the usual step: less than it at the first reading of a run
	flatTop          = 0.0005 // of a day's highest power, for the second test
	flatHours        = 1.5
	flatNatural      = 1.6
	flatBelow        = 0.97
	flatHeadroom     = 1.05
	flatPairs        = 3     // of adjacent equal readings in a day of which one is a ceiling's
	flatVisits       = 3     // times that the unit came to the ceiling
	flatOver         = 3     // one of so many readings may exceed what the irradiance gives
	curvature        = 0.034 // of the day's curve about its top, for each hour squared
	quantumOf        = 8000  // readings
	quantumMost      = 400   // different values
)

func newPlateaus(s *session) *plateaus {
	return &plateaus{make([]holding, len(s.in.Units))}
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
	scale := p.scales.quantile(0.8, 7, math.NaN())
	for i := range v.cells {
		if math.IsNaN(u.power[i]) || u.claimed[i] != "" {
			continue
		}
		model := s.losses.expects(v, k, i)
		p.t, p.power, p.model = append(p.t, v.first+int64(i)*v.step), append(p.power, u.power[i]), append(p.model, model)
		p.clear, p.sun = append(p.clear, v.clear[i]), append(p.sun, s.losses.sun.elevation[i/s.losses.sun.per])
		p.sky = append(p.sky, v.clear[i]*scale)
	}
	p.learnQuantum(v)
	s.quanta[k] = p.quantum
	if p.days >= 10 {
		p.runs(v, s, k, rating)
		if !v.partial {
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

// learnQuantum learns in what steps the first readings come: the median difference of
// their values, 0 if these are too many or too few.
func (p *holding) learnQuantum(v *view) {
	if p.read >= quantumOf {
		return
	}
	for _, x := range p.power[max(len(p.power)-v.cells, 0):] {
		if !(x > 0) {
			continue
		}
		p.read++
		if len(p.values) < quantumMost {
			x = math.Round(x*1e6) / 1e6
			if at, known := slices.BinarySearch(p.values, x); !known {
				p.values = slices.Insert(p.values, at, x)
			}
		}
	}
	if p.days%5 != 0 {
		return
	}
	p.quantum = 0
	if len(p.values) >= 5 && len(p.values) < quantumMost {
		steps := make([]float64, 0, len(p.values))
		for i := 1; i < len(p.values); i++ {
			steps = append(steps, p.values[i]-p.values[i-1])
		}
		p.quantum = median(steps)
	}
}

// top is the highest power that the unit usually shows: that of its third highest day,
// NaN while there are fewer.
func (p *holding) top() float64 {
	if len(p.peaks.values) < 3 {
		return math.NaN()
	}
	first, second, third := math.Inf(-1), math.Inf(-1), math.Inf(-1)
	for _, x := range p.peaks.values {
		switch {
		case x > first:
			first, second, third = x, first, second
		case x > second:
			second, third = x, second
		case x > third:
			third = x
		}
	}
	return third
}

// runs evaluates stretches of equal readings that ended in time to see what came
// after them.
func (p *holding) runs(v *view, s *session, k int, rating float64) {
	step := v.hours()
	beside := int64(plateauBeside * 3600)
	last := v.end()
	top := p.top()
	same := func(i int) bool { // as the reading before
		return math.Abs(p.power[i]-p.power[i-1]) <= 1e-9+plateauEqual*math.Abs(p.power[i]) && p.t[i]-p.t[i-1] <= max(2*v.step, plateauGap)
	}
	i, _ := slices.BinarySearch(p.t, p.judged-v.step+1) // runs before it are judged
	for i > 0 && i < len(p.t) && same(i) {
		i--
	}
	for i < len(p.t) {
		e := i + 1
		for e < len(p.t) && same(e) {
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
			p.stand(v, s, k, from, to, at, "dark", 0)
			p.judged = max(p.judged, end)
			continue
		}
		ended := to < len(p.t)
		if !ended || v.partial && end+beside > last {
			continue // it lasts, or what follows is not known yet
		}
		p.judged = max(p.judged, end)
		hours := float64(to-from) * step
		if to-from < plateauReadings || hours < max(plateauHours, plateauNatural*p.natural(value, 1e-4, step)) {
			continue
		}
		if p.shared(v, s, k, from, to) {
			continue
		}
		seen := min(end+beside, v.end())
		family, why, lost := p.name(from, to, v.step, rating)
		if value > plateauTop*top && (why != "light" || len(s.in.Units) >= 3) {
			continue // at its own limit, unless the light sank below it
		}
		if len(s.in.Units) >= 3 {
			// With peers, stuck readings are found once these sink below them (see stuck). What
			// remains is a limit of one unit, or a reading that moved again before.
			if !p.modelled(from, to) {
				continue
			}
		}
		if family == Curtailment {
			p.hold(v, s, k, from, to, seen, lost, why)
		} else {
			p.stand(v, s, k, from, to, seen, why, lost.Total())
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

// recurrences is how many other readings must equal a value until that is a limit. With
// readings in steps, values near it recur by chance: so many must, that chance does it
// in less than one of a hundred runs.
func (p *holding) recurrences(value float64) int {
	var some []float64
	for _, x := range p.power {
		if d := math.Abs(x - value); d <= plateauAround*value && d > plateauEqual*value {
			some = append(some, x)
		}
	}
	slices.Sort(some)
	step := math.Inf(1)
	for i := 1; i < len(some); i++ {
		if d := some[i] - some[i-1]; d > plateauEqual*value {
			step = min(step, d)
		}
	}
	if len(some) < plateauKnown || math.IsInf(step, 1) { // too few, or all of one value
		if p.quantum > plateauCoarse*value {
			return math.MaxInt
		}
		return plateauRecurs
	}
	step = max(step, p.quantum, 2*plateauEqual*value)
	reach, near := max(plateauNear*value, plateauSteps*step), 0
	for _, x := range some {
		if math.Abs(x-value) <= reach {
			near++
		}
	}
	expected := float64(near) * step / (2 * reach)
	if expected > plateauOften {
		return math.MaxInt
	}
	more, term := 1.0, math.Exp(-expected) // more is the chance of n recurrences at least, of a Poisson distribution
	for n := 1; ; n++ {
		more -= term
		term *= expected / float64(n)
		if more < plateauChance {
			return max(n, plateauAgain)
		}
	}
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
	endsDown := to < len(p.t) && p.power[to] < 0.93*value*min(1, p.clear[to]/max(p.clear[to-1], 1e-9))
	onCurve := !modelled && !endsDown && p.onCurve(to) && expected[to] > 0
	scale := 1.0
	if len(shares) >= 3 {
		if modelled {
			scale = min(max(quantile(shares, 0.5), 0.6), 1.5)
		} else {
			scale = min(max(quantile(shares, 0.75), 0.3), 1.5)
		}
	}
	if onCurve { // the limit ended where the power was as high
		scale = max(scale, value/expected[to])
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
	if modelled && p.outlives(from, to, step, expected) {
		tail = plateauTailHours
	}
	share := float64(below) / float64(to-from)
	recurs, apart := 0, false // apart: after a reading of another value
	for i := from - 1; i >= 0 && p.t[i] >= p.t[from]-plateauRecent*86400; i-- {
		switch equal := math.Abs(p.power[i]-value) <= plateauEqual*value; {
		case !equal:
			apart = true
		case apart:
			recurs++
		}
	}
	apart = false
	for i := to; i < min(to+w, len(p.t)); i++ {
		switch equal := math.Abs(p.power[i]-value) <= plateauEqual*value; {
		case !equal:
			apart = true
		case apart:
			recurs++
		}
	}
	drop := from > 0 && p.power[from-1] > 1.03*value*max(1, p.clear[from-1]/max(p.clear[from], 1e-9)) || p.stopsRising(from)
	endsUp := to < len(p.t) && p.power[to] > 1.06*value
	switch {
	case tail >= plateauTailHours:
		return StuckSensor, "light", lost
	case recurs >= p.recurrences(value):
		return Curtailment, "recurs", lost
	case drop && share < 0.5:
		return Curtailment, "drop", lost
	case onCurve:
		return Curtailment, "curve", lost
	case share > 0.25 || highest < 1.015:
		return StuckSensor, "below", lost
	case !modelled && (p.stormy(from, to, w) || endsDown):
		return StuckSensor, "clouds", lost
	case endsUp && !drop:
		return StuckSensor, "jump", lost
	}
	return Curtailment, "curve", lost
}

// outlives reports whether a run continues while the power expected of the unit sinks
// below it, by the scale of the readings that follow: a limit ends with the first such
// reading.
func (p *holding) outlives(from, to int, step float64, expected []float64) bool {
	value := p.power[from]
	var shares []float64
	for i := to; i < min(to+plateauFollow, len(p.t)); i++ {
		if expected[i] > 0 && p.sun[i] > 5 {
			shares = append(shares, p.power[i]/expected[i])
		}
	}
	if len(shares) < plateauFollow {
		return false
	}
	scale := median(shares)
	if slices.Max(shares) > plateauAgree*slices.Min(shares) {
		return false // the model does not follow the readings
	}
	hours, last := 0.0, math.NaN()
	for i := to - 1; i >= from && scale*expected[i] < plateauSunk*value; i-- {
		if hours += step; math.IsNaN(last) {
			last = scale * expected[i] / value
		}
	}
	return hours >= plateauSunkHours && last < plateauSunkLast
}

// onCurve reports whether the reading after a run lies below it by no more than the
// power falls in the next step: the run ended because the sun sank, as a limit ends. A
// reading that is no longer frozen jumps.
func (p *holding) onCurve(to int) bool {
	if to < 1 || to+2 >= len(p.t) {
		return false
	}
	value := p.power[to-1]
	first, second, third := value-p.power[to], p.power[to]-p.power[to+1], p.power[to+1]-p.power[to+2]
	return first > 0 && second > 0 && third > 0 && first <= plateauSlope*max(second, third)
}

// stopsRising reports whether the power rose evenly before a run, and at its first reading
// by less than half as much: a reading that freezes is still one of the curve.
func (p *holding) stopsRising(from int) bool {
	if from <= plateauRise {
		return false
	}
	rises := make([]float64, plateauRise)
	for i := range rises {
		rises[i] = p.power[from-1-i] - p.power[from-2-i]
	}
	usual := median(rises)
	return slices.Min(rises) > plateauEven*usual && slices.Max(rises) < usual/plateauEven && p.power[from]-p.power[from-1] < plateauStopped*usual
}

// stormy reports whether clouds passed before and after a run in which power was
// constant: the power over the clear sky strays from the mean of its neighbours. Its
// slope does not count, as a low sun has one on clear days.
func (p *holding) stormy(from, to, w int) bool {
	rough := func(a, b int) float64 {
		var turns, level []float64
		for i := max(a, 0); i < min(b, len(p.t)); i++ {
			level = append(level, p.power[i]/max(p.clear[i], 0.05))
			if n := len(level); n > 2 {
				turns = append(turns, math.Abs(level[n-2]-(level[n-3]+level[n-1])/2))
			}
		}
		if len(turns) < 2 {
			return 0
		}
		return median(turns) / max(median(level), 1e-9)
	}
	return min(rough(from-w, from), rough(to, to+w)) > 0.04
}

var standWords = map[string]string{
	"dark":   "It continued after dark.",
	"light":  "The light sank below what the reading says while it lasted.",
	"below":  "Meanwhile the light was below what the reading says, or never reached it.",
	"clouds": "Clouds passed before and after it, and it ended below.",
	"jump":   "It began where the power was and ended with a jump.",
}

var holdWords = map[string]string{
	"recurs": "The same value was held before, with other readings between.",
	"drop":   "It began with a step down onto the value.",
	"curve":  "It began and ended on the curve of the day, and the light was above it all the while.",
	"flat":   "The power comes back to the same ceiling and does not exceed it in between.",
}

// likeLimit are the reasons for which a run counts as frozen that a limit can give too,
// if it is lifted at once or a cloud ends it.
var likeLimit = map[string]bool{"clouds": true, "jump": true}

// stand records a stuck reading. lost is what it would have cost as a limit, in kWh.
func (p *holding) stand(v *view, s *session, k, from, to int, seen int64, why string, lost float64) {
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
		shows("equal_readings", 2.5, hours, plateauHours, "h", "The reading was %s for %s, to the last digit.", display.Power(p.power[from]), formatMinutes(60*hours)),
		shows("stands_"+why, 1.5, hours, 0, "h", "%s", standWords[why]),
	}
	if likeLimit[why] && lost > 0 {
		r.observed = append(r.observed, shows("like_limit", -0.5, lost, 0, "kWh", "A limit that ended abruptly would look the same; it would have cost about %s.", display.Energy(lost)))
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
		shows("own_plateau", 2, 100*p.power[from]/s.rating(k), 100, "%", "The power was held at %s, %s of the rating, for %s.", display.Power(p.power[from]), display.Percent(p.power[from]/s.rating(k)), formatMinutes(60*hours)),
		shows("held_"+why, 1.5, hours, 0, "h", "%s", holdWords[why]),
		shows("headroom", 1, lost.Total(), 0, "kWh", "Without it about %s more would have been made.", display.Energy(lost.Total())),
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

// flat finds a ceiling to which the power of the day keeps coming back: its highest
// power, or one below it that is exceeded only before or after.
func (p *holding) flat(v *view, s *session, k, begin int, rating float64) {
	u := &v.units[k]
	at := p.lit[:0]
	highest := 0.0
	for i := begin; i < len(p.t); i++ {
		c := int((p.t[i] - v.first) / v.step)
		if p.sun[i] > lowestSun && u.claimed[c] == "" {
			at = append(at, i)
			highest = max(highest, p.power[i])
		}
	}
	p.lit = at
	if len(at) < 8 {
		return
	}
	var on []int
	first, last, equal := 0, 0, true
	for n, i := range at {
		if p.power[i] >= highest*(1-flatTop)-1e-9 {
			if len(on) == 0 {
				first = n
			}
			on, last, equal = append(on, i), n, equal && highest-p.power[i] <= plateauEqual*highest
		}
	}
	// A single run of equal readings is judged when it is known what follows: see runs.
	if once := equal && last-first+1 == len(on); once || !p.ceiling(v, s, k, on, rating) {
		p.ceiling(v, s, k, p.visited(at, flatBelow*min(p.top(), rating)), rating)
	}
}

// visited returns the readings, among those with the given ascending indexes, that equal
// the most frequent one up to a power and between which none is higher. They are nil if
// the unit did not come back to it.
func (p *holding) visited(at []int, most float64) (on []int) {
	equal := func(a, b float64) bool { return math.Abs(a-b) <= plateauEqual*b }
	pairs := 0
	for n := 1; n < len(at); n++ {
		if x := p.power[at[n]]; x > 0 && x <= most && equal(p.power[at[n-1]], x) {
			pairs++
		}
	}
	if pairs < flatPairs {
		return nil
	}
	values := make([]float64, 0, len(at))
	for _, i := range at {
		if x := p.power[i]; x > 0 && x <= most {
			values = append(values, x)
		}
	}
	slices.Sort(values)
	value, times := 0.0, 0
	for from, to := 0, 0; from < len(values); from = to {
		for to = from + 1; to < len(values) && equal(values[to], values[from]); to++ {
		}
		if to-from > times {
			value, times = values[from], to-from
		}
	}
	var some []int
	visits, last := 0, -2
	keep := func() {
		if visits >= flatVisits && len(some) > max(len(on), p.recurrences(value)) {
			on = some
		}
		some, visits, last = nil, 0, -2
	}
	for n, i := range at {
		switch {
		case equal(p.power[i], value):
			if some = append(some, i); last != n-1 {
				visits++
			}
			last = n
		case p.power[i] > value*(1+flatTop):
			keep()
		}
	}
	keep()
	return on
}

// ceiling records a limit at the readings with the given indexes, if they last for long
// enough, below the unit's usual highest power and below what is expected of it. It
// reports whether it did.
func (p *holding) ceiling(v *view, s *session, k int, on []int, rating float64) bool {
	if len(on) < plateauReadings {
		return false
	}
	highest := p.power[on[0]]
	for _, i := range on {
		highest = max(highest, p.power[i])
	}
	top, step := p.top(), v.hours()
	if !(highest <= flatBelow*top) || highest < 0.1*top || highest > flatBelow*rating || float64(len(on))*step < max(flatHours, flatNatural*p.natural(highest, flatTop, step)) {
		return false
	}
	known, over := 0, 0
	var lost loss.Ledger
	for _, i := range on {
		if !math.IsNaN(p.model[i]) {
			known++
		}
		if p.model[i] < flatBelow*highest {
			over++
		}
	}
	expected := p.sky
	switch peers := len(s.in.Units) >= 3; {
	case peers && (2*known <= len(on) || p.shared(v, s, k, on[0], on[len(on)-1]+1)):
		return false // nothing shows a limit of this unit alone
	case 2*known > len(on) && (peers || flatOver*over <= known): // else the irradiance is not that of the unit
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
		return false
	}
	p.hold(v, s, k, on[0], on[len(on)-1]+1, v.end(), lost, "flat")
	return true
}
