package frame

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func column(values ...float32) *Frame {
	return &Frame{Names: []string{"x"}, Rows: values, Target: make([]float32, len(values))}
}

func TestBinsKeepOrderAndMissing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float32Range(-1e6, 1e6), 1, 400).Draw(t, "values")
		bins := rapid.IntRange(2, MaxBins).Draw(t, "bins")
		b, err := FitBinner(column(values...), bins)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(b.Edges[0]) + 1; got > bins {
			t.Fatalf("%d bins of at most %d", got, bins)
		}
		x, y := rapid.SampledFrom(values).Draw(t, "x"), rapid.SampledFrom(values).Draw(t, "y")
		if x < y && b.Bin(0, x) > b.Bin(0, y) {
			t.Fatalf("%g in bin %d, %g in bin %d", x, b.Bin(0, x), y, b.Bin(0, y))
		}
		if b.Bin(0, x) == Missing || b.Bin(0, float32(math.NaN())) != Missing {
			t.Fatal("only a missing value belongs in bin 0")
		}
		// A threshold on edges sends a value the same way as its bin does.
		for k, e := range b.Edges[0] {
			if (x < e) != (int(b.Bin(0, x)) <= k+1) {
				t.Fatalf("value %g, edge %d = %g, bin %d", x, k, e, b.Bin(0, x))
			}
		}
	})
}

func TestFewDistinctValuesGetABinEach(t *testing.T) {
	b, err := FitBinner(column(3, 1, 2, 2, 1, 3, 3), 255)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range []float32{1, 2, 3} {
		if got := b.Bin(0, v); got != uint8(k+1) {
			t.Errorf("value %g is in bin %d", v, got)
		}
	}
}

func TestPickThinAppend(t *testing.T) {
	f := &Frame{Names: []string{"a", "b"}, Rows: []float32{0, 1, 2, 3, 4, 5, 6, 7}, Target: []float32{0, 1, 2, 3}, Group: []int32{0, 0, 1, 1}}
	if got := f.Thin(2); got.Len() != 2 || got.Row(1)[0] != 4 || got.Group[1] != 1 || got.Check() != nil {
		t.Fatalf("thin: %+v", got)
	}
	if f.Thin(4) != f || f.Thin(0) != f {
		t.Fatal("thin copied a frame that is small enough")
	}
	g := f.Pick([]int32{3})
	g.Append(f)
	if g.Len() != 5 || g.Row(0)[1] != 7 || g.Row(4)[1] != 7 || g.Check() != nil {
		t.Fatalf("append: %+v", g)
	}
}

func TestCheckRefuses(t *testing.T) {
	for name, f := range map[string]*Frame{
		"short rows":     {Names: []string{"a"}, Rows: []float32{1}, Target: []float32{1, 2}},
		"missing target": column(1, 2),
		"short weights":  {Names: []string{"a"}, Rows: []float32{1, 2}, Target: []float32{1, 2}, Weight: []uint8{1}},
	} {
		if name == "missing target" {
			f.Target[1] = float32(math.NaN())
		}
		if f.Check() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := FitBinner(column(1), 256); err == nil {
		t.Error("256 bins: no error")
	}
}
