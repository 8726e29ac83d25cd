package chart

import (
	"math"
	"slices"
	"strconv"

	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
)

// WaterfallStep is one bar of a waterfall.
type WaterfallStep struct {
	Name string
	// Value is a level if Total is set, and otherwise the change from the
	// level before it: losses are negative. NaN is unknown: it has no bar
	// and changes nothing.
	Value float64
	Total bool
	// Role is the bar's colour; the zero value is neutral. Colour is for
	// abnormal values.
	Role themes.Role
}

// Waterfall shows how one level becomes another: a bar to begin with, signed steps, a bar to end with, a line each. It never
// hides a step: where lines are too few, the smallest of the last steps are added up into one.
type Waterfall struct {
	Pen     Pen
	Palette *terminal.Palette
	Steps   []WaterfallStep
	// Format writes a value with its unit; nil takes three significant digits.
	Format func(float64) string
	// Stale greys everything. Selected is the selected step, -1 for none.
	Stale    bool
	Selected int

	lines []waterfallLine
}

// waterfallLine is a step as it is drawn: its bar runs between two levels.
type waterfallLine struct {
	WaterfallStep
	index          int // of the step, -1 for several
	from, to       float64
	value, percent string
}

// Draw fills a region of at least 20 columns.
func (c *Waterfall) Draw(r terminal.Region) {
	w, h := r.Size()
	if w < 20 || h < 1 || len(c.Steps) == 0 {
		c.lines = c.lines[:0]
		return
	}
	c.layOut(h)
	name, value, percent := 4, 1, 0
	low, high := math.Inf(1), 0.0
	for i := range c.lines {
		l := &c.lines[i]
		name, value, percent = max(name, terminal.Width(l.Name)), max(value, terminal.Width(l.value)), max(percent, len(l.percent))
		high = max(high, l.from, l.to)
		if low = min(low, l.to); !l.Total {
			low = min(low, l.from)
		}
	}
	low = beginning(low, high)
	name = min(name, max(w/3, 8))
	bars := w - name - 1 - value - 1
	shares := bars-percent-1 >= 10
	if shares {
		bars -= percent + 1
	}
	for y := range c.lines {
		l := &c.lines[y]
		style, quiet := c.Palette.Style(themes.Dim), c.Palette.Style(themes.Muted)
		if l.Total {
			style = c.Palette.Style(themes.Text)
		}
		if c.Stale {
			style = quiet
		}
		r.PutIn(0, y, name, l.Name, style, c.Pen == ASCII)
		r.PutRight(name+1+value, y, l.value, style)
		x := name + 1 + value + 1
		if shares {
			r.PutRight(x+percent, y, l.percent, quiet)
			x += percent + 1
		}
		if bars > 1 {
			c.bar(r.Region(terminal.Rect{X: x, Y: y, W: bars, H: 1}), l, low, high)
		}
		if c.Selected >= 0 && c.Selected == l.index {
			r.Shade(terminal.Rect{Y: y, W: w, H: 1}, c.Palette.Style(themes.Selection))
		}
	}
}

// beginning is where the axis of levels begins: zero, unless all levels are in its upper
// half. Then it begins below the lowest, so that steps of a few percent are seen.
func beginning(low, high float64) float64 {
	if low <= high/2 || math.IsInf(low, 0) {
		return min(low, 0)
	}
	return max(low-(high-low)/3, 0)
}

// StepAt returns the step drawn at a line of the region last drawn, for clicks; -1 for none or several.
func (c *Waterfall) StepAt(y int) int {
	if y < 0 || y >= len(c.lines) {
		return -1
	}
	return c.lines[y].index
}

// layOut makes at most h lines of the steps, with their levels and texts.
func (c *Waterfall) layOut(h int) {
	c.lines = c.lines[:0]
	for i, s := range c.Steps {
		c.lines = append(c.lines, waterfallLine{WaterfallStep: s, index: i})
	}
	c.fold(len(c.lines) - h)
	c.lines = c.lines[:min(len(c.lines), h)]
	level, whole := 0.0, math.NaN()
	for i := range c.lines {
		l := &c.lines[i]
		v := finite(l.Value)
		switch {
		case math.IsNaN(v):
			l.from, l.to = level, level
		case l.Total:
			l.from, l.to, level = 0, v, v
			if math.IsNaN(whole) {
				whole = v
			}
		default:
			l.from, l.to = level, level+v
			level += v
		}
		l.value, l.percent = c.text(v, !l.Total), ""
		if whole > 0 && !math.IsNaN(v) {
			l.percent = signed(v/whole*100, !l.Total, func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }) + " %"
		}
	}
}

// fold adds up the smallest steps before the last total until that many lines are saved.
func (c *Waterfall) fold(save int) {
	end := len(c.lines)
	for end > 0 && !c.lines[end-1].Total {
		end--
	}
	end = max(end-1, 0) // the last total's index
	start := end
	for start > 0 && !c.lines[start-1].Total {
		start--
	}
	n := min(save+1, end-start)
	if save <= 0 || n < 2 {
		return
	}
	order := make([]int, 0, end-start)
	for i := start; i < end; i++ {
		order = append(order, i)
	}
	size := func(i int) float64 {
		if v := math.Abs(finite(c.lines[i].Value)); !math.IsNaN(v) {
			return v
		}
		return 0
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch x, y := size(a), size(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	rest := waterfallLine{WaterfallStep: WaterfallStep{Name: strconv.Itoa(n) + " others", Value: math.NaN()}, index: -1}
	folded := map[int]bool{}
	for _, i := range order[:n] {
		folded[i] = true
		switch v := finite(c.lines[i].Value); {
		case math.IsNaN(rest.Value):
			rest.Value = v
		case !math.IsNaN(v):
			rest.Value += v
		}
	}
	kept := make([]waterfallLine, 0, len(c.lines))
	for i, l := range c.lines {
		if i == end {
			kept = append(kept, rest)
		}
		if !folded[i] {
			kept = append(kept, l)
		}
	}
	c.lines = kept
}

// text writes a value, with its sign if it is a step.
func (c *Waterfall) text(v float64, step bool) string {
	if math.IsNaN(v) {
		if c.Pen == ASCII {
			return "-"
		}
		return "–"
	}
	format := c.Format
	if format == nil {
		format = significant
	}
	return signed(v, step, format)
}

// signed writes a plus before what a step adds.
func signed(v float64, step bool, format func(float64) string) string {
	if step && v > 0 {
		return "+" + format(v)
	}
	return format(v)
}

// bar draws one line's bar to half a cell. What is not zero takes at least a half.
func (c *Waterfall) bar(r terminal.Region, l *waterfallLine, low, high float64) {
	w, _ := r.Size()
	if !(high > low) || l.from == l.to {
		return
	}
	place := func(v float64) int { return int(math.Round((v - low) / (high - low) * float64(2*w))) }
	a, b := place(min(l.from, l.to)), place(max(l.from, l.to))
	if a == b {
		// A sliver is drawn at the side towards which the step goes.
		if l.to < l.from && a > 0 || b == 2*w {
			a--
		} else {
			b++
		}
	}
	whole, left, right := '█', '▌', '▐'
	if !l.Total && c.Pen != ASCII && c.Palette.Colorless() { // without colours, steps are hatched
		whole, left, right = '▒', '▒', '▒'
	}
	role := themes.Dim
	switch {
	case l.Total && c.Pen == ASCII:
		whole, left, right = '#', '#', '#'
	case l.Total:
	case c.Pen == ASCII && l.to < l.from:
		whole, left, right = '-', '-', '-'
	case c.Pen == ASCII:
		whole, left, right = '+', '+', '+'
	case l.to < l.from && l.Role == themes.Background:
		role = themes.Muted
	}
	if l.Role != themes.Background {
		role = l.Role
	}
	style := c.Palette.Style(role)
	if c.Stale {
		style = c.Palette.Style(themes.Muted)
	}
	defer func() {
		if l.Total && low > 0 && w > 3 { // the bar does not begin at zero
			mark := '╱'
			if c.Pen == ASCII {
				mark = '/'
			}
			r.PutRune(1, 0, mark, c.Palette.Style(themes.Muted))
		}
	}()
	for x := range w {
		switch from, to := max(a-2*x, 0), min(b-2*x, 2); {
		case to <= from:
		case to-from == 2:
			r.PutRune(x, 0, whole, style)
		case from == 0:
			r.PutRune(x, 0, left, style)
		default:
			r.PutRune(x, 0, right, style)
		}
	}
}
