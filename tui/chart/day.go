package chart

import (
	"math"
	"time"

	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
)

// Line is one series of a chart.
type Line struct {
	Name    string
	Points  Points
	Role    themes.Role
	Pattern Pattern
}

// Band is the room between two quantiles, such as P10 and P90.
type Band struct {
	Name string
	// At are stamps in Unix seconds; Low and High the limits at them, NaN where there are none.
	At        []int64
	Low, High []float64
	Step      time.Duration
}

// Day is a chart over whole site days. The axis stands still: a new sample changes the cells it is drawn in and no other.
type Day struct {
	Pen     Pen
	Palette *terminal.Palette
	// Start is any instant of the first day, Days how many there are (0 counts as 1), Location the site's zone.
	Start    time.Time
	Days     int
	Location *time.Location
	// Unit is written above the value axis. Top is the least upper end of that axis, for instance the site's capacity, so that
	// it does not jump; 0 leaves it to the data.
	Unit string
	Top  float64
	// Now is marked by a line; the zero time is not.
	Now time.Time
	// Lines are drawn in order: a later one hides an earlier one where they share a cell.
	Lines []Line
	Band  *Band
	// Stale greys everything.
	Stale bool
	// Legend names the lines above the chart, where there is room.
	Legend bool
	// Margin is the least number of columns left of the plot, so that charts stand in line.
	Margin int

	canvas canvas
	styles []terminal.Style
	ticks  []tick
	cover  []span
	text   []byte
}

// span is the part of a column that the band covers, in eighths of a cell from the bottom; empty if high <= low.
type span struct{ low, high int }

// Draw fills a region with the chart. Its ground is the palette's panel, which must be drawn already.
func (d *Day) Draw(r terminal.Region) {
	w, h := r.Size()
	if w < 8 || h < 3 {
		return
	}
	axis := newDays(d.Start, d.Days, d.Location)
	top := 0
	if h >= 6 && (d.Unit != "" || d.Legend) {
		top = 1
	}
	plotH := h - top - 1
	low, high, any := d.extent(axis)
	values := newScale(low, high, max(plotH/4, 1))
	left := d.labels(r, top, plotH, values)
	if top > 0 {
		d.head(r, left)
	}
	plot := r.Region(terminal.Rect{X: left, Y: top, W: w - left, H: plotH})
	d.hours(r.Region(terminal.Rect{X: left, Y: h - 1, W: w - left, H: 1}), axis)
	if !any {
		d.noData(plot)
		return
	}
	d.band(plot, axis, values)
	d.now(plot, axis)
	d.lines(plot, axis, values)
}

// style is a role's look, grey when stale.
func (d *Day) style(r themes.Role) terminal.Style {
	if d.Stale {
		return d.Palette.Style(themes.Muted)
	}
	return d.Palette.Style(r)
}

// extent is the range of everything drawn within the axis, and whether there is anything. It always holds zero and Top.
func (d *Day) extent(axis days) (low, high float64, any bool) {
	high = d.Top
	from, to := axis.from.Unix(), axis.to.Unix()
	see := func(at []int64, values []float64) {
		for i := range min(len(at), len(values)) {
			if v := values[i]; at[i] >= from && at[i] < to && !math.IsNaN(v) && !math.IsInf(v, 0) {
				low, high, any = min(low, v), max(high, v), true
			}
		}
	}
	for i := range d.Lines {
		see(d.Lines[i].Points.At, d.Lines[i].Points.Value)
	}
	if d.Band != nil {
		see(d.Band.At, d.Band.Low)
		see(d.Band.At, d.Band.High)
	}
	return low, high, any
}

// labels draws the value axis and returns the column after it.
func (d *Day) labels(r terminal.Region, top, plotH int, s scale) int {
	n := s.steps()
	width := 0
	for i := 0; i <= n; i++ {
		d.text = s.label(d.text[:0], s.bottom+float64(i)*s.step)
		width = max(width, len(d.text))
	}
	width = max(width, d.Margin-1)
	bar, mark := '│', '┤'
	if d.Pen == ASCII {
		bar, mark = '|', '+'
	}
	style := d.style(themes.Axis)
	for y := range plotH {
		r.PutRune(width, top+y, bar, style)
	}
	for i := 0; i <= n; i++ {
		v := s.bottom + float64(i)*s.step
		d.text = s.label(d.text[:0], v)
		y := top + row(s.place(v), plotH)
		r.PutRight(width, y, string(d.text), style)
		r.PutRune(width, y, mark, style)
	}
	return width + 1
}

// row is the cell row of a place, 0 at the bottom of the lowest and 1 at the top of the highest.
func row(place float64, h int) int {
	return min(max(h-1-int(math.Floor(place*float64(h))), 0), h-1)
}

// hours draws the time axis: a label begins at its instant, the last one ends there.
func (d *Day) hours(r terminal.Region, axis days) {
	w, _ := r.Size()
	d.ticks = axis.ticks(d.ticks[:0], w)
	style := d.style(themes.Axis)
	free := 0
	end := w
	if axis.n == 1 {
		end = w - 2
		r.Put(end, 0, hours[24], style)
		end-- // a space before it
	}
	for _, t := range d.ticks {
		x := int(axis.place(float64(t.at.Unix())) * float64(w))
		if x < free || x+len(t.label) > end {
			continue
		}
		r.Put(x, 0, t.label, style)
		free = x + len(t.label) + 1
	}
}

// head draws the unit above the value axis and the legend to the right of it.
func (d *Day) head(r terminal.Region, left int) {
	w, _ := r.Size()
	end := r.Put(max(0, left-1-terminal.Width(d.Unit)), 0, d.Unit, d.style(themes.Axis)) + 2
	if !d.Legend {
		return
	}
	x := w
	for i := len(d.Lines) - 1; i >= -1; i-- {
		var name, sample string
		var style terminal.Style
		if i >= 0 {
			l := &d.Lines[i]
			name, sample, style = l.Name, samples[d.Pen == ASCII][l.Pattern], d.style(l.Role)
		} else if d.Band != nil {
			name = d.Band.Name
			sample, style = d.bandSample()
		}
		if name == "" {
			continue
		}
		n := terminal.Width(name) + 3
		if x-n < end {
			return
		}
		x -= n
		next := r.Put(x, 0, sample, style)
		r.Put(next, 0, " "+name, d.style(themes.Dim))
		x -= 2
	}
}

// samples show each pattern in the legend.
var samples = map[bool][3]string{false: {"──", "╌╌", "┈┈"}, true: {"--", "- ", ".."}}

// noData says so in the middle of the plot.
func (d *Day) noData(plot terminal.Region) {
	const words = "no data for this day"
	w, h := plot.Size()
	plot.Put(max(0, (w-len(words))/2), h/2, words, d.style(themes.Muted))
}

// now marks the present by a line behind the others.
func (d *Day) now(plot terminal.Region, axis days) {
	if d.Now.IsZero() || d.Now.Before(axis.from) || !d.Now.Before(axis.to) {
		return
	}
	w, h := plot.Size()
	x := int(axis.place(float64(d.Now.Unix())) * float64(w))
	mark := '┊'
	if d.Pen == ASCII {
		mark = '!'
	}
	style := d.style(themes.NowLine)
	for y := range h {
		if plot.Cell(x, y).Style.BG != d.Palette.Color(themes.Band) {
			// Where the band's edge is drawn, its characters give way to the line.
			style.BG = d.Palette.Color(themes.Panel)
		} else {
			style.BG = themes.Unset
		}
		plot.PutRune(x, y, mark, style)
	}
}

// lines draws the series, each sample joined to the one before unless there is a gap.
func (d *Day) lines(plot terminal.Region, axis days, values scale) {
	w, h := plot.Size()
	d.canvas.reset(d.Pen, w, h)
	d.styles = append(d.styles[:0], terminal.Style{})
	for i := range d.Lines {
		d.styles = append(d.styles, d.style(d.Lines[i].Role))
		d.line(&d.Lines[i], uint8(min(i+1, 255)), axis, values)
	}
	d.canvas.draw(plot, d.styles)
}

func (d *Day) line(l *Line, owner uint8, axis days, values scale) {
	c := &d.canvas
	dotsW, dotsH := float64(c.w*c.dx), float64(c.h*c.dy)
	gap := l.Points.step() * 3 / 2
	shift := l.Points.shift()
	from, to := axis.from.Unix(), axis.to.Unix()
	var px, py int
	var last int64
	drawing := false
	for i := range l.Points.len() {
		at, v := l.Points.At[i], l.Points.Value[i]
		if at < from || at >= to || math.IsNaN(v) || math.IsInf(v, 0) {
			drawing = false
			continue
		}
		x := int(axis.place(float64(at)+shift) * dotsW)
		y := int(dotsH) - 1 - min(int(values.place(v)*dotsH), int(dotsH)-1)
		if !drawing || at-last > gap {
			px, py = x, y
		}
		c.line(px, py, x, y, l.Pattern, owner)
		px, py, last, drawing = x, y, at, true
	}
}
