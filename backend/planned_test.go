package backend

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// What is planned shows in the snapshots of partners in the answer to the next
// request, whatever is done to it.
func TestPlannedWorkShowsAtOnce(t *testing.T) {
	now := time.Date(2026, 4, 15, 8, 0, 0, 0, time.UTC)
	h := open(t, Config{DataDir: t.TempDir(), Now: func() time.Time { return now }})
	ctx := t.Context()
	if _, err := h.SetSite(ctx, api.Site{SiteID: "South", CustomerID: "acme", Timezone: "Europe/Vienna", CapacityKW: 50}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.AddAsset(ctx, api.Asset{AssetID: "INV-1", SiteID: "South", Name: "One", Type: "inverter", CapacityKW: 50, Location: "roof"}); err != nil {
		t.Fatal(err)
	}
	shown := func(step string, want ...api.MaintenanceTask) {
		t.Helper()
		doc, err := h.MaintenanceSchedule(ctx, api.SiteRef{SiteID: "South"})
		if err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		if len(doc.Tasks) != len(want) || doc.Summary.TotalTasks != len(want) {
			t.Fatalf("%s: %d tasks are shown: %+v", step, len(doc.Tasks), doc.Tasks)
		}
		for i, w := range want {
			got := doc.Tasks[i]
			if got.ScheduleID != w.ScheduleID || got.Status != w.Status || got.EstimatedDurationHours != w.EstimatedDurationHours || got.RecommendedDate != w.RecommendedDate {
				t.Errorf("%s: shown is %+v, want %+v", step, got, w)
			}
		}
		var same api.MaintenanceSchedule
		body, err := h.Snapshot(ctx, api.SiteRef{SiteID: "South"}, api.SnapshotSchedule)
		if err != nil || json.Unmarshal(body, &same) != nil || same.Summary.TotalTasks != len(want) || !same.GeneratedAt.Equal(doc.GeneratedAt.Time) {
			t.Errorf("%s: /snapshot says %s, %v", step, body, err)
		}
	}
	if _, err := h.MaintenanceSchedule(ctx, api.SiteRef{SiteID: "South"}); !errors.Is(err, api.ErrNotFound) {
		t.Fatalf("before anything is planned: %v", err)
	}
	plan, err := h.CreateSchedule(ctx, api.ScheduleRequest{AssetID: "INV-1", SiteID: "South", MaintenanceType: api.MaintenanceCorrective, Priority: api.PriorityHigh,
		ScheduledDate: api.At(now.AddDate(0, 0, 3)), Reason: "hot"})
	if err != nil {
		t.Fatal(err)
	}
	task := api.MaintenanceTask{ScheduleID: plan.ScheduleID, Status: api.SchedulePending, EstimatedDurationHours: 4, RecommendedDate: "2026-04-18"}
	shown("planned", task)
	order := func() string {
		t.Helper()
		bill, err := h.GenerateBOM(ctx, api.BOMRequest{AssetID: "INV-1", CustomerID: "acme", ScheduleID: plan.ScheduleID})
		if err != nil {
			t.Fatal(err)
		}
		o, err := h.CreateOrder(ctx, api.OrderRequest{CustomerID: "acme", BOMID: bill.BOMID, EstimatedDurationHours: 6.5, AssignedTechnician: "grace"})
		if err != nil {
			t.Fatal(err)
		}
		return o.OrderID
	}
	move := func(r api.OrderRequest) {
		t.Helper()
		if _, err := h.MoveOrder(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	first := order()
	ordered := task
	ordered.Status, ordered.EstimatedDurationHours = api.ScheduleConfirmed, 6.5
	shown("ordered", ordered)
	move(api.OrderRequest{Action: api.ActionCancel, OrderID: first, Reason: "a duplicate"})
	shown("cancelled", task)
	second := order()
	move(api.OrderRequest{Action: api.ActionStart, OrderID: second})
	shown("begun", ordered)
	move(api.OrderRequest{Action: api.ActionComplete, OrderID: second, CompletionNotes: "done"})
	shown("completed")
}
