package telemetry

import (
	"slices"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/engine/energy"
	"app.sunloop/engine/series"
)

// runDays is how many site days share a block: runs begin on days 1, 5, 9, …,
// 29 of each month. Four days of 5-minute power are some 650 bytes: they pack
// well into the file's pages, cost a fifth less a point than single days, and
// one day is still read out of them in microseconds.
const runDays = 4

// run is the stretch of site days that one block covers. Times are Unix
// seconds.
type run struct {
	start, end int64
	days       []int64 // midnights, ascending from start
	month      int64   // the start of its month, by which day sums are kept
}

// calendar finds runs of days and caches them. It is not safe for concurrent
// use.
type calendar struct {
	zone *time.Location
	runs []run // ascending
}

// at is the run that holds t.
func (c *calendar) at(t int64) run {
	i, found := slices.BinarySearchFunc(c.runs, t, func(r run, t int64) int {
		switch {
		case r.end <= t:
			return -1
		case r.start > t:
			return 1
		}
		return 0
	})
	if !found {
		c.runs = slices.Insert(c.runs, i, c.make(t))
	}
	return c.runs[i]
}

func (c *calendar) make(t int64) run {
	y, m, d := time.Unix(t, 0).In(c.zone).Date()
	first := (d-1)/runDays*runDays + 1
	r := run{month: series.Midnight(time.Date(y, m, 1, 12, 0, 0, 0, c.zone), c.zone).Unix()}
	for day := first; day < first+runDays; day++ {
		noon := time.Date(y, m, day, 12, 0, 0, 0, c.zone)
		if noon.Month() != m {
			break // the month is over
		}
		r.days = append(r.days, series.Midnight(noon, c.zone).Unix())
		r.end = series.NextMidnight(noon, c.zone).Unix()
	}
	r.start = r.days[0]
	return r
}

// midnight is the start of the site's day that holds t.
func (c *calendar) midnight(t int64) int64 {
	return series.Midnight(time.Unix(t, 0), c.zone).Unix()
}

// next is the start of the site's day after the one that holds t.
func (c *calendar) next(t int64) int64 {
	return series.NextMidnight(time.Unix(t, 0), c.zone).Unix()
}

// split divides samples at the midnights of the calendar's zone instead of those
// at which they were divided before.
func (c *calendar) split(frames []store.AssetFrame) []store.AssetFrame {
	for i, f := range frames {
		frames[i].Frame = energy.SplitDays(energy.JoinDays(f.Frame), c.next)
	}
	return frames
}
