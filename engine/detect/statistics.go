package detect

import (
	"math"
	"slices"
)

// median of values, which it reorders; NaN of none.
func median(values []float64) float64 { return quantile(values, 0.5) }

// quantile of values by linear interpolation; it reorders them. NaN of none.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	at := q * float64(len(values)-1)
	i := int(at)
	bring(values, i)
	if i+1 >= len(values) || at == float64(i) {
		return values[i]
	}
	return values[i] + (at-float64(i))*(slices.Min(values[i+1:])-values[i])
}

// few is up to how many values sorting is quicker than choosing.
const few = 12

// bring puts the value that sorting would put at i there, nothing greater
// before it and nothing less after it (Hoare's selection). None may be NaN.
func bring(values []float64, i int) {
	low, high := 0, len(values)-1
	for high-low >= few {
		pivot := median3(values[low], values[low+(high-low)/2], values[high])
		a, b := low, high
		for a <= b {
			for values[a] < pivot {
				a++
			}
			for values[b] > pivot {
				b--
			}
			if a <= b {
				values[a], values[b] = values[b], values[a]
				a, b = a+1, b-1
			}
		}
		switch {
		case i <= b:
			high = b
		case i >= a:
			low = a
		default:
			return
		}
	}
	slices.Sort(values[low : high+1])
}

func median3(a, b, c float64) float64 { return max(min(a, b), min(max(a, b), c)) }

// centre returns the central values of which the median of some values, and of
// all but one of them, is formed.
type centre struct {
	n                 int
	below, at, beyond float64 // the values at (n-1)/2-1, (n-1)/2 and (n-1)/2+1 in order
}

// centreOf reorders the values.
func centreOf(values []float64) centre {
	m := centre{n: len(values), below: math.NaN(), at: math.NaN(), beyond: math.NaN()}
	if m.n == 0 {
		return m
	}
	i := (m.n - 1) / 2
	bring(values, i)
	m.at = values[i]
	if i > 0 {
		m.below = slices.Max(values[:i])
	}
	if i+1 < m.n {
		m.beyond = slices.Min(values[i+1:])
	}
	return m
}

// median of all values.
func (m centre) median() float64 {
	if m.n%2 == 1 {
		return m.at
	}
	return (m.at + m.beyond) / 2 // NaN of none
}

// others is how many of the values are not x, which is one of them or NaN.
func (m centre) others(x float64) int {
	if math.IsNaN(x) {
		return m.n
	}
	return m.n - 1
}

// without is the median of the values but x, which is one of them or NaN.
func (m centre) without(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return m.median()
	case m.n <= 1:
		return math.NaN()
	case m.n%2 == 0 && x <= m.at:
		return m.beyond
	case m.n%2 == 0:
		return m.at
	case x < m.at:
		return (m.at + m.beyond) / 2
	case x > m.at:
		return (m.below + m.at) / 2
	}
	return (m.below + m.beyond) / 2
}

// ring holds the last values of a daily figure.
type ring struct {
	values []float64
	next   int
}

// remember adds a value, in place of the oldest beyond size; NaN is ignored.
func (r *ring) remember(v float64, size int) {
	switch {
	case math.IsNaN(v):
	case len(r.values) < size:
		r.values = append(r.values, v)
	default:
		r.values[r.next] = v
		r.next = (r.next + 1) % size
	}
}

// quantile returns a quantile of the stored values, or otherwise if there are
// fewer than enough.
func (r *ring) quantile(q float64, enough int, otherwise float64) float64 {
	if len(r.values) < enough {
		return otherwise
	}
	var buf [64]float64
	return quantile(append(buf[:0], r.values...), q)
}
