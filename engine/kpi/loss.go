package kpi

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// SoilingRatio is the insolation-weighted mean of yield over clean yield (after
// RdTools' SRR): 1 is clean. Slices are days: normalised yield, what it would be
// clean, and insolation in kWh/m². Days with a missing figure are left out.
func SoilingRatio(yield, clean, insolation []float64) float64 {
	var sum, weight float64
	for i := range yield {
		if x := yield[i] / clean[i] * insolation[i]; !math.IsNaN(x) && clean[i] > 0 {
			sum, weight = sum+x, weight+insolation[i]
		}
	}
	if weight == 0 {
		return math.NaN()
	}
	return sum / weight
}

// DayYield is a day's weather-corrected yield, in any unit.
type DayYield struct {
	Day   time.Time
	Yield float64
}

// Figures of the year-on-year method.
const (
	yearDays      = 365
	pairWithin    = 5 // days
	leastPairs    = 30
	bootstraps    = 400
	blockOfPairs  = 20 // neighbouring pairs hang together
	bandQuantile  = 0.025
	bootstrapSeed = 1
)

// LossRate is a performance loss rate in percent a year, negative for a loss.
type LossRate struct {
	PercentPerYear float64
	Low, High      float64 // ends of the 95 % band
	Pairs          int     // of days a year apart
}

// PerformanceLossRate is the median of the year-on-year changes of daily yield
// (RdTools' degradation_year_on_year), with a 95 % band by bootstrap over blocks
// of pairs. Days are in order of time. NaN with less than a year or thirty pairs.
func PerformanceLossRate(days []DayYield) LossRate {
	var changes []float64
	j := 0
	for _, d := range days {
		for j < len(days) && days[j].Day.Sub(d.Day) < (yearDays-pairWithin)*24*time.Hour {
			j++
		}
		best, off := math.NaN(), time.Duration(math.MaxInt64)
		for i := j; i < len(days); i++ {
			gap := days[i].Day.Sub(d.Day) - yearDays*24*time.Hour
			if gap > pairWithin*24*time.Hour {
				break
			}
			if gap.Abs() < off && !math.IsNaN(days[i].Yield) {
				best, off = 100*(days[i].Yield/d.Yield-1)*yearDays*24/days[i].Day.Sub(d.Day).Hours(), gap.Abs()
			}
		}
		if !math.IsNaN(best) && !math.IsInf(best, 0) {
			changes = append(changes, best)
		}
	}
	if len(changes) < leastPairs {
		return LossRate{math.NaN(), math.NaN(), math.NaN(), len(changes)}
	}
	r := rand.New(rand.NewPCG(bootstrapSeed, uint64(len(changes))))
	medians := make([]float64, bootstraps)
	drawn := make([]float64, 0, len(changes)+blockOfPairs)
	for b := range medians {
		drawn = drawn[:0]
		for len(drawn) < len(changes) {
			at := r.IntN(max(len(changes)-blockOfPairs, 1))
			drawn = append(drawn, changes[at:min(at+blockOfPairs, len(changes))]...)
		}
		medians[b] = median(drawn[:len(changes)])
	}
	slices.Sort(medians)
	return LossRate{median(changes), medians[int(bandQuantile*bootstraps)], medians[bootstraps-1-int(bandQuantile*bootstraps)], len(changes)}
}

// median of values, which it leaves in their order; NaN of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// Failure is a repaired failure of a unit, excluding data loss, grid failures
// and external limits: when it began, when it was detected, when a person
// acknowledged it and when the unit ran again. Unknown times are zero.
type Failure struct{ Onset, Detected, Acknowledged, Restored time.Time }

// Repair summarises how long failures last. A few long ones dominate the means,
// so medians are given as well. Values are NaN without failures.
type Repair struct {
	MeanToRepairH, MedianToRepairH           float64 // restored − onset
	MeanToDetectH, MedianToDetectH           float64 // detected − onset
	MeanToAcknowledgeH, MedianToAcknowledgeH float64 // acknowledged − detected
}

// RepairTimes of failures, in hours.
func RepairTimes(failures []Failure) Repair {
	var repair, detect, acknowledge []float64
	for _, f := range failures {
		if !f.Restored.IsZero() {
			repair = append(repair, f.Restored.Sub(f.Onset).Hours())
		}
		if !f.Detected.IsZero() {
			detect = append(detect, f.Detected.Sub(f.Onset).Hours())
		}
		if !f.Acknowledged.IsZero() && !f.Detected.IsZero() {
			acknowledge = append(acknowledge, f.Acknowledged.Sub(f.Detected).Hours())
		}
	}
	return Repair{mean(repair), median(repair), mean(detect), median(detect), mean(acknowledge), median(acknowledge)}
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values)) // 0/0 is NaN
}

// MeanTimeBetweenFailuresH is operating hours over the number of failures;
// infinite without one.
func MeanTimeBetweenFailuresH(operatingHours float64, failures int) float64 {
	if failures == 0 {
		return math.Inf(1)
	}
	return operatingHours / float64(failures)
}

// Cause is the energy that was lost for one reason.
type Cause struct {
	Name string
	KWh  float64
}

// Waterfall leads from the energy that was expected of a window to the energy that
// was measured: ExpectedKWh − ΣCauses − UnexplainedKWh = ActualKWh.
type Waterfall struct {
	ExpectedKWh    float64
	Causes         []Cause // most first
	UnexplainedKWh float64 // negative where more was measured than the rest explains
	ActualKWh      float64
}

// NewWaterfall returns the waterfall of a window. Causes without a loss are left
// out; together they lose at most what was expected, each in proportion. Without
// an expectation, NaN, the measured energy and the losses are it, so that nothing
// is unexplained.
func NewWaterfall(expectedKWh, actualKWh float64, lost map[string]float64) Waterfall {
	w := Waterfall{ExpectedKWh: expectedKWh, ActualKWh: actualKWh, Causes: []Cause{}}
	sum := 0.0
	for name, kWh := range lost {
		if kWh > 0 {
			w.Causes = append(w.Causes, Cause{name, kWh})
		}
	}
	slices.SortFunc(w.Causes, func(a, b Cause) int { return cmp.Or(cmp.Compare(b.KWh, a.KWh), cmp.Compare(a.Name, b.Name)) })
	for _, c := range w.Causes {
		sum += c.KWh
	}
	if math.IsNaN(expectedKWh) {
		w.ExpectedKWh = actualKWh + sum
	} else if sum > expectedKWh {
		for i := range w.Causes {
			w.Causes[i].KWh *= max(expectedKWh, 0) / sum
		}
		w.Causes = slices.DeleteFunc(w.Causes, func(c Cause) bool { return c.KWh <= 0 })
		sum = max(expectedKWh, 0)
	}
	w.UnexplainedKWh = w.ExpectedKWh - sum - actualKWh
	return w
}
