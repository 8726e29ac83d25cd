package solar

import "math"

// Plane is how modules lie.
type Plane struct {
	TiltDeg    float64 // from horizontal, 0..90
	AzimuthDeg float64 // where it faces, from north through east
}

// CosIncidence is the cosine of the angle between the sun's rays and the
// plane's normal; negative with the sun behind the plane.
func (p Plane) CosIncidence(pos Position) float64 {
	sinT, cosT := sincosD(p.TiltDeg)
	sinZ, cosZ := sincosD(pos.ApparentZenithDeg)
	return clamp(cosZ*cosT+sinT*sinZ*cosD(pos.AzimuthDeg-p.AzimuthDeg), -1, 1)
}

// PlaneOfArray is the irradiance in the plane of the modules, W/m², by origin.
type PlaneOfArray struct {
	Beam   float64 // direct and, after Hay and Davies, circumsolar diffuse
	Sky    float64 // the rest of the sky
	Ground float64 // reflected
	Cosine float64 // of the angle of incidence
}

// Global is the sum of its parts.
func (p PlaneOfArray) Global() float64 { return p.Beam + p.Sky + p.Ground }

// HayDavies returns the irradiance on the plane by the model of Hay and Davies,
// "Calculations of the solar radiation incident on an inclined surface" (1980):
// the share DNI/extraterrestrial of the diffuse irradiance is circumsolar, the
// rest isotropic. albedo of the ground is 0..1.
func (p Plane) HayDavies(pos Position, irr Irradiance, extraterrestrial, albedo float64) PlaneOfArray {
	cosine := p.CosIncidence(pos)
	anisotropy := clamp(irr.DNI/extraterrestrial, 0, 1)
	// A sun within a degree of the horizon would blow the ratio up.
	ratio := max(cosine, 0) / max(cosD(pos.ApparentZenithDeg), 0.01745)
	return PlaneOfArray{
		Beam:   irr.DNI*max(cosine, 0) + irr.DHI*anisotropy*ratio,
		Sky:    irr.DHI * (1 - anisotropy) * p.skyView(),
		Ground: p.ground(irr.GHI, albedo),
		Cosine: cosine,
	}
}

// Isotropic returns the irradiance on the plane with isotropic diffuse
// irradiance (Liu and Jordan 1963).
func (p Plane) Isotropic(pos Position, irr Irradiance, albedo float64) PlaneOfArray {
	cosine := p.CosIncidence(pos)
	return PlaneOfArray{
		Beam:   irr.DNI * max(cosine, 0),
		Sky:    irr.DHI * p.skyView(),
		Ground: p.ground(irr.GHI, albedo),
		Cosine: cosine,
	}
}

// skyView returns the view factor of a tilted plane to the sky.
func (p Plane) skyView() float64 { return (1 + cosD(p.TiltDeg)) / 2 }

func (p Plane) ground(ghi, albedo float64) float64 {
	return ghi * albedo * (1 - cosD(p.TiltDeg)) / 2
}

// IncidenceModifier is the share of the beam that glass lets through at an
// angle of incidence with this cosine (ASHRAE 93-77 as used by Souka and
// Safwat 1966, b0 = 0.05).
func IncidenceModifier(cosine float64) float64 {
	if cosine <= 0 {
		return 0
	}
	return clamp(1-0.05*(1/cosine-1), 0, 1)
}

// diffuseModifier is [IncidenceModifier] at 58°, the effective angle of an
// isotropic sky on plain glass (Brandemuehl and Beckman 1980).
var diffuseModifier = IncidenceModifier(math.Cos(58 * math.Pi / 180))
