package kpi_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/domaintest"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/kpi"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	enginekpi "app.sunloop/engine/kpi"
	"app.sunloop/engine/series"
	"github.com/google/go-cmp/cmp"
)

// sunny is a day of quarter hours from 06:00 to 16:00 UTC at 500 W/m² and 20 °C,
// in which a unit makes powerKW(hour of the day).
func sunny(day time.Time, powerKW func(hour float64) float64) series.Frame {
	var f series.Frame
	var power, light, air []float64
	for at := day.Add(6 * time.Hour); at.Before(day.Add(16 * time.Hour)); at = at.Add(kpi.RatioStep) {
		f.Times = append(f.Times, at.Unix())
		power, light, air = append(power, powerKW(at.Sub(day).Hours())), append(light, 500), append(air, 20)
	}
	f.Set(series.PowerKW, power)
	f.Set(series.IrradianceWM2, light)
	f.Set(series.TemperatureC, air)
	return f
}

func steady(kW float64) func(float64) float64 { return func(float64) float64 { return kW } }

func wantFigures(t *testing.T, got map[string]api.KPI, want map[string]float64) {
	t.Helper()
	for name, v := range want {
		f := got[name]
		if math.IsNaN(v) != (f.Value == nil) || f.Value != nil && math.Abs(*f.Value-v) > 1e-3 {
			t.Errorf("%s is %+v, want %v", name, f, v)
		}
	}
}

// twoUnits is a plant of two units of 50 kW on the last whole day: 20 kW each
// under 500 W/m², the second down from 08:00 to 10:00 UTC.
func twoUnits(t *testing.T, second func(hour float64) float64) (d *domaintest.Fixture, site api.Site, day time.Time) {
	t.Helper()
	d = domaintest.New(t)
	site = d.AddSite("South", "acme")
	site.TariffPerKWh, site.Currency = 0.2, "EUR"
	if _, err := d.Sites.SetSite(t.Context(), domaintest.Acme, site); err != nil {
		t.Fatal(err)
	}
	d.AddUnit("INV-1", "South")
	d.AddUnit("INV-2", "South")
	day = series.Midnight(d.Clock.Add(-24*time.Hour), record.Zone(site.Timezone)) // 22:00 UTC
	utc := day.Add(2 * time.Hour)
	err := d.Store.Append(t.Context(), store.SiteKey{ID: site.SiteID, Zone: record.Zone(site.Timezone)}, []store.AssetFrame{{AssetID: "INV-1", Frame: sunny(utc, steady(20))}, {AssetID: "INV-2", Frame: sunny(utc, second)}})
	if err != nil {
		t.Fatal(err)
	}
	return d, site, day
}

func downFor2h(hour float64) float64 {
	if hour >= 8 && hour < 10 {
		return 0
	}
	return 20
}

func TestKPIs(t *testing.T) {
	d, site, day := twoUnits(t, downFor2h)
	start := day.Add(10 * time.Hour)
	down := domaintest.Outage("INV-2", start, start.Add(2*time.Hour))
	down.End, down.LostKWh = down.LastSeen, 40
	down.Losses.Add(start.Unix(), down.End.Unix(), 40)
	dirt := finding.Event{Family: "soiling", Units: []string{"INV-1"}, Start: day, LastSeen: day.Add(24 * time.Hour), End: day.Add(24 * time.Hour), LostKWh: 40, Severity: api.SeverityNormal}
	dirt.Losses.Add(day.Add(8*time.Hour).Unix(), day.Add(18*time.Hour).Unix(), 40)
	d.RecordRun(site, down, dirt)

	k, got := d.KPIsOf(day, day.Add(24*time.Hour))
	heat := 1 + enginekpi.GammaPerK*(enginekpi.OpenRack.CellTemperatureC(500, 20, math.NaN())-25)
	wantFigures(t, got, map[string]float64{
		"data_availability":           1,
		"specific_yield":              3.6, // 360 kWh of 100 kW
		"reference_yield":             5,
		"performance_ratio":           0.72,
		"corrected_performance_ratio": 0.72 / heat,
		"capacity_factor":             0.15,
		"time_availability":           0.9, // two of twenty hours
		"contractual_availability":    0.9,
		"energy_availability":         0.9, // 40 of 400 kWh
		"energy_lost":                 80,
		"revenue_lost":                16,
		"soiling_ratio":               0.9,
		"performance_loss_rate":       math.NaN(),
		"mtbf":                        18,
		"mttr_mean":                   2,
		"mttr_median":                 2,
		"mtta_mean":                   math.NaN(),
	})
	if !k.Reportable || k.Units != 2 || k.RatedKW != 100 || k.StepMinutes != 15 || len(k.UsefulBy) != 1 || k.UsefulBy[0] != "irradiance" || got["revenue_lost"].Unit != "EUR" {
		t.Errorf("%+v", k)
	}
	sum := map[string]float64{}
	for _, c := range k.Categories {
		sum[c.Category] = c.Hours
	}
	if len(k.Categories) != 11 || sum["full_performance"] != 9 || sum["forced_outage"] != 1 {
		t.Errorf("categories %+v", k.Categories)
	}
	want := &api.Losses{ExpectedKWh: 440, ExpectedBy: api.ExpectedByLosses, ActualKWh: 360,
		ByCause: []api.LossCause{{FaultFamily: "inverter_outage", LostKWh: 40}, {FaultFamily: "soiling", LostKWh: 40}}}
	if diff := cmp.Diff(want, k.Losses); diff != "" {
		t.Errorf("the waterfall (-want +got):\n%s", diff)
	}
	// Until eleven by the site's clock: one hour of the outage, three of the dirt.
	_, got = d.KPIsOf(day, start.Add(time.Hour))
	wantFigures(t, got, map[string]float64{"energy_lost": 20 + 3*4, "mttr_mean": math.NaN()})
}

// A grid outage is no fault of the plant, and no failure.
func TestKPIsOfTheGrid(t *testing.T) {
	d, site, day := twoUnits(t, downFor2h)
	e := domaintest.Outage("INV-2", day.Add(10*time.Hour), day.Add(12*time.Hour))
	e.Family, e.End = "site_outage_grid", e.LastSeen
	d.RecordRun(site, e)
	_, got := d.KPIsOf(day, day.Add(24*time.Hour))
	wantFigures(t, got, map[string]float64{"time_availability": 0.9, "contractual_availability": 1, "mtbf": math.NaN(), "mttr_mean": math.NaN()})
	if got["mtbf"].Note != "Nothing failed in the window." {
		t.Errorf("%+v", got["mtbf"])
	}
}

// Below nine tenths of the data nothing is reportable but how little it was.
func TestKPIsOfTooLittleData(t *testing.T) {
	d, _, day := twoUnits(t, func(hour float64) float64 {
		if hour < 9 {
			return math.NaN()
		}
		return 20
	})
	k, got := d.KPIsOf(day, day.Add(24*time.Hour))
	if k.Reportable || got["data_availability"].Value == nil || math.Abs(*got["data_availability"].Value-0.85) > 1e-6 {
		t.Errorf("%+v", k)
	}
	for name, f := range got {
		if !strings.HasSuffix(name, "_availability") && (f.Reportable || f.Value != nil) {
			t.Errorf("%s is shown: %+v", name, f)
		}
	}
	// Silent time lowers availability: 3 of 20 hours.
	wantFigures(t, got, map[string]float64{"time_availability": 0.85, "contractual_availability": 0.85, "energy_availability": 0.85})
	if !strings.Contains(got["performance_ratio"].Note, "85 %") {
		t.Errorf("%+v", got["performance_ratio"])
	}
}

// Days on which nothing came, between days with data, were due; so are hours of
// sun without data where the place is known.
func TestKPIsOfSilentDays(t *testing.T) {
	d, site, day := twoUnits(t, steady(20))
	before := sunny(day.AddDate(0, 0, -3).Add(2*time.Hour), steady(20))
	if err := d.Store.Append(t.Context(), store.SiteKey{ID: site.SiteID, Zone: record.Zone(site.Timezone)}, []store.AssetFrame{{AssetID: "INV-1", Frame: before}, {AssetID: "INV-2", Frame: before}}); err != nil {
		t.Fatal(err)
	}
	k, got := d.KPIsOf(day.AddDate(0, 0, -3), day.Add(24*time.Hour))
	if k.Reportable || math.Abs(*k.DataAvailability-0.5) > 0.01 || got["performance_ratio"].Reportable {
		t.Errorf("two of four days: %+v", k)
	}
	lat, lon := 48.2, 16.4
	if _, err := d.Sites.SetSite(t.Context(), domaintest.Acme, api.Site{SiteID: "South", Latitude: &lat, Longitude: &lon}); err != nil {
		t.Fatal(err)
	}
	// In June the sun is above 5° for some 14.6 hours, of which ten have data.
	if k, _ = d.KPIsOf(day, day.Add(24*time.Hour)); math.Abs(*k.DataAvailability-10/14.6) > 0.03 {
		t.Errorf("ten hours of a long day: %v", *k.DataAvailability)
	}
}

// Without irradiance measurements the forecast decides when units should
// run, and values that require irradiance are not reportable.
func TestKPIsWithoutIrradiance(t *testing.T) {
	d, site, day := twoUnits(t, downFor2h)
	for _, id := range []string{"INV-3", "INV-4"} {
		d.AddUnit(id, "South")
	}
	north := d.AddSite("North", "acme")
	d.AddUnit("N-1", "North")
	f := sunny(day.Add(2*time.Hour), downFor2h)
	var only series.Frame
	only.Times = f.Times
	only.Set(series.PowerKW, f.Values(series.PowerKW))
	if err := d.Store.Append(t.Context(), store.SiteKey{ID: north.SiteID, Zone: record.Zone(north.Timezone)}, []store.AssetFrame{{AssetID: "N-1", Frame: only}}); err != nil {
		t.Fatal(err)
	}
	k, err := d.KPIs.KPIs(t.Context(), domaintest.Acme, "North", day, day.Add(24*time.Hour))
	if err != nil || !slices.Equal(k.UsefulBy, []string{"sun_position"}) {
		t.Errorf("a lone unit: useful by %v, %v", k.UsefulBy, err)
	}
	forecast := domaintest.Hours(day.Add(8*time.Hour), day.Add(8*time.Hour), 10, 25)
	forecast.SiteID = "North"
	d.Update(func(tx store.Tx) error { return d.Forecasts.Add(tx, forecast, record.Zone(north.Timezone)) })
	if k, err = d.KPIs.KPIs(t.Context(), domaintest.Acme, "North", day, day.Add(24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	for _, f := range k.Figures {
		switch f.Name {
		case "time_availability":
			if f.Value == nil || math.Abs(*f.Value-0.8) > 1e-6 {
				t.Errorf("%+v", f)
			}
		case "performance_ratio", "soiling_ratio", "reference_yield":
			if f.Reportable {
				t.Errorf("%+v", f)
			}
		}
	}
	if len(k.UsefulBy) != 1 || k.UsefulBy[0] != "forecast" {
		t.Errorf("useful by %v", k.UsefulBy)
	}
	// Two of four units never reported: they count in both availabilities.
	k, got := d.KPIsOf(day, day.Add(24*time.Hour))
	if k.Units != 2 {
		t.Errorf("%d units of site %s, two of which never reported", k.Units, site.SiteID)
	}
	wantFigures(t, got, map[string]float64{"data_availability": 0.5, "time_availability": 18 / 40.0})
}

// A plant that loses 1 % a year, over thirty months.
func TestKPIsPerformanceLoss(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	d.AddUnit("INV-1", "South")
	end := time.Date(2026, 6, 15, 0, 0, 0, 0, time.UTC)
	begin := end.AddDate(0, -30, 0)
	var all series.Frame
	for day := begin; day.Before(end); day = day.AddDate(0, 0, 1) {
		kW := 20 * math.Pow(0.99, day.Sub(begin).Hours()/24/365)
		all = series.Merge(all, sunny(day, steady(kW)))
	}
	if err := d.Store.Append(t.Context(), store.SiteKey{ID: site.SiteID, Zone: record.Zone(site.Timezone)}, []store.AssetFrame{{AssetID: "INV-1", Frame: all}}); err != nil {
		t.Fatal(err)
	}
	_, got := d.KPIsOf(end.AddDate(0, 0, -30), end)
	f := got["performance_loss_rate"]
	if f.Value == nil || math.Abs(*f.Value+1) > 0.02 || f.Low == nil || f.High == nil || *f.Low > *f.Value || *f.High < *f.Value || f.From.After(begin.Add(24*time.Hour)) {
		t.Errorf("%+v", f)
	}
}

func TestKPIWindows(t *testing.T) {
	d, _, day := twoUnits(t, downFor2h)
	k, _ := d.KPIsOf(time.Time{}, time.Time{})
	if k.From != api.At(day.AddDate(0, 0, -29)) || k.To != api.At(day.Add(24*time.Hour)) {
		t.Errorf("by itself from %v to %v", k.From, k.To)
	}
	if k, _ = d.KPIsOf(day, d.Clock.AddDate(1, 0, 0)); !k.To.Equal(d.Clock) {
		t.Errorf("to %v", k.To)
	}
	for _, w := range [][2]time.Time{{day, day}, {day, day.Add(-1)}, {d.Clock.Add(time.Hour), d.Clock.Add(2 * time.Hour)}, {day.AddDate(-60, 0, 0), day}} {
		_, err := d.KPIs.KPIs(t.Context(), domaintest.Acme, "South", w[0], w[1])
		domaintest.WantError(t, err, 400, "Invalid parameter: from")
	}
	_, err := d.KPIs.KPIs(t.Context(), domaintest.Acme, "Nowhere", day, d.Clock)
	domaintest.WantError(t, err, 404, "Site not found")
	_, err = d.KPIs.KPIs(t.Context(), api.Scope{Customers: []string{"other"}, Sites: []string{api.Every}}, "South", day, d.Clock)
	domaintest.WantError(t, err, 403, "")
}
