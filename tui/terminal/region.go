package terminal

import (
	"unicode/utf8"

	"app.sunloop/themes"
)

// Region is a rectangle of a Grid to draw into. Its coordinates start at its own left top corner; whatever lies outside is
// not drawn. It is a small value: pass it, do not keep it beyond a frame.
type Region struct {
	grid *Grid
	rect Rect // where the region's origin and size lie on the grid
	clip Rect // what of it may be drawn
}

// Size returns the region's width and height in cells.
func (r Region) Size() (w, h int) { return r.rect.W, r.rect.H }

// Bounds returns the region in its own coordinates: it begins at 0, 0.
func (r Region) Bounds() Rect { return Rect{0, 0, r.rect.W, r.rect.H} }

// Screen returns the region's place on the grid, for hit-testing.
func (r Region) Screen() Rect { return r.rect }

// Region returns the part inside a rectangle given in this region's coordinates.
func (r Region) Region(sub Rect) Region {
	sub.X += r.rect.X
	sub.Y += r.rect.Y
	sub.W, sub.H = max(sub.W, 0), max(sub.H, 0)
	return Region{r.grid, sub, sub.Intersect(r.clip)}
}

// Inset returns the region without n cells on every side.
func (r Region) Inset(n int) Region { return r.Region(r.Bounds().Inset(n)) }

// Cell returns the cell at a place of the region; a blank one outside.
func (r Region) Cell(x, y int) Cell {
	x, y = x+r.rect.X, y+r.rect.Y
	if !r.clip.Contains(x, y) {
		return blank
	}
	return r.grid.cells[y*r.grid.w+x]
}

// Put draws one line of text from x, y to the right and returns the x after it. The text takes the background that is there
// unless the style has one; its attributes replace those that are there. Clusters without width, controls among them, are
// never drawn. A wide character cut by the region's edge becomes a space.
func (r Region) Put(x, y int, text string, s Style) int {
	gy := y + r.rect.Y
	row := r.clip.W > 0 && gy >= r.clip.Y && gy < r.clip.Y+r.clip.H
	left, right := r.clip.X, r.clip.X+r.clip.W
	for len(text) > 0 {
		cluster, w := next(text)
		text = text[len(cluster):]
		gx := x + r.rect.X
		x += w
		switch {
		case w == 0 || !row || gx+w <= left || gx >= right:
		case gx < left:
			r.grid.put(left, gy, " ", 1, blankStyle(s))
		case gx+w > right:
			r.grid.put(gx, gy, " ", 1, blankStyle(s))
		default:
			r.grid.put(gx, gy, cluster, w, s)
		}
	}
	return x
}

// PutRight draws text so that it ends before x, cut on the left if it must be, and returns where it begins.
func (r Region) PutRight(x, y int, text string, s Style) int {
	start := x - Width(text)
	r.Put(start, y, text, s)
	return start
}

// PutIn draws text within width cells, marked where it was cut, and returns the x after it.
func (r Region) PutIn(x, y, width int, text string, s Style, ascii bool) int {
	return r.Put(x, y, Truncate(text, width, ascii), s)
}

// PutRune draws one rune of width one, such as a border or a braille pattern, without allocating for those.
func (r Region) PutRune(x, y int, c rune, s Style) {
	gx, gy := x+r.rect.X, y+r.rect.Y
	if !r.clip.Contains(gx, gy) || hidden(c) {
		return
	}
	r.grid.put(gx, gy, glyph(c), 1, s)
}

// Fill gives every cell of a rectangle one rune and exactly this style.
func (r Region) Fill(area Rect, c rune, s Style) {
	area.X += r.rect.X
	area.Y += r.rect.Y
	area = area.Intersect(r.clip)
	cell := Cell{Text: glyph(c), Style: s, Width: 1}
	for y := area.Y; y < area.Y+area.H; y++ {
		for x := area.X; x < area.X+area.W; x++ {
			r.grid.set(x, y, cell)
		}
	}
}

// Clear blanks the whole region with a style, usually a ground of the palette.
func (r Region) Clear(s Style) { r.Fill(r.Bounds(), ' ', s) }

// ShadeRow marks a drawn rectangle as Shade does, but leaves the cells alone that
// have another background than ground: what is drawn inverse, such as the
// priority of an alarm, keeps its colours.
func (r Region) ShadeRow(area Rect, s, ground Style) {
	for y := area.Y; y < area.Y+area.H; y++ {
		for x := area.X; x < area.X+area.W; x++ {
			at := Rect{X: x, Y: y, W: 1, H: 1}
			gx, gy := x+r.rect.X, y+r.rect.Y
			if s.BG != themes.Unset && r.clip.Contains(gx, gy) && r.grid.cells[gy*r.grid.w+gx].Style.BG != ground.BG {
				continue
			}
			r.Shade(at, s)
		}
	}
}

// Recolor gives the text in a drawn rectangle that has the colour of one style the
// colour of another.
func (r Region) Recolor(area Rect, from, to Style) {
	area.X += r.rect.X
	area.Y += r.rect.Y
	area = area.Intersect(r.clip)
	for y := area.Y; y < area.Y+area.H; y++ {
		for x := area.X; x < area.X+area.W; x++ {
			if c := &r.grid.cells[y*r.grid.w+x]; c.Style.FG == from.FG && c.Style.FG > themes.Default {
				c.Style.FG = to.FG
			}
		}
	}
}

// Shade applies a style to a drawn rectangle: its colours replace, its
// attributes are added. It marks a selected row after the row was drawn.
func (r Region) Shade(area Rect, s Style) {
	area.X += r.rect.X
	area.Y += r.rect.Y
	area = area.Intersect(r.clip)
	for y := area.Y; y < area.Y+area.H; y++ {
		for x := area.X; x < area.X+area.W; x++ {
			c := &r.grid.cells[y*r.grid.w+x]
			attr := c.Style.Attr | s.Attr
			c.Style = s.over(c.Style)
			c.Style.Attr = attr
		}
	}
}

// Lines is a set of characters for frames: horizontal, vertical, corners clockwise from the left top, tees (left, right, top,
// bottom) and the cross.
type Lines struct {
	H, V                                       rune
	TopLeft, TopRight, BottomRight, BottomLeft rune
	TeeLeft, TeeRight, TeeTop, TeeBottom       rune
	Cross                                      rune
}

var (
	unicodeLines = Lines{'─', '│', '┌', '┐', '┘', '└', '├', '┤', '┬', '┴', '┼'}
	asciiLines   = Lines{'-', '|', '+', '+', '+', '+', '+', '+', '+', '+', '+'}
)

// LinesFor returns box drawing characters, or plus, minus and bar.
func LinesFor(ascii bool) Lines {
	if ascii {
		return asciiLines
	}
	return unicodeLines
}

// Box frames the region and returns its inside.
func (r Region) Box(l Lines, s Style) Region {
	w, h := r.Size()
	if w < 2 || h < 2 {
		return r
	}
	r.HLine(1, 0, w-2, l, s)
	r.HLine(1, h-1, w-2, l, s)
	r.VLine(0, 1, h-2, l, s)
	r.VLine(w-1, 1, h-2, l, s)
	r.PutRune(0, 0, l.TopLeft, s)
	r.PutRune(w-1, 0, l.TopRight, s)
	r.PutRune(w-1, h-1, l.BottomRight, s)
	r.PutRune(0, h-1, l.BottomLeft, s)
	return r.Inset(1)
}

// HLine draws a horizontal line of n cells.
func (r Region) HLine(x, y, n int, l Lines, s Style) {
	for i := range max(n, 0) {
		r.PutRune(x+i, y, l.H, s)
	}
}

// VLine draws a vertical line of n cells.
func (r Region) VLine(x, y, n int, l Lines, s Style) {
	for i := range max(n, 0) {
		r.PutRune(x, y+i, l.V, s)
	}
}

// Runes drawn often are kept as text, so that drawing one needs no allocation: ASCII, Latin-1 and U+2500 to U+28FF (boxes,
// blocks, shapes, braille). In each table every rune takes the same number of bytes.
var (
	asciiGlyphs = table(0, 0x7f)
	latinGlyphs = table(0x80, 0xff)
	boxGlyphs   = table(0x2500, 0x28ff)
)

func table(first, last rune) string {
	var b []byte
	for c := first; c <= last; c++ {
		b = utf8.AppendRune(b, c)
	}
	return string(b)
}

// glyph returns the rune as text.
func glyph(c rune) string {
	switch {
	case c >= 0x2500 && c <= 0x28ff:
		i := 3 * int(c-0x2500)
		return boxGlyphs[i : i+3]
	case c >= 0 && c < 0x80:
		return asciiGlyphs[c : c+1]
	case c >= 0x80 && c <= 0xff:
		i := 2 * int(c-0x80)
		return latinGlyphs[i : i+2]
	}
	return string(c)
}

// Inherit is the style that changes nothing: text in it takes the style that
// was filled there.
var Inherit = Style{FG: themes.Unset, BG: themes.Unset}
