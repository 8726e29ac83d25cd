package work

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"app.sunloop/backend/api"
)

// Work takes exactly its hours within the shifts that it touches, wherever the
// site is and whenever it begins.
func TestWorkingFillsShifts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lat, lon := rapid.Float64Range(-60, 60).Draw(rt, "lat"), rapid.Float64Range(-180, 180).Draw(rt, "lon")
		site := api.Site{Timezone: rapid.SampledFrom([]string{"Europe/Vienna", "Africa/Johannesburg", "America/New_York", "Asia/Kolkata"}).Draw(rt, "zone"), Latitude: &lat, Longitude: &lon}
		start := time.Unix(rapid.Int64Range(1.7e9, 1.8e9).Draw(rt, "start"), 0)
		hours := float64(rapid.IntRange(1, 100).Draw(rt, "hours"))
		begin, end := working(site, start, hours, false)
		if begin.Before(start) || !end.After(begin) {
			rt.Fatalf("from %s: %s to %s", start, begin, end)
		}
		worked, any := time.Duration(0), false
		for d := start.Add(-24 * time.Hour); d.Before(end.Add(48 * time.Hour)); d = nextDay(site, d) {
			from, to, ok := shift(site, d)
			if !ok {
				continue
			}
			any = true
			if from.Before(begin) {
				from = begin
			}
			if to.After(end) {
				to = end
			}
			worked += max(to.Sub(from), 0)
		}
		if want := time.Duration(hours * float64(time.Hour)); any && (worked-want).Abs() > time.Second {
			rt.Fatalf("%g hours from %s to %s hold %s of shifts", hours, begin, end, worked)
		}
	})
}

func TestShiftsOfPolarPlaces(t *testing.T) {
	lat, lon := 78.2, 15.6
	svalbard := api.Site{Timezone: "Arctic/Longyearbyen", Latitude: &lat, Longitude: &lon}
	if _, _, ok := shift(svalbard, time.Date(2026, 12, 20, 12, 0, 0, 0, time.UTC)); ok {
		t.Error("there is a shift in the polar night")
	}
	from, to, ok := shift(svalbard, time.Date(2026, 6, 20, 12, 0, 0, 0, time.UTC))
	if !ok || to.Sub(from) != (crewTo-crewFrom)*time.Hour {
		t.Errorf("the shift of a polar day is %s to %s", from, to)
	}
	begin, _ := working(svalbard, time.Date(2026, 12, 20, 12, 0, 0, 0, time.UTC), 2, false)
	if begin.Month() != time.February {
		t.Errorf("work of the polar night begins %s, want when the sun comes back", begin)
	}
}
