package detect

import (
	"math"

	"app.sunloop/internal/display"
)

// quality removes from the view what is not a reading: values above what a unit
// can produce, and rows in which a logger repeats its last values. It comes
// before all other stages, so that neither peers nor learned values depend on
// such rows.
type quality struct {
	units []repetition
	moves []int // of each cell: units whose power differs from the cell before
}

// repetition is a run of equal rows of a unit.
type repetition struct {
	power, counter, light, temp float64
	hours                       float64 // since the first of them
	cells                       int
	dayCells                    int // repeats under a sun that cannot hold still
	dayHours                    float64
	lowest, highest             float64 // what the other units' light did meanwhile
	alive                       bool    // another unit's power moved meanwhile
	held                        bool
}

// A power reading is credible between these shares of the rating.
const (
	lowestShare  = -0.1
	highestShare = 1.5
)

// beyondCredible reports whether a unit of a rating (0 if unknown) cannot
// produce p.
func beyondCredible(p, rating float64) bool {
	if rating <= 0 {
		return math.Abs(p) > 1e9
	}
	return p > highestShare*rating || p < lowestShare*rating
}

func newQuality(n int) *quality { return &quality{units: make([]repetition, n)} }

func (q *quality) look(v *view, s *session) {
	q.wild(v, s)
	fit(&q.moves, v.cells)
	clear(q.moves)
	for k := range v.units {
		for i := 1; i < v.cells; i++ {
			if v.units[k].moves(i) {
				q.moves[i]++
			}
		}
	}
	for k := range v.units {
		q.units[k].follow(v, k, s.rating(k), q.moves)
	}
}

// moves reports whether the power of cell i differs from that of the previous
// cell.
func (u *unitView) moves(i int) bool { return math.Abs(u.power[i]-u.power[i-1]) > 0 }

// wild takes out values beyond what a unit can give.
func (q *quality) wild(v *view, s *session) {
	for k := range v.units {
		u, rating := &v.units[k], s.in.Units[k].CapacityKW
		beyond := 0
		for i := range v.cells {
			if p := u.raw[i]; beyondCredible(p, rating) {
				u.power[i] = math.NaN()
				beyond++
			}
		}
		if beyond*4 > v.cells {
			s.note(s.in.Units[k].AssetID, "on some days the power is far beyond the capacity of %s; check the unit of the readings and the capacity", display.Power(rating))
		}
	}
}

// follow marks rows as not received in which a logger only repeats itself.
// Three conditions are impossible: constant power and an unchanged counter,
// once the power would have produced the energy of three counts (a counter
// may count whole kWh only); constant power at night; and constant values of
// all quantities including irradiance by day, as seen by the sun's height or
// the other units' power.
func (r *repetition) follow(v *view, k int, rating float64, moves []int) {
	u := &v.units[k]
	for i := range v.cells {
		p, c := u.power[i], u.counter[i]
		if math.IsNaN(p) {
			if u.heard[i] {
				*r = repetition{power: math.NaN()}
			}
			continue // rows that are missing end no run
		}
		now := repetition{power: p, counter: c, light: u.light[i], temp: u.temp[i], cells: 1, hours: v.hours(), lowest: math.Inf(1), highest: math.Inf(-1)}
		if !equal(p, r.power) || !equal(c, r.counter) || !equal(now.light, r.light) || !equal(now.temp, r.temp) {
			*r = now
			continue
		}
		r.cells++
		flat := p > offShare*rating && rating > 0 && !math.IsNaN(c) && p*r.hours >= max(3, 0.03*rating) && r.cells >= 4
		alone := math.IsNaN(c) && math.IsNaN(r.light) && math.IsNaN(r.temp) // then it is a frozen reading
		night := p > offShare*rating && rating > 0 && v.clear[i] == 0 && r.cells > 3 && !alone
		r.hours += v.hours()
		if !math.IsNaN(r.light) {
			if g := othersLight(v, k, i); !math.IsNaN(g) {
				r.lowest, r.highest = min(r.lowest, g), max(r.highest, g)
			}
			if v.clear[i] >= armedShare {
				r.dayCells++
				r.dayHours += v.hours()
			}
		}
		still := established(r.dayCells, r.dayHours) && (r.highest-r.lowest > 20 || r.cells > 3 && (r.light > 2 && v.clear[i] >= 0.1 || v.clear[i] >= 0.2))
		r.alive = r.alive || moves[i] > 1 || moves[i] == 1 && !u.moves(i)
		if r.alive && !math.IsInf(r.lowest, 1) && r.highest-r.lowest <= 1 {
			still = false // the sensor is frozen for all: it does not show this unit's logger
		}
		if !r.held && (flat || night || still) {
			r.held = true
			for j := max(i-r.cells+2, 0); j < i; j++ { // the first of the run was a reading
				if u.power[j] == p {
					u.drop(j)
				}
			}
		}
		if r.held {
			u.drop(i)
		}
	}
}

// equal also holds of two missing values.
func equal(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// othersLight is the irradiance that the first other unit with a reading
// reports.
func othersLight(v *view, k, i int) float64 {
	for other := range v.units {
		if g := v.units[other].light[i]; other != k && !math.IsNaN(g) {
			return g
		}
	}
	return math.NaN()
}
