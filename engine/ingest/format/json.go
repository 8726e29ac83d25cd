package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const formatJSON = "JSON"

// maxJSONDepth is the depth to which tables are searched in a JSON text.
const maxJSONDepth = 10

// parseJSON reads the tables of a JSON text, or of several values in sequence (JSON lines).
func parseJSON(text []byte, b *Budget) ([]Table, error) {
	r := &jsonReader{budget: b}
	var values []rawJSON
	for rest := bytes.TrimSpace(text); len(rest) > 0; rest = bytes.TrimSpace(rest) {
		end := len(rest)
		if !json.Valid(rest) {
			if end = rawJSON(rest).end(0); end >= len(rest) || !json.Valid(rest[:end]) {
				if len(values) == 0 {
					return nil, brokenJSON(rest)
				}
				r.notes = append(r.notes, "the last record is cut and left out; the rest of the file may be missing")
				break
			}
		}
		values = append(values, rest[:end:end])
		rest = bytes.TrimLeft(rest[end:], " \t\r\n,\x1e")
	}
	if len(values) == 0 {
		return nil, nil
	}
	if err := r.values(values); err != nil {
		return nil, err
	}
	tables, err := r.tables()
	if err != nil {
		return nil, err
	}
	if len(tables) == 0 {
		return nil, fail(Empty, "the file is JSON without a list of records or of times and values; export an array of objects such as [{\"time\": …, \"power_kw\": …}, …], or CSV")
	}
	tables[0].Notes = append(tables[0].Notes, r.notes...)
	return tables, nil
}

func brokenJSON(text []byte) error {
	var syntax *json.SyntaxError
	var v json.RawMessage
	err := json.NewDecoder(bytes.NewReader(text)).Decode(&v)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fail(Damaged, "the JSON ends in the middle of a value; export or copy the file again")
	}
	if errors.As(err, &syntax) {
		return fail(Damaged, "the file begins like JSON, but is not: byte %d: %v", syntax.Offset, syntax)
	}
	return fail(Damaged, "the file begins like JSON, but is not")
}

// jsonReader collects the lists of records of a JSON text, which become tables when all are known.
type jsonReader struct {
	budget *Budget
	sets   []recordSet
	done   []Table // of formats whose lists are known
	notes  []string
}

// recordSet is a list of records, with the fields of the objects around it, which apply to all of them.
type recordSet struct {
	path    []string
	around  []label
	records []rawJSON // objects; or one array of them
	keys    []string  // flattened, in order of appearance
	kind    string    // keys as one text
}

// values reads the values at the top of the text.
func (r *jsonReader) values(values []rawJSON) error {
	if len(values) == 1 {
		return r.walk(values[0], nil, nil)
	}
	for _, v := range values { // JSON lines
		if v.kind() != '{' {
			return fail(Unsupported, "the file has several values of JSON that are not objects; export one array of objects, or CSV")
		}
	}
	if nested(values[0]) {
		for _, v := range values {
			if err := r.walk(v, nil, nil); err != nil {
				return err
			}
		}
		return nil
	}
	r.addRecords(nil, nil, values)
	return nil
}

// walk searches a value for lists of records.
func (r *jsonReader) walk(v rawJSON, path []string, around []label) error {
	if len(path) > maxJSONDepth {
		return nil
	}
	switch v.kind() {
	case '{':
		return r.object(v, path, around)
	case '[':
		return r.array(v, path, around)
	}
	return nil
}

// object reads an object: one of a known shape, or columns, or values by time, or lists in its fields.
func (r *jsonReader) object(v rawJSON, path []string, around []label) error {
	for _, known := range []func(rawJSON, []string, []label) (bool, error){r.fronius, r.prometheus, r.grafana, r.entityLists, r.split, r.columns, r.byTime} {
		if ok, err := known(v, path, around); ok || err != nil {
			return err
		}
	}
	around = slices.Clip(around)
	v.fields(func(key string, value rawJSON) bool {
		if value.scalar() && value.kind() != 'n' && len(around) < 40 {
			around = append(around, label{key, value.text()})
		}
		return true
	})
	var err error
	v.fields(func(key string, value rawJSON) bool {
		err = r.walk(value, append(slices.Clip(path), key), around)
		return err == nil
	})
	return err
}

// nested reports whether a record contains a list of records or of pairs, which is then read instead of the record.
func nested(record rawJSON) (found bool) {
	record.fields(func(_ string, value rawJSON) bool {
		if value.kind() == '[' {
			e := value.first()
			found = found || e.kind() == '{' || e.kind() == '[' && e.first().scalar()
		}
		return !found
	})
	return found
}

// array reads an array: of records, of arrays, or of pairs of a time and a value.
func (r *jsonReader) array(v rawJSON, path []string, around []label) error {
	first := v.first()
	switch {
	case first.kind() == '{' && first.field("target") != nil && first.field("datapoints") != nil:
		return r.datapoints(v)
	case first.kind() == '{' && first.field("name").kind() == '"' && first.field("data").first().kind() == '[' && first.field("data").first().first().scalar():
		return r.chart(v)
	case first.kind() == '{' && first.field("entity_id") != nil && first.field("state") != nil:
		return r.states([]rawJSON{v})
	case first.kind() == '{' && (nested(first) || first.field("schema", "fields") != nil):
		var err error
		v.elements(func(e rawJSON) bool { err = r.walk(e, path, around); return err == nil })
		return err
	case first.kind() == '{':
		r.addRecords(path, around, []rawJSON{v})
	case first.kind() == '[' && first.first().kind() == '{' && first.first().field("entity_id") != nil:
		var lists []rawJSON
		v.elements(func(e rawJSON) bool { lists = append(lists, e); return true })
		return r.states(lists)
	case first.kind() == '[' && first.first().kind() == '{':
		var err error
		v.elements(func(e rawJSON) bool { err = r.walk(e, path, around); return err == nil })
		return err
	case first.kind() == '[' && first.first().scalar():
		return r.rows(v, nil, path, around)
	}
	return nil
}

// addRecords adds a list of records.
func (r *jsonReader) addRecords(path []string, around []label, records []rawJSON) {
	s := recordSet{path: path, around: around, records: records}
	seen := map[string]bool{}
	s.each(func(record rawJSON) bool {
		flatten(record, "", func(key string, _ rawJSON) {
			if !seen[key] && len(s.keys) < maxSheetColumns {
				seen[key] = true
				s.keys = append(s.keys, key)
			}
		})
		return true
	})
	if seen["totalActivePower"] { // SolarEdge has the phases of an inverter next to their sum
		s.keys = slices.DeleteFunc(s.keys, func(k string) bool { return solarEdgePhase.MatchString(k) })
	}
	if len(s.keys) < 2 {
		return
	}
	sorted := slices.Sorted(slices.Values(s.keys))
	s.kind = strings.Join(sorted, "\x00")
	r.sets = append(r.sets, s)
}

var solarEdgePhase = regexp.MustCompile(`^L[123]Data \w*Power$`)

// each calls f with each record.
func (s recordSet) each(f func(record rawJSON) bool) {
	for _, v := range s.records {
		if v.kind() == '{' {
			if !f(v) {
				return
			}
			continue
		}
		ok := true
		v.elements(func(e rawJSON) bool { ok = f(e); return ok })
		if !ok {
			return
		}
	}
}

// flatten calls f with the scalar fields of an object and of the objects in it.
func flatten(v rawJSON, prefix string, f func(key string, value rawJSON)) {
	const deepest = 200 // bytes of a key, which grow with the depth
	v.fields(func(key string, value rawJSON) bool {
		switch {
		case len(prefix) > deepest:
		case value.scalar():
			f(prefix+key, value)
		case value.kind() == '{':
			flatten(value, prefix+key+" ", f)
		}
		return true
	})
}

// plainKeys are names of fields without information about their content.
var plainKeys = []string{"value", "values", "v", "y", "val", "data", "result", "results", "items", "records", "rows", "list", "series", "points", "telemetries", "response", "body", "meters", "payload", "content"}

// tables makes tables of the lists of records: one of all lists with the same fields.
func (r *jsonReader) tables() ([]Table, error) {
	var kinds []string
	by := map[string][]recordSet{}
	for _, s := range r.sets {
		if by[s.kind] == nil {
			kinds = append(kinds, s.kind)
		}
		by[s.kind] = append(by[s.kind], s)
	}
	tables := r.done
	for _, kind := range kinds {
		sets := by[kind]
		if err := r.budget.open(); err != nil {
			return nil, err
		}
		t, err := r.table(sets)
		if err != nil {
			return nil, err
		}
		if len(t.Text) > 0 {
			tables = append(tables, t)
		}
	}
	return tables, nil
}

// table makes one table of lists with the same fields.
func (r *jsonReader) table(sets []recordSet) (Table, error) {
	name := ""
	if len(sets) == 1 && len(sets[0].path) > 0 {
		name = strings.Join(sets[0].path, " ")
	}
	if at, value, ok := pairKeys(sets[0].keys); ok {
		return r.pairTable(name, sets, at, value)
	}
	// What differs around the lists identifies their rows.
	var around []string
	if len(sets) > 1 {
		n := newNamer()
		for _, s := range sets {
			if err := n.observe("", s.labels()); err != nil {
				return Table{}, err
			}
		}
		for _, l := range sets[0].labels() {
			if n.varies[l.name] && !slices.Contains(sets[0].keys, l.name) {
				around = append(around, l.name)
			}
		}
	}
	w := newWriter(r.budget, name, formatJSON)
	keys := sets[0].keys
	if err := w.row(append(slices.Clone(around), keys...)...); err != nil {
		return Table{}, err
	}
	index := make(map[string]int, len(keys))
	for i, k := range keys {
		index[k] = i
	}
	cells := make([]string, len(keys))
	var err error
	for _, s := range sets {
		labels := s.labels()
		s.each(func(record rawJSON) bool {
			clear(cells)
			flatten(record, "", func(key string, value rawJSON) {
				if i, ok := index[key]; ok {
					cells[i] = w.jsonCell(value)
				}
			})
			for _, name := range around {
				w.cell(valueOf(labels, name))
			}
			err = w.row(cells...)
			return err == nil
		})
		if err != nil {
			return Table{}, err
		}
	}
	return w.done()
}

// jsonCell returns a value as a cell. Numbers of JSON have a point as the decimal mark.
func (w *writer) jsonCell(v rawJSON) string {
	text := v.text()
	if k := v.kind(); k != '"' && strings.Contains(text, ".") {
		w.table.Decimal = '.'
	}
	return text
}

func valueOf(labels []label, name string) string {
	for _, l := range labels {
		if l.name == name {
			return l.value
		}
	}
	return ""
}

// labels returns the labels of a list: the fields of the objects that contain it, and the keys of its path.
func (s recordSet) labels() []label {
	labels := slices.Clone(s.around)
	for i, p := range s.path {
		if !slices.Contains(plainKeys, strings.ToLower(p)) {
			labels = append(labels, label{"key " + strconv.Itoa(i+1), p})
		}
	}
	return labels
}

// pairKeys reports whether records hold a time and one value whose name does not state the quantity.
func pairKeys(keys []string) (at, value string, ok bool) {
	if len(keys) > 3 {
		return "", "", false
	}
	for _, k := range keys {
		switch low := strings.ToLower(k); {
		case slices.Contains([]string{"time", "timestamp", "date", "datetime", "t", "x", "ts", "last_changed", "start"}, low):
			at = k
		case slices.Contains(plainKeys[:5], low) || low == "state" || low == "reading":
			value = k
		}
	}
	return at, value, at != "" && value != ""
}

// pairTable makes a long table of lists of times and values, named by what is around them.
func (r *jsonReader) pairTable(name string, sets []recordSet, at, value string) (Table, error) {
	n := newNamer()
	for _, s := range sets {
		if err := n.observe("", s.around); err != nil {
			return Table{}, err
		}
	}
	l := newLong(r.budget, name, formatJSON)
	for _, s := range sets {
		device, quantity := n.name(s.around)
		parameter := valueOf(s.around, "type")
		for i := len(s.path) - 1; i >= 0 && parameter == ""; i-- {
			if !slices.Contains(plainKeys, strings.ToLower(s.path[i])) {
				parameter = s.path[i]
			}
		}
		if parameter == "" {
			parameter = quantity
		}
		unit := unitLabel(s.around)
		var err error
		s.each(func(record rawJSON) bool {
			own := unit
			if u := record.field("unit"); u != nil {
				own = u.text()
			}
			err = l.add(device, parameter, own, record.field(at).text(), record.field(value).text())
			return err == nil
		})
		if err != nil {
			return Table{}, err
		}
	}
	return l.done()
}

// rows reads an array of arrays: a header and rows, pairs of a time and a value, or rows of the given columns.
func (r *jsonReader) rows(v rawJSON, columns []string, path []string, around []label) error {
	first := v.first()
	width := 0
	texts := 0
	first.elements(func(e rawJSON) bool {
		width++
		if e.kind() == '"' && !e.isNumber() && !looksLikeTime(e.text()) {
			texts++
		}
		return true
	})
	if width > maxSheetColumns || width < 2 {
		return nil
	}
	name := strings.Join(path, " ")
	if err := r.budget.open(); err != nil {
		return err
	}
	w := newWriter(r.budget, name, formatJSON)
	switch {
	case columns != nil:
		if err := w.row(columns...); err != nil {
			return err
		}
	case texts == width: // the first row is the header
	case width == 2:
		title := "value"
		for i := len(path) - 1; i >= 0; i-- {
			if !slices.Contains(plainKeys, strings.ToLower(path[i])) {
				title = path[i]
				break
			}
		}
		if u := unitLabel(around); u != "" {
			title += " (" + u + ")"
		}
		if err := w.row("time", title); err != nil {
			return err
		}
	default:
		return nil
	}
	var err error
	v.elements(func(row rawJSON) bool {
		n := 0
		row.elements(func(e rawJSON) bool {
			w.cell(w.jsonCell(e))
			n++
			return n < maxSheetColumns
		})
		err = w.end()
		return err == nil
	})
	if err != nil {
		return err
	}
	return r.keep(w.done())
}

// looksLikeTime reports whether a text begins like a date, a time of day or a Unix time.
func looksLikeTime(s string) bool {
	if len(s) < 8 || s[0] < '0' || s[0] > '9' {
		return false
	}
	digits := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
		case !strings.ContainsRune("-:./ TZ+", rune(c)):
			return false
		}
	}
	return digits >= 8
}

// split reads an object with the names of the columns apart from the rows: {"columns": […], "data": [[…], …]},
// also as InfluxDB writes it, with a name and tags.
func (r *jsonReader) split(v rawJSON, path []string, around []label) (bool, error) {
	names := v.field("columns")
	if names.kind() != '[' || names.first().kind() != '"' {
		return false, nil
	}
	for _, key := range []string{"data", "values", "rows"} {
		rows := v.field(key)
		if rows.kind() != '[' || rows.first().kind() != '[' {
			continue
		}
		index := v.field("index")
		var columns []string
		names.elements(func(e rawJSON) bool {
			columns = append(columns, e.text())
			return len(columns) < maxSheetColumns
		})
		if tags := v.field("tags"); tags != nil || v.field("name") != nil { // InfluxDB
			return true, r.influxSeries(v, columns, rows)
		}
		if index.kind() == '[' && index.first().scalar() { // pandas keeps the times apart
			return true, r.indexed(index, columns, rows, path)
		}
		return true, r.rows(rows, columns, path, around)
	}
	return false, nil
}

// indexed writes rows with the index of pandas as the first column.
func (r *jsonReader) indexed(index rawJSON, columns []string, rows rawJSON, path []string) error {
	var times []rawJSON
	index.elements(func(e rawJSON) bool { times = append(times, e); return true })
	w := newWriter(r.budget, strings.Join(path, " "), formatJSON)
	err := w.row(append([]string{"time"}, columns...)...)
	i := 0
	rows.elements(func(row rawJSON) bool {
		if i >= len(times) || err != nil {
			return false
		}
		w.cell(times[i].text())
		i++
		row.elements(func(e rawJSON) bool { w.cell(w.jsonCell(e)); return true })
		err = w.end()
		return err == nil
	})
	if err != nil {
		return err
	}
	return r.keep(w.done())
}

// columns reads an object of arrays of the same length: {"time": […], "power": […]}.
func (r *jsonReader) columns(v rawJSON, path []string, _ []label) (bool, error) {
	var names []string
	var arrays []rawJSON
	same := true
	v.fields(func(key string, value rawJSON) bool {
		if value.kind() == '[' && value.first().scalar() {
			names, arrays = append(names, key), append(arrays, value)
		}
		if len(arrays) > maxSheetColumns {
			same = false
		}
		return same
	})
	if !same || len(arrays) < 2 {
		return false, nil
	}
	length := -1
	for _, a := range arrays {
		n := 0
		a.elements(func(rawJSON) bool { n++; return true })
		if length >= 0 && n != length {
			return false, nil
		}
		length = n
	}
	w := newWriter(r.budget, strings.Join(path, " "), formatJSON)
	if err := w.row(names...); err != nil {
		return true, err
	}
	at := make([]int, len(arrays))
	for i := range at {
		at[i] = 1
	}
	for range length {
		for i, a := range arrays {
			e, end := a.next(at[i])
			at[i] = end
			w.cell(w.jsonCell(e))
		}
		if err := w.end(); err != nil {
			return true, err
		}
	}
	return true, r.keep(w.done())
}

// byTime reads an object whose keys are times: {"2025-06-01 10:00": 1.2, …}, or of objects by time, or the
// columns of pandas: {"power": {"1748772000000": 1.2, …}, …}.
func (r *jsonReader) byTime(v rawJSON, path []string, around []label) (bool, error) {
	inner := v
	series := []string{""}
	values := []rawJSON{v}
	first, firstValue := firstField(v)
	if !looksLikeTime(first) {
		if key, value := firstField(firstValue); !looksLikeTime(key) || !value.scalar() {
			return false, nil
		}
		series, values = nil, nil
		v.fields(func(key string, value rawJSON) bool {
			if k, x := firstField(value); looksLikeTime(k) && x.scalar() {
				series, values = append(series, key), append(values, value)
			}
			return len(series) < maxSheetColumns
		})
		inner = firstValue
	}
	if _, value := firstField(inner); value.kind() == '{' { // a record for each time
		return true, r.recordsByTime(inner, path)
	} else if !value.scalar() {
		return false, nil
	}
	l := newLong(r.budget, strings.Join(path, " "), formatJSON)
	var err error
	for i, s := range series {
		parameter := s
		for k := len(path) - 1; k >= 0 && parameter == ""; k-- {
			if !slices.Contains(plainKeys, strings.ToLower(path[k])) {
				parameter = path[k]
			}
		}
		values[i].fields(func(key string, value rawJSON) bool {
			if looksLikeTime(key) && value.scalar() {
				err = l.add("", parameter, unitLabel(around), key, value.text())
			}
			return err == nil
		})
		if err != nil {
			return true, err
		}
	}
	return true, r.keep(l.done())
}

// recordsByTime reads an object of records by time.
func (r *jsonReader) recordsByTime(v rawJSON, path []string) error {
	keys := []string{"time"}
	index := map[string]int{"time": 0}
	v.fields(func(_ string, record rawJSON) bool {
		flatten(record, "", func(key string, _ rawJSON) {
			if _, ok := index[key]; !ok && len(keys) < maxSheetColumns {
				index[key] = len(keys)
				keys = append(keys, key)
			}
		})
		return true
	})
	w := newWriter(r.budget, strings.Join(path, " "), formatJSON)
	err := w.row(keys...)
	cells := make([]string, len(keys))
	v.fields(func(at string, record rawJSON) bool {
		clear(cells)
		flatten(record, "", func(key string, value rawJSON) {
			if i, ok := index[key]; ok {
				cells[i] = w.jsonCell(value)
			}
		})
		cells[0] = at
		err = w.row(cells...)
		return err == nil
	})
	if err != nil {
		return err
	}
	return r.keep(w.done())
}

func firstField(v rawJSON) (key string, value rawJSON) {
	v.fields(func(k string, x rawJSON) bool { key, value = k, x; return false })
	return key, value
}
