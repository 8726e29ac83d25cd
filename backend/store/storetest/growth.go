package storetest

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// Growth reports by which power of the number of units a cost grows: the slope
// of the logarithm of the best time over that of the size. run takes the place
// of the size.
func Growth(b *testing.B, sizes []int, name string, run func(b *testing.B, size int) time.Duration) {
	b.Run(name, func(b *testing.B) {
		best := make([]float64, len(sizes))
		for b.Loop() {
			for i := range sizes {
				if took := run(b, i).Seconds(); best[i] == 0 || took < best[i] {
					best[i] = took
				}
			}
		}
		var x, y, xx, xy float64
		n := float64(len(sizes))
		for i, units := range sizes {
			u, t := math.Log(float64(units)), math.Log(best[i])
			x, y, xx, xy = x+u, y+t, xx+u*u, xy+u*t
			b.ReportMetric(best[i]*1e6, fmt.Sprintf("µs/%d", units))
		}
		b.ReportMetric((n*xy-x*y)/(n*xx-x*x), "exponent")
	})
}
