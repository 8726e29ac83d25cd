// Package frame holds the training table of a learner: named float32 features
// with a target, weights and groups, and its binned form for the trees. It is
// independent of the meaning of the features.
package frame

import (
	"fmt"
	"slices"
)

// Frame is a table of samples. Rows is row-major, Len() x Width(); NaN is a
// missing feature. The other slices are one value a sample, or nil.
type Frame struct {
	Names  []string
	Rows   []float32
	Target []float32
	Scale  []float32 // what a unit of the target is worth (clear-sky power); nil is one
	Weight []uint8   // 1..255; nil is one
	Group  []int32   // samples that belong together (a day), ascending; nil is none
	Time   []int64   // Unix seconds
}

// Len is the number of samples.
func (f *Frame) Len() int { return len(f.Target) }

// Width is the number of features.
func (f *Frame) Width() int { return len(f.Names) }

// Row is sample i's features; the slice is the frame's own.
func (f *Frame) Row(i int) []float32 {
	w := f.Width()
	return f.Rows[i*w : i*w+w : i*w+w]
}

// Check returns an error if the shape of f is invalid.
func (f *Frame) Check() error {
	n := f.Len()
	if f.Width() == 0 || len(f.Rows) != n*f.Width() {
		return fmt.Errorf("frame: %d values for %d samples of %d features", len(f.Rows), n, f.Width())
	}
	for _, c := range []struct {
		name string
		len  int
		set  bool
	}{{"scale", len(f.Scale), f.Scale != nil}, {"weight", len(f.Weight), f.Weight != nil}, {"group", len(f.Group), f.Group != nil}, {"time", len(f.Time), f.Time != nil}} {
		if c.set && c.len != n {
			return fmt.Errorf("frame: %d values of %s for %d samples", c.len, c.name, n)
		}
	}
	for i, y := range f.Target {
		if y-y != 0 {
			return fmt.Errorf("frame: target of sample %d is %g", i, y)
		}
	}
	return nil
}

// Pick is the samples at the given positions, in that order. It shares no
// sample with f.
func (f *Frame) Pick(at []int32) *Frame {
	w := f.Width()
	out := &Frame{Names: f.Names, Rows: make([]float32, 0, len(at)*w)}
	for _, i := range at {
		out.Rows = append(out.Rows, f.Row(int(i))...)
	}
	out.Target, out.Scale, out.Weight = pick(f.Target, at), pick(f.Scale, at), pick(f.Weight, at)
	out.Group, out.Time = pick(f.Group, at), pick(f.Time, at)
	return out
}

func pick[T any](v []T, at []int32) []T {
	if v == nil {
		return nil
	}
	out := make([]T, len(at))
	for k, i := range at {
		out[k] = v[i]
	}
	return out
}

// Thin keeps at most limit samples, evenly spread over the frame. It returns f
// itself where that is all of them.
func (f *Frame) Thin(limit int) *Frame {
	n := f.Len()
	if limit <= 0 || n <= limit {
		return f
	}
	at := make([]int32, limit)
	for k := range at {
		at[k] = int32(int64(k) * int64(n) / int64(limit))
	}
	return f.Pick(at)
}

// Append adds the samples of g, which must have the same features. Optional
// columns must be present in both or in neither.
func (f *Frame) Append(g *Frame) {
	if !slices.Equal(f.Names, g.Names) {
		panic("frame: append of other features")
	}
	f.Rows = append(f.Rows, g.Rows...)
	f.Target = append(f.Target, g.Target...)
	f.Scale = append(f.Scale, g.Scale...)
	f.Weight = append(f.Weight, g.Weight...)
	f.Group = append(f.Group, g.Group...)
	f.Time = append(f.Time, g.Time...)
}
