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
	Format  string // in words, such as "workbook of Excel (XLSX)"
	Text    []byte // UTF-8, rows with tabs between the cells
	Decimal byte   // '.' if the format fixes the decimal mark, else 0
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
type long struct{ writer }

// longHeader are the columns of a long table. Package ingest reads any order and names; these have one meaning only.
var longHeader = []string{"device", "parameter", "unit", "time", "value"}

func newLong(b *Budget, name, format string) *long {
	l := &long{*newWriter(b, name, format)}
	l.table.Decimal = '.'
	_ = l.row(longHeader...)
	return l
}

// add adds one value. A time without an offset is local.
func (l *long) add(device, parameter, unit, at, value string) error {
	return l.row(device, parameter, unit, at, value)
}

// number is v as a cell, "" for what is not finite.
func number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// instant is a time in UTC, to the second, as a cell.
func instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// unixInstant is a Unix time in seconds as a cell, "" beyond what is a time of a measurement.
func unixInstant(seconds float64) string {
	if !(seconds > 0 && seconds < 1e11) {
		return ""
	}
	return instant(time.Unix(int64(math.Floor(seconds)), 0))
}
