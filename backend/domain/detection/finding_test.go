package detection_test

import (
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/domaintest"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/store"
	"github.com/google/go-cmp/cmp"
)

func TestFindingLifeCycle(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	start := d.Clock.Add(-2 * time.Hour)

	out := d.RecordRun(site, domaintest.Outage("INV-1", start, d.Clock))
	if len(out.Opened) != 1 || len(out.Detections) != 1 {
		t.Fatalf("the first run opened %d, stored %d detections", len(out.Opened), len(out.Detections))
	}
	first := d.ListFindings()[0]
	if !first.Active || first.RootCause != "blown fuse" || len(first.Detections) != 1 || first.AssetID != "INV-1" {
		t.Errorf("opened as %+v", first)
	}

	d.Clock = d.Clock.Add(time.Hour)
	e := domaintest.Outage("INV-1", start, d.Clock)
	e.LostKWh = 30
	out = d.RecordRun(site, e)
	if got := d.ListFindings(); len(got) != 1 || got[0].SummaryID != first.SummaryID || got[0].LostKWh != 30 || len(out.Opened)+len(out.Detections) != 0 {
		t.Errorf("while it lasts: %+v, %+v", got, out)
	}

	d.Clock = d.Clock.Add(time.Hour)
	e.End, e.LastSeen = d.Clock.Add(-30*time.Minute), d.Clock.Add(-30*time.Minute)
	out = d.RecordRun(site, e)
	if got := d.ListFindings(); len(out.Ended) != 1 || got[0].Active || got[0].EndedAt.IsZero() || got[0].EnergyAtRiskKW != 0 {
		t.Errorf("when it ends: %+v, %+v", got, out)
	}

	d.Clock = d.Clock.Add(50 * time.Hour)
	again := domaintest.Outage("INV-1", d.Clock.Add(-time.Hour), d.Clock)
	out = d.RecordRun(site, e, again)
	if got := d.ListFindings(); len(got) != 1 || got[0].SummaryID != first.SummaryID || !got[0].Active || got[0].LostKWh != 42 || len(out.Opened) != 1 {
		t.Errorf("within 72 h it opens again: %+v, %+v", got, out)
	}

	d.Clock = d.Clock.Add(2 * time.Hour)
	out = d.RecordRun(site) // not seen any more
	if got := d.ListFindings(); len(out.Ended) != 1 || got[0].Active {
		t.Errorf("not seen again: %+v", got)
	}

	d.Clock = d.Clock.Add(100 * time.Hour)
	d.RecordRun(site, domaintest.Outage("INV-1", d.Clock.Add(-time.Hour), d.Clock))
	got := d.ListFindings()
	if len(got) != 2 || !got[0].Active || got[0].SummaryID == first.SummaryID || got[1].Active {
		t.Errorf("after 72 h it is another: %+v", got)
	}
}

func TestRunTwiceChangesNothing(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	var events []finding.Event
	for day := 20; day > 0; day -= 5 {
		e := domaintest.Outage("INV-1", d.Clock.Add(-time.Duration(day)*24*time.Hour), d.Clock.Add(-time.Duration(day)*24*time.Hour+time.Hour))
		e.End = e.LastSeen
		events = append(events, e)
	}
	events = append(events, domaintest.Outage("INV-2", d.Clock.Add(-time.Hour), d.Clock))
	d.RecordRun(site, events...)
	before := d.ListFindings()
	if len(before) != 5 {
		t.Fatalf("%d findings of 5 events", len(before))
	}
	out := d.RecordRun(site, events...)
	if diff := cmp.Diff(before, d.ListFindings()); diff != "" || len(out.Opened)+len(out.Ended)+len(out.Detections) != 0 {
		t.Errorf("the second run changed %s, %+v", diff, out)
	}
}

func TestSeverityFallsOnlyAfterCalm(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	start := d.Clock
	severity := func(label string) string {
		e := domaintest.Outage("INV-1", start, d.Clock)
		e.Severity = label
		d.RecordRun(site, e)
		return d.ListFindings()[0].SeverityLabel
	}
	for _, step := range []struct {
		after     time.Duration
		now, want string
	}{
		{0, api.SeverityWarning, api.SeverityWarning},
		{time.Hour, api.SeverityCritical, api.SeverityCritical},
		{time.Hour, api.SeverityWarning, api.SeverityCritical},
		{22 * time.Hour, api.SeverityWarning, api.SeverityCritical},
		{2 * time.Hour, api.SeverityWarning, api.SeverityWarning},
	} {
		d.Clock = d.Clock.Add(step.after)
		if got := severity(step.now); got != step.want {
			t.Errorf("after %v more a %s event is %s, want %s", step.after, step.now, got, step.want)
		}
	}
}

func TestGroupedFindingAndMoney(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	site.TariffPerKWh, site.Currency = 0.2, "EUR"
	e := domaintest.Outage("INV-1", d.Clock.Add(-time.Hour), d.Clock)
	e.Family, e.Units = "site_outage_grid", []string{"INV-1", "INV-2"}
	d.RecordRun(site, e)
	got := d.ListFindings()
	if len(got) != 1 || len(got[0].AssetIDs) != 2 || got[0].RevenueAtRisk != 60 || got[0].Currency != "EUR" {
		t.Errorf("grouped: %+v", got)
	}
	list, _, err := d.Findings.Findings(t.Context(), domaintest.Acme, api.ListQuery{CustomerID: "acme", AssetID: "INV-2"})
	if err != nil || len(list) != 1 {
		t.Errorf("INV-2 has %v, %v", list, err)
	}
	_, _, err = d.Findings.Findings(t.Context(), domaintest.Acme, api.ListQuery{CustomerID: "acme", AssetID: "INV-7"})
	domaintest.WantError(t, err, 404, "No OODA summaries found")
}

func TestFindingsActiveAndRiskiestFirst(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	small, big, over := domaintest.Outage("INV-1", d.Clock.Add(-time.Hour), d.Clock), domaintest.Outage("INV-2", d.Clock.Add(-time.Hour), d.Clock), domaintest.Outage("INV-1", d.Clock.Add(-200*time.Hour), d.Clock.Add(-190*time.Hour))
	small.EnergyAtRiskKW, big.EnergyAtRiskKW, over.End = 5, 50, over.LastSeen
	over.Family = "communication_gap"
	d.RecordRun(site, small, big, over)
	var order []string
	for _, f := range d.ListFindings() {
		order = append(order, f.AssetID+" "+f.FaultFamily)
	}
	if diff := cmp.Diff([]string{"INV-2 inverter_outage", "INV-1 inverter_outage", "INV-1 communication_gap"}, order); diff != "" {
		t.Error(diff)
	}
}

// A run over a short window ends nothing of a slow family that began before it
// knew the unit, and does end what began later.
func TestShortRunsLeaveOldFindings(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	strings := func(unit string, daysAgo int) finding.Event {
		return finding.Event{Family: "string_outage", Units: []string{unit}, Start: d.Clock.AddDate(0, 0, -daysAgo), LastSeen: d.Clock, LossFraction: 0.1, Severity: api.SeverityWarning}
	}
	d.RecordRun(site, strings("INV-1", 90), strings("INV-2", 10), domaintest.Outage("INV-2", d.Clock.AddDate(0, 0, -90), d.Clock))
	d.Clock = d.Clock.Add(time.Hour)
	d.Update(func(tx store.Tx) error {
		_, err := d.Detections.RecordRun(tx, finding.Run{Site: site, From: d.Clock.AddDate(0, 0, -60), Now: d.Clock, Units: []string{"INV-1", "INV-2"},
			LongRunFamilies: []string{"string_outage"}, LearnedAt: d.Clock.AddDate(0, 0, -30)})
		return err
	})
	for _, f := range d.ListFindings() {
		if old := f.FaultFamily == "string_outage" && f.AssetID == "INV-1"; f.Active != old {
			t.Errorf("%s of %s since %s: active is %t", f.FaultFamily, f.AssetID, f.StartedAt, f.Active)
		}
	}
}
