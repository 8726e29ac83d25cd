package tui

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"app.sunloop/backend/api"
)

// The trail is asked by actor, site, kind, thing and time, further back, and
// written whole.
func TestAuditQuestions(t *testing.T) {
	o := startOffice(t, 120, 36, api.RoleAdmin)
	o.plantSite()
	ctx, trail := context.Background(), o.service.Trail()
	for i := range 700 {
		r := api.AuditRecord{Actor: "bob", ActorID: "usr_bob", Route: "order", Action: "start", SiteID: "Sibaya", Status: 200, CustomerIDs: []string{"acme"}, TargetIDs: map[string]string{"order_id": fmt.Sprintf("ord_%03d", i)}}
		if i%100 == 0 {
			r.Actor, r.ActorID, r.SiteID, r.Action = "carla", "usr_carla", "Havelland", "complete"
		}
		if err := trail.Append(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	o.press("g", "a")
	o.shows("Audit trail", "bob", "order start")
	o.press("/", "ord_000", "enter")
	o.shows("Nothing matches")
	o.press("esc", "m")
	o.pass(2)
	o.press("/", "ord_000", "enter")
	o.shows("carla", "order complete", "Havelland")
	o.press("m")
	o.shows("there are no older records of this")
	o.press("e")
	o.shows("1 row written to")
	o.press("esc", "f", "carla", "tab", "tab", "tab", "tab", "yesterday", "enter")
	o.shows("give a date or time", "carla")
	o.press("ctrl+u", "2026-11-28", "enter")
	o.pass(2)
	o.shows("Audit trail of carla from 2026-11-28", "order complete")
	o.hides("order start")
	o.press("f", "ctrl+u", "tab", "Sibaya", "tab", "order start", "enter")
	o.pass(2)
	o.shows("at Sibaya: order start", "bob")
	o.hides("carla ")
	o.press("o")
	o.pass(2)
	o.shows("Audit trail of ord_699")
	if n := strings.Count(o.text(), "order start"); n != 2 { // the row, and its details
		t.Errorf("%d records of one order:\n%s", n, o.text())
	}
	o.press("esc")
	o.shows("at Sibaya: order start")
	o.press("a")
	o.pass(2)
	o.press("a")
	o.shows("all records are shown")
	o.press("f", "ctrl+u", "unknown", "enter")
	o.pass(2)
	o.shows("No records match.")
}
