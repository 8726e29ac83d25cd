package screen

import (
	"time"

	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// Book is a further screen of several leaves of which one is seen: a drawing,
// a list below it, and the details of the chosen row where they have room. Left
// and right turn the leaves.
type Book struct {
	view.Base
	title  string
	own    keymap.Scope
	leaves []*leaf
	at     int
	// act is the request that one of the book's own keys, or enter, makes; nil:
	// none. why is why not.
	act func(l *leaf, a keymap.Action, v view.Context) view.Request
	why func(l *leaf, a keymap.Action, v view.Context) string
}

// leaf is one of a book.
type leaf struct {
	name  string
	needs func(v view.Context) []state.Need
	// status is how the value behind the leaf stands; empty is said when there
	// is nothing in it.
	status func(v view.Context) status
	empty  string
	// head draws above the list, in at most the region it gets, and answers the
	// rows it took; nil: nothing stands there.
	head    func(r terminal.Region, v view.Context, id string) int
	columns func(v view.Context) []pane.Column
	rows    func(v view.Context) []pane.Row
	detail  func(v view.Context, id string) []Detail // nil: rows have none
	export  func(v view.Context) [][]string          // nil: the rows as they are drawn

	list   pane.List
	page   pane.Page
	listAt terminal.Rect
}

func newLeaf(name string) *leaf { return &leaf{name: name, list: pane.List{SortBy: -1}} }

// leaf is the one that is seen.
func (b *Book) leaf() *leaf { return b.leaves[b.at] }

// Title is the book's title.
func (b *Book) Title() string { return b.title }

// Scope is that of the book's own keys.
func (b *Book) Scope() keymap.Scope { return b.own }

// Disabled returns why one of the book's own actions is not possible.
func (b *Book) Disabled(a keymap.Action, v view.Context) string {
	if b.why == nil || v.Site == nil {
		return ""
	}
	return b.why(b.leaf(), a, v)
}

// Queries is what the leaf that is seen shows.
func (b *Book) Queries(v view.Context) []state.Need {
	if v.Site == nil {
		return nil
	}
	needs := b.leaf().needs(v)
	for i := range needs {
		needs[i].Focused = true
	}
	return needs
}

// SelectRow selects a row.
func (b *Book) SelectRow(id string) { b.leaf().list.Selected = id }

// Lists are those of the leaves.
func (b *Book) Lists() view.Lists {
	all := map[string]view.List{}
	for _, l := range b.leaves {
		all[l.name] = &l.list
	}
	return view.Lists{All: all, Active: &b.leaf().list}
}

// Draw draws the names of the leaves, and the one that is seen.
func (b *Book) Draw(r terminal.Region, v view.Context) {
	w, h := r.Size()
	x := 0
	for i, l := range b.leaves {
		role := themes.Dim
		if i == b.at {
			role = themes.Title
		}
		from := x
		x = v.PutIn(r, x, 0, w-x, " "+l.name+" ", role)
		if i == b.at {
			r.Shade(terminal.Rect{X: from, W: x - from, H: 1}, v.Palette.Style(themes.Selection))
		}
		x++
	}
	if keys := asciiKeys("← →", v.ASCII) + " turn"; x+terminal.Width(keys)+2 < w && len(b.leaves) > 1 {
		r.PutRight(w, 0, keys, v.Palette.Style(themes.Muted))
	}
	if v.Site == nil {
		return
	}
	b.leaf().draw(r.Region(terminal.Rect{Y: 1, W: w, H: h - 1}), v)
}

// detailWidth is the width from which details stand beside a list.
const detailWidth = 110

func (l *leaf) draw(r terminal.Region, v view.Context) {
	w, h := r.Size()
	l.listAt = terminal.Rect{}
	now := l.status(v)
	rows := l.rows(v)
	if len(rows) == 0 {
		l.list.Draw(r.Region(terminal.Rect{}), v, l.columns(v), nil)
		now.drawEmpty(r, v, l.empty)
		return
	}
	if now.drawNote(r.Region(terminal.Rect{Y: h - 1, W: w, H: 1}), v) {
		h--
	}
	if l.list.Selected == "" {
		l.list.Selected = rows[0].ID
	}
	y := 0
	if l.head != nil {
		room := max(h-len(rows)-2, h/2)
		if l.detail != nil {
			room = h * 2 / 5
		}
		if y = l.head(r.Region(terminal.Rect{W: w, H: room}), v, l.list.Selected); y > 0 && y < h {
			r.HLine(0, y, w, terminal.LinesFor(v.ASCII), v.Palette.Style(themes.Border))
			y++
		}
	}
	below := terminal.Rect{Y: y, W: w, H: h - y}
	detail := terminal.Rect{}
	switch {
	case l.detail == nil:
	case w >= detailWidth:
		detail = terminal.Rect{X: w/2 + 2, Y: y, W: w - w/2 - 2, H: below.H}
		below.W = w / 2
	default:
		below.H = min(len(rows)+1, max(below.H/2, 3))
		r.HLine(0, y+below.H, w, terminal.LinesFor(v.ASCII), v.Palette.Style(themes.Border))
		detail = terminal.Rect{Y: y + below.H + 1, W: w, H: h - y - below.H - 1}
	}
	l.listAt = below
	l.list.Draw(r.Region(below), v, l.columns(v), rows)
	if id := l.list.Current(); detail.H > 0 {
		l.page.Draw(r.Region(detail), v, id, func(r terminal.Region) int { return drawDetails(r, v, l.detail(v, id)) })
	}
}

// Do moves in the list, turns the leaves, scrolls the details, or does one of
// the book's own actions.
func (b *Book) Do(a keymap.Action, v view.Context) view.Request {
	l := b.leaf()
	e, _ := v.Keys.Entry(a)
	switch {
	case v.Site == nil:
	case b.act != nil && (a == keymap.Open || b.own != "" && e.Scope == b.own):
		return b.act(l, a, v)
	case a == keymap.Left:
		b.at = (b.at + len(b.leaves) - 1) % len(b.leaves)
	case a == keymap.Right:
		b.at = (b.at + 1) % len(b.leaves)
	case l.detail != nil && l.page.Do(a):
	default:
		l.list.Do(a, len(l.columns(v)))
	}
	return nil
}

// Click chooses the row under it, or turns to the leaf whose name is there.
func (b *Book) Click(x, y int, _ view.Context) view.Request {
	if y == 0 {
		end := 0
		for i, l := range b.leaves {
			if end += terminal.Width(l.name) + 3; x < end {
				b.at = i
				break
			}
		}
		return nil
	}
	if l := b.leaf(); l.listAt.Contains(x, y-1) {
		l.list.Click(y - 1 - l.listAt.Y)
	}
	return nil
}

// Wheel moves in the list, or scrolls the details.
func (b *Book) Wheel(x, y, by int, v view.Context) view.Request {
	up, down := keymap.Up, keymap.Down
	if l := b.leaf(); l.detail != nil && !l.listAt.Contains(x, y-1) && l.page.Scrolls() {
		up, down = keymap.PageUp, keymap.PageDown
	}
	if by > 0 {
		return b.Do(down, v)
	}
	return b.Do(up, v)
}

// Export is the list as it is narrowed and sorted.
func (b *Book) Export(v view.Context) [][]string {
	l := b.leaf()
	switch {
	case v.Site == nil:
		return nil
	case l.export != nil:
		return l.export(v)
	}
	return l.list.Export(l.columns(v), l.rows(v))
}

// text is a cell of words; quiet is one that matters less.
func text(words string) pane.Cell { return pane.Cell{Text: words, Role: themes.Text} }

func quiet(words string) pane.Cell { return pane.Cell{Text: words, Role: themes.Dim} }

// dayName writes a day of the site; now is in its zone too.
func dayName(t time.Time, now time.Time) string {
	y, d := t.Year(), t.YearDay()
	switch {
	case y == now.Year() && d == now.YearDay():
		return "today"
	case y == now.Year():
		return t.Format("Mon 02 Jan")
	}
	return t.Format("02 Jan 2006")
}
