package widget

import (
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// TabView is a screen with several tabs: a drawing, a list below it, and the details
// of the selected row if they fit. Left and right change the tab.
type TabView struct {
	view.Base
	Heading string
	Keys    keymap.Scope
	Tabs    []*Tab
	at      int
	// act is the request of one of the view's own keys, or of enter; nil: none. why is
	// the reason if it is unavailable.
	Act    func(l *Tab, a keymap.Action, v view.Context) view.Request
	Reason func(l *Tab, a keymap.Action, v view.Context) string
}

// Tab is a tab of a TabView.
type Tab struct {
	Name  string
	Needs func(v view.Context) []state.Need
	// status is the status of the value behind the tab; empty is shown without
	// data.
	Status func(v view.Context) ValueStatus
	Empty  string
	// head draws above the list, in at most the region it gets, and returns the
	// number of rows drawn; nil: nothing is drawn there.
	Head    func(r terminal.Region, v view.Context, id string) int
	Columns func(v view.Context) []Column
	Rows    func(v view.Context) []Row
	Detail  func(v view.Context, id string) []Detail // nil: rows have none
	// Aside draws the details next to the list only: on narrower screens the list has the room.
	Aside bool
	// Rest draws what belongs to the row with that id below the list and its details, where they
	// leave room; nil: nothing.
	Rest   func(r terminal.Region, v view.Context, id string)
	Export func(v view.Context) [][]string // nil: the rows as they are drawn

	List      List
	page      Page
	listAt    terminal.Rect
	restDrawn bool // Rest was drawn last
}

// RestDrawn reports whether there was room for Rest when the tab was drawn last.
func (l *Tab) RestDrawn() bool { return l.restDrawn }

// NewTab returns a tab whose list is in the order given.
func NewTab(name string) *Tab { return &Tab{Name: name, List: List{SortBy: -1}} }

// Current returns the visible tab.
func (b *TabView) Current() *Tab { return b.Tabs[b.at] }

// Title returns the title of the view.
func (b *TabView) Title() string { return b.Heading }

// Scope returns the scope of the view's own keys.
func (b *TabView) Scope() keymap.Scope { return b.Keys }

// Disabled returns why one of the view's own actions is not possible.
func (b *TabView) Disabled(a keymap.Action, v view.Context) string {
	if b.Reason == nil || v.Site == nil {
		return ""
	}
	return b.Reason(b.Current(), a, v)
}

// Queries returns the queries of the visible tab.
func (b *TabView) Queries(v view.Context) []state.Need {
	if v.Site == nil {
		return nil
	}
	needs := b.Current().Needs(v)
	for i := range needs {
		needs[i].Focused = true
	}
	return needs
}

// SelectRow selects a row.
func (b *TabView) SelectRow(id string) { b.Current().List.Selected = id }

// Lists returns the lists of the tabs.
func (b *TabView) Lists() view.Lists {
	all := map[string]view.List{}
	for _, l := range b.Tabs {
		all[l.Name] = &l.List
	}
	return view.Lists{All: all, Active: &b.Current().List}
}

// Draw draws the names of the tabs, and the visible tab.
func (b *TabView) Draw(r terminal.Region, v view.Context) {
	w, h := r.Size()
	x := 0
	for i, l := range b.Tabs {
		role := themes.Dim
		if i == b.at {
			role = themes.Title
		}
		from := x
		x = v.PutIn(r, x, 0, w-x, " "+l.Name+" ", role)
		if i == b.at {
			r.Shade(terminal.Rect{X: from, W: x - from, H: 1}, v.Palette.Style(themes.Selection))
		}
		x++
	}
	if keys := KeyNames("← →", v.ASCII) + " turn"; x+terminal.Width(keys)+2 < w && len(b.Tabs) > 1 {
		r.PutRight(w, 0, keys, v.Palette.Style(themes.Muted))
	}
	if v.Site == nil {
		return
	}
	b.Current().draw(r.Region(terminal.Rect{Y: 1, W: w, H: h - 1}), v)
}

// detailWidth is the width from which details are next to a list.
const detailWidth = 110

func (l *Tab) draw(r terminal.Region, v view.Context) {
	w, h := r.Size()
	l.listAt, l.restDrawn = terminal.Rect{}, false
	now := l.Status(v)
	rows := l.Rows(v)
	if len(rows) == 0 {
		l.List.Draw(r.Region(terminal.Rect{}), v, l.Columns(v), nil)
		now.drawEmpty(r, v, l.Empty)
		return
	}
	if now.drawNote(r.Region(terminal.Rect{Y: h - 1, W: w, H: 1}), v) {
		h--
	}
	if l.List.Selected == "" {
		l.List.Selected = rows[0].ID
	}
	y := 0
	if l.Head != nil {
		room := max(h-len(rows)-2, h/2)
		if l.hasDetail(w) {
			room = h * 2 / 5
		}
		if y = l.Head(r.Region(terminal.Rect{W: w, H: room}), v, l.List.Selected); y > 0 && y < h {
			r.HLine(0, y, w, terminal.LinesFor(v.ASCII), v.Palette.Style(themes.Border))
			y++
		}
	}
	below := terminal.Rect{Y: y, W: w, H: h - y}
	detail := terminal.Rect{}
	switch {
	case !l.hasDetail(w):
	case w >= detailWidth:
		below.W = split(l.Columns(v), rows, w)
		detail = terminal.Rect{X: below.W + 2, Y: y, W: w - below.W - 2, H: below.H}
	default:
		below.H = min(len(rows)+1, max(below.H/2, 3))
		r.HLine(0, y+below.H, w, terminal.LinesFor(v.ASCII), v.Palette.Style(themes.Border))
		detail = terminal.Rect{Y: y + below.H + 1, W: w, H: h - y - below.H - 1}
	}
	l.listAt = below
	l.List.Draw(r.Region(below), v, l.Columns(v), rows)
	id := l.List.Current()
	var details []Detail
	if detail.H > 0 {
		details = l.Detail(v, id)
	}
	if l.Rest != nil && w >= detailWidth {
		used := len(rows) + 1
		if detail.H > 0 {
			used = max(used, DetailLines(v, detail.W, details))
		}
		if l.restDrawn = below.H-used-1 >= leastRest; l.restDrawn {
			detail.H = min(detail.H, used)
			l.Rest(r.Region(terminal.Rect{Y: y + used + 1, W: w, H: below.H - used - 1}), v, id)
		}
	}
	if detail.H <= 0 {
		l.page = Page{}
		return
	}
	l.page.Draw(r.Region(detail), v, id, func(r terminal.Region) int { return DrawDetails(r, v, details) })
}

// hasDetail reports whether details are drawn in a width.
func (l *Tab) hasDetail(w int) bool { return l.Detail != nil && (!l.Aside || w >= detailWidth) }

// Do moves in the list, changes the tab, scrolls the details, or performs one of the
// view's own actions.
func (b *TabView) Do(a keymap.Action, v view.Context) view.Request {
	l := b.Current()
	e, _ := v.Keys.Entry(a)
	switch {
	case v.Site == nil:
	case b.Act != nil && (a == keymap.Open || b.Keys != "" && e.Scope == b.Keys):
		return b.Act(l, a, v)
	case a == keymap.Left:
		b.at = (b.at + len(b.Tabs) - 1) % len(b.Tabs)
	case a == keymap.Right:
		b.at = (b.at + 1) % len(b.Tabs)
	case l.Detail != nil && l.page.Do(a):
	default:
		l.List.Do(a, len(l.Columns(v)))
	}
	return nil
}

// Click selects a row or a tab.
func (b *TabView) Click(x, y int, _ view.Context) view.Request {
	if y == 0 {
		end := 0
		for i, l := range b.Tabs {
			if end += terminal.Width(l.Name) + 3; x < end {
				b.at = i
				break
			}
		}
		return nil
	}
	if l := b.Current(); l.listAt.Contains(x, y-1) {
		l.List.Click(y - 1 - l.listAt.Y)
	}
	return nil
}

// Wheel moves in the list, or scrolls the details.
func (b *TabView) Wheel(x, y, by int, v view.Context) view.Request {
	up, down := keymap.Up, keymap.Down
	if l := b.Current(); l.Detail != nil && !l.listAt.Contains(x, y-1) && l.page.Scrolls() {
		up, down = keymap.PageUp, keymap.PageDown
	}
	return b.Do(WheelAction(by, up, down), v)
}

// Export returns the list as filtered and sorted.
func (b *TabView) Export(v view.Context) [][]string {
	l := b.Current()
	switch {
	case v.Site == nil:
		return nil
	case l.Export != nil:
		return l.Export(v)
	}
	return l.List.Export(l.Columns(v), l.Rows(v))
}

// Text returns a cell of words; quiet is one that matters less.
func Text(words string) Cell { return Cell{Text: words, Role: themes.Text} }

// QuietText returns a cell of words that matter less.
func QuietText(words string) Cell { return Cell{Text: words, Role: themes.Dim} }
