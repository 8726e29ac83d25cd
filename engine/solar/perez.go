package solar

import "math"

// perezCoefficients are F11, F12, F13, F21, F22, F23 of each class of the sky's
// clearness, from overcast to clear: the composite of all sites of Perez et al.
// 1990, table 6.
var perezCoefficients = [8][6]float64{
	{-0.008, 0.588, -0.062, -0.060, 0.072, -0.022},
	{0.130, 0.683, -0.151, -0.019, 0.066, -0.029},
	{0.330, 0.487, -0.221, 0.055, -0.064, -0.026},
	{0.568, 0.187, -0.295, 0.109, -0.152, -0.014},
	{0.873, -0.392, -0.362, 0.226, -0.462, 0.001},
	{1.132, -1.237, -0.412, 0.288, -0.823, 0.056},
	{1.060, -1.600, -0.359, 0.264, -1.127, 0.131},
	{0.678, -0.327, -0.250, 0.156, -1.377, 0.251},
}

// perezClearness are the upper bounds of the classes but the last.
var perezClearness = [7]float64{1.065, 1.23, 1.5, 1.95, 2.8, 4.5, 6.2}

// Perez returns the irradiance on the plane by the model of Perez, Ineichen,
// Seals, Michalsky and Stewart, "Modeling daylight availability and irradiance
// components from direct and global irradiance", Solar Energy 44 (1990): the
// diffuse irradiance has a circumsolar part, a band at the horizon and an
// isotropic rest, by the clearness and brightness of the sky. extraterrestrial
// is in W/m², albedo of the ground is 0..1. The circumsolar part counts as
// beam. NaN for NaN.
func (p Plane) Perez(pos Position, irr Irradiance, extraterrestrial, albedo float64) PlaneOfArray {
	cosine := p.CosIncidence(pos)
	out := PlaneOfArray{Beam: irr.DNI * max(cosine, 0), Ground: p.ground(irr.GHI, albedo), Cosine: cosine}
	switch {
	case math.IsNaN(irr.DHI) || math.IsNaN(irr.DNI):
		out.Sky = math.NaN()
		return out
	case irr.DHI <= 0 || pos.ApparentZenithDeg >= 90:
		out.Sky = max(irr.DHI, 0) * p.skyView()
		return out
	}
	z := rad(pos.ApparentZenithDeg)
	const kappa = 1.041 // for a zenith angle in radians
	clearness := ((irr.DHI+irr.DNI)/irr.DHI + kappa*z*z*z) / (1 + kappa*z*z*z)
	class := 0
	for class < len(perezClearness) && clearness >= perezClearness[class] {
		class++
	}
	brightness := irr.DHI * Airmass(pos.ApparentZenithDeg) / extraterrestrial
	f := perezCoefficients[class]
	circumsolar := max(f[0]+f[1]*brightness+f[2]*z, 0)
	horizon := f[3] + f[4]*brightness + f[5]*z
	sinT, _ := sincosD(p.TiltDeg)
	// The sun lower than 5° would blow the ratio up.
	out.Beam += irr.DHI * circumsolar * max(cosine, 0) / max(cosD(pos.ApparentZenithDeg), cosD(85))
	out.Sky = max(irr.DHI*((1-circumsolar)*p.skyView()+horizon*sinT), 0)
	return out
}

// FromHorizontal returns the irradiance on the plane for a measured global
// horizontal irradiance in W/m²: split by [DISC], transposed by [Plane.Perez].
// extraterrestrial is in W/m², pressurePa is that of the place ([Pressure]),
// albedo of the ground is 0..1. The sun's position is that of the middle of the
// interval that ghi is a mean of.
//
// The result is an estimate: the split knows the sky only by its clearness
// index. See [TranspositionUncertainty].
func (p Plane) FromHorizontal(pos Position, ghi, extraterrestrial, pressurePa, albedo float64) PlaneOfArray {
	irr, _ := DISC(ghi, pos.ZenithDeg, extraterrestrial, pressurePa)
	return p.Perez(pos, irr, extraterrestrial, albedo)
}

// TranspositionUncertainty is the standard uncertainty, as a share, of the
// insolation of several days on a tilted plane that [Plane.FromHorizontal]
// makes of measured horizontal irradiance, without the sensor's own. Gueymard,
// "Direct and indirect uncertainties in the prediction of tilted irradiance for
// solar engineering applications", Solar Energy 83 (2009), finds mean bias
// errors of up to about 5 % of models that start with the global horizontal
// irradiance.
const TranspositionUncertainty = 0.05

// DefaultAlbedo is the reflectance of ground that is not known (grass).
const DefaultAlbedo = defaultAlbedo

// DISC splits global irradiance into direct and diffuse by the quasi-physical
// model of Maxwell, "A quasi-physical model for converting hourly global
// horizontal to direct normal insolation", SERI/TR-215-3087 (1987), which
// knows, unlike [Erbs], the path through the air. extraterrestrial is in W/m²;
// pressurePa is that of the place ([Pressure]). With the sun lower than 3° all
// is diffuse.
func DISC(ghi, zenithDeg, extraterrestrial, pressurePa float64) (irr Irradiance, kt float64) {
	cosZ := cosD(zenithDeg)
	kt = clamp(ghi/(extraterrestrial*max(cosZ, 0.065)), 0, 1)
	if math.IsNaN(kt) {
		return Irradiance{ghi, math.NaN(), math.NaN()}, kt
	}
	if zenithDeg > 87 || ghi <= 0 {
		return Irradiance{GHI: ghi, DHI: ghi}, kt
	}
	// Kasten's airmass of 1966, by which the model was fitted.
	am := min(1/(cosZ+0.15*math.Pow(93.885-zenithDeg, -1.253)), 12) * pressurePa / SeaLevelPressurePa
	a := polynomial([]float64{0.512, -1.56, 2.286, -2.222}, kt)
	b := polynomial([]float64{0.37, 0.962}, kt)
	c := polynomial([]float64{-0.28, 0.932, -2.048}, kt)
	if kt > 0.6 {
		a = polynomial([]float64{-5.743, 21.77, -27.49, 11.56}, kt)
		b = polynomial([]float64{41.4, -118.5, 66.05, 31.9}, kt)
		c = polynomial([]float64{-47.01, 184.2, -222, 73.81}, kt)
	}
	clear := polynomial([]float64{0.866, -0.122, 0.0121, -0.000653, 1.4e-05}, am)
	dni := clamp(extraterrestrial*(clear-a-b*math.Exp(c*am)), 0, ghi/cosZ)
	return Irradiance{GHI: ghi, DNI: dni, DHI: ghi - dni*cosZ}, kt
}
