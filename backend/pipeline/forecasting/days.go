package forecasting

import (
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/engine/forecast"
	"app.sunloop/engine/series"
)

// forecastDays returns the energies of the days that hourly values reach into.
// An hour that is in several parts counts once, as in the first of them.
func forecastDays(zone *time.Location, parts ...[]api.ForecastValue) []api.ForecastDay {
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
		e := forecast.EnergyOf(points)
		out = append(out, api.ForecastDay{Day: begin.Format(time.DateOnly), Hours: float64(len(points)), Complete: time.Duration(len(points))*time.Hour >= whole,
			P10KWh: sitedata.Round(e.P10), P50KWh: sitedata.Round(e.P50), P90KWh: sitedata.Round(e.P90)})
	}
	slices.SortFunc(out, func(a, b api.ForecastDay) int { return strings.Compare(a.Day, b.Day) })
	return out
}

// sumOfDays adds the days of sites by date. Days that a site lacks are left out.
func sumOfDays(parts []api.GeneratedForecast) []api.ForecastDay {
	sums, counts := map[string]api.ForecastDay{}, map[string]int{}
	for _, part := range parts {
		for _, d := range part.Days {
			sum, ok := sums[d.Day]
			if !ok {
				sum = api.ForecastDay{Day: d.Day, Hours: d.Hours, Complete: true}
			}
			sum.Hours, sum.Complete = min(sum.Hours, d.Hours), sum.Complete && d.Complete
			sum.P10KWh, sum.P50KWh, sum.P90KWh = sum.P10KWh+d.P10KWh, sum.P50KWh+d.P50KWh, sum.P90KWh+d.P90KWh
			sums[d.Day] = sum
			counts[d.Day]++
		}
	}
	var out []api.ForecastDay
	for day, sum := range sums {
		if counts[day] == len(parts) {
			sum.P10KWh, sum.P50KWh, sum.P90KWh = sitedata.Round(sum.P10KWh), sitedata.Round(sum.P50KWh), sitedata.Round(sum.P90KWh)
			out = append(out, sum)
		}
	}
	slices.SortFunc(out, func(a, b api.ForecastDay) int { return strings.Compare(a.Day, b.Day) })
	return out
}
