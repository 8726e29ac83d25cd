package work

import (
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/ops"
	"app.sunloop/engine/solar"
)

// Hours of the day between which crews work at a site, by its own clock.
const (
	crewFrom = 7
	crewTo   = 18
)

// shift is when a crew can work at the site on the day of date, by daylight
// within its hours; ok is false for a day without any.
func shift(site api.Site, date time.Time) (from, to time.Time, ok bool) {
	zone := ops.Zone(site)
	y, m, d := date.In(zone).Date()
	from, to = time.Date(y, m, d, crewFrom, 0, 0, 0, zone), time.Date(y, m, d, crewTo, 0, 0, 0, zone)
	if site.Latitude == nil || site.Longitude == nil {
		return from, to, true
	}
	loc := solar.Location{LatitudeDeg: *site.Latitude, LongitudeDeg: *site.Longitude}
	rise, noon, set, rises := solar.Day(time.Date(y, m, d, 12, 0, 0, 0, zone), loc)
	if !rises {
		// Polar day has light at all hours; polar night has none.
		return from, to, solar.At(noon, loc).ZenithDeg < 90
	}
	if rise.After(from) {
		from = rise
	}
	if set.Before(to) {
		to = set
	}
	return from, to, from.Before(to)
}

// longestNight is how many days without a shift are looked past: the polar
// night of the poles.
const longestNight = 200

// working is when work of some hours that may begin at a time begins and ends,
// day by day within the shifts of the site. Where no shift comes, and for
// emergencies, the clock alone counts.
func working(site api.Site, start time.Time, hours float64, emergency bool) (begin, end time.Time) {
	left := time.Duration(hours * float64(time.Hour))
	if emergency {
		return start, start.Add(left)
	}
	dark := 0
	for day := start; dark < longestNight; day = nextDay(site, day) {
		from, to, ok := shift(site, day)
		if from.Before(start) {
			from = start
		}
		if !ok || !from.Before(to) {
			dark++
			continue
		}
		dark = 0
		if begin.IsZero() {
			begin = from
		}
		if there := to.Sub(from); there < left {
			left -= there
			continue
		}
		return begin, from.Add(left)
	}
	return start, start.Add(time.Duration(hours * float64(time.Hour)))
}

// nextDay is the noon of the site's day after t.
func nextDay(site api.Site, t time.Time) time.Time {
	y, m, d := t.In(ops.Zone(site)).Date()
	return time.Date(y, m, d+1, 12, 0, 0, 0, ops.Zone(site))
}
