package kpi_test

import (
	"math"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// Two units stand under the same sun for ten hours. One says by its run state
// that it runs for half of them, the other says nothing; both have batteries,
// at 80 and 60 %, of which one reports its health.
func TestRollup(t *testing.T) {
	d, site, day := twoUnits(t, steady(20))
	frame := sunny(day.Add(2*time.Hour), steady(20))
	run, charge, health := make([]float64, frame.Len()), make([]float64, frame.Len()), make([]float64, frame.Len())
	for i := range run {
		if i < len(run)/2 {
			run[i] = 1
		}
		charge[i], health[i] = 80, 95
	}
	var more, other series.Frame
	more.Times, other.Times = frame.Times, frame.Times
	more.Set(series.RunState, run)
	more.Set(series.StateOfCharge, charge)
	more.Set(series.StateOfHealth, health)
	low := make([]float64, frame.Len())
	for i := range low {
		low[i] = 60
	}
	other.Set(series.StateOfCharge, low)
	if err := d.Store.Append(t.Context(), store.SiteKey{ID: site.SiteID, Zone: record.Zone(site.Timezone)}, []store.AssetFrame{{AssetID: "INV-1", Frame: more}, {AssetID: "INV-2", Frame: other}}); err != nil {
		t.Fatal(err)
	}
	units, err := d.Sites.SiteAssets(t.Context(), site.SiteID)
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.KPIs.Rollup(t.Context(), site, units, day, day.Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(r.StateUptime-0.5) > 1e-9 || math.Abs(r.ProductionKWh-400) > 1e-6 || math.Abs(r.Figure("performance_ratio")-0.8) > 1e-9 || !math.IsNaN(r.Figure("performance_loss_rate")) || !math.IsNaN(r.Figure("nonsense")) {
		t.Errorf("uptime %v, %v kWh, ratio %v", r.StateUptime, r.ProductionKWh, r.Figure("performance_ratio"))
	}
	if b := r.Battery; b == nil || b.AvgSoC != 70 || b.AvgSoH == nil || *b.AvgSoH != 95 || b.AssetCount != 2 {
		t.Errorf("battery %+v", b)
	}
}

func TestSeverityOfFindings(t *testing.T) {
	for _, c := range []struct {
		grade, label string
		loss         float64
		want         string
		harmless     bool
	}{
		{api.PartnerHigh, api.SeverityCritical, 1, api.PartnerHigh, false},
		{"", api.SeverityCritical, 1, api.PartnerCritical, false},
		{"", api.SeverityWarning, 0, api.PartnerMedium, false},
		{api.PartnerLow, api.SeverityNormal, 0.02, api.PartnerLow, false},
		{api.PartnerLow, api.SeverityNormal, 0, api.PartnerLow, true},
	} {
		f := finding.Finding{Grade: c.grade, Finding: api.Finding{SeverityLabel: c.label, LossFraction: c.loss}}
		if f.Severity() != c.want || f.Informational() != c.harmless {
			t.Errorf("%+v: %s, %v", c, f.Severity(), f.Informational())
		}
	}
}
