package widget

import (
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// TableView is a screen with a list and the details of the selected row.
type TableView struct {
	view.Base
	Heading string
	Empty   string
	Columns []Column
	Rows    func(v view.Context) []Row
	Detail  func(v view.Context, id string) []Detail
	// EmptyDetail describes why there is no row, below Empty; nil: nothing.
	EmptyDetail func(v view.Context) []Detail
	Query       state.Query
	Of          string        // what the query is about; empty for none
	Period      time.Duration // between two questions; 0: 2 s
	// Head draws lines above the list and returns how many; nil: none.
	Head func(r terminal.Region, v view.Context) int
	// Status is that of the value behind the rows; nil: all rows are there.
	Status     func(v view.Context) ValueStatus
	Keys       keymap.Scope                                                  // of the screen's own keys; empty for none
	Act        func(a keymap.Action, id string, v view.Context) view.Request // the request that one of them, or enter, makes; nil: none
	Reason     func(a keymap.Action, id string, v view.Context) string       // the reason if unavailable; nil: always available except for Dangerous ones without a row
	ExportRows func(v view.Context) [][]string                               // nil: the rows as they are drawn
	More       func(v view.Context, id string) []state.Need                  // further queries, about the chosen row
	Wide       bool                                                          // the list has the whole width, however wide the screen
	// Side draws next to the list and its details, on screens of at least SideFrom columns,
	// what belongs to the row with that id; nil: nothing. The list keeps its natural width.
	Side func(r terminal.Region, v view.Context, id string)
	// Rest draws, where the details leave room, what belongs to the row with that id: below them
	// next to a Side, otherwise to their right; nil: nothing.
	Rest      func(r terminal.Region, v view.Context, id string)
	Leaves    bool   // enter leaves the screen
	Enter     string // what enter does, for the last line; empty: not shown
	List      List
	sideDrawn bool // Side was drawn last
	restDrawn bool // Rest was drawn last
	page      Page
	listAt    terminal.Rect
}

// SideFrom is the width from which a list has a drawing next to it, in cells, and leastSide
// the least width of that.
const (
	SideFrom  = 180
	leastSide = 60
)

// Least size of what [TableView.Rest] draws, in cells.
const (
	leastRestWidth = 50
	leastRest      = 9
)

// Detail is one line of a row's details: a heading, or a text with a label
// before it, which may be empty.
type Detail struct {
	Heading, Label, Text string
	Role                 themes.Role
}

// FactsOf returns a function that adds text with its label to details, unless the text
// is empty.
func FactsOf(lines *[]Detail) func(label, words string) {
	return func(label, words string) {
		if words != "" {
			*lines = append(*lines, Detail{Label: label, Text: words, Role: themes.Text})
		}
	}
}

// FormatsOf is [FactsOf] with a format.
func FormatsOf(lines *[]Detail) func(label, format string, args ...any) {
	add := FactsOf(lines)
	return func(label, format string, args ...any) { add(label, fmt.Sprintf(format, args...)) }
}

// TimesOf writes times by the site's clock; no time has no words.
func TimesOf(v view.Context) func(t api.Time) string {
	return func(t api.Time) string {
		if t.IsZero() {
			return ""
		}
		return display.DateTime(t.In(v.Zone()))
	}
}

// Find returns the first item for which is returns true; nil without one.
func Find[T any](items []T, is func(T) bool) *T {
	if i := slices.IndexFunc(items, is); i >= 0 {
		return &items[i]
	}
	return nil
}

// SideDrawn reports whether there was room for Side when the screen was drawn last.
func (s *TableView) SideDrawn() bool { return s.sideDrawn }

// RestDrawn reports whether there was room for Rest when the screen was drawn last.
func (s *TableView) RestDrawn() bool { return s.restDrawn }

// Title returns the title of the screen.
func (s *TableView) Title() string { return s.Heading }

// Scope returns the scope of the screen's own keys.
func (s *TableView) Scope() keymap.Scope { return s.Keys }

// Disabled returns why one of the screen's own actions is not possible.
func (s *TableView) Disabled(a keymap.Action, v view.Context) string {
	if e, ok := v.Keys.Entry(a); ok && e.Dangerous && s.List.Current() == "" {
		return "nothing is selected"
	}
	if s.Reason != nil {
		return s.Reason(a, s.List.Current(), v)
	}
	return ""
}

// Opens returns what enter does, in a word for the last line.
func (s *TableView) Opens() string { return s.Enter }

// Queries returns the queries of the screen.
func (s *TableView) Queries(v view.Context) []state.Need {
	if s.Query == "" {
		return nil
	}
	var more []state.Need
	if s.More != nil {
		more = s.More(v, s.List.Current())
	}
	period := s.Period
	if period == 0 {
		period = 2 * time.Second
	}
	return append(more, state.Need{Query: s.Query, Of: s.Of, Period: period, Focused: true})
}

// Lists returns the list of the screen.
func (s *TableView) Lists() view.Lists {
	return view.Lists{All: map[string]view.List{"list": &s.List}, Active: &s.List}
}

// SelectRow selects a row.
func (s *TableView) SelectRow(id string) { s.List.Selected, s.List.Follow = id, false }

// Draw draws list and details, side by side where there is room.
func (s *TableView) Draw(r terminal.Region, v view.Context) {
	w, h := r.Size()
	rows := s.Rows(v)
	s.sideDrawn, s.restDrawn = false, false
	if len(rows) == 0 {
		s.List.Draw(r.Region(terminal.Rect{}), v, s.Columns, nil)
		s.drawEmpty(r, v)
		return
	}
	if s.drawNote(r.Region(terminal.Rect{Y: h - 1, W: w, H: 1}), v) {
		h--
	}
	head := 0
	if s.Head != nil && h > 4 {
		head = s.Head(r, v)
		r, h = r.Region(terminal.Rect{Y: head, W: w, H: h - head}), h-head
	}
	if s.List.Selected == "" && !s.List.Follow {
		s.List.Selected = rows[0].ID
	}
	if s.sideDrawn = s.Side != nil && w >= SideFrom; s.sideDrawn {
		part := min(naturalWidth(s.Columns, rows)+1, w-leastSide-2)
		defer s.Side(r.Region(terminal.Rect{X: part + 2, W: w - part - 2, H: h}), v, s.List.Current())
		r.VLine(part, 0, h, terminal.LinesFor(v.ASCII), v.Palette.Style(themes.Border))
		w = part - 1
		r = r.Region(terminal.Rect{W: w, H: h})
	}
	listH := min(len(rows)+1, max(h/2, 3))
	listArea, detailArea := terminal.Rect{W: w, H: listH}, terminal.Rect{Y: listH + 1, W: w, H: h - listH - 1}
	if w >= detailWidth && !s.Wide {
		part := split(s.Columns, rows, w)
		listArea, detailArea = terminal.Rect{W: part, H: h}, terminal.Rect{X: part + 2, W: w - part - 2, H: h}
	} else {
		r.HLine(0, listH, w, terminal.LinesFor(v.ASCII), v.Palette.Style(themes.Border))
	}
	s.List.Draw(r.Region(listArea), v, s.Columns, rows)
	s.listAt = listArea
	s.listAt.Y += head
	id := s.List.Current()
	details := s.Detail(v, id)
	if s.Rest != nil {
		var rest terminal.Rect
		if detailArea, rest = s.shareRest(v, detailArea, details); s.restDrawn {
			s.Rest(r.Region(rest), v, id)
		}
	}
	s.page.Draw(r.Region(detailArea), v, id, func(r terminal.Region) int { return DrawDetails(r, v, details) })
}

// shareRest shares the room of the details with what is drawn in the rest of it.
func (s *TableView) shareRest(v view.Context, area terminal.Rect, details []Detail) (detail, rest terminal.Rect) {
	detail, rest = area, area
	if s.sideDrawn {
		detail.H = min(DetailLines(v, area.W, details), area.H)
		rest.Y, rest.H = area.Y+detail.H+1, area.H-detail.H-1
	} else {
		label, text := 0, 0
		for _, d := range details {
			label, text = max(label, terminal.Width(d.Label)), max(text, terminal.Width(d.Text))
		}
		detail.W = min(label+2+text, area.W/2)
		rest.X, rest.W = area.X+detail.W+2, area.W-detail.W-2
	}
	if s.restDrawn = rest.W >= leastRestWidth && rest.H >= leastRest; !s.restDrawn {
		return area, terminal.Rect{}
	}
	return detail, rest
}

// drawEmpty draws why there is no row.
func (s *TableView) drawEmpty(r terminal.Region, v view.Context) {
	now := ValueStatus{Status: state.Empty}
	if s.Status != nil {
		now = s.Status(v)
	}
	y := now.drawEmpty(r, v, s.Empty)
	if s.EmptyDetail != nil && now.Status == state.Empty {
		w, h := r.Size()
		DrawDetails(r.Region(terminal.Rect{Y: y + 1, W: w, H: h - y - 1}), v, s.EmptyDetail(v))
	}
}

// drawNote draws the age of stale content.
func (s *TableView) drawNote(r terminal.Region, v view.Context) bool {
	return s.Status != nil && s.Status(v).drawNote(r, v)
}

// DetailLines returns the number of rows that details take in a width.
func DetailLines(v view.Context, width int, details []Detail) int {
	return DrawDetails(terminal.Region{}.Region(terminal.Rect{W: width, H: pageRows}), v, details)
}

// labelWidth returns the cells of the longest label.
func labelWidth(details []Detail) int {
	label := 0
	for _, d := range details {
		label = max(label, terminal.Width(d.Label))
	}
	return label
}

// DrawDetails draws lines and returns the number of rows.
func DrawDetails(r terminal.Region, v view.Context, details []Detail) int {
	w, _ := r.Size()
	label := labelWidth(details)
	shared := label <= w/4
	y := 0
	for i, d := range details {
		if !shared && (i == 0 || d.Heading != "") { // a long label widens only its own part
			end := len(details)
			if next := slices.IndexFunc(details[i+1:], func(d Detail) bool { return d.Heading != "" }); next >= 0 {
				end = i + 1 + next
			}
			label = labelWidth(details[i:end])
		}
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
		y = max(v.Paragraph(r, x, y, d.Text, d.Role), y+1)
	}
	return y
}

// Do moves in the list, scrolls the details, or performs one of the screen's own
// actions.
func (s *TableView) Do(a keymap.Action, v view.Context) view.Request {
	e, _ := v.Keys.Entry(a)
	switch {
	case s.Act != nil && (a == keymap.Open || s.Keys != "" && e.Scope == s.Keys):
		do := s.Act(a, s.List.Current(), v)
		if s.Leaves && a == keymap.Open && do != nil {
			return view.Batch{view.Close{}, do}
		}
		return do
	case s.page.Do(a):
	default:
		s.List.Do(a, len(s.Columns))
	}
	return nil
}

// Click chooses the row under it.
func (s *TableView) Click(x, y int, _ view.Context) view.Request {
	if s.listAt.Contains(x, y) {
		s.List.Click(y - s.listAt.Y)
	}
	return nil
}

// Wheel moves in the list, or scrolls the details.
func (s *TableView) Wheel(x, y, by int, v view.Context) view.Request {
	up, down := keymap.Up, keymap.Down
	if !s.listAt.Contains(x, y) && s.page.Scrolls() {
		up, down = keymap.PageUp, keymap.PageDown
	}
	return s.Do(WheelAction(by, up, down), v)
}

// Export returns the list as filtered and sorted.
func (s *TableView) Export(v view.Context) [][]string {
	if s.ExportRows != nil {
		return s.ExportRows(v)
	}
	return s.List.Export(s.Columns, s.Rows(v))
}
