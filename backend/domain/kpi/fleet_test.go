package kpi_test

import (
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/domaintest"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
	"github.com/google/go-cmp/cmp"
)

// The fleet is the summaries of the accessible sites, with the power of each
// hour against the expected one and the active faults.
func TestFleet(t *testing.T) {
	d := domaintest.New(t) // 12:00 in Vienna
	south := d.AddSite("South", "acme")
	d.AddSite("West", "acme")
	d.AddSite("Other", "else")
	d.AddUnit("INV-1", "South")
	var power series.Frame
	var kW []float64
	midnight := series.Midnight(d.Clock, record.Zone(south.Timezone))
	for at := midnight.Add(8 * time.Hour); !at.After(d.Clock); at = at.Add(5 * time.Minute) {
		power.Times = append(power.Times, at.Unix())
		v := 50.0
		if at.Sub(midnight) >= 10*time.Hour {
			v = 25 // half from ten o'clock on
		}
		kW = append(kW, v)
	}
	power.Set(series.PowerKW, kW)
	if err := d.Store.Append(t.Context(), store.SiteKey{ID: south.SiteID, Zone: record.Zone(south.Timezone)}, []store.AssetFrame{{AssetID: "INV-1", Frame: power}}); err != nil {
		t.Fatal(err)
	}
	d.Update(func(tx store.Tx) error {
		return d.Forecasts.Add(tx, domaintest.Hours(midnight, midnight, 48, 100), record.Zone(south.Timezone))
	})
	begin := d.Clock.Add(-time.Hour)
	one := func(family, severity string, atRiskKW float64) finding.Event {
		return finding.Event{Family: family, Units: []string{"INV-1"}, Start: begin, LastSeen: d.Clock, Severity: severity, LossFraction: 0.1, EnergyAtRiskKW: atRiskKW}
	}
	over := one("string_outage", api.SeverityCritical, 90)
	over.End = d.Clock.Add(-time.Minute)
	d.RecordRun(south, one("inverter_outage", api.SeverityCritical, 20), one("soiling", api.SeverityWarning, 5), over)

	got, next, err := d.KPIs.Fleet(t.Context(), domaintest.Acme, api.ListQuery{})
	if err != nil || next != "" || len(got) != 2 || got[0].SiteID != "South" || got[1].SiteID != "West" {
		t.Fatalf("%+v %q, %v", got, next, err)
	}
	s := got[0]
	alone, err := d.KPIs.SiteSummary(t.Context(), domaintest.Acme, "South")
	alone.Figures = nil // are those of one site only
	if diff := cmp.Diff(alone, s.Summary); diff != "" || err != nil {
		t.Errorf("the summary is another one: %s %v", diff, err)
	}
	if s.EnergyAtRiskKW != 25 || s.Findings[api.SeverityCritical] != 1 || s.Findings[api.SeverityWarning] != 1 || s.Unacknowledged != 2 || s.CapacityKW != 100 {
		t.Errorf("%+v", s)
	}
	if len(s.Hours) != 24 {
		t.Fatalf("%d hours", len(s.Hours))
	}
	for h, ratio := range s.Hours {
		want := map[int]float64{8: 1, 9: 1, 10: 0.5, 11: 0.5}[h] // of what the units that report should make
		switch {
		case want == 0 && ratio != nil:
			t.Errorf("%d h: %g without data", h, *ratio)
		case want != 0 && (ratio == nil || *ratio < want-0.01 || *ratio > want+0.01):
			t.Errorf("%d h: not %g", h, want)
		}
	}
	if got[1].Findings == nil || got[1].Hours[12] != nil {
		t.Errorf("a site without anything: %+v", got[1])
	}
	part, next, err := d.KPIs.Fleet(t.Context(), domaintest.Acme, api.ListQuery{Page: api.Page{Limit: 1}})
	if err != nil || len(part) != 1 || next == "" {
		t.Errorf("the first part: %+v %q, %v", part, next, err)
	}
}
