package solar

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Published rise, transit and set: NREL's SPA calculator and the report's
// examples; two forms of the algorithm differ by one second.
func TestDayPublished(t *testing.T) {
	mst, est := time.FixedZone("MST", -7*3600), time.FixedZone("EST", -5*3600)
	golden := Location{39.742476, -105.1786, 1830}
	for _, c := range []struct {
		loc                Location
		zone               *time.Location
		date               string
		rise, transit, set string
	}{
		{golden, mst, "2015-01-02", "07:21:55", "12:04:45", "16:47:43"},
		{golden, mst, "2015-08-02", "05:00:27", "12:06:58", ""},
		// The next sunsets are published under the date that UTC had by then: the evening before in Golden.
		{golden, mst, "2015-08-01", "", "", "19:13:58"},
		{examplePlace, mst, "2003-10-17", "06:12:43", "", ""},
		{examplePlace, mst, "2003-10-16", "", "", "17:20:19"},
		{Location{LatitudeDeg: -35}, time.UTC, "1996-07-05", "07:08:15", "12:04:36", "17:01:04"},
		{Location{LatitudeDeg: -35}, time.UTC, "2004-12-04", "04:38:57", "11:50:22", "19:02:03"},
		{Location{LatitudeDeg: 35}, time.UTC, "1994-01-02", "07:08:12", "", "16:59:55"},
		{Location{LatitudeDeg: 40, LongitudeDeg: -80}, est, "2000-01-01", "07:41:51", "12:23:23", "17:05:04"},
	} {
		at := func(clock string) time.Time {
			tm, err := time.ParseInLocation("2006-01-02 15:04:05", c.date+" "+clock, c.zone)
			if err != nil {
				t.Fatal(err)
			}
			return tm
		}
		rise, transit, set, ok := Day(at("00:00:00"), c.loc)
		if !ok {
			t.Fatalf("%s: no sunrise", c.date)
		}
		for _, e := range []struct {
			name, want string
			got        time.Time
		}{{"rise", c.rise, rise}, {"transit", c.transit, transit}, {"set", c.set, set}} {
			if e.want == "" {
				continue
			}
			if d := e.got.Sub(at(e.want)); d.Abs() > 1500*time.Millisecond {
				t.Errorf("%s %s = %s, want %s", c.date, e.name, e.got.Format("15:04:05.0"), e.want)
			}
			if e.got.Location() != c.zone {
				t.Errorf("%s %s is not in the zone asked for", c.date, e.name)
			}
		}
	}
}

// The US Naval Observatory's almanac gives minutes; refraction of a real
// atmosphere is not computed to better.
func TestDayAgainstAlmanac(t *testing.T) {
	mst := time.FixedZone("MST", -7*3600)
	for _, c := range []struct{ date, rise, set string }{
		{"2015-01-02", "07:19", "16:49"}, {"2015-04-02", "05:43", "18:24"},
		{"2015-08-02", "05:01", "19:10"}, {"2015-12-02", "07:01", "16:38"},
	} {
		want := func(clock string) time.Time {
			tm, err := time.ParseInLocation("2006-01-02 15:04", c.date+" "+clock, mst)
			if err != nil {
				t.Fatal(err)
			}
			return tm
		}
		rise, _, set, ok := Day(want("20:00"), Location{39, -105, 0})
		if !ok || rise.Sub(want(c.rise)).Abs() > time.Minute || set.Sub(want(c.set)).Abs() > time.Minute {
			t.Errorf("%s: %v %v %v, want %s %s", c.date, rise, set, ok, c.rise, c.set)
		}
	}
}

func TestDayPolar(t *testing.T) {
	tromso, zone := Location{69.65, 18.96, 0}, time.FixedZone("CET", 3600)
	for _, c := range []struct {
		date string
		ok   bool
		up   bool
	}{{"2024-06-21", false, true}, {"2024-12-21", false, false}, {"2024-03-20", true, true}} {
		date, _ := time.ParseInLocation("2006-01-02", c.date, zone)
		rise, transit, set, ok := Day(date, tromso)
		if ok != c.ok {
			t.Errorf("%s: ok = %v", c.date, ok)
		}
		if !ok && (!rise.IsZero() || !set.IsZero()) {
			t.Errorf("%s: rise %v and set %v of a day without", c.date, rise, set)
		}
		if up := SPA(transit, tromso, Atmosphere{}).ApparentZenithDeg < 90; up != c.up {
			t.Errorf("%s: sun up at noon: %v", c.date, up)
		}
	}
	for _, pole := range []float64{90, -90} {
		if _, _, _, ok := Day(time.Date(2024, 6, 21, 0, 0, 0, 0, time.UTC), Location{LatitudeDeg: pole}); ok {
			t.Error("the sun rises at a pole in June")
		}
	}
}

func TestDayProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		loc := Location{
			LatitudeDeg:  rapid.Float64Range(-65, 65).Draw(t, "latitude"),
			LongitudeDeg: rapid.Float64Range(-180, 180).Draw(t, "longitude"),
		}
		zone := time.FixedZone("", int(math.Round(loc.LongitudeDeg/15))*3600)
		date := time.Unix(rapid.Int64Range(-631152000, 2556143999).Draw(t, "unix"), 0).In(zone)
		rise, transit, set, ok := Day(date, loc)
		if !ok {
			t.Fatalf("no sunrise at %+v", loc)
		}
		if !rise.Before(transit) || !transit.Before(set) {
			t.Fatalf("order: %v %v %v", rise, transit, set)
		}
		if y, m, d := transit.Date(); y != date.Year() || m != date.Month() || d != date.Day() {
			t.Fatalf("transit %v of day %v", transit, date)
		}
		noon := SPA(transit, loc, Atmosphere{})
		for _, side := range []time.Duration{-10 * time.Minute, 10 * time.Minute} {
			if SPA(transit.Add(side), loc, Atmosphere{}).ZenithDeg < noon.ZenithDeg-0.005 {
				t.Fatalf("sun is higher %v from transit", side)
			}
		}
		for _, e := range []time.Time{rise, set} {
			// Topocentric zenith is larger by the parallax of 0.0024°.
			near(t, "zenith at the horizon", SPA(e, loc, Atmosphere{}).ZenithDeg, 90-horizonDeg, 0.004)
		}
	})
}

func BenchmarkDay(b *testing.B) {
	for b.Loop() {
		Day(exampleTime, examplePlace)
	}
}
