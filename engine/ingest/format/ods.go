package format

import (
	"archive/zip"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"app.sunloop/internal/display"
)

// readODS reads a spreadsheet of OpenDocument 1.2, table by table, as a stream.
func readODS(files map[string]*zip.File, b *Budget) ([]Table, error) {
	if f := files["META-INF/manifest.xml"]; f != nil {
		protected := false
		x := &xlsx{files: files, budget: b}
		err := x.each("META-INF/manifest.xml", func(m *markup) error {
			protected = protected || m.name == "encryption-data"
			return nil
		})
		if err != nil {
			return nil, err
		}
		if protected {
			return nil, fail(Unsupported, "the spreadsheet is protected by a password; save it without one, and import it again")
		}
	}
	r, err := files["content.xml"].Open()
	if err != nil {
		return nil, damaged(err, "the spreadsheet")
	}
	defer r.Close()
	o := odsReader{m: newMarkup(b.reader(r)), budget: b}
	for {
		switch err := o.m.next(); {
		case err == nil:
			if err := o.event(); err != nil {
				return nil, err
			}
		case errors.Is(err, io.EOF):
			if o.depth > 0 {
				return nil, damaged(io.ErrUnexpectedEOF, "the spreadsheet")
			}
			if len(o.tables) == 0 {
				return nil, fail(Empty, "the document of OpenDocument has no table with values; export the data as a spreadsheet or CSV")
			}
			return o.tables, nil
		default:
			return nil, damaged(err, "the spreadsheet")
		}
	}
}

type odsReader struct {
	m      *markup
	budget *Budget
	tables []Table

	depth   int // tables within each other; only the outermost is read
	w       *writer
	g       *grid
	row     int
	repeat  int // copies of the current row
	column  int
	inCell  bool
	span    int // columns of the current cell, or copies of it
	copies  bool
	typed   string // value of the current cell that does not depend on its display; "" if it is a text
	text    []byte
	inP, ps int
}

// mostCopies is the number of equal rows or cells in sequence that are data. Programs repeat the format of an
// empty row up to the end of the sheet.
const mostCopies = 10_000

func (o *odsReader) event() error {
	m := o.m
	start := m.kind == markupStart
	switch {
	case m.kind == markupText:
		if o.inP > 0 {
			o.text = m.content(o.text)
		}
	case m.name == "table":
		return o.table(start)
	case o.depth != 1:
	case m.name == "table-row":
		if start {
			o.row++
			o.repeat, o.column = copies(m.attr("number-rows-repeated")), 0
			o.g.start(o.row)
		}
		if !start || m.empty {
			return o.endRow()
		}
	case m.name == "table-cell", m.name == "covered-table-cell":
		if start {
			o.startCell()
		}
		if !start || m.empty {
			return o.endCell()
		}
	case m.name == "p" && o.inCell && !m.empty:
		if start {
			if o.inP++; o.ps > 0 {
				o.text = append(o.text, ' ')
			}
			o.ps++
		} else if o.inP > 0 {
			o.inP--
		}
	case m.name == "s" && o.inP > 0:
		o.text = append(o.text, ' ')
	}
	return nil
}

func copies(attr string) int {
	n, err := strconv.Atoi(attr)
	if err != nil || n < 1 {
		return 1
	}
	return n
}

func (o *odsReader) table(start bool) error {
	switch {
	case start && !o.m.empty:
		if o.depth++; o.depth > 1 {
			return nil
		}
		if err := o.budget.open(); err != nil {
			return err
		}
		o.w = newWriter(o.budget, o.m.attr("name"), formatODS)
		o.g, o.row = newGrid(o.w, nil), 0
	case !start && o.depth > 0:
		if o.depth--; o.depth > 0 {
			return nil
		}
		t, err := o.w.done()
		if err != nil {
			return err
		}
		if o.g.filled > 0 {
			o.tables = append(o.tables, t)
		}
	}
	return nil
}

func (o *odsReader) startCell() {
	m := o.m
	o.inCell, o.text, o.ps, o.inP, o.typed = true, o.text[:0], 0, 0, ""
	o.span, o.copies = copies(m.attr("number-columns-repeated")), true
	if s := m.attr("number-columns-spanned"); s != "" && s != "1" {
		o.span, o.copies = copies(s), false
	}
	switch m.attr("value-type") {
	case "float", "percentage", "currency":
		if v, err := strconv.ParseFloat(m.attr("value"), 64); err == nil {
			o.typed = shortest(v)
			if strings.Contains(o.typed, ".") {
				o.w.table.Decimal = '.'
			}
		}
	case "date":
		o.typed = strings.Replace(m.attr("date-value"), "T", " ", 1)
	case "time":
		o.typed = clockOf(m.attr("time-value"))
	case "boolean":
		o.typed = m.attr("boolean-value")
	}
}

func (o *odsReader) endCell() error {
	if !o.inCell && !o.m.empty {
		return nil
	}
	o.inCell = false
	value := o.typed
	if value == "" {
		value = string(o.text)
	}
	covered := o.m.name == "covered-table-cell" && value == ""
	switch {
	case value == "" && covered:
		o.column += o.span // the merged cell has set its value
	case value == "":
		o.column += o.span
	case o.copies && o.span > mostCopies:
		return fail(TooLarge, "the spreadsheet repeats a cell %s", display.CountOf(o.span, "time", "times"))
	case o.copies:
		for range o.span {
			if err := o.g.set(o.column, value); err != nil {
				return err
			}
			o.column++
		}
	default:
		o.g.active = append(o.g.active, span{top: o.row, bottom: o.row, left: o.column, right: min(o.column+o.span, maxSheetColumns) - 1, value: value})
		if len(o.g.active) > 1000 {
			o.g.active = o.g.active[:0]
		}
		err := o.g.set(o.column, value)
		o.column++ // covered cells follow
		return err
	}
	return nil
}

// endRow writes a row and its copies.
func (o *odsReader) endRow() error {
	filled := 0
	for _, c := range o.g.cells {
		if c != "" {
			filled++
		}
	}
	cells := o.g.cells
	for i := range o.repeat {
		if filled == 0 {
			break
		}
		if i > mostCopies {
			return fail(TooLarge, "the spreadsheet repeats a row %s", display.CountOf(o.repeat, "time", "times"))
		}
		o.g.row, o.g.cells = o.row+i, cells
		if err := o.g.end(); err != nil {
			return err
		}
	}
	o.g.active = o.g.active[:0]
	o.row += o.repeat - 1
	return nil
}

// clockOf returns a duration such as PT14H30M00S as a time of day.
func clockOf(iso string) string {
	d, err := time.ParseDuration(strings.ToLower(strings.TrimPrefix(strings.ReplaceAll(iso, ",", "."), "PT")))
	if err != nil {
		return ""
	}
	s := int(d.Round(time.Second).Seconds())
	pad := func(n int) string {
		if n < 10 {
			return "0" + strconv.Itoa(n)
		}
		return strconv.Itoa(n)
	}
	return pad(s/3600) + ":" + pad(s/60%60) + ":" + pad(s%60)
}
