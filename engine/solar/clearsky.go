package solar

import (
	"math"
	"time"
)

// Irradiance is what reaches a horizontal plane, W/m²: global, direct normal,
// diffuse. GHI = DNI·cos(zenith) + DHI.
type Irradiance struct{ GHI, DNI, DHI float64 }

// solarConstant in W/m² (Kopp and Lean 2011, rounded as pvlib and SAM do).
const solarConstant = 1366.1

// Extraterrestrial is the irradiance on a plane that faces the sun outside the
// air at t, W/m², by the Fourier series of Spencer, "Fourier series
// representation of the position of the sun", Search 2 (1971).
func Extraterrestrial(t time.Time) float64 {
	b := 2 * math.Pi * float64(t.UTC().YearDay()-1) / 365
	sin, cos := math.Sincos(b)
	sin2, cos2 := 2*sin*cos, 2*cos*cos-1
	return solarConstant * (1.00011 + 0.034221*cos + 0.00128*sin + 0.000719*cos2 + 0.000077*sin2)
}

// ClearSky returns the clear-sky irradiance at loc with the sun at p, after
// Ineichen and Perez ([Ineichen]) with the airmass of Kasten and Young and the
// pressure at loc's altitude. linke is the Linke turbidity at airmass 2; linke
// <= 0 means [LinkeTurbidity] of the place and month. Where the model would
// exceed the extraterrestrial irradiance (above 4 km under the clearest sky),
// the result is limited to it.
func ClearSky(t time.Time, p Position, loc Location, linke float64) Irradiance {
	if p.ApparentZenithDeg >= 90 {
		return Irradiance{}
	}
	if linke <= 0 {
		linke = linkeAt(t, loc)
	}
	airmass := AbsoluteAirmass(Airmass(p.ApparentZenithDeg), Pressure(loc.AltitudeM))
	ext, cosZ := Extraterrestrial(t), cosD(p.ApparentZenithDeg)
	irr := Ineichen(p.ApparentZenithDeg, airmass, linke, loc.AltitudeM, ext)
	if limit := ext * cosZ; irr.GHI > limit {
		irr.GHI = limit
		irr.DHI = limit - irr.DNI*cosZ
	}
	return irr
}

// Ineichen returns the clear-sky irradiance by Ineichen and Perez, "A new
// airmass independent formulation for the Linke turbidity coefficient", Solar
// Energy 73 (2002), with the limit of direct irradiance that keeps the diffuse
// part positive. extraterrestrial is normal to the rays, W/m².
func Ineichen(apparentZenithDeg, absoluteAirmass, linke, altitudeM, extraterrestrial float64) Irradiance {
	cosZ := cosD(apparentZenithDeg)
	if cosZ <= 0 {
		return Irradiance{}
	}
	fh1, fh2 := math.Exp(-altitudeM/8000), math.Exp(-altitudeM/1250)
	cg1 := 5.09e-5*altitudeM + 0.868
	cg2 := 3.92e-5*altitudeM + 0.0387
	ghi := cg1 * extraterrestrial * cosZ * math.Exp(-cg2*absoluteAirmass*(fh1+fh2*(linke-1)))

	dni := (0.664 + 0.163/fh1) * extraterrestrial * math.Exp(-0.09*absoluteAirmass*(linke-1))
	limit := ghi * (1 - (0.1-0.2*math.Exp(-linke))/(0.1+0.882/fh1)) / cosZ
	dni = max(0, min(dni, limit))
	return Irradiance{GHI: ghi, DNI: dni, DHI: ghi - dni*cosZ}
}

// Haurwitz returns the clear-sky global irradiance in W/m² by Haurwitz,
// "Insolation in relation to cloudiness and cloud density", Journal of
// Meteorology 2 (1945), which needs the sun's height only.
func Haurwitz(apparentZenithDeg float64) float64 {
	cosZ := cosD(apparentZenithDeg)
	if cosZ <= 0 {
		return 0
	}
	return 1098 * cosZ * math.Exp(-0.059/cosZ)
}

// Erbs splits global irradiance into direct and diffuse by the clearness index
// kt = ghi / (extraterrestrial·cos zenith), after Erbs, Klein and Duffie,
// "Estimation of the diffuse radiation fraction for hourly, daily and
// monthly-average global radiation", Solar Energy 28 (1982). Near the horizon
// (zenith over 87°) all is diffuse.
func Erbs(ghi, zenithDeg, extraterrestrial float64) (irr Irradiance, kt float64) {
	cosZ := cosD(zenithDeg)
	// The floor of the cosine keeps kt sane with the sun at the horizon.
	kt = clamp(ghi/(extraterrestrial*max(cosZ, 0.065)), 0, 1)
	fraction := 0.165
	switch {
	case kt <= 0.22:
		fraction = 1 - 0.09*kt
	case kt <= 0.8:
		fraction = polynomial([]float64{0.9511, -0.1604, 4.388, -16.638, 12.336}, kt)
	}
	if math.IsNaN(kt) {
		return Irradiance{ghi, math.NaN(), math.NaN()}, kt
	}
	dhi := fraction * ghi
	dni := (ghi - dhi) / cosZ
	if zenithDeg > 87 || ghi < 0 || dni < 0 {
		return Irradiance{GHI: ghi, DNI: 0, DHI: ghi}, kt
	}
	return Irradiance{GHI: ghi, DNI: dni, DHI: dhi}, kt
}

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
