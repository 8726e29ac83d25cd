package solar

import (
	"math"
	"testing"
	"time"

	"app.sunloop/engine/realdata"
	"pgregory.net/rapid"
)

// Values of pvlib's public tests of the model: Tucson on 24 June 2014, a plane
// of 40° to the south; sky diffuse, isotropic, circumsolar and horizon parts.
func TestPerezPublished(t *testing.T) {
	p := Plane{TiltDeg: 40, AzimuthDeg: 180}
	const extraterrestrial = 1321.1655834833093
	for _, c := range []struct {
		zenith, azimuth float64
		irr             Irradiance
		diffuse         float64
		circumsolar     float64
	}{
		{82.85457044, 66.71410338, Irradiance{GHI: 79.73860422, DNI: 316.1949056, DHI: 40.46149818}, 31.46046871, 0},
		{72.41687122, 287.04104128, Irradiance{GHI: 257.20751138, DNI: 646.22886049, DHI: 62.03376265}, 45.45539877, 4.47966439},
	} {
		pos := Position{ZenithDeg: c.zenith, ApparentZenithDeg: c.zenith, AzimuthDeg: c.azimuth}
		got := p.Perez(pos, c.irr, extraterrestrial, 0)
		beam := c.irr.DNI * max(p.CosIncidence(pos), 0)
		near(t, "sky diffuse", got.Sky+got.Beam-beam, c.diffuse, 0.01)
		near(t, "circumsolar", got.Beam-beam, c.circumsolar, 0.01)
	}
	if got := p.Perez(Position{40, 40, 180}, Irradiance{500, math.NaN(), math.NaN()}, 1366, 0.2); !math.IsNaN(got.Global()) {
		t.Errorf("a missing direct irradiance gives %+v", got)
	}
}

// The irradiance on a horizontal plane is the measured one, and no part is negative.
func TestPerezProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Plane{rapid.Float64Range(0, 90).Draw(t, "tilt"), rapid.Float64Range(0, 360).Draw(t, "azimuth")}
		zenith := rapid.Float64Range(0, 100).Draw(t, "zenith")
		pos := Position{zenith, zenith, rapid.Float64Range(0, 360).Draw(t, "sun")}
		ghi := rapid.Float64Range(0, 1366*max(cosD(zenith), 0)).Draw(t, "ghi")
		got := p.FromHorizontal(pos, ghi, 1366, SeaLevelPressurePa, 0.2)
		if got.Beam < 0 || got.Sky < 0 || got.Ground < 0 || math.IsNaN(got.Global()) {
			t.Fatalf("%+v", got)
		}
		if zenith < 85 {
			near(t, "horizontal", Plane{}.FromHorizontal(pos, ghi, 1366, SeaLevelPressurePa, 0.2).Global(), ghi, 1e-6)
		}
	})
}

// Five winter days at NREL's RMIS station, whose global irradiance is measured on
// the ground and in a plane of 40° to the south: transposed from horizontal, the
// insolation in the plane is within the stated uncertainty.
func TestTranspositionMeasured(t *testing.T) {
	rows := realdata.Rows(t, "data/pvanalytics-quality/irradiance_RMIS_NREL.csv.gz")
	loc, p := Location{39.742, -105.18, 1830}, Plane{40, 180}
	var measured, model, horizontal float64
	for _, row := range rows[1:] {
		at, err := time.Parse("1/2/2006 15:04", row[0])
		ghi, poa := realdata.Number(row[3]), realdata.Number(row[5])
		if err != nil || math.IsNaN(ghi) || math.IsNaN(poa) {
			continue
		}
		at = at.Add(7*time.Hour + 150*time.Second) // Mountain Standard Time, middle of the interval
		pos := At(at, loc)
		if pos.ZenithDeg > 85 {
			continue
		}
		measured += poa
		horizontal += ghi
		model += p.FromHorizontal(pos, ghi, Extraterrestrial(at), Pressure(loc.AltitudeM), DefaultAlbedo).Global()
	}
	if ratio := model / measured; math.Abs(ratio-1) > TranspositionUncertainty || horizontal/measured > 0.8 {
		t.Errorf("transposed insolation is %.3f of the measured, horizontal %.3f", ratio, horizontal/measured)
	}
}

// Values of pvlib's public tests, which take 1370 W/m² as solar constant.
func TestDISCPublished(t *testing.T) {
	noon := time.Date(2014, 6, 24, 19, 0, 0, 0, time.UTC)
	evening := noon.Add(6 * time.Hour)
	for _, c := range []struct {
		at                             time.Time
		ghi, zenith, pressure, dni, kt float64
	}{
		{noon, 1038.62, 10.567, 93193, 830.46567, 0.79742}, {evening, 254.53, 72.469, 93193, 676.09497, 0.63776},
		{noon, 1038.62, 10.567, 101325, 868.72425, 0.79742}, {evening, 254.53, 72.469, 101325, 680.66679, 0.63776},
	} {
		irr, kt := DISC(c.ghi, c.zenith, Extraterrestrial(c.at)*1370/solarConstant, c.pressure)
		near(t, "DNI", irr.DNI, c.dni, 0.2)
		near(t, "kt", kt, c.kt, 1e-4)
	}
	if irr, kt := DISC(math.NaN(), 40, 1366, SeaLevelPressurePa); !math.IsNaN(irr.DNI) || !math.IsNaN(kt) {
		t.Errorf("a missing GHI gives %+v, %v", irr, kt)
	}
}

// The parts add up to the global irradiance, and none is negative.
func TestDISCProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ghi := rapid.Float64Range(0, 1500).Draw(t, "ghi")
		zenith := rapid.Float64Range(0, 110).Draw(t, "zenith")
		irr, kt := DISC(ghi, zenith, 1366, rapid.Float64Range(60000, 105000).Draw(t, "pressure"))
		if irr.DNI < 0 || irr.DHI < -1e-9 || kt < 0 || kt > 1 {
			t.Fatalf("%+v %v", irr, kt)
		}
		near(t, "closure", irr.DNI*max(cosD(zenith), 0)+irr.DHI, ghi, 1e-6)
	})
}
