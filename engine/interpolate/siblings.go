package interpolate

import (
	"slices"
	"time"

	"app.sunloop/engine/forecast"
	"app.sunloop/engine/learn/portable"
	"app.sunloop/engine/learn/quantile"
	"app.sunloop/engine/series"
)

// Together returns the combined power of several units, all on steps of the
// same length and alignment, in the form [Weather] requires for siblings: the
// mean over the units that reported, each as a share of its highest power.
func Together(units ...series.Series) series.Series {
	var out series.Series
	var from, to time.Time
	for _, u := range units {
		if u.Len() == 0 {
			continue
		}
		if from.IsZero() || u.Start.Before(from) {
			from = u.Start
		}
		if u.End().After(to) {
			to = u.End()
		}
		out.Step = u.Step
	}
	if out.Step <= 0 {
		return out
	}
	n := int(to.Sub(from) / out.Step)
	out.Start, out.Values = from, make([]float64, n)
	count := make([]float64, n)
	for _, u := range units {
		peak := 0.0
		for _, v := range u.Values {
			if finite(v) {
				peak = max(peak, v)
			}
		}
		if !(peak > 0) {
			continue
		}
		at := int(u.Start.Sub(from) / out.Step)
		for i, v := range u.Values {
			if finite(v) {
				out.Values[at+i] += max(v, 0) / peak
				count[at+i]++
			}
		}
	}
	for i := range out.Values {
		out.Values[i] /= count[i] // 0/0 is missing
	}
	return out
}

// siblingPeak is the percentile of the siblings' power that is used as their
// peak.
const siblingPeak = 0.99

// siblingIndex returns the clear-sky index of the siblings' power, over their
// own clear-sky level, at the middles of n steps; NaN where it is unknown.
func siblingIndex(c *forecast.ClearSky, power series.Series, start time.Time, step time.Duration, n, workers int) []float32 {
	power = notFiner(power, step)
	var lit []float32
	for _, v := range power.Values {
		if v > 0 && finite(v) {
			lit = append(lit, float32(v))
		}
	}
	if len(lit) == 0 {
		return nil
	}
	peak := float64(quantile.Select(lit, siblingPeak))
	share := make([]float32, power.Len())
	for i, v := range power.Values {
		share[i] = nan32()
		if v >= 0 && finite(v) {
			share[i] = float32(v / peak)
		}
	}
	light := c.Over(power.Start, power.Step, power.Len(), workers)
	levels := learnLevels(power.Start, power.Step, share, light.Base)
	for i, v := range share {
		clear := levels.clear(power.Time(i).Add(power.Step/2), power.Step, light.Base[i], light.Share[i])
		share[i] = nan32()
		if clear > daylight {
			share[i] = min(v/clear, topIndex)
		}
	}
	return atMiddles(power, share, start, step, n)
}

const (
	ratioHours = 24   // of daylight on either side of a hole that its ratio to the siblings is taken from
	ratioDays  = 3    // on either side, whose ratio about the same time of day is looked at
	ratioPrior = 1    // hour of full sun by which that is drawn to the ratio of the side
	faintIndex = 0.05 // below it a ratio is noise
)

// pair is a unit's energy and what it would be by the siblings' index, where
// both were measured: in shares of the peak, times steps.
type pair struct{ own, theirs float64 }

// compare accumulates over daylight steps the siblings' index and the unit's
// own.
func (s *siteSeries) compare() {
	s.pairs = make([]pair, 1, len(s.lit)+1)
	for k, i := range s.lit {
		p := s.pairs[k]
		if y, q := s.power[i], s.beside[i]; y == y && q > faintIndex {
			p.own, p.theirs = p.own+float64(y), p.theirs+float64(q*s.clear[i])
		}
		s.pairs = append(s.pairs, p)
	}
}

// pairOf is the pair of the places [a, b).
func (s *siteSeries) pairOf(a, b int) pair {
	a, b = max(a, 0), min(b, len(s.lit))
	if a >= b {
		return pair{}
	}
	return pair{s.pairs[b].own - s.pairs[a].own, s.pairs[b].theirs - s.pairs[a].theirs}
}

// daily is the pair about the time of day of step i, on the nearest days on
// either side of the hole.
func (s *siteSeries) daily(i int, h gapSteps) (sum pair) {
	perDay, half := int(24*s.perHour()), int(s.perHour())
	for _, d := range [2]int{-perDay, perDay} {
		j := i + d
		for d < 0 && j+half >= h.from || d > 0 && j-half < h.to {
			j += d
		}
		for range ratioDays {
			if from, to := max(0, j-half), min(len(s.power), j+half+1); from < to {
				p := s.pairOf(int(s.place[from]), int(s.place[to]))
				sum.own, sum.theirs = sum.own+p.own, sum.theirs+p.theirs
			}
			j += d
		}
	}
	return sum
}

// likeSiblings is what a unit's index would be by its siblings', around one hole.
type likeSiblings struct {
	v           *view
	h           gapSteps
	left, right float32 // the unit's index over the siblings', on either side
}

// ratio interpolates the ratio of the unit's index to its siblings' from one
// side to the other, at fraction w of the way, shrunk towards the ratio around
// the time of day of step i.
func (l likeSiblings) ratio(i int, w float32) float32 {
	prior := ratioPrior * float64(l.v.s.perHour())
	side := l.left + float32(w*(l.right-l.left))
	p := l.v.s.daily(i, l.h)
	return float32((p.own + float64(prior*float64(side))) / (p.theirs + prior))
}

// off returns the difference between the unit's index and the siblings'
// estimate at the k-th step of the view, next to the gap; 0 if either is
// unknown.
func (l likeSiblings) off(k int, w float32) float32 {
	if k < 0 || k >= len(l.v.known) || !l.v.known[k] {
		return 0
	}
	i := l.v.step(k)
	q := l.v.s.beside[i]
	if q != q {
		return 0
	}
	return l.v.index[k] - float32(q*l.ratio(i, w))
}

// asSiblings writes the power that the siblings' index implies for the gap's
// daylight, as a share of the peak. The ratio of the unit's own index to
// theirs, on either side of the gap and around that time of day, corrects for
// differences of the unit; its deviation at an edge decays as in the
// interpolation. Where the siblings did not report, the index is interpolated.
// It returns false if nothing is known of them in the gap or next to it.
func (v *view) asSiblings(h gapSteps, f edgeBlend, out []float32) bool {
	s := v.s
	if s.beside == nil {
		return false
	}
	a, b := v.start+v.a, v.start+v.b
	reach := int(ratioHours * s.perHour())
	before, after := s.pairOf(a-reach, a), s.pairOf(b, b+reach)
	if !(before.theirs+after.theirs > 0) {
		return false
	}
	if !(before.theirs > 0) {
		before = after
	}
	if !(after.theirs > 0) {
		after = before
	}
	like := likeSiblings{v: v, h: h, left: float32(before.own / before.theirs), right: float32(after.own / after.theirs)}
	offLeft, offRight := like.off(v.a-1, 0), like.off(v.b, 1)
	index, known := slices.Clone(v.index), slices.Clone(v.known)
	any := false
	for k := v.a; k < v.b; k++ {
		i := v.step(k)
		q := s.beside[i]
		if v.known[k] || q != q {
			continue
		}
		w := float32(0.5)
		if d := v.left[k] + v.right[k]; d < far {
			w = v.left[k] / d
		}
		x := float32(q * like.ratio(i, w))
		x += float32((1 - w) * float32(offLeft*portable.Exp32(-min(v.left[k], longest)/f.hours)))
		x += float32(w * float32(offRight*portable.Exp32(-min(v.right[k], longest)/f.hours)))
		index[k], known[k], any = min(max(x, 0), topIndex), true, true
	}
	if !any {
		return false
	}
	filled := *v
	n := len(known)
	filled.index, filled.known = index, known
	filled.base, filled.left, filled.right = make([]float32, n), make([]float32, n), make([]float32, n)
	filled.bridge(f)
	for k := range out {
		out[k] = float32(filled.base[v.a+k] * s.clear[v.step(v.a+k)])
	}
	return true
}
