package plain

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"strconv"

	"app.sunloop/tui/terminal"
)

// Table is a table of text: a line for each object, columns of equal width.
type Table struct {
	columns []column
	rows    [][]string
}

type column struct {
	head   string
	number bool
}

// NewTable has columns under heads, which carry the unit. A head that begins
// with # is one of numbers: they are aligned on the point.
func NewTable(heads ...string) *Table {
	t := &Table{}
	for _, h := range heads {
		name, number := strings.CutPrefix(h, "#")
		t.columns = append(t.columns, column{name, number})
	}
	return t
}

// Add writes a line with a cell for each column. Text is made safe to print.
func (t *Table) Add(cells ...string) {
	row := make([]string, len(t.columns))
	for i := range row {
		row[i] = terminal.Printable(cells[i])
	}
	t.rows = append(t.rows, row)
}

// Empty reports whether the table has no lines.
func (t *Table) Empty() bool { return len(t.rows) == 0 }

// Write prints heads and lines, each after indent; nothing of an empty table,
// and no column that is empty in each line.
func (t *Table) Write(w io.Writer, indent string) error {
	if t.Empty() {
		return nil
	}
	lines := make([]string, len(t.rows)+1)
	for c, col := range t.columns {
		values := make([]string, len(t.rows))
		for r, row := range t.rows {
			values[r] = row[c]
		}
		if !slices.ContainsFunc(values, func(v string) bool { return v != "" }) {
			continue
		}
		if col.number {
			onThePoint(values)
		}
		cells := append([]string{col.head}, values...)
		width := 0
		for _, v := range cells {
			width = max(width, terminal.Width(v))
		}
		for i, v := range cells {
			blank := strings.Repeat(" ", width-terminal.Width(v))
			if col.number {
				lines[i] += blank + v + "  "
			} else {
				lines[i] += v + blank + "  "
			}
		}
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, strings.TrimRight(indent+line, " ")); err != nil {
			return err
		}
	}
	return nil
}

// onThePoint pads numbers with blanks so that their decimal points are aligned.
func onThePoint(values []string) {
	decimals := func(v string) int {
		if i := strings.IndexByte(v, '.'); i >= 0 {
			return len(v) - i
		}
		return 0
	}
	most := 0
	for _, v := range values {
		most = max(most, decimals(v))
	}
	for i, v := range values {
		if v != "" && v != Unknown {
			values[i] = v + strings.Repeat(" ", most-decimals(v))
		}
	}
}

// Inert returns a cell of a table that is exported for a spreadsheet: text that it would run as a formula gets a leading
// quote, and numbers stay numbers.
func Inert(cell string) string {
	if strings.TrimLeft(cell, "=+-@\t\r\n＝＋－＠") == cell || number(cell) {
		return cell
	}
	return "'" + cell
}

// number reports whether a cell is a decimal number, which a spreadsheet reads as one. Infinities and hexadecimal numbers are not.
func number(cell string) bool {
	if strings.Trim(cell, "0123456789.+-eE") != "" {
		return false
	}
	_, err := strconv.ParseFloat(cell, 64)
	return err == nil
}
