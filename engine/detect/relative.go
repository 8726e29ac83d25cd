package detect

import "math"

// relate computes each unit's day relative to its peers, which the stages for
// slow losses share.
type relate struct{}

func (relate) look(v *view, s *session) {
	for k := range v.units {
		u := &v.units[k]
		if u.charted = false; s.memory.units[k].alike && !s.memory.units[k].held[ThermalDerating] {
			u.relative, u.charted = relativeDay(v, k, s.rating(k))
		}
	}
}

// relative is a unit's day against its peers.
type relative struct {
	ratio  float64    // median of power over expectation
	error  float64    // its standard error: clouds that pass units one by one
	weak   float64    // the same of the weaker half of the light
	parts  [3]float64 // the same of the day's thirds
	steady []int      // cells used
	code   float64
}

// relativeDay returns false for days with less than two hours of good samples:
// at sufficient irradiance, with peers and unit below their limits, not
// explained by another stage, and steady relative to the neighbouring samples,
// since clouds pass one unit after the other. At its limit a unit hides what
// its array has lost.
func relativeDay(v *view, k int, rating float64) (relative, bool) {
	u := &v.units[k]
	steady := func(i, j int) bool {
		return j >= 0 && j < v.cells && math.Abs(u.power[i]/u.even[i]-u.power[j]/u.even[j]) < steadyWithin
	}
	var cells []int
	for i := range v.cells {
		e, p := u.expected[i], u.power[i]
		if !steady(i, i-1) || !steady(i, i+1) {
			continue
		}
		if u.tier[i] == tierPeers && u.peers[i] >= 2 && u.claimed[i] == "" && e > 0.12*rating && e < 0.93*rating && p > offShare*rating && p < 0.97*rating {
			cells = append(cells, i)
		}
	}
	if float64(len(cells))*v.hours() < 2 || len(cells) < 6 {
		return relative{}, false
	}
	of := func(some []int) float64 {
		var ratios []float64
		for _, i := range some {
			ratios = append(ratios, u.power[i]/u.expected[i])
		}
		return median(ratios)
	}
	day := relative{ratio: of(cells), steady: cells, code: math.NaN()}
	var off []float64
	for _, i := range cells {
		off = append(off, math.Abs(u.power[i]/u.expected[i]-day.ratio))
	}
	// Standard error of a median of values that hang together for an hour.
	day.error = 1.25 * 1.48 * median(off) / math.Sqrt(max(float64(len(cells))*v.hours(), 1))
	var levels []float64
	for _, i := range cells {
		levels = append(levels, u.expected[i])
		if u.code[i] > 0 {
			day.code = u.code[i]
		}
	}
	half := median(levels)
	var weak []int
	for _, i := range cells {
		if u.expected[i] <= half {
			weak = append(weak, i)
		}
	}
	day.weak = of(weak)
	third := len(cells) / 3
	day.parts = [3]float64{of(cells[:third]), of(cells[third : 2*third]), of(cells[2*third:])}
	return day, true
}

// everywhere reports whether the loss f appears in all parts of the day and at
// low irradiance: a shadow affects some hours only, heat affects high
// irradiance only.
func (d relative) everywhere(f float64) bool {
	if 1-d.weak < 0.5*f {
		return false
	}
	shown := 0
	for _, p := range d.parts {
		if 1-p >= 0.5*f {
			shown++
		}
	}
	return shown == 3
}
