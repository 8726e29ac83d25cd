package solar

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTranspositionPublished(t *testing.T) {
	plane := Plane{TiltDeg: 40, AzimuthDeg: 180}
	south := Position{ZenithDeg: 20, ApparentZenithDeg: 20, AzimuthDeg: 180}
	near(t, "isotropic sky", plane.Isotropic(south, Irradiance{GHI: 900, DHI: 100}, 0).Sky, 88.30222215594891, 1e-9)
	// By hand: ratio cos 20°/cos 20° is 1, so the circumsolar share counts whole.
	poa := plane.HayDavies(south, Irradiance{GHI: 900, DNI: 683, DHI: 100}, 1366, 0.25)
	near(t, "beam", poa.Beam, 683*math.Cos(rad(20))+50, 1e-9)
	near(t, "sky", poa.Sky, 0.5*88.30222215594891, 1e-9)
	near(t, "ground", poa.Ground, 900*0.25*(1-math.Cos(rad(40)))/2, 1e-9)
	near(t, "global", poa.Global(), poa.Beam+poa.Sky+poa.Ground, 0)
}

func TestTranspositionProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pos := Position{AzimuthDeg: rapid.Float64Range(0, 360).Draw(t, "azimuth")}
		pos.ApparentZenithDeg = rapid.Float64Range(0, 120).Draw(t, "zenith")
		pos.ZenithDeg = pos.ApparentZenithDeg
		dni := rapid.Float64Range(0, 1000).Draw(t, "dni")
		dhi := rapid.Float64Range(0, 400).Draw(t, "dhi")
		irr := Irradiance{DNI: dni, DHI: dhi, GHI: dni*math.Max(0, cosD(pos.ApparentZenithDeg)) + dhi}
		plane := Plane{rapid.Float64Range(0, 90).Draw(t, "tilt"), rapid.Float64Range(0, 360).Draw(t, "facing")}

		anisotropic, even := plane.HayDavies(pos, irr, 1366, 0.2), plane.Isotropic(pos, irr, 0.2)
		for _, p := range []PlaneOfArray{anisotropic, even} {
			if p.Beam < 0 || p.Sky < 0 || p.Ground < 0 || math.IsNaN(p.Global()) {
				t.Fatalf("%+v", p)
			}
		}
		if dni == 0 {
			near(t, "overcast", anisotropic.Global(), even.Global(), 1e-9)
		}
		// A horizontal plane sees what a pyranometer sees, whatever the model.
		if pos.ApparentZenithDeg < 88 {
			near(t, "horizontal", Plane{}.HayDavies(pos, irr, 1366, 0.2).Global(), irr.GHI, 1e-6)
			near(t, "horizontal", Plane{}.Isotropic(pos, irr, 0.2).Global(), irr.GHI, 1e-6)
		}
		// Facing the sun gathers the most beam.
		facing := Plane{pos.ApparentZenithDeg, pos.AzimuthDeg}
		if facing.Isotropic(pos, irr, 0).Beam < even.Beam-1e-9 {
			t.Fatal("a plane that faces the sun gathers less beam")
		}
	})
}

func TestIncidenceModifier(t *testing.T) {
	near(t, "normal", IncidenceModifier(1), 1, 0)
	near(t, "60°", IncidenceModifier(0.5), 0.95, 1e-12)
	near(t, "behind", IncidenceModifier(-0.3), 0, 0)
	near(t, "grazing", IncidenceModifier(0.01), 0, 0)
}

func TestPowerModelsPublished(t *testing.T) {
	for _, c := range []struct {
		name           string
		got, want, tol float64
	}{
		{"Faiman", FaimanC(900, 20, 5), 35.203, 1e-3},
		{"PVWatts DC", PVWattsDC(900, 30, 100, -0.003), 88.65, 1e-9},
		{"PVWatts inverter", PVWattsInverter(90, 100, 0.95), 85.58556604752516, 1e-6},
		{"inverter at rating", PVWattsInverter(100, 100, 0.95), 95, 1e-9},
		{"inverter clips", PVWattsInverter(130, 100, 0.95), 95, 1e-9},
		{"inverter off", PVWattsInverter(0, 100, 0.95), 0, 0},
		{"inverter without rating", PVWattsInverter(5, 0, 0.95), 0, 0},
		{"losses %", 100 * DefaultLoss, 14.075660688264469, 1e-9},
		{"no losses", Losses(), 0, 0},
	} {
		near(t, c.name, c.got, c.want, c.tol)
	}
}

func TestPlantPower(t *testing.T) {
	noon := Position{ZenithDeg: 30, ApparentZenithDeg: 30, AzimuthDeg: 180}
	bright := Irradiance{DNI: 950, DHI: 90, GHI: 950*cosD(30) + 90}
	plant := Plant{ACCapacityKW: 100, Plane: Plane{TiltDeg: 30, AzimuthDeg: 180}}

	// Zero fields and NaN weather mean their defaults.
	written := Plant{ACCapacityKW: 100, DCCapacityKW: 120, Plane: plant.Plane, Loss: DefaultLoss, TemperaturePerK: -0.0037, InverterEfficiency: 0.96, Albedo: 0.2}
	near(t, "defaults", plant.PowerKW(noon, bright, 1366, math.NaN(), math.NaN()), written.PowerKW(noon, bright, 1366, 20, 1), 1e-12)

	cold, hot := plant.PowerKW(noon, bright, 1366, -10, 3), plant.PowerKW(noon, bright, 1366, 40, 3)
	if !(cold > hot && hot > 70 && cold <= 100) {
		t.Errorf("cold %v kW, hot %v kW", cold, hot)
	}
	big := plant
	big.DCCapacityKW, big.Loss = 200, -1
	near(t, "clipping", big.PowerKW(noon, bright, 1366, 10, 3), 100, 1e-9)
	near(t, "in-plane", big.PowerFromPlaneKW(1000, 10, 3), 100, 1e-9)
	if p := plant.PowerFromPlaneKW(500, 20, 1); !(p > 40 && p < 60) {
		t.Errorf("half sun gives %v kW", p)
	}
	near(t, "night", plant.PowerKW(Position{ZenithDeg: 120, ApparentZenithDeg: 120}, Irradiance{}, 1366, 10, 1), 0, 0)
	if p := plant.PowerKW(noon, Irradiance{GHI: math.NaN(), DNI: math.NaN(), DHI: math.NaN()}, 1366, 10, 1); !math.IsNaN(p) {
		t.Errorf("missing irradiance gives %v", p)
	}
	if p := plant.PowerFromPlaneKW(math.NaN(), 10, 1); !math.IsNaN(p) {
		t.Errorf("missing irradiance gives %v", p)
	}
	near(t, "no plant", Plant{}.PowerKW(noon, bright, 1366, 20, 1), 0, 0)
}

func TestPlantProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		loc := Location{rapid.Float64Range(-70, 70).Draw(t, "latitude"), rapid.Float64Range(-180, 180).Draw(t, "longitude"), rapid.Float64Range(0, 3000).Draw(t, "altitude")}
		at := time.Unix(rapid.Int64Range(0, 2556143999).Draw(t, "unix"), 0)
		plant := Plant{
			ACCapacityKW: rapid.Float64Range(0.5, 1e5).Draw(t, "ac"),
			Plane:        Plane{rapid.Float64Range(0, 90).Draw(t, "tilt"), rapid.Float64Range(0, 360).Draw(t, "facing")},
		}
		pos, ext := At(at, loc), Extraterrestrial(at)
		irr := ClearSky(at, pos, loc, 0)
		temp, wind := rapid.Float64Range(-40, 50).Draw(t, "temperature"), rapid.Float64Range(0, 20).Draw(t, "wind")
		kw := plant.PowerKW(pos, irr, ext, temp, wind)
		if !(kw >= 0 && kw <= plant.ACCapacityKW*(1+1e-12)) {
			t.Fatalf("%v kW of %v", kw, plant.ACCapacityKW)
		}
		// Power scales with the plant.
		double := plant
		double.ACCapacityKW *= 2
		near(t, "double", double.PowerKW(pos, irr, ext, temp, wind), 2*kw, 1e-9*plant.ACCapacityKW)
	})
}

func BenchmarkPlantPower(b *testing.B) {
	pos, ext := At(exampleTime, examplePlace), Extraterrestrial(exampleTime)
	irr := ClearSky(exampleTime, pos, examplePlace, 3)
	plant := Plant{ACCapacityKW: 100, Plane: Plane{30, 180}}
	for b.Loop() {
		powerSink = plant.PowerKW(pos, irr, ext, 20, 2)
	}
}

var powerSink float64
