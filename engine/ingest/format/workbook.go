package format

import (
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	formatXLSX = "workbook of Excel (XLSX)"
	formatODS  = "spreadsheet of OpenDocument (ODS)"
)

// readWorkbook reads an archive that is a workbook; ok is false if it is none. An office document of
// another kind is refused.
func readWorkbook(z *zip.Reader, b *Budget) (tables []Table, ok bool, err error) {
	files := map[string]*zip.File{}
	for _, f := range z.File {
		files[strings.TrimPrefix(strings.ReplaceAll(f.Name, `\`, "/"), "/")] = f
	}
	for _, u := range unreadZips {
		if files[u.file] != nil {
			return nil, true, &Error{Unsupported, u.message}
		}
	}
	switch {
	case files["xl/workbook.xml"] != nil:
		x := &xlsx{files: files, budget: b}
		tables, err = x.read()
		return tables, true, err
	case files["content.xml"] != nil && files["mimetype"] != nil:
		tables, err = readODS(files, b)
		return tables, true, err
	case files["[Content_Types].xml"] != nil:
		return nil, true, fail(Damaged, "the file is a workbook of Excel without its list of sheets; save it again in Excel, or as CSV")
	}
	return nil, false, nil
}

// xlsx reads a workbook of Office Open XML (ECMA-376), sheet by sheet, each as a stream.
type xlsx struct {
	files   map[string]*zip.File
	budget  *Budget
	strings []string
	styles  []dateStyle // of the cell formats, by index
	base    time.Time   // day 0
}

// dateStyle is the kind of date or time that a number format shows.
type dateStyle uint8

const (
	plainNumber dateStyle = iota
	dateOnly
	timeOnly
	dateAndTime
)

// each calls f for each tag and text of a file in the archive. It calls it for none of a missing file.
func (x *xlsx) each(name string, f func(m *markup) error) error {
	file := x.files[name]
	if file == nil {
		return nil
	}
	r, err := file.Open()
	if err != nil {
		return damaged(err, "the workbook")
	}
	defer r.Close()
	m := newMarkup(x.budget.reader(r))
	for {
		switch err := m.next(); {
		case err == nil:
			if err := f(m); err != nil {
				return err
			}
		case errors.Is(err, io.EOF):
			return nil
		default:
			return damaged(err, "the workbook")
		}
	}
}

type sheet struct{ name, id, file string }

func (x *xlsx) read() ([]Table, error) {
	x.base = time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	var sheets []sheet
	var hidden []string
	err := x.each("xl/workbook.xml", func(m *markup) error {
		switch {
		case m.kind != markupStart:
		case m.name == "workbookpr" && (m.attr("date1904") == "1" || m.attr("date1904") == "true"):
			x.base = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
		case m.name == "sheet":
			if m.attr("state") == "hidden" || m.attr("state") == "veryHidden" {
				hidden = append(hidden, m.attr("name"))
				return nil
			}
			sheets = append(sheets, sheet{name: m.attr("name"), id: m.attr("id")})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	targets := map[string]string{}
	err = x.each("xl/_rels/workbook.xml.rels", func(m *markup) error {
		if m.kind == markupStart && m.name == "relationship" {
			target := m.attr("target")
			if !strings.HasPrefix(target, "/") {
				target = path.Join("xl", target)
			}
			targets[m.attr("id")] = strings.TrimPrefix(target, "/")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(x.readStrings(), x.readStyles()); err != nil {
		return nil, err
	}
	var tables []Table
	for _, s := range sheets {
		s.file = targets[s.id]
		if x.files[s.file] == nil || strings.Contains(s.file, "chartsheets/") {
			continue
		}
		if err := x.budget.open(); err != nil {
			return nil, err
		}
		t, rows, err := x.sheet(s)
		if err != nil {
			return nil, err
		}
		if rows > 0 {
			tables = append(tables, t)
		}
	}
	if len(tables) == 0 {
		return nil, fail(Empty, "the workbook of Excel has no visible sheet with values")
	}
	if len(hidden) > 0 {
		tables[0].Notes = append(tables[0].Notes, "hidden sheets are not read: "+strings.Join(hidden[:min(len(hidden), 10)], ", "))
	}
	return tables, nil
}

// readStrings reads the shared strings.
func (x *xlsx) readStrings() error {
	var text []byte
	inText, phonetic := false, false
	return x.each("xl/sharedStrings.xml", func(m *markup) error {
		switch {
		case m.kind == markupText:
			if inText && !phonetic {
				text = m.content(text)
			}
		case m.name == "si":
			if m.kind == markupEnd || m.empty {
				x.strings = append(x.strings, string(text))
				text = text[:0]
			}
		case m.name == "t":
			inText = m.kind == markupStart && !m.empty
		case m.name == "rph":
			phonetic = m.kind == markupStart && !m.empty
		}
		return nil
	})
}

// readStyles finds which cell formats show dates and times.
func (x *xlsx) readStyles() error {
	codes := map[int]dateStyle{}
	inCells := false
	return x.each("xl/styles.xml", func(m *markup) error {
		if m.name == "cellxfs" {
			inCells = m.kind == markupStart
		}
		if m.kind != markupStart {
			return nil
		}
		switch id, _ := strconv.Atoi(m.attr("numfmtid")); {
		case m.name == "numfmt":
			codes[id] = styleOf(m.attr("formatcode"))
		case m.name == "xf" && inCells:
			style, own := codes[id]
			if !own {
				style = builtIn(id)
			}
			x.styles = append(x.styles, style)
		}
		return nil
	})
}

// builtIn returns the style of a number format without a code: ECMA-376, part 1, 18.8.30.
func builtIn(id int) dateStyle {
	switch {
	case id >= 14 && id <= 17, id >= 27 && id <= 31, id == 36, id >= 50 && id <= 54, id == 57, id == 58:
		return dateOnly
	case id >= 18 && id <= 21, id >= 32 && id <= 35, id >= 45 && id <= 47, id == 55, id == 56:
		return timeOnly
	case id == 22:
		return dateAndTime
	}
	return plainNumber
}

// styleOf finds what a number format shows, by its code such as "dd.mm.yyyy hh:mm" or "#,##0.00 \k\W".
func styleOf(code string) dateStyle {
	code, _, _ = strings.Cut(strings.ToLower(code), ";")
	days, hours, digits := false, false, false
	for i := 0; i < len(code); i++ {
		switch c := code[i]; c {
		case '"':
			for i++; i < len(code) && code[i] != '"'; i++ {
			}
		case '\\', '_', '*':
			i++
		case '[':
			end := strings.IndexByte(code[i:], ']')
			if end < 0 {
				return plainNumber
			}
			if in := code[i+1 : i+end]; in != "" && strings.Trim(in, "h") == "" || in != "" && strings.Trim(in, "m") == "" || in != "" && strings.Trim(in, "s") == "" {
				hours = true
			}
			i += end
		case 'y', 'd', 'e', 'g':
			if (c == 'e' || c == 'g') && (digits || strings.HasPrefix(code[i:], "general")) { // "0.00E+00"
				return plainNumber
			}
			days = true
		case 'h', 's':
			hours = true
		case '0', '#', '?':
			digits = true
			if !days && !hours {
				return plainNumber
			}
		}
	}
	switch {
	case days && hours:
		return dateAndTime
	case days:
		return dateOnly
	case hours:
		return timeOnly
	case strings.Contains(code, "mm"):
		return dateOnly
	}
	return plainNumber
}

// number returns a numeric cell as text.
func (x *xlsx) number(raw string, style int, t *writer) string {
	v, err := strconv.ParseFloat(raw, 64)
	if err != nil {
		return raw
	}
	kind := plainNumber
	if style >= 0 && style < len(x.styles) {
		kind = x.styles[style]
	}
	const lastDay = 2958466 // 31 December 9999
	if kind == plainNumber || v < 0 || v >= lastDay {
		if v != math.Trunc(v) {
			t.table.Decimal = '.'
		}
		return shortest(v)
	}
	at := x.base.Add(time.Duration(math.Round(v*86400)) * time.Second)
	switch {
	case v == 1 && kind == timeOnly:
		return "24:00:00"
	case v < 1:
		return at.Format("15:04:05")
	case kind == dateOnly && v == math.Trunc(v):
		return at.Format("2006-01-02")
	}
	return at.Format("2006-01-02 15:04:05")
}

// shortest returns v with the 15 digits that spreadsheets keep, without an exponent.
func shortest(v float64) string {
	if math.Abs(v) >= 1e15 || v == math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 15, 64), 64)
	return strconv.FormatFloat(r, 'f', -1, 64)
}

// sheet reads one sheet as a table.
func (x *xlsx) sheet(s sheet) (Table, int, error) {
	merged, err := x.merges(s.file)
	if err != nil {
		return Table{}, 0, err
	}
	t := newWriter(x.budget, s.name, formatXLSX)
	g := newGrid(t, merged)
	var row, column, style int
	var kind string
	var text []byte
	inValue := false
	err = x.each(s.file, func(m *markup) error {
		switch {
		case m.kind == markupText:
			if inValue {
				text = m.content(text)
			}
		case m.name == "row" && m.kind == markupStart:
			next := row + 1
			if n, err := strconv.Atoi(m.attr("r")); err == nil && n > row {
				next = n
			}
			row, column = next, -1
			g.start(row)
		case m.name == "row":
			return g.end()
		case m.name == "c" && m.kind == markupStart:
			column++
			if c, ok := columnOf(m.attr("r")); ok && c >= column {
				column = c
			}
			style, _ = strconv.Atoi(m.attr("s"))
			kind, text = m.attr("t"), text[:0]
		case m.name == "c":
			return g.set(column, x.value(kind, text, style, t))
		case m.name == "v", m.name == "t":
			inValue = m.kind == markupStart && !m.empty
		case m.name == "rph":
			inValue = false
		}
		return nil
	})
	if err != nil {
		return Table{}, 0, err
	}
	table, err := t.done()
	return table, g.filled, err
}

// value returns the text of a cell: ECMA-376, part 1, 18.18.11.
func (x *xlsx) value(kind string, text []byte, style int, t *writer) string {
	switch kind {
	case "s":
		if i, err := strconv.Atoi(string(bytes.TrimSpace(text))); err == nil && i >= 0 && i < len(x.strings) {
			return x.strings[i]
		}
		return ""
	case "str", "inlineStr":
		return string(text)
	case "e":
		return ""
	case "b":
		return map[string]string{"0": "FALSE", "1": "TRUE"}[string(text)]
	case "d":
		return string(text)
	}
	if raw := bytes.TrimSpace(text); len(raw) > 0 {
		return x.number(string(raw), style, t)
	}
	return ""
}

// columnOf returns the index of the column of a cell reference such as "AB12".
func columnOf(ref string) (int, bool) {
	n := 0
	for i := 0; i < len(ref) && i < 3; i++ {
		c := ref[i] &^ 0x20
		if c < 'A' || c > 'Z' {
			break
		}
		n = n*26 + int(c-'A') + 1
	}
	return n - 1, n > 0
}

// merges finds the merged cells of a sheet, which follow its rows.
func (x *xlsx) merges(file string) ([]span, error) {
	const most = 100_000
	r, err := x.files[file].Open()
	if err != nil {
		return nil, damaged(err, "the workbook")
	}
	defer r.Close()
	limited := &Budget{expanded: x.budget.expanded, maxExpanded: x.budget.maxExpanded}
	var spans []span
	buf := make([]byte, 0, 64<<10)
	mark := []byte("mergeCell ")
	for {
		n, err := limited.reader(r).Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		rest := buf
		for {
			at := bytes.Index(rest, mark)
			if at < 0 {
				rest = rest[max(0, len(rest)-len(mark)):]
				break
			}
			end := bytes.IndexByte(rest[at:], '>')
			if end < 0 && len(rest)-at < 200 && err == nil {
				rest = rest[at:]
				break
			}
			if end < 0 {
				end = len(rest) - at
			}
			if s, ok := spanOf(rest[at : at+end]); ok && len(spans) < most {
				spans = append(spans, s)
			}
			rest = rest[at+end:]
		}
		buf = buf[:copy(buf[:cap(buf)], rest)]
		if err == io.EOF {
			return spans, nil
		}
		if err != nil {
			return nil, damaged(err, "the workbook")
		}
	}
}

// spanOf reads a reference such as ref="B1:D1".
func spanOf(tag []byte) (span, bool) {
	_, ref, ok := strings.Cut(string(tag), `ref="`)
	if !ok {
		return span{}, false
	}
	ref, _, _ = strings.Cut(ref, `"`)
	from, to, ok := strings.Cut(ref, ":")
	if !ok {
		return span{}, false
	}
	var s span
	var ok1, ok2 bool
	s.left, ok1 = columnOf(from)
	s.right, ok2 = columnOf(to)
	s.top, _ = strconv.Atoi(strings.TrimLeft(from, "ABCDEFGHIJKLMNOPQRSTUVWXYZ$"))
	s.bottom, _ = strconv.Atoi(strings.TrimLeft(to, "ABCDEFGHIJKLMNOPQRSTUVWXYZ$"))
	return s, ok1 && ok2 && s.top > 0 && s.bottom >= s.top && s.right >= s.left && s.right < maxSheetColumns
}

// grid writes the rows of a sheet and repeats the value of merged cells.
type grid struct {
	w      *writer
	row    int // of the sheet, from 1
	last   int // row last written
	cells  []string
	merged []span // by their first row
	active []span
	width  int // of the active spans together
	filled int // rows with a value
}

// span are merged cells and their value.
type span struct {
	top, bottom, left, right int
	value                    string
}

// maxSheetColumns is the number of columns of a sheet of Excel.
const maxSheetColumns = 16384

func newGrid(w *writer, merged []span) *grid {
	slices.SortFunc(merged, func(a, b span) int { return cmp.Or(a.top-b.top, a.left-b.left) })
	return &grid{w: w, merged: merged}
}

func (g *grid) start(row int) { g.row, g.cells = row, g.cells[:0] }

// set puts a value into a column of the current row.
func (g *grid) set(column int, value string) error {
	if column >= maxSheetColumns {
		return fail(TooLarge, "the sheet has more than %d columns", maxSheetColumns)
	}
	if value == "" || column < 0 { // a cell outside of a row
		return nil
	}
	for len(g.cells) <= column {
		g.cells = append(g.cells, "")
	}
	g.cells[column] = value
	return nil
}

// end writes the current row. Rows without a value are kept, so that lines of the table are rows of the
// sheet, except where there are many.
func (g *grid) end() error {
	const mostBlank = 100
	g.merge()
	if !slices.ContainsFunc(g.cells, func(c string) bool { return c != "" }) {
		return nil
	}
	g.filled++
	if gap := g.row - g.last - 1; gap > 0 && gap <= mostBlank {
		for range gap {
			if err := g.w.end(); err != nil {
				return err
			}
		}
	}
	g.last = g.row
	return g.w.row(g.cells...)
}

// merge repeats the values of merged cells in the current row. A row with one value is a title, which is not repeated.
func (g *grid) merge() {
	filled := 0
	for _, c := range g.cells {
		if c != "" {
			filled++
		}
	}
	for len(g.merged) > 0 && g.merged[0].top <= g.row {
		s := g.merged[0]
		g.merged = g.merged[1:]
		if s.top == g.row && s.left < len(g.cells) && g.cells[s.left] != "" {
			s.value = g.cells[s.left]
			if g.width += s.right - s.left + 1; g.width <= 4*maxSheetColumns { // more can only overlap, which Excel never writes
				g.active = append(g.active, s)
			}
		}
	}
	g.active = slices.DeleteFunc(g.active, func(s span) bool { return s.bottom < g.row })
	g.width = 0
	for _, s := range g.active {
		g.width += s.right - s.left + 1
	}
	for _, s := range g.active {
		if filled == 1 && s.top == g.row && s.bottom == g.row {
			continue
		}
		for c := s.left; c <= s.right; c++ {
			if c >= len(g.cells) || g.cells[c] == "" {
				_ = g.set(c, s.value) // spans are within the columns of a sheet
			}
		}
	}
}
