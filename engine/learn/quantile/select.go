package quantile

import "math"

// Select is the q-quantile of values with linear interpolation between order
// statistics (type 7 of Hyndman and Fan). The order of values is lost; 0 for
// none.
func Select(values []float32, q float64) float32 {
	n := len(values)
	if n == 0 {
		return 0
	}
	p := q * float64(n-1)
	k := int(p)
	nth(values, k)
	v := values[k]
	if w := float32(p - float64(k)); w > 0 && k+1 < n {
		next := values[k+1]
		for _, x := range values[k+2:] {
			next = min(next, x)
		}
		v += float32(w * (next - v))
	}
	return v
}

// nth puts the value of rank k at k, smaller ones before, larger ones behind.
func nth(v []float32, k int) {
	lo, hi := 0, len(v)-1
	for lo < hi {
		m := lo + (hi-lo)/2
		if v[m] < v[lo] {
			v[m], v[lo] = v[lo], v[m]
		}
		if v[hi] < v[lo] {
			v[hi], v[lo] = v[lo], v[hi]
		}
		if v[hi] < v[m] {
			v[hi], v[m] = v[m], v[hi]
		}
		pivot := v[m]
		i, j := lo, hi
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for v[j] > pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return
		}
	}
}

// Weighted is a value that counts as many times as its weight.
type Weighted struct {
	Value  float32
	Weight int32
}

// SelectWeighted is the smallest value whose cumulative weight reaches q of
// the total. The order of p is lost; 0 for none.
func SelectWeighted(p []Weighted, q float64) float32 {
	if len(p) == 0 {
		return 0
	}
	var total int64
	for _, x := range p {
		total += int64(x.Weight)
	}
	target := max(int64(math.Ceil(q*float64(total))), 1)
	p, target = bucket(p, target)
	for len(p) > 16 {
		i, j := part(p)
		var under int64
		for _, x := range p[:j] {
			under += int64(x.Weight)
		}
		if target <= under {
			p = p[:j]
			continue
		}
		target -= under
		if i > j {
			// One value between the sides, the pivot's.
			if target <= int64(p[j].Weight) {
				return p[j].Value
			}
			target -= int64(p[j].Weight)
		}
		p = p[i:]
	}
	for i := 1; i < len(p); i++ {
		x := p[i]
		j := i
		for ; j > 0 && p[j-1].Value > x.Value; j-- {
			p[j] = p[j-1]
		}
		p[j] = x
	}
	for _, x := range p {
		if target -= int64(x.Weight); target <= 0 {
			return x.Value
		}
	}
	return p[len(p)-1].Value
}

// part orders p so that no value of p[:j] is above the pivot and none of p[i:]
// under it; i is j, or j+1 with the pivot between.
func part(p []Weighted) (i, j int) {
	x, y, z := p[0].Value, p[len(p)/2].Value, p[len(p)-1].Value
	pivot := max(min(x, y), min(max(x, y), z))
	i, j = 0, len(p)-1
	for i <= j {
		for p[i].Value < pivot {
			i++
		}
		for p[j].Value > pivot {
			j--
		}
		if i <= j {
			p[i], p[j] = p[j], p[i]
			i++
			j--
		}
	}
	return i, j + 1
}

// bucket narrows p to those values among which the one at target lies, and
// target to its place among them, by even parts of their range: no comparison
// that a processor would have to guess. A few are left, or those of a range
// that parts no further.
func bucket(p []Weighted, target int64) ([]Weighted, int64) {
	const parts = 64
	for len(p) > parts {
		low, high := p[0].Value, p[0].Value
		for _, x := range p {
			if x.Value < low {
				low = x.Value
			}
			if x.Value > high {
				high = x.Value
			}
		}
		scale := (parts - 0.5) / (high - low)
		if scale-scale != 0 {
			return p, target
		}
		var weights [parts]int64
		for _, x := range p {
			weights[uint32(int32((x.Value-low)*scale))%parts] += int64(x.Weight)
		}
		at := uint32(0)
		for ; at < parts-1 && target > weights[at]; at++ {
			target -= weights[at]
		}
		n := 0
		for _, x := range p {
			p[n] = x
			if uint32(int32((x.Value-low)*scale))%parts == at {
				n++
			}
		}
		if n == len(p) {
			break
		}
		p = p[:n]
	}
	return p, target
}
