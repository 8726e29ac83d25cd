package chart

import (
	"math"
	"strconv"
	"time"

	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
)

// HeatRow is one unit of a heat map: measured over expected at its stamps, NaN where there is nothing to compare, as at night.
type HeatRow struct {
	Name  string
	Ratio Points
}

// Heat is a map of units over the hours of a day. Cells are grey within the normal range and have a hue only outside it. A
// cell of several samples shows the one farthest from normal.
type Heat struct {
	Pen      Pen
	Palette  *terminal.Palette
	Start    time.Time
	Location *time.Location
	// From and To are the window drawn instead of Start's day, if To is
	// after From. Cursor is the selected column.
	From, To, Cursor time.Time
	Rows             []HeatRow
	// Normal is the range of ratios that stays grey; the zero value is 0.9 to 1.1.
	Normal Normal
	// First is the top row, Selected the selected row (-1 for none), both
	// counted from 0.
	First, Selected int
	// Margin is the least number of columns left of the map. Bare leaves the hours out, below a chart that has them.
	Margin int
	Bare   bool

	ticks []tick
	upper []themes.Role
	lower []themes.Role
}

// NormalRatio is the normal range of a heat map that names none.
var NormalRatio = Normal{0.9, 1.1}

// LowRatio is the normal range where more than was expected is not abnormal.
var LowRatio = Normal{NormalRatio.Low, math.Inf(1)}

// steps are the limits between the hues below and above normal.
var (
	lowSteps  = [...]float64{0.75, 0.5, 0.25}
	highSteps = [...]float64{1.25}
)

// Class returns the role of a ratio's colour.
func (n Normal) Class(ratio float64) themes.Role {
	switch {
	case math.IsNaN(ratio):
		return themes.HeatNone
	case ratio < n.Low:
		r := themes.HeatLow1
		for _, s := range lowSteps {
			if ratio < s {
				r++
			}
		}
		return r
	case ratio > n.High:
		r := themes.HeatHigh1
		for _, s := range highSteps {
			if ratio > s {
				r++
			}
		}
		return r
	}
	return themes.HeatNormal
}

// marks represent the classes without colour: HeatNone to HeatHigh2.
var (
	heatMarks      = [...]rune{' ', '·', '░', '▒', '▓', '█', '+', '^'}
	heatMarksASCII = [...]rune{' ', '.', '-', '=', 'x', '#', '+', '^'}
)

// nameWidth returns the room for units' names: the longest, at most a quarter of the width, at least what the margin leaves.
func (h *Heat) nameWidth(w int) int {
	n := max(h.Margin-2, 0)
	for i := range h.Rows {
		n = max(n, terminal.Width(h.Rows[i].Name))
	}
	return min(n, max(w/4, h.Margin-2))
}

// Left returns the number of columns left of the map in a region of that width.
func (h *Heat) Left(w int) int { return h.nameWidth(w) + 2 }

// lines returns how many lines of units a height has.
func (h *Heat) lines(height int) int {
	if h.Bare {
		return max(height, 0)
	}
	return max(height-1, 0)
}

// halves reports whether two units share a line, by half-blocks: if they would
// not fit otherwise and colour can distinguish them.
func (h *Heat) halves(lines int) bool {
	return len(h.Rows) > lines && h.Pen != ASCII && !h.Palette.Colorless()
}

// Visible returns how many units fit into a region of that height.
func (h *Heat) Visible(height int) int {
	lines := h.lines(height)
	if h.halves(lines) {
		return 2 * lines
	}
	return lines
}

// RowAt returns the unit drawn at a line of a region of that height, for
// clicks; of two the upper one. It is -1 without one.
func (h *Heat) RowAt(y, height int) int {
	lines := h.lines(height)
	if y < 0 || y >= lines {
		return -1
	}
	if h.halves(lines) {
		y *= 2
	}
	if i := h.First + y; i < len(h.Rows) {
		return i
	}
	return -1
}

// Draw fills a region with the map, the hours in its last row.
func (h *Heat) Draw(r terminal.Region) {
	w, height := r.Size()
	if w < 12 || h.lines(height) < 1 {
		return
	}
	if h.Normal == (Normal{}) {
		h.Normal = NormalRatio
	}
	axis := newDays(h.Start, 1, h.Location)
	if h.To.After(h.From) {
		axis = newWindow(h.From, h.To, h.Location)
	}
	left := h.nameWidth(w) + 2
	lines := h.lines(height)
	area := r.Region(terminal.Rect{X: left, W: w - left, H: lines})
	each := 1
	if h.halves(lines) {
		each = 2
	}
	for y := range lines {
		i := h.First + y*each
		if i >= len(h.Rows) {
			break
		}
		h.name(r, y, i, each, left-2)
		h.upper = h.classes(h.upper, i, axis, w-left)
		if each == 1 {
			h.row(area, y)
			continue
		}
		h.lower = h.classes(h.lower, i+1, axis, w-left)
		for x := range h.upper {
			area.PutRune(x, y, '▀', terminal.Style{FG: h.Palette.Color(h.upper[x]), BG: h.Palette.Color(h.lower[x])})
		}
	}
	h.cursor(area, axis)
	if h.Bare {
		return
	}
	foot := Day{Pen: h.Pen, Palette: h.Palette, axis: axis, ticks: h.ticks}
	foot.hours(r.Region(terminal.Rect{X: left, Y: lines, W: w - left, H: 1}))
	h.ticks = foot.ticks
}

// cursor draws the selected column over the map.
func (h *Heat) cursor(area terminal.Region, axis timeAxis) {
	if !axis.holds(h.Cursor) {
		return
	}
	w, lines := area.Size()
	x, mark := axis.column(h.Cursor, w), '│'
	if h.Pen == ASCII {
		mark = '|'
	}
	for y := range min(lines, (len(h.Rows) - h.First + 1)) {
		area.PutRune(x, y, mark, terminal.Style{FG: h.Palette.Color(themes.Accent)})
	}
}

// name draws a line's name and marks the selected unit; of two units that share
// a line it is the selected one or the upper one.
func (h *Heat) name(r terminal.Region, y, i, each, width int) {
	mark, style := ' ', h.Palette.Style(themes.Dim)
	if h.Selected >= i && h.Selected < i+each && h.Selected < len(h.Rows) {
		mark, style = '▌', h.Palette.Style(themes.Title)
		switch {
		case h.Pen == ASCII:
			mark = '>'
		case each == 2 && h.Selected == i:
			mark = '▘'
		case each == 2:
			mark = '▖'
		}
		i = h.Selected
	}
	r.PutIn(0, y, width, h.Rows[i].Name, style, h.Pen == ASCII)
	if mark != ' ' {
		r.PutRune(width, y, mark, h.Palette.Style(themes.Accent))
	}
}

// row draws one unit a line.
func (h *Heat) row(r terminal.Region, y int) {
	for x, class := range h.upper {
		mark, style := HeatCell(class, h.Pen, h.Palette)
		r.PutRune(x, y, mark, style)
	}
}

// HeatCell returns a class's cell: a coloured background, with a mark if colour is
// not sufficient.
func HeatCell(class themes.Role, pen Pen, p *terminal.Palette) (rune, terminal.Style) {
	monochrome := p.Colorless()
	if !monochrome && pen != ASCII {
		return ' ', terminal.Style{BG: p.Color(class)}
	}
	mark, style := heatMarks[class-themes.HeatNone], terminal.Style{}
	if pen == ASCII {
		mark = heatMarksASCII[class-themes.HeatNone]
	}
	if !monochrome {
		style.FG = p.Color(class)
	}
	return mark, style
}

// HeatLegend explains the cells of a heat map, in percent of the normal value,
// and returns the column after it. What does not fit is omitted.
func HeatLegend(r terminal.Region, x, y int, n Normal, pen Pen, p *terminal.Palette) int {
	w, _ := r.Size()
	percent := func(v float64) string { return strconv.Itoa(int(math.Round(v * 100))) }
	words := [...]string{
		percent(n.Low) + " to " + percent(n.High) + " %", "<" + percent(n.Low), "<" + percent(lowSteps[0]), "<" + percent(lowSteps[1]), "<" + percent(lowSteps[2]),
		">" + percent(n.High), ">" + percent(highSteps[0]),
	}
	shown := words[:]
	if math.IsInf(n.High, 1) {
		words[0], shown = "from "+percent(n.Low)+" %", words[:len(words)-1-len(highSteps)]
	}
	for i, text := range shown {
		if x+3+len(text) > w {
			return x
		}
		mark, style := HeatCell(themes.HeatNormal+themes.Role(i), pen, p)
		for k := range 2 {
			r.PutRune(x+k, y, mark, style)
		}
		x = r.Put(x+3, y, text, p.Style(themes.Muted)) + 2
	}
	return x
}

// classes gives each column its class. A column shorter than a sample's time
// uses the sample that covers it.
func (h *Heat) classes(dst []themes.Role, i int, axis timeAxis, w int) []themes.Role {
	dst = dst[:0]
	if i >= len(h.Rows) {
		for range w {
			dst = append(dst, themes.HeatNone)
		}
		return dst
	}
	c := columns{points: h.Rows[i].Ratio}
	for x := range w {
		values, held := c.next(axis.at(float64(x)/float64(w)), axis.at(float64(x+1)/float64(w)))
		v := held
		if len(values) > 0 {
			v = worst(values, h.Normal)
		}
		dst = append(dst, h.Normal.Class(v))
	}
	return dst
}

// columns walks points in rising spans of time.
type columns struct {
	points Points
	i      int
	step   int64
}

// next returns the values stamped within [from, to), and the value that covers
// from if there are none: that of the sample before it, within its step.
func (c *columns) next(from, to float64) (values []float64, held float64) {
	n := c.points.len()
	if c.step == 0 {
		c.step = max(c.points.step(), 1)
	}
	for c.i < n && float64(c.points.At[c.i]) < from {
		c.i++
	}
	start := c.i
	for c.i < n && float64(c.points.At[c.i]) < to {
		c.i++
	}
	held = math.NaN()
	if start == c.i && start > 0 && from < float64(c.points.At[start-1]+c.step) {
		held = c.points.Value[start-1]
	}
	return c.points.Value[start:c.i], held
}
