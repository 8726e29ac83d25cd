package ingest

import (
	"maps"
	"math"
	"slices"
	"time"

	"app.sunloop/engine/series"
)

// Day is the power of a day, of all units of a file together.
type Day struct {
	Day         string     `json:"day"` // 2006-01-02, of the zone of the times
	StepMinutes float64    `json:"step_minutes"`
	Points      []DayPoint `json:"points"` // in order of time; unknown ones are left out
}

// DayPoint is the mean power of an interval.
type DayPoint struct {
	Start   time.Time `json:"timestamp"`
	PowerKW float64   `json:"power_kw"`
}

// EnergyKWh returns the energy of the day.
func (d *Day) EnergyKWh() float64 {
	sum := 0.0
	for _, p := range d.Points {
		sum += p.PowerKW
	}
	return sum * d.StepMinutes / 60
}

// leastDayStep is the shortest step of the power of a file's first day.
const leastDayStep = 15 * time.Minute

// FirstDay returns the power of the first day with production in a zone; nil if there
// is none, or if the values are of more than a day.
func FirstDay(r *Result, zone *time.Location) *Day {
	first := int64(math.MaxInt64)
	for _, a := range r.Assets {
		power := a.Frame.Values(series.PowerKW)
		if i := slices.IndexFunc(power, func(v float64) bool { return v > 0 }); i >= 0 {
			first = min(first, a.Frame.Times[i])
		}
	}
	step := max(r.Interval, leastDayStep)
	if first == math.MaxInt64 || step > 24*time.Hour {
		return nil
	}
	start := series.Midnight(time.Unix(first, 0), zone)
	end := series.NextMidnight(start, zone)
	sums := map[int]float64{}
	for _, a := range r.Assets {
		s := a.Frame.Slice(start.Unix(), end.Unix()).Resample(series.PowerKW, step)
		for i, v := range s.Values {
			if k := int(s.Time(i).Sub(start) / step); k >= 0 && !math.IsNaN(v) {
				sums[k] += v
			}
		}
	}
	out := &Day{Day: start.Format(time.DateOnly), StepMinutes: step.Minutes()}
	for _, k := range slices.Sorted(maps.Keys(sums)) {
		out.Points = append(out.Points, DayPoint{start.Add(time.Duration(k) * step), sums[k]})
	}
	return out
}
