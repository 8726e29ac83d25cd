package telemetry

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestMonthSums: what replaces a stretch of days is there, and the other days
// are as they were.
func TestMonthSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var month monthSums
		want := map[int64]float64{}
		for range rapid.IntRange(0, 8).Draw(t, "writes") {
			from := rapid.Int64Range(0, 30).Draw(t, "from")
			to := rapid.Int64Range(from, 31).Draw(t, "to")
			var fresh []byte
			for day := range int64(31) {
				if day < from || day >= to {
					continue
				}
				delete(want, day)
				if rapid.Bool().Draw(t, "there") {
					want[day] = rapid.Float64().Draw(t, "energy")
					fresh = daySum{day: day, energyKWh: want[day]}.append(fresh)
				}
			}
			month = month.replace(from, to, fresh)
		}
		from := rapid.Int64Range(-1, 31).Draw(t, "read from")
		to := rapid.Int64Range(from, 32).Draw(t, "read to")
		var days []int64
		for part := month.between(from, to); len(part) > 0; part = part[daySumSize:] {
			d := readDaySum(part)
			if v, ok := want[d.day]; !ok || v != d.energyKWh {
				t.Fatalf("day %d is %v, want %v, %v", d.day, d.energyKWh, v, ok)
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
