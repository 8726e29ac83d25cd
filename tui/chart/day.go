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
	// Filled fills the area between the line and zero.
	Filled bool
}

// Band is the room between two quantiles, such as P10 and P90.
type Band struct {
	Name string
	// At are stamps in Unix seconds; Low and High the limits at them, NaN where there are none.
	At        []int64
	Low, High []float64
	Step      time.Duration
}

// Day is a chart over whole site days, or over a window of time. The axis does
// not move: a new sample changes only the cells in which it is drawn.
type Day struct {
	Pen     Pen
	Palette *terminal.Palette
	// Images draws the plot as an image; nil: in cells.
	Images *Images
	// Start is any instant of the first day, Days how many there are (0 counts as 1), Location the site's zone.
	Start    time.Time
	Days     int
	Location *time.Location
	// From and To are the window that is drawn instead of whole days, if To is after From.
	From, To time.Time
	// Unit is written above the value axis. Top is the least upper end of that axis, for instance the site's capacity, so that
	// it does not jump; 0 leaves it to the data.
	Unit string
	Top  float64
	// Now is marked by a line; the zero time is not.
	Now time.Time
	// Lines are drawn in order: a later one hides an earlier one where they share a cell.
	Lines []Line
	Band  *Band
	// Loss is shaded over the band and the filled area: from the measured to the
	// expected power where power is missing. Nil without one.
	Loss *Band
	// Stale greys everything.
	Stale bool
	// Legend names the lines above the chart, where there is room.
	Legend bool
	// Margin is the smallest number of columns left of the plot, to align
	// charts.
	Margin int
	// Cursor selects a column: the legend is replaced by the values at that
	// time. The zero time means none.
	Cursor time.Time
	// Format formats a value next to the cursor, without its unit; nil uses
	// three significant digits.
	Format func(float64) string
	// Events are drawn in a separate row above the time axis. An empty
	// slice keeps the row, nil omits it.
	Events []Event
	// Floating lets the value axis begin above zero, for values that are
	// never near it.
	Floating bool
	// Empty is the text shown if there is nothing to draw; "" means "no
	// data for this day".
	Empty string

	axis   timeAxis
	values scale
	at     terminal.Rect // of the plot, in the region last drawn

	canvas canvas
	styles []terminal.Style
	ticks  []tick
	cover  []span
	text   []byte
	zero   []float64
}

// span is the part of a column that the band covers, in eighths of a cell from the bottom; empty if high <= low.
type span struct{ low, high int }

// Draw fills a region with the chart. Its ground is the palette's panel, which must be drawn already.
func (d *Day) Draw(r terminal.Region) {
	w, h := r.Size()
	d.at = terminal.Rect{}
	if w < 8 || h < 3 {
		return
	}
	d.axis = newDays(d.Start, d.Days, d.Location)
	if d.To.After(d.From) {
		d.axis = newWindow(d.From, d.To, d.Location)
	}
	top, foot := 0, 1
	if h >= 6 && (d.Unit != "" || d.Legend) {
		top = 1
	}
	if h >= 7 && d.Events != nil {
		foot = 2
	}
	plotH := h - top - foot
	low, high, any := d.extent()
	d.values = newScale(low, high, max(plotH/4, 1))
	left := d.labels(r, top, plotH)
	if left >= w {
		return
	}
	if top > 0 {
		d.head(r, left)
	}
	d.at = terminal.Rect{X: left, Y: top, W: w - left, H: plotH}
	plot := r.Region(d.at)
	line := r.Region(terminal.Rect{X: left, Y: h - 1, W: w - left, H: 1})
	d.hours(line)
	if foot > 1 {
		d.events(r.Region(terminal.Rect{X: left, Y: h - 2, W: w - left, H: 1}))
	}
	if any && d.image(plot) {
		d.value(plot)
		return
	}
	if any {
		d.band(plot)
		d.areas(plot)
		d.vertical(plot, d.Now, d.style(themes.NowLine), "┊!")
	}
	d.vertical(plot, d.Cursor, d.Palette.Style(themes.Accent), "│|")
	if !any {
		d.noData(plot)
		return
	}
	d.lines(plot)
	d.value(plot)
}

// style returns a role's style, grey when stale.
func (d *Day) style(r themes.Role) terminal.Style {
	if d.Stale {
		return d.Palette.Style(themes.Muted)
	}
	return d.Palette.Style(r)
}

// extent returns the range of everything drawn within the axis, and whether
// there is anything. It always includes Top and, unless the axis floats, zero.
func (d *Day) extent() (low, high float64, any bool) {
	high = d.Top
	if d.Floating {
		low, high = math.Inf(1), math.Inf(-1)
		if d.Top != 0 {
			high = d.Top
		}
	}
	from, to := d.axis.from.Unix(), d.axis.to.Unix()
	see := func(at []int64, values []float64) {
		for i := range min(len(at), len(values)) {
			if v := values[i]; at[i] >= from && at[i] < to && !math.IsNaN(finite(v)) {
				low, high, any = min(low, v), max(high, v), true
			}
		}
	}
	for i := range d.Lines {
		see(d.Lines[i].Points.At, d.Lines[i].Points.Value)
	}
	for _, b := range []*Band{d.Band, d.Loss} {
		if b != nil {
			see(b.At, b.Low)
			see(b.At, b.High)
		}
	}
	if !any && d.Floating {
		low, high = 0, d.Top
	}
	return low, high, any
}

// labels draws the value axis and returns the column after it.
func (d *Day) labels(r terminal.Region, top, plotH int) int {
	s := d.values
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

// row returns the cell row of a place, 0 at the bottom of the lowest and 1 at the top of the highest.
func row(place float64, h int) int {
	return min(max(h-1-int(math.Floor(place*float64(h))), 0), h-1)
}

// hours draws the time axis: a label begins at its instant, the last one ends there.
func (d *Day) hours(r terminal.Region) {
	w, _ := r.Size()
	axis := d.axis
	d.ticks = axis.ticks(d.ticks[:0], w)
	style := d.style(themes.Axis)
	free := 0
	end := w
	at, label := d.cursorLabel(w)
	if axis.n == 1 && at+len(label) < w-2 {
		end = w - 2
		r.Put(end, 0, hours[24], style)
		end-- // a space before it
	}
	r.Put(at, 0, label, d.Palette.Style(themes.Accent).On(d.Palette.Style(themes.Panel)).Inverse())
	for _, t := range d.ticks {
		x := int(axis.place(float64(t.at.Unix())) * float64(w))
		if x < free || x+len(t.label) > end || label != "" && x <= at+len(label) && x+len(t.label) >= at {
			continue
		}
		r.Put(x, 0, t.label, style)
		free = x + len(t.label) + 1
	}
}

// noData writes the empty text in the middle of the plot.
func (d *Day) noData(plot terminal.Region) {
	words := d.Empty
	if words == "" {
		words = "no data for this day"
	}
	w, h := plot.Size()
	plot.PutIn(max(0, (w-terminal.Width(words))/2), h/2, w, words, d.style(themes.Muted), d.Pen == ASCII)
}

// lines draws the series, each sample joined to the one before unless there is a gap.
func (d *Day) lines(plot terminal.Region) {
	w, h := plot.Size()
	d.canvas.reset(d.Pen, w, h)
	d.styles = append(d.styles[:0], terminal.Style{})
	for i := range d.Lines {
		d.styles = append(d.styles, d.style(d.Lines[i].Role))
		d.line(&d.Lines[i], uint8(min(i+1, 255)))
	}
	d.canvas.draw(plot, d.styles)
}

// pattern is how a line is drawn: dashes only distinguish lines that have no colour.
func (d *Day) pattern(l *Line) Pattern {
	if l.Pattern == Dashed && !d.Palette.Colorless() {
		return Solid
	}
	return l.Pattern
}

// line draws one series. The samples next to a window's ends are joined to those within.
func (d *Day) line(l *Line, owner uint8) {
	c := &d.canvas
	dotsW, dotsH := float64(c.w*c.dx), float64(c.h*c.dy)
	gap := l.Points.step() * 3 / 2
	shift := l.Points.shift()
	from, to := d.axis.from.Unix(), d.axis.to.Unix()
	var px, py int
	var last int64
	drawing := false
	for i := range l.Points.len() {
		at, v := l.Points.At[i], l.Points.Value[i]
		if at < from-gap || math.IsNaN(finite(v)) {
			drawing = false
			continue
		}
		joined := drawing && at-last <= gap
		if at >= to && !joined {
			return
		}
		x := int(math.Floor(d.axis.place(float64(at)+shift) * dotsW))
		y := int(dotsH) - 1 - min(int(math.Floor(d.values.place(v)*dotsH)), int(dotsH)-1)
		if !joined {
			px, py = x, y
		}
		c.line(px, py, x, y, d.pattern(l), owner)
		if at >= to {
			return
		}
		px, py, last, drawing = x, y, at, true
	}
}
