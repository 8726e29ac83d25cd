package format

import (
	"bytes"
	"slices"
	"strings"
)

const (
	formatLineProtocol = "line protocol of InfluxDB"
	formatOpenMetrics  = "metrics of Prometheus (OpenMetrics)"
	formatSpaces       = "text in columns separated by spaces"
)

// linesOf calls f with each line that is not blank, until it fails.
func linesOf(text []byte, f func(line []byte) error) error {
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if err := f(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// firstLines returns the first lines of a text that are not blank.
func firstLines(head []byte, most int) [][]byte {
	var lines [][]byte
	for len(head) > 0 && len(lines) < most {
		line, rest, whole := bytes.Cut(head, []byte("\n"))
		if !whole && len(lines) > 0 && len(head) > 1<<10 {
			break // cut by the end of the head
		}
		head = rest
		if line = bytes.TrimSpace(line); len(line) > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

// parseLines reads the formats of lines; none for delimited text.
func parseLines(text, head []byte, b *Budget) ([]Table, error) {
	lines := firstLines(head, 50)
	if len(lines) == 0 {
		return nil, nil
	}
	switch first := lines[0]; {
	case bytes.HasPrefix(first, []byte("100,NEM12,")), bytes.HasPrefix(first, []byte("200,")) && isNEM12(lines):
		return nem12(text, b)
	case bytes.HasPrefix(first, []byte("100,NEM13,")):
		return nil, fail(Unsupported, "the file is NEM13, which has only the readings of quarters of a year; ask the distributor for the interval data (NEM12)")
	case bytes.HasPrefix(first, []byte(`"TOA5"`)), bytes.HasPrefix(first, []byte("TOA5,")):
		return toa5(text, b)
	case isHomeAssistant(first):
		return homeAssistantCSV(text, b)
	case isEnergyDashboard(first):
		return nil, nil // times are its columns, which package ingest reads
	case mostly(lines, isOpenMetricsLine):
		return openMetrics(text, b)
	case mostly(lines, isLineProtocol):
		return lineProtocol(text, b)
	}
	return spaceAligned(text, lines, b)
}

// isEnergyDashboard recognises the download of Home Assistant's energy dashboard.
func isEnergyDashboard(line []byte) bool {
	return bytes.HasPrefix(line, []byte("entity_id,type,unit,"))
}

// mostly reports whether all lines, or all but a few, are of a kind.
func mostly(lines [][]byte, is func(line []byte) bool) bool {
	good, n := 0, 0
	for _, l := range lines {
		if l[0] == '#' {
			continue
		}
		n++
		if is(l) {
			good++
		}
	}
	return n > 0 && good*10 >= n*9
}

// isHomeAssistant recognises the header of a history of Home Assistant.
func isHomeAssistant(line []byte) bool {
	cells := strings.Split(strings.ToLower(strings.ReplaceAll(string(line), `"`, "")), ",")
	return column(cells, "entity_id") >= 0 && column(cells, "state") >= 0 && (column(cells, "last_changed") >= 0 || column(cells, "last_updated") >= 0)
}

func column(cells []string, name string) int {
	for i, c := range cells {
		if strings.TrimSpace(c) == name {
			return i
		}
	}
	return -1
}

// homeAssistantCSV reads the download of the history, in which each row names its entity and no row its unit.
func homeAssistantCSV(text []byte, b *Budget) ([]Table, error) {
	header, rows, _ := bytes.Cut(text, []byte("\n"))
	names := strings.Split(strings.ToLower(strings.TrimSpace(strings.ReplaceAll(string(header), `"`, ""))), ",")
	id, state, at := column(names, "entity_id"), column(names, "state"), column(names, "last_changed")
	if at < 0 {
		at = column(names, "last_updated")
	}
	unit := column(names, "unit_of_measurement")
	e := newEntities()
	cell := func(cells []string, i int) string {
		if i < 0 || i >= len(cells) {
			return ""
		}
		return strings.TrimSpace(cells[i])
	}
	each := func(f func(cells []string) error) error {
		return linesOf(rows, func(line []byte) error { return f(splitCSV(string(line))) })
	}
	if err := each(func(cells []string) error { return e.observe(cell(cells, id)) }); err != nil {
		return nil, err
	}
	l := newLong(b, "", formatHomeAssistant)
	err := each(func(cells []string) error {
		device, parameter := e.name(cell(cells, id))
		return l.add(device, parameter, cell(cells, unit), cell(cells, at), finite(cell(cells, state)))
	})
	if err != nil {
		return nil, err
	}
	return one(l, "the history of Home Assistant has no rows; choose a period with data, and download it again")
}

// one returns the only table of a file, or an error with the reason if it has no rows.
func one(l *long, empty string) ([]Table, error) {
	t, err := l.done()
	switch {
	case err != nil:
		return nil, err
	case len(t.Text) == 0:
		return nil, &Error{Empty, empty}
	}
	return []Table{t}, nil
}

// splitCSV splits a line at commas outside of quotes, and removes the quotes.
func splitCSV(line string) []string {
	if !strings.Contains(line, `"`) {
		return strings.Split(line, ",")
	}
	var cells []string
	var cell strings.Builder
	quoted := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '"' && quoted && i+1 < len(line) && line[i+1] == '"':
			cell.WriteByte('"')
			i++
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			cells = append(cells, cell.String())
			cell.Reset()
		default:
			cell.WriteByte(c)
		}
	}
	return append(cells, cell.String())
}

// toa5 reads a table of a Campbell Scientific logger: a line about the logger, names, units, and how each value
// was processed. The names and units become one header.
func toa5(text []byte, b *Budget) ([]Table, error) {
	var head [][]string
	var w *writer
	rows := 0
	keep := []int{}
	err := linesOf(text, func(line []byte) error {
		cells := splitCSV(string(line))
		if len(head) < 4 {
			if head = append(head, cells); len(head) < 4 {
				return nil
			}
			w = newWriter(b, "", "table of a Campbell logger (TOA5)")
			w.table.Decimal = '.'
			for i, name := range head[1] {
				if name == "RECORD" {
					continue
				}
				keep = append(keep, i)
				if i < len(head[2]) && head[2][i] != "" && head[2][i] != "TS" {
					name += " (" + strings.ReplaceAll(head[2][i], "^", "") + ")"
				}
				w.cell(name)
			}
			return w.end()
		}
		rows++
		for _, i := range keep {
			cell := ""
			if i < len(cells) && cells[i] != "NAN" && cells[i] != "INF" && cells[i] != "-INF" {
				cell = cells[i]
			}
			w.cell(cell)
		}
		return w.end()
	})
	if err != nil {
		return nil, err
	}
	if rows == 0 {
		return nil, fail(Empty, "the TOA5 table of the logger has no rows below its four header lines")
	}
	t, err := w.done()
	return []Table{t}, err
}

// spaceAligned reads columns that are separated by spaces only; none if the text has another delimiter.
func spaceAligned(text []byte, lines [][]byte, b *Budget) ([]Table, error) {
	const fewest = 3
	counts := map[int]int{}
	data := 0
	for _, l := range lines {
		if bytes.ContainsAny(l, ";\t|\"") {
			return nil, nil
		}
		fields := bytes.Fields(l)
		if slices.ContainsFunc(fields, func(f []byte) bool { return bytes.IndexByte(f, ',') >= 0 && !decimalComma(f) }) {
			return nil, nil
		}
		if l[0] >= '0' && l[0] <= '9' && len(fields) >= fewest {
			counts[len(fields)]++
			data++
		}
	}
	width := 0
	for n, c := range counts {
		if c*10 >= data*9 && data >= 2 {
			width = n
		}
	}
	if width == 0 || data*2 < len(lines) && len(lines)-data > 20 {
		return nil, nil
	}
	header, ok := spaceHeader(lines, width)
	if !ok {
		return nil, nil
	}
	w := newWriter(b, "", formatSpaces)
	for _, name := range header {
		w.cell(name)
	}
	if err := w.end(); err != nil {
		return nil, err
	}
	err := linesOf(text, func(line []byte) error {
		if line[0] < '0' || line[0] > '9' {
			return nil
		}
		for _, cell := range bytes.Fields(line) {
			w.cell(string(cell))
		}
		return w.end()
	})
	if err != nil {
		return nil, err
	}
	t, err := w.done()
	return []Table{t}, err
}

// decimalComma reports whether a word is a number with a decimal comma.
func decimalComma(word []byte) bool {
	whole, fraction, _ := bytes.Cut(bytes.TrimLeft(word, "+-"), []byte(","))
	return len(whole) > 0 && len(fraction) > 0 && len(bytes.Trim(whole, "0123456789")) == 0 && len(bytes.Trim(fraction, "0123456789")) == 0
}

// spaceHeader finds the names of the columns: the last line before the data that gives as many, by single spaces
// or by several. A time that is written with a space has one name for two columns.
func spaceHeader(lines [][]byte, width int) ([]string, bool) {
	at := 0
	for at < len(lines) && (lines[at][0] < '0' || lines[at][0] > '9' || len(bytes.Fields(lines[at])) != width) {
		at++
	}
	if at == len(lines) {
		return nil, false
	}
	first := bytes.Fields(lines[at])
	clock := len(first) > 1 && bytes.ContainsRune(first[1], ':') && !bytes.ContainsRune(first[0], ':')
	for i := at - 1; i >= 0; i-- {
		line := strings.TrimLeft(string(lines[i]), "#% ")
		for _, names := range [][]string{strings.Fields(line), splitWide(line), withUnits(strings.Fields(line))} {
			switch {
			case len(names) == width:
				return names, true
			case len(names) == width-1 && clock:
				return append([]string{names[0], "time of day"}, names[1:]...), true
			}
		}
	}
	return nil, false
}

// splitWide splits a line at two or more spaces.
func splitWide(line string) []string {
	var out []string
	for _, part := range strings.Split(line, "  ") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// withUnits joins units in brackets to the names before them.
func withUnits(words []string) []string {
	var out []string
	for _, w := range words {
		if len(out) > 0 && (strings.HasPrefix(w, "(") || strings.HasPrefix(w, "[")) {
			out[len(out)-1] += " " + w
			continue
		}
		out = append(out, w)
	}
	return out
}
