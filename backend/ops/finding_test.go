package ops

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// judge records a run over a month up to the desk's clock.
func (d *desk) judge(site api.Site, events ...Event) Outcome {
	d.t.Helper()
	var out Outcome
	d.update(func(tx store.Tx) error {
		var err error
		out, err = d.RecordRun(tx, Run{Site: site, ModelVersion: "rules", From: d.clock.Add(-30 * 24 * time.Hour), Now: d.clock,
			Units: []string{"INV-1", "INV-2"}, Events: events, DayKWh: func([]string) float64 { return 300 }})
		return err
	})
	return out
}

func (d *desk) findings() []api.Finding {
	d.t.Helper()
	list, _, err := d.Findings(d.t.Context(), acme, api.ListQuery{CustomerID: "acme"})
	if err != nil {
		d.t.Fatal(err)
	}
	return list
}

func outage(unit string, start, seen time.Time) Event {
	return Event{Family: "inverter_outage", Units: []string{unit}, Start: start, LastSeen: seen, LossFraction: 1, LostKWh: 12, EnergyAtRiskKW: 20,
		Confidence: 0.9, Severity: api.SeverityCritical, Summary: unit + " makes no power.", Causes: []api.Cause{{Cause: "blown fuse", Confidence: 0.6}}}
}

func TestFindingLifeCycle(t *testing.T) {
	d := newDesk(t)
	site := d.site("South", "acme")
	start := d.clock.Add(-2 * time.Hour)

	out := d.judge(site, outage("INV-1", start, d.clock))
	if len(out.Opened) != 1 || len(out.Detections) != 1 {
		t.Fatalf("the first run opened %d, stored %d detections", len(out.Opened), len(out.Detections))
	}
	first := d.findings()[0]
	if !first.Active || first.RootCause != "blown fuse" || len(first.Detections) != 1 || first.AssetID != "INV-1" {
		t.Errorf("opened as %+v", first)
	}

	d.clock = d.clock.Add(time.Hour)
	e := outage("INV-1", start, d.clock)
	e.LostKWh = 30
	out = d.judge(site, e)
	if got := d.findings(); len(got) != 1 || got[0].SummaryID != first.SummaryID || got[0].LostKWh != 30 || len(out.Opened)+len(out.Detections) != 0 {
		t.Errorf("while it lasts: %+v, %+v", got, out)
	}

	d.clock = d.clock.Add(time.Hour)
	e.End, e.LastSeen = d.clock.Add(-30*time.Minute), d.clock.Add(-30*time.Minute)
	out = d.judge(site, e)
	if got := d.findings(); len(out.Ended) != 1 || got[0].Active || got[0].EndedAt.IsZero() || got[0].EnergyAtRiskKW != 0 {
		t.Errorf("when it ends: %+v, %+v", got, out)
	}

	d.clock = d.clock.Add(50 * time.Hour)
	again := outage("INV-1", d.clock.Add(-time.Hour), d.clock)
	out = d.judge(site, e, again)
	if got := d.findings(); len(got) != 1 || got[0].SummaryID != first.SummaryID || !got[0].Active || got[0].LostKWh != 42 || len(out.Opened) != 1 {
		t.Errorf("within 72 h it opens again: %+v, %+v", got, out)
	}

	d.clock = d.clock.Add(2 * time.Hour)
	out = d.judge(site) // not seen any more
	if got := d.findings(); len(out.Ended) != 1 || got[0].Active {
		t.Errorf("not seen again: %+v", got)
	}

	d.clock = d.clock.Add(100 * time.Hour)
	d.judge(site, outage("INV-1", d.clock.Add(-time.Hour), d.clock))
	got := d.findings()
	if len(got) != 2 || !got[0].Active || got[0].SummaryID == first.SummaryID || got[1].Active {
		t.Errorf("after 72 h it is another: %+v", got)
	}
}

func TestRunTwiceChangesNothing(t *testing.T) {
	d := newDesk(t)
	site := d.site("South", "acme")
	var events []Event
	for day := 20; day > 0; day -= 5 {
		e := outage("INV-1", d.clock.Add(-time.Duration(day)*24*time.Hour), d.clock.Add(-time.Duration(day)*24*time.Hour+time.Hour))
		e.End = e.LastSeen
		events = append(events, e)
	}
	events = append(events, outage("INV-2", d.clock.Add(-time.Hour), d.clock))
	d.judge(site, events...)
	before := d.findings()
	if len(before) != 5 {
		t.Fatalf("%d findings of 5 events", len(before))
	}
	out := d.judge(site, events...)
	if diff := cmp.Diff(before, d.findings()); diff != "" || len(out.Opened)+len(out.Ended)+len(out.Detections) != 0 {
		t.Errorf("the second run changed %s, %+v", diff, out)
	}
}

func TestSeverityFallsOnlyAfterCalm(t *testing.T) {
	d := newDesk(t)
	site := d.site("South", "acme")
	start := d.clock
	severity := func(label string) string {
		e := outage("INV-1", start, d.clock)
		e.Severity = label
		d.judge(site, e)
		return d.findings()[0].SeverityLabel
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
		d.clock = d.clock.Add(step.after)
		if got := severity(step.now); got != step.want {
			t.Errorf("after %v more a %s event is %s, want %s", step.after, step.now, got, step.want)
		}
	}
}

func TestGroupedFindingAndMoney(t *testing.T) {
	d := newDesk(t)
	site := d.site("South", "acme")
	site.TariffPerKWh, site.Currency = 0.2, "EUR"
	e := outage("INV-1", d.clock.Add(-time.Hour), d.clock)
	e.Family, e.Units = "site_outage_grid", []string{"INV-1", "INV-2"}
	d.judge(site, e)
	got := d.findings()
	if len(got) != 1 || len(got[0].AssetIDs) != 2 || got[0].RevenueAtRisk != 60 || got[0].Currency != "EUR" {
		t.Errorf("grouped: %+v", got)
	}
	list, _, err := d.Findings(t.Context(), acme, api.ListQuery{CustomerID: "acme", AssetID: "INV-2"})
	if err != nil || len(list) != 1 {
		t.Errorf("INV-2 has %v, %v", list, err)
	}
	_, _, err = d.Findings(t.Context(), acme, api.ListQuery{CustomerID: "acme", AssetID: "INV-7"})
	wantRefusal(t, err, 404, "No OODA summaries found")
}

func TestFindingsActiveAndRiskiestFirst(t *testing.T) {
	d := newDesk(t)
	site := d.site("South", "acme")
	small, big, over := outage("INV-1", d.clock.Add(-time.Hour), d.clock), outage("INV-2", d.clock.Add(-time.Hour), d.clock), outage("INV-1", d.clock.Add(-200*time.Hour), d.clock.Add(-190*time.Hour))
	small.EnergyAtRiskKW, big.EnergyAtRiskKW, over.End = 5, 50, over.LastSeen
	over.Family = "communication_gap"
	d.judge(site, small, big, over)
	var order []string
	for _, f := range d.findings() {
		order = append(order, f.AssetID+" "+f.FaultFamily)
	}
	if diff := cmp.Diff([]string{"INV-2 inverter_outage", "INV-1 inverter_outage", "INV-1 communication_gap"}, order); diff != "" {
		t.Error(diff)
	}
}

// A run over a short window ends nothing of a slow family that began before it
// knew the unit, and does end what began later.
func TestShortRunsLeaveOldFindings(t *testing.T) {
	d := newDesk(t)
	site := d.site("South", "acme")
	strings := func(unit string, daysAgo int) Event {
		return Event{Family: "string_outage", Units: []string{unit}, Start: d.clock.AddDate(0, 0, -daysAgo), LastSeen: d.clock, LossFraction: 0.1, Severity: api.SeverityWarning}
	}
	d.judge(site, strings("INV-1", 90), strings("INV-2", 10), outage("INV-2", d.clock.AddDate(0, 0, -90), d.clock))
	d.clock = d.clock.Add(time.Hour)
	d.update(func(tx store.Tx) error {
		_, err := d.RecordRun(tx, Run{Site: site, From: d.clock.AddDate(0, 0, -60), Now: d.clock, Units: []string{"INV-1", "INV-2"},
			Slow: []string{"string_outage"}, Learned: d.clock.AddDate(0, 0, -30)})
		return err
	})
	for _, f := range d.findings() {
		if old := f.FaultFamily == "string_outage" && f.AssetID == "INV-1"; f.Active != old {
			t.Errorf("%s of %s since %s: active is %t", f.FaultFamily, f.AssetID, f.StartedAt, f.Active)
		}
	}
}
