package chart

import (
	"math"

	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
)

// Normal is the normal range of a value. NaN limits are open.
type Normal struct{ Low, High float64 }

// Anything is the normal range of a value without limits.
var Anything = Normal{math.NaN(), math.NaN()}

// Holds reports whether a value is normal. A missing value is.
func (n Normal) Holds(v float64) bool { return !(v < n.Low || v > n.High) }

// worst returns the value farthest outside the normal range, or the last known one.
func worst(values []float64, n Normal) float64 {
	out, outside := math.NaN(), 0.0
	for _, v := range values {
		if math.IsNaN(finite(v)) {
			continue
		}
		d := max(0, n.Low-v, v-n.High) // NaN when a limit is open
		if math.IsNaN(d) {
			d = 0
			if v < n.Low {
				d = n.Low - v
			} else if v > n.High {
				d = v - n.High
			}
		}
		if d >= outside {
			out, outside = v, d
		}
	}
	return out
}

// Bar draws a value on a scale of w cells with its normal range:
// [····━━█━····]. The marker has the warning colour outside the normal range,
// and is an arrow if the value is beyond the scale. A missing value draws only
// the scale.
func Bar(r terminal.Region, x, y, w int, value, low, high float64, normal Normal, pen Pen, p *terminal.Palette) {
	inside := w - 2
	if inside < 1 || !(high > low) {
		return
	}
	track, within, marker := '·', '━', '█'
	if pen == ASCII {
		track, within, marker = '.', '=', '#'
	}
	place := func(v float64) float64 { return (v - low) / (high - low) * float64(inside) }
	from, to := 0.0, float64(inside)
	if !math.IsNaN(normal.Low) {
		from = place(normal.Low)
	}
	if !math.IsNaN(normal.High) {
		to = place(normal.High)
	}
	muted := p.Style(themes.Muted)
	r.PutRune(x, y, '[', muted)
	for i := range inside {
		if c := float64(i) + 0.5; c >= from && c <= to {
			r.PutRune(x+1+i, y, within, p.Style(themes.Dim).On(p.Style(themes.Range)))
			continue
		}
		r.PutRune(x+1+i, y, track, muted)
	}
	r.PutRune(x+1+inside, y, ']', muted)
	if math.IsNaN(value) {
		return
	}
	i := int(math.Floor(place(value)))
	switch {
	case value < low:
		i, marker = 0, '<'
	case value > high:
		i, marker = inside-1, '>'
	}
	style := p.Style(themes.Text)
	if !normal.Holds(value) {
		style = p.Style(themes.Warning).With(themes.Bold)
	}
	r.PutRune(x+1+min(max(i, 0), inside-1), y, marker, style)
}
