package compat

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

var (
	maintenance = exactly("preventive", "corrective", "emergency")
	priority    = exactly("high", "medium", "low")
)

// soon is a date of maintenance as a client writes it: a day after the plants'
// now, without a zone.
var soon = now.AddDate(0, 0, 9).Format("2006-01-02T15:04:05")

func TestSchedules(t *testing.T) {
	form := func() map[string]any {
		return bodyOf("action", "create", "asset_id", asset, "maintenance_type", "preventive", "scheduled_date", soon, "priority", "medium", "reason", "Yearly look at the cabinet")
	}
	ask := func(body map[string]any) answer {
		return post(t, bearer, shared.hosts[api.HostMain], "/terminal/schedule", body)
	}
	created := object(fields{"success": exactly(true), "message": text, "schedule_id": text, "asset_id": exactly(asset), "scheduled_date": exactly(soon + "Z")})
	first := ask(form()).is(created)
	for _, date := range []string{soon + "Z", soon + ".000Z", soon + "+00:00", soon + ".123456", soon[:10]} {
		b := form()
		b["scheduled_date"], b["customer_id"], b["priority"], b["reason"] = date, customer, "High", "As of "+date
		a := ask(b).is(object(fields{"success": exactly(true), "schedule_id": text, "scheduled_date": instant}))
		if !strings.HasPrefix(a.text("scheduled_date"), soon[:10]) {
			t.Errorf("%s became %s", date, a.text("scheduled_date"))
		}
	}
	schedules := object(fields{"success": exactly(true), "count": integer, "schedules": some(object(fields{
		"schedule_id": text, "asset_id": text, "maintenance_type": maintenance, "scheduled_date": instant, "priority": priority, "status": text,
	}))})
	for _, more := range [][]any{{"asset_id", asset}, {"asset_id", asset, "customer_id", customer}, {"customer_id", customer}, {"customer_id", customer, "limit", 1000}} {
		a := ask(bodyOf(append([]any{"action", "list"}, more...)...)).is(schedules)
		if !strings.Contains(string(a.body), first.text("schedule_id")) {
			t.Errorf("%v: the one just made is not there", more)
		}
	}
	for _, name := range []string{"asset_id", "maintenance_type", "scheduled_date", "priority", "reason"} {
		b := form()
		delete(b, name)
		ask(b).refused(http.StatusBadRequest, "Missing required field: "+name)
	}
	b := form()
	b["asset_id"] = "INV-0"
	ask(b).refused(http.StatusNotFound, "Asset not found")
	ask(bodyOf("action", "drop", "asset_id", asset)).refused(http.StatusBadRequest, "Invalid action")
	ask(bodyOf("asset_id", asset)).refused(http.StatusBadRequest, "Invalid action")
}

// scheduled makes a schedule and answers its id.
func scheduled(t *testing.T, assetID string) string {
	t.Helper()
	return terminal(t, "/terminal/schedule", "action", "create", "asset_id", assetID, "maintenance_type", "corrective", "scheduled_date", soon, "priority", "high", "reason", "Repair").
		is(object(fields{"schedule_id": text})).text("schedule_id")
}

func TestBOMs(t *testing.T) {
	item := object(fields{"part_number": text, "description": text, "quantity": integer, "unit_cost": number, "total_cost": number})
	generated := object(fields{"success": exactly(true), "message": text, "bom_id": text, "asset_id": exactly(faulty), "items": some(item), "total_cost": number})
	for _, form := range [][]any{
		{"action", "generate", "asset_id", faulty, "maintenance_type", "corrective"},
		{"action", "generate", "asset_id", faulty, "maintenance_type", "preventive", "schedule_id", scheduled(t, faulty)},
		{"action", "build", "asset_id", faulty, "customer_id", customer, "maintenance_type", "emergency"},
		{"action", "build", "asset_id", faulty, "customer_id", customer, "schedule_id", scheduled(t, faulty)},
		{"action", "generate", "asset_id", faulty, "customer_id", customer},
	} {
		a := terminal(t, "/terminal/bom", form...).is(generated)
		sum := 0.0
		for _, e := range a.elements("items") {
			i := e.(map[string]any)
			if each := i["quantity"].(float64) * i["unit_cost"].(float64); each-i["total_cost"].(float64) > 0.01 || i["total_cost"].(float64)-each > 0.01 {
				t.Errorf("%v", i)
			}
			sum += i["total_cost"].(float64)
		}
		if total := a.at("total_cost").(float64); total-sum > 0.01 || sum-total > 0.01 {
			t.Errorf("%v in all, %v in parts", total, sum)
		}
	}
	boms := object(fields{"success": exactly(true), "count": integer, "boms": both(some(object(fields{"bom_id": text, "asset_id": text, "generated_at": instant, "total_cost": number, "item_count": integer})), descending("generated_at"))})
	for _, more := range [][]any{{"asset_id", faulty}, {"asset_id", faulty, "customer_id", customer}, {"customer_id", customer, "limit", 1000}} {
		terminal(t, "/terminal/bom", append([]any{"action", "list"}, more...)...).is(boms)
	}
	// If the currency is the dollar, its name is next to the sum.
	us := shared.fleet.Sites[2]
	a := terminal(t, "/terminal/bom", "action", "generate", "asset_id", us.Units[0].AssetID, "maintenance_type", "corrective").is(object(fields{"total_cost": number, "total_cost_usd": number}))
	if us.Currency != "USD" || a.at("total_cost") != a.at("total_cost_usd") {
		t.Errorf("in %s: %s", us.Currency, a.body)
	}
	terminal(t, "/terminal/bom", "action", "generate", "asset_id", "INV-0", "maintenance_type", "corrective").refused(http.StatusNotFound, "Asset not found")
	terminal(t, "/terminal/bom", "action", "generate", "asset_id", asset).refused(http.StatusBadRequest, "Missing required field: maintenance_type")
	terminal(t, "/terminal/bom", "action", "generate", "maintenance_type", "corrective").refused(http.StatusBadRequest, "Missing required field: asset_id")
	terminal(t, "/terminal/bom", "action", "drop", "asset_id", asset).refused(http.StatusBadRequest, "Invalid action")
}

// bill generates a bill of materials and answers its id.
func bill(t *testing.T, assetID string) string {
	t.Helper()
	return terminal(t, "/terminal/bom", "action", "generate", "asset_id", assetID, "maintenance_type", "corrective", "customer_id", customer).is(object(fields{"bom_id": text})).text("bom_id")
}

var orderStatus = exactly("pending", "in_progress", "on_hold", "completed", "cancelled")

func TestOrders(t *testing.T) {
	unit := shared.fleet.Sites[0].Units[5].AssetID
	form := func() map[string]any {
		return bodyOf("action", "create", "asset_id", unit, "schedule_id", scheduled(t, unit), "bom_id", bill(t, unit), "assigned_technician", "tech-7", "estimated_duration_hours", 4, "priority", "high", "additional", true) // a finding of several units may have an order already
	}
	ask := func(body map[string]any) answer {
		return post(t, xAPIKey, shared.hosts[api.HostMain], "/terminal/order", body)
	}
	created := object(fields{"success": exactly(true), "message": text, "order_id": text, "asset_id": exactly(unit), "status": exactly("pending"), "estimated_completion": instant})
	first := ask(form()).is(created)
	if at := first.text("estimated_completion"); at < soon {
		t.Errorf("it is to be done by %s, before it is scheduled", at)
	}
	// With customer_id the bill is sufficient; no technician is assigned.
	short := ask(bodyOf("action", "create", "customer_id", customer, "bom_id", bill(t, unit), "additional", true)).is(created)
	got := ask(bodyOf("action", "get", "customer_id", customer, "order_id", short.text("order_id"))).is(object(fields{"order": object(fields{
		"order_id": text, "asset_id": exactly(unit), "status": orderStatus, "created_at": instant, "estimated_completion": instant, "bom_id": text,
		"assigned_technician": exactly("unassigned"), "estimated_duration_hours": number, "priority": priority,
	})}))
	if got.text("order.order_id") != short.text("order_id") {
		t.Errorf("%s", got.body)
	}
	orders := object(fields{"success": exactly(true), "count": integer, "orders": some(object(fields{
		"order_id": text, "asset_id": text, "status": orderStatus, "created_at": instant, "estimated_completion": instant,
	}))})
	for _, more := range [][]any{{"asset_id", unit}, {"asset_id", unit, "customer_id", customer}, {"customer_id", customer}, {"customer_id", customer, "limit", 1000}} {
		a := ask(bodyOf(append([]any{"action", "list"}, more...)...)).is(orders)
		if !strings.Contains(string(a.body), first.text("order_id")) {
			t.Errorf("%v: the one just made is not there", more)
		}
	}
	move := func(status string, more ...any) {
		t.Helper()
		a := ask(bodyOf(append([]any{"customer_id", customer, "order_id", first.text("order_id")}, more...)...)).is(object(fields{"success": exactly(true), "order_id": text, "status": exactly(status)}))
		if a.text("status") != status {
			t.Errorf("%s", a.body)
		}
	}
	move("pending", "action", "assign", "assigned_technician", "tech-8")
	move("in_progress", "action", "start")
	move("on_hold", "action", "hold", "hold_reason", "weather")
	move("in_progress", "action", "resume")
	move("completed", "action", "complete", "completion_notes", "Power stage replaced")
	move("in_progress", "action", "reopen", "reason", "It tripped again")
	move("completed", "action", "complete", "completion_notes", "Torque of the terminals set right")
	ask(bodyOf("action", "cancel", "customer_id", customer, "order_id", short.text("order_id"), "reason", "Done with the other")).is(object(fields{"status": exactly("cancelled")}))
	if a := ask(bodyOf("action", "start", "customer_id", customer, "order_id", short.text("order_id"))); a.status != http.StatusConflict {
		t.Errorf("a cancelled one is started: HTTP %d %s", a.status, a.body)
	}

	for _, name := range []string{"asset_id", "schedule_id", "bom_id", "assigned_technician", "estimated_duration_hours", "priority"} {
		b := form()
		delete(b, name)
		ask(b).refused(http.StatusBadRequest, "Missing required field: "+name)
	}
	b := form()
	b["asset_id"] = "INV-0"
	ask(b).refused(http.StatusNotFound, "Asset not found")
	ask(bodyOf("action", "drop", "asset_id", unit)).refused(http.StatusBadRequest, "Invalid action")
	ask(bodyOf("action", "get", "order_id", "ord_0")).refused(http.StatusNotFound, "Order not found")
}

// TestStatusOfWorkNeverGoesBack: dates that are over are refused with a reason.
func TestStatusOfWorkNeverGoesBack(t *testing.T) {
	a := terminal(t, "/terminal/schedule", "action", "create", "asset_id", asset, "maintenance_type", "preventive", "scheduled_date", now.Add(-48*time.Hour).Format(time.RFC3339), "priority", "low", "reason", "Too late")
	if a.status != http.StatusBadRequest || !strings.Contains(string(a.body), "scheduled_date") {
		t.Errorf("HTTP %d %s", a.status, a.body)
	}
}
