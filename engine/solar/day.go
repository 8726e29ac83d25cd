package solar

import (
	"math"
	"time"
)

// horizonDeg is the true elevation of the sun's centre at sunrise and sunset:
// refraction and the sun's radius, the SPA report's -0.8333°.
const horizonDeg = -(sunRadiusDeg + standardRefractionDeg)

// Day is when the sun rises, crosses the meridian and sets on the day of date
// in date's own zone; the answers are in that zone too. Noon is the transit
// nearest to the clock's 12:00, rise and set are those before and after it (in
// a zone far from the place's own they may bear the neighbouring date). ok is
// false where the sun does not rise and set around that noon: polar day or
// night; transit is given all the same.
//
// The method is the geocentric one of the SPA report, appendix A.2, with the
// ephemeris evaluated at the event instead of interpolated.
func Day(date time.Time, loc Location) (rise, transit, set time.Time, ok bool) {
	y, m, d := date.Date()
	noon := time.Date(y, m, d, 12, 0, 0, 0, date.Location())
	transit = transitNear(noon, loc)
	rise, okRise := horizonCrossing(transit, loc, -1)
	set, okSet := horizonCrossing(transit, loc, 1)
	if !okRise || !okSet {
		return time.Time{}, transit, time.Time{}, false
	}
	return rise, transit, set, true
}

// solarRate is the turn of the Earth against the sun, degrees a second.
const solarRate = 360.0 / 86400

// An event is found when the last correction is under a hundredth of a second;
// it takes three rounds, and a few more where the sun only grazes the horizon.
const (
	eventTolerance = 10 * time.Millisecond
	eventRounds    = 8
)

// transitNear is the meridian crossing nearest to a guess.
func transitNear(guess time.Time, loc Location) time.Time {
	at := guess
	for range eventRounds {
		step := toHourAngle(0, sunAt(at), loc)
		at = at.Add(step)
		if step.Abs() < eventTolerance {
			break
		}
	}
	return at
}

// horizonCrossing is the rise (side -1) or set (side 1) that belongs to a
// transit; ok is false where the sun stays on one side of the horizon.
func horizonCrossing(transit time.Time, loc Location, side float64) (at time.Time, ok bool) {
	sinPhi, cosPhi := sincosD(loc.LatitudeDeg)
	sinHorizon := math.Sin(rad(horizonDeg))
	at = transit
	for range eventRounds {
		e := sunAt(at)
		sinD, cosD := sincosD(e.delta)
		cosH := (sinHorizon - sinPhi*sinD) / (cosPhi * cosD)
		ok = math.Abs(cosH) <= 1
		step := toHourAngle(side*deg(math.Acos(clamp(cosH, -1, 1))), e, loc)
		at = at.Add(step)
		if step.Abs() < eventTolerance {
			break
		}
	}
	return at, ok
}

func sunAt(t time.Time) ephemeris { return ephemerisAt(julianDay(t), DeltaT(t)) }

// toHourAngle returns the time until (negative: since) the sun's hour angle at
// loc is want, by the shorter way.
func toHourAngle(want float64, e ephemeris, loc Location) time.Duration {
	d := wrap360(want - (e.nu + loc.LongitudeDeg - e.alpha))
	if d > 180 {
		d -= 360
	}
	return time.Duration(d / solarRate * float64(time.Second))
}
