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
	detail  func(v pane.View, id string) []string
	query   state.Query
	list    pane.List
}

// Title is the sheet's title.
func (s *Sheet) Title() string { return s.title }

// Size takes the screen.
func (s *Sheet) Size(w, h int) (int, int) { return w - 4, h - 4 }

// Query is what the sheet shows, to be asked for while it is there; empty for
// none.
func (s *Sheet) Query() state.Query { return s.query }

// Draw draws list and details, side by side where there is room.
func (s *Sheet) Draw(r terminal.Region, v pane.View) {
	w, h := r.Size()
	rows := s.rows(v)
	if len(rows) == 0 {
		v.Paragraph(r, 0, 1, s.empty, themes.Dim)
		keyLine(r, h-1, v, "esc", "back")
		return
	}
	if s.list.Selected == "" {
		s.list.Selected = rows[0].ID
	}
	keyLine(r, h-1, v, "↑ ↓", "choose", "s", "sort", "esc", "back")
	body := r.Region(terminal.Rect{W: w, H: h - 2})
	listArea, detailArea := terminal.Rect{W: w, H: (h - 2) / 2}, terminal.Rect{Y: (h-2)/2 + 1, W: w, H: h - 3 - (h-2)/2}
	if w >= 120 {
		listArea, detailArea = terminal.Rect{W: w / 2, H: h - 2}, terminal.Rect{X: w/2 + 2, W: w - w/2 - 2, H: h - 2}
	}
	s.list.Draw(body.Region(listArea), v, s.columns, rows)
	side := body.Region(detailArea)
	y := 0
	for _, line := range s.detail(v, s.list.Current()) {
		if line == "" {
			y++
			continue
		}
		y = v.Paragraph(side, 0, y, line, themes.Text)
	}
}

// Key moves in the list or closes.
func (s *Sheet) Key(k tea.KeyMsg, keys keymap.Map) Result {
	if a, _, _ := keys.Match(k.String(), keymap.Dialog); a == keymap.Dismiss {
		return Result{Close: true}
	}
	a, _, _ := keys.Match(k.String(), keymap.List, keymap.Global)
	if a == keymap.Quit {
		return Result{Close: true}
	}
	s.list.Do(a, len(s.columns))
	return Result{}
}
