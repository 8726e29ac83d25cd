package chart

import (
	"math"
	"time"

	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
)

// Calendar is a heat map of days, as weeks side by side with a line for each weekday, or of months, with a line for each year.
// A value that is missing is shown as missing, which is not the same as zero.
type Calendar struct {
	Pen     Pen
	Palette *terminal.Palette
	// Start is the first day, or in the variant of Months any day of the first month; Values has one for each from there on.
	// Only the date of Start counts.
	Start  time.Time
	Values []float64
	Months bool
	// Normal is the range that stays grey, for ratios that have one: hues show what lies outside, as in [Heat]. The zero value
	// shades by size from Low to High instead; where these are equal from zero to the greatest value.
	Normal    Normal
	Low, High float64
	// Format writes a value in the legend; nil takes three significant digits.
	Format func(float64) string
	// Selected is the selected value, -1 for none.
	Selected int

	first int // day number of the Monday in the first column
	cell  int // columns a value
	left  int // columns before the values
	cells int // values side by side

	low, high float64 // range of the shades
}

// shades are the steps of size from low to high; ASCII has its own.
var shades = map[bool][4]rune{false: {'░', '▒', '▓', '█'}, true: {'-', '=', 'x', '#'}}

// missing is the mark of a missing value.
var missing = map[bool]rune{false: '╌', true: '?'}

var (
	weekdays = [7]string{"Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"}
	months   = [12]string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
)

// Draw fills a region with the calendar; its legend uses the last line if there
// is room. Days need nine lines with it, months two and one for each year. If
// there are more weeks or years than fit, the last ones are shown, or those
// with the selected value.
func (c *Calendar) Draw(r terminal.Region) {
	w, h := r.Size()
	c.cell = 0
	c.low, c.high = c.scale()
	if len(c.Values) == 0 || w < 12 || h < 2 {
		return
	}
	if c.Months {
		c.drawMonths(r)
		return
	}
	c.left = 3
	start := dayNumber(c.Start)
	monday := start - mod(start-firstMonday, 7)
	weeks := (start+len(c.Values)-1-monday)/7 + 1
	c.cell = 1
	if weeks*2 <= w-c.left {
		c.cell = 2
	}
	c.cells = min((w-c.left)/c.cell, weeks)
	hidden := weeks - c.cells
	if c.Selected >= 0 && c.Selected < len(c.Values) {
		hidden = min(hidden, (start+c.Selected-monday)/7)
	}
	c.first = monday + 7*hidden
	free := 0
	for week := range c.cells {
		x := c.left + week*c.cell
		// A month's name is above the week in which it begins.
		sunday := civil(c.first + 7*week + 6)
		if name := sunday.Format("Jan"); sunday.Day() <= 7 && x >= free && x+3 <= w {
			if sunday.Month() == time.January && x+4 <= w {
				name = sunday.Format("2006")
			}
			free = r.Put(x, 0, name, c.Palette.Style(themes.Dim)) + 1
		}
		for day := range 7 {
			if i := c.first + 7*week + day - start; i >= 0 && i < len(c.Values) && day+1 < h {
				c.put(r, x, day+1, i)
			}
		}
	}
	for day := range min(7, h-1) {
		r.Put(0, day+1, weekdays[day], c.Palette.Style(themes.Muted))
	}
	if h > 8 {
		c.legend(r.Region(terminal.Rect{Y: 8, W: w, H: 1}))
	}
}

// drawMonths draws a line for each year.
func (c *Calendar) drawMonths(r terminal.Region) {
	w, h := r.Size()
	c.left, c.cells = 5, 12
	c.cell = min((w-c.left)/12, 6)
	if c.cell < 1 {
		c.cell = 0
		return
	}
	offset := int(c.Start.Month()) - 1
	years := (offset+len(c.Values)-1)/12 + 1
	lines := min(years, h-1)
	if h > 3 { // and the legend
		lines = min(years, h-2)
	}
	hidden := years - lines
	if c.Selected >= 0 && c.Selected < len(c.Values) {
		hidden = min(hidden, (offset+c.Selected)/12)
	}
	c.first = 12*hidden - offset // index of the first January
	for m, name := range months {
		if c.cell < 4 {
			name = name[:1]
		}
		r.Put(c.left+m*c.cell, 0, name, c.Palette.Style(themes.Dim))
	}
	for y := range lines {
		r.Put(0, y+1, civilYear(c.Start.Year()+hidden+y), c.Palette.Style(themes.Muted))
		for m := range 12 {
			if i := c.first + 12*y + m; i >= 0 && i < len(c.Values) {
				c.put(r, c.left+m*c.cell, y+1, i)
			}
		}
	}
	if h > lines+1 {
		c.legend(r.Region(terminal.Rect{Y: lines + 1, W: w, H: 1}))
	}
}

func civilYear(y int) string { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC).Format("2006") }

// civil returns the date of a day number.
func civil(number int) time.Time {
	return time.Date(1970, 1, 1+number, 0, 0, 0, 0, time.UTC)
}

// mod returns the remainder that is never negative.
func mod(a, n int) int { return ((a % n) + n) % n }

// put draws value i into its cell.
func (c *Calendar) put(r terminal.Region, x, y, i int) {
	mark, style := c.look(c.Values[i])
	if i == c.Selected {
		if mark = '╳'; c.Pen == ASCII { // a full block in inverse would be empty
			mark = '@'
		}
		style.FG = c.Palette.Color(themes.Text)
		if panel := c.Palette.Color(themes.Panel); themes.Contrast(panel, style.BG) > themes.Contrast(style.FG, style.BG) {
			style.FG = panel
		}
	}
	for k := range c.cell {
		if c.cell > 2 && k == c.cell-1 {
			break // months are separate
		}
		r.PutRune(x+k, y, mark, style)
	}
}

// look returns the character and style of a value.
func (c *Calendar) look(v float64) (rune, terminal.Style) {
	ascii := c.Pen == ASCII
	v = finite(v)
	if math.IsNaN(v) {
		return missing[ascii], c.Palette.Style(themes.Muted)
	}
	if c.Normal != (Normal{}) {
		return HeatCell(c.Normal.Class(v), c.Pen, c.Palette)
	}
	step := 0
	if c.high > c.low {
		step = min(max(int((v-c.low)/(c.high-c.low)*4), 0), 3)
	}
	return shades[ascii][step], c.Palette.Style(themes.Dim)
}

// scale returns the range of the shades.
func (c *Calendar) scale() (low, high float64) {
	if c.High > c.Low {
		return c.Low, c.High
	}
	for _, v := range c.Values {
		if v = finite(v); !math.IsNaN(v) {
			high = max(high, v)
		}
	}
	return 0, high
}

// legend explains the shades.
func (c *Calendar) legend(r terminal.Region) {
	ascii := c.Pen == ASCII
	gone := string(missing[ascii]) + " missing"
	x := 0
	if c.Normal != (Normal{}) {
		x = HeatLegend(r, 0, 0, c.Normal, c.Pen, c.Palette)
	} else {
		format := c.Format
		if format == nil {
			format = significant
		}
		for i, shade := range shades[ascii] {
			text := string(shade) + " to " + format(c.low+(c.high-c.low)*float64(i+1)/4)
			if !fits(r, x, text) {
				return
			}
			x = r.Put(x, 0, text, c.Palette.Style(themes.Dim)) + 2
		}
	}
	if fits(r, x, gone) {
		r.Put(x, 0, gone, c.Palette.Style(themes.Muted))
	}
}

func fits(r terminal.Region, x int, text string) bool {
	w, _ := r.Size()
	return x+terminal.Width(text) <= w
}
