package format

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"
)

// Table is one table of a file, as delimited text.
type Table struct {
	Name    string // of the sheet, file or query; "" if the file has one table
	Format  string // as text, such as "workbook of Excel (XLSX)"
	Text    []byte // UTF-8, rows with tabs between the cells
	Decimal byte   // '.' if the format fixes the decimal mark, else 0
	Long    bool   // one value a row: the columns are some of device, parameter, unit, time and value
	Notes   []string
}

// writer builds the text of a table within a budget.
type writer struct {
	table  Table
	budget *Budget
	text   bytes.Buffer
	cells  int
	rows   int
	err    error
}

func newWriter(b *Budget, name, format string) *writer {
	return &writer{table: Table{Name: name, Format: format}, budget: b}
}

// cell adds a cell to the current row. Tabs and line breaks in it become spaces.
func (w *writer) cell(text string) {
	if w.cells > 0 {
		w.text.WriteByte('\t')
	}
	w.cells++
	if !strings.ContainsAny(text, "\t\r\n\"") {
		w.text.WriteString(text)
		return
	}
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\t' || r == '\r' || r == '\n' }), " ")
	if strings.Contains(text, `"`) {
		text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
	}
	w.text.WriteString(text)
}

// end ends the current row.
func (w *writer) end() error {
	w.text.WriteByte('\n')
	w.cells = 0
	w.rows++
	if over := w.text.Len(); over >= 1<<16 {
		w.table.Text = append(w.table.Text, w.text.Bytes()...)
		w.text.Reset()
		if w.err == nil {
			w.err = w.budget.spend(over)
		}
	}
	return w.err
}

// row adds a whole row.
func (w *writer) row(cells ...string) error {
	for _, c := range cells {
		w.cell(c)
	}
	return w.end()
}

// done returns the table.
func (w *writer) done() (Table, error) {
	w.table.Text = append(w.table.Text, w.text.Bytes()...)
	if w.err == nil {
		w.err = w.budget.spend(w.text.Len())
	}
	w.text.Reset()
	return w.table, w.err
}

// long is a table with one value a row, for formats that name the series of each value.
type long struct {
	writer
	filled [longColumns]bool // columns with a cell that is not empty
}

const longColumns = 5

// longHeader are the columns of a long table. Package ingest reads any order and names; these have one meaning only.
var longHeader = [longColumns]string{"device", "parameter", "unit", "time", "value"}

func newLong(b *Budget, name, format string) *long {
	l := &long{writer: *newWriter(b, name, format)}
	l.table.Decimal, l.table.Long = '.', true
	_ = l.row(longHeader[:]...)
	return l
}

// add adds one value. A time without an offset is local. A value without a device belongs to none of the units,
// if others have one.
func (l *long) add(device, parameter, unit, at, value string) error {
	if parameter == "" {
		parameter = quantityOf(unit)
	}
	for i, cell := range [longColumns]string{device, parameter, unit, at, value} {
		l.filled[i] = l.filled[i] || cell != ""
		l.cell(cell)
	}
	return l.end()
}

// quantityOf names what a unit measures, "" for other units than those of power and energy.
func quantityOf(unit string) string {
	switch low := strings.ToLower(unit); {
	case strings.HasSuffix(low, "wh"):
		return "energy"
	case strings.HasSuffix(low, "w"):
		return "power"
	}
	return ""
}

// done returns the table without the columns that are empty.
func (l *long) done() (Table, error) {
	t, err := l.writer.done()
	if err != nil || l.rows < 2 {
		return Table{}, err
	}
	text := t.Text[:0]
	for rest := t.Text; len(rest) > 0; {
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		rest = after
		kept := 0
		for i := 0; i < longColumns; i++ {
			cell, more, _ := bytes.Cut(line, []byte("\t"))
			line = more
			if !l.filled[i] {
				continue
			}
			if kept > 0 {
				text = append(text, '\t')
			}
			text = append(text, cell...) // never longer than what was read
			kept++
		}
		text = append(text, '\n')
	}
	t.Text = text
	return t, nil
}

// number returns v as a cell, "" if it is not finite.
func number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// instant returns a time in UTC, to the second, as a cell.
func instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// unixInstant returns a Unix time in seconds as a cell, "" if it is not a plausible time of a measurement.
func unixInstant(seconds float64) string {
	if !(seconds > 0 && seconds < 1e11) {
		return ""
	}
	return instant(time.Unix(int64(math.Floor(seconds)), 0))
}
