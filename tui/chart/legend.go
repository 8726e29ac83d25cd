package chart

import (
	"math"
	"strconv"
	"time"

	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
)

// samples show each pattern in the legend.
var samples = map[bool][3]string{false: {"──", "╌╌", "┈┈"}, true: {"--", "- ", ".."}}

// head draws the unit above the value axis and to the right of it the legend, with a cursor together with the values there.
func (d *Day) head(r terminal.Region, left int) {
	w, _ := r.Size()
	end := r.Put(max(0, left-1-terminal.Width(d.Unit)), 0, d.Unit, d.style(themes.Axis)) + 2
	reading := d.axis.holds(d.Cursor)
	if !d.Legend && !reading {
		return
	}
	x := w
	for k := range len(d.Lines) + 1 {
		i := len(d.Lines) - 1 - k
		if reading && k > 1 { // values need space: those of the band are more useful than those of lines behind it
			i = len(d.Lines) - k
			if k == 2 {
				i = -1
			}
		}
		var name, sample string
		var style terminal.Style
		switch {
		case i >= 0:
			l := &d.Lines[i]
			name, sample, style = l.Name, samples[d.Pen == ASCII][d.pattern(l)], d.style(l.Role)
		case d.Band != nil:
			name = d.Band.Name
			sample, style = d.bandSample()
		}
		if name == "" {
			continue
		}
		value := ""
		if reading {
			value = " " + d.valueAt(i)
		}
		n := terminal.Width(name) + 3 + terminal.Width(value)
		if x-n < end {
			return
		}
		x -= n
		next := r.Put(x, 0, sample, style)
		next = r.Put(next, 0, " "+name, d.style(themes.Dim))
		r.Put(next, 0, value, d.style(themes.Text))
		x -= 2
	}
}

// Reading is what a line has at an instant. NaN is missing.
type Reading struct {
	Name  string
	Value float64
}

// Readings returns the values of all lines at an instant, in their order: each
// from the sample that covers it.
func (d *Day) Readings(t time.Time) []Reading {
	out := make([]Reading, len(d.Lines))
	for i := range d.Lines {
		out[i] = Reading{d.Lines[i].Name, d.Lines[i].Points.Standing(t.Unix())}
	}
	return out
}

// valueAt writes what line i has at the cursor, and for -1 the band's limits.
func (d *Day) valueAt(i int) string {
	at := d.Cursor.Unix()
	if i >= 0 {
		return d.format(d.Lines[i].Points.Standing(at))
	}
	low := Points{At: d.Band.At, Value: d.Band.Low, Step: d.Band.Step}.Standing(at)
	high := Points{At: d.Band.At, Value: d.Band.High, Step: d.Band.Step}.Standing(at)
	if math.IsNaN(low) || math.IsNaN(high) {
		return d.format(math.NaN())
	}
	if d.Pen == ASCII {
		return d.format(low) + " to " + d.format(high)
	}
	return d.format(low) + "–" + d.format(high)
}

// format writes a value for the head.
func (d *Day) format(v float64) string {
	switch {
	case math.IsNaN(v) && d.Pen == ASCII:
		return "-"
	case math.IsNaN(v):
		return "–"
	case d.Format != nil:
		return d.Format(v)
	}
	return significant(v)
}

// significant writes three significant digits without an exponent.
func significant(v float64) string {
	digits := 2
	switch a := math.Abs(v); {
	case a >= 99.95 || a < 5e-4:
		digits = 0
	case a >= 9.995:
		digits = 1
	}
	if math.Abs(v) < 5e-4 {
		v = 0 // never "-0"
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}
