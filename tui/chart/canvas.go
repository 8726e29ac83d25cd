// Package chart draws measurements into cells: a day or a window of time with its expected band, trends, sparklines, bars with
// their normal range, heat maps of units, calendars, loss waterfalls, and plain text charts for scripts and readers.
//
// Nothing is smoothed or resampled: every sample is drawn, a column of many shows their extremes, a gap stays a gap. Charts
// keep their scratch memory from frame to frame, so a pane keeps its chart.
package chart

import (
	"math"
	"slices"
	"strings"

	"github.com/guptarohit/asciigraph"

	"app.sunloop/tui/terminal"
)

// Pen is what lines are drawn with.
type Pen uint8

// The pens, from finest to most compatible.
const (
	// Braille has 2×4 dots a cell.
	Braille Pen = iota
	// Block has 2×2 quadrants a cell, for fonts without braille.
	Block
	// ASCII has two heights a cell and uses no other characters.
	ASCII
)

// ParsePen reads the value of the graph flag: auto, braille, block or ascii. With
// auto, term, the value of TERM, decides: fonts of the Linux console have no braille.
func ParsePen(s, term string) (Pen, bool) {
	switch s {
	case "auto", "":
		if term == "linux" {
			return Block, true
		}
		return Braille, true
	case "braille":
		return Braille, true
	case "block":
		return Block, true
	case "ascii":
		return ASCII, true
	}
	return Braille, false
}

// dots returns a pen's resolution in a cell.
func (p Pen) dots() (dx, dy int) {
	switch p {
	case Block:
		return 2, 2
	case ASCII:
		return 1, 2
	}
	return 2, 4
}

var (
	// brailleBits are the bits of U+2800 by row and column.
	brailleBits = [4][2]uint8{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}
	// quadrants are indexed by left top 1, right top 2, left bottom 4, right bottom 8.
	quadrants = [16]rune{' ', '▘', '▝', '▀', '▖', '▌', '▞', '▛', '▗', '▚', '▐', '▜', '▄', '▙', '▟', '█'}
	// halves are indexed by top 1, bottom 2.
	halves = [4]rune{' ', '\'', '.', ':'}
)

// bit returns the mask of a dot within its cell.
func (p Pen) bit(x, y int) uint8 {
	switch p {
	case Block:
		return 1 << (2*y + x)
	case ASCII:
		return 1 << y
	}
	return brailleBits[y][x]
}

// glyph returns the character of a cell's dots.
func (p Pen) glyph(mask uint8) rune {
	switch p {
	case Block:
		return quadrants[mask&15]
	case ASCII:
		return halves[mask&3]
	}
	return 0x2800 + rune(mask)
}

// Pattern distinguishes lines without colour.
type Pattern uint8

// The patterns.
const (
	Solid Pattern = iota
	Dashed
	Dotted
)

// shows reports whether the pattern has ink in a column of dots.
func (p Pattern) shows(x int) bool {
	switch p {
	case Dashed:
		return x%6 < 3
	case Dotted:
		return x%3 == 0
	}
	return true
}

// canvas is a raster of dots over cells. A cell has one colour: that of the line drawn last.
type canvas struct {
	pen    Pen
	w, h   int // cells
	dx, dy int // dots a cell
	mask   []uint8
	owner  []uint8
}

// reset blanks the canvas at a size in cells.
func (c *canvas) reset(pen Pen, w, h int) {
	c.pen, c.w, c.h = pen, max(w, 0), max(h, 0)
	c.dx, c.dy = pen.dots()
	n := c.w * c.h
	if cap(c.mask) < n {
		c.mask, c.owner = make([]uint8, n), make([]uint8, n)
	}
	c.mask, c.owner = c.mask[:n], c.owner[:n]
	clear(c.mask)
	clear(c.owner)
}

// dot sets one dot, counted from the top left. It ignores dots outside of the canvas.
func (c *canvas) dot(x, y int, owner uint8) {
	if x < 0 || y < 0 || x >= c.w*c.dx || y >= c.h*c.dy {
		return
	}
	i := y/c.dy*c.w + x/c.dx
	if c.owner[i] != owner {
		// Dots of another line in this cell would be drawn in our
		// colour.
		c.mask[i], c.owner[i] = 0, owner
	}
	c.mask[i] |= c.pen.bit(x%c.dx, y%c.dy)
}

// line connects two dots (Bresenham).
func (c *canvas) line(x0, y0, x1, y1 int, pattern Pattern, owner uint8) {
	dx, dy := abs(x1-x0), -abs(y1-y0)
	sx, sy := sign(x1-x0), sign(y1-y0)
	e := dx + dy
	for {
		if pattern.shows(x0) {
			c.dot(x0, y0, owner)
		}
		if x0 == x1 && y0 == y1 {
			return
		}
		e2 := 2 * e
		if e2 >= dy {
			e += dy
			x0 += sx
		}
		if e2 <= dx {
			e += dx
			y0 += sy
		}
	}
}

// draw puts the dots into a region, each cell in the style of its line; the background stays.
func (c *canvas) draw(r terminal.Region, styles []terminal.Style) {
	for y := range c.h {
		for x := range c.w {
			i := y*c.w + x
			if m := c.mask[i]; m != 0 {
				r.PutRune(x, y, c.pen.glyph(m), styles[c.owner[i]])
			}
		}
	}
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

// median of the known values, the lower one of an even number; NaN if there are none.
func median(values []float64) float64 {
	there := make([]float64, 0, len(values))
	for _, v := range values {
		if !math.IsNaN(finite(v)) {
			there = append(there, v)
		}
	}
	if len(there) == 0 {
		return math.NaN()
	}
	slices.Sort(there)
	return there[(len(there)-1)/2]
}

// asciiChars draw a line without box characters, asciiAxis does the same to what the library draws for axes.
var (
	asciiChars = asciigraph.CharSet{
		Horizontal: "-", VerticalLine: "|", ArcDownRight: ".", ArcDownLeft: ".", ArcUpRight: "'", ArcUpLeft: "'",
		EndCap: "-", StartCap: "-", UpRight: "+", DownHorizontal: "+",
	}
	asciiAxis = strings.NewReplacer("┤", "|", "┼", "+", "└", "+", "┬", "+", "─", "-", "│", "|", "╴", "-", "╶", "-")
)
