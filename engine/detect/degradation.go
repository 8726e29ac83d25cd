package detect

import (
	"math"
	"slices"

	"app.sunloop/engine/loss"
	"app.sunloop/internal/display"
)

// degradation finds a site whose yield per irradiation falls from year to year:
// the median of the changes between days one year apart, with the interval that
// contains 95 % of the medians of such changes. It requires two years of data.
type degradation struct {
	record *record
	asked  int64 // when it was last evaluated
}

// Figures of the rule.
const (
	yearSpan       = 365
	yearWithin     = 4      // days
	yearlyWarning  = -0.015 // change in a year
	yearlyCertain  = -0.010
	yearsOfData    = 2 * yearSpan
	degradationGap = 30 * 86400 // seconds between two judgements
	yearlyPairs    = 60
)

func newDegradation(*session) *degradation { return &degradation{} }

func (d *degradation) look(v *view, s *session) {
	if len(s.points) == 0 || v.first-d.asked < degradationGap || s.points[len(s.points)-1].day-s.points[0].day < yearsOfData-20 {
		return
	}
	d.asked = v.first
	change, upper, pairs := yearly(s.points)
	if pairs < yearlyPairs {
		return
	}
	end := v.end()
	switch {
	case d.record != nil:
		d.record.lastSeen = end
	case change > yearlyWarning || upper > yearlyCertain:
		return
	default:
		r := &record{family: Degradation, start: s.points[0].start, detected: end, lastSeen: end, seen: newFacts()}
		for k := range s.in.Units {
			r.units = append(r.units, k)
		}
		d.record = s.open(r)
	}
	years := (s.points[len(s.points)-1].day - s.points[0].day) / yearSpan
	d.record.fraction = 1 - math.Pow(1+change, years)
	d.record.losses = loss.Ledger{}
	for _, day := range s.produced {
		if share := 1 - math.Pow(1+change, (float64(day.start)/86400-s.points[0].day)/yearSpan); share > 0 {
			d.record.losses.AddScaled(day.energy, share/(1-share))
		}
	}
	d.record.observed = []Evidence{
		shows("yearly_change", 2, 100*change, 100*yearlyWarning, "%", "Over %s of days a year apart the yield on the light changed by %s a year in the middle.", display.CountOf(pairs, "pair", "pairs"), display.Percentage(100*change)),
		shows("certainly", 1.5, 100*upper, 100*yearlyCertain, "%", "With 95 %% certainty it is at least %s.", display.Percentage(-100*upper)),
	}
}

// yearly is the median relative change between points a year apart and the
// upper end of its 95 % band, taking 20 days of pairs for one independent one.
func yearly(points []point) (change, upper float64, pairs int) {
	var changes []float64
	j := 0
	for _, p := range points {
		for j < len(points) && points[j].day < p.day+yearSpan-yearWithin {
			j++
		}
		var near []float64
		for i := j; i < len(points) && points[i].day <= p.day+yearSpan+yearWithin; i++ {
			near = append(near, points[i].yield)
		}
		if len(near) > 0 {
			changes = append(changes, median(near)/p.yield-1)
		}
	}
	if len(changes) == 0 {
		return 0, 0, 0
	}
	slices.Sort(changes)
	n := float64(len(changes))
	// The order statistic that 1.96 deviations of the binomial of n/20
	// independent ones lie above the middle.
	rank := int(math.Ceil(n * (0.5 + 1.96*0.5/math.Sqrt(max(n/20, 1)))))
	return changes[len(changes)/2], changes[min(rank, len(changes)-1)], len(changes)
}
