// Package kpi computes KPIs of a plant's performance as pure functions of even
// series. A figure that the data do not support is NaN, never a guess.
package kpi

import (
	"math"

	"app.sunloop/engine/series"
)

// SpecificYield is the final yield Yf = E / P_DC in kWh/kWp (IEC 61724-1): AC
// energy over the DC rating. NaN without a rating.
func SpecificYield(energyKWh, ratedKW float64) float64 {
	if !(ratedKW > 0) {
		return math.NaN()
	}
	return energyKWh / ratedKW
}

// minInsolation is the in-plane insolation, in kWh/m², below which a
// performance ratio is noise: a quarter of an hour of full sun.
const minInsolation = 0.25

// PerformanceRatio is PR = (E / P_DC) / (H / G_ref) with G_ref = 1 kW/m²
// (IEC 61724-1), over the intervals in which both power (mean kW) and plane
// irradiance (mean W/m²) are known; power is on the irradiance's grid. NaN when
// the insolation of those intervals is below a quarter of a kWh/m².
func PerformanceRatio(power, irradiance series.Series, ratedKW float64) float64 {
	var energy, insolation float64
	hours := power.Step.Hours()
	for i, p := range power.Values {
		g := irradiance.At(power.Time(i))
		if math.IsNaN(p) || math.IsNaN(g) || g < 0 {
			continue
		}
		energy += p * hours
		insolation += g / 1000 * hours
	}
	if insolation < minInsolation || !(ratedKW > 0) {
		return math.NaN()
	}
	return energy / ratedKW / insolation
}

// RatioCoverage returns the share of the due intervals, by weight, that a
// performance ratio of power and irradiance is made of, and the due hours that
// it leaves out because one of them is missing. due is as in [ReferenceYield].
// The share is NaN if nothing was due.
func RatioCoverage(power, irradiance series.Series, due func(i int) float64) (covered float64, excluded []Excluded) {
	var known, all, noPower, noIrradiance float64
	hours := power.Step.Hours()
	for i, p := range power.Values {
		weight := due(i)
		if !(weight > 0) {
			continue
		}
		all += weight
		switch g := irradiance.At(power.Time(i)); {
		case math.IsNaN(p):
			noPower += hours
		case math.IsNaN(g):
			noIrradiance += hours
		default:
			known += weight
		}
	}
	for _, e := range []Excluded{{"no_power", noPower}, {"no_irradiance", noIrradiance}} {
		if e.Hours > 0 {
			excluded = append(excluded, e)
		}
	}
	return known / all, excluded // 0/0 is NaN
}
