package chart

import (
	"time"

	"app.sunloop/internal/display"
)

// tick is a labelled instant.
type tick struct {
	at    time.Time
	label string
}

var hours = [25]string{
	"00", "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12",
	"13", "14", "15", "16", "17", "18", "19", "20", "21", "22", "23", "24",
}

// ticks labels the axis for a width in cells: hours of one day, names of several, and what fits the span of a window. An hour
// that the clocks skip has no tick.
func (a timeAxis) ticks(dst []tick, width int) []tick {
	switch {
	case a.n == 0:
		return a.windowTicks(dst, width)
	case a.n > 1:
		return a.dayTicks(dst, width)
	}
	every := 12
	for _, e := range [...]int{1, 2, 3, 6} {
		if width/(24/e) >= 5 {
			every = e
			break
		}
	}
	y, m, day := a.from.Date()
	for h := 0; h < 24; h += every {
		// An hour that the clocks repeat has its tick the first time.
		at := time.Date(y, m, day, h, 0, 0, 0, a.loc)
		if at.Hour() == h {
			dst = append(dst, tick{at, hours[h]})
		}
	}
	return append(dst, tick{a.to, hours[24]})
}

// dayTicks names the days of an axis of several.
func (a timeAxis) dayTicks(dst []tick, width int) []tick {
	y, m, day := a.from.Date()
	every := 1
	for every < a.n && width/a.n*every < 8 {
		every++
	}
	for i := 0; i < a.n; i += every {
		at := time.Date(y, m, day+i, 0, 0, 0, 0, a.loc)
		dst = append(dst, tick{at, at.Format("Mon 2")})
	}
	return dst
}

// clockSteps are the distances of ticks that are labelled by the clock.
var clockSteps = [...]time.Duration{
	5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
}

// dateSteps are the distances of ticks that are labelled by the calendar, and
// the number of cells that each label needs.
var dateSteps = [...]struct {
	days, months, cells int
	layout              string
}{
	{1, 0, 8, "Mon 2"}, {2, 0, 8, "Mon 2"}, {7, 0, 8, "2 Jan"}, {14, 0, 8, "2 Jan"},
	{0, 1, 5, "Jan"}, {0, 3, 6, "Jan"}, {0, 12, 6, "2006"}, {0, 60, 6, "2006"},
}

// windowTicks chooses the finest ticks whose labels fit.
func (a timeAxis) windowTicks(dst []tick, width int) []tick {
	span := a.to.Sub(a.from)
	if span <= 0 || width < 1 {
		return dst
	}
	room := func(step time.Duration) float64 { return float64(width) * step.Hours() / span.Hours() }
	for _, step := range clockSteps {
		if room(step) >= 7 {
			return a.clockTicks(dst, step, room(step) >= 13)
		}
	}
	for _, s := range dateSteps {
		if room(time.Duration(s.days+30*s.months)*24*time.Hour) < float64(s.cells) {
			continue
		}
		if s.months > 0 {
			return a.monthTicks(dst, s.months, s.layout)
		}
		return a.dateTicks(dst, s.days, s.layout)
	}
	return dst
}

// clockTicks returns the instants at which the site's clock shows a multiple of step. Midnight is labelled by its date. An hour
// that the clocks repeat has its ticks both times; with wide ones the first after a change names the zone.
func (a timeAxis) clockTicks(dst []tick, step time.Duration, wide bool) []tick {
	// Clocks differ from UTC by quarters of an hour.
	every := min(int64(step/time.Second), 15*60)
	first := (a.from.Unix() + every - 1) / every * every
	_, last := a.from.Zone()
	for unix := first; unix < a.to.Unix(); unix += every {
		at := time.Unix(unix, 0).In(a.loc)
		zone, offset := at.Zone()
		if (at.Hour()*3600+at.Minute()*60)%int(step/time.Second) != 0 {
			continue
		}
		label := display.Clock(at)
		if at.Hour() == 0 && at.Minute() == 0 {
			label = at.Format("Mon 2")
		}
		if offset != last && wide {
			label += " " + zone
		}
		last = offset
		dst = append(dst, tick{at, label})
	}
	return dst
}

// dateTicks returns the midnights of each n-th day. Which they are does not depend on where the window begins; weeks begin on
// Mondays.
func (a timeAxis) dateTicks(dst []tick, n int, layout string) []tick {
	y, m, d := a.from.Date()
	for i := 0; ; i++ {
		at := time.Date(y, m, d+i, 0, 0, 0, 0, a.loc)
		if !at.Before(a.to) {
			return dst
		}
		if !at.Before(a.from) && (dayNumber(at)-firstMonday)%n == 0 {
			dst = append(dst, tick{at, at.Format(layout)})
		}
	}
}

// firstMonday is 5 January 1970, the first one of Unix time.
const firstMonday = 4

// dayNumber counts the calendar's days from 1 January 1970 on.
func dayNumber(t time.Time) int {
	y, m, d := t.Date()
	return int(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / (24 * 3600))
}

// monthTicks returns the beginnings of each n-th month; that of a year is labelled by it.
func (a timeAxis) monthTicks(dst []tick, n int, layout string) []tick {
	y, m, _ := a.from.Date()
	for i := 0; ; i++ {
		at := time.Date(y, m+time.Month(i), 1, 0, 0, 0, 0, a.loc)
		if !at.Before(a.to) {
			return dst
		}
		if at.Before(a.from) || (at.Year()*12+int(at.Month())-1)%n != 0 {
			continue
		}
		label := at.Format(layout)
		if at.Month() == time.January {
			label = at.Format("2006")
		}
		dst = append(dst, tick{at, label})
	}
}
