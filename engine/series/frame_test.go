package series

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var nan = math.NaN()

func diff(a, b any) string { return cmp.Diff(a, b, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()) }

func TestFrameColumns(t *testing.T) {
	var f Frame
	if f.Len() != 0 || f.Values(PowerKW) != nil || f.Check() != nil {
		t.Errorf("the zero frame: %+v", f)
	}
	f.Times = []int64{10, 20, 30}
	f.Set(TemperatureC, []float64{1, 2, 3})
	f.Set(PowerKW, []float64{4, nan, 6})
	f.Set(DCVoltage(2), []float64{7, 8, 9})
	if err := f.Check(); err != nil {
		t.Error(err)
	}
	if got := f.At(PowerKW, 2); got != 6 {
		t.Errorf("At = %v", got)
	}
	if got := f.At(WindSpeedMS, 2); !math.IsNaN(got) {
		t.Errorf("At of no column = %v", got)
	}
	f.Set(PowerKW, []float64{0, 0, 1})
	want := Frame{[]int64{10, 20, 30}, []Column{{PowerKW, []float64{0, 0, 1}}, {TemperatureC, []float64{1, 2, 3}}, {DCVoltage(2), []float64{7, 8, 9}}}}
	if d := diff(want, f); d != "" {
		t.Error(d)
	}
	defer func() {
		if r := recover(); r == nil {
			t.Error("a short column is taken")
		}
	}()
	f.Set(PowerKW, []float64{1})
}

// A frame that was copied by assignment must not change under its owner.
func TestFrameSetLeavesCopiesAlone(t *testing.T) {
	f := Frame{Times: []int64{1}, Columns: make([]Column, 0, 8)}
	f.Set(TemperatureC, []float64{20})
	f.Set(WindSpeedMS, []float64{3})
	was := f.Clone()
	g := f
	g.Set(PowerKW, []float64{5})
	g.Set(TemperatureC, []float64{99})
	if d := diff(was, f); d != "" {
		t.Error(d)
	}
}

func TestFrameCheck(t *testing.T) {
	for want, f := range map[string]Frame{
		"time 5 follows 5":          {Times: []int64{5, 5}},
		"time 4 follows 5":          {Times: []int64{5, 4}},
		"1 values for 2 times":      {Times: []int64{1, 2}, Columns: []Column{{PowerKW, []float64{1}}}},
		"not ascending by quantity": {Columns: []Column{{TemperatureC, nil}, {PowerKW, nil}}},
	} {
		if err := f.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check = %v, want %q", err, want)
		}
	}
}

func TestFrameSlice(t *testing.T) {
	f := Frame{[]int64{10, 20, 30, 40}, []Column{{PowerKW, []float64{1, 2, 3, 4}}}}
	for _, c := range []struct {
		from, to int64
		want     []int64
	}{{10, 40, []int64{10, 20, 30}}, {11, 41, []int64{20, 30, 40}}, {0, 10, nil}, {41, 99, nil}, {30, 20, nil}, {math.MinInt64, math.MaxInt64, f.Times}} {
		got := f.Slice(c.from, c.to)
		if d := diff(c.want, got.Times); d != "" || got.Check() != nil {
			t.Errorf("%d..%d: %s %v", c.from, c.to, d, got.Check())
		}
	}
	// Growing a slice does not write into the frame behind it.
	part := f.Slice(10, 30)
	part.Times = append(part.Times, 99)
	part.Columns[0].Values = append(part.Columns[0].Values, 99)
	if f.Times[2] != 30 || f.Columns[0].Values[2] != 3 {
		t.Errorf("the frame was written: %+v", f)
	}
}

// frames draws a frame of up to 12 stamps out of 20, so that two of them meet
// often, with holes.
func frames() *rapid.Generator[Frame] {
	return rapid.Custom(func(t *rapid.T) Frame {
		times := rapid.SliceOfNDistinct(rapid.Int64Range(0, 20), 1, 12, rapid.ID).Draw(t, "times")
		slices.Sort(times)
		f := Frame{Times: times}
		qs := rapid.SliceOfNDistinct(rapid.SampledFrom([]Quantity{PowerKW, TemperatureC, DCVoltage(1)}), 1, 3, rapid.ID).Draw(t, "quantities")
		for _, q := range qs {
			values := make([]float64, len(times))
			for i := range values {
				values[i] = rapid.SampledFrom([]float64{nan, 0, 1, 2, 3}).Draw(t, "value")
			}
			f.Set(q, values)
		}
		return f
	})
}

func TestMergeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := frames().Draw(t, "a"), frames().Draw(t, "b"), frames().Draw(t, "c")
		wasA, wasB := a.Clone(), b.Clone()
		ab := Merge(a, b)
		if err := ab.Check(); err != nil {
			t.Fatal(err)
		}
		for _, p := range []struct {
			name      string
			want, got Frame
		}{
			{"idempotent", a, Merge(a, a)},
			{"nothing new", a, Merge(a, Frame{})},
			{"nothing old", a, Merge(Frame{}, a)},
			{"the same again", ab, Merge(ab, b)},
			{"associative", Merge(ab, c), Merge(a, Merge(b, c))},
		} {
			if d := diff(p.want, p.got); d != "" {
				t.Fatalf("%s: %s", p.name, d)
			}
		}
		// Value by value: the newer where it has one, else the older, and no
		// stamp that neither had.
		for i, at := range ab.Times {
			for _, col := range ab.Columns {
				want := lookup(b, col.Quantity, at)
				if math.IsNaN(want) {
					want = lookup(a, col.Quantity, at)
				}
				if d := diff(want, col.Values[i]); d != "" {
					t.Fatalf("%s at %d: %s", col.Quantity, at, d)
				}
			}
		}
		union := slices.Concat(a.Times, b.Times)
		slices.Sort(union)
		if d := diff(slices.Compact(union), ab.Times); d != "" {
			t.Fatal(d)
		}
		// The result shares nothing with its arguments.
		for _, col := range ab.Columns {
			for i := range col.Values {
				col.Values[i] = 99
			}
		}
		clear(ab.Times)
		if d := diff(wasA, a) + diff(wasB, b); d != "" {
			t.Fatalf("arguments were written: %s", d)
		}
	})
}

func lookup(f Frame, q Quantity, at int64) float64 {
	i, ok := slices.BinarySearch(f.Times, at)
	if !ok {
		return nan
	}
	return f.At(q, i)
}

func BenchmarkMergeDayIntoYear(b *testing.B) {
	build := func(from, n int64) Frame {
		f := Frame{Times: make([]int64, n)}
		for i := range f.Times {
			f.Times[i] = (from + int64(i)) * 300
		}
		for _, q := range []Quantity{PowerKW, TemperatureC, DCVoltage(1), DCCurrent(1)} {
			f.Set(q, make([]float64, n))
		}
		return f
	}
	year, day := build(0, 105120), build(105000, 288)
	b.ReportAllocs()
	for b.Loop() {
		Merge(year, day)
	}
}

// Select takes the samples in the order of the places, also one twice, and shares nothing.
func TestSelect(t *testing.T) {
	f := Frame{Times: []int64{10, 20, 30}}
	f.Set(PowerKW, []float64{1, 2, 3})
	f.Set(EnergyKWh, []float64{4, 5, 6})
	got := f.Select([]int{2, 0, 0})
	if !slices.Equal(got.Times, []int64{30, 10, 10}) || !slices.Equal(got.Values(PowerKW), []float64{3, 1, 1}) || !slices.Equal(got.Values(EnergyKWh), []float64{6, 4, 4}) {
		t.Errorf("%+v", got)
	}
	got.Values(PowerKW)[0] = 9
	if f.At(PowerKW, 2) != 3 {
		t.Error("it shares memory with the frame")
	}
}
