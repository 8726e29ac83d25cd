package series

import (
	"iter"
	"time"
)

// Midnight is the first instant of the site's day that holds t. Where clocks
// spring over midnight it is the first instant that exists.
func Midnight(t time.Time, site *time.Location) time.Time {
	y, m, d := t.In(site).Date()
	return dayStart(y, m, d, site)
}

// NextMidnight is the first instant of the site's following day: 23, 24 or 25
// hours later.
func NextMidnight(t time.Time, site *time.Location) time.Time {
	y, m, d := t.In(site).Date()
	return dayStart(y, m, d+1, site)
}

// dayStart handles the two odd nights of the calendar: in some zones midnight
// does not exist (time.Date then answers with an hour before or after it), in
// some it exists twice (time.Date may answer with either).
func dayStart(y int, m time.Month, d int, site *time.Location) time.Time {
	want := time.Date(y, m, d, 12, 0, 0, 0, site) // noon is never in doubt
	y, m, d = want.Date()
	t := time.Date(y, m, d, 0, 0, 0, 0, site)
	same := func(t time.Time) bool {
		ty, tm, td := t.In(site).Date()
		return ty == y && tm == m && td == d
	}
	for !same(t) {
		t = t.Add(15 * time.Minute)
	}
	for step := 15 * time.Minute; same(t.Add(-step)); {
		t = t.Add(-step)
	}
	return t
}

// Days yields the site's days that overlap from..to as [start, end) instants.
func Days(from, to time.Time, site *time.Location) iter.Seq2[time.Time, time.Time] {
	return func(yield func(time.Time, time.Time) bool) {
		for day := Midnight(from, site); day.Before(to); {
			next := NextMidnight(day, site)
			if !yield(day, next) {
				return
			}
			day = next
		}
	}
}
