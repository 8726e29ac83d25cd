package tui

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/workflow"
)

// realService is a service in a separate folder that has a month of two
// units of which the second is down in its last days.
func realService(t *testing.T, change ...func(*backend.Config)) *client.Client {
	t.Helper()
	cfg := backend.Config{DataDir: t.TempDir(), Now: func() time.Time { return noon }, Wall: time.Now, Tick: 10 * time.Millisecond, Settle: time.Millisecond, Quiet: 20 * time.Millisecond, KeyRate: 100_000}
	for _, c := range change {
		c(&cfg)
	}
	s, err := backend.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.Background()) }()
	key, _, err := s.Auth().CreateKey(t.Context(), auth.NewKey{Name: "console", Role: api.RoleOperator, Customers: []string{"acme"}})
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(client.Options{Transport: client.InProcess(s.Handler()), Credential: key})
	t.Cleanup(func() {
		c.Close()
		if err := errors.Join(s.Close(), <-ended); err != nil {
			t.Error(err)
		}
	})
	ack, err := c.UploadTrain(t.Context(), api.UploadRequest{CustomerID: "acme", SiteID: "Durban", Region: "af", Location: "-29.86,31.02", CapacityKW: 100, Timezone: "Africa/Johannesburg"}, strings.NewReader(plant.Month(noon)), nil)
	if err != nil {
		t.Fatal(err)
	}
	for {
		u, err := c.Upload(t.Context(), ack.UploadID)
		if err != nil {
			t.Fatal(err)
		}
		if u.Ended() {
			return c
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// orders are the service's orders, newest first.
func orders(t *testing.T, c *client.Client) []api.Order {
	t.Helper()
	r, err := c.Orders(t.Context(), api.ListQuery{CustomerID: "acme", SiteID: "Durban", Page: api.Page{Limit: 50}}, api.OrderRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Orders
}

// From a finding to an order with a technician in at most eight keys, against
// the service itself; then the order's whole life by keys.
func TestFromFindingToOrder(t *testing.T) {
	c := realService(t)
	d := start(t, 120, 36, func(o *Options, _ *plant.Service) { o.Client = c })
	d.shows("INV-2")
	keys := []string{"n", "o", "enter"}
	if len(keys) > 8 {
		t.Fatalf("%d keys", len(keys))
	}
	d.press(keys[:2]...)
	d.shows("Work order for INV-2", "inverter outage", "5 items", "the next morning", "2026-11-30 07:00", "anna")
	d.press(keys[2])
	all := orders(t, c)
	if len(all) != 1 {
		t.Fatalf("%d orders\n%s", len(all), d.text())
	}
	o := all[0]
	finding := d.m.data.Site.Findings.Data[0]
	if o.AssetID != "INV-2" || o.AssignedTechnician != "anna" || o.Status != api.OrderPending || o.SummaryID != finding.SummaryID || o.FaultFamily != finding.FaultFamily {
		t.Errorf("the order is %+v, the finding %+v", o, finding)
	}
	if !o.PlannedStart.After(noon) || o.EstimatedDurationHours <= 0 || o.BOMID == "" {
		t.Errorf("planned %s for %g h with bill %q", o.PlannedStart, o.EstimatedDurationHours, o.BOMID)
	}
	d.pass(20)
	if place := d.place(); place != "Act INV-2 "+finding.SummaryID {
		t.Errorf("the console is at %s", place)
	}
	d.shows("pending", "anna", "Clocks", "b begin")
	d.hides("F finish", "O reopen")

	d.press("1", "o") // the finding has its order
	d.shows("has a work order already")
	if d.m.nav.focus.String() != "Act" || len(orders(t, c)) != 1 {
		t.Errorf("a second order was made: %s", d.place())
	}

	for _, step := range []struct {
		keys   string
		status string
		shows  string
	}{
		{"F", api.OrderPending, "Unavailable: the order of INV-2 is pending."},
		{"t ctrl+u thandi enter", api.OrderPending, "thandi"},
		{"w right right enter", api.OrderOnHold, "access"},
		{"C", api.OrderPending, "Work order resumed"},
		{"b", api.OrderPending, "It is planned for"},
		{"enter", api.OrderInProgress, "Work order started"},
		{"F enter", api.OrderInProgress, "What was done?"},
		{"esc", api.OrderInProgress, "in progress"},
		{"F fuse tab -1 enter", api.OrderInProgress, "Hours are a number above zero"},
		{"esc F fuse tab 1.5 enter", api.OrderCompleted, "Work order completed"},
		{"x", api.OrderCompleted, "Unavailable"},
		{"O trips enter", api.OrderInProgress, "Work order reopened"},
	} {
		for _, k := range strings.Fields(step.keys) {
			d.press(k)
		}
		if got := orders(t, c)[0]; got.Status != step.status {
			t.Fatalf("after %q the order is %s, want %s\n%s", step.keys, got.Status, step.status, d.text())
		}
		d.shows(step.shows)
		d.pass(20)
	}
	if got := orders(t, c)[0]; got.AssignedTechnician != "thandi" {
		t.Errorf("assigned to %s", got.AssignedTechnician)
	}
}

// A change by another user meanwhile is refused with the service's message
// and the possible transitions; nothing typed is lost.
func TestRefusedMove(t *testing.T) {
	d := start(t, 120, 36, nil)
	d.press("4", "down", "x", "a duplicate")
	d.service.Refuse(func(r *http.Request) *api.Error {
		if r.URL.Path == api.PathOrder {
			return api.Conflict("Order ord_late is completed: cancel is not possible").With("actions", []string{api.ActionReopen})
		}
		return nil
	})
	d.press("enter")
	d.shows("Order ord_late is completed: cancel is not possible.", "Possible: reopen.", "a duplicate")
	if !strings.HasSuffix(d.place(), "[Cancel INV-07]") {
		t.Errorf("the dialog went: %s", d.place())
	}
	d.press("esc")
}

// Only the moves of an order's state are offered.
func TestMovesOffered(t *testing.T) {
	d := start(t, 120, 36, nil)
	for status, want := range map[string][]string{
		api.OrderPending: {"assign", "start", "hold", "cancel"}, api.OrderInProgress: {"assign", "hold", "complete", "cancel"},
		api.OrderOnHold: {"assign", "start", "resume", "cancel"}, api.OrderCompleted: {"reopen"}, api.OrderCancelled: nil,
	} {
		if got := workflow.StatusActions(api.Order{Status: status}); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", status, got, want)
		}
	}
	d.press("4", "G") // the completed one
	d.shows("O reopen")
	d.hides("b begin", "F finish", "x cancel")
	d.press("b")
	d.shows("Unavailable: the order of INV-02 is completed.")
}

// Where there is a forecast, the best window is the default.
func TestBestWindowIsTheDefault(t *testing.T) {
	d := start(t, 80, 24, nil)
	d.press("n", "o")
	d.shows("inverter outage: 2 items, ZAR 1840; the unit is down during it.", "The best of 3 windows; it loses 38.0 kWh, ZAR 57.00.", "2026-11-29 06:00")
	d.press("ctrl+u", "soon", "enter")
	d.shows("The begin is a date and a time as in 2026-11-29 06:00.")
	d.press("esc")
	if place := d.place(); place != "Observe INV-03 f-dead" {
		t.Errorf("esc leads to %s", place)
	}
}

// Short of essential parts, work begins with a note only.
func TestShortParts(t *testing.T) {
	d := start(t, 120, 36, nil)
	d.press("4", "down", "b")
	d.shows("Short of 3 × String fuse 15 A.", "start without them")
	d.press("enter")
	d.shows("Why without these parts?")
}

// bills are the service's bills of materials, newest first; schedules its
// schedules.
func bills(t *testing.T, c *client.Client) []api.BOM {
	t.Helper()
	r, err := c.BOMs(t.Context(), api.ListQuery{CustomerID: "acme", SiteID: "Durban", Page: api.Page{Limit: 50}})
	if err != nil {
		t.Fatal(err)
	}
	return r.BOMs
}

func schedules(t *testing.T, c *client.Client) []api.Schedule {
	t.Helper()
	r, err := c.Schedules(t.Context(), api.ListQuery{CustomerID: "acme", SiteID: "Durban", Page: api.Page{Limit: 50}}, "")
	if err != nil {
		t.Fatal(err)
	}
	return r.Schedules
}

// One key leads from a unit with an alarm to an order, step by step, in at
// most eight keys; then it continues with the order's transitions.
func TestNextStep(t *testing.T) {
	c := realService(t)
	d := start(t, 120, 36, func(o *Options, _ *plant.Service) { o.Client = c })
	d.m.nav.selection = view.Selection{AssetID: "INV-2"} // a unit, without its finding
	d.shows("n plan")
	keys := 0
	press := func(k ...string) {
		keys += len(k)
		d.press(k...)
	}
	press("n")
	d.shows("Plan maintenance of INV-2", "corrective", "2026-11-30 07:00", "high", "the next morning")
	press("enter")
	plans := schedules(t, c)
	if len(plans) != 1 || plans[0].AssetID != "INV-2" || plans[0].MaintenanceType != api.MaintenanceCorrective || plans[0].Priority != api.PriorityHigh || plans[0].Reason == "" {
		t.Fatalf("schedules: %+v\n%s", plans, d.text())
	}
	d.shows("Maintenance scheduled: INV-2", "n parts")
	d.pass(20)
	d.shows("plan 30 Nov")
	press("n")
	d.shows("Parts for INV-2", "inverter_outage")
	press("enter")
	made := bills(t, c)
	if len(made) != 1 || made[0].ScheduleID != plans[0].ScheduleID || made[0].FaultFamily != "inverter_outage" {
		t.Fatalf("bills: %+v\n%s", made, d.text())
	}
	d.shows("n order")
	press("n")
	d.shows("Work order for INV-2", "2026-11-30 07:00", "As it is planned")
	press("enter")
	if keys > 8 {
		t.Errorf("%d keys", keys)
	}
	all := orders(t, c)
	if len(all) != 1 || all[0].ScheduleID != plans[0].ScheduleID || all[0].BOMID != made[0].BOMID || all[0].AssignedTechnician != "anna" {
		t.Fatalf("orders: %+v\n%s", all, d.text())
	}
	if plan := schedules(t, c)[0]; plan.Status != api.ScheduleConfirmed || plan.OrderID != all[0].OrderID {
		t.Errorf("the plan is %+v", plan)
	}
	if len(bills(t, c)) != 1 {
		t.Error("a second bill was made")
	}
	d.pass(20)
	d.shows("order pending", "n begin")
	d.press("n", "enter") // it is planned for another day
	d.pass(20)
	d.shows("order in progress", "n finish")
	d.press("n", "breaker closed", "enter")
	if o := orders(t, c)[0]; o.Status != api.OrderCompleted || o.CompletionNotes != "breaker closed" {
		t.Errorf("the order is %+v\n%s", o, d.text())
	}
	d.pass(20)
	d.shows("order completed")
	d.press("n")
	d.shows("There is no next step: the repair is not verified yet: needs a clear day.")
}

// A unit without a finding is looked at by the detector.
func TestNextStepDetects(t *testing.T) {
	c := realService(t)
	d := start(t, 120, 36, func(o *Options, _ *plant.Service) { o.Client = c })
	d.m.nav.selection = view.Selection{AssetID: "INV-1"}
	d.shows("n detect")
	d.press("n")
	d.shows("INV-1: detection found nothing abnormal.")
	d.press("esc", "n")
	if place := d.place(); !strings.HasPrefix(place, "Observe INV-2") {
		t.Errorf("with nothing selected it takes %s", place)
	}
}

// A role that only reads does no step.
func TestNextStepOfAReader(t *testing.T) {
	d := start(t, 120, 36, func(o *Options, _ *plant.Service) {
		o.User = &api.User{UserID: "u2", Username: "bob", RoleID: api.RoleAnalyst, RoleName: "Analyst"}
	})
	d.press("n")
	if place := d.place(); place != "Orient INV-03 f-dead" {
		t.Errorf("it takes %s", place)
	}
	d.press("n")
	d.shows("Unavailable: your role only reads.")
}

// An order is completed with the parts that were really used: what the plan
// did not have, too. What is wrong is refused at its field.
func TestCompletionWithParts(t *testing.T) {
	c := realService(t)
	d := start(t, 120, 36, func(o *Options, _ *plant.Service) { o.Client = c })
	d.press("n", "o", "enter")
	d.minute()
	d.press("b", "enter")
	d.minute()
	o := orders(t, c)[0]
	whole, err := c.Order(t.Context(), o.OrderID)
	if err != nil || o.Status != api.OrderInProgress || len(whole.Parts) < 2 || o.PartsShort != 0 {
		t.Fatalf("%+v: %v\n%s", whole, err, d.text())
	}
	d.press("F", "breaker swapped")
	d.shows("The quantity of each part that was used", "Others")
	d.press("tab", "tab", "ctrl+u", "none", "enter")
	d.shows("How many were used is a whole number from 0 on.")
	d.press("ctrl+u", "0", "shift+tab", "shift+tab", "shift+tab", "fuses", "enter") // the last field is before the first
	d.shows("Parts are written as a number and a part number", "fuses")
	d.press("ctrl+u", "1 NO-SUCH-PART", "enter")
	d.shows("NO-SUCH-PART")
	d.press("ctrl+u", "3 FUSE-GPV-15A", "enter")
	done, err := c.Order(t.Context(), o.OrderID)
	if err != nil || done.Status != api.OrderCompleted {
		t.Fatalf("%+v: %v\n%s", done, err, d.text())
	}
	used := map[string]int{}
	for _, p := range done.Parts {
		used[p.PartNumber] = p.Used
	}
	if used[whole.Parts[0].PartNumber] != 0 || used[whole.Parts[1].PartNumber] != whole.Parts[1].Reserved || used["FUSE-GPV-15A"] != 3 {
		t.Errorf("used: %v of %+v", used, whole.Parts)
	}
	d.minute()
	d.press("4", "enter")
	d.shows("From alarm to verification", "finding", "order", "done", "breaker swapped", "proof", "not verified yet: needs a clear day", "Activity on INV-2", "Work order created")
}

// Holds are shown with their reasons, and whether the clocks stood still.
func TestHoldsOfAnOrder(t *testing.T) {
	c := realService(t)
	d := start(t, 120, 36, func(o *Options, _ *plant.Service) { o.Client = c })
	d.press("n", "o", "enter")
	d.minute()
	d.press("w", "tab", "storm", "enter")
	d.minute()
	d.shows("weather: storm; the time")
	d.press("C")
	d.minute()
	d.press("w", "right", "right", "right", "enter")
	d.minute()
	d.shows("parts; the time limits")
	if o := orders(t, c)[0]; o.HoldReason != api.HoldParts {
		t.Errorf("held for %q", o.HoldReason)
	}
}
