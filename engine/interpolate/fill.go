package interpolate

import (
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/engine/series"
)

// Filled is one gap as it was filled.
type Filled struct {
	Gap      series.Gap
	Method   Method // that filled it, whatever was meant to
	Class    Class
	Sky      SkyInfo // what is known of the sky then
	Daylight int     // steps in daylight
	// One value a step of the gap, kW: between nothing and the capacity, zero
	// at night. The truth is expected within P10..P90 four times out of five.
	KW, P10KW, P90KW []float64
}

// fillContext is the data used on either side of a gap: the clear-sky level of
// the adjacent days needs three weeks on either side.
const fillContext = 32 * day

// weatherContext is how much of the weather is.
const weatherContext = 8 * day

// Fill fills one gap of a power series, kW, in the steps the model was trained
// for. What was measured within the gap is not looked at. A gap that is not
// within the series, or a series of other steps, is refused with [ErrUnfit].
func (m *Model) Fill(power series.Series, gap series.Gap, wx Weather) (Filled, error) {
	near := power.Slice(gap.From.Add(-fillContext), gap.To.Add(fillContext))
	near.Values = slices.Clone(near.Values)
	for i := range near.Values {
		if t := near.Time(i); !t.Before(gap.From) && t.Before(gap.To) {
			near.Values[i] = nan
		}
	}
	wx.Siblings = wx.Siblings.Slice(gap.From.Add(-fillContext), gap.To.Add(fillContext))
	wx.GHI = wx.GHI.Slice(gap.From.Add(-weatherContext), gap.To.Add(weatherContext))
	g, err := m.open(near, wx, 1)
	if err != nil {
		return Filled{}, fmt.Errorf("fill a gap of %s: %w", m.site.ID, err)
	}
	h := gapSteps{g.fine.stepFrom(gap.From), g.fine.stepFrom(gap.To)}
	if h.from >= h.to || gap.From.Before(power.Start) || gap.To.After(power.End()) {
		return Filled{}, fmt.Errorf("fill a gap of %s: %w", m.site.ID, unfit("no gap from %s to %s within power from %s to %s",
			gap.From.UTC().Format(time.RFC3339), gap.To.UTC().Format(time.RFC3339), power.Start.UTC().Format(time.RFC3339), power.End().UTC().Format(time.RFC3339)))
	}
	return g.fill(h), nil
}

// fill fills a hole by the method of its class.
func (g *fillState) fill(h gapSteps) Filled {
	m, s := g.m, g.fine
	class := classOf(g.span(h))
	sight := g.sight(h)
	c := &m.choices[sight][class]
	want := c.method
	if want < isBridge {
		want = isSpline
	}
	a := g.ask(h, sight, max(want, c.plain))
	n := a.v.b - a.v.a
	values := make([]float32, n)
	method := a.decide(*c, values)
	f := Filled{Gap: series.Gap{From: s.time(h.from), To: s.time(h.to)}, Method: methods[method], Class: classes[class].name,
		Sky: sights[sight], Daylight: n}
	f.KW, f.P10KW, f.P90KW = make([]float64, h.to-h.from), make([]float64, h.to-h.from), make([]float64, h.to-h.from)
	for i := h.from; i < h.to; i++ {
		clear := s.clear[i]
		var v, low, high float32
		switch k := int(s.place[i]) - int(s.place[h.from]); {
		case s.place[i+1] > s.place[i]: // in daylight
			v = values[k]
			low, high = m.around(c, v, clear, a.v.left[a.v.a+k], a.v.right[a.v.a+k])
		case clear > 0:
			v = m.limit(float32(g.dusk(a, values, k)*clear), clear)
			high = max(v, m.limit(clear, clear))
		}
		f.KW[i-h.from], f.P10KW[i-h.from], f.P90KW[i-h.from] = m.kw(v), m.kw(low), m.kw(high)
	}
	return f
}

// dusk is the index of a step between day and night: that of the nearest in
// daylight, k of the hole's lit steps lying before it.
func (g *fillState) dusk(a *candidates, values []float32, k int) float32 {
	at := a.v.a + max(k-1, 0)
	if len(values) == 0 {
		at = a.v.a - 1
	}
	switch {
	case at >= a.v.a && at < a.v.b:
		return values[at-a.v.a] / g.clear(a, at-a.v.a)
	case at >= 0 && at < len(a.v.base):
		return a.v.base[at]
	}
	return g.fine.middle
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
