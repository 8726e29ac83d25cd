package sitedata

import (
	"math"
	"testing"
	"time"

	"app.sunloop/engine/series"
)

// The others' mean is the same whether one is taken off the sum or never was
// in it.
func TestMeanWithoutOne(t *testing.T) {
	nan := math.NaN()
	start := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	of := func(late int, v ...float64) series.Series {
		return series.Series{Start: start.Add(time.Duration(late) * time.Hour), Step: time.Hour, Values: v}
	}
	one, sum := of(1, 6, nan, 9), newSum(5)
	sum.add(one, start, 30)
	sum.add(of(0, 1, 2, 3, 4), start, 10)
	sum.add(of(0, 4, 8, nan, nan, 5), start, 20)
	got := sum.MeanWithout(one, start, 30, 60, 0.5)
	for k, want := range []float64{5. / 30, 10. / 30, nan, nan, 5. / 20} {
		if !(math.Abs(got[k]-want) < 1e-12) && !(math.IsNaN(want) && math.IsNaN(got[k])) {
			t.Errorf("hour %d: %g, not %g", k, got[k], want)
		}
	}
}
