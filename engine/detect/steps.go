package detect

import (
	"math"
	"slices"
	"time"

	"app.sunloop/engine/loss"
	"app.sunloop/engine/series"
	"app.sunloop/internal/display"
)

// losses follows each unit's production relative to a model of its history,
// and finds lasting steps down: strings, combiners, one of several plants
// behind a meter.
type losses struct {
	units   []unitLosses
	sun     moments
	day     int64       // last that was examined
	peers   [][]float64 // by unit and cell: 1000 × the median of the others' power over rating
	limited []bool      // by cell: a quarter of the units are at their rating, and no measure of the others
	lie     orientations
}

// unitLosses is the state of one unit.
type unitLosses struct {
	models []*baseline // in order of preference
	rival  *baseline   // the same irradiance in the other plane, until one is chosen
	errors [2]float64  // of both, so far
	steps  []*step
	energy []dayEnergy // of the last days
	clear  []clearDay  // of the last days, of units with peers
	shade  ownShade
	heat   ownHeat
	soil   ownSoil
}

// step is a loss that came at once and stays.
type step struct {
	from, to int64 // days; to is 0 while it lasts
	seen     int64 // day on which it was announced
	size     float64
	by       *baseline             // whose index showed it
	levels   map[*baseline]float64 // healthy logarithm of the index
	record   *record
}

// dayEnergy is what a unit produced on a day, by hour.
type dayEnergy struct {
	day  int64
	made loss.Ledger
}

// Figures of the rule, by reference. Limits of z were chosen on measured plants
// without injected faults: see docs/faults.md.
const (
	stepLimit      = 5.3
	stepLimitPeers = 4.5
	stepLimitSky   = 5.5
	stepLeast      = 0.035 // in the logarithm
	stepLeastPeers = 0.02
	stepAsk        = 2.5  // standard errors from which the model stops learning
	stepAskSize    = 0.03 // and the size
	stepSplit      = 3    // standard errors from which the noise is learned on each side of a step
	stepShownSky   = 0.85 // the next one with clear sky
	stepShown      = 0.75 // share of the days since that must lie below half of the step
	stepQuantile   = 0.15
	stepBelow      = 0.4 // of the step, by which the days since lie below that quantile
	stepRecent     = 4   // usable days in the 40 days before
	stepPart       = 0.4 // of the step, that each part of the day must show
	stepPartMost   = 1.5
	stepPartOver   = 0.04
	stepEnd        = 0.45 // of the way back
	stepEndDays    = 3
	stepAfterSky   = 4    // usable days after a step, with clear sky
	stepNext       = 10   // usable days after which a further step is looked for
	stepSettled    = 5    // usable days of a step after which its size may be found larger
	stepGrown      = 1.25 // times the size that was announced, from which it is
	staleDays      = 10   // without a usable day of a better reference, the next one announces
)

func newLosses(s *session) *losses {
	l := &losses{units: make([]unitLosses, len(s.in.Units)), peers: make([][]float64, len(s.in.Units)), lie: newOrientations(len(s.in.Units))}
	return l
}

// prepare applies the models to the day before the stages examine it.
func (l *losses) prepare(v *view, s *session) {
	l.sun.lay(v, s.in.Site.Location)
	if l.sun.noSun || v.cells == 0 {
		return
	}
	day := dayNumber(v)
	lit := false
	for i := range v.cells {
		if v.light[i] > 50 {
			lit = true
			break
		}
	}
	for k := range l.units {
		u := &l.units[k]
		if !l.judges(s, k) {
			continue
		}
		if len(u.models) == 0 {
			ref := bySky
			if len(l.units) >= 3 {
				ref = byPeers
			}
			u.models = append(u.models, newBaseline(ref))
		}
		if lit && u.rival == nil && len(l.units) < 3 && !slices.ContainsFunc(u.models, func(b *baseline) bool { return b.ref == byLight }) {
			flat, plane := newBaseline(byLight), newBaseline(byLight)
			plane.inPlane = true
			u.models = slices.Insert(u.models, len(u.models)-1, flat)
			u.rival = plane
		}
		for _, b := range u.all() {
			if b.ref != byPeers { // the peers' power is known once the stages have explained what they can
				b.refit(day, u.factor)
				b.prepare(&l.sun, v, func(i int) float64 { return v.light[i] }, v.tempC)
			}
		}
		l.lend(v, s, k)
	}
}

// lend makes the model on irradiance the day's expectation of a unit without
// peers: it includes orientation, temperature and low irradiance, which a
// constant gain does not.
func (l *losses) lend(v *view, s *session, k int) {
	if len(l.units) >= 3 {
		return
	}
	u, mem, rating := &v.units[k], &s.memory.units[k], s.rating(k)
	for i := range v.cells {
		if u.tier[i] != tierLight {
			continue
		}
		if e := l.expects(v, k, i); !math.IsNaN(e) {
			u.expected[i] = min(e, rating)
			u.lit[i] = u.expected[i]
			u.sun[i] = u.expected[i] >= mem.minExpectedShare()*rating && !(v.clear[i] < lowLight)
		}
	}
}

// judges reports whether the unit's own model is used. It is not used for units
// that have the orientation of others and are compared with these, unless it
// has found a loss that is still active.
func (l *losses) judges(s *session, k int) bool {
	u := &l.units[k]
	return s.rating(k) > 0 && (!s.memory.units[k].alike || u.last() != nil || u.shade.record != nil || u.soil.record != nil)
}

// all is the unit's models, the rival among them.
func (u *unitLosses) all() []*baseline {
	if u.rival == nil {
		return u.models
	}
	return append(append([]*baseline(nil), u.models...), u.rival)
}

// factor returns the remaining share of the unit's power on a day after the
// known steps.
func (u *unitLosses) factor(day int64) float64 {
	size := 0.0
	for _, s := range u.steps {
		if day >= s.from && (s.to == 0 || day < s.to) {
			size += s.size
		}
	}
	return math.Exp(size)
}

// dayNumber numbers the calendar days of the site, whatever its clock does.
func dayNumber(v *view) int64 {
	year, month, day := v.date.Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / 86400
}

// startOf returns the first second of the day with a number, which a change to summer
// time moves against that of the day on the view.
func (v *view) startOf(day int64) int64 {
	year, month, date := time.Unix(day*86400, 0).UTC().Date()
	return series.Midnight(time.Date(year, month, date, 12, 0, 0, 0, v.date.Location()), v.date.Location()).Unix()
}

func (l *losses) look(v *view, s *session) {
	if l.sun.noSun || v.cells == 0 {
		return
	}
	for _, k := range l.lie.choose(l, s) { // figures of another reference are not to be compared
		u := &l.units[k]
		u.models, u.shade, u.soil = nil, ownShade{}, ownSoil{}
	}
	l.shine(v, s)
	day := dayNumber(v)
	l.day = day
	for k := range l.units {
		u := &l.units[k]
		if len(u.models) == 0 || !l.judges(s, k) {
			continue
		}
		u.made(v, k, day)
		for _, b := range u.all() {
			var limits []bool
			if b.ref == byPeers {
				b.refit(day, u.factor)
				b.prepare(&l.sun, v, func(i int) float64 { return l.peers[k][i] }, v.tempC)
				limits = l.limited
			}
			b.observe(&l.sun, v, &v.units[k], s.rating(k), limits, day)
		}
		primary := u.primary(day)
		if primary != nil && primary.ready {
			f := u.factor(day)
			u.shade.look(v, s, k, primary, u.all(), &l.sun, f, day)
			if len(l.units) < 3 {
				u.heat.look(v, s, k, primary, &l.sun, f, day)
			}
		}
		for _, b := range u.all() {
			if b.ref == byPeers {
				u.remember(b, &l.sun, s.rating(k), day)
			}
			b.keep(&l.sun, day)
			if !b.ready {
				continue
			}
			if d, ok := b.measure(&l.sun, s.rating(k), day); ok {
				b.index = append(b.index, d)
				if len(b.index) > indexKept {
					b.index = slices.Delete(b.index, 0, 1)
				}
			}
		}
		u.choose(day)
		for i, b := range u.models {
			if n := len(b.index); n > 0 && b.index[n-1].day == day {
				u.judge(v, s, k, b, u.models[:i], day)
			}
		}
		if primary != nil && primary.ready {
			u.soil.look(v, s, k, u, primary, day)
		}
		u.count(v, s)
	}
	l.lie.learn(l, day)
}

// primary is the unit's best model that sees the clouds and is alive, or nil.
func (u *unitLosses) primary(day int64) *baseline {
	for _, b := range u.models {
		if b.ref != bySky && b.ready {
			if n := len(b.index); n == 0 || day-b.index[n-1].day < staleDays*2 {
				return b
			}
		}
	}
	return nil
}

// shine fills what the other units make of the light, for units with peers.
func (l *losses) shine(v *view, s *session) {
	if len(l.units) < 3 {
		return
	}
	day := dayNumber(v)
	some := make([]float64, 0, len(l.units))
	for k := range l.units {
		fit(&l.peers[k], v.cells)
	}
	norm := make([]float64, len(l.units))
	factors := make([]float64, len(l.units))
	for k := range l.units {
		factors[k] = l.units[k].factor(day)
	}
	fit(&l.limited, v.cells)
	for i := range v.cells {
		some = some[:0]
		limited := 0
		for k := range l.units {
			norm[k] = math.NaN()
			if r, p := s.rating(k), v.units[k].power[i]; r > 0 && p >= 0 && v.units[k].claimed[i] == "" {
				norm[k] = 1000 * p / r / factors[k]
				some = append(some, norm[k])
				if clips(p, r) {
					limited++
				}
			}
		}
		l.limited[i] = 4*limited >= len(l.units)
		c := centreOf(some)
		for k := range l.units {
			l.peers[k][i] = math.NaN()
			if middle, ok := l.lie.median(k, norm); ok {
				l.peers[k][i] = middle
			} else if c.others(norm[k]) >= min(len(l.units)-1, 3) {
				l.peers[k][i] = c.without(norm[k])
			}
		}
	}
}

// choose decides the plane of the irradiance, once both were fitted for long enough.
func (u *unitLosses) choose(day int64) {
	if u.rival == nil {
		return
	}
	const decide = 30
	i := slices.IndexFunc(u.models, func(b *baseline) bool { return b.ref == byLight })
	flat := u.models[i]
	if !flat.ready || !u.rival.ready {
		return
	}
	for n, b := range []*baseline{flat, u.rival} {
		if m := len(b.index); m > 0 && b.index[m-1].day == day {
			u.errors[n] += b.scale
		}
	}
	if flat.fits >= decide {
		if u.errors[1] < u.errors[0] {
			u.models[i] = u.rival
		}
		u.rival = nil
	}
}

// made stores the unit's production of the day.
func (u *unitLosses) made(v *view, k int, day int64) {
	one := dayEnergy{day: day}
	v.addProduced(&one.made, k)
	u.energy = append(u.energy, one)
	if len(u.energy) > 100 {
		u.energy = slices.Delete(u.energy, 0, 1)
	}
}

// count adds what the open steps cost on the day.
func (u *unitLosses) count(v *view, s *session) {
	today := u.energy[len(u.energy)-1]
	for _, st := range u.steps {
		if st.to == 0 && st.seen < today.day {
			st.record.losses.AddScaled(today.made, math.Exp(-st.size)-1)
			st.record.lastSeen = v.end()
		}
	}
}

// judge evaluates the index of a reference after a usable day. It announces an
// event only if the better references had no data recently.
func (u *unitLosses) judge(v *view, s *session, k int, b *baseline, better []*baseline, day int64) {
	silent := false
	for _, o := range better {
		if n := len(o.index); n > 0 && day-o.index[n-1].day < staleDays {
			silent = true
		}
	}
	n := len(b.index)
	t, x, hours := make([]float64, n), make([]float64, n), make([]float64, n)
	b.learnHaze()
	for i := range b.index {
		d := &b.index[i]
		t[i], x[i], hours[i] = float64(d.day), b.log(d)-math.Log(u.factor(d.day)), d.hours
	}
	if n < 10 {
		return
	}
	for u.back(v, s, b, day) {
	}
	u.grow(b)
	if last := u.last(); last != nil {
		after := 0
		for _, d := range b.index {
			if d.day > last.seen {
				after++
			}
		}
		if after < stepNext {
			return
		}
		for i := range b.index {
			x[i] = b.log(&b.index[i]) - math.Log(u.factor(b.index[i].day))
		}
	}
	b.noise = learnNoise(t, x, usualNoise(b.ref), b.scratch, 0)
	found, ok := findShift(t, x, hours, b.noise, slowWander(b.ref))
	if !ok {
		return
	}
	if found.z() < -stepSplit {
		// Days before and after a step differ by the step, which is no noise.
		b.noise = learnNoise(t, x, usualNoise(b.ref), b.scratch, found.at)
		if found, ok = findShift(t, x, hours, b.noise, slowWander(b.ref)); !ok {
			return
		}
	}
	z, a := found.z(), found.size
	asked := a < -stepAskSize && z < -stepAsk
	switch {
	case asked && x[n-1]-found.level < 0.4*a:
		b.hold = b.index[found.at].day
	case !asked:
		b.hold = 0
	}
	limit, least := stepLimit, stepLeast
	switch b.ref {
	case bySky:
		limit = stepLimitSky
	case byPeers:
		limit, least = stepLimitPeers, stepLeastPeers
	}
	if silent || a > -least || z > -limit || !u.lasting(b, x, found) {
		return
	}
	if b.ref == byLight && b.sensorRose(found.at) {
		s.note(s.in.Units[k].AssetID, "the irradiance reads more than the sun gives since %s: the loss against it is one of the sensor", time.Unix(b.index[found.at].day*86400, 0).UTC().Format(time.DateOnly))
		return
	}
	if b.ref == byPeers && !s.losses.similarShow(k, b, found) {
		return
	}
	u.announce(v, s, k, b, found, day)
}

// sensorRose reports whether the irradiance since a day of the index is higher than
// on any day before and than the sun gives: then the sensor has changed, not the
// plant.
func (b *baseline) sensorRose(at int) bool {
	before := 0.0
	for _, d := range b.index[:at] {
		before = max(before, d.top)
	}
	var since []float64
	for _, d := range b.index[at:] {
		since = append(since, d.top)
	}
	return median(since) > max(sensorBeyond, sensorJump*before)
}

// Figures of a sensor that reads too much.
const (
	sensorBeyond = 1150 // W/m², the mean of a clear quarter hour in any plane
	sensorJump   = 1.08
)

func (u *unitLosses) last() *step {
	for i := len(u.steps) - 1; i >= 0; i-- {
		if u.steps[i].to == 0 {
			return u.steps[i]
		}
	}
	return nil
}

// lasting reports whether the step persists, is below the unit's usual minima,
// and appears in all parts of the day.
func (u *unitLosses) lasting(b *baseline, x []float64, f shift) bool {
	n, a := len(x), f.size
	below := 0
	for _, y := range x[f.at:] {
		if y-f.level < 0.5*a {
			below++
		}
	}
	shown := stepShown
	if b.ref == bySky {
		// Haze comes and goes, so that some of its days are near the level of
		// before; days after a lost string are not.
		if n-f.at < stepAfterSky {
			return false
		}
		shown = stepShownSky
	}
	if float64(below) < shown*float64(n-f.at) || x[n-1]-f.level > 0.5*a || x[n-2]-f.level > 0.5*a {
		return false
	}
	usual := append([]float64(nil), x[max(f.at-30, 0):f.at]...)
	after := append([]float64(nil), x[f.at:]...)
	if median(after) > quantile(usual, stepQuantile)+stepBelow*a {
		return false
	}
	if b.ref == bySky && quantile(after, 0.9) > f.level+stepBelow*a {
		return false
	}
	recent := 0
	for _, d := range b.index[:f.at] {
		if b.index[f.at].day-d.day <= 40 {
			recent++
		}
	}
	if recent < stepRecent {
		return false
	}
	for part := range dayParts {
		before, since := u.part(b, part, max(f.at-12, 0), f.at), u.part(b, part, f.at, n)
		if len(since) < 2 || len(before) < 3 {
			continue
		}
		moved := math.Log(max(median(since), 0.01) / median(before))
		if moved > stepPart*a || b.ref == bySky && moved < stepPartMost*a-stepPartOver {
			return false
		}
	}
	return true
}

func (u *unitLosses) part(b *baseline, part, from, to int) []float64 {
	var out []float64
	for _, d := range b.index[from:to] {
		if p := d.parts[part]; !math.IsNaN(p) {
			out = append(out, p/u.factor(d.day))
		}
	}
	return out
}

// announce opens a step's event.
func (u *unitLosses) announce(v *view, s *session, k int, b *baseline, f shift, day int64) {
	st := &step{from: b.index[f.at].day, seen: day, size: f.size, by: b, levels: map[*baseline]float64{}}
	for _, o := range u.models {
		var before []float64
		for _, d := range o.index {
			if d.day < st.from {
				before = append(before, o.log(&d)-math.Log(u.factor(d.day)))
			}
		}
		if n := len(before); n >= 5 {
			st.levels[o] = median(before[max(n-12, 0):])
		}
	}
	st.levels[b] = f.level
	var lost loss.Ledger
	share := 1 - math.Exp(f.size)
	for _, d := range u.energy {
		if d.day >= st.from {
			lost.AddScaled(d.made, share/(1-share))
		}
	}
	facts := newFacts()
	facts.days, facts.spread, facts.rating = len(b.index)-f.at, math.Hypot(b.noise.day, b.noise.wander), s.rating(k)
	start := v.startOf(st.from)
	st.record = &record{family: StringOutage, units: []int{k}, start: start, detected: v.end(), lastSeen: v.end(), losses: lost, fraction: share, seen: facts, basis: referenceNames[b.ref]}
	low, high := 1-math.Exp(f.size+1.96*f.sigma), 1-math.Exp(f.size-1.96*f.sigma)
	st.record.observed = []Evidence{
		shows("relative_yield", min(1+0.3*(-f.z()-stepLimitPeers), 3), 100*(1-share), 100, "%",
			"On %s it made %s less than expected from %s (%s to %s), after it had made its usual part; a day usually strays by %s.",
			display.CountOf(facts.days, "clear day", "clear days"), display.Percentage(100*share), referenceWords[b.ref], display.Percentage(100*max(low, 0)), display.Percentage(100*high), display.Percentage(100*facts.spread)),
		shows("all_day", 0.8, 100*share, 0, "%", "The loss shows before and after noon, in weak light as in strong."),
	}
	if f.sinks() {
		st.record.family, st.record.fraction = Soiling, share
		st.record.seen.level, st.record.seen.spread, st.record.seen.source = f.slope, f.slope*(1-1.96/-f.ramp), referenceWords[b.ref]
		st.record.start = v.startOf(b.index[f.begun].day)
		st.record.observed = nil
	}
	st.record.step = st
	if st.record.family != StringOutage || !s.inputs.open(k) { // else the record of the input says it
		st.record = s.open(st.record)
	}
	u.steps = append(u.steps, st)
	for _, o := range u.models {
		o.hold = 0
	}
}

// grow corrects the size of the last step if its first days, of which it was estimated, lost
// less than the next ones, as when the loss came in two parts: else the model would take
// the rest for the healthy state.
func (u *unitLosses) grow(b *baseline) {
	st := u.last()
	if st == nil || st.by != b {
		return
	}
	var since []float64
	for _, d := range b.index {
		if d.day >= st.from {
			since = append(since, b.log(&d)-math.Log(u.factor(d.day))+st.size)
		}
	}
	if n := len(since); n < stepSettled || n > stepNext {
		return
	}
	if size := median(since) - st.levels[b]; size < stepGrown*st.size {
		st.size, st.record.fraction = size, 1-math.Exp(size)
	}
}

// back ends the last step once three usable days lie more than halfway back to
// the healthy level. It reports whether it did.
func (u *unitLosses) back(v *view, s *session, b *baseline, day int64) bool {
	st := u.last()
	n := len(b.index)
	if st == nil || n < stepEndDays {
		return false
	}
	level, ok := st.levels[b]
	if b != st.by && len(st.by.index) > 0 && day-st.by.index[len(st.by.index)-1].day < staleDays {
		return false // the basis that announced it continues to evaluate it
	}
	if !ok || b.index[n-stepEndDays].day < st.seen {
		return false
	}
	for _, d := range b.index[n-stepEndDays:] {
		others := math.Log(u.factor(d.day)) - st.size
		if b.log(&d)-others < level+stepEnd*st.size {
			return false
		}
	}
	st.to = b.index[n-stepEndDays].day
	st.record.end = max(v.startOf(st.to), st.record.start+1)
	st.record.lastSeen = min(st.record.lastSeen, st.record.end)
	return true
}

// expects is what unit k should make in cell i by its peers, or by the model on
// the irradiance; NaN where neither is known.
func (l *losses) expects(v *view, k, i int) float64 {
	u := &v.units[k]
	if u.tier[i] == tierPeers && u.peers[i] >= 2 {
		return u.expected[i]
	}
	if l.sun.noSun {
		return math.NaN()
	}
	for _, b := range l.units[k].models {
		if b.ref != byLight || !b.ready {
			continue
		}
		j := i / l.sun.per
		if e, g := b.model[j], b.light[j]; !math.IsNaN(e) && !math.IsNaN(v.light[i]) {
			if l.sun.per > 1 && g > 0 {
				e *= v.light[i] / g
			}
			return e * l.units[k].factor(dayNumber(v))
		}
	}
	return math.NaN()
}
