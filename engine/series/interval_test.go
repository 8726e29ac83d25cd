package series

import (
	"slices"
	"testing"
)

// TestIntervals: what samples cover, by hand.
func TestIntervals(t *testing.T) {
	for name, c := range map[string]struct {
		span Span
		want []int64
	}{
		"none":                      {Span{}, nil},
		"one":                       {Span{Times: []int64{0}, Usual: 900}, []int64{900}},
		"one of an unknown unit":    {Span{Times: []int64{0}}, []int64{0}},
		"even":                      {Span{Times: []int64{0, 300, 600, 900}}, []int64{300, 300, 300, 300}},
		"jitter":                    {Span{Times: []int64{0, 301, 599, 902, 1200}}, []int64{301, 298, 303, 298, 298}},
		"a gap":                     {Span{Times: []int64{0, 300, 600, 7800, 8100, 8400}}, []int64{300, 300, 300, 300, 300, 300}},
		"15 then 5 minutes":         {Span{Times: []int64{0, 900, 1800, 2100, 2400, 2700}}, []int64{900, 900, 300, 300, 300, 300}},
		"5 then 15 minutes":         {Span{Times: []int64{0, 300, 600, 900, 1800, 2700, 3600}}, []int64{300, 300, 300, 900, 900, 900, 900}},
		"two coarse steps are gaps": {Span{Times: []int64{0, 300, 600, 900, 1800, 2700, 3000, 3300, 3600}}, []int64{300, 300, 300, 300, 300, 300, 300, 300, 300}},
		"stated":                    {Span{Times: []int64{0, 300, 600, 4200, 4500}, Stated: []float64{nan, nan, 3600, nan, nan}}, []int64{300, 300, 3600, 300, 300}},
		"stated beyond the next":    {Span{Times: []int64{0, 300, 600}, Stated: []float64{3600, nan, nan}}, []int64{300, 300, 300}},
		"until the end":             {Span{Times: []int64{0, 3600, 7200}, End: 9000}, []int64{3600, 3600, 1800}},
		"change of value":           {Span{Times: []int64{0, 60, 1000, 1100, 5000, 5600, 9999}}, []int64{60, 940, 100, 3900, 600, 4399, 4399}},
		"fragments of a known unit": {Span{Times: []int64{0, 300, 9000}, Usual: 300}, []int64{300, 300, 300}},
	} {
		if got := Intervals(nil, c.span); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
