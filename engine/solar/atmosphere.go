package solar

import "math"

// Standard pressure at sea level and the mean temperature that the refraction
// of a place without its own values is computed with.
const (
	SeaLevelPressurePa   = 101325.0
	standardTemperatureC = 12.0
)

// StandardAtmosphere is the air over loc where nothing is known of it: the
// pressure of its altitude and 12 °C.
func StandardAtmosphere(loc Location) Atmosphere {
	return Atmosphere{PressurePa: Pressure(loc.AltitudeM), TemperatureC: standardTemperatureC}
}

// Pressure is the mean air pressure in Pa at altitudeM metres, by the standard
// atmosphere's troposphere (ICAO 1993; 6.5 K/km from 15 °C).
func Pressure(altitudeM float64) float64 {
	return 100 * math.Pow((44331.514-altitudeM)/11880.516, 1/0.1902632)
}

// Airmass is the relative optical airmass at an apparent zenith angle after
// Kasten and Young, "Revised optical air mass tables and approximation
// formula", Applied Optics 28 (1989). It is NaN with the sun under the horizon.
func Airmass(apparentZenithDeg float64) float64 {
	if apparentZenithDeg > 90 {
		return math.NaN()
	}
	return 1 / (cosD(apparentZenithDeg) + 0.50572*math.Pow(6.07995+(90-apparentZenithDeg), -1.6364))
}

// AbsoluteAirmass is a relative airmass scaled by pressurePa over that of the
// sea level.
func AbsoluteAirmass(relative, pressurePa float64) float64 {
	return relative * pressurePa / SeaLevelPressurePa
}
