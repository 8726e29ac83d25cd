package ingest

import (
	"bytes"
	"math"
	"strings"
)

// table holds the cells of the file that are of use, one row for each asset
// and time, in the order of the file.
type table struct {
	plan    *plan
	columns []*column
	walls   []int64 // wall time as if it were UTC, read with the day first
	swapped []int64 // the same with the month first; nil while no date leaves a choice
	offsets []int32 // seconds east of UTC that the cell states, else noOffset; nil while none does
	assets  []int32 // index into names; nil where no column names them
	names   []string

	read        int
	skipped     map[string]int
	surplus     int // records with more cells than the header
	surplusLine int
	dotted      bool // dates are written with dots
	firstLine   int

	known    map[string]int32   // assets by name
	lastName []byte             // of the last row, and its index
	lastID   int32              //
	measures map[string]*column // columns of a long file by quantity
}

const (
	noOffset = math.MinInt32
	noWall   = math.MinInt64 // no such date
)

// fill reads all records below the header.
func (p *plan) fill(text []byte, d dialect) (*table, error) {
	first := p.head.sample[p.head.first]
	t := &table{plan: p, columns: p.columns, skipped: map[string]int{}, known: map[string]int32{}, measures: map[string]*column{}, firstLine: first.line}
	p.chooseStyles(text[first.offset:], d)
	t.reserve(len(text)-first.offset, first)
	r := newRecords(text, d.delim, first.offset, first.line)
	for r.next() {
		if empty(r.cells) {
			continue
		}
		t.read++
		t.record(r)
	}
	if t.surplus*5 > t.read {
		return nil, refuse(InconsistentColumns, t.surplusLine, "the header has %d columns but %d of %d data rows have more cells: the delimiter also stands inside unquoted numbers",
			p.cells, t.surplus, t.read)
	}
	return t, nil
}

// reserve makes room for the rows that the rest of the file may hold, going by
// the length of the first.
func (t *table) reserve(size int, first sampled) {
	n := size/max(first.end-first.offset, 8) + 1
	n = min(n, 1<<20)
	t.walls = make([]int64, 0, n)
	if t.plan.measure >= 0 || len(t.plan.hours) > 0 {
		return
	}
	for _, col := range t.columns {
		col.values = make([]float64, 0, n)
	}
}

// chooseStyles decides for each column how it writes numbers, from all of its
// cells. A comma file without quotes cannot have a comma in a cell.
func (p *plan) chooseStyles(text []byte, d dialect) {
	set := func(style numberStyle) {
		for _, col := range p.columns {
			col.style = style
		}
	}
	switch {
	case d.decimal == ',':
		set(numberStyle{',', '.'})
		return
	case d.decimal == '.':
		set(numberStyle{'.', ','})
		return
	case d.delim == ',' && bytes.IndexByte(text, '"') < 0:
		set(plainStyle)
		return
	}
	evidence := make([]numberEvidence, len(p.columns))
	r := newRecords(text, d.delim, 0, 1)
	for r.next() {
		for i, col := range p.columns {
			if col.index >= 0 && col.index < len(r.cells) {
				evidence[i].look(r.cells[col.index])
			}
		}
		for _, col := range p.hours {
			if col.index < len(r.cells) {
				evidence[len(evidence)-1].look(r.cells[col.index])
			}
		}
	}
	var whole numberEvidence
	for _, e := range evidence {
		whole.add(e)
	}
	common, commonSure := whole.style(d.delim)
	for i, col := range p.columns {
		style, sure := evidence[i].style(d.delim)
		if !sure && commonSure {
			style = common
		}
		col.style = style
	}
}

// record turns one record into rows, or counts why it is none.
func (t *table) record(r *records) {
	p := t.plan
	for i := p.cells; i < len(r.cells); i++ {
		if len(r.cells[i]) > 0 {
			if t.surplus == 0 {
				t.surplusLine = r.line
			}
			t.surplus++
			t.skip(SkipTooManyCells)
			return
		}
	}
	s, ok := p.time.read(r.cells)
	if !ok {
		t.skip(t.whyNoTime(r.cells))
		return
	}
	t.dotted = t.dotted || s.dotted
	asset := int32(0)
	if p.id >= 0 {
		if asset, ok = t.asset(cellAt(r.cells, p.id)); !ok {
			t.skip(SkipNoAsset)
			return
		}
	}
	switch {
	case len(p.hours) > 0:
		t.hourRows(s, r.cells)
	case p.measure >= 0:
		t.measureRow(s, asset, r.cells)
	default:
		t.stamp(s, asset)
		for _, col := range t.columns {
			var v float64
			if col.index < len(r.cells) {
				v = col.read(r.cells[col.index])
			} else {
				v = math.NaN()
			}
			col.values = append(col.values, v)
		}
	}
}

func cellAt(cells [][]byte, c int) []byte {
	if c >= 0 && c < len(cells) {
		return cells[c]
	}
	return nil
}

func (t *table) skip(why string) { t.skipped[why]++ }

// whyNoTime names a record that has no time.
func (t *table) whyNoTime(cells [][]byte) string {
	first := ""
	for _, c := range cells {
		if len(c) > 0 {
			first = string(c)
			break
		}
	}
	at := string(cellAt(cells, t.plan.time.column))
	for _, s := range t.plan.head.stack {
		if at != "" && at == s.cell(t.plan.time.column) {
			return SkipRepeatedHeader
		}
	}
	switch h := takeApart(first); {
	case strings.HasPrefix(first, "#") || strings.HasPrefix(first, "//"):
		return SkipComment
	case h.any(cTotal | cRating), contains(h.tokens, "mittelwert"), contains(h.tokens, "average"), contains(h.tokens, "mean"), contains(h.tokens, "media"), contains(h.tokens, "moyenne"):
		return SkipSummary
	}
	return SkipNoTime
}

// asset is the index of a name.
func (t *table) asset(name []byte) (int32, bool) {
	if len(name) == 0 {
		return 0, false
	}
	if bytes.Equal(name, t.lastName) {
		return t.lastID, true
	}
	id, ok := t.known[string(name)]
	if !ok {
		id = int32(len(t.names))
		t.names = append(t.names, string(name))
		t.known[string(name)] = id
	}
	t.lastName, t.lastID = append(t.lastName[:0], name...), id
	return id, true
}

// stamp appends the time and the asset of a row.
func (t *table) stamp(s stamp, asset int32) {
	n := len(t.walls)
	w, ok := s.wall(dayFirst)
	if !ok {
		w = noWall
	}
	t.walls = append(t.walls, w)
	if !s.sure && !s.absolute || t.swapped != nil {
		other, ok := s.wall(monthFirst)
		if !ok {
			other = noWall
		}
		if t.swapped == nil {
			t.swapped = append(make([]int64, 0, cap(t.walls)), t.walls[:n]...)
		}
		t.swapped = append(t.swapped, other)
	}
	offset := int32(noOffset)
	switch {
	case s.zone.known:
		offset = int32(s.zone.offset)
	case s.zone.abbr != "":
		if off, ok := abbreviationOffset(s.zone.abbr, w, t.plan.zone); ok {
			offset = int32(off)
		}
	}
	if offset != noOffset && t.offsets == nil {
		t.offsets = make([]int32, n, cap(t.walls))
		for i := range t.offsets {
			t.offsets[i] = noOffset
		}
	}
	if t.offsets != nil {
		t.offsets = append(t.offsets, offset)
	}
	if t.plan.id >= 0 {
		t.assets = append(t.assets, asset)
	}
}

// hourRows makes a row of each hour's column.
func (t *table) hourRows(s stamp, cells [][]byte) {
	values := t.columns[len(t.columns)-1]
	for _, h := range t.plan.hours {
		cell := cellAt(cells, h.index)
		if len(cell) == 0 && h.slot >= day { // the 25th hour that most days lack
			continue
		}
		s.sec, s.hasClock = h.slot, true
		t.stamp(s, 0)
		values.values = append(values.values, values.read(cell))
	}
}

// measureRow puts the value of a long file's row into the column of its
// quantity.
func (t *table) measureRow(s stamp, asset int32, cells [][]byte) {
	p := t.plan
	name := cellAt(cells, p.measure)
	var written unit
	if p.unitAt >= 0 {
		written, _ = parseUnit(string(cellAt(cells, p.unitAt)))
	}
	col, ok := t.measures[string(name)]
	if !ok {
		h := takeApart(string(name))
		if written.dim != dimNone {
			h.unit = written
		}
		col = &column{title: h.name, name: h.name, unit: h.unit, means: meaningOf(h), index: p.valueAt(), style: plainStyle}
		if value := p.find(roleValue); value != nil {
			col.style = value.style
		}
		t.measures[string(name)] = col
		if col.means.role != roleNone {
			t.columns = append(t.columns, col)
		}
	}
	if col.means.role == roleNone {
		return
	}
	t.stamp(s, asset)
	for len(col.values) < len(t.walls)-1 {
		col.values = append(col.values, math.NaN())
	}
	unit := col.unit
	if written.dim == unit.dim && written.dim != dimNone { // it may change from row to row
		unit = written
		col.note(unit.name)
	}
	col.values = append(col.values, col.readAs(unit, cellAt(cells, col.index)))
}

// valueAt is the column that holds the values of a long file.
func (p *plan) valueAt() int {
	if col := p.find(roleValue, rolePower, roleEnergy); col != nil {
		return col.index
	}
	return p.cells - 1
}

// level makes all columns as long as there are rows, and drops those that only
// said where the values stand.
func (t *table) level() {
	if t.plan.measure >= 0 {
		var own []*column
		for _, col := range t.columns {
			if col.means.role != roleValue {
				own = append(own, col)
			}
		}
		t.columns = own
	}
	for _, col := range t.columns {
		for len(col.values) < len(t.walls) {
			col.values = append(col.values, math.NaN())
		}
		for _, v := range col.values {
			if !math.IsNaN(v) {
				col.count++
			}
		}
	}
}
