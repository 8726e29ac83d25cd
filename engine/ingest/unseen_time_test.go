package ingest_test

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// timeStyle is how a file writes times: in one column or several.
type timeStyle struct {
	name   string
	header []string
	cells  func(at int64) []string
}

// timeStyle draws one.
func (g *generator) timeStyle() timeStyle {
	if g.chance(0.72) {
		return g.wholeTimes()
	}
	date, clock := g.word(g.lang.date), g.word(g.lang.hour)
	local := func(at int64) time.Time { return time.Unix(at, 0).In(g.zone) }
	styles := []timeStyle{
		{"date+time", []string{date, clock}, func(at int64) []string {
			return []string{local(at).Format("02.01.2006"), local(at).Format("15:04")}
		}},
		{"iso+time", []string{date, clock}, func(at int64) []string {
			return []string{local(at).Format("2006-01-02"), local(at).Format("15:04:05")}
		}},
		{"date+hhmm", []string{"Year", "Day of year", "hhmm"}, func(at int64) []string {
			t := local(at)
			return []string{strconv.Itoa(t.Year()), strconv.Itoa(t.YearDay()), strconv.Itoa(t.Hour()*100 + t.Minute())}
		}},
		{"start+end", []string{"Start", "End"}, func(at int64) []string {
			return []string{local(at).Format("2006-01-02 15:04"), local(at + g.step).Format("2006-01-02 15:04")}
		}},
		{"local+utc", []string{"Local time", "UTC"}, func(at int64) []string {
			return []string{local(at).Format("2006-01-02 15:04:05"), time.Unix(at, 0).UTC().Format("2006-01-02 15:04:05")}
		}},
		{"local+offset", []string{"Local time", "UTC offset"}, func(at int64) []string {
			return []string{local(at).Format("2006-01-02 15:04:05"), local(at).Format("-07:00")}
		}},
	}
	return pick(g, styles...)
}

// wholeTimes draws a style of one column.
func (g *generator) wholeTimes() timeStyle {
	type form struct {
		layout string
		utc    bool
		suffix string // of the column's name
	}
	forms := []form{
		{layout: "2006-01-02 15:04:05"}, {layout: "2006-01-02 15:04"}, {layout: "2006-01-02T15:04:05"}, {layout: "2006-01-02T15:04:05Z07:00"},
		{layout: "2006-01-02T15:04:05Z", utc: true}, {layout: "02.01.2006 15:04"}, {layout: "02.01.2006 15:04:05"}, {layout: "02/01/2006 15:04"}, {layout: "02-01-2006 15:04"},
		{layout: "01/02/2006 03:04 PM"}, {layout: "1/2/2006 3:04:05 PM"}, {layout: "2006/01/02 15:04"}, {layout: "2006. 01. 02. 15:04"}, {layout: "20060102150405"},
		{layout: "20060102T150405"}, {layout: "2006年01月02日 15:04"}, {layout: "2006年1月2日 15時04分"}, {layout: "02-Jan-2006 15:04"}, {layout: "Jan 2, 2006 3:04 PM"},
		{layout: "Mon 02 Jan 2006 15:04"}, {layout: "2006-01-02_15:04:05"}, {layout: "2006-01-02 15:04:05 -0700"}, {layout: "2006-01-02 15:04", utc: true, suffix: " (UTC)"},
		{layout: "2006-01-02 15:04 (UTC-07:00)"}, {layout: "060102 15:04"}, {layout: "epoch"}, {layout: "milliseconds"}, {layout: "serial"}, {layout: "week"}, {layout: "ordinal"},
	}
	f := pick(g, forms...)
	header := []string{g.word(g.lang.time) + f.suffix}
	return timeStyle{f.layout + f.suffix, header, func(at int64) []string {
		t := time.Unix(at, 0).In(g.zone)
		if f.utc {
			t = t.UTC()
		}
		switch f.layout {
		case "epoch":
			return []string{strconv.FormatInt(at, 10)}
		case "milliseconds":
			return []string{strconv.FormatInt(at*1000, 10)}
		case "serial":
			// Days since 1899-12-30 of the wall clock, as spreadsheets count.
			wall := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
			days := wall.Sub(time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)).Hours() / 24
			return []string{strconv.FormatFloat(math.Round(days*1e8)/1e8, 'f', 8, 64)}
		case "week":
			y, w := t.ISOWeek()
			day := (int(t.Weekday())+6)%7 + 1
			return []string{fmt.Sprintf("%d-W%02d-%dT%s", y, w, day, t.Format("15:04"))}
		case "ordinal":
			return []string{fmt.Sprintf("%d-%03dT%s", t.Year(), t.YearDay(), t.Format("15:04"))}
		}
		return []string{t.Format(f.layout)}
	}}
}
