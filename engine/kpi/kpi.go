// Package kpi computes KPIs of a plant's performance as pure functions of even
// series. A figure that the data do not support is NaN, never a guess.
package kpi

import (
	"math"

	"app.sunloop/engine/series"
)

// SpecificYield is the final yield Yf = E / P in kWh/kWp (IEC 61724-1): energy
// over rated power. NaN without a rating.
func SpecificYield(energyKWh, ratedKW float64) float64 {
	if !(ratedKW > 0) {
		return math.NaN()
	}
	return energyKWh / ratedKW
}

// minInsolation is the in-plane insolation, in kWh/m², below which a
// performance ratio is noise: a quarter of an hour of full sun.
const minInsolation = 0.25

// PerformanceRatio is PR = (E / P_rated) / (H / G_ref) with G_ref = 1 kW/m²
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

// Unit holds the inputs of one inverter's availability.
type Unit struct {
	CapacityKW float64
	PowerKW    series.Series
}

// Shares of a unit's capacity: the sun is useful above UsefulShare of expected
// power, and a unit is down below downShare.
const (
	UsefulShare = 0.05
	downShare   = 0.01
)

// Availability returns time-based availability, A = Σ w (t_useful − t_down) / Σ
// w t_useful with capacity as weight. An interval is useful while the expected
// power is above 5 % of capacity; a unit is down in it below 1 % of its own
// capacity. expected returns the share of capacity, 0 to 1, that a healthy
// plant would produce at the interval's start; NaN or less than 5 % is not
// useful. Intervals without a reading are excluded: missing data are not
// downtime. The result is NaN if no interval was useful.
func Availability(units []Unit, expected func(i int, u Unit) float64) float64 {
	var useful, down float64
	for _, u := range units {
		for i, p := range u.PowerKW.Values {
			if math.IsNaN(p) || !(expected(i, u) > UsefulShare) {
				continue
			}
			useful += u.CapacityKW
			if p < downShare*u.CapacityKW {
				down += u.CapacityKW
			}
		}
	}
	if useful == 0 {
		return math.NaN()
	}
	return (useful - down) / useful
}
