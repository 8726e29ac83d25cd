package display

import (
	"fmt"
	"time"
)

// DateTimeLayout is how a date with a time is written, and how forms ask for it.
const DateTimeLayout = "2006-01-02 15:04"

// Date writes a date with its year, as in 2026-06-15.
func Date(t time.Time) string { return t.Format(time.DateOnly) }

// DateTime writes a date and a time to the minute.
func DateTime(t time.Time) string { return t.Format(DateTimeLayout) }

// DateTimeSeconds writes a date and a time to the second.
func DateTimeSeconds(t time.Time) string { return t.Format(time.DateTime) }

// DateTimeZone writes a date and a time with the zone's short name, for readers who
// are elsewhere.
func DateTimeZone(t time.Time) string { return t.Format(DateTimeLayout + " MST") }

// DateTimeOffset writes a date and a time with the offset from UTC.
func DateTimeOffset(t time.Time) string { return t.Format(DateTimeLayout + " -07:00") }

// Clock writes a time of day to the minute.
func Clock(t time.Time) string { return t.Format("15:04") }

// ClockSeconds writes a time of day to the second.
func ClockSeconds(t time.Time) string { return t.Format(time.TimeOnly) }

// ClockZone writes a time of day with the zone's short name.
func ClockZone(t time.Time) string { return t.Format("15:04 MST") }

// Day writes a day whose year is not in question, as in Mon 15 Jun.
func Day(t time.Time) string { return t.Format("Mon 02 Jan") }

// DayClock writes such a day with a time.
func DayClock(t time.Time) string { return t.Format("Mon 02 Jan 15:04") }

// DayYear writes a day with its weekday and its year.
func DayYear(t time.Time) string { return t.Format("Mon 02 Jan 2006") }

// WeekdayClock writes a time within a week.
func WeekdayClock(t time.Time) string { return t.Format("Mon 15:04") }

// DayOfMonth writes a day of a month that is known, as in Mon 15.
func DayOfMonth(t time.Time) string { return t.Format("Mon 02") }

// DayMonth writes a day without its weekday, as in 15 Jun.
func DayMonth(t time.Time) string { return t.Format("02 Jan") }

// DayMonthClock writes such a day with a time.
func DayMonthClock(t time.Time) string { return t.Format("02 Jan 15:04") }

// LongDay writes a day in full, as headings of messages do.
func LongDay(t time.Time) string { return t.Format("Monday, 2 January 2006") }

// LongDays writes the days from first to last, as headings of messages do.
func LongDays(first, last time.Time) string {
	return first.Format("2 January") + " to " + last.Format("2 January 2006")
}

// Month writes a month with its year.
func Month(t time.Time) string { return t.Format("January 2006") }

// ShortMonth writes a month with its year, abbreviated.
func ShortMonth(t time.Time) string { return t.Format("Jan 2006") }

// DayName writes a day for one who reads it at now, in the same zone: today, a day of
// this year, or a date.
func DayName(t, now time.Time) string {
	switch {
	case t.Year() == now.Year() && t.YearDay() == now.YearDay():
		return "today"
	case t.Year() == now.Year():
		return Day(t)
	}
	return Date(t)
}

// When writes a time in a zone for one who reads it at now: the time of day if it is of
// the same day, with the day if it is of the same year, else the date.
func When(t, now time.Time, zone *time.Location) string {
	a, b := t.In(zone), now.In(zone)
	switch {
	case a.Year() == b.Year() && a.YearDay() == b.YearDay():
		return Clock(a)
	case a.Year() == b.Year():
		return DayMonthClock(a)
	}
	return Date(a)
}

// Duration writes how long something has lasted, in the two units that matter; in one if
// the smaller is zero.
func Duration(d time.Duration) string {
	d = d.Round(time.Minute)
	minutes, hours := int(d.Minutes()), int(d.Hours())
	switch {
	case hours == 0:
		return fmt.Sprintf("%d min", minutes)
	case hours < 48 && minutes%60 == 0:
		return fmt.Sprintf("%d h", hours)
	case hours < 48:
		return fmt.Sprintf("%d h %02d min", hours, minutes%60)
	case hours%24 == 0:
		return fmt.Sprintf("%d d", hours/24)
	}
	return fmt.Sprintf("%d d %d h", hours/24, hours%24)
}

// Hours writes hours of work.
func Hours(h float64) string { return fmt.Sprintf("%.3g h", h) }

// Age writes how old something is or how long something takes, coarse enough that an idle
// screen rarely changes: steps of 5 s in the first minute, then minutes, hours and days.
func Age(d time.Duration) string {
	switch {
	case d < 5*time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds())/5*5)
	}
	return Span(d)
}

// Span writes a length of time in its largest unit, which is minutes at least.
func Span(d time.Duration) string {
	switch {
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours())/24)
}

// Step writes the distance between samples, in the largest unit that divides it.
func Step(d time.Duration) string {
	switch {
	case d >= 24*time.Hour && d%(24*time.Hour) == 0:
		return fmt.Sprintf("%d d", d/(24*time.Hour))
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}

// Latency writes how long a response took, coarse enough that an idle screen rarely
// changes.
func Latency(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return "<100 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Round(100*time.Millisecond).Milliseconds())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}
