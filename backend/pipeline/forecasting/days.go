package forecasting

import (
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
				days[midnight] = append(days[midnight], pointOf(v))
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

// pointOf is an hourly value as the engine has it.
func pointOf(v api.ForecastValue) forecast.Point {
	return forecast.Point{Time: v.Timestamp.Time, Step: time.Hour, P10KW: v.ConfidenceInterval.Lower, P50KW: v.PredictedPowerKW, P90KW: v.ConfidenceInterval.Upper, ClearSkyKW: v.ClearSkyKW}
}
