package interpolate

import (
	"time"

	"app.sunloop/engine/forecast"
	"app.sunloop/engine/learn/neural"
	"app.sunloop/engine/learn/tree"
)

// Model fills the gaps of one site, or of one asset of it. It may be used by
// many goroutines.
type Model struct {
	site     forecast.Site
	step     time.Duration
	peakKW   float64
	sky      *forecast.ClearSky
	fade     edgeBlend
	network  *neural.BiLSTM // nil in a model of a short history
	trees    *tree.Ensemble // the same
	weather  bool           // the learners know what to make of weather
	siblings bool           // what the siblings are worth was measured
	choices  [sightCount][classCount]choice
	report   Report
}

// choice is the method for gaps of one class. The first index of Model.choices
// is the information about the sky.
type choice struct {
	method int
	share  float32 // of the network in AdaptiveLSTM, the rest is the trees'
	plain  int     // the method where the network has nothing to say
	bands  bands
}

// Site is what the model was trained for; its capacity is the highest power
// seen where none was given.
func (m *Model) Site() forecast.Site { return m.site }

// Step is the length of the intervals it fills.
func (m *Model) Step() time.Duration { return m.step }

// Report is what its training measured.
func (m *Model) Report() Report { return m.report }

func (m *Model) capacity() float32 { return float32(m.site.CapacityKW / m.peakKW) }

// cloudEdge is the ratio to which power rises above the clear sky at the edge
// of clouds.
const cloudEdge = 1.25

// limit is a filled value within what can be: nothing at night, no more than
// the capacity and what the edge of a cloud gives.
func (m *Model) limit(v, clear float32) float32 {
	if !(clear > 0) || !(v > 0) {
		return 0
	}
	return min(v, m.capacity(), cloudEdge*clear+daylight)
}

// kw turns a share of the peak into kW: the rounding of float32 must not carry
// it above the capacity.
func (m *Model) kw(share float32) float64 {
	return min(max(float64(share)*m.peakKW, 0), m.site.CapacityKW)
}

// fillState is a scene a model fills in: on its own steps and by the hour.
type fillState struct {
	m            *Model
	fine, coarse *siteSeries
	plain        bool // the plain kernels
}

func (m *Model) stage(fine *siteSeries) *fillState {
	return &fillState{m: m, fine: fine, coarse: fine.coarse(m.site.Location.LongitudeDeg)}
}

// candidates holds the predictions of the methods for a gap's daylight steps,
// in shares of the peak, from the gap's first step.
type candidates struct {
	h        gapSteps
	v        *view
	said     [methodCount][]float32
	lines    bool // the lines have samples on both sides
	network  bool // the network has something to say
	siblings bool // the siblings have
}

// ask runs the methods up to the last one wanted. The prediction of a method
// that cannot be used is that of a simpler one.
func (g *fillState) ask(h gapSteps, sight, want int) *candidates {
	weather := sight != blind && g.cloudKnown(h)
	a := &candidates{h: h, v: g.fine.look(h, g.m.fade)}
	n := a.v.b - a.v.a
	for k := range a.said {
		a.said[k] = make([]float32, n)
	}
	bridge := a.said[isBridge]
	for k := range n {
		bridge[k] = float32(a.v.base[a.v.a+k] * g.clear(a, k))
	}
	for _, k := range [...]int{isLinear, isSpline, isSiblings, isTrees, isLSTM} {
		copy(a.said[k], bridge)
	}
	if want != isBridge && n > 0 {
		short := classes[classOf(g.span(h))].name == UpTo15Min
		if want < isBridge || want == methodCount || short {
			a.lines = a.v.lines(h, a.said[isLinear], a.said[isSpline])
		}
		if sight == bySiblings && want >= isSiblings {
			a.siblings = a.v.asSiblings(h, g.m.fade, a.said[isSiblings])
			if a.lines && short {
				for k, x := range a.said[isSpline] {
					a.said[isSiblings][k] = 0.5*a.said[isSiblings][k] + 0.5*x
				}
			}
		}
		if g.m.trees != nil && want >= isTrees {
			correction := make([]float32, n)
			g.m.trees.Predict(a.v.rows(nil, h, nil, weather), correction)
			for k, c := range correction {
				a.said[isTrees][k] += c
			}
			copy(a.said[isLSTM], a.said[isTrees])
		}
		if g.m.network != nil && want >= isLSTM {
			correction := make([]float32, n)
			if a.network = g.correct(h, weather, a.v, correction); a.network {
				for k, c := range correction {
					a.said[isLSTM][k] = bridge[k] + float32(c*g.clear(a, k))
				}
			}
		}
	}
	for _, said := range a.said {
		for k := range said {
			said[k] = g.m.limit(said[k], g.clear(a, k))
		}
	}
	return a
}

// clear returns the clear sky at the gap's k-th daylight step.
func (g *fillState) clear(a *candidates, k int) float32 { return g.fine.clear[a.v.step(a.v.a+k)] }

// decide is what fills the hole by choice c, and the method that really does.
func (a *candidates) decide(c choice, out []float32) (method int) {
	method = c.method
	if method == isLSTM && !a.network {
		method = c.plain
	}
	if method <= isSpline && !a.lines || method == isSiblings && !a.siblings {
		method = isBridge
	}
	if method != isLSTM {
		copy(out, a.said[method])
		return method
	}
	for k := range out {
		out[k] = a.mixed(c.share, k)
	}
	return method
}

// mixed returns the average of the network's and the trees' predictions, or
// that of the trees if the network has none.
func (a *candidates) mixed(share float32, k int) float32 {
	v := a.said[isTrees][k]
	if a.network {
		v = float32(share*a.said[isLSTM][k]) + float32((1-share)*v)
	}
	return v
}

// windowSteps is the daylight hours the network is trained on at once.
const windowSteps = 64

// longContext is how many daylight hours it sees on either side of a gap that
// is longer than that.
const longContext = 16

// correct writes the network's correction of the interpolated index for the
// gap's daylight steps of v. The network works on hours: on shorter steps its
// correction is interpolated linearly between the middles of hours, and is zero
// in hours that are known. It returns false if no hour is missing.
func (g *fillState) correct(h gapSteps, weather bool, v *view, out []float32) bool {
	c := g.coarse
	hours := h
	if c != g.fine {
		hours = g.hours(h)
	}
	a, b := int(c.place[hours.from]), int(c.place[hours.to])
	if a == b {
		return false
	}
	margin := max(longContext/2, (windowSteps-(b-a))/2)
	if b-a > windowSteps-longContext {
		margin = longContext
	}
	w := c.open(max(0, a-margin), min(len(c.lit), b+margin), hours)
	if missing := g.partly(w, h); !missing {
		return false
	}
	w.bridge(g.m.fade)
	n := len(w.known)
	x, said := make([]float32, n*inputCount), make([]float32, n)
	w.inputs(x, hours, 0, n, weather)
	g.m.network.Predict(x, said)
	for k, known := range w.known {
		if known {
			said[k] = 0
		}
	}
	if c == g.fine {
		copy(out, said[w.a:w.b])
		return true
	}
	for k := range out {
		out[k] = w.between(v.s.time(v.step(v.a+k)).Add(v.s.step/2), said)
	}
	return true
}

// hours is the hole on the clock's hours.
func (g *fillState) hours(h gapSteps) gapSteps {
	at := func(i int) int {
		return int(g.fine.time(i).Add(g.fine.step/2).Sub(g.coarse.start) / g.coarse.step)
	}
	return gapSteps{at(h.from), min(at(h.to-1)+1, len(g.coarse.power))}
}

// partly finds out which of a window's hidden hours are known for the better
// part after all, and whether any is missing.
func (g *fillState) partly(w *view, h gapSteps) (missing bool) {
	for k := w.a; k < w.b; k++ {
		if g.coarse != g.fine {
			i, j := g.fine.within(g.coarse, w.step(k))
			w.index[k], w.known[k] = g.fine.meanIndex(i, j, h.from, h.to)
		}
		missing = missing || !w.known[k]
	}
	return missing
}

// between is the value at t of values at the middles of the view's hours. In
// hours without daylight it is that of the nearest.
func (v *view) between(t time.Time, values []float32) float32 {
	c := v.s
	since := t.Sub(c.start)
	h := min(int(since/c.step), len(c.power)-1)
	k := min(max(int(c.place[h])-v.start, 0), len(values)-1)
	if v.step(k) != h {
		// The next one begins later; the one before may be nearer.
		if k > 0 && h-v.step(k-1) < v.step(k)-h {
			k--
		}
		return values[k]
	}
	f := float32(since-time.Duration(h)*c.step)/float32(c.step) - 0.5
	other := k + 1
	if f < 0 {
		other, f = k-1, -f
	}
	if other < 0 || other >= len(values) || v.step(other)-h > 1 || h-v.step(other) > 1 {
		return values[k]
	}
	return values[k] + float32(f*(values[other]-values[k]))
}
