package chart

import (
	"fmt"
	"math"
	"time"

	"github.com/guptarohit/asciigraph"

	"app.sunloop/internal/display"
)

// Plain is a day as text: for `status --chart`, reports and terminals that draw nothing else. It has no colours.
type Plain struct {
	Start    time.Time
	Location *time.Location
	// Columns and Rows are the size of the plot without its labels.
	Columns, Rows int
	// Unit and Caption are written below it.
	Unit, Caption string
	// ASCII draws with ASCII characters only.
	ASCII bool
	// Top is the least upper end of the value axis; 0 leaves it to the data.
	Top float64
}

// Render draws the lines, at most two that can be distinguished. Each column
// has one value, chosen here: the library would interpolate and lose peaks.
// Without any value it returns a text.
func (p Plain) Render(lines ...Points) string {
	axis := newDays(p.Start, 1, p.Location)
	data := make([][]float64, 0, len(lines))
	high, low, any := p.Top, 0.0, false
	for _, l := range lines {
		row := reduce(l, axis, max(p.Columns, 2))
		for _, v := range row {
			if !math.IsNaN(v) {
				low, high, any = min(low, v), max(high, v), true
			}
		}
		data = append(data, row)
	}
	if !any {
		return fmt.Sprintf("%s: no data for %s", p.caption(), display.Date(axis.from))
	}
	// One step a row keeps the labels round: the library writes one at every row.
	s := newScale(low, high, max(p.Rows, 2))
	rows := int(math.Ceil((s.top-s.bottom)/s.step - 1e-9))
	options := []asciigraph.Option{
		asciigraph.Height(rows),
		asciigraph.LowerBound(s.bottom),
		asciigraph.UpperBound(s.bottom + float64(rows)*s.step),
		asciigraph.Precision(uint(s.decimals)),
		asciigraph.Caption(p.caption()),
		asciigraph.XAxisRange(0, 1),
		asciigraph.XAxisTickCount(5),
		asciigraph.XAxisValueFormatter(func(place float64) string {
			if place > 0.999 {
				return hours[24]
			}
			return display.Clock(time.Unix(int64(axis.at(place)), 0).In(axis.loc))
		}),
	}
	first, second := asciigraph.DefaultCharSet, asciigraph.CreateCharSet("·")
	if p.ASCII {
		first, second = asciiChars, asciigraph.CreateCharSet(".")
	}
	sets := make([]asciigraph.CharSet, len(data))
	for i := range sets {
		sets[i] = second
	}
	sets[len(sets)-1] = first // the last line is drawn over the others
	options = append(options, asciigraph.SeriesChars(sets...))
	text := asciigraph.PlotMany(data, options...)
	if p.ASCII {
		text = asciiAxis.Replace(text)
	}
	return text
}

func (p Plain) caption() string {
	if p.Unit == "" {
		return p.Caption
	}
	return fmt.Sprintf("%s (%s)", p.Caption, p.Unit)
}

// reduce gives each column one value: of several samples the one farthest from
// their median, so that a peak or a dip of one sample is kept; without samples
// the one that covers the column's time.
func reduce(p Points, axis timeAxis, w int) []float64 {
	out := make([]float64, w)
	c := columns{points: p}
	for x := range w {
		values, held := c.next(axis.at(float64(x)/float64(w)), axis.at(float64(x+1)/float64(w)))
		out[x] = finite(held)
		if len(values) > 0 {
			out[x] = farthest(values)
		}
	}
	return out
}

// farthest returns the value farthest from the median, the later of two equally far; NaN if all are missing.
func farthest(values []float64) float64 {
	m := median(values)
	out, distance := math.NaN(), -1.0
	for _, v := range values {
		if d := math.Abs(finite(v) - m); d >= distance {
			out, distance = v, d
		}
	}
	return out
}
