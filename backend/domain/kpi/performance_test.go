package kpi_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/domaintest"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

func set(t *testing.T, d *domaintest.Fixture, change api.Site) {
	t.Helper()
	change.SiteID = "South"
	if _, err := d.Sites.SetSite(t.Context(), domaintest.Acme, change); err != nil {
		t.Fatal(err)
	}
}

// Yields and performance ratios are by the DC rating, the capacity factor by
// the AC rating; what is not set is marked as inferred. Two units of 50 kW of AC
// make 40 kW together under 500 W/m² for ten hours: 400 kWh. Of 125 kW of DC that
// is a yield of 3.2 h and a ratio of 0.64; a capacity factor of 400/80/24.
func TestRatingsOfFigures(t *testing.T) {
	d, _, day := twoUnits(t, steady(20))
	_, got := d.KPIsOf(day, day.Add(24*time.Hour))
	wantFigures(t, got, map[string]float64{"performance_ratio": 0.8, "specific_yield": 4, "capacity_factor": 400.0 / 100 / 24})
	if r := got["performance_ratio"].Rating; r == nil || r.Side != "dc" || r.Source != api.RatingCapacity || !r.Inferred {
		t.Errorf("the rating that is inferred: %+v", r)
	}
	set(t, d, api.Site{DCRatingKW: 125, ACRatingKW: 80, Mounting: "close_roof", ModuleTempCoefficientPctPerK: new(-0.4)})
	k, got := d.KPIsOf(day, day.Add(24*time.Hour))
	// The cell at 500 W/m² in 20 °C: 500·e^(−2.98−0.0471) + 20.5 = 44.73 °C.
	heat := 1 - 0.004*(500*math.Exp(-2.98-0.0471)+20.5-25)
	wantFigures(t, got, map[string]float64{"performance_ratio": 0.64, "corrected_performance_ratio": 0.64 / heat, "specific_yield": 3.2, "capacity_factor": 400.0 / 80 / 24})
	if r := k.Ratings; r == nil || r.DCKW != 125 || r.ACKW != 80 || r.DCInferred || r.ACInferred || r.Inferred || math.Abs(*r.DCACRatio-1.5625) > 1e-3 {
		t.Errorf("ratings %+v", k.Ratings)
	}
	if basis := got["corrected_performance_ratio"].Basis; !strings.Contains(basis, "close_roof") || !strings.Contains(basis, "-0.40 %/K, set") {
		t.Errorf("made of %q", basis)
	}
	d.AddUnit("INV-3", "South") // has not reported: the others have a share of the site's rating
	if k, got = d.KPIsOf(day, day.Add(24*time.Hour)); !k.Ratings.DCInferred || k.Ratings.DCSource != api.RatingSiteShare || math.Abs(got["performance_ratio"].Rating.KW-125*2/3.0) > 1e-3 {
		t.Errorf("ratings of two of three units: %+v, %+v", k.Ratings, got["performance_ratio"].Rating)
	}
	for _, id := range []string{"INV-1", "INV-2"} {
		if _, _, err := d.Sites.SetAsset(t.Context(), domaintest.Acme, api.AssetRef{AssetID: id}, api.Asset{DCRatingKW: 62.5, ACRatingKW: 40}); err != nil {
			t.Fatal(err)
		}
	}
	if k, got = d.KPIsOf(day, day.Add(24*time.Hour)); k.Ratings.Inferred || got["performance_ratio"].Rating.Inferred || got["capacity_factor"].Rating.Side != "ac" {
		t.Errorf("ratings that are set: %+v, %+v", k.Ratings, got["performance_ratio"].Rating)
	}
}

// A ratio above 1.05 is withheld with its likely reason, in the KPIs, the roll-up
// and the summary alike; it is not cut to 1.
func TestImplausibleRatio(t *testing.T) {
	d, site, day := twoUnits(t, steady(32)) // 20 and 32 kW of 100 kW under 500 W/m²: 1.04
	_, got := d.KPIsOf(day, day.Add(24*time.Hour))
	wantFigures(t, got, map[string]float64{"performance_ratio": 1.04})
	set(t, d, api.Site{DCRatingKW: 98})
	_, got = d.KPIsOf(day, day.Add(24*time.Hour))
	f := got["performance_ratio"]
	if f.Value != nil || f.Reportable || f.Suspect != "horizontal_irradiance" || !strings.HasPrefix(f.Note, "1.06 is implausible") || strings.Contains(f.Note, "the DC rating") {
		t.Errorf("%+v", f)
	}
	units, err := d.Sites.SiteAssets(t.Context(), "South")
	if err != nil {
		t.Fatal(err)
	}
	site.DCRatingKW = 98
	r, err := d.KPIs.Rollup(t.Context(), site, units, day, day.Add(24*time.Hour))
	if err != nil || !math.IsNaN(r.Figure("performance_ratio")) {
		t.Errorf("the roll-up has a ratio of %v, %v", r.Figure("performance_ratio"), err)
	}
}

// plant is a site in Vienna of one unit of 100 kW whose modules face south at 35°,
// on a spring day under a clear sky; its irradiance is horizontal.
func horizontalPlant(t *testing.T, settings api.Site) (*domaintest.Fixture, time.Time) {
	t.Helper()
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	set(t, d, settings)
	d.AddUnit("INV-1", "South")
	day := time.Date(2026, 4, 20, 0, 0, 0, 0, record.Zone(site.Timezone))
	loc := solar.Location{LatitudeDeg: 48.2, LongitudeDeg: 16.4}
	plane := solar.Plane{TiltDeg: 35, AzimuthDeg: 180}
	var f series.Frame
	var power, light []float64
	for at := day.AddDate(0, 0, -9); at.Before(day.AddDate(0, 0, 1)); at = at.Add(15 * time.Minute) {
		mid := at.Add(450 * time.Second)
		pos := solar.At(mid, loc)
		clear := solar.ClearSky(mid, pos, loc, 0)
		f.Times, light = append(f.Times, at.Unix()), append(light, clear.GHI)
		poa := 0.0
		if clear.GHI > 0 {
			poa = plane.Perez(pos, clear, solar.Extraterrestrial(mid), 0.2).Global()
		}
		power = append(power, 0.8*poa/1000*50)
	}
	f.Set(series.PowerKW, power)
	f.Set(series.IrradianceWM2, light)
	if err := d.Store.Append(t.Context(), store.SiteKey{ID: "South", Zone: record.Zone(site.Timezone)}, []store.AssetFrame{{AssetID: "INV-1", Frame: f}}); err != nil {
		t.Fatal(err)
	}
	return d, day
}

// Horizontal irradiance is found as such, and transposed; its performance ratio
// is within the stated uncertainty of 0.8. Without the plane of the modules the
// ratio of what is set as horizontal is withheld.
func TestHorizontalIrradiance(t *testing.T) {
	lat, lon, tilt, azimuth := 48.2, 16.4, 35.0, 180.0
	d, day := horizontalPlant(t, api.Site{Latitude: &lat, Longitude: &lon, TiltDeg: &tilt, AzimuthDeg: &azimuth})
	k, got := d.KPIsOf(day, day.AddDate(0, 0, 1))
	f := got["performance_ratio"]
	if r := k.Irradiance; r == nil || r.Role != api.IrradianceFlat || !r.Inferred || !r.Transposed || r.UncertaintyPct == nil || *r.UncertaintyPct != 10 || len(r.Sensors) != 1 || r.Sensors[0].Health != "ok" {
		t.Errorf("irradiance %+v", k.Irradiance)
	}
	if f.Value == nil || math.Abs(*f.Value-0.8) > 0.04 || !strings.Contains(f.Irradiance.Description, "transposed") {
		t.Errorf("%+v", f)
	}
	set(t, d, api.Site{IrradianceRole: api.IrradiancePlane})
	k, got = d.KPIsOf(day, day.AddDate(0, 0, 1))
	if k.Irradiance.Inferred || k.Irradiance.Transposed || got["performance_ratio"].Value != nil && math.Abs(*got["performance_ratio"].Value-0.8) < 0.05 {
		t.Errorf("as plane of array: %+v, %+v", k.Irradiance, got["performance_ratio"])
	}

	d, day = horizontalPlant(t, api.Site{Latitude: &lat, Longitude: &lon, IrradianceRole: api.IrradianceFlat})
	_, got = d.KPIsOf(day, day.AddDate(0, 0, 1))
	for _, name := range []string{"performance_ratio", "reference_yield", "corrected_performance_ratio"} {
		if f := got[name]; f.Reportable || !strings.Contains(f.Note, "tilt and azimuth of the modules are unknown") {
			t.Errorf("%s without the plane of the modules: %+v", name, f)
		}
	}
}

// Irradiance that is missing for a part of the day is scaled, and withheld where
// too much is missing; it is never low without a word.
func TestMissingIrradiance(t *testing.T) {
	yield := func(missing func(i int) bool) api.KPI {
		d, _, day := twoUnits(t, steady(20))
		for _, id := range []string{"INV-1", "INV-2"} {
			f := sunny(day.Add(2*time.Hour), steady(20))
			var only series.Frame
			only.Times = f.Times
			only.Set(series.PowerKW, f.Values(series.PowerKW))
			light := make([]float64, f.Len())
			for i := range light {
				if light[i] = 500; missing(i) {
					light[i] = math.NaN()
				}
			}
			only.Set(series.IrradianceWM2, light)
			// Another site, as a missing value replaces nothing.
			other := d.AddSite("Other", "acme")
			d.AddUnit("O-"+id, "Other")
			if err := d.Store.Append(t.Context(), store.SiteKey{ID: "Other", Zone: record.Zone(other.Timezone)}, []store.AssetFrame{{AssetID: "O-" + id, Frame: only}}); err != nil {
				t.Fatal(err)
			}
		}
		k, err := d.KPIs.KPIs(t.Context(), domaintest.Acme, "Other", day, day.Add(24*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range k.Figures {
			if f.Name == "reference_yield" {
				return f
			}
		}
		return api.KPI{}
	}
	if f := yield(func(i int) bool { return i < 2 }); f.Value == nil || math.Abs(*f.Value-5) > 1e-6 || f.Covered == nil || math.Abs(*f.Covered-0.95) > 1e-6 {
		t.Errorf("two of forty quarter hours are missing: %+v", f)
	}
	if f := yield(func(i int) bool { return i < 8 }); f.Reportable || f.Value != nil || !strings.Contains(f.Note, "80 %") {
		t.Errorf("eight of forty quarter hours are missing: %+v", f)
	}
}
