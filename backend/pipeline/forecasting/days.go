package forecasting

import (
	"math"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	domain "app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/engine/forecast"
	"app.sunloop/engine/series"
)

// forecastDays returns the energies of the days that hourly values reach into.
// An hour that is in several parts counts once, as in the first of them. bands are
// those of days as issued, by date, and newest the one of other days.
func forecastDays(zone *time.Location, bands map[string]domain.Band, newest domain.Band, parts ...[]api.ForecastValue) []api.ForecastDay {
	seen := map[int64]bool{}
	days := map[int64][]forecast.Point{} // by midnight
	for _, part := range parts {
		for _, v := range part {
			if at := v.Timestamp.Unix(); !seen[at] {
				seen[at] = true
				midnight := series.Midnight(v.Timestamp.Time, zone).Unix()
				days[midnight] = append(days[midnight], forecast.Point{Time: v.Timestamp.Time, Step: time.Hour, P10KW: v.ConfidenceInterval.Lower,
					P50KW: v.PredictedPowerKW, P90KW: v.ConfidenceInterval.Upper, ClearSkyKW: v.ClearSkyKW})
			}
		}
	}
	out := make([]api.ForecastDay, 0, len(days))
	for midnight, points := range days {
		slices.SortFunc(points, func(a, b forecast.Point) int { return a.Time.Compare(b.Time) })
		begin := time.Unix(midnight, 0).In(zone)
		whole := series.NextMidnight(begin, zone).Sub(begin)
		date := begin.Format(time.DateOnly)
		band, ok := bands[date]
		if !ok {
			band = newest
		}
		e := forecast.DayBand(band).Apply(forecast.EnergyOf(points))
		out = append(out, api.ForecastDay{Day: date, Hours: float64(len(points)), Complete: time.Duration(len(points))*time.Hour >= whole,
			P10KWh: sitedata.Round(e.P10), P50KWh: sitedata.Round(e.P50), P90KWh: sitedata.Round(e.P90)})
	}
	slices.SortFunc(out, func(a, b api.ForecastDay) int { return strings.Compare(a.Day, b.Day) })
	return out
}

// fadeKM is the distance over which the correlation of two sites' errors of a day
// falls to 1/e.
const fadeKM = 250

// earthKM is the radius of the Earth.
const earthKM = 6371

// sumOfDays adds the days of sites by date, see [forecast.Together]. The errors of
// two sites correlate by e^(−distance/250 km), and fully if the place of one is not
// known. Those of an hour correlate less, so that the bands of hours that are added
// in this way are rather too wide than too narrow. Days that a site lacks are left out.
func sumOfDays(parts []api.GeneratedForecast, together correlations) []api.ForecastDay {
	type sum struct {
		api.ForecastDay
		each []forecast.Energy
	}
	sums := map[string]*sum{}
	for _, part := range parts {
		for _, d := range part.Days {
			of := sums[d.Day]
			if of == nil {
				of = &sum{ForecastDay: api.ForecastDay{Day: d.Day, Hours: d.Hours, Complete: true}}
				sums[d.Day] = of
			}
			of.Hours, of.Complete = min(of.Hours, d.Hours), of.Complete && d.Complete
			of.each = append(of.each, forecast.Energy{P10: d.P10KWh, P50: d.P50KWh, P90: d.P90KWh})
		}
	}
	var out []api.ForecastDay
	for _, of := range sums {
		if len(of.each) != len(parts) {
			continue
		}
		e := forecast.Together(of.each, together.of)
		of.P10KWh, of.P50KWh, of.P90KWh = sitedata.Round(e.P10), sitedata.Round(e.P50), sitedata.Round(e.P90)
		out = append(out, of.ForecastDay)
	}
	slices.SortFunc(out, func(a, b api.ForecastDay) int { return strings.Compare(a.Day, b.Day) })
	return out
}

// correlations are those of the errors of each two of several sites, for i >= j.
type correlations [][]float64

// correlationsOf computes them once, for all days and hours of a sum.
func correlationsOf(sites []api.Site) correlations {
	c := make(correlations, len(sites))
	places := make([]*[3]float64, len(sites)) // on the unit sphere; nil: not known
	for i, s := range sites {
		if s.Latitude != nil && s.Longitude != nil {
			sinLat, cosLat := math.Sincos(*s.Latitude * math.Pi / 180)
			sinLon, cosLon := math.Sincos(*s.Longitude * math.Pi / 180)
			places[i] = &[3]float64{cosLat * cosLon, cosLat * sinLon, sinLat}
		}
		c[i] = make([]float64, i+1)
		for j := range c[i] {
			a, b := places[i], places[j]
			if a == nil || b == nil || i == j {
				c[i][j] = 1
				continue
			}
			x, y, z := a[0]-b[0], a[1]-b[1], a[2]-b[2]
			c[i][j] = math.Exp(-2 * earthKM * math.Asin(min(math.Sqrt(x*x+y*y+z*z)/2, 1)) / fadeKM)
		}
	}
	return c
}

func (c correlations) of(i, j int) float64 { return c[i][j] }
