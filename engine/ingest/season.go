package ingest

import (
	"math"
	"time"
)

// season compares production by the wall clock before and after a change of
// the clocks.
const (
	seasonDays    = 21 // on either side
	seasonFewest  = 5  // days with production needed on either side
	longestSeries = 40 // changes of clocks to look at
)

// clockMoves measures by what part of each change of the zone's clocks the
// production of the file moves in wall time: about 1 where the logger's clock
// is put forward and back, about 0 where it is not. known is false without
// enough days around a change.
func (t *table) clockMoves(zone *time.Location) (part float64, known bool) {
	col := t.productionColumn()
	if col == nil {
		return 0, false
	}
	weight, moment, from, to := t.dailyMoments(col)
	if len(weight) == 0 {
		return 0, false
	}
	sum, n := 0.0, 0
	at := time.Unix(from*day, 0)
	for range longestSeries {
		_, change := at.In(zone).ZoneBounds()
		if change.IsZero() || change.Unix() > to*day {
			break
		}
		_, before := change.Add(-time.Second).In(zone).Zone()
		_, after := change.In(zone).Zone()
		at = change.Add(time.Hour)
		on := change.Unix() / day
		a, okA := centre(weight, moment, on-seasonDays, on-1)
		b, okB := centre(weight, moment, on+1, on+seasonDays)
		if okA && okB && after != before {
			sum += (b - a) / float64(after-before)
			n++
		}
	}
	return sum / math.Max(1, float64(n)), n > 0
}

// productionColumn is the first column of power, or of energy.
func (t *table) productionColumn() *column {
	for _, r := range []role{rolePower, roleEnergy} {
		for _, c := range t.columns {
			if c.means.role == r && c.count > 0 {
				return c
			}
		}
	}
	return nil
}

// dailyMoments sums production and production times wall clock for each day.
func (t *table) dailyMoments(col *column) (weight, moment map[int64]float64, from, to int64) {
	weight, moment = map[int64]float64{}, map[int64]float64{}
	from, to = math.MaxInt64, math.MinInt64
	for i, wall := range t.walls {
		v := col.values[i]
		if wall == noWall || math.IsNaN(v) || v <= 0 {
			continue
		}
		d := wall / day
		weight[d] += v
		moment[d] += v * float64(wall%day)
		from, to = min(from, d), max(to, d)
	}
	return weight, moment, from, to
}

// centre is the mean wall time of production over days, in seconds.
func centre(weight, moment map[int64]float64, from, to int64) (float64, bool) {
	w, m, n := 0.0, 0.0, 0
	for d := from; d <= to; d++ {
		if weight[d] > 0 {
			w += weight[d]
			m += moment[d]
			n++
		}
	}
	return m / w, n >= seasonFewest
}
