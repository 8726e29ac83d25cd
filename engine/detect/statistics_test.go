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

// A step in question is no noise: the days on both sides of it are not compared.
func TestNoiseOnEachSideOfAStep(t *testing.T) {
	var days, x []float64
	for i := range 18 {
		days = append(days, float64(2*i))
		x = append(x, 0.01*math.Sin(float64(3*i)))
		if i >= 12 {
			x[i] -= 0.25
		}
	}
	together, apart := learnNoise(days, x, usualNoise(byLight), nil, 0), learnNoise(days, x, usualNoise(byLight), nil, 12)
	if apart.wander > 0.03 || together.wander < 2*apart.wander {
		t.Errorf("drift %.3f together and %.3f apart", together.wander, apart.wander)
	}
}

// What haze does to a day of a unit with power alone is taken from its index, and a
// loss is not.
func TestHazeIsTakenFromTheIndex(t *testing.T) {
	b := newBaseline(bySky)
	for i := range 30 {
		haze := 0.1 * math.Sin(float64(5*i))
		level := 0.0
		if i >= 20 {
			level = -0.2
		}
		b.index = append(b.index, indexDay{day: int64(i), value: math.Exp(level + 0.8*haze), haze: [hazeSigns]float64{haze, -4}})
	}
	b.learnHaze()
	for i := range b.index {
		want := 0.0
		if i >= 20 {
			want = -0.2
		}
		if got := b.log(&b.index[i]) - b.log(&b.index[0]); math.Abs(got-want) > 0.03 {
			t.Errorf("day %d has %.3f, want %.3f", i, got, want)
		}
	}
}

// How many readings must equal that of a run to show a limit depends on how often a value
// recurs by chance.
func TestRecurrencesOfAValue(t *testing.T) {
	for _, c := range []struct {
		step        float64
		least, most int
	}{{1e-4, 2, 2}, {0.05, 3, 8}, {1, math.MaxInt, math.MaxInt}} {
		r := rand.New(rand.NewPCG(1, 2))
		p := holding{}
		for range 120 {
			p.power = append(p.power, math.Round((8+4*r.Float64())/c.step)*c.step)
		}
		if n := p.recurrences(10); n < c.least || n > c.most {
			t.Errorf("steps of %g: %d recurrences, want %d to %d", c.step, n, c.least, c.most)
		}
	}
}

// The step of readings and the usual highest power, which are kept up day by day, are
// those of all readings and days sorted again.
func TestReadingsByStepAreThoseOfSortedValues(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, different := range []int{3, 60, quantumMost - 1, quantumMost, 5000} {
		p, all := holding{}, []float64(nil)
		for range 60 {
			p.power = p.power[:0]
			for range 96 {
				p.power = append(p.power, 0.25*float64(r.IntN(different)+1))
			}
			if len(all) < quantumOf {
				all = append(all, p.power...)
			}
			p.learnQuantum(&view{cells: len(p.power)})
			p.peaks.remember(float64(r.IntN(6)), 60)
			some, want := slices.Compact(slices.Sorted(slices.Values(all))), 0.0
			if len(some) >= 5 && len(some) < quantumMost {
				steps := make([]float64, len(some)-1)
				for i := range steps {
					steps[i] = some[i+1] - some[i]
				}
				want = median(steps)
			}
			if p.days%5 == 0 && p.quantum != want {
				t.Fatalf("%d values, day %d: step %g, want %g", different, p.days, p.quantum, want)
			}
			if days := slices.Sorted(slices.Values(p.peaks.values)); len(days) >= 3 && p.top() != days[len(days)-3] {
				t.Fatalf("third highest of %v is %g", days, p.top())
			}
			p.days++
		}
	}
}
