package kpi

import (
	"math"
	"time"

	"app.sunloop/engine/series"
)

// Reference is the reference yield of a window with what it rests on.
type Reference struct {
	Hours   float64 // the yield in hours; NaN of none
	Covered float64 // share of the due insolation whose intervals have a reading, 0 to 1; NaN if nothing was due
}

// ReferenceYield is Yr = H / (1 kW/m²) in hours (IEC 61724-1): the in-plane
// insolation of a series of irradiance in W/m². due is how much an interval
// counts: 0 where no irradiance is due, as at night, else the irradiance that is
// expected in it, or 1 where that is unknown. Missing intervals are counted: the
// yield of the known ones is divided by the share of the due insolation that
// they cover. A nil due takes all intervals alike.
func ReferenceYield(irradiance series.Series, due func(i int) float64) Reference {
	var sum, known, all float64
	n := 0
	for i, g := range irradiance.Values {
		weight := 1.0
		if due != nil {
			weight = due(i)
		}
		all += weight
		if !math.IsNaN(g) {
			sum, known, n = sum+max(g, 0), known+weight, n+1
		}
	}
	switch {
	case n == 0 && all == 0:
		return Reference{math.NaN(), math.NaN()}
	case n == 0 || known == 0:
		return Reference{math.NaN(), 0}
	}
	covered := known / all
	return Reference{sum / 1000 * irradiance.Step.Hours() / covered, covered}
}

// Constants of the temperature correction.
const (
	GammaPerK    = -0.00433 // of crystalline silicon (Dierauf et al., NREL/TP-5200-57991), where the modules' is unknown
	standardC    = 25
	stillWindMS  = 1
	coolDefaultC = 20
)

// CorrectedPerformanceRatio is the performance ratio without the weather's
// heat: PR = ΣE / Σ(P·G/1000·(1 + γ(Tc − Tref))·dt), over the intervals in which
// power (kW), irradiance (W/m²) and cell temperature (°C) are known. With
// referenceC the irradiance-weighted mean of the cell temperatures of a usual
// year it is the variant of Dierauf et al.; with 25 °C that of IEC 61724-1.
func CorrectedPerformanceRatio(power, irradiance, cellC series.Series, ratedKW, gammaPerK, referenceC float64) float64 {
	var energy, reference, insolation float64
	hours := power.Step.Hours()
	for i, p := range power.Values {
		at := power.Time(i)
		g, c := irradiance.At(at), cellC.At(at)
		if math.IsNaN(p) || math.IsNaN(g) || math.IsNaN(c) || g < 0 {
			continue
		}
		energy += p * hours
		insolation += g / 1000 * hours
		reference += ratedKW * g / 1000 * (1 + gammaPerK*(c-referenceC)) * hours
	}
	if insolation < minInsolation || !(reference > 0) {
		return math.NaN()
	}
	return energy / reference
}

// CapacityFactor is energy over what the AC rating would make in the span.
func CapacityFactor(energyKWh, ratedACKW float64, span time.Duration) float64 {
	if !(ratedACKW > 0) || span <= 0 {
		return math.NaN()
	}
	return energyKWh / (ratedACKW * span.Hours())
}
