// Package widget holds the parts that views are made of: lists, tables, tabs,
// forms, choosers, the frames of dialogs and the formats of numbers. It knows
// nothing of the resources of the API but how severities and fault families are
// written.
package widget

import (
	"fmt"
	"slices"
	"strings"

	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// Cell is one place of a list: text in a role, or a drawing.
type Cell struct {
	Text string
	Role themes.Role
	Draw func(r terminal.Region) // instead of Text
}

// Row of a list. ID keeps the selection in place when rows move; Sort is what
// each column sorts by, as text or as number.
type Row struct {
	ID    string
	Cells []Cell
	Sort  []any // string or float64; nil sorts last
}

// List is a table with a selection, a sort order, a filter and a scroll
// position. The zero List is ready to use.
type List struct {
	Selected string // ID
	SortBy   int    // column, -1 for the order given
	Reverse  bool
	// Follow selects the first row, whichever it is, until the user selects one.
	Follow bool
	filter string
	// shown are the titles of the columns that are drawn, in their order; empty
	// for all as they come. A column without a title is always drawn, in front.
	shown []string

	offset  int
	shift   int      // columns behind the first that are scrolled away
	more    bool     // columns further to the right are not seen
	titles  []string // of the columns last drawn
	wanted  string   // title of the column to sort by, until the columns are known
	ids     []string // as last drawn
	visible int
	top     int // first row's y in the region last drawn
}

// Drawn returns the ids of the rows that the filter left when the list was drawn last, in
// their order.
func (l *List) Drawn() []string { return l.ids }

// Draw draws the header, if there is room for two rows, and the rows that fit.
// The caller shows by [List.Range] that not all rows fit.
func (l *List) Draw(r terminal.Region, v view.Context, columns []Column, rows []Row) {
	all := len(rows)
	l.know(columns)
	columns = measured(columns, rows)
	rows = l.arrange(columns, rows)
	w, h := r.Size()
	cols, widths := l.fit(columns, w)
	y := 0
	if h > 2 || h == 2 && len(rows) < 2 {
		y++
	}
	l.top, l.visible = y, max(h-y, 0)
	l.ids = l.ids[:0]
	for _, row := range rows {
		l.ids = append(l.ids, row.ID)
	}
	if l.Follow && len(l.ids) > 0 {
		l.Selected = l.ids[0]
	}
	l.keepInView()
	if y > 0 {
		l.header(r, v, columns, cols, widths)
	}
	if len(rows) == 0 && all > 0 {
		v.PutIn(r, 0, y, w, "Nothing matches /"+l.filter+"; esc shows all.", themes.Muted)
	}
	names := shortNames(columns, cols, widths, rows, v.ASCII)
	for i := l.offset; i < len(rows) && i < l.offset+l.visible; i++ {
		x := 0
		for k, c := range cols {
			if c >= len(rows[i].Cells) {
				break
			}
			cell := rows[i].Cells[c]
			switch {
			case cell.Draw != nil:
				cell.Draw(r.Region(terminal.Rect{X: x, Y: y, W: widths[k], H: 1}))
			case columns[c].IDs:
				place(r, x, y, widths[k], names[i], columns[c].Right, v.Style(cell.Role), v.ASCII)
			default:
				place(r, x, y, widths[k], cell.Text, columns[c].Right, v.Style(cell.Role), v.ASCII)
			}
			x += widths[k] + 1
		}
		if rows[i].ID == l.Selected {
			r.Recolor(terminal.Rect{Y: y, W: w, H: 1}, v.Style(themes.Muted), v.Style(themes.Dim)) // muted text is too weak on the selection
			r.ShadeRow(terminal.Rect{Y: y, W: w, H: 1}, v.SelectionStyle(), v.Style(themes.Panel))
			if v.SelectionStyle().Attr&themes.Reverse != 0 { // a drawing in reverse shows the opposite
				redraw(r.Region(terminal.Rect{Y: y, W: w, H: 1}), v, rows[i], cols, widths)
			}
		}
		y++
	}
}

// leastBar is the least width of a bar or strip; narrower drawings are marks.
const leastBar = 3

// redraw draws the bars and strips of a row again: drawings without words.
func redraw(r terminal.Region, v view.Context, row Row, cols, widths []int) {
	x := 0
	for k, c := range cols {
		if c < len(row.Cells) && row.Cells[c].Draw != nil && row.Cells[c].Text == "" && widths[k] >= leastBar {
			cell := r.Region(terminal.Rect{X: x, W: widths[k], H: 1})
			cell.Clear(v.Style(themes.Panel))
			row.Cells[c].Draw(cell)
		}
		x += widths[k] + 1
	}
}

func (l *List) header(r terminal.Region, v view.Context, columns []Column, cols, widths []int) {
	x := 0
	for i, c := range cols {
		title := columns[c].Title
		if c == l.SortBy {
			title += arrow(l.Reverse, v.ASCII)
		}
		if part := l.part(v.ASCII); columns[c].IDs && part != "" && terminal.Width(title)+1+len(part) <= widths[i]+1 {
			title += " " + part
		}
		place(r, x, 0, widths[i], title, columns[c].Right, v.Style(themes.Dim), v.ASCII)
		x += widths[i] + 1
	}
}

// part is Range in few cells, for a header.
func (l *List) part(ascii bool) string {
	if len(l.ids) <= l.visible || l.visible == 0 {
		return ""
	}
	to := "–"
	if ascii {
		to = "-"
	}
	return fmt.Sprintf("%d%s%d/%d", l.offset+1, to, min(l.offset+l.visible, len(l.ids)), len(l.ids))
}

// Range returns which part of a long list is visible, empty if all of it is.
func (l *List) Range() string {
	if len(l.ids) <= l.visible || l.visible == 0 {
		return ""
	}
	return fmt.Sprintf("%d to %d of %d", l.offset+1, min(l.offset+l.visible, len(l.ids)), len(l.ids))
}

// Do moves the selection; ok is false when the action is not the list's.
func (l *List) Do(a keymap.Action, columns int) (ok bool) {
	i := slices.Index(l.ids, l.Selected)
	move := func(to int) {
		l.Follow = false
		if len(l.ids) > 0 {
			l.Selected = l.ids[min(max(to, 0), len(l.ids)-1)]
		}
	}
	switch a {
	case keymap.Up:
		move(i - 1)
	case keymap.Down:
		move(i + 1)
	case keymap.PageUp:
		move(i - max(l.visible-1, 1))
	case keymap.PageDown:
		move(i + max(l.visible-1, 1))
	case keymap.Top:
		move(0)
	case keymap.Bottom:
		move(len(l.ids) - 1)
	case keymap.Sort:
		l.nextSort(columns)
	case keymap.ScrollLeft:
		l.shift = max(l.shift-1, 0)
	case keymap.ScrollRight:
		if l.more {
			l.shift++
		}
	default:
		return false
	}
	return true
}

// Export returns the list as filtered, sorted and arranged, as rows of CSV.
func (l *List) Export(columns []Column, rows []Row) [][]string {
	order := l.order(columns)
	line := make([]string, len(order))
	for i, c := range order {
		line[i] = columns[c].Title
	}
	out := [][]string{line}
	for _, row := range l.arrange(columns, rows) {
		line = make([]string, len(order))
		for i, c := range order {
			if c < len(row.Cells) {
				line[i] = row.Cells[c].Text
			}
		}
		out = append(out, line)
	}
	return out
}

// nextSort goes through the columns: rising, falling, the next; behind the
// last one the order given comes back.
func (l *List) nextSort(columns int) {
	if l.SortBy >= 0 && !l.Reverse {
		l.Reverse = true
		return
	}
	l.Reverse = false
	l.SortBy++
	for l.SortBy < columns && l.hides(l.SortBy) {
		l.SortBy++
	}
	if l.SortBy >= columns {
		l.SortBy = -1
	}
}

// Click selects the row at y of the region last drawn.
func (l *List) Click(y int) bool {
	i := l.offset + y - l.top
	if y < l.top || i < 0 || i >= len(l.ids) {
		return false
	}
	l.Selected, l.Follow = l.ids[i], false
	return true
}

// Current returns the selected row's id, the first one's when nothing that is shown
// is selected, and empty when nothing is shown.
func (l *List) Current() string {
	switch {
	case slices.Contains(l.ids, l.Selected):
		return l.Selected
	case len(l.ids) > 0:
		return l.ids[0]
	}
	return ""
}

// arrange filters and sorts.
func (l *List) arrange(columns []Column, rows []Row) []Row {
	if l.filter != "" {
		f := parseFilter(l.filter, columns)
		rows = slices.DeleteFunc(slices.Clone(rows), func(row Row) bool { return !f.matches(row) })
	}
	if l.SortBy < 0 {
		return rows
	}
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b Row) int {
		x, y := a.key(l.SortBy), b.key(l.SortBy)
		n := Compare(x, y)
		if l.Reverse && x != nil && y != nil { // what is missing stays last
			return -n
		}
		return n
	})
	return rows
}

func (row Row) key(column int) any {
	if column < len(row.Sort) {
		return row.Sort[column]
	}
	return nil
}

// Compare orders sort keys: numbers, texts, then what is missing.
func Compare(a, b any) int {
	switch a := a.(type) {
	case float64:
		b, ok := b.(float64)
		switch {
		case !ok:
			return -1
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	case string:
		if b, ok := b.(string); ok {
			return strings.Compare(a, b)
		}
		return -1
	}
	if b == nil {
		return 0
	}
	return 1
}

// keepInView scrolls so that the selection is seen.
func (l *List) keepInView() {
	if i := slices.Index(l.ids, l.Selected); i >= 0 {
		l.offset = min(l.offset, i)
		l.offset = max(l.offset, i-l.visible+1)
	}
	l.offset = max(min(l.offset, len(l.ids)-l.visible), 0)
}

// place draws text in a column of the given width.
func place(r terminal.Region, x, y, width int, text string, right bool, s terminal.Style, ascii bool) {
	text = view.Drawable(text, ascii)
	if right {
		if w := terminal.Width(text); w < width {
			x, width = x+width-w, w
		}
	}
	r.PutIn(x, y, width, text, s, ascii)
}

func arrow(down, ascii bool) string {
	switch {
	case down && ascii:
		return " v"
	case ascii:
		return " ^"
	case down:
		return " ↓"
	}
	return " ↑"
}

// Memory returns the state of the list.
func (l *List) Memory() view.Memory {
	m := view.Memory{Reverse: l.Reverse, Filter: l.filter, Selected: l.Selected, Shown: slices.Clone(l.shown), Sort: l.wanted}
	if l.SortBy >= 0 && l.SortBy < len(l.titles) {
		m.Sort = l.titles[l.SortBy]
	}
	if m.Sort == "" {
		m.Reverse = false
	}
	if l.Follow {
		m.Selected = ""
	}
	return m
}

// Restore restores the state of the list.
func (l *List) Restore(m view.Memory) {
	l.SortBy, l.wanted, l.Reverse, l.filter, l.Selected, l.shown = -1, m.Sort, m.Reverse, m.Filter, m.Selected, slices.Clone(m.Shown)
	l.Follow = l.Follow && m.Selected == ""
}

// Titles returns those of the columns last drawn, without the untitled.
func (l *List) Titles() []string {
	return slices.DeleteFunc(slices.Clone(l.titles), func(t string) bool { return t == "" })
}

// Arrange chooses the columns by title, in their order; all of them as they
// come is no choice.
func (l *List) Arrange(titles []string) {
	l.shown, l.shift = slices.Clone(titles), 0
	if slices.Equal(titles, l.Titles()) {
		l.shown = nil
	}
}

// know takes note of the columns that the list has now.
func (l *List) know(columns []Column) {
	l.titles = l.titles[:0]
	for i, c := range columns {
		l.titles = append(l.titles, c.Title)
		if l.wanted != "" && c.Title == l.wanted {
			l.SortBy, l.wanted = i, ""
		}
	}
}

// hides reports whether a column was not selected.
func (l *List) hides(column int) bool {
	return len(l.shown) > 0 && column < len(l.titles) && l.titles[column] != "" && !slices.Contains(l.shown, l.titles[column])
}

// order returns which columns are drawn, as they are arranged.
func (l *List) order(columns []Column) []int {
	var all []int
	for i, c := range columns {
		if c.Title == "" || len(l.shown) == 0 {
			all = append(all, i)
		}
	}
	for _, title := range l.shown {
		if i := slices.IndexFunc(columns, func(c Column) bool { return c.Title == title }); i >= 0 && title != "" {
			all = append(all, i)
		}
	}
	return all
}

// fit chooses the columns that a width has room for, and their widths. Columns
// that were chosen, and those that are scrolled to, keep their order: columns
// without space are to the right.
func (l *List) fit(columns []Column, width int) (chosen, widths []int) {
	order := l.order(columns)
	if len(l.shown) == 0 && l.shift == 0 {
		chosen, widths = fit(columns, width)
		cells := len(widths) - 1
		for _, w := range widths {
			cells += w
		}
		l.more = len(chosen) < len(order) || cells > width
		return chosen, widths
	}
	head := 1 // that stay: the untitled in front, and the first with a title
	for head < len(order) && columns[order[head-1]].Title == "" {
		head++
	}
	head = min(head, len(order))
	l.shift = min(l.shift, max(len(order)-head-1, 0))
	order = slices.Concat(order[:head], order[head+l.shift:])
	used := 0
	for i, c := range order {
		least := columns[c].least()
		if used+least > width && i > 0 {
			break
		}
		chosen, widths = append(chosen, c), append(widths, least)
		used += least + 1
	}
	l.more = len(chosen) < len(order)
	widen(columns, chosen, widths, max(width-used+1, 0))
	return chosen, widths
}

// MovesSelection reports whether an action moves the selection of a list.
func MovesSelection(a keymap.Action) bool {
	return slices.Contains([]keymap.Action{keymap.Up, keymap.Down, keymap.PageUp, keymap.PageDown, keymap.Top, keymap.Bottom}, a)
}

// Filter returns the filter of the list.
func (l *List) Filter() string { return l.filter }

// SetFilter filters the list.
func (l *List) SetFilter(text string) { l.filter = text }

// Shown returns the titles of the chosen columns, empty for all.
func (l *List) Shown() []string { return l.shown }
