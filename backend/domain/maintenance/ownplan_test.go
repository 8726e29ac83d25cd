package maintenance

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// An order that is planned for a time and has no schedule makes its own, which
// ends as the order does.
func TestOrdersPlanThemselves(t *testing.T) {
	d := newDesk(t, nil)
	d.judge(true)
	start := d.clock.Add(2 * day).Truncate(day).Add(9 * time.Hour) // 11:00 in Vienna
	create := func(r api.OrderRequest) api.Order {
		t.Helper()
		r.CustomerID, r.BOMID, r.Additional, r.AssignedTechnician = acme, d.bill(inv).BOMID, true, "grace"
		o, err := d.CreateOrder(t.Context(), boss, r)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	plan := func(o api.Order) api.Schedule {
		t.Helper()
		p, err := d.Schedule(t.Context(), boss, o.ScheduleID)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	o := create(api.OrderRequest{PlannedStart: api.At(start)})
	p := plan(o)
	if p.Status != api.ScheduleConfirmed || p.OrderID != o.OrderID || !p.ScheduledDate.Equal(start) || p.AssetID != inv || p.MaintenanceType != api.MaintenanceCorrective ||
		p.Priority != o.Priority || p.Reason != "It makes no power." {
		t.Errorf("the plan of %+v is %+v", o, p)
	}
	if _, err := d.MoveSchedule(t.Context(), boss, api.ScheduleRequest{ScheduleID: p.ScheduleID, Reason: "r"}, api.ScheduleCancelled); err == nil {
		t.Error("the plan is cancelled and the order is not")
	}
	d.move(api.OrderRequest{Action: api.ActionStart, OrderID: o.OrderID})
	if p := plan(o); p.Status != api.ScheduleConfirmed {
		t.Errorf("begun, the plan is %s", p.Status)
	}
	d.move(api.OrderRequest{Action: api.ActionComplete, OrderID: o.OrderID, CompletionNotes: "n"})
	if p := plan(o); p.Status != api.ScheduleCompleted || !p.CompletedAt.Equal(d.clock) {
		t.Errorf("completed, the plan is %+v", p)
	}

	// If the order is cancelled, its own plan is cancelled too, and an existing plan is released.
	o = create(api.OrderRequest{PlannedStart: api.At(start), Note: "With the crane"})
	if p := plan(o); p.Reason != "With the crane" {
		t.Errorf("the reason is %q", p.Reason)
	}
	d.move(api.OrderRequest{Action: api.ActionCancel, OrderID: o.OrderID, Reason: "a duplicate"})
	if p := plan(o); p.Status != api.ScheduleCancelled {
		t.Errorf("cancelled, its own plan is %s", p.Status)
	}
	there, _, err := d.CreateSchedule(t.Context(), boss, api.ScheduleRequest{AssetID: inv, MaintenanceType: api.MaintenanceCorrective, ScheduledDate: api.At(start), Priority: api.PriorityHigh, Reason: "r"})
	if err != nil {
		t.Fatal(err)
	}
	o = create(api.OrderRequest{PlannedStart: api.At(start), ScheduleID: there.ScheduleID})
	if o.ScheduleID != there.ScheduleID {
		t.Errorf("with a schedule it makes another: %s", o.ScheduleID)
	}
	d.move(api.OrderRequest{Action: api.ActionCancel, OrderID: o.OrderID, Reason: "a duplicate"})
	if p := plan(o); p.Status != api.SchedulePending || p.OrderID != "" {
		t.Errorf("cancelled, the plan that was there is %+v", p)
	}
	// Without a time there is nothing to plan; a refused order leaves no plan.
	if o := create(api.OrderRequest{}); o.ScheduleID != "" {
		t.Errorf("planned without a time: %s", o.ScheduleID)
	}
	before, _, err := d.Schedules(t.Context(), boss, api.ListQuery{SiteID: south, Page: api.Page{Limit: 100}}, "", false)
	if err != nil {
		t.Fatal(err)
	}
	var refusal *api.Error
	if _, err := d.CreateOrder(t.Context(), boss, api.OrderRequest{CustomerID: acme, BOMID: d.bill(inv).BOMID, PlannedStart: api.At(start)}); !errors.As(err, &refusal) || refusal.Status != http.StatusConflict {
		t.Errorf("a second order of the finding: %v", err)
	}
	if after, _, err := d.Schedules(t.Context(), boss, api.ListQuery{SiteID: south, Page: api.Page{Limit: 100}}, "", false); err != nil || len(after) != len(before) {
		t.Errorf("%d plans, were %d, %v", len(after), len(before), err)
	}
}

// A day that is over is no day for work, but earlier today means now, and
// emergency work may have begun; what is refused leaves nothing.
func TestOrdersOfThePast(t *testing.T) {
	d := newDesk(t, nil)
	d.judge(true)
	for name, tt := range map[string]struct {
		start   time.Time
		refused bool
	}{
		"yesterday":     {d.clock.Add(-day), true},
		"earlier today": {d.clock.Add(-time.Minute), false},
	} {
		before, _, err := d.Orders(t.Context(), boss, api.ListQuery{CustomerID: acme}, api.OrderRequest{})
		if err != nil {
			t.Fatal(err)
		}
		o, err := d.CreateOrder(t.Context(), boss, api.OrderRequest{CustomerID: acme, BOMID: d.bill(inv).BOMID, Additional: true, PlannedStart: api.At(tt.start)})
		var refusal *api.Error
		switch {
		case tt.refused && (!errors.As(err, &refusal) || refusal.Status != http.StatusBadRequest || refusal.Details["field"] != "planned_start"):
			t.Errorf("%s: %v", name, err)
		case !tt.refused && (err != nil || o.PlannedStart.Before(d.clock)):
			t.Errorf("%s: %v, planned for %s", name, err, o.PlannedStart)
		}
		after, _, err := d.Orders(t.Context(), boss, api.ListQuery{CustomerID: acme}, api.OrderRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if tt.refused && len(after) != len(before) {
			t.Errorf("%s: %d orders, %d before", name, len(after), len(before))
		}
	}
}
