package detect

import (
	"math"
	"slices"
	"time"

	"app.sunloop/engine/loss"
	"app.sunloop/engine/solar"
	"app.sunloop/internal/display"
)

// soiling finds a site whose yield per irradiation falls day by day because of
// dirt on the modules. The figure of a day is the median over the units of
// power per irradiance relative to each unit's own first weeks. A robust slope
// over weeks finds the decline; a rise ends it (rain or cleaning). The
// irradiance is that of a sensor in the plane of the modules; without one, that
// of a clear sky on that plane in the clearest hours, because other data are
// distorted by the season.
type soiling struct {
	reference []float64 // yield of each unit in its first weeks; NaN until known
	early     []ring
	gains     []float64 // of each unit on the light, of the last weeks
	points    []point
	record    *record
	clean     float64 // the day's figure when the decline began
	deepest   float64 // highest loss so far
	back      int     // days in a row near clean
	source    lightSource
	warmth    bool // the temperature is known
	clock     int64
	ended     int64       // when the last event did; 0 for none
	course    []point     // of the event, from its beginning on
	earlier   loss.Ledger // of the event that this one continues, if any
}

// point is the figure of a day.
type point struct {
	day   float64 // days since 1970
	start int64
	yield float64
}

// Figures of the rule.
const (
	soilingLight    = 400 // W/m² that a sample needs
	soilingHours    = 0.7 // of light on which the units agree, in a day
	soilingAgree    = 0.05
	soilingError    = 0.006   // of a day's figure
	soilingLoss     = 0.01    // least loss worth an event
	soilingSlope    = -2.5e-4 // least decline in a day
	soilingMost     = 0.3     // that soiling takes at most, as models of it have it
	soilingSteepest = -8e-3   // what sinks faster is no dirt
	soilingCertain  = -1.5e-4 // the same at the edge of the 95 % band
	soilingJump     = 0.012   // least jump up that is a cleaning
	soilingDays     = 90      // of history kept
	soilingPoints   = 6       // least days of good light
	soilingSpan     = 5       // days
	soilingStrays   = 3.5     // how many times a day's usual stray a jump must be
	soilingHazy     = 2       // the same by the light of a clear sky, which haze bends for weeks
	soilingReturn   = 0.006   // least jump up that ends an event
	soilingBack     = 0.5     // of the loss, which the jump must restore
	soilingHazyLoss = 4       // how many times a day's usual deviation the loss must be by that light
	soilingNearly   = 0.9     // of what the best beginning explains, by that light
	soilingHazyStay = 30      // days after which a loss by that light that has not grown is no longer distinguished from the season
	soilingGone     = 0.4     // of the deepest loss: below that it has gone
	soilingTrace    = 0.005
	soilingAgain    = 21 * 86400 // seconds in which a site that was washed is known for its dust
	soilingKnown    = 0.6        // of what must be shown, then
	soilingUnseen   = 45 * 86400 // seconds without a figure, as with a dead sensor, after which it is unknown whether rain has come
	soilingClear    = 3          // how much more the light of a clear sky must show than a sensor's
	soilingBlind    = 5          // the same where the temperature is not known: a spring warms as slowly as dirt gathers
	soilingRare     = 2.5        // the same for readings rarer than half an hour
)

func newSoiling(s *session) *soiling {
	o := &soiling{reference: make([]float64, len(s.in.Units)), early: make([]ring, len(s.in.Units)), gains: make([]float64, len(s.in.Units))}
	for k := range o.reference {
		o.reference[k] = math.NaN()
	}
	return o
}

func (o *soiling) look(v *view, s *session) {
	if len(s.in.Units) < 3 && s.in.Site.Location != nil {
		return // one or two units are compared with the models of their own past
	}
	yield, _, ok := o.figure(v, s)
	if v.cells == 0 {
		return
	}
	if s.oddLight {
		ok = false // the day may be one of a faulty sensor
	}
	if o.record != nil && v.first-o.course[len(o.course)-1].start > soilingUnseen {
		o.record.end, o.record = o.record.lastSeen, nil
		o.points = o.points[:0]
	}
	if !ok {
		o.book(s, v.first)
		return
	}
	if source := s.modules.source(); source != o.source { // figures of another light are not to be compared
		*o = soiling{reference: o.reference, early: make([]ring, len(o.early)), gains: o.gains, record: o.record, source: source, warmth: o.warmth, ended: o.ended}
		for k := range o.reference {
			o.reference[k] = math.NaN()
		}
		if o.record != nil {
			o.record.end, o.record = o.record.lastSeen, nil
		}
		s.points = s.points[:0]
		return
	}
	if o.source == clearLight && s.clock != o.clock { // the sun's hours were others
		o.points, o.clock = o.points[:0], s.clock
	}
	now := point{float64(v.first) / 86400, v.first, yield}
	s.points = append(s.points, now)
	if n := len(o.points); n >= 3 {
		before := medianYield(o.points[n-3:])
		jump := max(soilingJump, soilingStrays*residualSpread(s.points))
		if o.source == clearLight {
			jump = max(soilingJump, soilingHazy*residualSpread(s.points))
		}
		if o.record != nil {
			if o.source != clearLight { // whose days stray as much as a wash restores
				jump /= 2
			}
			jump = max(soilingReturn, jump, soilingBack*(o.clean-before))
		}
		if yield-before > jump {
			if o.record != nil {
				// It was washed since the last day with a figure.
				o.course = append(o.course, point{now.day, now.start, o.clean}, point{now.day, now.start, o.clean})
				o.book(s, v.first)
				o.record.end, o.ended = now.start, now.start
				o.record = nil
			}
			o.points = append(o.points[:0], now)
			return
		}
	}
	if o.points = append(o.points, now); len(o.points) > soilingDays {
		o.points = slices.Delete(o.points, 0, 1)
	}
	end := v.end()
	if o.record != nil {
		o.course = append(o.course, now)
		o.book(s, v.first)
		loss := max((o.clean-medianYield(o.points[max(len(o.points)-3, 0):]))/o.clean, 0)
		if loss > soilingMost { // no dirt takes so much: something else has come
			o.record.end, o.record = o.record.lastSeen, nil
			o.points = o.points[len(o.points)-1:]
			return
		}
		o.deepest = max(o.deepest, loss)
		if loss < max(soilingGone*o.deepest, soilingTrace) {
			if o.back++; o.back >= 3 { // it has gone in steps too small for a jump
				o.record.end, o.record = o.record.lastSeen, nil
				o.points = o.points[len(o.points)-1:]
			}
			return
		}
		o.back = 0
		if o.source == clearLight && o.stays() {
			o.record.end, o.record = o.record.lastSeen, nil
			o.points = o.points[len(o.points)-1:]
			return
		}
		o.record.lastSeen, o.record.fraction = end, loss
		o.record.seen.days++
		return
	}
	o.judge(v, s, end)
}

// stays reports whether the event's loss has not grown over the last weeks.
func (o *soiling) stays() bool {
	last := o.course[len(o.course)-1]
	from := len(o.course) - 1
	for from > 0 && last.day-o.course[from-1].day <= soilingHazyStay {
		from--
	}
	if last.day-o.course[0].day < soilingHazyStay || len(o.course)-from < soilingPoints {
		return false
	}
	slope, _ := decline(o.course[from:])
	return slope > soilingSlope
}

// judge looks for a decline over the last three to six weeks.
func (o *soiling) judge(v *view, s *session, end int64) {
	strict := 1.0
	switch {
	case o.source == clearLight && !o.warmth:
		strict = soilingBlind
	case o.source == clearLight:
		strict = soilingClear
	case v.step > 1800: // few samples a day
		strict = soilingRare
	}
	if o.source == sensorLight && o.ended != 0 && end-o.ended < soilingAgain {
		strict *= soilingKnown
	}
	for _, days := range []int{8, 20, 40, 60} {
		now := o.points[len(o.points)-1]
		from := len(o.points) - 1
		for from > 0 && now.day-o.points[from-1].day <= float64(days) {
			from--
		}
		window := o.points[from:]
		span := now.day - window[0].day
		if len(window) < soilingPoints || span < soilingSpan || days < 20 && (o.source != sensorLight || v.step > 1800) {
			continue
		}
		slope, upper := decline(window)
		if loss := -slope * span; slope < soilingSteepest || slope > strict*soilingSlope || upper > strict*soilingCertain || loss < strict*soilingLoss {
			continue
		}
		last := medianYield(window[len(window)-3:])
		nearly := 1.0
		if o.source == clearLight {
			nearly = soilingNearly
		}
		begun, clean := changePoint(o.points, nearly)
		if o.clean = clean; clean <= last {
			begun, o.clean = from, last-slope*span
		}
		if o.clean-last > soilingMost*o.clean || o.source == clearLight && o.clean-last < soilingHazyLoss*residualSpread(s.points) {
			continue
		}
		f := newFacts()
		f.days, f.level, f.spread, f.source = len(window), slope, upper, s.modules.source().words()
		r := &record{family: Soiling, start: o.points[begun].start, detected: end, lastSeen: end, fraction: (o.clean - last) / o.clean, seen: f}
		for k := range s.in.Units {
			r.units = append(r.units, k)
			r.seen.rating += s.rating(k)
		}
		o.record = s.open(r)
		o.deepest, o.back = r.fraction, 0
		o.earlier = o.record.losses.Clone()
		o.course = append(o.course[:0], o.points[begun:]...)
		o.course[0].yield = o.clean
		o.book(s, v.first)
		return
	}
}

// book determines what the event has cost until a day: the loss of each day lies on the
// line between the days with a figure before and after it, because dirt gathers and rain
// washes in between; after the last figure, it stays.
func (o *soiling) book(s *session, until int64) {
	if o.record == nil {
		return
	}
	lost := o.earlier.Clone()
	losses := make([]float64, len(o.course))
	for i := range o.course {
		near := o.course[max(i-1, 0):min(i+2, len(o.course))]
		if i == 0 {
			near = near[:1]
		}
		losses[i] = min(max(1-medianYield(near)/o.clean, 0), soilingMost)
	}
	at := 0
	for _, d := range s.produced {
		if d.start < o.course[0].start || d.start > until {
			continue
		}
		for at+1 < len(o.course) && o.course[at+1].start <= d.start {
			at++
		}
		share := losses[at]
		if at+1 < len(o.course) {
			share += (losses[at+1] - share) * float64(d.start-o.course[at].start) / float64(o.course[at+1].start-o.course[at].start)
		}
		lost.AddScaled(d.energy, share/(1-share))
	}
	o.record.losses = lost
}

// residualSpread is how far a day's figure usually strays: by the differences of
// neighbouring days of the last weeks, which dirt hardly moves.
func residualSpread(points []point) float64 {
	points = points[max(len(points)-31, 0):]
	var steps []float64
	for i := 1; i < len(points); i++ {
		steps = append(steps, math.Abs(points[i].yield-points[i-1].yield))
	}
	return 1.48 / math.Sqrt2 * zeroIfMissing(median(steps))
}

// changePoint finds where a decline began: the latest point up to which a level and from
// which on a line that starts on it reduce the squares of the points by nearly as much as
// the best one does. It is that point and the level.
func changePoint(points []point, nearly float64) (at int, level float64) {
	squares := func(b int, level, slope float64) (sum float64) {
		for i, p := range points {
			e := p.yield - level
			if i > b {
				e -= slope * (p.day - points[b].day)
			}
			sum += e * e
		}
		return sum
	}
	flat := squares(0, medianYield(points), 0)
	sums, levels := make([]float64, max(len(points)-4, 0)), make([]float64, max(len(points)-4, 0))
	least := flat
	for b := range sums {
		levels[b] = medianYield(points[:b+1]) // a day of false readings does not move it
		var txy, txx float64
		for _, p := range points[b+1:] {
			t := p.day - points[b].day
			txy, txx = txy+t*(p.yield-levels[b]), txx+t*t
		}
		sums[b] = squares(b, levels[b], min(txy/txx, 0))
		least = min(least, sums[b])
	}
	for b, sum := range sums {
		if flat-sum >= nearly*(flat-least) {
			at, level = b, levels[b]
		}
	}
	return at, level
}

// decline is the Theil-Sen slope of the points for each day and the upper end
// of its 95 % band (Sen 1968: the rank of the pairwise slopes by Kendall's
// variance).
func decline(points []point) (slope, upper float64) {
	slopes := make([]float64, 0, len(points)*(len(points)-1)/2)
	for i, a := range points {
		for _, b := range points[i+1:] {
			slopes = append(slopes, (b.yield-a.yield)/(b.day-a.day))
		}
	}
	slices.Sort(slopes)
	n := float64(len(points))
	half := 1.96 * math.Sqrt(n*(n-1)*(2*n+5)/18)
	rank := int(math.Ceil((float64(len(slopes)) + half) / 2))
	return slopes[len(slopes)/2], slopes[min(rank, len(slopes)-1)]
}

func medianYield(points []point) float64 {
	values := make([]float64, 0, len(points))
	for _, p := range points {
		values = append(values, p.yield)
	}
	return median(values)
}

// figure returns the site's yield per irradiation of the day relative to its
// first weeks, and its standard error. ok is false on days with too few
// samples.
func (o *soiling) figure(v *view, s *session) (yield, err float64, ok bool) {
	source := s.modules.source()
	if source == noLight || source == clearLight && !v.sky.bright {
		return 0, 0, false
	}
	o.refer(v, s, source)
	var cells []float64
	ratios := make([]float64, 0, len(v.units))
	level := func(i, j int) bool {
		return j >= 0 && j < v.cells && math.Abs(v.light[i]-v.light[j]) < 0.04*v.light[i]
	}
	for i := range v.cells {
		if source == sensorLight && !v.sky.smooth && (v.step > 1800 || !level(i, i-1) && !level(i, i+1)) {
			continue
		}
		ratios = ratios[:0]
		for k := range v.units {
			if y, ok := o.onLight(v, s, k, i, source); ok && !math.IsNaN(o.reference[k]) {
				ratios = append(ratios, y/o.reference[k])
			}
		}
		// A cloud that passes units one by one is not the same over the sensor.
		if len(ratios) == 0 || 3*len(ratios) < len(v.units) || len(ratios) > 1 && quantile(ratios, 0.8)-quantile(ratios, 0.2) > soilingAgree {
			continue
		}
		cells = append(cells, median(ratios))
	}
	if float64(len(cells))*v.hours() < soilingHours || len(cells) < 2 {
		return 0, 0, false
	}
	yield = median(cells)
	if source == clearLight {
		// Clouds only reduce power: use the clearest hours.
		best := quantile(cells, 0.8)
		return best, 0, best-yield <= 0.08*best
	}
	off := make([]float64, 0, len(cells))
	for _, c := range cells {
		off = append(off, math.Abs(c-yield))
	}
	err = 1.25 * 1.48 * median(off) / math.Sqrt(float64(len(cells)))
	return yield, err, err < soilingError
}

// onLight returns the power of unit k at cell i per kW of rating and kW/m². ok
// is false if the irradiance is low, or so high that the unit may be at its
// limit.
func (o *soiling) onLight(v *view, s *session, k, i int, source lightSource) (yield float64, ok bool) {
	u, rating := &v.units[k], s.rating(k)
	g := s.modules.light(v, i, source)
	if !(g > soilingLight) || u.claimed[i] != "" || !(u.power[i] > 0.1*rating) {
		return 0, false
	}
	o.warmth = o.warmth || !math.IsNaN(v.tempC[i])
	ambientC := v.tempC[i]
	if math.IsNaN(ambientC) {
		ambientC = seasonC(v.date, s.in.Site.Location)
	}
	light := lightYield(g, ambientC)
	return u.power[i] / rating / light, o.gains[k]*light < nearLimit
}

// seasonC returns the ambient temperature by day in °C that is expected from
// the season, used where it is not measured: about 20 in the middle of the
// year, with half the yearly range growing by a fifth of a kelvin per degree of
// latitude, warmest a month after the solstice. It is rough, but without it the
// warming of spring looks like dirt.
func seasonC(date time.Time, loc *solar.Location) float64 {
	if loc == nil {
		return 20
	}
	return 20 + 0.2*loc.LatitudeDeg*math.Cos(2*math.Pi*float64(date.YearDay()-203)/365.25)
}

// refer takes the day into the units' references while they are learned: their
// yield on the light on the first smooth days.
func (o *soiling) refer(v *view, s *session, source lightSource) {
	for k := range o.reference {
		o.gains[k] = s.memory.units[k].gain.quantile(0.5, 3, 1)
		if !math.IsNaN(o.reference[k]) || !v.sky.smooth {
			continue
		}
		var yields []float64
		for i := range v.cells {
			if y, ok := o.onLight(v, s, k, i, source); ok {
				yields = append(yields, y)
			}
		}
		if float64(len(yields))*v.hours() < 1.5 {
			continue
		}
		if o.early[k].remember(median(yields), 15); len(o.early[k].values) == 15 {
			o.reference[k] = o.early[k].quantile(0.5, 1, 1)
		}
	}
}

// nearLimit is the share of the rating above which a unit may hide what its
// array does. The light decides, not the power: noise must not choose the
// samples.
const nearLimit = 0.92

func soilingEvidence(r *record) []Evidence {
	f := &r.seen
	common := "The figure is the median of the site's units: no single one explains it."
	if r.basis != "" {
		common = "The unit is compared with a model of its history, which knows season, temperature and weak irradiance."
	}
	return []Evidence{
		shows("yield_slope", 2, 100*f.level, 100*f.spread, "%/day", "Yield on %s sank by %s a day over the weeks before it was noticed, at least %s with 95 %% certainty.",
			f.source, display.FinePercentage(-100*f.level), display.FinePercentage(-100*f.spread)),
		shows("loss_now", 0.7, 100*r.fraction, 100*soilingLoss, "%", "It is now %s below the start of the decline, after %s of high irradiance.", display.Percentage(100*r.fraction), display.CountOf(f.days, "day", "days")),
		shows("all_units", 0.5, float64(len(r.units)), float64(len(r.units)), "units", "%s", common),
	}
}
