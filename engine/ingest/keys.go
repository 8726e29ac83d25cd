package ingest

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"math"
	"slices"
	"strings"

	"app.sunloop/engine/series"
)

// keys are the columns that distinguish the rows of one time, -1 if there is
// none.
type keys struct {
	asset   int // names the row's asset
	second  int // completes the asset's name, as a plant does an inverter's number
	measure int // names the row's quantity
	unit    int // names the unit of the row's value
}

var noKeys = keys{asset: -1, second: -1, measure: -1, unit: -1}

// Limits of the search for keys.
const (
	maxConflicts   = 0.01 // share of rows that may contradict another row of the same asset and time
	maxKeyColumns  = 24
	maxKeyDistinct = 20000
)

// keyScan is the result of a pass over all records about the columns that may be keys.
type keyScan struct {
	columns []int
	cells   [][]uint32 // by column, then row: the number of the cell's text
	names   []map[string]uint32
	times   []uint64 // hash of the row's time
	rows    []uint64 // hash of the whole row
	lines   []int32
}

var keySeed = maphash.MakeSeed()

// scanKeys reads the cells of all columns that may be keys. Rows without a time are left out.
func (p *plan) scanKeys(text []byte, d dialect) *keyScan {
	s := &keyScan{}
	timeColumns := p.timeColumns()
	for c := range p.cells {
		if len(s.columns) == maxKeyColumns {
			break
		}
		decimal := func(cell string) bool {
			return isNumber(cell) && (cell[0] == '-' || strings.ContainsAny(cell, ".,"))
		}
		if slices.Contains(timeColumns, c) || p.readsAsTime(c) || p.share(c, decimal) > 0.2 {
			continue
		}
		s.columns = append(s.columns, c)
		s.names = append(s.names, map[string]uint32{})
		s.cells = append(s.cells, nil)
	}
	first := p.head.sample[p.head.first]
	r := newRecords(text, d.delim, first.offset, first.line)
	var h maphash.Hash
	for r.next() {
		if empty(r.cells) || !p.time.read(r.cells) {
			continue
		}
		h.SetSeed(keySeed)
		for _, c := range timeColumns {
			h.Write(cellAt(r.cells, c))
			h.WriteByte(0)
		}
		s.times = append(s.times, h.Sum64())
		for _, c := range r.cells {
			h.Write(c)
			h.WriteByte(0)
		}
		s.rows = append(s.rows, h.Sum64())
		s.lines = append(s.lines, int32(r.line)) //nolint:gosec // bounded by Options.MaxBytes
		for i, c := range s.columns {
			cell := cellAt(r.cells, c)
			id, ok := s.names[i][string(cell)]
			if !ok {
				id = uint32(len(s.names[i])) //nolint:gosec // bounded by Options.MaxBytes
				if id < maxKeyDistinct {
					s.names[i][string(cell)] = id
				}
			}
			s.cells[i] = append(s.cells[i], id)
		}
	}
	return s
}

// timeColumns returns the columns that the time is read from.
func (p *plan) timeColumns() []int {
	columns := []int{p.time.column, p.time.clock, p.time.hour, p.time.minute, p.time.offset}
	if p.time.form == formParts {
		columns = append(columns[1:], p.time.parts[:]...)
	}
	return slices.DeleteFunc(columns, func(c int) bool { return c < 0 })
}

// conflicts returns the number of rows that share time and keys with another row that differs from them, and the lines of two such rows.
func (s *keyScan) conflicts(columns ...int) (n int, lines [2]int) {
	type place struct {
		row  uint64
		line int32
	}
	seen := make(map[uint64]place, len(s.times))
	var h maphash.Hash
	for i, at := range s.times {
		h.SetSeed(keySeed)
		maphash.WriteComparable(&h, at)
		for _, c := range columns {
			maphash.WriteComparable(&h, s.cells[c][i])
		}
		key := h.Sum64()
		before, ok := seen[key]
		switch {
		case !ok:
			seen[key] = place{s.rows[i], s.lines[i]}
		case before.row != s.rows[i]:
			if n == 0 {
				lines = [2]int{int(before.line), int(s.lines[i])}
			}
			n++
		}
	}
	return n, lines
}

// searchKeys returns the key columns with which rows of one asset and time do
// not contradict each other. ok is false if there are none. It prefers one
// column to two, then the better name, then fewer assets.
func (p *plan) searchKeys(s *keyScan) (k keys, ok bool) {
	k = noKeys
	most := int(maxConflicts * float64(len(s.times)))
	for i, c := range s.columns {
		if len(s.names[i]) > 0 && p.share(c, isUnit) > 0.8 {
			k.unit = c
		}
	}
	type choice struct {
		columns  []int // indexes into s.columns
		distinct int
		rank     int
	}
	var choices []choice
	consider := func(columns ...int) {
		c := choice{columns: columns, distinct: 1}
		for _, i := range columns {
			n := len(s.names[i])
			if n < 2 || n >= maxKeyDistinct || n*2 > len(s.times) || p.share(s.columns[i], isUnit) > 0.8 {
				return
			}
			c.distinct *= n
			h := parseHeader(p.title(s.columns[i]))
			switch {
			case h.any(noKey|cValue|cLifetime) || h.unit.dim != dimNone:
				c.rank -= 2
			case h.any(cSerial | cDevice):
				c.rank += 2
			}
		}
		if n, _ := s.conflicts(columns...); n <= most {
			choices = append(choices, c)
		}
	}
	for i := range s.columns {
		consider(i)
	}
	single := len(choices) > 0
	names := func(i int) bool { return parseHeader(p.title(s.columns[i])).any(cSerial | cDevice) }
	for i := range s.columns {
		for j := range i {
			// A number per series distinguishes rows as well, but only a name and a quantity describe
			// them.
			if !single || names(i) && p.namesQuantity(s, j, k.unit) || names(j) && p.namesQuantity(s, i, k.unit) {
				consider(j, i)
			}
		}
	}
	if len(choices) == 0 {
		return k, false
	}
	best := slices.MinFunc(choices, func(a, b choice) int {
		return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(len(a.columns), len(b.columns)), cmp.Compare(a.distinct, b.distinct), slices.Compare(a.columns, b.columns))
	})
	for _, i := range best.columns {
		c := s.columns[i]
		switch {
		case k.measure < 0 && p.namesQuantity(s, i, k.unit):
			k.measure = c
		case k.asset < 0:
			k.asset = c
		default:
			k.second = c
		}
	}
	if named := p.keys.asset; named >= 0 && k.asset >= 0 && k.second < 0 && k.asset != named && k.measure != named && p.namesKinds(s, k.asset) {
		// The kind of a row names no unit: it completes the name.
		k.asset, k.second = named, k.asset
	}
	for i, c := range s.columns {
		if k.measure < 0 && c != k.asset && c != k.second && c != k.unit && p.share(c, isNumber) < 0.2 && (c == p.keys.measure || len(s.names[i]) == 1 && p.namesQuantity(s, i, k.unit)) {
			k.measure = c // all rows hold one quantity
		}
	}
	if k.measure < 0 {
		k.unit = -1
	}
	return k, true
}

// namesKinds reports whether a column says what the values of its rows are, such as
// measured ones or a forecast, by its title or by one of its cells.
func (p *plan) namesKinds(s *keyScan, column int) bool {
	i := slices.Index(s.columns, column)
	if i < 0 || namesTypes(tokensOf(p.title(column))) {
		return i >= 0
	}
	for name := range s.names[i] {
		if what := purposeOf(name); what == purposeMeasured || what == purposeForecast {
			return true
		}
	}
	return false
}

// namesQuantity reports whether the cells of a column name quantities: by their words, or since each of them always comes with the same unit and
// not all with one.
func (p *plan) namesQuantity(s *keyScan, i, unit int) bool {
	type kind struct {
		role     role
		quantity series.Quantity
		dim      dimension
	}
	meanings, units := map[kind]bool{}, 0
	for name := range s.names[i] {
		h := parseHeader(name)
		if h.unit.dim != dimNone {
			units++
		}
		if m := meaningOf(h); m.role != roleNone {
			meanings[kind{m.role, m.quantity, h.unit.dim}] = true
		}
	}
	if len(meanings) > 1 || units*2 > len(s.names[i]) || len(meanings) > 0 && parseHeader(p.title(s.columns[i])).any(cMeasure) {
		return true
	}
	at := slices.Index(s.columns, unit)
	if at < 0 || at == i || len(s.names[at]) < 2 {
		return false
	}
	unitOf := map[uint32]uint32{}
	for row, id := range s.cells[i] {
		if u, ok := unitOf[id]; ok && u != s.cells[at][row] {
			return false
		}
		unitOf[id] = s.cells[at][row]
	}
	return true
}

// assetName returns the name of a record's asset; it is valid until the next call.
func (t *table) assetName(cells [][]byte) []byte {
	name := cellAt(cells, t.plan.keys.asset)
	if t.plan.keys.second < 0 {
		return name
	}
	second := cellAt(cells, t.plan.keys.second)
	if len(name) == 0 || len(second) == 0 {
		return bytes.Join([][]byte{name, second}, nil)
	}
	t.joined = append(append(append(t.joined[:0], name...), ' '), second...)
	return t.joined
}

// indexes returns the places of keys among the scanned columns.
func (s *keyScan) indexes(k keys) []int {
	var out []int
	for _, c := range []int{k.asset, k.second, k.measure} {
		if i := slices.Index(s.columns, c); i >= 0 {
			out = append(out, i)
		}
	}
	return out
}

// fewConflicts is the number of rows that may contradict others in any file, such as corrections.
const fewConflicts = 5

// conflicts returns the number of rows whose production differs from that of another row of the same asset and time.
func (t *table) conflicts(groups []*group) int {
	n := 0
	for _, g := range groups {
		if g.direct || len(g.rows) == len(g.times) {
			continue
		}
		for k := range g.times {
			end := len(g.rows)
			if k+1 < len(g.starts) {
				end = int(g.starts[k+1])
			}
			if rows := g.rows[g.starts[k]:end]; len(rows) > 1 {
				n += t.contradictions(rows)
				if t.plan.keys.measure >= 0 {
					g.repeated += t.repeated(rows)
				}
			}
		}
	}
	return n
}

// repeated returns how many of the rows of one asset and time, in a file with a row for each quantity, have a quantity that a row before has.
func (t *table) repeated(rows []int32) int {
	n := 0
	for _, c := range t.columns {
		here := 0
		for _, i := range rows {
			if !math.IsNaN(c.values[i]) {
				here++
			}
		}
		n += max(0, here-1)
	}
	return n
}

// contradictions returns how many of the rows of one asset and time differ from the first in a column of production.
func (t *table) contradictions(rows []int32) int {
	n := 0
	for _, c := range t.columns {
		if !mainRole(c.means.role) && c.means.role != roleFeedIn {
			continue
		}
		first, here := math.NaN(), 0
		for _, i := range rows {
			switch v := c.values[i]; {
			case math.IsNaN(v):
			case math.IsNaN(first):
				first = v
			case v != first:
				here++
			}
		}
		n = max(n, here)
	}
	return n
}
