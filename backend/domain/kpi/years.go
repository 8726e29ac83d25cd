package kpi

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/engine/kpi"
	"app.sunloop/engine/series"
)

// years are the days of the years before the window's end.
type years struct {
	days  []kpi.DayYield
	from  time.Time
	share float64 // of the days that have data
}

// Bounds of what a loss rate is made of.
const (
	maxYears       = 5
	maxYearUnits   = 100
	leastYearHours = 1 // of full sun: a day with less is noise
	wholeDay       = 0.9
)

// readYears reads days of up to five years: the stored sums of up to a hundred
// units, and the weather of one of them.
func (s *Service) readYears(ctx context.Context, r *reading, to time.Time) (years, error) {
	y := years{from: r.from, share: math.NaN()}
	if r.sensor == "" {
		return y, nil
	}
	ids, rated := []string{}, map[string]float64{}
	for _, u := range r.units[:min(len(r.units), maxYearUnits)] {
		ids, rated[u.id] = append(ids, u.id), u.CapacityKW
		y.from = record.Earlier(y.from, u.first)
	}
	y.from = record.Later(y.from, to.AddDate(-maxYears, 0, 0))
	sums, err := s.telemetry.Daily(ctx, r.siteID, y.from, to, ids...)
	if err != nil {
		return y, fmt.Errorf("read the days of site %s: %w", r.siteID, err)
	}
	light, err := s.dayLight(ctx, r, y.from, to)
	if err != nil {
		return y, err
	}
	usual := usualSamples(sums, r.zone)
	energy, capacity := map[int64]float64{}, map[int64]float64{} // by the Unix time of midnight
	for _, d := range sums {
		if float64(d.Samples) >= wholeDay*usual[monthOf(d, r.zone)] {
			energy[d.Day.Unix()] += d.EnergyKWh
			capacity[d.Day.Unix()] += rated[d.AssetID]
		}
	}
	days := 0
	for from := range series.Days(y.from, to, r.zone) {
		days++
		at := from.Unix()
		if h := light[at]; capacity[at] > 0 && h >= leastYearHours {
			y.days = append(y.days, kpi.DayYield{Day: from, Yield: energy[at] / capacity[at] / h})
		}
	}
	y.share = float64(len(capacity)) / float64(days)
	return y, nil
}

// dayLight is each day's reference yield in hours at 25 °C, by the Unix time of
// its midnight.
func (s *Service) dayLight(ctx context.Context, r *reading, from, to time.Time) (map[int64]float64, error) {
	f, err := store.Collect(s.telemetry.Read(ctx, r.siteID, r.sensor, from, to, series.IrradianceWM2, series.TemperatureC, series.WindSpeedMS))
	if err != nil {
		return nil, fmt.Errorf("read the weather of asset %s: %w", r.sensor, err)
	}
	start := time.Unix(from.Unix()-from.Unix()%3600, 0).UTC()
	grid := series.Series{Start: start, Step: time.Hour}
	n := int(to.Sub(start)/time.Hour) + 1
	sun := onGrid(f, series.IrradianceWM2, grid, n)
	cell := cells(r.basis.mounts, sun, onGrid(f, series.TemperatureC, grid, n).Values, onGrid(f, series.WindSpeedMS, grid, n).Values)
	out := map[int64]float64{}
	for i, g := range sun.Values {
		if math.IsNaN(g) {
			continue
		}
		if c := cell.Values[i]; !math.IsNaN(c) {
			g *= 1 + r.basis.gamma*(c-standardCellC)
		}
		out[series.Midnight(sun.Time(i), r.zone).Unix()] += max(g, 0) / 1000
	}
	return out, nil
}

type unitMonth struct {
	asset string
	year  int
	month time.Month
}

func monthOf(d store.DaySum, zone *time.Location) unitMonth {
	t := d.Day.In(zone)
	return unitMonth{d.AssetID, t.Year(), t.Month()}
}

// usualSamples is how many samples a whole day of each unit's month has.
func usualSamples(sums []store.DaySum, zone *time.Location) map[unitMonth]float64 {
	counts := map[unitMonth][]int{}
	for _, d := range sums {
		counts[monthOf(d, zone)] = append(counts[monthOf(d, zone)], d.Samples)
	}
	out := map[unitMonth]float64{}
	for m, list := range counts {
		slices.SortFunc(list, cmp.Compare)
		out[m] = float64(list[len(list)/2])
	}
	return out
}
