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
	slices.Sort(values)
	at := q * float64(len(values)-1)
	i := int(at)
	if i+1 >= len(values) {
		return values[i]
	}
	return values[i] + (at-float64(i))*(values[i+1]-values[i])
}

// medianWithout is the median of ascending values without the one at rank.
func medianWithout(values []float64, rank int) float64 {
	n := len(values) - 1
	at := func(i int) float64 {
		if rank >= 0 && i >= rank {
			i++
		}
		return values[i]
	}
	if rank < 0 {
		n++
	}
	switch {
	case n <= 0:
		return math.NaN()
	case n%2 == 1:
		return at(n / 2)
	default:
		return (at(n/2-1) + at(n/2)) / 2
	}
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

// quantile of what is remembered, or otherwise where there are fewer than
// enough values.
func (r *ring) quantile(q float64, enough int, otherwise float64) float64 {
	if len(r.values) < enough {
		return otherwise
	}
	var buf [64]float64
	return quantile(append(buf[:0], r.values...), q)
}
