package issue_test

import (
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/domaintest"
	"app.sunloop/backend/domain/finding"
)

// An issue's priority rises at once and falls only when its fault has deserved
// less for a day.
func TestPriorityFallsOnlyAfterADayOfCalm(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	start := d.Clock
	for _, step := range []struct {
		after         time.Duration
		severity      string
		priority, why string
	}{
		{0, api.SeverityWarning, api.PriorityMedium, "as it was found"},
		{time.Hour, api.SeverityCritical, api.PriorityHigh, "it rises at once"},
		{time.Hour, api.SeverityWarning, api.PriorityHigh, "an hour of calm"},
		{22 * time.Hour, api.SeverityNormal, api.PriorityHigh, "23 hours of calm"},
		{30 * time.Minute, api.SeverityCritical, api.PriorityHigh, "deserved again"},
		{23*time.Hour + 59*time.Minute, api.SeverityWarning, api.PriorityHigh, "a minute less than a day of calm"},
		{time.Minute, api.SeverityWarning, api.PriorityMedium, "a day of calm"},
		{24 * time.Hour, api.SeverityNormal, api.PriorityLow, "another, with less still"},
	} {
		d.Clock = d.Clock.Add(step.after)
		e := domaintest.Outage("INV-1", start, d.Clock)
		e.Severity = step.severity
		d.RecordRun(site, e)
		if got := d.ListIssues(); len(got) != 1 || got[0].Priority != step.priority || got[0].Status != api.IssueNew {
			t.Errorf("%s: %+v, want one with priority %s", step.why, got, step.priority)
		}
	}
}

// One issue is open for a unit and family; within 72 h of its end the same
// fault opens it again, later a new one.
func TestIssueOpensAgainWithin72Hours(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	fire := func(unit, family string) {
		e := domaintest.Outage(unit, d.Clock.Add(-time.Minute), d.Clock)
		e.Family = family
		d.RecordRun(site, e)
	}
	fire("INV-1", "inverter_outage")
	first := d.ListIssues()[0].IssueID
	fire("INV-1", "inverter_outage") // again, the same run
	if got := d.ListIssues(); len(got) != 1 || len(got[0].History) != 1 {
		t.Errorf("found twice: %+v", got)
	}
	resolved := func(id string) {
		t.Helper()
		d.Clock = d.Clock.Add(time.Minute)
		d.RecordRun(site)
		if i := d.ListIssues()[0]; i.IssueID != id || i.Status != api.IssueResolved || i.EnergyAtRiskKW != 0 || i.History[len(i.History)-1].Note != api.ReasonAuto {
			t.Errorf("after its fault it is %+v", i)
		}
	}
	resolved(first)
	d.Clock = d.Clock.Add(finding.ReopenWithin)
	fire("INV-1", "inverter_outage")
	got := d.ListIssues()
	if len(got) != 1 || got[0].IssueID != first || got[0].Status != api.IssueInProgress || got[0].Reopened != 1 {
		t.Errorf("72 h after: %+v", got)
	}
	last := got[0].History[len(got[0].History)-1]
	if last.From != api.IssueResolved || last.To != api.IssueInProgress || last.Actor != "detector" || last.Note == "" || !last.At.Equal(d.Clock) {
		t.Errorf("its last move is %+v", last)
	}
	resolved(first)
	d.Clock = d.Clock.Add(finding.ReopenWithin + time.Hour)
	fire("INV-1", "inverter_outage")
	if got = d.ListIssues(); len(got) != 2 || got[0].IssueID == first || got[0].Status != api.IssueNew || got[0].Reopened != 0 || got[1].Status != api.IssueResolved {
		t.Errorf("after more than 72 h: %+v", got)
	}
	// Another unit's fault, and the unit's other fault, are issues of their own.
	d.RecordRun(site, domaintest.Outage("INV-1", d.Clock, d.Clock), domaintest.Outage("INV-2", d.Clock, d.Clock), finding.Event{Family: "string_outage", Units: []string{"INV-1"}, Start: d.Clock, LastSeen: d.Clock, Severity: api.SeverityWarning})
	open := map[string]int{}
	for _, i := range d.ListIssues() {
		if i.Status != api.IssueResolved {
			open[i.Component+" "+i.IssueType]++
		}
	}
	if len(open) != 3 || open["INV-1 inverter_outage"] != 1 || open["INV-2 inverter_outage"] != 1 || open["INV-1 string_outage"] != 1 {
		t.Errorf("open are %v", open)
	}
}
