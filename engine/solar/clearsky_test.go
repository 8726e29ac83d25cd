package solar

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestHaurwitzPublished(t *testing.T) {
	for elevation, want := range map[float64]float64{-20: 0, -0.05: 0, 5: 48.6298687941956, 10: 135.741748091813, 30: 487.894132885425, 50: 778.766689344363, 90: 1035.09203253450} {
		near(t, "Haurwitz", Haurwitz(90-elevation), want, 1e-4)
	}
}

func TestIneichenPublished(t *testing.T) {
	for _, c := range []struct{ zenith, airmass, ghi, dni, dhi float64 }{
		{10, 1, 1038.159219, 942.2081860378344, 110.26529293612793},
		{124.0390863, math.NaN(), 0, 0, 0},
		{82.85457044, 6.97935524, 65.49426624, 321.16092181, 25.54562017},
		{46.0467599, 1.32355476, 704.6968125, 888.90147035, 87.73601277},
		{10.56413562, 0.93527685, 1044.1230677, 953.24925854, 107.03109696},
		{34.86074109, 1.12008114, 853.02065704, 922.06124712, 96.42909484},
		{72.41687122, 3.01614096, 251.99427693, 655.44925241, 53.9901349},
		{105.05614659, math.NaN(), 0, 0, 0},
	} {
		irr := Ineichen(c.zenith, c.airmass, 3, 0, 1364)
		near(t, "GHI", irr.GHI, c.ghi, 1e-3)
		near(t, "DNI", irr.DNI, c.dni, 1e-3)
		near(t, "DHI", irr.DHI, c.dhi, 1e-3)
	}
}

func TestAirmassPublished(t *testing.T) {
	for zenith, want := range map[float64]float64{0: 1.000, 80: 5.586, 85: 10.306, 89.9: 36.467} {
		near(t, "airmass", Airmass(zenith), want, 0.001)
	}
	for _, zenith := range []float64{90.1, 100, 180, math.NaN()} {
		if a := Airmass(zenith); !math.IsNaN(a) {
			t.Errorf("airmass at zenith %v = %v", zenith, a)
		}
	}
}

func TestPressurePublished(t *testing.T) {
	for altitude, want := range map[float64]float64{0: 101325, 1000: 89874.75, 8000: 35600.5} {
		near(t, "pressure", Pressure(altitude), want, 1)
	}
	near(t, "absolute airmass", AbsoluteAirmass(2, 50662.5), 1, 1e-12)
}

func TestExtraterrestrial(t *testing.T) {
	// Within 2.5 W/m² of the inverse square of SPA's distance, through a leap cycle.
	for at := time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2027; at = at.Add(73 * time.Hour) {
		r := sunAt(at).R
		near(t, "extraterrestrial "+at.Format(time.DateOnly), Extraterrestrial(at), solarConstant/(r*r), 2.5)
	}
}

func TestErbsPublished(t *testing.T) {
	for _, c := range []struct {
		month                         time.Month
		day                           int
		ghi, zenith, dni, dhi, kt     float64
		toleranceIrradiance, ktWithin float64
	}{
		{1, 1, 50, 85, 96.7, 41.6, 0.4057, 1, 0.001},
		{1, 1, 1000, 10, 794.2, 217.9, 0.7181, 1, 0.001},
		{6, 20, 1000, 10, 842.0, 170.8, 0.7682, 1, 0.001},
	} {
		at := time.Date(2014, c.month, c.day, 12, 0, 0, 0, time.UTC)
		irr, kt := Erbs(c.ghi, c.zenith, Extraterrestrial(at))
		near(t, "DNI", irr.DNI, c.dni, c.toleranceIrradiance)
		near(t, "DHI", irr.DHI, c.dhi, c.toleranceIrradiance)
		near(t, "kt", kt, c.kt, c.ktWithin)
	}
	if irr, kt := Erbs(math.NaN(), 40, 1366); !math.IsNaN(irr.DNI) || !math.IsNaN(irr.DHI) || !math.IsNaN(kt) {
		t.Errorf("a missing GHI gives %+v, %v", irr, kt)
	}
}

func TestErbsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ghi := rapid.Float64Range(0, 1500).Draw(t, "ghi")
		zenith := rapid.Float64Range(0, 110).Draw(t, "zenith")
		irr, kt := Erbs(ghi, zenith, 1366)
		if irr.DNI < 0 || irr.DHI < 0 || kt < 0 || kt > 1 {
			t.Fatalf("%+v %v", irr, kt)
		}
		near(t, "closure", irr.DNI*math.Max(cosD(zenith), 0)+irr.DHI, ghi, 1e-6)
	})
}

func TestClearSkyProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		loc := Location{
			rapid.Float64Range(-90, 90).Draw(t, "latitude"),
			rapid.Float64Range(-180, 180).Draw(t, "longitude"),
			rapid.Float64Range(0, 4500).Draw(t, "altitude"),
		}
		at := time.Unix(rapid.Int64Range(0, 2556143999).Draw(t, "unix"), 0)
		linke := rapid.Float64Range(1.5, 7).Draw(t, "linke")
		pos, ext := At(at, loc), Extraterrestrial(at)
		irr := ClearSky(at, pos, loc, linke)
		if pos.ApparentZenithDeg >= 90 {
			if irr != (Irradiance{}) {
				t.Fatalf("light at night: %+v", irr)
			}
			return
		}
		cosZ := cosD(pos.ApparentZenithDeg)
		if irr.GHI < 0 || irr.DNI < 0 || irr.DHI < -1e-9 || irr.GHI > ext*cosZ || irr.DNI > ext {
			t.Fatalf("%+v under %v W/m²", irr, ext)
		}
		near(t, "closure", irr.DNI*cosZ+irr.DHI, irr.GHI, 1e-9)
		if hazier := ClearSky(at, pos, loc, linke+1); hazier.GHI > irr.GHI || hazier.DNI > irr.DNI {
			t.Fatalf("haze brightens: %+v, %+v", irr, hazier)
		}
		if def := ClearSky(at, pos, loc, 0); math.IsNaN(def.GHI) || def.GHI <= 0 {
			t.Fatalf("default turbidity: %+v", def)
		}
	})
}

// Above 4 km under the clearest sky the unlimited model would exceed the
// extraterrestrial irradiance.
func TestClearSkyIsBelowWhatFallsIn(t *testing.T) {
	loc := Location{LatitudeDeg: 1, LongitudeDeg: 180, AltitudeM: 4500}
	at := time.Unix(0, 0)
	pos := At(at, loc)
	irr := ClearSky(at, pos, loc, 1.5)
	near(t, "GHI", irr.GHI, Extraterrestrial(at)*cosD(pos.ApparentZenithDeg), 1e-9)
	if irr.DHI < 0 {
		t.Errorf("diffuse light %v", irr.DHI)
	}
}

func TestTurbidity(t *testing.T) {
	// Inside the range of published climatologies, and seasons reversed
	// the equator.
	for lat := -90.0; lat <= 90; lat += 2.5 {
		for m := time.January; m <= time.December; m++ {
			if v := LinkeTurbidity(Location{LatitudeDeg: lat}, m); !(v >= 1.7 && v <= 5) {
				t.Errorf("%v° %v: %v", lat, m, v)
			}
		}
	}
	north, south := Location{LatitudeDeg: 45}, Location{LatitudeDeg: -45}
	if LinkeTurbidity(north, time.July) <= LinkeTurbidity(north, time.January) || LinkeTurbidity(south, time.July) >= LinkeTurbidity(south, time.January) {
		t.Error("winter is hazier than summer")
	}
	if LinkeTurbidity(Location{45, 0, 2000}, time.July) >= LinkeTurbidity(north, time.July) {
		t.Error("mountains are hazier than the sea")
	}
	// No steps between the months.
	before := linkeAt(time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC), north)
	for at := time.Date(2023, 1, 1, 6, 0, 0, 0, time.UTC); at.Year() < 2025; at = at.Add(6 * time.Hour) {
		now := linkeAt(at, north)
		near(t, "step on "+at.String(), now, before, 0.01)
		before = now
	}
}

func BenchmarkClearSky(b *testing.B) {
	pos := At(exampleTime, examplePlace)
	for b.Loop() {
		irradianceSink = ClearSky(exampleTime, pos, examplePlace, 3)
	}
}

var irradianceSink Irradiance
