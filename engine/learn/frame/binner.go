package frame

import (
	"fmt"
	"slices"
)

// MaxBins is the highest number of bins of a feature, not counting the one for
// missing values.
const MaxBins = 255

// Missing is the bin of a missing value.
const Missing uint8 = 0

// edgeSamples caps the values that decide a feature's bin edges: quantiles of
// 255 bins do not move with more.
const edgeSamples = 1 << 13

// Binner maps a feature's values to the bins 1..len(edges)+1; 0 is missing.
// A value belongs to the bin above the last edge that is not greater than it.
type Binner struct{ Edges [][]float32 }

// FitBinner puts edges at the quantiles of each feature (between its distinct
// values where they are few), at most bins a feature.
func FitBinner(f *Frame, bins int) (*Binner, error) {
	if bins < 2 || bins > MaxBins {
		return nil, fmt.Errorf("frame: %d bins are not in 2..%d", bins, MaxBins)
	}
	if err := f.Check(); err != nil {
		return nil, err
	}
	n, w := f.Len(), f.Width()
	step := max(1, n/edgeSamples)
	b := &Binner{Edges: make([][]float32, w)}
	column := make([]float32, 0, n/step+1)
	for j := range w {
		column = column[:0]
		for i := 0; i < n; i += step {
			if v := f.Rows[i*w+j]; v == v {
				column = append(column, v)
			}
		}
		slices.Sort(column)
		b.Edges[j] = edges(column, bins)
	}
	return b, nil
}

// edges of a sorted column.
func edges(sorted []float32, bins int) []float32 {
	var out []float32
	distinct := 0
	for i := range sorted {
		if i == 0 || sorted[i] != sorted[i-1] {
			distinct++
		}
	}
	if distinct <= bins {
		for i := 1; i < len(sorted); i++ {
			if sorted[i] != sorted[i-1] {
				out = append(out, between(sorted[i-1], sorted[i]))
			}
		}
		return out
	}
	for k := 1; k < bins; k++ {
		p := k * len(sorted) / bins
		if p == 0 {
			continue
		}
		if v := between(sorted[p-1], sorted[p]); len(out) == 0 || v > out[len(out)-1] {
			out = append(out, v)
		}
	}
	return out
}

// between is a threshold t with a < t <= b for a < b; b where a == b.
func between(a, b float32) float32 {
	m := a + (b-a)/2
	if !(m > a) {
		return b
	}
	return m
}

// Bin is the bin of feature j's value v.
func (b *Binner) Bin(j int, v float32) uint8 {
	if v != v {
		return Missing
	}
	e := b.Edges[j]
	lo, hi := 0, len(e)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if e[m] <= v {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return uint8(lo + 1)
}

// Binned is a frame in bins, one column a feature. Several Binned may share
// their columns and differ in target and weight.
type Binned struct {
	Columns [][]uint8
	Target  []float32
	Weight  []uint8
	Group   []int32
	Binner  *Binner
}

// Len is the number of samples.
func (d *Binned) Len() int { return len(d.Target) }

// Apply is f in the bins of b.
func (b *Binner) Apply(f *Frame) (*Binned, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	if f.Width() != len(b.Edges) {
		return nil, fmt.Errorf("frame: %d features for a binner of %d", f.Width(), len(b.Edges))
	}
	n, w := f.Len(), f.Width()
	d := &Binned{Columns: make([][]uint8, w), Target: f.Target, Weight: f.Weight, Group: f.Group, Binner: b}
	for j := range d.Columns {
		c := make([]uint8, n)
		for i := range c {
			c[i] = b.Bin(j, f.Rows[i*w+j])
		}
		d.Columns[j] = c
	}
	return d, nil
}
