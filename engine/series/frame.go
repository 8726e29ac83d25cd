package series

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Frame is what one asset reported over a span: strictly ascending times and
// one column for each quantity. The zero Frame is empty and ready to use.
type Frame struct {
	Times   []int64  // Unix seconds, UTC, strictly ascending
	Columns []Column // ascending by Quantity, each as long as Times
}

// Column is one quantity of a [Frame]; NaN where it was not measured.
type Column struct {
	Quantity Quantity
	Values   []float64
}

// Len is the number of stamps.
func (f Frame) Len() int { return len(f.Times) }

// Values is the column of q, or nil where the frame has none. The slice is
// the frame's own.
func (f Frame) Values(q Quantity) []float64 {
	if i, ok := f.find(q); ok {
		return f.Columns[i].Values
	}
	return nil
}

// At is the value of q at stamp i, NaN where the frame has no such column.
func (f Frame) At(q Quantity, i int) float64 {
	if v := f.Values(q); v != nil {
		return v[i]
	}
	return Missing()
}

// Set adds values as the column of q, or replaces the column; a copy of the
// frame made before keeps its columns. It panics if the number of values
// differs from that of the time stamps.
func (f *Frame) Set(q Quantity, values []float64) {
	if len(values) != len(f.Times) {
		panic(fmt.Sprintf("series: %d values of %s for %d stamps", len(values), q, len(f.Times)))
	}
	i, ok := f.find(q)
	if ok {
		f.Columns = slices.Clone(f.Columns)
		f.Columns[i].Values = values
		return
	}
	f.Columns = slices.Insert(slices.Clip(f.Columns), i, Column{q, values})
}

func (f Frame) find(q Quantity) (int, bool) {
	return slices.BinarySearchFunc(f.Columns, q, func(c Column, q Quantity) int { return int(c.Quantity) - int(q) })
}

// Slice is the part with from <= time < to. It shares memory with f.
func (f Frame) Slice(from, to int64) Frame {
	i, _ := slices.BinarySearch(f.Times, from)
	j, _ := slices.BinarySearch(f.Times, to)
	j = max(i, j)
	out := Frame{Times: f.Times[i:j:j], Columns: make([]Column, len(f.Columns))}
	for k, c := range f.Columns {
		out.Columns[k] = Column{c.Quantity, c.Values[i:j:j]}
	}
	return out
}

// Select returns the samples at the given places of f, in their order. It shares nothing
// with f.
func (f Frame) Select(places []int) Frame {
	out := Frame{Times: make([]int64, len(places)), Columns: make([]Column, len(f.Columns))}
	for k, i := range places {
		out.Times[k] = f.Times[i]
	}
	for n, c := range f.Columns {
		values := make([]float64, len(places))
		for k, i := range places {
			values[k] = c.Values[i]
		}
		out.Columns[n] = Column{c.Quantity, values}
	}
	return out
}

// Clone shares nothing with f.
func (f Frame) Clone() Frame {
	out := Frame{Times: slices.Clone(f.Times), Columns: make([]Column, len(f.Columns))}
	for i, c := range f.Columns {
		out.Columns[i] = Column{c.Quantity, slices.Clone(c.Values)}
	}
	return out
}

// Check returns an error if times are out of order, or columns are out of order
// or of another length.
func (f Frame) Check() error {
	for i := 1; i < len(f.Times); i++ {
		if f.Times[i] <= f.Times[i-1] {
			return fmt.Errorf("time %d follows %d", f.Times[i], f.Times[i-1])
		}
	}
	for i, c := range f.Columns {
		if len(c.Values) != len(f.Times) {
			return fmt.Errorf("column %s has %d values for %d times", c.Quantity, len(c.Values), len(f.Times))
		}
		if i > 0 && c.Quantity <= f.Columns[i-1].Quantity {
			return errors.New("columns are not ascending by quantity")
		}
	}
	return nil
}

// Merge joins two frames of one asset. Where both have a value of a quantity
// at one time, newer's wins; a NaN never replaces a value. The result shares
// nothing with its arguments.
func Merge(older, newer Frame) Frame {
	if newer.Len() == 0 {
		return older.Clone()
	}
	if older.Len() == 0 {
		return newer.Clone()
	}
	out := Frame{Times: make([]int64, 0, len(older.Times)+len(newer.Times))}
	fromOld := make([]int, 0, cap(out.Times)) // index into older or -1
	fromNew := make([]int, 0, cap(out.Times))
	for i, j := 0, 0; i < len(older.Times) || j < len(newer.Times); {
		switch {
		case j == len(newer.Times) || i < len(older.Times) && older.Times[i] < newer.Times[j]:
			out.Times, fromOld, fromNew = append(out.Times, older.Times[i]), append(fromOld, i), append(fromNew, -1)
			i++
		case i == len(older.Times) || newer.Times[j] < older.Times[i]:
			out.Times, fromOld, fromNew = append(out.Times, newer.Times[j]), append(fromOld, -1), append(fromNew, j)
			j++
		default:
			out.Times, fromOld, fromNew = append(out.Times, older.Times[i]), append(fromOld, i), append(fromNew, j)
			i, j = i+1, j+1
		}
	}
	for _, q := range quantities(older, newer) {
		was, is := older.Values(q), newer.Values(q)
		values := make([]float64, len(out.Times))
		for k := range values {
			v := math.NaN()
			if j := fromNew[k]; j >= 0 && is != nil {
				v = is[j]
			}
			if i := fromOld[k]; math.IsNaN(v) && i >= 0 && was != nil {
				v = was[i]
			}
			values[k] = v
		}
		out.Columns = append(out.Columns, Column{q, values})
	}
	return out
}

// quantities are those of any of the frames, ascending.
func quantities(frames ...Frame) []Quantity {
	var qs []Quantity
	for _, f := range frames {
		for _, c := range f.Columns {
			qs = append(qs, c.Quantity)
		}
	}
	slices.Sort(qs)
	return slices.Compact(qs)
}
