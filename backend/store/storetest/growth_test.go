package storetest

import (
	"math"
	"testing"
)

func TestExponent(t *testing.T) {
	sizes := []int{10, 100, 1000}
	for name, c := range map[string]struct {
		costs []float64
		want  float64
	}{
		"constant":   {[]float64{7, 7, 7}, 0},
		"linear":     {[]float64{5, 50, 500}, 1},
		"quadratic":  {[]float64{1, 100, 10_000}, 2},
		"root":       {[]float64{math.Sqrt(10), 10, math.Sqrt(1000)}, 0.5},
		"one is off": {[]float64{1, 20, 100}, 1}, // the middle does not tilt the line
	} {
		if got := Exponent(sizes, c.costs); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestGrowthMeasures finds the growth of something whose growth is known.
func TestGrowthMeasures(t *testing.T) {
	var runs [3]int
	r := testing.Benchmark(func(b *testing.B) {
		Growth{Sizes: []int{10, 20, 40}, Rounds: 3}.Measure(b, "counted", func(_ *testing.B, i int) func() {
			return func() { runs[i]++ }
		})
	})
	_ = r // a benchmark with parts has no separate result
	for i, n := range runs {
		if n < 3 {
			t.Errorf("size %d was measured %d times", i, n)
		}
	}
}
