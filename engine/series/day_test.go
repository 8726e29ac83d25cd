package series

import (
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func zone(t interface {
	Helper()
	Fatal(...any)
}, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestMidnight(t *testing.T) {
	for _, c := range []struct{ name, zone, at, from, next string }{
		{"plain", "Europe/Berlin", "2024-06-21T10:00:00Z", "2024-06-21T00:00:00+02:00", "2024-06-22T00:00:00+02:00"},
		{"midnight itself", "Europe/Berlin", "2024-06-20T22:00:00Z", "2024-06-21T00:00:00+02:00", "2024-06-22T00:00:00+02:00"},
		{"23 hours", "Europe/Berlin", "2024-03-31T10:00:00Z", "2024-03-31T00:00:00+01:00", "2024-04-01T00:00:00+02:00"},
		{"25 hours", "Europe/Berlin", "2024-10-27T00:30:00Z", "2024-10-27T00:00:00+02:00", "2024-10-28T00:00:00+01:00"},
		{"southern spring", "Australia/Sydney", "2024-10-06T03:00:00Z", "2024-10-06T00:00:00+10:00", "2024-10-07T00:00:00+11:00"},
		{"southern autumn", "Australia/Sydney", "2024-04-07T03:00:00Z", "2024-04-07T00:00:00+11:00", "2024-04-08T00:00:00+10:00"},
		{"no midnight", "America/Santiago", "2024-09-08T15:00:00Z", "2024-09-08T01:00:00-03:00", "2024-09-09T00:00:00-03:00"},
		{"before no midnight", "America/Santiago", "2024-09-08T03:59:59Z", "2024-09-07T00:00:00-04:00", "2024-09-08T01:00:00-03:00"},
		{"an hour before midnight twice", "America/Santiago", "2024-04-07T03:30:00Z", "2024-04-06T00:00:00-03:00", "2024-04-07T00:00:00-04:00"},
		{"midnight twice", "America/Havana", "2024-11-03T05:30:00Z", "2024-11-03T00:00:00-04:00", "2024-11-04T00:00:00-05:00"},
		{"midnight and its day before again", "America/St_Johns", "2010-11-07T02:50:00Z", "2010-11-07T00:00:00-02:30", "2010-11-08T00:00:00-03:30"},
		{"half-hour zone", "Asia/Kolkata", "2024-01-01T18:29:59Z", "2024-01-01T00:00:00+05:30", "2024-01-02T00:00:00+05:30"},
		{"half-hour summer time", "Australia/Lord_Howe", "2024-10-06T03:00:00Z", "2024-10-06T00:00:00+10:30", "2024-10-07T00:00:00+11:00"},
		{"before the day that was left out", "Pacific/Apia", "2011-12-30T05:00:00Z", "2011-12-29T00:00:00-10:00", "2011-12-31T00:00:00+14:00"},
		{"after the day that was left out", "Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-31T00:00:00+14:00", "2012-01-01T00:00:00+14:00"},
		{"an offset with seconds", "Africa/Monrovia", "1971-06-01T12:00:00Z", "1971-06-01T00:00:00-00:44", "1971-06-02T00:00:00-00:44"},
		{"far future", "Europe/Berlin", "2090-07-01T12:00:00Z", "2090-07-01T00:00:00+02:00", "2090-07-02T00:00:00+02:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			at, err := time.Parse(time.RFC3339, c.at)
			if err != nil {
				t.Fatal(err)
			}
			z := zone(t, c.zone)
			if got := Midnight(at, z).Format(time.RFC3339); got != c.from {
				t.Errorf("Midnight = %s, want %s", got, c.from)
			}
			if got := NextMidnight(at, z).Format(time.RFC3339); got != c.next {
				t.Errorf("NextMidnight = %s, want %s", got, c.next)
			}
		})
	}
}

// oddZones have skipped, doubled and missing midnights, half hours, a missing day.
var oddZones = []string{
	"UTC", "Europe/Berlin", "Australia/Sydney", "America/Santiago", "Asia/Kolkata", "Pacific/Apia", "America/Havana",
	"America/St_Johns", "Australia/Lord_Howe", "Asia/Beirut", "America/Sao_Paulo", "Pacific/Kwajalein", "Africa/Casablanca",
	"Asia/Kathmandu", "Pacific/Chatham", "Atlantic/Azores",
}

func TestDaysProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		site := zone(t, rapid.SampledFrom(oddZones).Draw(t, "zone"))
		at := time.Unix(rapid.Int64Range(0, 4102444800).Draw(t, "unix"), rapid.Int64Range(0, 999999999).Draw(t, "nanoseconds"))
		from, next := Midnight(at, site), NextMidnight(at, site)
		if from.After(at) || !next.After(at) {
			t.Fatalf("%v is not in %v..%v", at.In(site), from, next)
		}
		if from.Location() != site || next.Location() != site {
			t.Fatal("not in the site's zone")
		}
		if length := next.Sub(from); length < 22*time.Hour || length > 26*time.Hour {
			t.Fatalf("%v lasts %v", from, length)
		}
		for _, inside := range []time.Time{from, at, next.Add(-1)} {
			if got := Midnight(inside, site); !got.Equal(from) {
				t.Fatalf("%v begins at %v, its neighbour at %v", inside, from, got)
			}
			if got := NextMidnight(inside, site); !got.Equal(next) {
				t.Fatalf("%v ends at %v, its neighbour at %v", inside, next, got)
			}
		}
		// One instant earlier it is another date, unless the date comes twice.
		if before := from.Add(-1); before.Format(time.DateOnly) == from.Format(time.DateOnly) {
			t.Fatalf("%v is not the first instant of its date", from)
		}
	})
}

func TestDaysTileTheSpan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		site := zone(t, rapid.SampledFrom(oddZones).Draw(t, "zone"))
		from := time.Unix(rapid.Int64Range(0, 4102444800).Draw(t, "unix"), 0)
		to := from.Add(time.Duration(rapid.Int64Range(-86400, 40*86400).Draw(t, "span")) * time.Second)
		var end time.Time
		n := 0
		for a, b := range Days(from, to, site) {
			if n == 0 && a.After(from) || n > 0 && !a.Equal(end) {
				t.Fatalf("day %d begins at %v after %v", n, a, end)
			}
			if !a.Before(to) {
				t.Fatalf("day from %v does not overlap %v..%v", a, from, to)
			}
			end = b
			n++
		}
		if from.Before(to) && end.Before(to) || !from.Before(to) && n > 0 {
			t.Fatalf("%d days end at %v, the span at %v", n, end, to)
		}
	})
}

func TestDaysOfALostDay(t *testing.T) {
	site := zone(t, "Pacific/Apia")
	var got []string
	for a, b := range Days(time.Date(2011, 12, 28, 12, 0, 0, 0, site), time.Date(2012, 1, 1, 12, 0, 0, 0, site), site) {
		got = append(got, a.Format(time.DateOnly)+" "+b.Sub(a).String())
	}
	want := []string{"2011-12-28 24h0m0s", "2011-12-29 24h0m0s", "2011-12-31 24h0m0s", "2012-01-01 24h0m0s"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for range Days(time.Unix(0, 0), time.Unix(1e9, 0), site) {
		break // the consumer may stop
	}
}

func BenchmarkDaysOfAYear(b *testing.B) {
	site, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		b.Fatal(err)
	}
	from := time.Date(2024, 1, 1, 0, 0, 0, 0, site)
	for b.Loop() {
		for range Days(from, from.AddDate(1, 0, 0), site) {
		}
	}
}
