package pane

import (
	"fmt"
	"slices"
	"strings"

	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
)

// Column of a list. Narrow screens drop the columns with the highest Rank.
type Column struct {
	Title string
	Width int // cells; 0 takes what is left (one column at most)
	Right bool
	Rank  int
}

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
	Filter   string

	offset  int
	ids     []string // as last drawn
	visible int
	top     int // first row's y in the region last drawn
}

// Draw draws the header, if there is room for two rows, and the rows that fit.
// What does not fit is for the caller to say, by [List.Range].
func (l *List) Draw(r terminal.Region, v View, columns []Column, rows []Row) {
	rows = l.arrange(rows)
	w, h := r.Size()
	cols, widths := fit(columns, w)
	y := 0
	if h > 2 {
		x := 0
		for i, c := range cols {
			title := columns[c].Title
			if c == l.SortBy {
				title += arrow(l.Reverse, v.ASCII)
			}
			place(r, x, y, widths[i], title, columns[c].Right, v.style(themes.Dim), v.ASCII)
			x += widths[i] + 1
		}
		y++
	}
	l.top, l.visible = y, max(h-y, 0)
	l.ids = l.ids[:0]
	for _, row := range rows {
		l.ids = append(l.ids, row.ID)
	}
	l.keepInView()
	for i := l.offset; i < len(rows) && i < l.offset+l.visible; i++ {
		x := 0
		for k, c := range cols {
			if c >= len(rows[i].Cells) {
				break
			}
			cell := rows[i].Cells[c]
			if cell.Draw != nil {
				cell.Draw(r.Region(terminal.Rect{X: x, Y: y, W: widths[k], H: 1}))
			} else {
				place(r, x, y, widths[k], cell.Text, columns[c].Right, v.style(cell.Role), v.ASCII)
			}
			x += widths[k] + 1
		}
		if rows[i].ID == l.Selected {
			if v.Focused {
				r.Shade(terminal.Rect{Y: y, W: w, H: 1}, v.style(themes.Selection))
			} else {
				r.Shade(terminal.Rect{Y: y, W: w, H: 1}, terminal.Style{Attr: themes.Underline})
			}
		}
		y++
	}
}

// Range says which part of a long list is seen, empty when all of it is.
func (l *List) Range() string {
	if len(l.ids) <= l.visible || l.visible == 0 {
		return ""
	}
	return fmt.Sprintf("%d–%d of %d", l.offset+1, min(l.offset+l.visible, len(l.ids)), len(l.ids))
}

// Do moves the selection; ok is false when the action is not the list's.
func (l *List) Do(a keymap.Action, columns int) (ok bool) {
	i := slices.Index(l.ids, l.Selected)
	move := func(to int) {
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
	default:
		return false
	}
	return true
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
	l.Selected = l.ids[i]
	return true
}

// Current is the selected row's id, the first one's when nothing is selected.
func (l *List) Current() string {
	if l.Selected == "" && len(l.ids) > 0 {
		return l.ids[0]
	}
	return l.Selected
}

// arrange filters and sorts.
func (l *List) arrange(rows []Row) []Row {
	if l.Filter != "" {
		rows = slices.DeleteFunc(slices.Clone(rows), func(row Row) bool { return !row.matches(l.Filter) })
	}
	if l.SortBy < 0 {
		return rows
	}
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b Row) int {
		n := compare(a.key(l.SortBy), b.key(l.SortBy))
		if l.Reverse {
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

// matches says whether every word of the filter stands somewhere in the row.
func (row Row) matches(filter string) bool {
	text := strings.ToLower(row.ID)
	for _, c := range row.Cells {
		text += " " + strings.ToLower(c.Text)
	}
	for _, word := range strings.Fields(strings.ToLower(filter)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

func compare(a, b any) int {
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

// fit chooses the columns that a width has room for, least rank first, and
// their widths.
func fit(columns []Column, width int) (chosen, widths []int) {
	for drop := maxRank(columns); ; drop-- {
		chosen, widths = chosen[:0], widths[:0]
		used, flex := 0, -1
		for i, c := range columns {
			if c.Rank > drop {
				continue
			}
			if len(chosen) > 0 {
				used++
			}
			if c.Width == 0 {
				flex = len(chosen)
				used += 8 // a flexible column is worth having from eight cells on
			}
			chosen, widths = append(chosen, i), append(widths, c.Width)
			used += c.Width
		}
		if used <= width || drop <= 0 {
			if flex >= 0 {
				widths[flex] = max(width-used+8, 1)
			}
			return chosen, widths
		}
	}
}

func maxRank(columns []Column) int {
	n := 0
	for _, c := range columns {
		n = max(n, c.Rank)
	}
	return n
}

// place draws text in a column of the given width.
func place(r terminal.Region, x, y, width int, text string, right bool, s terminal.Style, ascii bool) {
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
