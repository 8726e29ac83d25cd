package terminal

import "app.sunloop/themes"

// Rect is a rectangle of cells: its left top corner and its size.
type Rect struct{ X, Y, W, H int }

// Empty reports whether the rectangle holds no cell.
func (r Rect) Empty() bool { return r.W <= 0 || r.H <= 0 }

// Contains reports whether the cell lies inside.
func (r Rect) Contains(x, y int) bool {
	return x >= r.X && y >= r.Y && x < r.X+r.W && y < r.Y+r.H
}

// Intersect returns the intersection of two rectangles.
func (r Rect) Intersect(o Rect) Rect {
	x, y := max(r.X, o.X), max(r.Y, o.Y)
	return Rect{x, y, max(0, min(r.X+r.W, o.X+o.W)-x), max(0, min(r.Y+r.H, o.Y+o.H)-y)}
}

// Inset returns the rectangle without n cells on every side.
func (r Rect) Inset(n int) Rect {
	return Rect{r.X + n, r.Y + n, max(0, r.W-2*n), max(0, r.H-2*n)}
}

// Top returns the first n rows.
func (r Rect) Top(n int) Rect { return Rect{r.X, r.Y, r.W, min(max(n, 0), r.H)} }

// Bottom returns the last n rows.
func (r Rect) Bottom(n int) Rect {
	n = min(max(n, 0), r.H)
	return Rect{r.X, r.Y + r.H - n, r.W, n}
}

// Left returns the first n columns.
func (r Rect) Left(n int) Rect { return Rect{r.X, r.Y, min(max(n, 0), r.W), r.H} }

// Right returns the last n columns.
func (r Rect) Right(n int) Rect {
	n = min(max(n, 0), r.W)
	return Rect{r.X + r.W - n, r.Y, n, r.H}
}

// Cell is one place on the screen. A wide character's cell has Width 2 and is followed by one with Width 0 and no text.
type Cell struct {
	// Text is one grapheme cluster.
	Text  string
	Style Style
	Width uint8
}

var blank = Cell{Text: " ", Width: 1}

// Grid is a screen of cells. Drawing goes through its Regions; a Grid is kept from frame to frame and allocates only when it
// grows.
type Grid struct {
	w, h   int
	cells  []Cell
	images []placed // over the cells
}

// NewGrid returns a blank grid.
func NewGrid(w, h int) *Grid {
	g := &Grid{}
	g.Reset(w, h)
	return g
}

// Reset gives the grid a size and blanks every cell.
func (g *Grid) Reset(w, h int) {
	g.w, g.h = max(w, 0), max(h, 0)
	g.images = g.images[:0]
	n := g.w * g.h
	if cap(g.cells) < n {
		g.cells = make([]Cell, n)
	}
	g.cells = g.cells[:n]
	for i := range g.cells {
		g.cells[i] = blank
	}
}

// CopyFrom makes the grid equal to from, without its images.
func (g *Grid) CopyFrom(from *Grid) {
	g.Reset(from.w, from.h)
	copy(g.cells, from.cells)
}

// Size returns the grid's width and height in cells.
func (g *Grid) Size() (w, h int) { return g.w, g.h }

// Cell returns the cell at a place; a blank one outside.
func (g *Grid) Cell(x, y int) Cell {
	if x < 0 || y < 0 || x >= g.w || y >= g.h {
		return blank
	}
	return g.cells[y*g.w+x]
}

// All returns the region of the whole grid.
func (g *Grid) All() Region { return Region{g, Rect{0, 0, g.w, g.h}, Rect{0, 0, g.w, g.h}} }

// Region returns the part of the grid inside a rectangle. What is drawn through it cannot leave it.
func (g *Grid) Region(r Rect) Region { return g.All().Region(r) }

// set writes one cell and blanks the other half of any wide character it cuts.
func (g *Grid) set(x, y int, c Cell) {
	i := y*g.w + x
	old := &g.cells[i]
	if old.Width == 0 && x > 0 {
		left := &g.cells[i-1]
		left.Text, left.Width = " ", 1
	}
	if old.Width == 2 && c.Width != 2 && x+1 < g.w {
		right := &g.cells[i+1]
		right.Text, right.Width = " ", 1
	}
	*old = c
}

// put writes a cluster of width 1 or 2; the caller has checked that it fits.
func (g *Grid) put(x, y int, text string, width int, s Style) {
	under := g.cells[y*g.w+x].Style
	g.set(x, y, Cell{Text: text, Style: s.over(under), Width: uint8(width)}) //nolint:gosec // 1 or 2
	if width == 2 {
		i := y*g.w + x + 1
		// The cell that becomes the second half may itself be the first half of another wide character.
		if g.cells[i].Width == 2 && x+2 < g.w {
			g.cells[i+1].Text, g.cells[i+1].Width = " ", 1
		}
		g.cells[i] = Cell{Style: s.over(under)}
	}
}

// blankStyle is used where half a wide character is cut off.
func blankStyle(s Style) Style {
	s.Attr &^= themes.Underline
	return s
}
