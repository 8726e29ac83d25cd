package alert_test

import (
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/domaintest"
	"app.sunloop/backend/domain/finding"
)

// An alert follows its finding's severity: worse asks again, better does not.
func TestAlertFollowsSeverity(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	start := d.Clock.Add(-2 * time.Hour)
	soiling := func(grade, label string, loss float64) finding.Event {
		return finding.Event{Family: "soiling", Units: []string{"INV-1"}, Start: start, LastSeen: d.Clock, LossFraction: loss, Severity: label, Grade: grade, Summary: "Dirt."}
	}
	step := func(grade, label string, loss float64, severity, state string) {
		t.Helper()
		d.RecordRun(site, soiling(grade, label, loss))
		a := d.ListAlerts("")
		if len(a) != 1 || a[0].AlertSeverity != severity || a[0].State != state {
			t.Fatalf("%s, %s: %+v", grade, label, a)
		}
		d.Clock = d.Clock.Add(time.Hour)
	}
	step("Low", api.SeverityNormal, 0, api.AlertNormal, api.AlertAcknowledged) // an event: no action is required
	step("Low", api.SeverityNormal, 0.01, api.AlertMinor, api.AlertAcknowledged)
	step("Medium", api.SeverityWarning, 0.1, api.AlertModerate, api.AlertUnacknowledged)
	id := d.ListAlerts("")[0].AlertID
	if _, _, err := d.Alerts.MoveAlert(t.Context(), domaintest.Acme, api.AlertsRequest{Action: api.ActionAcknowledge, AlertID: id}); err != nil {
		t.Fatal(err)
	}
	step("Medium", api.SeverityWarning, 0.1, api.AlertModerate, api.AlertAcknowledged)
	step("High", api.SeverityCritical, 0.4, api.AlertMajor, api.AlertUnacknowledged)
	step("Critical", api.SeverityCritical, 0.6, api.AlertCritical, api.AlertUnacknowledged)
	step("Low", api.SeverityNormal, 0.01, api.AlertCritical, api.AlertUnacknowledged) // falls after a calm day alone
	d.Clock = d.Clock.Add(25 * time.Hour)
	step("Low", api.SeverityNormal, 0.01, api.AlertMinor, api.AlertUnacknowledged)
	d.RecordRun(site)
	if a := d.ListAlerts(""); len(a) != 1 || a[0].State != api.AlertReturned || a[0].Timestamp != api.At(start) {
		t.Errorf("at the end: %+v", a)
	}
}

// Past events of a file are history: no user is asked to acknowledge them.
func TestAlertsOfThePastAreCleared(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	e := domaintest.Outage("INV-1", d.Clock.Add(-200*time.Hour), d.Clock.Add(-190*time.Hour))
	e.End = d.Clock.Add(-190 * time.Hour)
	for range 2 {
		d.RecordRun(site, e)
		a := d.ListAlerts(api.AlertCleared)
		if len(a) != 1 || !a[0].Resolved || a[0].ResolvedAt != api.At(e.End) || a[0].EnergyAtRiskKW != 0 || len(d.ListAlerts("")) != 0 {
			t.Fatalf("alerts %+v", a)
		}
		d.Clock = d.Clock.Add(time.Hour)
	}
}

// The worst and most urgent comes first.
func TestAlertOrder(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	event := func(family, unit, label, grade string, hoursAgo int) finding.Event {
		return finding.Event{Family: family, Units: []string{unit}, Start: d.Clock.Add(-time.Duration(hoursAgo) * time.Hour), LastSeen: d.Clock, LossFraction: 0.5, Severity: label, Grade: grade}
	}
	d.RecordRun(site, event("soiling", "INV-1", api.SeverityWarning, "Medium", 1), event("inverter_outage", "INV-2", api.SeverityCritical, "High", 9),
		event("string_outage", "INV-1", api.SeverityWarning, "Medium", 5), event("snow_cover", "INV-1", api.SeverityNormal, "Low", 1),
		event("ground_or_insulation_fault", "INV-1", api.SeverityCritical, "Critical", 20))
	move := func(family string, r api.AlertsRequest) {
		t.Helper()
		for _, a := range d.ListAlerts("") {
			if a.AlertType == family {
				r.AlertID = a.AlertID
				if _, _, err := d.Alerts.MoveAlert(t.Context(), domaintest.Acme, r); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	move("ground_or_insulation_fault", api.AlertsRequest{Action: api.ActionShelve, Minutes: 30, Reason: "known"})
	want := []string{"inverter_outage", "soiling", "string_outage", "snow_cover", "ground_or_insulation_fault"}
	for i, a := range d.ListAlerts("") {
		if a.AlertType != want[i] {
			t.Errorf("%d is %s, want %s", i, a.AlertType, want[i])
		}
	}
}
