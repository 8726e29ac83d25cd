package detect

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Medians and quantiles chosen without sorting are those of the sorted values,
// with ties and without.
func TestChosenQuantilesAreThoseOfSortedValues(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 60 {
		for _, kinds := range []int{3, 1000} {
			values := make([]float64, n)
			for i := range values {
				values[i] = float64(r.IntN(kinds))
			}
			sorted := slices.Sorted(slices.Values(values))
			for _, q := range []float64{0, 0.1, 0.5, 0.93, 1} {
				want := math.NaN()
				if n > 0 {
					at := q * float64(n-1)
					low, high := sorted[int(math.Floor(at))], sorted[int(math.Ceil(at))]
					want = low + (at-math.Floor(at))*(high-low)
				}
				if got := quantile(slices.Clone(values), q); math.Abs(got-want) > 1e-9 || math.IsNaN(got) != math.IsNaN(want) {
					t.Errorf("quantile %g of %v is %g, want %g", q, sorted, got, want)
				}
			}
			c := centreOf(slices.Clone(values))
			if got, want := c.median(), median(slices.Clone(values)); got != want && n > 0 {
				t.Errorf("middle of %v is %g, want %g", sorted, got, want)
			}
			for i, x := range values {
				rest := slices.Concat(values[:i], values[i+1:])
				if got, want := c.without(x), median(rest); got != want && n > 1 {
					t.Errorf("middle of %v without %g is %g, want %g", sorted, x, got, want)
				}
			}
		}
	}
}
