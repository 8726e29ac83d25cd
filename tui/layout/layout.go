// Package layout computes the position of everything on the screen: a pure
// function from size, focus and zoom to rectangles. It draws nothing and has no
// state, so a resize cannot lose state and clicks use the same rectangles.
package layout

import (
	"fmt"

	"app.sunloop/tui/terminal"
)

// Pane is one of the four panes.
type Pane int

// The panes in their order on the screen and of the keys 1 to 4.
const (
	Observe Pane = iota
	Orient
	Decide
	Act
	// Panes is how many there are.
	Panes
)

var names = [Panes]string{"Observe", "Orient", "Decide", "Act"}

// String returns the pane's title.
func (p Pane) String() string {
	if p < 0 || p >= Panes {
		return "none"
	}
	return names[p]
}

// Named returns the pane of that title; ok is false if no pane has it.
func Named(title string) (p Pane, ok bool) {
	for p, name := range names {
		if name == title {
			return Pane(p), true
		}
	}
	return 0, false
}

// Next returns the pane after p, the first one after the last.
func (p Pane) Next() Pane { return (p + 1) % Panes }

// Previous returns the pane before p, the last one before the first.
func (p Pane) Previous() Pane { return (p + Panes - 1) % Panes }

// Mode is how the four panes share the screen.
type Mode int

// The modes, from most room to least.
const (
	// Quad shows the four panes together.
	Quad Mode = iota
	// Strips shows the focused pane and a summary strip of each other.
	Strips
	// Single shows one pane and a tab bar.
	Single
	// TooSmall shows one line that states the required size.
	TooSmall
)

var modeNames = [...]string{"quad", "strips", "single", "too small"}

// String names the mode.
func (m Mode) String() string { return modeNames[m] }

// Size is a number of columns and rows.
type Size struct{ Columns, Rows int }

// holds reports whether s has room for least.
func (s Size) holds(least Size) bool { return s.Columns >= least.Columns && s.Rows >= least.Rows }

// Options are the thresholds and ratios, which the configuration may change.
type Options struct {
	// Quad and Strips are the smallest sizes for those modes, Least the
	// smallest size of the console.
	Quad, Strips, Least Size
	// SidePercent is where the left column ends in Quad, TopPercent where the upper row ends, both in percent of the body.
	SidePercent, TopPercent int
	// SideStripsFrom is the width in columns from which strips are to the
	// right of the focused pane instead of below it.
	SideStripsFrom int
}

// Defaults returns the sizes the console is designed for.
func Defaults() Options {
	return Options{
		Quad: Size{160, 40}, Strips: Size{100, 30}, Least: Size{60, 20},
		SidePercent: 50, TopPercent: 50, SideStripsFrom: 130,
	}
}

// Layout holds the positions. A rectangle that is not shown is empty.
type Layout struct {
	Mode Mode
	// Size is what it was computed for, Least the least size that is shown properly.
	Size, Least Size
	// Zoomed reports that the focused pane has the whole body.
	Zoomed bool
	// Status and Vitals are the first two rows, Tabs the third in Single, Breadcrumb the last.
	Status, Vitals, Tabs, Breadcrumb terminal.Rect
	// Body is everything between them: the panes, or a further screen.
	Body terminal.Rect
	// Panes are the panes' frames, Strips those of the summaries of panes that are not shown whole.
	Panes, Strips [Panes]terminal.Rect
	// Message is the place of the one line in TooSmall.
	Message terminal.Rect
}

// Compute lays out the screen.
func Compute(size Size, focus Pane, zoom bool, o Options) Layout {
	l := Layout{Mode: modeOf(size, o), Size: size, Least: o.Least}
	screen := terminal.Rect{W: max(size.Columns, 0), H: max(size.Rows, 0)}
	if l.Mode == TooSmall {
		l.Message = screen.Top(1)
		return l
	}
	l.Status = screen.Top(1)
	l.Vitals = terminal.Rect{Y: 1, W: screen.W, H: 1}
	l.Breadcrumb = screen.Bottom(1)
	top := 2
	if l.Mode == Single {
		l.Tabs = terminal.Rect{Y: 2, W: screen.W, H: 1}
		top = 3
	}
	l.Body = terminal.Rect{Y: top, W: screen.W, H: screen.H - top - 1}

	switch {
	case l.Mode == Single || zoom:
		l.Panes[focus] = l.Body
		l.Zoomed = zoom && l.Mode != Single
	case l.Mode == Quad:
		l.quad(o)
	case size.Columns >= o.SideStripsFrom:
		l.sideStrips(focus)
	default:
		l.lowStrips(focus)
	}
	return l
}

func modeOf(size Size, o Options) Mode {
	switch {
	case !size.holds(o.Least):
		return TooSmall
	case size.holds(o.Quad):
		return Quad
	case size.holds(o.Strips):
		return Strips
	}
	return Single
}

// quad divides the body at the two ratios, leaving each pane room for a frame and a few cells.
func (l *Layout) quad(o Options) {
	b := l.Body
	left := min(max(b.W*o.SidePercent/100, 20), b.W-20)
	top := min(max(b.H*o.TopPercent/100, 6), b.H-6)
	upper, lower := b.Top(top), b.Bottom(b.H-top)
	l.Panes[Observe], l.Panes[Orient] = upper.Left(left), upper.Right(b.W-left)
	l.Panes[Decide], l.Panes[Act] = lower.Left(left), lower.Right(b.W-left)
}

// lowStrips gives the focused pane 21 rows if it can and the strips three to five each below it: a title and two to four lines.
func (l *Layout) lowStrips(focus Pane) {
	const strips = int(Panes) - 1
	each := min(max((l.Body.H-21)/strips, 3), 5)
	l.Panes[focus] = l.Body.Top(l.Body.H - strips*each)
	y := l.Panes[focus].Y + l.Panes[focus].H
	for p := range Panes {
		if p != focus {
			l.Strips[p] = terminal.Rect{Y: y, W: l.Body.W, H: each}
			y += each
		}
	}
}

// sideStrips stacks the strips in a column on the right, three tenths of the width; the last takes what division leaves.
func (l *Layout) sideStrips(focus Pane) {
	const strips = int(Panes) - 1
	width := l.Body.W * 3 / 10
	l.Panes[focus] = l.Body.Left(l.Body.W - width)
	column := l.Body.Right(width)
	each, n := column.H/strips, 0
	for p := range Panes {
		if p == focus {
			continue
		}
		h := each
		if n == strips-1 {
			h = column.H - n*each
		}
		l.Strips[p] = terminal.Rect{X: column.X, Y: column.Y + n*each, W: column.W, H: h}
		n++
	}
}

// Hit is the part of the screen a place belongs to.
type Hit int

// The parts.
const (
	Nothing Hit = iota
	OnStatus
	OnVitals
	OnTabs
	OnBreadcrumb
	OnPane
	OnStrip
)

// Further returns where a further screen has its content: the body without the
// frame, or on small screens, where the tab bar has its title, without margins.
func (l *Layout) Further() terminal.Rect { return l.Inside(l.Body) }

// Inside returns what of a place in the body its content has.
func (l *Layout) Inside(at terminal.Rect) terminal.Rect {
	if l.Mode == Single {
		return terminal.Rect{X: at.X + 1, Y: at.Y, W: max(at.W-2, 0), H: at.H}
	}
	return at.Inset(1)
}

// At returns what is at a cell, and which pane for panes and strips.
func (l *Layout) At(x, y int) (Hit, Pane) {
	for p := range Panes {
		if l.Panes[p].Contains(x, y) {
			return OnPane, p
		}
		if l.Strips[p].Contains(x, y) {
			return OnStrip, p
		}
	}
	for _, row := range []struct {
		rect terminal.Rect
		hit  Hit
	}{{l.Status, OnStatus}, {l.Vitals, OnVitals}, {l.Tabs, OnTabs}, {l.Breadcrumb, OnBreadcrumb}} {
		if row.rect.Contains(x, y) {
			return row.hit, -1
		}
	}
	return Nothing, -1
}

// SizeMessage states the required size when the screen is too small.
func (l *Layout) SizeMessage() string {
	return fmt.Sprintf("sunloop needs %d×%d, this window is %d×%d", l.Least.Columns, l.Least.Rows, l.Size.Columns, l.Size.Rows)
}
