package kpi

import (
	"math"
	"time"

	"app.sunloop/engine/series"
)

// ReferenceYield is Yr = H / (1 kW/m²) in hours (IEC 61724-1): the in-plane
// insolation of a series of irradiance in W/m². Missing intervals are left out;
// NaN of none.
func ReferenceYield(irradiance series.Series) float64 {
	var sum float64
	n := 0
	for _, g := range irradiance.Values {
		if !math.IsNaN(g) {
			sum, n = sum+max(g, 0), n+1
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / 1000 * irradiance.Step.Hours()
}

// Temperature model of Sandia for open-rack glass and polymer modules, and the
// temperature coefficient that goes with it (Dierauf et al., NREL/TP-5200-57991).
const (
	sapmA        = -3.56
	sapmB        = -0.075 // per m/s
	sapmDeltaK   = 3      // cell above back of module at 1000 W/m²
	GammaPerK    = -0.00433
	standardC    = 25
	stillWindMS  = 1
	coolDefaultC = 20
)

// CellTemperatureC is the cell temperature under irradiance in W/m² in air of
// ambientC with wind in m/s, after King et al. as Dierauf et al. take it:
// T = G·exp(a + b·w) + Ta + G/1000·ΔT. NaN wind means 1 m/s, NaN ambient 20 °C.
func CellTemperatureC(irradianceWM2, ambientC, windMS float64) float64 {
	if math.IsNaN(windMS) {
		windMS = stillWindMS
	}
	if math.IsNaN(ambientC) {
		ambientC = coolDefaultC
	}
	return irradianceWM2*math.Exp(sapmA+sapmB*windMS) + ambientC + irradianceWM2/1000*sapmDeltaK
}

// WeightedCellTemperatureC is the irradiance-weighted mean of cell temperatures
// on the irradiance's grid: the reference of the weather-corrected ratio. NaN
// without light.
func WeightedCellTemperatureC(irradiance, cellC series.Series) float64 {
	var sum, weight float64
	for i, g := range irradiance.Values {
		if c := cellC.At(irradiance.Time(i)); g > 0 && !math.IsNaN(c) {
			sum, weight = sum+g*c, weight+g
		}
	}
	if weight == 0 {
		return math.NaN()
	}
	return sum / weight
}

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

// EnergyPerformanceIndex is EPI = measured over expected energy of the same
// intervals (IEC 61724-3); the expectation is a model's under the weather that
// was measured, and the figure is to be reported with the model's name.
func EnergyPerformanceIndex(measured, expected series.Series) float64 {
	var made, should float64
	for i, p := range measured.Values {
		if e := expected.At(measured.Time(i)); !math.IsNaN(p) && !math.IsNaN(e) {
			made, should = made+p, should+e
		}
	}
	if !(should > 0) {
		return math.NaN()
	}
	return made / should
}

// CapacityFactor is energy over what the AC rating would make in the span.
func CapacityFactor(energyKWh, ratedACKW float64, span time.Duration) float64 {
	if !(ratedACKW > 0) || span <= 0 {
		return math.NaN()
	}
	return energyKWh / (ratedACKW * span.Hours())
}
