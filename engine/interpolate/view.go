package interpolate

import (
	"time"

	"app.sunloop/engine/learn/portable"
)

// gapSteps is a gap in a scene: its steps [from, to) are not known, or are taken
// as not known.
type gapSteps struct{ from, to int }

// view is a stretch of daylight steps of a scene with a hole in it. All slices
// are by place less start.
type view struct {
	s           *siteSeries
	start       int       // place of the first
	a, b        int       // the hole's daylight steps are [a, b) here
	index       []float32 // where known
	known       []bool
	base        []float32 // the bridge; the index where known
	left, right []float32 // hours to the nearest known step; far without one
}

// far is the distance, in hours, of an edge that is not there.
const far = 1e6

// edgeBlend holds the parameters of the interpolation at an edge.
type edgeBlend struct {
	hours float32 // in which an edge's last value fades into its mean
}

const (
	edgeHours = 1.5 // of daylight that an edge's mean takes
	viewHours = 10  // of daylight around a hole
	searchFor = 40  // days at most to look for a known step
)

func (s *siteSeries) edgeSteps() int { return max(2, int(edgeHours*s.perHour())) }

// look returns the view around a gap, wide enough for both edges.
func (s *siteSeries) look(h gapSteps, f edgeBlend) *view {
	a, b := int(s.place[h.from]), int(s.place[h.to])
	margin := max(6*s.edgeSteps(), int(viewHours*s.perHour()))
	limit := int(searchFor*12*s.perHour()) + margin
	known := func(p int) bool {
		i := s.lit[p]
		return s.power[i] == s.power[i]
	}
	from := a
	for from > 0 && a-from < limit && (a == from || !known(from)) {
		from--
	}
	to := b
	for to < len(s.lit) && to-b < limit && (to == b || !known(to-1)) {
		to++
	}
	v := s.open(max(0, from-margin), min(len(s.lit), to+margin), h)
	v.bridge(f)
	return v
}

// open takes the places [from, to) with a hole hidden.
func (s *siteSeries) open(from, to int, h gapSteps) *view {
	n := to - from
	v := &view{s: s, start: from, a: int(s.place[h.from]) - from, b: int(s.place[h.to]) - from,
		index: make([]float32, n), known: make([]bool, n), base: make([]float32, n), left: make([]float32, n), right: make([]float32, n)}
	for k := range n {
		i := int(s.lit[from+k])
		if p := s.power[i]; p == p && (i < h.from || i >= h.to) {
			v.known[k], v.index[k] = true, s.index[i]
		}
	}
	return v
}

// step is the scene's step of the k-th of the view.
func (v *view) step(k int) int { return int(v.s.lit[v.start+k]) }

// bridge interpolates the index across all unknown steps. A missing edge is
// replaced by the other edge, or by the site's mean.
func (v *view) bridge(f edgeBlend) {
	for k := 0; k < len(v.known); {
		if v.known[k] {
			v.base[k] = v.index[k]
			k++
			continue
		}
		to := k
		for to < len(v.known) && !v.known[to] {
			to++
		}
		v.span(k, to, f)
		k = to
	}
}

func (v *view) span(a, b int, f edgeBlend) {
	hours := func(k int) float32 { return float32(v.step(k)) / v.s.perHour() }
	hasLeft, hasRight := a > 0, b < len(v.known)
	var left, right, leftLast, rightLast, tl, tr float32
	if hasLeft {
		left, leftLast, tl = v.edge(a-1, -1, v.s.edgeSteps()), v.index[a-1], hours(a-1)
	}
	if hasRight {
		right, rightLast, tr = v.edge(b, 1, v.s.edgeSteps()), v.index[b], hours(b)
	}
	own := float32(v.s.step) / float32(time.Hour)
	for k := a; k < b; k++ {
		t := hours(k)
		v.left[k], v.right[k] = far, far
		l, r := left, right
		if hasLeft {
			v.left[k] = t - tl
			l += float32((leftLast - left) * portable.Exp32(-(t-tl-own)/f.hours))
		}
		if hasRight {
			v.right[k] = tr - t
			r += float32((rightLast - right) * portable.Exp32(-(tr-t-own)/f.hours))
		}
		switch {
		case hasLeft && hasRight:
			v.base[k] = l + float32((t-tl)/(tr-tl)*(r-l))
		case hasLeft:
			v.base[k] = l
		case hasRight:
			v.base[k] = r
		default:
			v.base[k] = v.s.middle
		}
	}
}

// edge is the index, weighted by light, of n places from k on in direction d,
// as far as they are known.
func (v *view) edge(k, d, n int) float32 {
	var power, clear float32
	for ; n > 0 && k >= 0 && k < len(v.known); k, n = k+d, n-1 {
		if v.known[k] {
			c := v.s.clear[v.step(k)]
			power, clear = power+float32(v.index[k]*c), clear+c
		}
	}
	if !(clear > 0) {
		return v.s.middle
	}
	return power / clear
}
