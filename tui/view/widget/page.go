package widget

import (
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// Page is text and drawings that may be taller than their place, and scroll.
// The zero Page is ready to use.
type Page struct {
	of     string // what it shows: another thing starts at the top
	offset int
	total  int // rows of the content last drawn
	seen   int // rows of the place
}

// rowOfHints is the height from which the hints of a page have a row of their own.
const rowOfHints = 4

// pageRows is more than any content has.
const pageRows = 2000

// Draw draws content, which returns the number of rows drawn, and marks
// that more is above or below. Content draws into a region as tall as it
// likes.
func (p *Page) Draw(r terminal.Region, v view.Context, of string, content func(r terminal.Region) int) {
	w, h := r.Size()
	if p.of != of {
		p.of, p.offset = of, 0
	}
	p.seen = h
	draw := func() { p.total = content(r.Region(terminal.Rect{Y: -p.offset, W: w, H: pageRows})) }
	draw()
	if p.total > h && h >= rowOfHints && w >= 12 {
		p.seen = h - 1 // the hints hide nothing
	}
	if last := max(p.total-p.seen, 0); p.offset > last {
		p.offset = last
		r.Clear(v.Style(themes.Panel))
		draw()
	}
	if p.total <= h || h < 2 || w < 12 {
		return
	}
	if p.seen < h {
		r.Fill(terminal.Rect{Y: h - 1, W: w, H: 1}, ' ', v.Style(themes.Panel))
	}
	up, down := " ↑ pgup ", " ↓ pgdn "
	if v.ASCII {
		up, down = " ^ pgup ", " v pgdn "
	}
	key := v.Style(themes.Key).On(v.Style(themes.Bar))
	end := w
	if p.offset+p.seen < p.total {
		end = r.PutRight(w, h-1, down, key) - 1
	}
	if p.offset > 0 {
		if h < rowOfHints {
			r.PutRight(w, 0, up, key)
			return
		}
		r.PutRight(end, h-1, up, key)
	}
}

// WheelAction returns the action of a wheel that moves by so many lines: back if
// it is negative.
func WheelAction(by int, back, forward keymap.Action) keymap.Action {
	if by > 0 {
		return forward
	}
	return back
}

// Scrolls reports whether there is more than is seen.
func (p *Page) Scrolls() bool { return p.total > p.seen }

// Do scrolls; ok is false when the action is not the page's or all is seen.
func (p *Page) Do(a keymap.Action) (ok bool) {
	if !p.Scrolls() {
		return false
	}
	switch a {
	case keymap.PageDown:
		p.Move(max(p.seen-2, 1))
	case keymap.PageUp:
		p.Move(-max(p.seen-2, 1))
	default:
		return false
	}
	return true
}

// Move scrolls by rows.
func (p *Page) Move(by int) { p.offset = min(max(p.offset+by, 0), max(p.total-p.seen, 0)) }
