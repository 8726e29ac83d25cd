package screen

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
)

// Sheet is a further screen: a list with the details of the chosen row.
type Sheet struct {
	title   string
	empty   string
	columns []pane.Column
	rows    func(v pane.View) []pane.Row
	detail  func(v pane.View, id string) []Detail
	query   state.Query
	period  time.Duration // between two questions; 0: 2 s
	// status is how the value behind the rows stands; nil: what is there is all.
	status func(v pane.View) status
	own    keymap.Scope                         // of the sheet's own keys; empty for none
	act    func(a keymap.Action, id string) any // the request that one of them makes
	list   pane.List
	page   pane.Page
	filter *Field // while it is typed
}

// status is how a value of the state stands.
type status struct {
	face    state.Face
	err     error
	age     time.Duration // of the last good answer
	nextTry time.Time
}

// Detail is one line of a row's details: a heading, or words with a label
// before them, which may be empty.
type Detail struct {
	Heading, Label, Words string
	Role                  themes.Role
}

// Title is the sheet's title.
func (s *Sheet) Title() string { return s.title }

// Size takes the screen.
func (s *Sheet) Size(w, h int) (int, int) { return w - 4, h - 2 }

// Needs is what the sheet shows, to be asked for while it is there.
func (s *Sheet) Needs() []state.Need {
	if s.query == "" {
		return nil
	}
	period := s.period
	if period == 0 {
		period = 2 * time.Second
	}
	return []state.Need{{Query: s.query, Period: period, Focused: true}}
}

// Help says what the sheet's own keys do, in pairs of key and words.
func (s *Sheet) Help(keys keymap.Map) [][2]string {
	help := [][2]string{{"esc", "back to the panes"}}
	for _, e := range keys.Entries() {
		if s.own != "" && e.Scope == s.own {
			help = append(help, [2]string{e.Binding.Help().Key, e.Binding.Help().Desc})
		}
	}
	return help
}

// Select chooses a row.
func (s *Sheet) Select(id string) { s.list.Selected = id }

// Draw draws list and details, side by side where there is room.
func (s *Sheet) Draw(r terminal.Region, v pane.View) {
	w, h := r.Size()
	rows := s.rows(v)
	if len(rows) == 0 {
		s.drawEmpty(r, v)
		keyLine(r, h-1, v, append(s.ownKeys(v, false), "esc", "back")...)
		return
	}
	body := r.Region(terminal.Rect{W: w, H: h - 2})
	_, bh := body.Size()
	listH := min(len(rows)+1, max(bh/2, 3))
	listArea, detailArea := terminal.Rect{W: w, H: listH}, terminal.Rect{Y: listH + 1, W: w, H: bh - listH - 1}
	if w >= 120 {
		listArea, detailArea = terminal.Rect{W: w / 2, H: bh}, terminal.Rect{X: w/2 + 2, W: w - w/2 - 2, H: bh}
	} else {
		body.HLine(0, listH, w, terminal.LinesFor(v.ASCII), v.Palette.Style(themes.Border))
	}
	if s.list.Selected == "" {
		s.list.Selected = rows[0].ID
	}
	s.list.Draw(body.Region(listArea), v, s.columns, rows)
	id := s.list.Current()
	s.page.Draw(body.Region(detailArea), v, id, func(r terminal.Region) int { return drawDetails(r, v, s.detail(v, id)) })
	s.drawNote(r.Region(terminal.Rect{Y: h - 2, W: w, H: 1}), v)
	s.drawKeys(r.Region(terminal.Rect{Y: h - 1, W: w, H: 1}), v)
}

// drawEmpty says why there is no row.
func (s *Sheet) drawEmpty(r terminal.Region, v pane.View) {
	if s.status == nil {
		v.Paragraph(r, 0, 0, s.empty, themes.Dim)
		return
	}
	switch now := s.status(v); now.face {
	case state.Failed:
		y := v.Paragraph(r, 0, 0, state.Sentence(now.err), themes.Warning)
		v.Paragraph(r, 0, y, "Next try "+state.Soon(now.nextTry.Sub(v.Now))+".", themes.Dim)
	case state.Loading:
		v.Paragraph(r, 0, 0, "Asking the service …", themes.Dim)
	default:
		v.Paragraph(r, 0, 0, s.empty, themes.Dim)
	}
}

// drawNote draws the filter, or that what is shown is old.
func (s *Sheet) drawNote(r terminal.Region, v pane.View) {
	w, _ := r.Size()
	switch {
	case s.filter != nil:
		s.filter.Draw(r.Region(terminal.Rect{W: min(w, 40), H: 1}), 0, 2, v, true)
		return
	case s.list.Filter != "":
		r.PutIn(0, 0, w, "/"+s.list.Filter, v.Palette.Style(themes.Accent), v.ASCII)
		return
	case s.status == nil:
		return
	}
	if now := s.status(v); now.err != nil {
		v.Paragraph(r, 0, 0, "These are "+state.Age(now.age)+" old: "+state.Reason(now.err)+".", themes.Warning)
	}
}

// drawKeys draws the keys that count here, the most needed first.
func (s *Sheet) drawKeys(r terminal.Region, v pane.View) {
	w, _ := r.Size()
	if part := s.list.Range(); part != "" {
		w = r.PutRight(w, 0, part, v.Palette.Style(themes.Dim)) - 1
	}
	r = r.Region(terminal.Rect{W: w, H: 1})
	if s.filter != nil {
		keyLine(r, 0, v, "enter", "keep the filter", "esc", "show all")
		return
	}
	keys := append([]string{asciiKeys("↑ ↓", v.ASCII), "choose"}, s.ownKeys(v, true)...)
	keys = append(keys, "esc", "back", "/", "filter", "s", "sort", "?", "help")
	if s.page.Scrolls() {
		keys = append(keys, "pgdn", "scroll the details")
	}
	keyLine(r, 0, v, keys...)
}

// ownKeys are the sheet's own keys and their words, in pairs; those that change
// a row only where there is one.
func (s *Sheet) ownKeys(v pane.View, row bool) []string {
	var pairs []string
	for _, e := range v.Keys.Entries() {
		if s.own != "" && e.Scope == s.own && e.Footer != "" && (row || !e.Dangerous) {
			pairs = append(pairs, e.Binding.Help().Key, e.Footer)
		}
	}
	return pairs
}

// drawDetails draws lines and answers the rows they took.
func drawDetails(r terminal.Region, v pane.View, details []Detail) int {
	label := 0
	for _, d := range details {
		label = max(label, terminal.Width(d.Label))
	}
	y := 0
	for _, d := range details {
		if d.Heading != "" {
			if y > 0 {
				y++
			}
			y = v.Paragraph(r, 0, y, d.Heading, themes.Title)
			continue
		}
		x := 0
		if d.Label != "" {
			r.Put(0, y, d.Label, v.Palette.Style(themes.Dim))
			x = label + 2
		}
		y = max(v.Paragraph(r, x, y, d.Words, d.Role), y+1)
	}
	return y
}

// Key moves in the list, filters it, scrolls the details, does one of the
// sheet's own actions, or closes.
func (s *Sheet) Key(k tea.KeyMsg, keys keymap.Map) Result {
	dialog, _, _ := keys.Match(k.String(), keymap.Dialog)
	switch {
	case s.filter != nil:
		s.filterKey(k, dialog)
		return Result{}
	case dialog == keymap.Dismiss && s.list.Filter != "":
		s.list.Filter = ""
		return Result{}
	case dialog == keymap.Dismiss:
		return Result{Close: true}
	}
	if a, ok, _ := keys.Match(k.String(), s.own); ok {
		return Result{Do: s.act(a, s.list.Current())}
	}
	a, _, _ := keys.Match(k.String(), keymap.List, keymap.Global)
	switch {
	case a == keymap.Quit:
		return Result{Close: true}
	case a == keymap.Help:
		return Result{Do: RunAction{Action: a}}
	case a == keymap.Filter:
		field := NewField("/", "part of a name or state", s.list.Filter)
		s.filter = &field
	case s.page.Do(a):
	default:
		s.list.Do(a, len(s.columns))
	}
	return Result{}
}

// filterKey edits the filter: the list narrows as one types.
func (s *Sheet) filterKey(k tea.KeyMsg, dialog keymap.Action) {
	switch dialog {
	case keymap.Accept:
		s.filter = nil
	case keymap.Dismiss:
		s.filter, s.list.Filter = nil, ""
	default:
		s.filter.Key(k)
		s.list.Filter = s.filter.Value()
	}
}
