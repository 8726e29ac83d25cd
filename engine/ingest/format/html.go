package format

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
)

const (
	formatHTML = "HTML table"
	formatXML  = "XML Spreadsheet 2003"
)

// htmlTables reads the tables of an HTML page, which many portals save under the name of a workbook. Of nested
// tables, the inner ones are read: the outer ones are the layout of the page.
func htmlTables(text []byte, b *Budget) ([]Table, error) {
	var tables []Table
	var open []*htmlTable
	caption := ""
	m := newMarkup(bytes.NewReader(text))
	finish := func() error {
		t := open[len(open)-1]
		open = open[:len(open)-1]
		if err := t.endRow(); err != nil {
			return err
		}
		if len(open) > 0 {
			open[len(open)-1].outer = true
		}
		if t.outer || t.g.filled < 2 {
			b.text += int64(t.written())
			return nil
		}
		table, err := t.w.done()
		if err == nil {
			tables = append(tables, table)
		}
		return err
	}
	const deepest = 20
	for {
		err := m.next()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) && len(tables)+len(open) > 0 {
			break
		}
		if err != nil {
			return nil, damaged(err, "the HTML page")
		}
		var top *htmlTable
		if len(open) > 0 {
			top = open[len(open)-1]
		}
		start := m.kind == markupStart
		switch {
		case m.kind == markupText:
			if top != nil && top.inCell {
				top.text = m.content(top.text)
			}
		case m.name == "table" && start:
			if len(open) >= deepest {
				return nil, fail(TooLarge, "the HTML page has more than %d tables within each other", deepest)
			}
			if err := b.open(); err != nil {
				return nil, err
			}
			w := newWriter(b, caption, formatHTML)
			open = append(open, &htmlTable{w: w, g: newGrid(w, nil)})
		case top == nil:
		case m.name == "table":
			if err := finish(); err != nil {
				return nil, err
			}
		case m.name == "tr":
			if err := top.endRow(); err != nil {
				return nil, err
			}
			if start {
				top.startRow()
			}
		case m.name == "td", m.name == "th":
			if err := top.endCell(); err != nil {
				return nil, err
			}
			if start {
				top.startCell(m)
			}
		case m.name == "br", m.name == "p", m.name == "div":
			if top.inCell {
				top.text = append(top.text, ' ')
			}
		}
	}
	cut := len(open) > 0
	for len(open) > 0 {
		if err := finish(); err != nil {
			return nil, err
		}
	}
	if cut && len(tables) > 0 {
		last := &tables[len(tables)-1]
		last.Notes = append(last.Notes, "the page ends within the table; the rest of the file may be missing")
	}
	if len(tables) == 0 {
		return nil, fail(Empty, "the file is a page of HTML without a table of values, such as a message or the sign-in of a portal; export the data again")
	}
	return tables, nil
}

// htmlTable is a table that is being read.
type htmlTable struct {
	w      *writer
	g      *grid
	row    int
	inRow  bool
	inCell bool
	outer  bool // it contains a table
	column int
	across int
	down   int
	text   []byte
}

// written returns the length of the text so far, as counted by the budget.
func (t *htmlTable) written() int { return len(t.w.table.Text) }

func (t *htmlTable) startRow() {
	t.row++
	t.inRow, t.column = true, 0
	t.g.start(t.row)
}

// skipCovered skips columns that cells of earlier rows cover.
func (t *htmlTable) skipCovered() {
	for i := 0; i < len(t.g.active); i++ {
		if s := t.g.active[i]; s.top < t.row && s.bottom >= t.row && t.column >= s.left && t.column <= s.right {
			t.column, i = s.right+1, -1
		}
	}
}

func (t *htmlTable) startCell(m *markup) {
	if !t.inRow {
		t.startRow()
	}
	t.skipCovered()
	t.inCell, t.text = true, t.text[:0]
	t.across, t.down = min(copies(m.attr("colspan")), maxSheetColumns), min(copies(m.attr("rowspan")), mostCopies)
}

func (t *htmlTable) endCell() error {
	if !t.inCell {
		return nil
	}
	t.inCell = false
	value := strings.Join(strings.Fields(strings.ReplaceAll(string(t.text), "\u00a0", " ")), " ")
	if t.across > 1 || t.down > 1 {
		if len(t.g.active) < 4000 {
			t.g.active = append(t.g.active, span{top: t.row, bottom: t.row + t.down - 1, left: t.column, right: min(t.column+t.across, maxSheetColumns) - 1, value: value})
		}
	}
	err := t.g.set(t.column, value)
	t.column += t.across
	return err
}

func (t *htmlTable) endRow() error {
	if err := t.endCell(); err != nil || !t.inRow {
		return err
	}
	t.inRow = false
	return t.g.end()
}

// xmlSheets reads a workbook that Excel 2003 and report generators write as one file of XML.
func xmlSheets(text []byte, b *Budget) ([]Table, error) {
	m := newMarkup(bytes.NewReader(text))
	var tables []Table
	var w *writer
	var g *grid
	row, column, across, down := 0, 0, 0, 0
	var kind string
	var value []byte
	inData := false
	for {
		err := m.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, damaged(err, "the XML Spreadsheet")
		}
		start := m.kind == markupStart
		switch {
		case m.kind == markupText:
			if inData {
				value = m.content(value)
			}
		case m.name == "worksheet" && start:
			if err := b.open(); err != nil {
				return nil, err
			}
			w = newWriter(b, m.attr("name"), formatXML)
			g, row = newGrid(w, nil), 0
		case g == nil:
		case m.name == "worksheet":
			t, err := w.done()
			if err != nil {
				return nil, err
			}
			if g.filled > 0 {
				tables = append(tables, t)
			}
			g = nil
		case m.name == "row" && start:
			row++
			if n, err := strconv.Atoi(m.attr("index")); err == nil && n > row {
				row = n
			}
			column = 0
			if g.start(row); m.empty {
				continue
			}
		case m.name == "row":
			if err := g.end(); err != nil {
				return nil, err
			}
		case m.name == "cell" && start:
			if n, err := strconv.Atoi(m.attr("index")); err == nil && n > column {
				column = n - 1
			}
			across, _ = strconv.Atoi(m.attr("mergeacross"))
			down, _ = strconv.Atoi(m.attr("mergedown"))
			value, kind = value[:0], ""
			if m.empty {
				column++
			}
		case m.name == "cell":
			cell := string(value)
			switch v, err := strconv.ParseFloat(cell, 64); {
			case kind == "Number" && err == nil:
				if cell = shortest(v); strings.Contains(cell, ".") {
					w.table.Decimal = '.'
				}
			case kind == "DateTime":
				cell = strings.TrimSuffix(strings.Replace(cell, "T", " ", 1), ".000")
			}
			if (across > 0 || down > 0) && len(g.active) < 1000 {
				g.active = append(g.active, span{top: row, bottom: row + max(down, 0), left: column, right: min(column+max(across, 0), maxSheetColumns-1), value: cell})
			}
			if err := g.set(column, cell); err != nil {
				return nil, err
			}
			column += 1 + max(across, 0)
		case m.name == "data":
			inData = start && !m.empty
			if start {
				kind = m.attr("type")
			}
		}
	}
	if g != nil {
		return nil, damaged(io.ErrUnexpectedEOF, "the XML Spreadsheet")
	}
	if len(tables) == 0 {
		return nil, fail(Empty, "the XML Spreadsheet has no sheet with values")
	}
	return tables, nil
}
