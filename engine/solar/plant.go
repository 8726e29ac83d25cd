package solar

import "math"

// Plant is what turns irradiance into power. The zero value with an AC
// capacity is a flat, well-kept crystalline plant: each zero field below means
// its default.
type Plant struct {
	ACCapacityKW float64 // sum of inverter ratings
	DCCapacityKW float64 // sum of module ratings at 1000 W/m² and 25 °C; default 1.2·AC
	Plane        Plane   // zero: horizontal

	Loss               float64 // DC share lost, 0..1; default [DefaultLoss]; negative: none
	TemperaturePerK    float64 // change of DC power per kelvin; default -0.0037 (crystalline silicon)
	InverterEfficiency float64 // nominal; default 0.96
	Albedo             float64 // of the ground; default 0.2 (grass)
}

const (
	defaultDCRatio            = 1.2
	defaultTemperaturePerK    = -0.0037
	defaultInverterEfficiency = 0.96
	defaultAlbedo             = 0.2
	defaultTemperatureC       = 20 // of the air, where it is not known
	defaultWindMS             = 1  // sheltered, where it is not known
)

// withDefaults replaces the zero fields.
func (p Plant) withDefaults() Plant {
	for _, d := range []struct {
		field *float64
		value float64
	}{
		{&p.DCCapacityKW, defaultDCRatio * p.ACCapacityKW},
		{&p.Loss, DefaultLoss},
		{&p.TemperaturePerK, defaultTemperaturePerK},
		{&p.InverterEfficiency, defaultInverterEfficiency},
		{&p.Albedo, defaultAlbedo},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	p.Loss = clamp(p.Loss, 0, 1)
	return p
}

// PowerKW is the AC power under irr with the sun at pos: transposition after
// Hay and Davies, glass reflection, Faiman's cell temperature, PVWatts' module
// and inverter, clipped at the AC capacity. extraterrestrial is in W/m², tempC
// and windMS are of the air; NaN for either means 20 °C and 1 m/s. NaN
// irradiance gives NaN. Where only GHI is known, split it with [Erbs] first.
func (p Plant) PowerKW(pos Position, irr Irradiance, extraterrestrial, tempC, windMS float64) float64 {
	p = p.withDefaults()
	poa := p.Plane.HayDavies(pos, irr, extraterrestrial, p.Albedo)
	return p.acKW(poa, tempC, windMS)
}

// PowerFromPlaneKW is [Plant.PowerKW] for an irradiance that was measured in
// the plane of the modules, W/m².
func (p Plant) PowerFromPlaneKW(poaWM2, tempC, windMS float64) float64 {
	return p.withDefaults().acKW(PlaneOfArray{Beam: poaWM2, Cosine: 1}, tempC, windMS)
}

func (p Plant) acKW(poa PlaneOfArray, tempC, windMS float64) float64 {
	if math.IsNaN(tempC) {
		tempC = defaultTemperatureC
	}
	if math.IsNaN(windMS) {
		windMS = defaultWindMS
	}
	effective := poa.Beam*IncidenceModifier(poa.Cosine) + (poa.Sky+poa.Ground)*diffuseModifier
	cellC := FaimanC(poa.Global(), tempC, windMS)
	dcKW := PVWattsDC(effective, cellC, p.DCCapacityKW, p.TemperaturePerK) * (1 - p.Loss)
	return PVWattsInverter(dcKW, p.ACCapacityKW/p.InverterEfficiency, p.InverterEfficiency)
}

// FaimanC is the module temperature in °C under poaWM2 W/m² in air of tempC
// with wind of windMS, after Faiman, "Assessing the outdoor operating
// temperature of photovoltaic modules", Progress in Photovoltaics 16 (2008),
// with his u0 = 25.0 and u1 = 6.84.
func FaimanC(poaWM2, tempC, windMS float64) float64 {
	return FaimanWithC(poaWM2, tempC, windMS, 25.0, 6.84)
}

// FaimanWithC is [FaimanC] with a site's own loss factors: u0 in W/(m²·K), u1
// in W·s/(m³·K).
func FaimanWithC(poaWM2, tempC, windMS, u0, u1 float64) float64 {
	return tempC + poaWM2/(u0+u1*windMS)
}

// PVWattsDC is the DC power of modules rated dc0 (any unit of power) under an
// effective irradiance in W/m² at a cell temperature in °C: Dobos, "PVWatts
// Version 5 Manual", NREL/TP-6A20-62641 (2014), equation 8. The result has
// dc0's unit.
func PVWattsDC(effectiveWM2, cellC, dc0, perK float64) float64 {
	return max(0, effectiveWM2/1000*dc0*(1+perK*(cellC-25)))
}

// PVWattsInverter is the AC power of an inverter for dc power in, by the part
// load curve of the same manual, equations 9 to 12, clipped at its rating
// efficiency·dc0; dc0 is the DC power at that rating. The result has dc's unit.
func PVWattsInverter(dc, dc0, efficiency float64) float64 {
	const reference = 0.9637
	switch {
	case math.IsNaN(dc):
		return dc
	case dc <= 0 || dc0 <= 0:
		return 0
	case dc >= dc0:
		return efficiency * dc0
	}
	load := dc / dc0
	eta := efficiency / reference * (-0.0162*load - 0.0059/load + 0.9858)
	return clamp(eta*dc, 0, efficiency*dc0)
}

// Losses combines shares lost one after the other into one share, 0..1.
func Losses(shares ...float64) float64 {
	kept := 1.0
	for _, s := range shares {
		kept *= 1 - s
	}
	return 1 - kept
}

// DefaultLoss is the PVWatts manual's: soiling 2 %, shading 3 %, mismatch 2 %,
// wiring 2 %, connections 0.5 %, light-induced degradation 1.5 %, nameplate
// 1 %, availability 3 %.
var DefaultLoss = Losses(0.02, 0.03, 0.02, 0.02, 0.005, 0.015, 0.01, 0.03)
