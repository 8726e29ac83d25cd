package detect

import (
	"math"
	"slices"

	"app.sunloop/engine/loss"
)

// ownSoil finds a unit whose yield on its reference sinks day by day, by one
// regression of the model and a decline that begins on some day: a model that is
// fitted first would follow the dirt. A decline that ends with a sudden gain of the
// same size, as by rain or cleaning, requires less evidence than one that lasts,
// because season and haze have no such gain.
type ownSoil struct {
	hits    int
	record  *record
	start   int64 // of the record
	cleaned int64 // day of the last wash
	seen    int64
	next    int64
	rows    []workRow
	days    []int64
	ratio   []float64
}

// Figures of the rule.
const (
	ownSoilEvery  = 3   // days between looks
	ownSoilPeers  = 6   // the same against peers
	ownSoilWindow = 150 // days of the regression
	ownSoilFirst  = 14  // days ago that a decline must have begun
	ownSoilLast   = 90
	ownSoilStep   = 6  // days between the days that are tried
	ownSoilBefore = 25 // days of history before it
	ownSoilSeason = 45 // the same before a decline without a wash: the model must know other sun than that of the decline
	ownSoilLeast  = 8  // usable days on each side
	ownSoilBlock  = 6  // days that count as one for the standard error
	ownSoilSlope  = 6e-4
	ownSoilSteep  = 5e-3
	ownSoilHits   = 2
	ownSoilStale  = 12 // days without a hit
	ownSoilRows   = 200
	// A wash confirms a decline that has ended.
	ownSoilWashFirst = 8 // days ago
	ownSoilWashLast  = 18
	ownSoilWashed    = 3 // usable days after it
	ownSoilWashZ     = 3
	ownSoilJumpZ     = 8    // of the gain by the wash
	ownSoilJumpLeast = 0.04 // share
	ownSoilNearly    = 0.8  // of the gain of the best beginning
	ownSoilFlat      = 1.15 // by which a loss of one size must explain more to be one
	ownSoilJumpSpan  = 14   // days on each side
	ownSoilAlone     = 1.15 // by which the gain must exceed every other gain of the plant within days
	ownSoilJumpDays  = 6    // usable ones of them
)

// limits of significance and size by reference.
func ownSoilLimits(ref reference) (z, drop float64) {
	if ref == byPeers {
		return 9, 0.05 // units that lie otherwise go through other seasons
	}
	return 10, 0.05
}

func (o *ownSoil) look(v *view, s *session, k int, u *unitLosses, b *baseline, day int64) {
	if o.record != nil && !v.partial {
		if n := len(u.energy); n > 0 {
			o.record.losses.AddScaled(u.energy[n-1].made, o.record.fraction/(1-o.record.fraction))
		}
	}
	if day < o.next {
		return
	}
	o.next = day + ownSoilEvery
	if b.ref == byPeers {
		o.next = day + ownSoilPeers
	}
	lasting, washed, ok := o.ramps(b, u, max(v.hours(), momentLength/3600.0), day)
	limit, least := ownSoilLimits(b.ref)
	from, slope, z := lasting.from, lasting.slope, lasting.z
	drop := slope * float64(day-from)
	hit := ok && z > limit && drop > least && slope > ownSoilSlope && slope < ownSoilSteep
	whole := washed.slope * float64(washed.wash-washed.from)
	clean := ok && washed.z > ownSoilWashZ && whole > max(least, math.Hypot(b.noise.day, b.noise.wander)) && washed.slope > ownSoilSlope && washed.slope < ownSoilSteep
	switch {
	case o.record != nil && clean && washed.wash > o.start:
		o.record.end, o.record.final = v.startOf(washed.wash), true
		o.record, o.hits, o.cleaned = nil, 0, washed.wash
	case o.record == nil && clean && washed.from >= o.cleaned && !u.steppedWithin(washed.from, washed.wash):
		o.open(v, s, k, b, u, washed, washed.wash)
		o.record.end, o.record.final = v.startOf(washed.wash), true
		o.record, o.hits, o.cleaned = nil, 0, washed.wash
	case o.record != nil && hit:
		o.seen = day
		o.record.lastSeen, o.record.fraction = v.end(), min(drop, soilingMost)
	case o.record != nil && day-o.seen > ownSoilStale:
		o.record.end = max(o.record.lastSeen, o.record.start+1)
		o.record, o.hits = nil, 0
	case o.record == nil && hit && u.last() == nil:
		if o.hits++; o.hits >= ownSoilHits {
			o.open(v, s, k, b, u, lasting, day)
		}
	case o.record == nil:
		o.hits = 0
	}
}

// steppedWithin reports whether a step began from a day to before another one.
func (u *unitLosses) steppedWithin(from, to int64) bool {
	return slices.ContainsFunc(u.steps, func(s *step) bool { return s.from >= from && s.from < to })
}

// open opens an event for a decline that lasted until a day.
func (o *ownSoil) open(v *view, s *session, k int, b *baseline, u *unitLosses, r ramp, until int64) {
	day, from, slope, z := dayNumber(v), r.from, r.slope, r.z
	f := newFacts()
	f.rating, f.level, f.spread, f.days, f.source = s.rating(k), -slope, -slope*(1-1.96/z), int(until-from), referenceWords[b.ref]
	drop := min(slope*float64(until-from), soilingMost)
	var lost loss.Ledger
	for _, d := range u.energy {
		if d.day >= from && d.day < until {
			share := min(slope*float64(d.day-from), soilingMost)
			lost.AddScaled(d.made, share/(1-share))
		}
	}
	o.record = s.open(&record{family: Soiling, units: []int{k}, start: v.startOf(from), detected: v.end(), lastSeen: v.end(), losses: lost, fraction: drop, seen: f, basis: referenceNames[b.ref]})
	o.seen, o.start = day, from
}

// ramps returns the decline that explains the last months best, and that of those
// which were washed off.
func (o *ownSoil) ramps(b *baseline, u *unitLosses, hours float64, day int64) (lasting, washed ramp, ok bool) {
	if !b.ready {
		return ramp{}, ramp{}, false
	}
	k := b.size()
	o.rows, o.days, o.ratio = o.rows[:0], o.days[:0], o.ratio[:0]
	usable := map[int64]bool{}
	for _, d := range b.days {
		if day-d.day > ownSoilWindow || len(d.moments) == 0 {
			continue
		}
		f := u.factor(d.day)
		weight := 0.0
		for _, one := range d.moments {
			row := workRow{y: float64(one.y) / f, w: float64(one.v)}
			for i := range k {
				row.x[i] = float64(one.x[i])
			}
			o.rows, o.days = append(o.rows, row), append(o.days, d.day)
			weight += row.w
		}
		usable[d.day] = weight*hours > 0.4
	}
	n := len(o.rows)
	if n < ownSoilRows {
		return ramp{}, ramp{}, false
	}
	fitted := baseline{ref: b.ref, inPlane: b.inPlane}
	coef, _, good := fitted.regress(o.rows, k, false)
	if !good {
		return ramp{}, ramp{}, false
	}
	fit(&o.ratio, n)
	first := o.days[0]
	levels := map[int64][]float64{}
	for i := range o.rows {
		e := 0.0
		for a := range k {
			e += coef[a] * o.rows[i].x[a]
		}
		o.rows[i].r = max(e, 1e-9)
		o.ratio[i] = min(max(o.rows[i].y/o.rows[i].r, 0.05), 3)
		block := (o.days[i] - first) / 10
		levels[block] = append(levels[block], o.ratio[i])
	}
	level := map[int64]float64{}
	for block, some := range levels {
		level[block] = math.Log(medianOf(some))
	}
	off := make([]float64, n)
	for i := range off {
		off[i] = math.Log(o.ratio[i]) - level[(o.days[i]-first)/10]
	}
	spread := make([]float64, n)
	for i := range off {
		spread[i] = math.Abs(off[i])
	}
	sigma := 1.4826*median(spread) + 1e-4
	for i := range o.rows {
		if q := off[i] / (3.5 * sigma); q > -1 && q < 1 {
			o.rows[i].w *= (1 - q*q) * (1 - q*q)
		} else {
			o.rows[i].w = 0
		}
	}
	d, ok := newSoilSums(o.rows, o.days, usable, k)
	if !ok {
		return ramp{}, ramp{}, false
	}
	for s0 := day - ownSoilLast; s0 <= day-ownSoilFirst; s0 += ownSoilStep {
		if s0 < first+ownSoilSeason || !d.known(first, s0, day+1) {
			continue
		}
		one := d.evaluate(func(at int64) float64 { return float64(max(0, at-s0)) })
		if one.from = s0; one.slope > 0 && one.gain > lasting.gain {
			lasting = one
		}
	}
	var tried []ramp
	for wash := day - ownSoilWashLast; wash <= day-ownSoilWashFirst; wash++ {
		jump, z := d.jump(wash)
		if z < ownSoilJumpZ || jump < ownSoilJumpLeast || jump > soilingMost || d.usableDays(wash, day+1) < ownSoilWashed {
			continue
		}
		if jump < ownSoilAlone*d.otherJumps(wash) { // the level of this plant changes like that without a wash
			continue
		}
		tried = tried[:0]
		most, ramped, flat := 0.0, 0.0, 0.0
		for s0 := wash - ownSoilLast; s0 <= wash-ownSoilFirst; s0 += ownSoilStep / 2 {
			if !d.known(first, s0, wash) {
				continue
			}
			one := d.evaluate(func(at int64) float64 {
				if at >= wash {
					return 0
				}
				return float64(max(0, at-s0))
			})
			same := d.evaluate(func(at int64) float64 {
				if at < s0 || at >= wash {
					return 0
				}
				return 1
			})
			if one.slope > 0 {
				ramped = max(ramped, one.gain)
			}
			if same.slope > 0 {
				flat = max(flat, same.gain)
			}
			// The wash restores what the decline took.
			rate := jump / float64(wash-s0)
			one.from, one.wash, one.jumpZ, one.slope = s0, wash, z, rate
			one.gain = 2*rate*one.top - rate*rate*one.den
			most = max(most, one.gain)
			tried = append(tried, one)
		}
		if most <= washed.most || flat > ownSoilFlat*ramped { // a loss of one size that was repaired is no dirt
			continue
		}
		// The latest beginning that explains nearly as much claims no more than is known.
		for _, one := range tried {
			if one.gain >= ownSoilNearly*most {
				one.most = most
				washed = one
			}
		}
	}
	return lasting, washed, true
}

// ramp is a decline that begins on a day, and the day that washed it off, if any.
type ramp struct {
	from, wash int64
	slope      float64 // share a day
	z          float64 // slope over its standard error
	gain       float64 // by which the decline reduces the weighted sum of squares
	most       float64 // gain of the beginning that explains most
	top, den   float64 // of the slope
	jumpZ      float64 // gain by the wash over its standard error
}

// soilSums evaluates shapes of a decline over the rows of a regression. It keeps the
// sums that depend on the shape for each day, so that a shape costs the number of days.
type soilSums struct {
	k      int
	days   []soilDay
	blocks [][mostTerms][mostTerms]float64 // Σ w x xᵀ
	system [mostTerms][mostTerms]float64
	rms    [mostTerms]float64
	total  float64
	first  int64
}

// soilDay are the sums of a day, with r the expected value and e the residual.
type soilDay struct {
	day    int64
	usable bool
	wrr    float64            // Σ w r²
	wre    float64            // Σ w r e
	wxr    [mostTerms]float64 // Σ w x r
	wxe    [mostTerms]float64 // Σ w x e
}

// newSoilSums prepares the sums of weighted rows whose r is the expected value.
func newSoilSums(rows []workRow, days []int64, usable map[int64]bool, k int) (d soilSums, ok bool) {
	d = soilSums{k: k, first: days[0]}
	if d.system, d.rms, d.total = normalOf(rows, k); d.total <= 0 {
		return d, false
	}
	var r [mostTerms]float64
	for i := range rows {
		for a := range k {
			r[a] += rows[i].w * rows[i].x[a] * rows[i].y
		}
	}
	coef := d.solve(r)
	for i := range rows {
		row := &rows[i]
		if n := len(d.days); n == 0 || d.days[n-1].day != days[i] {
			d.days = append(d.days, soilDay{day: days[i], usable: usable[days[i]]})
		}
		one := &d.days[len(d.days)-1]
		e := row.y
		for a := range k {
			e -= coef[a] * row.x[a]
		}
		for int(days[i]-d.first)/ownSoilBlock >= len(d.blocks) {
			d.blocks = append(d.blocks, [mostTerms][mostTerms]float64{})
		}
		m := &d.blocks[int(days[i]-d.first)/ownSoilBlock]
		one.wrr, one.wre = one.wrr+row.w*row.r*row.r, one.wre+row.w*row.r*e
		for a := range k {
			wx := row.w * row.x[a]
			one.wxr[a], one.wxe[a] = one.wxr[a]+wx*row.r, one.wxe[a]+wx*e
			for c := range k {
				m[a][c] += wx * row.x[c]
			}
		}
	}
	return d, true
}

// solve returns the coefficients of a regression whose right side is r.
func (d *soilSums) solve(r [mostTerms]float64) [mostTerms]float64 {
	for a := range d.k {
		r[a] /= d.rms[a] * d.total
	}
	forward(&d.system, &r, d.k)
	for a := range d.k {
		r[a] /= d.rms[a]
	}
	return r
}

// usableDays counts the usable days of from to before to.
func (d *soilSums) usableDays(from, to int64) (n int) {
	for i := range d.days {
		if one := &d.days[i]; one.usable && one.day >= from && one.day < to {
			n++
		}
	}
	return n
}

// jump returns by how much the first usable days from a day on exceed the last ones
// before it, as a share of the expected energy, and that over its standard error.
func (d *soilSums) jump(at int64) (size, z float64) {
	var before, after, steps []float64
	last := math.NaN()
	for i := range d.days {
		one := &d.days[i]
		if !one.usable || one.wrr <= 0 {
			continue
		}
		level := one.wre / one.wrr
		if !math.IsNaN(last) {
			steps = append(steps, math.Abs(level-last))
		}
		last = level
		switch {
		case one.day < at && one.day >= at-ownSoilJumpSpan:
			before = append(before, level)
		case one.day >= at && one.day < at+ownSoilJumpSpan:
			after = append(after, level)
		}
	}
	before = before[max(len(before)-ownSoilJumpDays, 0):]
	after = after[:min(len(after), ownSoilJumpDays)]
	if len(before) < 2 || len(after) < 2 {
		return 0, 0
	}
	sigma := 1.4826*median(steps)/math.Sqrt2 + 1e-3
	size = median(after) - median(before)
	return size, size / (sigma * math.Sqrt(1/float64(len(before))+1/float64(len(after))))
}

// otherJumps returns the largest gain that the level shows within days elsewhere: what
// the plant does without a wash. Losses do not count, because faults cause them.
func (d *soilSums) otherJumps(wash int64) (most float64) {
	last := d.days[len(d.days)-1].day
	for at := d.first + ownSoilJumpSpan; at <= last-ownSoilJumpSpan/2; at += 2 {
		if at > wash-ownSoilJumpSpan && at < wash+ownSoilJumpSpan {
			continue
		}
		if size, z := d.jump(at); z > ownSoilWashZ {
			most = max(most, size)
		}
	}
	return most
}

// known reports whether enough days precede a decline from a day, and are part of it.
func (d *soilSums) known(first, from, to int64) bool {
	return from >= first+ownSoilBefore && d.usableDays(first, from) >= ownSoilLeast && d.usableDays(from, to) >= ownSoilLeast
}

// evaluate fits a decline whose share is proportional to shape of the day, and the
// coefficients of the model next to it.
func (d *soilSums) evaluate(shape func(day int64) float64) (out ramp) {
	var right [mostTerms]float64
	for i := range d.days {
		if g := shape(d.days[i].day); g != 0 {
			for a := range d.k {
				right[a] -= g * d.days[i].wxr[a]
			}
		}
	}
	beta := d.solve(right)
	// Sums over blocks of days: of the projected decline times the residual, and squared.
	top, den := make([]float64, len(d.blocks)), make([]float64, len(d.blocks))
	for i := range d.days {
		one, g := &d.days[i], shape(d.days[i].day)
		b := int(one.day-d.first) / ownSoilBlock
		top[b] -= g * one.wre
		den[b] += g * g * one.wrr
		for a := range d.k {
			top[b] -= beta[a] * one.wxe[a]
			den[b] += 2 * g * beta[a] * one.wxr[a]
		}
	}
	sumTop, sumDen, count := 0.0, 0.0, 0.0
	for b := range d.blocks {
		m := &d.blocks[b]
		for a := range d.k {
			for c := range d.k {
				den[b] += beta[a] * m[a][c] * beta[c]
			}
		}
		sumTop, sumDen = sumTop+top[b], sumDen+den[b]
		if m[0][0] > 0 {
			count++
		}
	}
	if sumDen <= 0 {
		return out
	}
	out.slope = sumTop / sumDen
	out.top, out.den = sumTop, sumDen
	out.gain = out.slope * out.slope * sumDen
	sum := 0.0
	for b := range d.blocks {
		g := top[b] - out.slope*den[b]
		sum += g * g
	}
	out.z = out.slope * sumDen / math.Sqrt(sum*count/max(count-4, 1))
	return out
}
