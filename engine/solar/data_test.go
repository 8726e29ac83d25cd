package solar

import (
	"math"
	"strconv"
	"testing"
	"time"

	"app.sunloop/engine/realdata"
)

// TestAgainstNRELStation compares with five days of an NREL station: sun
// position and clear-sky columns of the data, and, on its cloudless morning,
// the measured irradiance.
func TestAgainstNRELStation(t *testing.T) {
	rows := realdata.Rows(t, "data/pvanalytics-quality/irradiance_RMIS_NREL.csv.gz")[1:]
	mst := time.FixedZone("MST", -7*3600)
	place := Location{39.742, -105.18, 1829}
	// The clear-sky columns were computed for sea level, with the turbidity
	// of February, 2.6.
	seaLevel := Location{place.LatitudeDeg, place.LongitudeDeg, 0}
	const linke = 2.62

	var zenith, ghi, dni, dhi float64
	var measured, modelled Irradiance
	for _, r := range rows {
		at, err := time.ParseInLocation("1/2/2006 15:04", r[0], mst)
		if err != nil {
			t.Fatal(err)
		}
		p := At(at, place)
		zenith = max(zenith, math.Abs(p.ZenithDeg-realdata.Number(r[6])))
		if p.ApparentZenithDeg < 85 {
			c := ClearSky(at, At(at, seaLevel), seaLevel, linke)
			ghi = max(ghi, math.Abs(c.GHI-realdata.Number(r[9])))
			dni = max(dni, math.Abs(c.DNI-realdata.Number(r[7])))
			dhi = max(dhi, math.Abs(c.DHI-realdata.Number(r[8])))
		}
		if at.Day() == 1 && at.Hour() >= 10 && at.Hour() < 15 {
			c := ClearSky(at, p, place, 0)
			modelled.GHI, modelled.DNI = modelled.GHI+c.GHI, modelled.DNI+c.DNI
			measured.GHI, measured.DNI = measured.GHI+realdata.Number(r[3]), measured.DNI+realdata.Number(r[2])
		}
	}
	t.Logf("%d rows: zenith %.4f°, GHI %.2f, DNI %.2f, DHI %.2f W/m² at most; clear day, default turbidity over measured: GHI %.3f, DNI %.3f",
		len(rows), zenith, ghi, dni, dhi, modelled.GHI/measured.GHI, modelled.DNI/measured.DNI)
	near(t, "zenith", zenith, 0, 0.005)
	near(t, "clear-sky GHI", ghi, 0, 2)
	near(t, "clear-sky DNI", dni, 0, 10)
	near(t, "clear-sky DHI", dhi, 0, 3)
	near(t, "modelled over measured GHI", modelled.GHI/measured.GHI, 1, 0.03)
	near(t, "modelled over measured DNI", modelled.DNI/measured.DNI, 1, 0.03)
}

// TestClearSkyBoundsTypicalYears: over two typical years the default clear sky
// is reached by the brightest tenth of the hours.
func TestClearSkyBoundsTypicalYears(t *testing.T) {
	for _, c := range []struct {
		file string
		loc  Location
		ghi  int
		at   func(row []string) (time.Time, bool)
	}{
		{"weather-tmy/pvgis_tmy_45.000_8.000.csv.gz", Location{45, 8, 250}, 3, func(r []string) (time.Time, bool) {
			at, err := time.Parse("20060102:1504", r[0])
			return at.Add(634 * time.Second), err == nil // the header's irradiance offset, 0.1761 h
		}},
		{"weather-tmy/tmy3_723170_greensboro.csv.gz", Location{36.1, -79.95, 273}, 4, func(r []string) (time.Time, bool) {
			day, err := time.ParseInLocation("01/02/2006", r[0], time.FixedZone("EST", -5*3600))
			if err != nil {
				return day, false
			}
			hour, err := strconv.Atoi(r[1][:2])
			return day.Add(time.Duration(hour)*time.Hour - 30*time.Minute), err == nil // stamps end the hour
		}},
	} {
		var n, above int
		for _, r := range realdata.Rows(t, "data/"+c.file) {
			at, ok := c.at(r)
			if !ok {
				continue
			}
			p := At(at, c.loc)
			if p.ApparentZenithDeg > 70 {
				continue
			}
			n++
			if realdata.Number(r[c.ghi]) > 0.97*ClearSky(at, p, c.loc, 0).GHI {
				above++
			}
		}
		share := float64(above) / float64(n)
		t.Logf("%s: %.3f of %d hours with the sun above 20° reach 0.97 of the clear sky", c.file, share, n)
		if share < 0.05 || share > 0.5 {
			t.Errorf("%s: share of bright hours %v", c.file, share)
		}
	}
}
