package pane

import (
	"strings"
	"unicode/utf8"

	"app.sunloop/tui/terminal"
)

// Column of a list. Narrow screens first shrink the columns that have a Min,
// then drop those with the highest Rank.
type Column struct {
	Title string
	Width int // cells; 0 takes what is left (one column at most)
	Min   int // least cells; 0: Width, or 8 where Width is 0
	Right bool
	Rank  int
	IDs   bool // names that share their beginning: cut in the middle, all alike
}

func (c Column) least() int {
	switch {
	case c.Min > 0:
		return c.Min
	case c.Width == 0:
		return 8
	}
	return c.Width
}

// fit chooses the columns that a width has room for, least rank first, and
// their widths: what is left over fills the fixed columns up, then the flexible
// one.
func fit(columns []Column, width int) (chosen, widths []int) {
	for drop := maxRank(columns); ; drop-- {
		chosen, widths = chosen[:0], widths[:0]
		used := 0
		for i, c := range columns {
			if c.Rank > drop {
				continue
			}
			if len(chosen) > 0 {
				used++
			}
			chosen, widths = append(chosen, i), append(widths, c.least())
			used += c.least()
		}
		if used > width && drop > 0 {
			continue
		}
		widen(columns, chosen, widths, max(width-used, 0))
		return chosen, widths
	}
}

// widen shares out what is left: the fixed columns are filled up, then the
// flexible one.
func widen(columns []Column, chosen, widths []int, left int) {
	flex := -1
	for k, i := range chosen {
		if columns[i].Width == 0 {
			flex = k
			continue
		}
		more := min(max(columns[i].Width-widths[k], 0), left)
		widths[k] += more
		left -= more
	}
	if flex >= 0 {
		widths[flex] += left
	}
}

func maxRank(columns []Column) int {
	n := 0
	for _, c := range columns {
		n = max(n, c.Rank)
	}
	return n
}

// shortNames are the texts of the ids' column, cut so that they still differ.
func shortNames(columns []Column, cols, widths []int, rows []Row, ascii bool) []string {
	for k, c := range cols {
		if !columns[c].IDs {
			continue
		}
		names := make([]string, len(rows))
		for i, row := range rows {
			if c < len(row.Cells) {
				names[i] = row.Cells[c].Text
			}
		}
		return shorten(names, widths[k], ascii)
	}
	return nil
}

// shorten cuts names to a width. What they share in front gives way first:
// INV-1000000054495190 becomes INV-…495190 beside its neighbours.
func shorten(names []string, width int, ascii bool) []string {
	shared := ""
	for i, n := range names {
		if i == 0 {
			shared = n
		}
		for !strings.HasPrefix(n, shared) {
			_, size := utf8.DecodeLastRuneInString(shared)
			shared = shared[:len(shared)-size]
		}
	}
	own := 0 // cells of the longest part that is not shared
	for _, n := range names {
		own = max(own, terminal.Width(n)-terminal.Width(shared))
	}
	head := min(4, width/3)
	if room := width - 1 - own; len(names) > 1 && room >= 0 {
		head = min(head, room)
	}
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = terminal.TruncateMiddle(n, head, width, ascii)
	}
	return out
}
