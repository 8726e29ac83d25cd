package bolt

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"app.sunloop/engine/series"
)

// A row is what the units of a site reported at one stamp of the open day, as
// one value of the tail: a live step touches few pages, however many units
// there are. Layout, little-endian:
//
//	count   4 bytes
//	index   count times: ref 4 bytes, ascending; offset of the sample 4 bytes
//	samples as below, at their offsets, in the index's order
//
// so that one unit's sample is found without reading the others'.
type row []unitSample

type unitSample struct {
	ref    uint32
	values sample
}

// sample is one unit's values at one stamp, ascending by quantity, without the
// missing ones. Stored: count 1 byte, then for each quantity 1 byte and 8 bytes
// of the float.
type sample []quantityValue

type quantityValue struct {
	quantity series.Quantity
	value    float64
}

var errRow = errors.New("damaged row of the open day")

const (
	rowHead    = 4
	rowIndex   = 8
	sampleHead = 1
	sampleItem = 9
)

// sampleOf is stamp i of a frame.
func sampleOf(f series.Frame, i int) sample {
	var s sample
	for _, c := range f.Columns {
		if v := c.Values[i]; !math.IsNaN(v) {
			s = append(s, quantityValue{c.Quantity, v})
		}
	}
	return s
}

// merge is s with newer's values in place of its own.
func (s sample) merge(newer sample) sample {
	out := slices.Clone(newer)
	for _, old := range s {
		i, ok := slices.BinarySearchFunc(out, old.quantity, func(v quantityValue, q series.Quantity) int { return int(v.quantity) - int(q) })
		if !ok {
			out = slices.Insert(out, i, old)
		}
	}
	return out
}

// frame is the sample as a frame of one stamp.
func (s sample) frame(at int64) series.Frame {
	f := series.Frame{Times: []int64{at}}
	for _, v := range s {
		f.Columns = append(f.Columns, series.Column{Quantity: v.quantity, Values: []float64{v.value}})
	}
	return f
}

func (s sample) append(b []byte) []byte {
	b = append(b, byte(len(s)))
	for _, v := range s {
		b = append(b, byte(v.quantity))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v.value))
	}
	return b
}

// readSample is the sample at the front of b and its length in bytes.
func readSample(b []byte) (s sample, size int, err error) {
	if len(b) < sampleHead {
		return nil, 0, errRow
	}
	size = sampleHead + int(b[0])*sampleItem
	if len(b) < size {
		return nil, 0, errRow
	}
	s = make(sample, b[0])
	for i := range s {
		item := b[sampleHead+i*sampleItem:]
		s[i] = quantityValue{series.Quantity(item[0]), math.Float64frombits(binary.LittleEndian.Uint64(item[1:]))}
	}
	return s, size, nil
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

func (r row) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(r)))
	offset := rowHead + rowIndex*len(r)
	for _, u := range r {
		b = binary.LittleEndian.AppendUint32(b, u.ref)
		b = binary.LittleEndian.AppendUint32(b, uint32(offset))
		offset += sampleHead + sampleItem*len(u.values)
	}
	for _, u := range r {
		b = u.values.append(b)
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

// unit is entry i of the index.
func (b storedRow) unit(i int) (ref uint32, at []byte, err error) {
	entry := b[rowHead+i*rowIndex:]
	ref, offset := binary.LittleEndian.Uint32(entry), binary.LittleEndian.Uint32(entry[4:])
	if uint64(offset) > uint64(len(b)) {
		return 0, nil, errRow
	}
	return ref, b[offset:], nil
}

// find is the sample of one unit; nil when the row has none.
func (b storedRow) find(ref uint32) (sample, bool, error) {
	n, err := b.len()
	if err != nil {
		return nil, false, err
	}
	lo, hi := 0, n
	for lo < hi {
		mid := (lo + hi) / 2
		got, at, err := b.unit(mid)
		switch {
		case err != nil:
			return nil, false, err
		case got == ref:
			s, _, err := readSample(at)
			return s, true, err
		case got < ref:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return nil, false, nil
}

// all is the whole row.
func (b storedRow) all() (row, error) {
	n, err := b.len()
	if err != nil {
		return nil, err
	}
	r := make(row, n)
	for i := range r {
		ref, at, err := b.unit(i)
		if err != nil {
			return nil, err
		}
		s, _, err := readSample(at)
		if err != nil {
			return nil, err
		}
		r[i] = unitSample{ref, s}
	}
	return r, nil
}

// frameBuilder makes a frame of samples that come in time order.
type frameBuilder struct{ frame series.Frame }

func (fb *frameBuilder) add(at int64, s sample, quantities []series.Quantity) {
	f := &fb.frame
	n := len(f.Times)
	f.Times = append(f.Times, at)
	for i := range f.Columns {
		f.Columns[i].Values = append(f.Columns[i].Values, series.Missing())
	}
	for _, v := range s {
		if len(quantities) > 0 && !slices.Contains(quantities, v.quantity) {
			continue
		}
		column := f.Values(v.quantity)
		if column == nil {
			column = make([]float64, n+1, max(n+1, 16))
			for i := range column {
				column[i] = series.Missing()
			}
			f.Set(v.quantity, column)
		}
		column[n] = v.value
	}
}
