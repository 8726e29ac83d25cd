package kpi

import (
	"math"
	"slices"
	"time"

	"app.sunloop/engine/series"
)

// EnergyAvailability returns A = 1 − lost / (lost + actual) (after RdTools'
// AvailabilityAnalysis): the produced share of the energy that could have been
// produced. It is NaN if both are zero.
func EnergyAvailability(actualKWh, lostKWh float64) float64 {
	if actualKWh+lostKWh <= 0 {
		return math.NaN()
	}
	return 1 - lostKWh/(lostKWh+actualKWh)
}

// Category is what a unit was doing in a useful interval (after the idea of
// IEC TS 63019). The order is the precedence where several would fit.
type Category string

// The categories.
const (
	Unknown     Category = "unknown"      // no reading and no event says
	GridOutage  Category = "grid_outage"  // the grid was off
	ForceMajor  Category = "weather"      // snow, storm
	Scheduled   Category = "scheduled"    // planned work
	Forced      Category = "forced"       // a failure of the unit
	Curtailed   Category = "curtailed"    // held back by a limit from outside
	Partial     Category = "partial"      // part of the array does not feed
	FullService Category = "full_service" // running
)

// State is a stretch in which units of a plant were in a category.
type State struct {
	Category Category
	Units    []int // indices
	From, To time.Time
}

// Split is the hours of useful time in each category, weighted by capacity: they
// sum to the mean useful hours of a unit. An interval is useful as in
// [Availability]. In it a unit is in the category of the first state of the
// list's precedence that covers it; without one it is in full service while it
// runs, forced below 1 % of its capacity, and unknown without a reading.
func Split(units []Unit, states []State, expected func(i int, u Unit) float64) map[Category]float64 {
	order := []Category{GridOutage, ForceMajor, Scheduled, Forced, Curtailed, Partial}
	out := map[Category]float64{}
	var capacity float64
	for _, u := range units {
		capacity += u.CapacityKW
	}
	for k, u := range units {
		for i, p := range u.PowerKW.Values {
			if !(expected(i, u) > UsefulShare) {
				continue
			}
			weight := u.CapacityKW / capacity * u.PowerKW.Step.Hours()
			out[categoryAt(states, order, k, u.PowerKW.Time(i), p, u.CapacityKW)] += weight
		}
	}
	return out
}

func categoryAt(states []State, order []Category, unit int, at time.Time, powerKW, capacityKW float64) Category {
	for _, c := range order {
		for _, s := range states {
			if s.Category == c && slices.Contains(s.Units, unit) && !at.Before(s.From) && at.Before(s.To) {
				return c
			}
		}
	}
	switch {
	case math.IsNaN(powerKW):
		return Unknown
	case powerKW < downShare*capacityKW:
		return Forced
	}
	return FullService
}

// TimeAvailability is the share of useful hours that a unit was not down, of a
// [Split]. Raw counts every reason; contractual leaves out grid, weather,
// curtailment and planned work (Sandia SAND2015-10223). Unknown hours are left
// out of both. NaN of none.
func TimeAvailability(hours map[Category]float64) (raw, contractual float64) {
	served := hours[FullService] + hours[Partial]
	all := served + hours[Forced] + hours[GridOutage] + hours[ForceMajor] + hours[Scheduled]
	ratio := func(up, whole float64) float64 {
		if whole == 0 {
			return math.NaN()
		}
		return up / whole
	}
	return ratio(served+hours[Curtailed], all+hours[Curtailed]), ratio(served, served+hours[Forced])
}

// DataAvailability returns the share of the useful intervals in which a reading
// arrived; useful selects intervals, for example those by day. It is NaN if
// there are none.
func DataAvailability(power series.Series, useful func(i int) bool) float64 {
	received, due := 0, 0
	for i, p := range power.Values {
		if !useful(i) {
			continue
		}
		due++
		if !math.IsNaN(p) {
			received++
		}
	}
	if due == 0 {
		return math.NaN()
	}
	return float64(received) / float64(due)
}
