package ingest

import (
	"time"
)

// monthFirstZones are names of zones, or their beginnings, where 6/1/2024 is the first of June.
var monthFirstZones = map[string]bool{
	"America/New_York": true, "America/Chicago": true, "America/Denver": true, "America/Los_Angeles": true,
	"America/Phoenix": true, "America/Anchorage": true, "America/Detroit": true, "America/Boise": true, "Pacific/Honolulu": true,
}

// chooseOrder decides whether the day or the month comes first in ambiguous dates: a pattern in the header, then an impossible month, then
// the order that gives the more even series.
func (t *table) chooseOrder(site *time.Location, rep *report) {
	if t.swapped == nil {
		return
	}
	badDay, badMonth := 0, 0
	for i := range t.walls {
		if t.walls[i] == noWall {
			badDay++
		}
		if t.swapped[i] == noWall {
			badMonth++
		}
	}
	order, why := dayFirst, ""
	switch tenth := len(t.walls) / 10; {
	case t.plan.ordered && (t.plan.order == dayFirst && badDay <= tenth || t.plan.order == monthFirst && badMonth <= tenth):
		order, why = t.plan.order, "the header says so"
	case badDay != badMonth:
		if badMonth < badDay {
			order = monthFirst
		}
		why = "the other order gives months beyond 12"
	default:
		order, why = t.evenOrder(site, rep)
	}
	if order == monthFirst {
		t.walls = t.swapped
		rep.decide("date", "month before day: %s", why)
	} else {
		rep.decide("date", "day before month: %s", why)
	}
	t.swapped = nil
}

// evenOrder compares how even the series is in both orders.
func (t *table) evenOrder(site *time.Location, rep *report) (dateOrder, string) {
	asDay, asMonth := evenness(t.walls), evenness(t.swapped)
	switch {
	case asDay > asMonth:
		return dayFirst, "only this order gives a series without breaks"
	case asMonth > asDay:
		return monthFirst, "only this order gives a series without breaks"
	}
	order, why := dayFirst, "nothing in the file contradicts it"
	switch {
	case t.dotted:
		return dayFirst, "dates are written with dots"
	case monthFirstZones[site.String()]:
		order, why = monthFirst, "it is the usual order in "+site.String()
	}
	rep.addRunnerUp("date", "%s", map[dateOrder]string{dayFirst: "month before day", monthFirst: "day before month"}[order])
	rep.warn("date", "every date also fits the other order of day and month; check the first and last date")
	return order, why
}

// evenness returns the number of steps that equal the commonest one.
func evenness(walls []int64) int {
	const enough = 50000
	var steps tally
	for i := 1; i < len(walls) && i < enough; i++ {
		if step := walls[i] - walls[i-1]; step != 0 {
			steps.add(step)
		}
	}
	best := 0
	for _, n := range steps.counted() {
		best = max(best, n)
	}
	return best
}
