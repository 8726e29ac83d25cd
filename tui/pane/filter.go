package pane

import (
	"strconv"
	"strings"
)

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

// parseFilter reads words between spaces. A word with a colon looks in the
// column whose title begins with what stands before it; a colon after anything
// else is part of the word.
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

// columnNamed is the first column whose title begins with a name, spaces left
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

// matches says whether a row holds all that is asked for.
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
