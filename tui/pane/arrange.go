package pane

import (
	"slices"

	"app.sunloop/tui/keymap"
	"app.sunloop/tui/view"
)

// Memory is how the list stands.
func (l *List) Memory() view.Memory {
	m := view.Memory{Reverse: l.Reverse, Filter: l.filter, Selected: l.Selected, Shown: slices.Clone(l.shown), Sort: l.wanted}
	if l.SortBy >= 0 && l.SortBy < len(l.titles) {
		m.Sort = l.titles[l.SortBy]
	}
	if m.Sort == "" {
		m.Reverse = false
	}
	return m
}

// Restore puts the list as it stood.
func (l *List) Restore(m view.Memory) {
	l.SortBy, l.wanted, l.Reverse, l.filter, l.Selected, l.shown = -1, m.Sort, m.Reverse, m.Filter, m.Selected, slices.Clone(m.Shown)
}

// Titles are those of the columns last drawn, without the untitled.
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

// hides says that a column was not chosen.
func (l *List) hides(column int) bool {
	return len(l.shown) > 0 && column < len(l.titles) && l.titles[column] != "" && !slices.Contains(l.shown, l.titles[column])
}

// order is which columns are drawn, as they are arranged.
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
// that were chosen, and those that are scrolled to, keep their order: what has
// no room stands to the right.
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

// moves says whether an action moves the selection of a list.
func moves(a keymap.Action) bool {
	return slices.Contains([]keymap.Action{keymap.Up, keymap.Down, keymap.PageUp, keymap.PageDown, keymap.Top, keymap.Bottom}, a)
}

// Filter is the text that the list is narrowed by.
func (l *List) Filter() string { return l.filter }

// SetFilter narrows the list.
func (l *List) SetFilter(text string) { l.filter = text }

// Shown are the titles of the chosen columns, empty for all.
func (l *List) Shown() []string { return l.shown }
