package maintenance

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"app.sunloop/backend/api"
	"app.sunloop/engine/solar"
)

// checkWork holds the work of some hours from a time against the site's shifts
// and the sun.
func checkWork(crew Hours, site api.Site, start time.Time, hours float64) error {
	begin, end := crew.working(site, start, hours, false)
	if begin.Before(start) || !end.After(begin) {
		return fmt.Errorf("from %s: %s to %s", start, begin, end)
	}
	worked, shifts := time.Duration(0), 0
	for d := start; d.Before(end.Add(48 * time.Hour)); d = nextDay(site, d) {
		from, to, ok := crew.shift(site, d)
		if !ok {
			continue
		}
		if !from.Before(end) && shifts == 0 {
			return fmt.Errorf("from %s: over at %s, before the first shift from %s", start, end, from)
		}
		if shifts++; from.Before(begin) {
			from = begin
		}
		if to.After(end) {
			to = end
		}
		worked += max(to.Sub(from), 0)
	}
	if want := time.Duration(hours * float64(time.Hour)); (worked - want).Abs() > time.Second {
		return fmt.Errorf("%g hours from %s to %s hold %s of shifts", hours, begin, end, worked)
	}
	// The horizon of sunrise and sunset is at 90.83°.
	loc := solar.Location{LatitudeDeg: *site.Latitude, LongitudeDeg: *site.Longitude}
	for _, at := range []time.Time{begin, end} {
		if z := solar.At(at, loc).ZenithDeg; z > 90.9 {
			return fmt.Errorf("work from %s to %s is in the dark at %s: the sun's zenith is %.1f°", begin, end, at, z)
		}
	}
	return nil
}

// zonesOfAll have clocks from -11 to +14 hours, with and without summer time,
// on both sides of the date line.
var zonesOfAll = []string{"", "Europe/Vienna", "Africa/Johannesburg", "America/New_York", "Asia/Kolkata", "Asia/Shanghai",
	"Pacific/Kiritimati", "Pacific/Pago_Pago", "Pacific/Auckland", "America/St_Johns", "Antarctica/Troll", "Asia/Kathmandu"}

// Work takes exactly its hours within the shifts that it touches and begins and
// ends in the light, wherever the site is, whatever its zone and the crew's
// hours, and whenever it begins.
func TestWorkingFillsShifts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lat, lon := rapid.Float64Range(-90, 90).Draw(rt, "lat"), rapid.Float64Range(-180, 180).Draw(rt, "lon")
		site := api.Site{Timezone: rapid.SampledFrom(zonesOfAll).Draw(rt, "zone"), Latitude: &lat, Longitude: &lon}
		start := time.Unix(rapid.Int64Range(1.7e9, 1.8e9).Draw(rt, "start"), 0)
		crew := rapid.SampledFrom([]Hours{DefaultHours(), {0, 24 * time.Hour}, {5 * time.Hour, 13 * time.Hour}, {11 * time.Hour, 22 * time.Hour}}).Draw(rt, "crew")
		if err := checkWork(crew, site, start, float64(rapid.IntRange(1, 100).Draw(rt, "hours"))); err != nil {
			rt.Fatal(err)
		}
	})
}

// Places whose clock and sun disagree.
func TestShiftsWithAWrongTimeZone(t *testing.T) {
	for _, c := range []struct {
		zone     string
		lat, lon float64
		start    int64
		hours    float64
		sun      bool // the crew goes by it
	}{
		{"Asia/Kolkata", 1, -98.875, 1_700_000_000, 4, true},
		{"UTC", -29.6, 150, 1_770_000_000, 30, true}, // a new site, whose naive times are read as UTC
		{"UTC", 35, -119, 1_780_000_000, 11, true},
		{"Asia/Shanghai", 39.5, 76, 1_770_000_000, 20, false},         // Kashgar: 3 hours, and true
		{"Pacific/Kiritimati", 1.9, -157.4, 1_770_000_000, 20, false}, // a day apart
		{"Europe/Vienna", 89.9, 16, 1_789_900_000, 100, false},        // the night of half a year cuts in
	} {
		site := api.Site{Timezone: c.zone, Latitude: &c.lat, Longitude: &c.lon}
		start := time.Unix(c.start, 0)
		if err := checkWork(DefaultHours(), site, start, c.hours); err != nil {
			t.Errorf("%s at %g, %g: %v", c.zone, c.lat, c.lon, err)
		}
		if sun := clock(site, start).String() == "solar"; sun != c.sun {
			t.Errorf("%s at %g, %g: the crew goes by the sun: %v", c.zone, c.lat, c.lon, sun)
		}
	}
	lat, lon := 0.0, -90.0
	from, to, ok := DefaultHours().shift(api.Site{Timezone: "Asia/Kolkata", Latitude: &lat, Longitude: &lon}, time.Date(2026, 3, 20, 18, 0, 0, 0, time.UTC))
	if !ok || from.UTC().Format(time.RFC3339) != "2026-03-20T13:00:00Z" || !to.Before(time.Date(2026, 3, 21, 0, 15, 0, 0, time.UTC)) || to.Sub(from) < 11*time.Hour {
		t.Errorf("at 90° west the crew works from %s to %s, want from 7 in mean solar time", from.UTC(), to.UTC())
	}
}

func TestShiftsOfPolarPlaces(t *testing.T) {
	lat, lon := 78.2, 15.6
	svalbard := api.Site{Timezone: "Arctic/Longyearbyen", Latitude: &lat, Longitude: &lon}
	if _, _, ok := DefaultHours().shift(svalbard, time.Date(2026, 12, 20, 12, 0, 0, 0, time.UTC)); ok {
		t.Error("there is a shift in the polar night")
	}
	from, to, ok := DefaultHours().shift(svalbard, time.Date(2026, 6, 20, 12, 0, 0, 0, time.UTC))
	if !ok || to.Sub(from) != 11*time.Hour {
		t.Errorf("the shift of a polar day is %s to %s", from, to)
	}
	begin, _ := DefaultHours().working(svalbard, time.Date(2026, 12, 20, 12, 0, 0, 0, time.UTC), 2, false)
	if begin.Month() != time.February {
		t.Errorf("work of the polar night begins %s, want when the sun comes back", begin)
	}
}
