package maintenance

import (
	"math"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/engine/solar"
)

// mostAskew is how far a place's clock is from its mean solar time at most;
// the west of China has 3 h. What is further off is a zone that somebody set,
// or that a new site has by default.
const mostAskew = 4 * time.Hour

// clock is what crews at a site go by on the day of t: the clock of its zone
// or, where that cannot be true, mean solar time at its longitude.
func clock(site api.Site, t time.Time) *time.Location {
	zone := record.Zone(site.Timezone)
	if site.Longitude == nil {
		return zone
	}
	_, offset := t.In(zone).Zone()
	sun := int(math.Round(*site.Longitude * 240)) // seconds; 15° an hour
	// Around the date line the two may be a day apart and yet agree.
	askew := math.Remainder(float64(offset-sun), 86400)
	if math.Abs(askew) <= mostAskew.Seconds() {
		return zone
	}
	return time.FixedZone("solar", sun)
}

// onDay is a time of the site's day on which t lies, by the crew's clock.
func onDay(site api.Site, t time.Time, addDays int, since time.Duration) time.Time {
	zone := clock(site, t)
	y, m, d := t.In(zone).Date()
	return time.Date(y, m, d+addDays, 0, int(since.Minutes()), 0, 0, zone)
}

const noon = 12 * time.Hour

// nextDay is the noon of the site's day after t.
func nextDay(site api.Site, t time.Time) time.Time { return onDay(site, t, 1, noon) }

// shift is when a crew can work at the site on the day of date, by daylight
// within its hours; ok is false for a day without any. With [DefaultHours] that
// is one of the polar night: within them, by [clock], the sun is at its
// highest. Any hours around noon have daylight for half of the year at least.
func (h Hours) shift(site api.Site, date time.Time) (from, to time.Time, ok bool) {
	from, to = onDay(site, date, 0, h.From), onDay(site, date, 0, h.To)
	if site.Latitude == nil || site.Longitude == nil {
		return from, to, true
	}
	loc := solar.Location{LatitudeDeg: *site.Latitude, LongitudeDeg: *site.Longitude}
	rise, transit, set, rises := solar.Day(onDay(site, date, 0, noon), loc)
	if !rises {
		// Polar day has light at all hours; polar night has none.
		return from, to, solar.At(transit, loc).ZenithDeg < 90
	}
	if rise.After(from) {
		from = rise
	}
	if set.Before(to) {
		to = set
	}
	return from, to, from.Before(to)
}

// working is when work of some hours that may begin at a time begins and ends,
// day by day within the shifts of the site; without daylight it waits for the
// sun, which comes back everywhere. For emergencies the clock alone counts.
func (h Hours) working(site api.Site, start time.Time, hours float64, emergency bool) (begin, end time.Time) {
	left := time.Duration(hours * float64(time.Hour))
	if emergency {
		return start, start.Add(left)
	}
	for day := start; ; day = nextDay(site, day) {
		from, to, ok := h.shift(site, day)
		if from.Before(start) {
			from = start
		}
		if !ok || !from.Before(to) {
			continue
		}
		if begin.IsZero() {
			begin = from
		}
		if there := to.Sub(from); there < left {
			left -= there
			continue
		}
		return begin, from.Add(left)
	}
}
