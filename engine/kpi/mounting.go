package kpi

import "math"

// Mounting is how modules are mounted, which decides how hot they get and
// whether their plane is fixed.
type Mounting string

// Mountings.
const (
	OpenRack      Mounting = "open_rack"       // glass and polymer modules with free air behind them
	OpenRackGlass Mounting = "open_rack_glass" // the same of glass-glass modules
	CloseRoof     Mounting = "close_roof"      // glass-glass modules close to a roof
	Insulated     Mounting = "insulated"       // modules in a roof or facade, without air behind them
	Tracker       Mounting = "tracker"         // modules that follow the sun
)

// sapm are the parameters of the temperature model of King, Boyson and
// Kratochvil, "Photovoltaic array performance model", SAND2004-3535, table 1.
type sapm struct{ a, b, deltaK float64 }

var sapmOf = map[Mounting]sapm{
	OpenRack: {-3.56, -0.0750, 3}, OpenRackGlass: {-3.47, -0.0594, 3}, CloseRoof: {-2.98, -0.0471, 1}, Insulated: {-2.81, -0.0455, 0},
	Tracker: {-3.56, -0.0750, 3}, // free air, as on open racks
}

// CellTemperatureC is the cell temperature under plane-of-array irradiance in
// W/m² in air of ambientC with wind in m/s (King et al. 2004, equations 11 and
// 12): T = G·exp(a + b·w) + Ta + G/1000·ΔT. An unknown mounting is an open rack.
// NaN wind means 1 m/s, NaN ambient 20 °C.
func (m Mounting) CellTemperatureC(irradianceWM2, ambientC, windMS float64) float64 {
	p, ok := sapmOf[m]
	if !ok {
		p = sapmOf[OpenRack]
	}
	if math.IsNaN(windMS) {
		windMS = stillWindMS
	}
	if math.IsNaN(ambientC) {
		ambientC = coolDefaultC
	}
	return irradianceWM2*math.Exp(p.a+p.b*windMS) + ambientC + irradianceWM2/1000*p.deltaK
}
