package telemetry

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"app.sunloop/engine/energy"
)

// TestMonthSums: what replaces a stretch of days is there, and the other days
// are as they were.
func TestMonthSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var month monthSums
		want := map[int64]daySum{}
		for range rapid.IntRange(0, 8).Draw(t, "writes") {
			from := rapid.Int64Range(0, 30).Draw(t, "from")
			to := rapid.Int64Range(from, 31).Draw(t, "to")
			var fresh []daySum
			for day := range int64(31) {
				if day < from || day >= to {
					continue
				}
				delete(want, day)
				if rapid.Bool().Draw(t, "there") {
					d := daySum{day, energy.Sum{ProductionKWh: rapid.Float64().Draw(t, "energy"), ConsumptionKWh: 1, PeakKW: 2, Samples: 3, CoveredS: 86400}}
					if rapid.Bool().Draw(t, "counter") {
						d.CounterKWh, d.DifferenceKWh = 4, -1
						d.Edge = energy.Edge{FirstAt: 1e9, LastAt: 2e9, First: 5, Last: 6, HeadKWh: 7, TailIntervalKWh: 8}
					}
					want[day] = d
					fresh = append(fresh, d)
				}
			}
			month = month.replace(from, to, fresh)
			if err := month.check(); err != nil {
				t.Fatal(err)
			}
		}
		from := rapid.Int64Range(-1, 31).Draw(t, "read from")
		to := rapid.Int64Range(from, 32).Draw(t, "read to")
		var days []int64
		for _, d := range month.between(nil, from, to) {
			if v, ok := want[d.day]; !ok || v != d {
				t.Fatalf("day %d is %v, want %v, %v", d.day, d, v, ok)
			}
			days = append(days, d.day)
		}
		n := 0
		for day := range want {
			if day >= from && day < to {
				n++
			}
		}
		if len(days) != n || !slices.IsSorted(days) {
			t.Fatalf("days %v of %v", days, want)
		}
	})
}
