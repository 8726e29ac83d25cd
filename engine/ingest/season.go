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

// clockMoves measures by what share of each clock change of the zone the production
// of the file moves in wall time: about 1 if the logger's clock is changed, about 0 if
// it is not. known is false without enough days around a change.
func (t *table) clockMoves(zone *time.Location) (part float64, known bool) {
	col := t.productionColumn()
	if col == nil {
		return 0, false
	}
	days, from, to := t.dailyMoments(col)
	if len(days) == 0 {
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
		a, okA := centre(days, on-seasonDays, on-1)
		b, okB := centre(days, on+1, on+seasonDays)
		if okA && okB && after != before {
			sum += (b - a) / float64(after-before)
			n++
		}
	}
	return sum / math.Max(1, float64(n)), n > 0
}

// productionColumn returns the first column of power, or of energy.
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

// dayMoment is the production of a day, and production times wall clock.
type dayMoment struct{ weight, moment float64 }

// dailyMoments sums production by the day of the wall clock.
func (t *table) dailyMoments(col *column) (days map[int64]*dayMoment, from, to int64) {
	days = map[int64]*dayMoment{}
	from, to = math.MaxInt64, math.MinInt64
	var sum *dayMoment // of day last; rows of one day follow one another
	last := int64(math.MinInt64)
	for i, wall := range t.walls {
		v := col.values[i]
		if wall == noWall || math.IsNaN(v) || v <= 0 {
			continue
		}
		d := wall / day
		if d != last {
			if sum = days[d]; sum == nil {
				sum = &dayMoment{}
				days[d] = sum
			}
			last = d
			from, to = min(from, d), max(to, d)
		}
		sum.weight += v
		sum.moment += v * float64(wall%day)
	}
	return days, from, to
}

// centre returns the mean wall time of production over days, in seconds.
func centre(days map[int64]*dayMoment, from, to int64) (float64, bool) {
	w, m, n := 0.0, 0.0, 0
	for d := from; d <= to; d++ {
		if sum := days[d]; sum != nil {
			w += sum.weight
			m += sum.moment
			n++
		}
	}
	return m / w, n >= seasonFewest
}
