package widget

import (
	"slices"
	"strconv"
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

	natural int  // cells of the widest text, at least the declared width; 0 where it was not measured
	content int  // cells of the widest text or of the title; 0 where it was not measured
	blank   bool // no row has a value
	omit    bool // not drawn
	drawing bool // cells are drawings, which take any width
}

// measuredRows bounds the rows whose texts are measured.
const measuredRows = 200

// measured returns the columns with the widths that their texts take.
func measured(columns []Column, rows []Row) []Column {
	out := slices.Clone(columns)
	for i := range out {
		title := terminal.Width(out[i].Title)
		out[i].natural, out[i].content, out[i].blank = max(title, min(out[i].Width, out[i].least())), title, len(rows) > 0
	}
	for _, row := range rows[:min(len(rows), measuredRows)] {
		for i, cell := range row.Cells[:min(len(row.Cells), len(out))] {
			width := terminal.Width(cell.Text)
			if cell.Draw != nil {
				width, out[i].drawing = max(out[i].Width, out[i].least()), true
			}
			out[i].natural, out[i].content = max(out[i].natural, width), max(out[i].content, width)
			out[i].blank = out[i].blank && width == 0
		}
	}
	return out
}

// tightened returns columns for a width in which a text would be cut: those
// without any value are left out, the others take no more than their texts.
func tightened(columns []Column) []Column {
	out := slices.Clone(columns)
	for i, c := range out {
		switch {
		case c.content == 0:
		case c.blank:
			out[i].omit = true
		default:
			out[i].Min, out[i].natural = min(c.least(), c.content), c.content
			if c.Width > 0 {
				out[i].Width = max(min(c.Width, c.content), 1)
			}
		}
	}
	return out
}

// naturalWidth is the width in which no text of a list is cut.
func naturalWidth(columns []Column, rows []Row) int {
	width := -1
	for _, c := range measured(columns, rows) {
		width += c.natural + 1
	}
	return width
}

// leastDetail returns the width that details keep next to a list. Details wrap what a list
// cuts.
func leastDetail(width int) int { return max(42, width/3) }

// ListWidth is the width in which a list cuts no text of the columns that are always drawn.
func ListWidth(columns []Column, rows []Row) int {
	width := -1
	for _, c := range measured(columns, rows) {
		if c.Rank == 0 {
			width += c.content + 1
		}
	}
	return width
}

// split shares a width between a list and its details: the list takes its natural width, all
// that the details leave if it has drawings of any width; the details take the rest, a third at
// least.
func split(columns []Column, rows []Row, width int) (list int) {
	most := width - leastDetail(width) - 2
	for _, c := range measured(columns, rows) {
		if c.Width == 0 && c.drawing {
			return max(most, min(40, width/2))
		}
	}
	return max(min(naturalWidth(columns, rows)+1, most), min(40, width/2))
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
	wide := columns
	for drop := maxRank(columns); ; drop-- {
		need := -1
		for _, c := range wide {
			if c.Rank <= drop {
				need += max(c.natural, c.least()) + 1
			}
		}
		if columns = wide; need > width {
			columns = tightened(wide)
		}
		chosen, widths = chosen[:0], widths[:0]
		used := 0
		for i, c := range columns {
			if c.Rank > drop || c.omit {
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

// mostID is the width up to which ids are filled up before other texts.
const mostID = 24

// widen shares out what is left: ids are filled up first, then the fixed columns, then the
// flexible one as far as its texts go; then the texts of fixed columns that are
// longer than these; of the rest, fixed columns get their width, the flexible one
// what is left if it is the last or has drawings: a value far from its row's name is misread.
func widen(columns []Column, chosen, widths []int, left int) {
	flex := -1
	fill := func(k, to int) {
		more := min(max(to-widths[k], 0), left)
		widths[k] += more
		left -= more
	}
	for k, i := range chosen {
		if columns[i].IDs {
			fill(k, min(columns[i].natural, mostID))
		}
	}
	for k, i := range chosen {
		if columns[i].Width == 0 {
			flex = k
			continue
		}
		to := columns[i].Width
		if n := columns[i].natural; n > 0 {
			to = min(to, n)
		}
		fill(k, to)
	}
	if flex >= 0 {
		fill(flex, columns[chosen[flex]].natural)
	}
	for k, i := range chosen {
		if k != flex {
			fill(k, columns[i].natural)
		}
	}
	for k, i := range chosen {
		fill(k, columns[i].Width)
	}
	if flex >= 0 && (flex == len(chosen)-1 || columns[chosen[flex]].drawing || columns[chosen[flex]].content == 0) {
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

// shortNames returns the texts of the ids' column, cut so that they still differ.
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
		return Shorten(names, widths[k], ascii)
	}
	return nil
}

// Shorten cuts names to a width. Their common prefix is shortened first:
// INV-1000000054495190 becomes INV-…495190 next to its neighbours.
func Shorten(names []string, width int, ascii bool) []string {
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

// filter is what a row must hold: every word, some of them in one column.
type filter []condition

// condition is one word of a filter. In a column it may be a bound, as in
// lost:>100.
type condition struct {
	column int // -1: anywhere in the row
	word   string
	sign   byte // '<', '>' or 0
	bound  float64
}

// parseFilter reads words between spaces. A word with a colon is searched in
// the column whose title begins with the text before it; any other colon is
// part of the word.
func parseFilter(text string, columns []Column) filter {
	var f filter
	for _, word := range strings.Fields(strings.ToLower(text)) {
		c := condition{column: -1, word: word}
		if name, rest, ok := strings.Cut(word, ":"); ok && name != "" {
			if i := columnNamed(columns, name); i >= 0 {
				c.column, c.word = i, rest
			}
		}
		if c.column >= 0 && len(c.word) > 1 && (c.word[0] == '<' || c.word[0] == '>') {
			if n, err := strconv.ParseFloat(c.word[1:], 64); err == nil {
				c.sign, c.bound = c.word[0], n
			}
		}
		f = append(f, c)
	}
	return f
}

// columnNamed returns the first column whose title begins with a name, spaces left
// out; -1 without one.
func columnNamed(columns []Column, name string) int {
	for i, c := range columns {
		title := strings.ReplaceAll(strings.ToLower(c.Title), " ", "")
		if title != "" && strings.HasPrefix(title, strings.ReplaceAll(name, "-", "")) {
			return i
		}
	}
	return -1
}

// matches reports whether a row meets all conditions.
func (f filter) matches(row Row) bool {
	whole := strings.ToLower(row.ID)
	for _, c := range row.Cells {
		whole += " " + strings.ToLower(c.Text)
	}
	for _, c := range f {
		if !c.holds(row, whole) {
			return false
		}
	}
	return true
}

func (c condition) holds(row Row, whole string) bool {
	if c.sign != 0 {
		value, ok := row.key(c.column).(float64)
		return ok && (c.sign == '<' && value < c.bound || c.sign == '>' && value > c.bound)
	}
	if c.column < 0 {
		return strings.Contains(whole, c.word)
	}
	return c.column < len(row.Cells) && strings.Contains(strings.ToLower(row.Cells[c.column].Text), c.word)
}
