package screen

import (
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// Sheet is a further screen: a list with the details of the chosen row.
type Sheet struct {
	view.Base
	title   string
	empty   string
	columns []pane.Column
	rows    func(v view.Context) []pane.Row
	detail  func(v view.Context, id string) []Detail
	query   state.Query
	of      string        // what the query is about; empty for none
	period  time.Duration // between two questions; 0: 2 s
	// status is how the value behind the rows stands; nil: what is there is all.
	status func(v view.Context) status
	own    keymap.Scope                                                  // of the sheet's own keys; empty for none
	act    func(a keymap.Action, id string, v view.Context) view.Request // the request that one of them, or enter, makes; nil: none
	why    func(a keymap.Action, id string, v view.Context) string       // why not; nil: always possible but for Dangerous ones without a row
	export func(v view.Context) [][]string                               // nil: the rows as they are drawn
	more   func(id string) []state.Need                                  // further queries, about the chosen row
	wide   bool                                                          // the list has the whole width, however wide the screen
	part   int                                                           // of the width in percent that the list has beside its details; 0: half
	leaves bool                                                          // enter leaves the sheet
	opens  string                                                        // what enter does, for the last line; empty: it is not told
	list   pane.List
	page   pane.Page
	listAt terminal.Rect
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

// factsOf adds words with their label to details; where there are no words
// there is no fact.
func factsOf(lines *[]Detail) func(label, words string) {
	return func(label, words string) {
		if words != "" {
			*lines = append(*lines, Detail{Label: label, Words: words, Role: themes.Text})
		}
	}
}

// formatsOf is [factsOf] for words that are put together.
func formatsOf(lines *[]Detail) func(label, format string, args ...any) {
	add := factsOf(lines)
	return func(label, format string, args ...any) { add(label, fmt.Sprintf(format, args...)) }
}

// stampsOf writes times by the site's clock; no time has no words.
func stampsOf(v view.Context) func(t api.Time) string {
	return func(t api.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.In(v.Zone()).Format(dateLayout)
	}
}

// itemOf is the first item that is meant, nil without one.
func itemOf[T any](items []T, is func(T) bool) *T {
	if i := slices.IndexFunc(items, is); i >= 0 {
		return &items[i]
	}
	return nil
}

// Title is the sheet's title.
func (s *Sheet) Title() string { return s.title }

// Scope is that of the sheet's own keys.
func (s *Sheet) Scope() keymap.Scope { return s.own }

// Disabled returns why one of the sheet's own actions is not possible.
func (s *Sheet) Disabled(a keymap.Action, v view.Context) string {
	if e, ok := v.Keys.Entry(a); ok && e.Dangerous && s.list.Current() == "" {
		return "nothing is chosen here"
	}
	if s.why != nil {
		return s.why(a, s.list.Current(), v)
	}
	return ""
}

// Opens is what enter does, in a word for the last line.
func (s *Sheet) Opens() string { return s.opens }

// Queries is what the sheet shows, to be asked for while it is there.
func (s *Sheet) Queries(view.Context) []state.Need {
	if s.query == "" {
		return nil
	}
	var more []state.Need
	if s.more != nil {
		more = s.more(s.list.Current())
	}
	period := s.period
	if period == 0 {
		period = 2 * time.Second
	}
	return append(more, state.Need{Query: s.query, Of: s.of, Period: period, Focused: true})
}

// Lists is the sheet's list.
func (s *Sheet) Lists() view.Lists {
	return view.Lists{All: map[string]view.List{"list": &s.list}, Active: &s.list}
}

// SelectRow selects a row.
func (s *Sheet) SelectRow(id string) { s.list.Selected = id }

// Draw draws list and details, side by side where there is room.
func (s *Sheet) Draw(r terminal.Region, v view.Context) {
	w, h := r.Size()
	rows := s.rows(v)
	if len(rows) == 0 {
		s.list.Draw(r.Region(terminal.Rect{}), v, s.columns, nil)
		s.drawEmpty(r, v)
		return
	}
	if s.drawNote(r.Region(terminal.Rect{Y: h - 1, W: w, H: 1}), v) {
		h--
	}
	listH := min(len(rows)+1, max(h/2, 3))
	listArea, detailArea := terminal.Rect{W: w, H: listH}, terminal.Rect{Y: listH + 1, W: w, H: h - listH - 1}
	if w >= 110 && !s.wide {
		part := w / 2
		if s.part > 0 {
			part = w * s.part / 100
		}
		listArea, detailArea = terminal.Rect{W: part, H: h}, terminal.Rect{X: part + 2, W: w - part - 2, H: h}
	} else {
		r.HLine(0, listH, w, terminal.LinesFor(v.ASCII), v.Palette.Style(themes.Border))
	}
	if s.list.Selected == "" {
		s.list.Selected = rows[0].ID
	}
	s.list.Draw(r.Region(listArea), v, s.columns, rows)
	s.listAt = listArea
	id := s.list.Current()
	s.page.Draw(r.Region(detailArea), v, id, func(r terminal.Region) int { return drawDetails(r, v, s.detail(v, id)) })
}

// drawEmpty says why there is no row.
func (s *Sheet) drawEmpty(r terminal.Region, v view.Context) {
	now := status{face: state.Empty}
	if s.status != nil {
		now = s.status(v)
	}
	now.drawEmpty(r, v, s.empty)
}

// drawEmpty says why there is nothing to show; empty is said when there is none.
func (now status) drawEmpty(r terminal.Region, v view.Context, empty string) {
	switch now.face {
	case state.Failed:
		y := v.Paragraph(r, 0, 0, state.Sentence(now.err), themes.Warning)
		v.Paragraph(r, 0, y, "Next try "+state.Soon(now.nextTry.Sub(v.Now))+"; r asks now.", themes.Dim)
	case state.Loading:
		v.Paragraph(r, 0, 0, "Asking the service …", themes.Dim)
	default:
		v.Paragraph(r, 0, 0, empty, themes.Dim)
	}
}

// drawNote says that what is shown is old, when it is.
func (s *Sheet) drawNote(r terminal.Region, v view.Context) bool {
	return s.status != nil && s.status(v).drawNote(r, v)
}

// drawNote says that what is shown is old, when it is.
func (now status) drawNote(r terminal.Region, v view.Context) bool {
	if now.err != nil {
		v.Paragraph(r, 0, 0, "These are "+state.Age(now.age)+" old: "+state.Reason(now.err)+".", themes.Warning)
	}
	return now.err != nil
}

// drawDetails draws lines and answers the rows they took.
func drawDetails(r terminal.Region, v view.Context, details []Detail) int {
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

// Do moves in the list, scrolls the details, or does one of the sheet's own
// actions.
func (s *Sheet) Do(a keymap.Action, v view.Context) view.Request {
	e, _ := v.Keys.Entry(a)
	switch {
	case s.act != nil && (a == keymap.Open || s.own != "" && e.Scope == s.own):
		do := s.act(a, s.list.Current(), v)
		if s.leaves && a == keymap.Open && do != nil {
			return view.Batch{view.Close{}, do}
		}
		return do
	case s.page.Do(a):
	default:
		s.list.Do(a, len(s.columns))
	}
	return nil
}

// Click chooses the row under it.
func (s *Sheet) Click(x, y int, _ view.Context) view.Request {
	if s.listAt.Contains(x, y) {
		s.list.Click(y - s.listAt.Y)
	}
	return nil
}

// Wheel moves in the list, or scrolls the details.
func (s *Sheet) Wheel(x, y, by int, v view.Context) view.Request {
	up, down := keymap.Up, keymap.Down
	if !s.listAt.Contains(x, y) && s.page.Scrolls() {
		up, down = keymap.PageUp, keymap.PageDown
	}
	if by > 0 {
		return s.Do(down, v)
	}
	return s.Do(up, v)
}

// Export is the list as it is narrowed and sorted.
func (s *Sheet) Export(v view.Context) [][]string {
	if s.export != nil {
		return s.export(v)
	}
	return s.list.Export(s.columns, s.rows(v))
}
