package telemetry

import (
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"slices"
	"sort"

	"app.sunloop/engine/energy"
	"app.sunloop/engine/series"
)

// A row is what the units of a site reported at one stamp of the open day, as
// one value of the tail: a live step touches few pages, however many units
// there are. Layout, little-endian:
//
//	count   4 bytes
//	index   count times: ref 4 bytes, ascending; offset of the sample 4 bytes
//	samples at their offsets, in the index's order
//
// so that one unit's sample is found without reading the others'.
type row []unitSample

type unitSample struct {
	ref    uint32
	values sample
}

// sample is one unit's values at one stamp as they are stored, ascending by
// quantity, without the missing ones: their number, 1 byte; then for each the
// quantity, 1 byte, and the float, 8 bytes. It is read in place.
type sample []byte

var errRow = errors.New("damaged row of the open day")

const (
	rowHead    = 4
	rowIndex   = 8
	sampleHead = 1
	sampleItem = 9
)

// sampleOf is stamp i of a frame.
func sampleOf(f series.Frame, i int) sample {
	s := make(sample, sampleHead, sampleHead+sampleItem*len(f.Columns))
	for _, c := range f.Columns {
		if v := c.Values[i]; !math.IsNaN(v) {
			s = s.with(c.Quantity, v)
		}
	}
	return s
}

// with is s and one more quantity, the greatest so far.
func (s sample) with(q series.Quantity, v float64) sample {
	s[0]++
	return binary.LittleEndian.AppendUint64(append(s, byte(q)), math.Float64bits(v))
}

// count is the number of values.
func (s sample) count() int { return int(s[0]) }

// value is value i.
func (s sample) value(i int) (series.Quantity, float64) {
	item := s[sampleHead+i*sampleItem:]
	return series.Quantity(item[0]), math.Float64frombits(binary.LittleEndian.Uint64(item[1:]))
}

// has reports whether the sample has a quantity.
func (s sample) has(q series.Quantity) bool {
	for i := range s.count() {
		if s[sampleHead+i*sampleItem] == byte(q) {
			return true
		}
	}
	return false
}

// merge returns s with newer's values replacing its own, as energy.Merge does.
func (s sample) merge(newer sample) sample {
	step, interval := energy.Stale(s.has, newer.has)
	out := make(sample, sampleHead, len(s)+len(newer))
	for i, j := 0, 0; i < s.count() || j < newer.count(); {
		var q, nq series.Quantity
		var v, nv float64
		if i < s.count() {
			q, v = s.value(i)
		}
		if j < newer.count() {
			nq, nv = newer.value(j)
		}
		switch {
		case j == newer.count() || i < s.count() && q < nq:
			if i++; !(step && q == series.StepS || interval && (q == series.CoveredS || q == series.EnergyKWh)) {
				out = out.with(q, v)
			}
		case i == s.count() || nq < q:
			out, j = out.with(nq, nv), j+1
		default:
			out, i, j = out.with(nq, nv), i+1, j+1
		}
	}
	return out
}

// frame is the sample as a frame of one stamp.
func (s sample) frame(at int64) series.Frame {
	f := series.Frame{Times: []int64{at}}
	for i := range s.count() {
		q, v := s.value(i)
		f.Columns = append(f.Columns, series.Column{Quantity: q, Values: []float64{v}})
	}
	return f
}

// frontSample is the sample at the front of b.
func frontSample(b []byte) (sample, error) {
	if len(b) < sampleHead {
		return nil, errRow
	}
	size := sampleHead + int(b[0])*sampleItem
	if len(b) < size {
		return nil, errRow
	}
	return b[:size:size], nil
}

// set puts a unit's sample in, merged with what it has already.
func (r row) set(ref uint32, s sample) row {
	i, ok := slices.BinarySearchFunc(r, ref, func(u unitSample, ref uint32) int { return int(int64(u.ref) - int64(ref)) })
	if ok {
		r[i].values = r[i].values.merge(s)
		return r
	}
	return slices.Insert(r, i, unitSample{ref, s})
}

// replace puts a unit's sample in, in place of what it has.
func (r row) replace(ref uint32, s sample) row {
	i, ok := slices.BinarySearchFunc(r, ref, func(u unitSample, ref uint32) int { return int(int64(u.ref) - int64(ref)) })
	if ok {
		r[i].values = s
		return r
	}
	return slices.Insert(r, i, unitSample{ref, s})
}

func (r row) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(r)))
	offset := rowHead + rowIndex*len(r)
	for _, u := range r {
		b = binary.LittleEndian.AppendUint32(b, u.ref)
		b = binary.LittleEndian.AppendUint32(b, uint32(offset))
		offset += len(u.values)
	}
	for _, u := range r {
		b = append(b, u.values...)
	}
	return b
}

// storedRow reads a row in place.
type storedRow []byte

func (b storedRow) len() (int, error) {
	if len(b) < rowHead {
		return 0, errRow
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n > (len(b)-rowHead)/rowIndex {
		return 0, errRow
	}
	return n, nil
}

// ref is the unit of entry i of the index.
func (b storedRow) ref(i int) uint32 { return binary.LittleEndian.Uint32(b[rowHead+i*rowIndex:]) }

// sample is that unit's.
func (b storedRow) sample(i int) (sample, error) {
	offset := binary.LittleEndian.Uint32(b[rowHead+i*rowIndex+4:])
	if uint64(offset) > uint64(len(b)) {
		return nil, errRow
	}
	return frontSample(b[offset:])
}

// seek returns the sample of one unit, nil if the row has none, and the index at
// which it is or would be. It is fast if the unit is at the index near.
func (b storedRow) seek(ref uint32, near int) (sample, int, error) {
	n, err := b.len()
	if err != nil {
		return nil, 0, err
	}
	if near < n && b.ref(near) == ref {
		s, err := b.sample(near)
		return s, near, err
	}
	at := sort.Search(n, func(i int) bool { return b.ref(i) >= ref })
	if at == n || b.ref(at) != ref {
		return nil, at, nil
	}
	s, err := b.sample(at)
	return s, at, err
}

// all yields every unit's sample.
func (b storedRow) all() iter.Seq2[unitSample, error] {
	return func(yield func(unitSample, error) bool) {
		n, err := b.len()
		if err != nil {
			yield(unitSample{}, err)
			return
		}
		for i := range n {
			s, err := b.sample(i)
			if !yield(unitSample{b.ref(i), s}, err) || err != nil {
				return
			}
		}
	}
}

// row is the whole of it.
func (b storedRow) row() (row, error) {
	var r row
	for u, err := range b.all() {
		if err != nil {
			return nil, err
		}
		r = append(r, u)
	}
	return r, nil
}

// frameBuilder builds a frame of samples that arrive in time order.
type frameBuilder struct{ frame series.Frame }

// builderCap is the room a column begins with: a day of 5 minutes.
const builderCap = 288

func (fb *frameBuilder) add(at int64, s sample, quantities []series.Quantity) {
	f := &fb.frame
	n := len(f.Times)
	if f.Times == nil {
		f.Times = make([]int64, 0, builderCap)
	}
	f.Times = append(f.Times, at)
	for i := range f.Columns {
		f.Columns[i].Values = append(f.Columns[i].Values, series.Missing())
	}
	for i := range s.count() {
		q, v := s.value(i)
		if i < len(f.Columns) && f.Columns[i].Quantity == q {
			f.Columns[i].Values[n] = v // as in the sample before, mostly
			continue
		}
		if len(quantities) > 0 && !slices.Contains(quantities, q) {
			continue
		}
		column := f.Values(q)
		if column == nil {
			column = make([]float64, n+1, max(n+1, builderCap))
			for i := range column {
				column[i] = series.Missing()
			}
			f.Set(q, column)
		}
		column[n] = v
	}
}
