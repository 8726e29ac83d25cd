package series

import (
	"iter"
	"time"
)

// Midnight is the first instant of the site's day that holds t. Where clocks
// spring over midnight it is the first instant that exists; where they fall
// back over it, the second pass belongs to the day that had begun.
func Midnight(t time.Time, site *time.Location) time.Time {
	y, m, d := t.In(site).Date()
	if begun := dayStart(y, m, d+1, site); !begun.After(t) {
		return begun
	}
	return dayStart(y, m, d, site)
}

// NextMidnight is the first instant of the site's following day: 23, 24 or 25
// hours later, and later than t in any case. A date that a site leaves out
// (Samoa had no 30 December 2011) is no day.
func NextMidnight(t time.Time, site *time.Location) time.Time {
	y, m, d := t.In(site).Date()
	for {
		d++
		if next := dayStart(y, m, d, site); next.After(t) {
			return next
		}
	}
}

// dayStart returns the earliest instant at which the site's calendar shows the
// date or a later one. time.Date is not sufficient: it may return either side
// of a midnight that does not exist, and either occurrence of one that exists
// twice.
func dayStart(y int, m time.Month, d int, site *time.Location) time.Time {
	midnight := time.Date(y, m, d, 0, 0, 0, 0, time.UTC) // as if the site's clock showed UTC
	// No clock is 26 hours ahead of UTC: the walk begins before the day does.
	for t := midnight.Add(-26 * time.Hour).In(site); ; {
		_, offset := t.Zone()
		_, end := t.ZoneBounds()
		start := midnight.Add(-time.Duration(offset) * time.Second).In(site)
		switch {
		case start.Before(t): // the clock jumped over midnight when this offset began
			return t
		case end.IsZero() || start.Before(end):
			return start
		}
		t = end
	}
}

// Days yields the site's days that overlap from..to as [start, end) instants.
func Days(from, to time.Time, site *time.Location) iter.Seq2[time.Time, time.Time] {
	return func(yield func(time.Time, time.Time) bool) {
		if !from.Before(to) {
			return
		}
		for day := Midnight(from, site); day.Before(to); {
			next := NextMidnight(day, site)
			if !yield(day, next) {
				return
			}
			day = next
		}
	}
}
