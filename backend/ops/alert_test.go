package ops

import (
	"testing"
	"time"

	"app.sunloop/backend/api"
)

func (d *desk) alerts(state string) []api.Alert {
	d.t.Helper()
	list, _, _, err := d.Alerts(d.t.Context(), acme, api.ListQuery{CustomerID: "acme"}, state)
	if err != nil {
		d.t.Fatal(err)
	}
	return list
}

// An alert follows its finding's severity: worse asks again, better does not.
func TestAlertFollowsSeverity(t *testing.T) {
	d := newDesk(t)
	site := d.site("South", "acme")
	start := d.clock.Add(-2 * time.Hour)
	soiling := func(grade, label string, loss float64) Event {
		return Event{Family: "soiling", Units: []string{"INV-1"}, Start: start, LastSeen: d.clock, LossFraction: loss, Severity: label, Grade: grade, Summary: "Dirt."}
	}
	step := func(grade, label string, loss float64, severity, state string) {
		t.Helper()
		d.judge(site, soiling(grade, label, loss))
		a := d.alerts("")
		if len(a) != 1 || a[0].AlertSeverity != severity || a[0].State != state {
			t.Fatalf("%s, %s: %+v", grade, label, a)
		}
		d.clock = d.clock.Add(time.Hour)
	}
	step("Low", api.SeverityNormal, 0, api.AlertNormal, api.AlertAcknowledged) // an event: nobody need act
	step("Low", api.SeverityNormal, 0.01, api.AlertMinor, api.AlertAcknowledged)
	step("Medium", api.SeverityWarning, 0.1, api.AlertModerate, api.AlertUnacknowledged)
	id := d.alerts("")[0].AlertID
	if _, _, err := d.MoveAlert(t.Context(), acme, api.AlertsRequest{Action: api.ActionAcknowledge, AlertID: id}); err != nil {
		t.Fatal(err)
	}
	step("Medium", api.SeverityWarning, 0.1, api.AlertModerate, api.AlertAcknowledged)
	step("High", api.SeverityCritical, 0.4, api.AlertMajor, api.AlertUnacknowledged)
	step("Critical", api.SeverityCritical, 0.6, api.AlertCritical, api.AlertUnacknowledged)
	step("Low", api.SeverityNormal, 0.01, api.AlertCritical, api.AlertUnacknowledged) // falls after a calm day alone
	d.clock = d.clock.Add(25 * time.Hour)
	step("Low", api.SeverityNormal, 0.01, api.AlertMinor, api.AlertUnacknowledged)
	d.judge(site)
	if a := d.alerts(""); len(a) != 1 || a[0].State != api.AlertReturned || a[0].Timestamp != api.At(start) {
		t.Errorf("at the end: %+v", a)
	}
}

// What a file tells of the past is history: nobody is asked to see it.
func TestAlertsOfThePastAreCleared(t *testing.T) {
	d := newDesk(t)
	site := d.site("South", "acme")
	e := outage("INV-1", d.clock.Add(-200*time.Hour), d.clock.Add(-190*time.Hour))
	e.End = d.clock.Add(-190 * time.Hour)
	for range 2 {
		d.judge(site, e)
		a := d.alerts(api.AlertCleared)
		if len(a) != 1 || !a[0].Resolved || a[0].ResolvedAt != api.At(e.End) || a[0].EnergyAtRiskKW != 0 || len(d.alerts("")) != 0 {
			t.Fatalf("alerts %+v", a)
		}
		d.clock = d.clock.Add(time.Hour)
	}
}

// What is worst and wants doing comes first.
func TestAlertOrder(t *testing.T) {
	d := newDesk(t)
	site := d.site("South", "acme")
	event := func(family, unit, label, grade string, hoursAgo int) Event {
		return Event{Family: family, Units: []string{unit}, Start: d.clock.Add(-time.Duration(hoursAgo) * time.Hour), LastSeen: d.clock, LossFraction: 0.5, Severity: label, Grade: grade}
	}
	d.judge(site, event("soiling", "INV-1", api.SeverityWarning, "Medium", 1), event("inverter_outage", "INV-2", api.SeverityCritical, "High", 9),
		event("string_outage", "INV-1", api.SeverityWarning, "Medium", 5), event("snow_cover", "INV-1", api.SeverityNormal, "Low", 1),
		event("ground_or_insulation_fault", "INV-1", api.SeverityCritical, "Critical", 20))
	move := func(family string, r api.AlertsRequest) {
		t.Helper()
		for _, a := range d.alerts("") {
			if a.AlertType == family {
				r.AlertID = a.AlertID
				if _, _, err := d.MoveAlert(t.Context(), acme, r); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	move("ground_or_insulation_fault", api.AlertsRequest{Action: api.ActionShelve, Minutes: 30, Reason: "known"})
	want := []string{"inverter_outage", "soiling", "string_outage", "snow_cover", "ground_or_insulation_fault"}
	for i, a := range d.alerts("") {
		if a.AlertType != want[i] {
			t.Errorf("%d is %s, want %s", i, a.AlertType, want[i])
		}
	}
}
