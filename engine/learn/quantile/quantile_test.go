package quantile

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestPinballOfKnownValues(t *testing.T) {
	actual, forecast := []float32{10, 10}, []float32{8, 13}
	if got, want := Pinball(0.9, actual, forecast), (0.9*2+0.1*3)/2; math.Abs(got-want) > 1e-12 {
		t.Errorf("pinball %g, want %g", got, want)
	}
}

func TestSelectAgainstSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float32Range(-5, 5), 1, 300).Draw(t, "values")
		if rapid.Bool().Draw(t, "ties") {
			for i := range values {
				values[i] = float32(math.Round(float64(values[i])))
			}
		}
		if rapid.Bool().Draw(t, "outlier") {
			values[len(values)/2] = rapid.SampledFrom([]float32{1e30, -1e30, math.MaxFloat32}).Draw(t, "far")
		}
		q := rapid.Float64Range(0.01, 0.99).Draw(t, "q")
		sorted := slices.Sorted(slices.Values(values))
		p := q * float64(len(values)-1)
		k := int(p)
		want := sorted[k]
		if k+1 < len(sorted) {
			want += float32(p-float64(k)) * (sorted[k+1] - sorted[k])
		}
		if got := Select(slices.Clone(values), q); math.Abs(float64(got-want)) > 1e-5 {
			t.Fatalf("select %g, want %g", got, want)
		}
		// A weighted value is that many equal ones.
		var many []float32
		weighted := make([]Weighted, len(values))
		for i, v := range values {
			w := rapid.IntRange(1, 5).Draw(t, "weight")
			weighted[i] = Weighted{v, int32(w)}
			for range w {
				many = append(many, v)
			}
		}
		slices.Sort(many)
		at := max(int(math.Ceil(q*float64(len(many)))), 1) - 1
		if got := SelectWeighted(weighted, q); got != many[at] {
			t.Fatalf("weighted select %g, want %g", got, many[at])
		}
	})
}

// A forecaster whose band is far too narrow, then one that is far too wide,
// both end near 80 % coverage.
func TestCalibratorReachesCoverage(t *testing.T) {
	for _, c := range []struct {
		name  string
		scale float32
	}{{"narrow", 0.3}, {"wide", 3}} {
		rng := rand.New(rand.NewPCG(1, 2))
		forecast := []float32{-1.2816 * c.scale, 0, 1.2816 * c.scale}
		cal := NewCalibrator([]float64{0.1, 0.5, 0.9}, 0.01, 12)
		var rows, actual []float32
		for range 400 {
			rows, actual = append(rows, forecast...), append(actual, float32(rng.NormFloat64()))
		}
		cal.Start(rows, actual)
		in := 0
		const begin, n = poolStart, 1500 // what the start says counts in part at first
		for i := range begin + n {
			q, shifts := slices.Clone(forecast), cal.Shifts()
			shifts.Adjust(q)
			if q[1] != 0 || !slices.IsSorted(q) {
				t.Fatalf("%s: adjusted %v", c.name, q)
			}
			y := float32(rng.NormFloat64())
			if i >= begin && y >= q[0] && y <= q[2] {
				in++
			}
			cal.Observe(shifts, forecast, y)
		}
		if got := float64(in) / n; got < 0.78 || got > 0.82 {
			t.Errorf("%s: coverage %.3f", c.name, got)
		}
		if err := cal.Check(); err != nil {
			t.Error(err)
		}
	}
}

func TestCalibratorLeavesAloneWithoutScores(t *testing.T) {
	q := []float32{1, 2, 3}
	shifts := NewCalibrator([]float64{0.1, 0.5, 0.9}, 0.01, 24).Shifts()
	shifts.Adjust(q)
	if !slices.Equal(q, []float32{1, 2, 3}) {
		t.Fatalf("adjusted to %v", q)
	}
}
