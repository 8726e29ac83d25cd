package forecast

import (
	"math"
	"slices"
	"testing"
)

// steady is a past of days under one index, with others on its last days.
func steady(days int, index float32, last ...float32) *history {
	p := &history{power: make([]float32, days*hours), clear: make([]float32, days*hours)}
	for i := range p.power {
		if h := i % hours; h < 8 || h > 16 {
			continue
		}
		k := index
		if d := i/hours - days + len(last); d >= 0 {
			k = last[d]
		}
		p.clear[i], p.power[i] = 0.5, 0.5*k
	}
	p.sum()
	return p
}

// The days that followed are shifted by the remaining part of the last day's
// difference from theirs: four tenths after a day, a sixth after two.
func TestAnalogsFollowTheLastDay(t *testing.T) {
	const days, bin = 40, 1 / binsPerIndex
	quantiles := []float64{0.1, 0.5, 0.9}
	for _, c := range []struct {
		name string
		last float32
		lead int
		want float64
	}{
		{"as always", 0.6, 0, 0.6},
		{"clearer", 0.8, 0, 0.68},
		{"clearer, a day further", 0.8, 1, 0.632},
		{"duller", 0.4, 0, 0.52},
	} {
		p := steady(days, 0.6, c.last)
		out := make([]float32, 3)
		p.findAnalogs(p.end(), c.lead).quantiles(p, p.end()+int64(24*c.lead)+12, quantiles, out)
		if math.Abs(float64(out[1])-c.want) > bin {
			t.Errorf("%s: a median of %.3f, want %.3f", c.name, out[1], c.want)
		}
		if !slices.IsSorted(out) || out[0] < 0 {
			t.Errorf("%s: quantiles %v", c.name, out)
		}
	}
	// A last day of which nothing is known moves nothing.
	p := steady(days, 0.6, nan32())
	if a := p.findAnalogs(p.end(), 0); len(a.move) != len(a.weight) || slices.ContainsFunc(a.move, func(v float32) bool { return v != 0 }) {
		t.Errorf("an unknown day moves by %v", a.move)
	}
}
