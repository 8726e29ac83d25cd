package ingest

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"app.sunloop/internal/display"
)

// table holds the used cells of the file, one row for each asset and time, in the
// order of the file.
type table struct {
	plan    *plan
	columns []*column
	walls   []int64 // wall time as if it were UTC, read with the day first
	swapped []int64 // the same with the month first; nil while no date is ambiguous
	offsets []int32 // seconds east of UTC that the cell states, else noOffset; nil while none does
	assets  []int32 // index into names; nil where no column names them
	names   []string

	read        int
	skipped     map[string]int
	surplus     int // records with more cells than the header
	surplusLine int
	kept        int // records that gave rows
	cutLine     int // the last line, where it is cut
	lost        int // records that should have a time but have none that can be read
	lostLine    int
	lostText    string
	otherLine   int  // of a header with other columns among the data
	dotted      bool // dates are written with dots
	firstLine   int
	evidence    []numberEvidence // of each column, where its style is not known before

	dayFirst, monthFirst wallClock

	known    map[string]int32   // assets by name
	lastName []byte             // of the last row, and its index
	lastID   int32              //
	joined   []byte             // the last name of two columns
	doubted  *column            // the only one that may be production, without a name or unit that states it
	measures map[string]*column // columns of a long file by quantity
}

const (
	noOffset = math.MinInt32
	noWall   = math.MinInt64 // no such date
)

// fill reads all records below the header. It uses the number style of the first
// records, and reads all again if the whole file shows another style.
func (p *plan) fill(text []byte, d dialect) (*table, error) {
	known := p.styleOf(text, d)
	if !known {
		first := p.head.sample[p.head.first]
		evidence := make([]numberEvidence, len(p.columns))
		r := newRecords(text, d.delim, first.offset, first.line)
		for n := 0; n < sampleRecords && r.next(); n++ {
			p.addEvidence(r.cells, evidence)
		}
		p.chooseStyles(evidence, d.delim)
	}
	t := p.tabulate(text, d, !known)
	if !known && p.chooseStyles(t.evidence, d.delim) {
		t = p.tabulate(text, d, false)
	}
	if t.surplus*5 > t.read {
		return nil, refuse(InconsistentColumns, t.surplusLine, "the header has %s but %d of %d data rows have more cells: the delimiter also occurs inside unquoted numbers",
			display.CountOf(p.cells, "column", "columns"), t.surplus, t.read)
	}
	if t.otherLine > 0 {
		return nil, refuse(InconsistentColumns, t.otherLine, "another header, with other columns than that of line %d, is among the data: two files were joined", p.head.stack[0].line)
	}
	if t.lost > fewLost && t.lost*4 > t.read {
		return nil, refuse(InconsistentColumns, t.lostLine, "%q has no readable time; %d of %d data rows in total have none: their times are not written like those of the first rows",
			t.lostText, t.lost, t.read)
	}
	return t, nil
}

// fewLost is the number of rows that may lack a time in any file, mainly footers.
const fewLost = 5

// tabulate builds the table of all records, with evidence of the number styles
// if wanted.
func (p *plan) tabulate(text []byte, d dialect, wanted bool) *table {
	first := p.head.sample[p.head.first]
	t := &table{plan: p, columns: p.columns, skipped: map[string]int{}, known: map[string]int32{}, measures: map[string]*column{}, firstLine: first.line,
		dayFirst: wallClock{order: dayFirst}, monthFirst: wallClock{order: monthFirst}}
	t.reserve(len(text) - first.offset)
	if wanted {
		t.evidence = make([]numberEvidence, len(p.columns))
	}
	r := newRecords(text, d.delim, first.offset, first.line)
	before := 0 // cells of the last record
	for r.next() {
		if r.at == len(text) && len(text) > 0 && text[len(text)-1] != '\n' && text[len(text)-1] != '\r' && len(r.cells) > 1 && len(r.cells) < before && p.time.read(r.cells) {
			t.read++
			t.skip(SkipCutLine)
			t.cutLine = r.line
			break
		}
		before = len(r.cells)
		if wanted {
			p.addEvidence(r.cells, t.evidence)
		}
		if empty(r.cells) {
			continue
		}
		t.read++
		t.record(r)
	}
	return t
}

// reserve allocates space for the rows that size bytes may hold, by the mean
// length of the first records.
func (t *table) reserve(size int) {
	sample := t.plan.head.sample[t.plan.head.first:]
	mean := max(8, (sample[len(sample)-1].end-sample[0].offset)/len(sample))
	n := min(size/mean, 1<<20)
	n += n/32 + 1
	t.walls = make([]int64, 0, n)
	for _, col := range t.columns {
		col.values, col.units = nil, nil
		if t.plan.keys.measure < 0 && len(t.plan.hours) == 0 {
			col.values = make([]float64, 0, n)
		}
	}
}

// styleOf sets the number style if the file states it, or if it follows: a
// comma file without quotes has no comma in a cell.
func (p *plan) styleOf(text []byte, d dialect) (known bool) {
	var style numberStyle
	switch {
	case p.decimal == ',':
		style = numberStyle{',', '.'}
	case p.decimal == '.':
		style = numberStyle{'.', ','}
	case d.decimal == ',':
		style = numberStyle{',', '.'}
	case d.decimal == '.':
		style = numberStyle{'.', ','}
	case d.delim == ',' && bytes.IndexByte(text[p.head.sample[p.head.first].offset:], '"') < 0 && !p.dotsGroup():
		style = plainStyle
	default:
		return false
	}
	for _, col := range p.columns {
		col.style = style
	}
	return true
}

// dotsGroup reports whether the dots of a sampled column group thousands, as in 1.234.567, or may do so, as in 1.234 with no other number of decimals.
func (p *plan) dotsGroup() bool {
	for _, col := range p.columns {
		if col.index < 0 {
			continue
		}
		var e numberEvidence
		p.data(col.index, func(cell string) { e.observe([]byte(cell)) })
		if e.dotMany > 0 || e.dotThree > 0 && e.dotOnly == 0 {
			return true
		}
	}
	return false
}

// addEvidence adds the cells of a record to the evidence of each column.
func (p *plan) addEvidence(cells [][]byte, evidence []numberEvidence) {
	for i, col := range p.columns {
		if col.index >= 0 && col.index < len(cells) {
			evidence[i].observe(cells[col.index])
		}
	}
	for _, col := range p.hours {
		if col.index < len(cells) {
			evidence[len(evidence)-1].observe(cells[col.index])
		}
	}
}

// chooseStyles decides the number style of each column. changed reports that a
// column had another style before.
func (p *plan) chooseStyles(evidence []numberEvidence, delim byte) (changed bool) {
	var whole numberEvidence
	for _, e := range evidence {
		whole.add(e)
	}
	common, commonSure := whole.style(delim)
	for i, col := range p.columns {
		style, sure := evidence[i].style(delim)
		if !sure && commonSure {
			style = common
		}
		col.eitherMark, col.mark = evidence[i].ambiguous() && !commonSure, '.'
		if evidence[i].commaThree > 0 {
			col.mark = ','
		}
		changed = changed || style != col.style
		col.style = style
	}
	return changed
}

// record converts one record to rows, or counts the reason why it is skipped.
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
	if !p.time.read(r.cells) {
		why := t.whyNoTime(r.cells)
		t.skip(why)
		if t.otherLine == 0 && t.otherHeader(r.cells) {
			t.otherLine = r.line
		}
		if why == SkipNoTime {
			if t.lost == 0 {
				t.lostLine, t.lostText = r.line, clean(string(bytes.Join(r.cells, []byte{' '})))
			}
			t.lost++
		}
		return
	}
	s := &p.time.now
	t.dotted = t.dotted || s.dotted
	asset := int32(0)
	if p.keys.asset >= 0 {
		var ok bool
		if asset, ok = t.asset(t.assetName(r.cells)); !ok {
			t.skip(SkipNoAsset)
			return
		}
	}
	switch {
	case len(p.hours) > 0:
		if _, ok := t.dayFirst.wall(s); !ok && s.sure {
			t.skip(SkipImpossibleDate)
			return
		}
		t.hourRows(s, r.cells)
	case p.keys.measure >= 0:
		if !t.measureRow(s, asset, r.cells) {
			t.skip(SkipOtherQuantity)
			return
		}
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
	t.kept++
}

func cellAt(cells [][]byte, c int) []byte {
	if c >= 0 && c < len(cells) {
		return cells[c]
	}
	return nil
}

func (t *table) skip(why string) { t.skipped[why]++ }

// skipRow counts a row that is not used. A record with a column for each hour gives several rows and is not counted by them.
func (t *table) skipRow(why string) {
	if len(t.plan.hours) == 0 {
		t.skip(why)
	}
}

// whyNoTime returns the reason why a record has no time.
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
	switch h := parseHeader(first); {
	case isRule(cells):
		return SkipComment
	case strings.HasPrefix(first, "#") || strings.HasPrefix(first, "//"):
		return SkipComment
	case h.any(cTotal | cRating), contains(h.tokens, "mittelwert"), contains(h.tokens, "average"), contains(h.tokens, "mean"), contains(h.tokens, "media"), contains(h.tokens, "moyenne"):
		return SkipSummary
	}
	return SkipNoTime
}

// otherHeader reports whether a record names a time and a quantity, but differs
// from the header.
func (t *table) otherHeader(cells [][]byte) bool {
	p := t.plan
	for _, s := range p.head.stack {
		same := true
		for c := range max(len(cells), len(s.cells)) {
			same = same && string(cellAt(cells, c)) == s.cell(c)
		}
		if same {
			return false
		}
	}
	if !parseHeader(string(cellAt(cells, p.time.column))).any(cTime | cDate | cStart) {
		return false
	}
	measured := false
	for c := range cells {
		if len(cells[c]) == 0 || c == p.time.column {
			continue
		}
		if digit(cells[c][0]) {
			return false
		}
		h := parseHeader(string(cells[c]))
		measured = measured || mainRole(meaningOf(h).role) && h.unit.dim != dimNone
	}
	return measured
}

// asset returns the index of a name.
func (t *table) asset(name []byte) (int32, bool) {
	if len(name) == 0 {
		return 0, false
	}
	if bytes.Equal(name, t.lastName) {
		return t.lastID, true
	}
	id, ok := t.known[string(name)]
	if !ok {
		id = int32(len(t.names)) //nolint:gosec // bounded by Options.MaxBytes
		t.names = append(t.names, string(name))
		t.known[string(name)] = id
	}
	t.lastName, t.lastID = append(t.lastName[:0], name...), id
	return id, true
}

// stamp appends the time and the asset of a row.
func (t *table) stamp(s *stamp, asset int32) {
	n := len(t.walls)
	w, ok := t.dayFirst.wall(s)
	if !ok {
		w = noWall
	}
	t.walls = append(t.walls, w)
	if !s.sure && !s.absolute || t.swapped != nil {
		other, ok := t.monthFirst.wall(s)
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
		offset = int32(s.zone.offset) //nolint:gosec // within a day
	case s.zone.abbr != "":
		if off, ok := abbreviationOffset(s.zone.abbr, w, t.plan.zone); ok {
			offset = int32(off) //nolint:gosec // within a day
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
	if t.plan.keys.asset >= 0 {
		t.assets = append(t.assets, asset)
	}
}

// hourRows makes a row for each hour's column.
func (t *table) hourRows(s *stamp, cells [][]byte) {
	values := t.columns[len(t.columns)-1]
	for _, h := range t.plan.hours {
		cell := cellAt(cells, h.index)
		if len(cell) == 0 && h.slot >= day { // the 25th hour, which most days do not have
			continue
		}
		s.sec, s.hasClock = h.slot, true
		t.stamp(s, 0)
		values.values = append(values.values, values.read(cell))
	}
}

// measureRow puts the value of a long file's row into the column of its
// quantity. It returns false for a quantity that is not used.
func (t *table) measureRow(s *stamp, asset int32, cells [][]byte) bool {
	p := t.plan
	name := cellAt(cells, p.keys.measure)
	var written unit
	if p.keys.unit >= 0 {
		written, _ = parseUnit(string(cellAt(cells, p.keys.unit)))
	}
	col, ok := t.measures[string(name)]
	if !ok {
		h := parseHeader(string(name))
		if written.dim != dimNone {
			h.unit = written
		}
		col = &column{title: h.name, name: h.name, unit: h.unit, means: meaningOf(h), index: p.valueAt(), style: plainStyle}
		if i := slices.IndexFunc(p.columns, func(c *column) bool { return c.index == col.index }); i >= 0 {
			col.style, col.eitherMark, col.mark = p.columns[i].style, p.columns[i].eitherMark, p.columns[i].mark
		}
		if m, known := ruled(h); (!known || m.role == roleValue || m.role == roleNone && h.any(cLifetime) && !h.any(noKey)) && h.dim(dimNone) && len(h.tokens) > 0 {
			col.means, col.readings = meaning{role: roleUnknown}, h.any(cLifetime)
		}
		if means, ok := p.fixed[string(name)]; ok {
			col.means, col.fixed = means, true
		} else if p.fixesProduction() && (mainRole(col.means.role) || col.means.role == roleFeedIn || col.means.role == roleUnknown) {
			col.means = meaning{}
		}
		if p.mappedUnit.dim != dimNone {
			col.setUnit(p.mappedUnit)
		}
		t.measures[string(name)] = col
		if col.means.role != roleNone {
			t.columns = append(t.columns, col)
		}
	}
	if col.means.role == roleNone {
		return false
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
	return true
}

// valueAt returns the column that holds the values of a long file.
func (p *plan) valueAt() int {
	if col := p.find(roleValue, rolePower, roleEnergy); col != nil {
		return col.index
	}
	return p.cells - 1
}

// alignColumns extends all columns to the number of rows, and drops those that only
// mark the position of values.
func (t *table) alignColumns() {
	if t.plan.keys.measure >= 0 {
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
