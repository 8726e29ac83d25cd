package screen

import (
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
	list    pane.List
	page    pane.Page
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

// Query is what the sheet shows, to be asked for while it is there; empty for
// none.
func (s *Sheet) Query() state.Query { return s.query }

// Draw draws list and details, side by side where there is room.
func (s *Sheet) Draw(r terminal.Region, v pane.View) {
	w, h := r.Size()
	rows := s.rows(v)
	if len(rows) == 0 {
		v.Paragraph(r, 0, 0, s.empty, themes.Dim)
		keyLine(r, h-1, v, "esc", "back")
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
	keys := []string{asciiKeys("↑ ↓", v.ASCII), "choose", "s", "sort"}
	if s.page.Scrolls() {
		keys = append(keys, "pgdn", "scroll the details")
	}
	keyLine(r, h-1, v, append(keys, "esc", "back")...)
	if part := s.list.Range(); part != "" {
		r.PutRight(w, h-1, part, v.Palette.Style(themes.Dim))
	}
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

// Key moves in the list, scrolls the details, or closes.
func (s *Sheet) Key(k tea.KeyMsg, keys keymap.Map) Result {
	if a, _, _ := keys.Match(k.String(), keymap.Dialog); a == keymap.Dismiss {
		return Result{Close: true}
	}
	a, _, _ := keys.Match(k.String(), keymap.List, keymap.Global)
	switch {
	case a == keymap.Quit:
		return Result{Close: true}
	case s.page.Do(a):
	default:
		s.list.Do(a, len(s.columns))
	}
	return Result{}
}
