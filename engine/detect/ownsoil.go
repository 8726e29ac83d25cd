package detect

import (
	"math"

	"app.sunloop/engine/loss"
)

// ownSoil finds a unit whose yield on its reference sinks day by day, by one
// regression of the model and a decline that begins on some day: a model that is
// fitted first would follow the dirt.
type ownSoil struct {
	hits   int
	record *record
	seen   int64
	next   int64
	rows   []workRow
	days   []int64
	ratio  []float64
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
	ownSoilLeast  = 8  // usable days on each side
	ownSoilBlock  = 6  // days that count as one for the standard error
	ownSoilSlope  = 6e-4
	ownSoilSteep  = 5e-3
	ownSoilHits   = 2
	ownSoilStale  = 12 // days without a hit
	ownSoilRows   = 200
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
	from, slope, z, ok := o.ramp(b, u, max(v.hours(), momentLength/3600.0), day)
	limit, least := ownSoilLimits(b.ref)
	drop := slope * float64(day-from)
	hit := ok && z > limit && drop > least && slope > ownSoilSlope && slope < ownSoilSteep
	switch {
	case o.record != nil && hit:
		o.seen = day
		o.record.lastSeen, o.record.fraction = v.end(), min(drop, soilingMost)
	case o.record != nil && day-o.seen > ownSoilStale:
		o.record.end = max(o.record.lastSeen, o.record.start+1)
		o.record, o.hits = nil, 0
	case o.record == nil && hit && u.last() == nil:
		if o.hits++; o.hits >= ownSoilHits {
			o.open(v, s, k, b, u, from, day, slope, z)
		}
	case o.record == nil:
		o.hits = 0
	}
}

func (o *ownSoil) open(v *view, s *session, k int, b *baseline, u *unitLosses, from, day int64, slope, z float64) {
	f := newFacts()
	f.rating, f.level, f.spread, f.days, f.source = s.rating(k), -slope, -slope*(1-1.96/z), int(day-from), referenceWords[b.ref]
	drop := min(slope*float64(day-from), soilingMost)
	var lost loss.Ledger
	for _, d := range u.energy {
		if d.day >= from {
			share := min(slope*float64(d.day-from), soilingMost)
			lost.AddScaled(d.made, share/(1-share))
		}
	}
	o.record = s.open(&record{family: Soiling, units: []int{k}, start: v.first - (day-from)*86400, detected: v.end(), lastSeen: v.end(), losses: lost, fraction: drop, seen: f, basis: referenceNames[b.ref]})
	o.seen = day
}

// ramp is the decline that explains the last months best.
func (o *ownSoil) ramp(b *baseline, u *unitLosses, hours float64, day int64) (from int64, slope, z float64, ok bool) {
	if !b.ready {
		return 0, 0, 0, false
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
		return 0, 0, 0, false
	}
	fitted := baseline{ref: b.ref, inPlane: b.inPlane}
	coef, _, good := fitted.regress(o.rows, k, false)
	if !good {
		return 0, 0, 0, false
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
	system, rms, total := normalOf(o.rows, k)
	if total <= 0 {
		return 0, 0, 0, false
	}
	project := func(of func(i int) float64, out []float64) {
		var r [mostTerms]float64
		for i := range o.rows {
			w := o.rows[i].w * of(i)
			for a := range k {
				r[a] += w * o.rows[i].x[a]
			}
		}
		for a := range k {
			r[a] /= rms[a] * total
		}
		forward(&system, &r, k)
		for a := range k {
			r[a] /= rms[a]
		}
		for i := range o.rows {
			e := of(i)
			for a := range k {
				e -= r[a] * o.rows[i].x[a]
			}
			out[i] = e
		}
	}
	rest, decline := make([]float64, n), make([]float64, n)
	project(func(i int) float64 { return o.rows[i].y }, rest)
	best := 0.0
	for s0 := day - ownSoilLast; s0 <= day-ownSoilFirst; s0 += ownSoilStep {
		if s0 < first+ownSoilBefore {
			continue
		}
		before, after := 0, 0
		for d, yes := range usable {
			switch {
			case !yes:
			case d < s0:
				before++
			default:
				after++
			}
		}
		if before < ownSoilLeast || after < ownSoilLeast {
			continue
		}
		project(func(i int) float64 { return -o.rows[i].r * float64(max(0, o.days[i]-s0)) }, decline)
		top, den := 0.0, 0.0
		for i := range o.rows {
			top += o.rows[i].w * decline[i] * rest[i]
			den += o.rows[i].w * decline[i] * decline[i]
		}
		if den <= 0 {
			continue
		}
		r := top / den
		blocks := map[int64]float64{}
		for i := range o.rows {
			blocks[(o.days[i]-first)/ownSoilBlock] += o.rows[i].w * decline[i] * (rest[i] - r*decline[i])
		}
		sum := 0.0
		for _, g := range blocks {
			sum += g * g
		}
		count := float64(len(blocks))
		se := math.Sqrt(sum*count/max(count-4, 1)) / den
		if gain := r * r * den; r > 0 && gain > best {
			best, from, slope, z, ok = gain, s0, r, r/se, true
		}
	}
	return from, slope, z, ok
}
