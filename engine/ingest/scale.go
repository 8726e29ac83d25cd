package ingest

import (
	"math"
	"time"
)

// load describes values without a written unit.
type load struct {
	peakKW     float64 // of all assets together, as if the values were kW or kWh
	capacityKW float64 // 0 unknown
	whole      bool    // all values are whole numbers
	fine       bool    // most values have more than four decimals
	energy     bool
	maker      string
}

// unitGuess is an inferred unit with its reason; doubt is what else it may be.
type unitGuess struct {
	name       string
	scale      float64 // value·scale is kW or kWh
	why, doubt string
}

// Plausible share of the capacity that a plant's peak reaches.
const mostOfCapacity = 1.5

// leastForMega is the capacity in kW from which values may be in MW or MWh.
const leastForMega = 500

// inferUnit infers a unit that is not written: from the capacity if it is known,
// else from the size of the values.
func inferUnit(l load) unitGuess {
	suffix := ""
	if l.energy {
		suffix = "h"
	}
	mega, kilo, plain := "M"+"W"+suffix, "k"+"W"+suffix, "W"+suffix
	if l.maker == "Solar-Log" {
		return unitGuess{plain, 1e-3, "Solar-Log writes " + plain, ""}
	}
	if l.capacityKW <= 0 {
		switch {
		case !l.energy && l.peakKW <= 1.1 && l.fine && l.peakKW > 0:
			return unitGuess{kilo, 1, "nothing contradicts it", "the values look like a share of the capacity; set the capacity to have them scaled"}
		case l.peakKW >= 20000 || !l.energy && (l.peakKW >= 1000 || l.whole && l.peakKW >= 500):
			return unitGuess{plain, 1e-3, "the values are too large for " + kilo, "no unit is written and the capacity is not known"}
		}
		return unitGuess{kilo, 1, "nothing contradicts it", "no unit is written and the capacity is not known"}
	}
	if !l.energy && l.peakKW <= 1.1 && l.fine && l.capacityKW >= 2 {
		return unitGuess{"fraction", l.capacityKW, "the values are finely divided shares between 0 and 1 of the capacity", ""}
	}
	best := unitGuess{plain, 1e-3, "in a larger unit, the values would exceed the capacity", ""}
	for _, g := range []unitGuess{{kilo, 1, "the values fit the capacity", ""}, {mega, 1e3, "the values fit the capacity", ""}} {
		tooSmallForMega := g.name == mega && l.capacityKW < leastForMega
		if l.peakKW*g.scale <= mostOfCapacity*l.capacityKW && !tooSmallForMega && l.peakKW > 0 {
			best = g
		}
	}
	if l.peakKW == 0 {
		best = unitGuess{kilo, 1, "all values are zero", ""}
	}
	if share := l.peakKW * best.scale / l.capacityKW; share < 0.02 {
		best.doubt = "the values reach less than 2 % of the capacity"
	}
	return best
}

// energyFits reports whether values whose name and unit do not state power or
// interval energy are the latter: of the interpretations that the capacity
// allows, the one whose highest value is nearest to what plants reach. peak is
// the highest value of all assets together, as written.
func energyFits(peak, capacityKW float64, step time.Duration) bool {
	const usual, most, penalty = 0.6, 1.2, 0.3
	if capacityKW <= 0 || step <= 0 || peak <= 0 {
		return false
	}
	best, energy := math.Inf(1), false
	for _, scale := range []float64{1e-3, 1, 1e3} {
		if scale > 1 && capacityKW < leastForMega {
			continue
		}
		asPower := peak * scale / capacityKW
		asEnergy := asPower / step.Hours()
		if far := math.Abs(math.Log(asPower / usual)); asPower <= most && far < best {
			best, energy = far, false
		}
		if far := math.Abs(math.Log(asEnergy/usual)) + penalty; asEnergy <= most && far < best {
			best, energy = far, true
		}
	}
	return energy
}

// grain examines the decimals of values.
func grain(values []float64) (whole, fine bool) {
	n, fractions, fines := 0, 0, 0
	for _, v := range values {
		if math.IsNaN(v) || v == 0 {
			continue
		}
		n++
		if v != math.Trunc(v) {
			fractions++
		}
		if s := v * 1e4; math.Abs(s-math.Round(s)) > 1e-5 {
			fines++
		}
	}
	return fractions == 0, n > 0 && fines*2 > n
}
