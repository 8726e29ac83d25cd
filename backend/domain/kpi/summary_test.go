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
	"github.com/google/go-cmp/cmp"
)

func TestSiteSummary(t *testing.T) {
	d := domaintest.New(t) // 12:00 in Vienna
	site := d.AddSite("South", "acme")
	d.AddUnit("INV-1", "South")
	d.AddUnit("INV-2", "South")
	var one, two series.Frame
	start := d.Clock.Add(-4 * time.Hour)
	for at := start; !at.After(d.Clock); at = at.Add(15 * time.Minute) {
		one.Times = append(one.Times, at.Unix())
	}
	two.Times = one.Times
	power := func(kW float64, from int) []float64 {
		v := make([]float64, len(one.Times))
		for i := range v {
			if i >= from {
				v[i] = kW
			}
		}
		return v
	}
	light := power(500, 0)
	light[3] = math.NaN()
	one.Set(series.PowerKW, power(20, 0))
	one.Set(series.IrradianceWM2, light)
	two.Set(series.PowerKW, power(20, 8)) // down for two of the four hours
	if err := d.Store.Append(t.Context(), store.SiteKey{ID: site.SiteID, Zone: record.Zone(site.Timezone)}, []store.AssetFrame{{AssetID: "INV-1", Frame: one}, {AssetID: "INV-2", Frame: two}}); err != nil {
		t.Fatal(err)
	}
	midnight := series.Midnight(d.Clock, record.Zone(site.Timezone))
	d.Update(func(tx store.Tx) error {
		return d.Forecasts.Add(tx, domaintest.Hours(midnight, midnight, 48, 50), record.Zone(site.Timezone))
	})

	got, err := d.KPIs.SiteSummary(t.Context(), domaintest.Acme, "South")
	if err != nil {
		t.Fatal(err)
	}
	ptr := func(v float64) *float64 { return &v }
	figures := map[string]api.KPI{}
	for _, f := range got.Figures {
		figures[f.Name] = f
	}
	wantFigures(t, figures, map[string]float64{"energy": 120, "specific_yield": 1.2, "performance_ratio": 0.625})
	if f := figures["performance_ratio"]; f.AsOf != api.At(d.Clock) || f.Formula == "" || f.Rating == nil || !f.Rating.Inferred || f.Rating.Side != "dc" || f.Irradiance == nil || !f.Irradiance.Inferred || f.Revision != 0 {
		t.Errorf("what the ratio of today rests on: %+v", f)
	}
	got.Figures = nil
	want := api.SiteSummary{
		TotalKWhToday:        16*5 + 8*5, // 16 and 8 quarter hours of 20 kW until now
		FleetAvailabilityPct: ptr(75),    // two of eight hours down
		// Over the 16 quarter hours with irradiance (7·20 + 9·40) kW of 100 kW
		// under 500 W/m²: 500/16/100/0.5.
		FleetPRPct:      ptr(62.5),
		ActiveInverters: 2, TotalInverters: 2, LastUpdated: api.NullTime(api.At(d.Clock)), ServiceTime: api.At(d.Clock), TotalPowerKW: 40, PowerState: api.PowerMeasured, EnergyState: api.EnergyMeasured,
		ExpectedPowerKW: ptr(50), ExpectedKWhToday: ptr(1200), ExpectedKWhSoFar: ptr(600), SpecificYieldKWhKWp: ptr(1.2),
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-3 })); diff != "" {
		t.Error(diff)
	}
	_, err = d.KPIs.SiteSummary(t.Context(), domaintest.Acme, "Nowhere")
	domaintest.WantError(t, err, 404, "Site not found")
}

// The energy of a day without samples is unknown and not zero, as are its yield and
// availability; that of a day whose newest samples are old says until when it is.
func TestSummaryWithoutData(t *testing.T) {
	d, _, day := twoUnits(t, steady(20))
	at := func(now time.Time) (api.SiteSummary, map[string]api.KPI) {
		t.Helper()
		d.Clock = now
		got, err := d.KPIs.SiteSummary(t.Context(), domaintest.Acme, "South")
		if err != nil {
			t.Fatal(err)
		}
		figures := map[string]api.KPI{}
		for _, f := range got.Figures {
			figures[f.Name] = f
		}
		return got, figures
	}
	next := day.AddDate(0, 0, 1)
	got, figures := at(next.Add(-time.Minute))
	if !got.HasEnergy() || got.EnergyState != api.EnergyStale || got.TotalKWhToday == 0 || !strings.Contains(figures["energy"].Basis, "the newest sample") {
		t.Errorf("in the evening: %+v, %q", got, figures["energy"].Basis)
	}
	got, figures = at(next.Add(10 * time.Hour))
	if got.HasEnergy() || got.EnergyState != api.EnergyNone || got.TotalKWhToday != 0 || got.FleetAvailabilityPct != nil || got.FleetPRPct != nil || got.SpecificYieldKWhKWp != nil {
		t.Errorf("on a day without data: %+v", got)
	}
	for _, name := range []string{"energy", "specific_yield", "performance_ratio"} {
		if f := figures[name]; f.Value != nil || f.Note == "" {
			t.Errorf("%s is %v with the note %q, want unknown with a reason", name, f.Value, f.Note)
		}
	}
}
