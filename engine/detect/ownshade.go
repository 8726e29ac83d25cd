package detect

import (
	"math"
	"slices"

	"app.sunloop/engine/loss"
	"app.sunloop/internal/display"
)

// ownShade finds a unit that lacks irradiance while the sun is in one part of
// the sky, relative to a model of its history. It needs a reference that sees
// clouds: relative to a clear sky, haze and horizon look the same.
type ownShade struct {
	days   []shadowDay
	tops   ring // highest expectation of each day
	record *record
	bin    int   // of an open event: it and the next
	seen   int64 // last day that showed it
	lit    int64 // last day with sun in these directions
	losses ring
}

// shadowDay is the logarithm of power over expectation in each direction of the
// sun, against the day's level; NaN where the sun or the light was not there.
type shadowDay struct {
	day  int64
	bins [ownShadeBins]float64
	kWh  [ownShadeBins]float64  // missing
	span [ownShadeBins][2]int64 // from when to when the sun was there
}

// Figures of the rule.
const (
	ownShadeWidth  = 8 // degrees of azimuth
	ownShadeBins   = 30
	ownShadeFrom   = -120 // degrees from solar noon of the first direction
	ownShadeBright = 0.25 // of the month's highest expectation
	ownShadeSmooth = 0.08 // highest roughness of the light
	ownShadeLevel  = 0.65 // quantile over the day's directions that is its level
	ownShadeLeast  = 4    // directions
	ownShadeHours  = 1.5
	ownShadeDays   = 5 // last days that showed a direction, of which
	ownShadeOf     = 4 // so many must lack
	ownShadeTwo    = -0.12
	ownShadeOne    = -0.24
	ownShadeBefore = 45 // days before, from which the usual is estimated
	ownShadeUneven = -0.06
	ownShadeJump   = 0.14
	ownShadeFar    = 3 // directions away
	ownShadeSound  = 0.07
	ownShadeShown  = -0.08
	ownShadeStale  = 12 // days without showing it, though the sun was there
	ownShadeAway   = 90 // days without sun in its directions: a low winter sun may return to them
	ownShadeKept   = 60
	ownShadeWorth  = 0.02 // of a typical day that the sunny days must have lost on average: less is within the noise of one direction
)

// look adds a day, and excludes the shaded moments from the unit's models.
func (o *ownShade) look(v *view, s *session, k int, b *baseline, models []*baseline, m *moments, factor float64, day int64) {
	rating := s.rating(k)
	one, ok := o.chart(m, b, rating, factor, day)
	if ok {
		o.days = append(o.days, one)
		if len(o.days) > ownShadeKept {
			o.days = slices.Delete(o.days, 0, 1)
		}
		if o.record == nil {
			o.judge(v, s, k, b)
		} else {
			o.goOn(&one, v)
		}
	}
	if o.record != nil && (o.lit-o.seen > ownShadeStale || day-o.lit > ownShadeAway) {
		o.record.end = max(o.record.lastSeen, o.record.start+1)
		o.record = nil
	}
	if o.record == nil {
		return
	}
	for j := range m.n {
		if d := o.direction(m, j); d >= o.bin-1 && d <= o.bin+2 {
			for _, other := range models {
				other.usable[j], other.weight[j] = false, 0
			}
		}
	}
}

func (o *ownShade) direction(m *moments, j int) int {
	return int(math.Floor((m.turn[j] - ownShadeFrom) / ownShadeWidth))
}

// chart computes the day's figures by sun direction.
func (o *ownShade) chart(m *moments, b *baseline, rating, factor float64, day int64) (out shadowDay, ok bool) {
	out.day = day
	var ratios [ownShadeBins][]float64
	top, hours := 0.0, 0.0
	for j := range m.n {
		if e := b.model[j] * factor; e > top && m.elevation[j] > lowestSun {
			top = e
		}
	}
	o.tops.remember(top, usualDays)
	highest := o.tops.quantile(1, 1, top)
	for j := range m.n {
		e, p := b.model[j]*factor, b.power[j]
		if !b.usable[j] && !(p >= 0.01*rating && m.elevation[j] > lowestSun && !b.explained[j]) {
			continue
		}
		d := o.direction(m, j)
		if d < 0 || d >= ownShadeBins || !(e > ownShadeBright*highest) || !(b.lightRough[j] < ownShadeSmooth) {
			continue
		}
		hours += m.hours
		ratios[d] = append(ratios[d], p/max(e, 0.03*rating))
		out.kWh[d] += (e - p) * m.hours
		from, to := m.span(j)
		if out.span[d][1] == 0 {
			out.span[d][0] = from
		}
		out.span[d][1] = to
	}
	var all []float64
	for d := range ratios {
		out.bins[d] = math.NaN()
		if len(ratios[d]) > 0 {
			out.bins[d] = math.Log(max(median(ratios[d]), 0.05))
			all = append(all, out.bins[d])
		}
	}
	if len(all) < ownShadeLeast || hours < ownShadeHours {
		return out, false
	}
	level := quantile(all, ownShadeLevel)
	for d := range out.bins {
		out.bins[d] -= level
	}
	return out, true
}

// addLoss adds what the day lacked in directions [from, to]: their sum, if it is
// positive, over the directions that lacked.
func (d *shadowDay) lose(l *loss.Ledger, from, to int) {
	sum, lacking := 0.0, 0.0
	for b := max(from, 0); b <= min(to, ownShadeBins-1); b++ {
		sum, lacking = sum+d.kWh[b], lacking+max(d.kWh[b], 0)
	}
	for b := max(from, 0); b <= min(to, ownShadeBins-1) && sum > 0; b++ {
		l.Add(d.span[b][0], d.span[b][1], max(d.kWh[b], 0)*sum/lacking)
	}
}

// recent are the last days that have a direction, in order of days, as indices.
func (o *ownShade) recent(d int) []int {
	var at []int
	for i := len(o.days) - 1; i >= 0 && len(at) < ownShadeDays; i-- {
		if !math.IsNaN(o.days[i].bins[d]) {
			at = append(at, i)
		}
	}
	slices.Reverse(at)
	return at
}

// before are a direction's figures in the weeks before a day.
func (o *ownShade) before(d int, from int) (out []float64) {
	for _, one := range o.days[:from] {
		if o.days[from].day-one.day <= ownShadeBefore && !math.IsNaN(one.bins[d]) {
			out = append(out, one.bins[d])
		}
	}
	return out
}

// judge looks for a direction, or two adjacent ones, in which the unit has
// begun to lack power.
func (o *ownShade) judge(v *view, s *session, k int, b *baseline) {
	for d := range ownShadeBins - 1 {
		one, two := o.recent(d), o.recent(d+1)
		if len(one) < ownShadeDays || one[len(one)-1] != len(o.days)-1 {
			continue
		}
		pair := len(two) >= ownShadeDays
		if !pair {
			two = one
		}
		from := min(one[0], two[0])
		usual := o.before(d, from)
		if len(usual) < 4 {
			continue
		}
		base := min(0, medianOf(usual))
		if pair {
			beside := o.before(d+1, from)
			if len(beside) < 4 {
				continue
			}
			pair = o.lacks(two, d+1, min(0, medianOf(beside))+ownShadeTwo) >= ownShadeOf && o.lacks(one, d, base+ownShadeTwo) >= ownShadeOf
		}
		if !pair && o.lacks(one, d, base+ownShadeOne) < ownShadeOf {
			continue
		}
		if quantile(append([]float64(nil), usual...), 0.25)-base < ownShadeUneven {
			continue
		}
		var now, far []float64
		start := o.days[one[0]].day
		var lost loss.Ledger
		for _, i := range one {
			now = append(now, o.days[i].bins[d])
			o.days[i].lose(&lost, d, d+1)
			for other, x := range o.days[i].bins {
				if (other < d-ownShadeFar+1 || other > d+ownShadeFar) && !math.IsNaN(x) {
					far = append(far, x)
				}
			}
		}
		if medianOf(usual[max(len(usual)-6, 0):])-medianOf(now) < ownShadeJump || len(far) < 6 || math.Abs(median(far)) > ownShadeSound {
			continue
		}
		if lost.Total() < ownShadeWorth*s.memory.units[k].usualDay()*float64(len(one)) {
			continue
		}
		for _, i := range one { // a day of before among them is none of the event
			if o.days[i].bins[d] < base+ownShadeTwo/2 {
				start = o.days[i].day
				break
			}
		}
		o.open(v, s, k, d, start, lost, 1-math.Exp(medianOf(now)), referenceNames[b.ref])
		return
	}
}

// lacks counts the days whose figure of a direction lies below a limit.
func (o *ownShade) lacks(days []int, d int, below float64) (n int) {
	for _, i := range days {
		if o.days[i].bins[d] < below {
			n++
		}
	}
	return n
}

func (o *ownShade) open(v *view, s *session, k, d int, start int64, losses loss.Ledger, share float64, basis string) {
	day := dayNumber(v)
	o.bin, o.seen, o.lit, o.losses = d, day, day, ring{}
	f := newFacts()
	f.rating = s.rating(k)
	r := &record{family: PartialShading, units: []int{k}, start: v.startOf(start), detected: v.end(), lastSeen: v.end(), losses: losses, fraction: share, seen: f, basis: basis, window: [2]float64{float64(d * ownShadeWidth), float64((d + 2) * ownShadeWidth)}}
	from, to := float64(ownShadeFrom+d*ownShadeWidth)+180, float64(ownShadeFrom+(d+2)*ownShadeWidth)+180
	if s.in.Site.Location.LatitudeDeg < 0 { // there the sun passes north, against the clock
		from, to = math.Mod(540-to, 360), math.Mod(540-from, 360)
	}
	r.observed = []Evidence{
		shows("sun_window", 2, from, to, "°", "On %d of the last %s with sun it made %s less than usual while the sun stood between %.0f° and %.0f° from north.",
			ownShadeOf, display.CountOf(ownShadeDays, "day", "days"), display.Percent(share), from, to),
		shows("sound_outside", 1.5, 100*(1-ownShadeSound), 100, "%", "At the other hours of these days it made its usual part."),
	}
	o.record = s.open(r)
}

// goOn follows an event.
func (o *ownShade) goOn(one *shadowDay, v *view) {
	sum, n := 0.0, 0
	for d := max(o.bin-1, 0); d <= min(o.bin+2, ownShadeBins-1); d++ {
		if !math.IsNaN(one.bins[d]) && (d == o.bin || d == o.bin+1) {
			sum += one.bins[d]
			n++
		}
	}
	if n > 0 {
		o.lit = one.day
	}
	if n > 0 && sum/float64(n) < ownShadeShown {
		o.seen = one.day
		o.record.lastSeen = v.end()
		for d := o.bin - 1; d <= o.bin+2; d++ {
			one.lose(&o.record.losses, d, d)
		}
		o.losses.remember(1-math.Exp(sum/float64(n)), 15)
		o.record.fraction = min(max(o.losses.quantile(0.5, 1, 0), 0), 1)
	}
}
