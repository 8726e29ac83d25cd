package rhythm_test

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"app.sunloop/engine/rhythm"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// sun is whether the units of a plant at 48° north run, by the standard time of a zone:
// from about 5 to 21 in June, from 8 to 16 in December. The sun knows no summer time.
func sun(t time.Time, z *time.Location) bool {
	_, january := time.Date(2026, 1, 1, 0, 0, 0, 0, z).Zone()
	_, july := time.Date(2026, 7, 1, 0, 0, 0, 0, z).Zone()
	local := t.UTC().Add(time.Duration(min(january, july)) * time.Second)
	summer := 1 - float64(abs(local.YearDay()-172))/182
	half := 4 + 4*summer
	hour := float64(local.Hour()) + float64(local.Minute())/60
	return hour > 12.5-half && hour < 12.5+half
}

func abs(n int) int { return max(n, -n) }

// feed is how a site delivers: at which times, and with which newest sample.
type feed struct {
	name    string
	step    time.Duration // at which times deliveries are possible
	arrives func(t time.Time, z *time.Location) bool
	newest  func(t time.Time, z *time.Location) time.Time
	within  time.Duration // a stop at noon is noticed after at most so long
	usual   string
}

func same(t time.Time, _ *time.Location) time.Time { return t }

var feeds = []feed{
	{"a file each day at 06:00", time.Hour, func(t time.Time, z *time.Location) bool { return t.In(z).Hour() == 6 },
		func(t time.Time, z *time.Location) time.Time { return t.Truncate(24 * time.Hour) }, 24 * time.Hour, "each day"},
	{"a file on working days", time.Hour, func(t time.Time, z *time.Location) bool {
		return t.In(z).Hour() == 6 && t.In(z).Weekday() != time.Saturday && t.In(z).Weekday() != time.Sunday
	}, same, 76 * time.Hour, "each day"},
	{"every 15 minutes by day", 15 * time.Minute, sun, same, 75 * time.Minute, "every 15 minutes"},
	{"every 15 minutes, day and night", 15 * time.Minute, func(time.Time, *time.Location) bool { return true }, same, 75 * time.Minute, "every 15 minutes"},
	{"live by day", 10 * time.Minute, sun, same, 45 * time.Minute, "every 10 minutes"},
	{"each hour by day", time.Hour, sun, same, 5 * time.Hour, "every 60 minutes"},
}

// TestRhythms: over a year with clock changes, a site that delivers as usual is never
// silent, at night and on days of a change of the clock neither; one whose data stop at
// noon is silent within the time of its rhythm, and no more when they return.
func TestRhythms(t *testing.T) {
	for _, z := range []*time.Location{zone(t, "Europe/Berlin"), zone(t, "Australia/Sydney")} {
		for _, f := range feeds {
			t.Run(f.name+"/"+z.String(), func(t *testing.T) {
				var r rhythm.Record
				start := time.Date(2026, 2, 20, 0, 0, 0, 0, z)
				stops := map[int]bool{60: true, 130: true, 250: true}
				var stopped time.Time
				for at := start; at.Before(start.AddDate(0, 9, 0)); at = at.Add(f.step) {
					days := int(at.Sub(start).Hours() / 24)
					if noon := at.In(z).Hour() == 12 && stops[days]; noon && stopped.IsZero() {
						delete(stops, days)
						stopped = r.Last
						deadline := at.Add(f.within)
						if f.step >= time.Hour {
							deadline = r.Last.Add(f.within).Add(4 * time.Hour)
						}
						for ; !r.Judge(at).Silent; at = at.Add(f.step) {
							if at.After(deadline) {
								t.Fatalf("day %d: not silent at %s, last arrival %s: %+v", days, at, r.Last, r)
							}
						}
						if v := r.Judge(at); !v.Since.Equal(stopped) || v.Describe() != f.usual {
							t.Errorf("day %d: silent since %s, usual %s; want %s, %s", days, v.Since, v.Describe(), stopped, f.usual)
						}
						at = at.Add(26 * time.Hour).Truncate(time.Hour)
						stopped = time.Time{}
						if f.arrives(at, z) {
							r.Add(at, f.newest(at, z))
						}
						for !f.arrives(at, z) {
							at = at.Add(f.step)
						}
						r.Add(at, f.newest(at, z))
					}
					if f.arrives(at, z) {
						r.Add(at, f.newest(at, z))
					}
					if at.Minute() >= 15 {
						continue
					}
					if v := r.Judge(at); v.Silent {
						t.Fatalf("%s: silent, last arrival %s, %+v", at, r.Last, v)
					}
				}
				if b, err := json.Marshal(r); err != nil || len(b) > 1200 {
					t.Errorf("the record has %d bytes, %v", len(b), err)
				}
			})
		}
	}
}

// TestNoRhythm: a site without a feed is never silent: an imported history, uploads by
// hand at odd times, a feed that is too new.
func TestNoRhythm(t *testing.T) {
	start := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for name, fill := range map[string]func(r *rhythm.Record){
		"nothing": func(*rhythm.Record) {},
		"history": func(r *rhythm.Record) {
			for i := range 400 {
				r.Add(start.Add(time.Duration(i)*time.Minute), start.AddDate(-2, 0, i))
			}
		},
		"by hand": func(r *rhythm.Record) {
			at := start
			for _, days := range []int{1, 2, 30, 1, 3, 45, 2, 1} {
				at = at.AddDate(0, 0, days)
				r.Add(at, at)
			}
		},
		"two days": func(r *rhythm.Record) {
			for i := range 100 {
				at := start.Add(time.Duration(i) * 15 * time.Minute)
				r.Add(at, at)
			}
		},
		"many files of one day": func(r *rhythm.Record) {
			for i := range 300 {
				r.Add(start.Add(time.Duration(i)*time.Second), start.Add(time.Duration(i-300)*time.Minute))
			}
		},
	} {
		var r rhythm.Record
		fill(&r)
		for days := range 60 {
			if v := r.Judge(start.AddDate(0, 0, days+5)); v.Silent {
				t.Errorf("%s: silent after %d days: %+v", name, days, v)
				break
			}
		}
	}
}

// TestRepeating: a portal that delivers the same data again does not end a silence, and
// the evaluation says what it does. Night deliveries of the finished day are no repetition.
func TestRepeating(t *testing.T) {
	z := zone(t, "Europe/Berlin")
	var r rhythm.Record
	start := time.Date(2026, 6, 1, 0, 0, 0, 0, z)
	var newest time.Time
	for at := start; at.Before(start.AddDate(0, 0, 10)); at = at.Add(15 * time.Minute) {
		if sun(at, z) {
			newest = at
		}
		r.Add(at, newest) // also at night
		if v := r.Judge(at); v.Silent || v.Repeating {
			t.Fatalf("%s: %+v", at, v)
		}
	}
	noon := start.AddDate(0, 0, 10).Add(12 * time.Hour)
	r.Add(noon, noon)
	for at := noon; at.Before(noon.Add(3 * time.Hour)); at = at.Add(15 * time.Minute) {
		r.Add(at, noon)
	}
	if v := r.Judge(noon.Add(3 * time.Hour)); !v.Silent || !v.Repeating || !v.Since.Equal(noon) {
		t.Errorf("%+v", v)
	}
	r.Add(noon.Add(4*time.Hour), noon.Add(4*time.Hour))
	if v := r.Judge(noon.Add(4 * time.Hour)); v.Silent || v.Repeating {
		t.Errorf("after newer data: %+v", v)
	}
}

// TestOddArrivals: whatever the order of arrivals and stamps, the record stays bounded, and
// a new arrival ends a silence.
func TestOddArrivals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r rhythm.Record
		at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		for range rapid.IntRange(0, 300).Draw(t, "arrivals") {
			at = at.Add(time.Duration(rapid.IntRange(-3600, 200_000).Draw(t, "after")) * time.Second)
			r.Add(at, at.Add(-time.Duration(rapid.IntRange(-3600, 400_000).Draw(t, "age"))*time.Second))
			_ = r.Judge(at.Add(time.Duration(rapid.IntRange(-3600, 4_000_000).Draw(t, "later")) * time.Second)).Describe()
		}
		if len(r.Days) > 14 || len(r.Gaps) > 48 || len(r.Long) > 16 {
			t.Fatalf("%+v", r)
		}
		end := at.Add(10 * 365 * 24 * time.Hour)
		r.Add(end, end)
		if v := r.Judge(end); v.Silent {
			t.Fatalf("silent at an arrival: %+v", v)
		}
	})
}
