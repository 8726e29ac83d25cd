package tui

import (
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/tui/internal/plant"
)

// The issue of a finding is taken on and closed by keys, against the service
// itself; a closing without words is not sent.
func TestIssueOfAFinding(t *testing.T) {
	c := realService(t)
	d := start(t, 120, 36, func(o *Options, _ *plant.Service) { o.Client = c })
	issue := func() api.Issue {
		t.Helper()
		r, err := c.Issues(t.Context(), api.ListQuery{CustomerID: "acme", SiteID: "Durban", Page: api.Page{Limit: 50}})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range r.Issues {
			if i.SummaryID == d.m.nav.selection.FindingID {
				return i
			}
		}
		t.Fatalf("no issue of %s among %d", d.m.nav.selection.FindingID, len(r.Issues))
		return api.Issue{}
	}
	d.press("n", "2")
	d.press("esc", "esc", "N")
	d.pass(5)
	d.shows("issue new since")
	d.press("a")
	d.shows("Acknowledge inverter outage")
	d.press("looking at the codes", "enter")
	if i := issue(); i.Status != api.IssueInProgress || i.History[len(i.History)-1].Note != "looking at the codes" {
		t.Fatalf("the issue is %s: %+v\n%s", i.Status, i.History, d.text())
	}
	d.pass(5)
	d.shows("looking at the codes")
	d.press("a")
	d.shows("Unavailable: its issue is in progress already.")
	d.press("X", "enter")
	d.shows("What was the cause?")
	if i := issue(); i.Status != api.IssueInProgress {
		t.Fatalf("closed without words: %s", i.Status)
	}
	d.press("a relay", "enter")
	if i := issue(); i.Status != api.IssueResolved || i.History[len(i.History)-1].Note != "confirmed: a relay" {
		t.Fatalf("the issue is %s: %+v\n%s", i.Status, i.History, d.text())
	}
}
