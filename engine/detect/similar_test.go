package detect

import (
	"math"
	"testing"
	"time"
)

// A unit that loses against the median of its peers, while its ratio to those that resemble it
// stays, has not lost: the others have gained. Known losses of either are left out.
func TestSimilarUnits(t *testing.T) {
	const units, days, at = 6, 30, 20
	fleet := func(power func(unit, day int) float64) *losses {
		l := &losses{units: make([]unitLosses, units)}
		for k := range l.units {
			for d := range days {
				one := clearDay{day: int64(d), first: int64(d) * 86400}
				for j := range 12 {
					one.power = append(one.power, float32(power(k, d)*(0.5+0.03*float64(j))))
				}
				one.power[k] = float32(math.NaN()) // not clear for this unit
				l.units[k].clear = append(l.units[k].clear, one)
			}
		}
		return l
	}
	b := &baseline{}
	for d := range days {
		b.index = append(b.index, indexDay{day: int64(d)})
	}
	found := shift{at: at, size: math.Log(0.9)}
	rough := func(unit, day int) float64 { // units 0 to 2 resemble each other, the others are rougher
		if unit > 2 && day%2 == unit%2 {
			return 1.03
		}
		return 1
	}
	lost := func(unit, day int) float64 {
		if unit == 0 && day >= at {
			return 0.9 * rough(unit, day)
		}
		return rough(unit, day)
	}
	gained := func(unit, day int) float64 {
		if unit > 2 && day >= at {
			return rough(unit, day) / 0.9
		}
		return rough(unit, day)
	}
	if !fleet(lost).similarShow(0, b, found) {
		t.Error("a loss of the unit does not show against the units that resemble it")
	}
	if fleet(gained).similarShow(0, b, found) {
		t.Error("a gain of other units is called a loss")
	}
	known := fleet(lost)
	known.units[0].steps = []*step{{from: at, size: math.Log(0.9)}}
	if known.similarShow(0, b, found) {
		t.Error("a known loss is found again")
	}
}

// Days are numbered by the calendar of the site, and begin with its midnight, whatever its clock
// does.
func TestStartOfDays(t *testing.T) {
	for _, name := range []string{"Europe/Madrid", "Pacific/Auckland", "America/Santiago", "Pacific/Kiritimati"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		v := &view{date: time.Date(2025, 12, 31, 0, 0, 0, 0, zone)}
		last := dayNumber(v)
		for back := range 365 {
			day := time.Date(2025, 12, 31-back, 12, 0, 0, 0, zone)
			v.date = time.Unix(v.startOf(last-int64(back)), 0).In(zone)
			if v.date.YearDay() != day.YearDay() || v.date.Add(-time.Second).YearDay() == day.YearDay() {
				t.Fatalf("%s: day %d before the last begins at %v", name, back, v.date)
			}
			if got := dayNumber(v); got != last-int64(back) {
				t.Fatalf("%s: %v has the number %d, want %d", name, v.date, got, last-int64(back))
			}
		}
	}
}
