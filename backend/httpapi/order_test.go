package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
)

// planned makes a schedule and a bill for the first unit, and returns the body
// of an order in the specification's form.
func (w *world) planned() (body string, plan api.Schedule, bill api.BOM) {
	w.t.Helper()
	const asset = `"asset_id":"` + ownAsset + `"`
	s := mustPost[api.ScheduleResponse](w, api.PathSchedule, `{"action":"create",`+asset+`,"maintenance_type":"corrective","scheduled_date":"2025-10-03T06:00:00Z","priority":"high","reason":"Fan is loud"}`)
	b := mustPost[api.BOMResponse](w, api.PathBOM, `{"action":"generate",`+asset+`,"maintenance_type":"corrective","schedule_id":"`+s.ScheduleID+`"}`)
	return fmt.Sprintf(`{"action":"create",%s,"schedule_id":%q,"bom_id":%q,"assigned_technician":"grace","estimated_duration_hours":4,"priority":"High"}`, asset, s.ScheduleID, b.BOMID), *s.Schedule, *b.BOM
}

// count sets the stock of a part of the first customer.
func (w *world) count(part string, n int) {
	w.t.Helper()
	mustPost[api.PartsResponse](w, api.PathParts, fmt.Sprintf(`{"action":"adjust","site_id":"Sibaya","part_number":%q,"on_hand":%d,"reason":"counted"}`, part, n))
}

// stock is on hand and reserved of a part.
func (w *world) stock(part string) string {
	w.t.Helper()
	for _, p := range mustPost[api.PartsResponse](w, api.PathParts, `{"action":"list","site_id":"Sibaya","limit":1000}`).Parts {
		if p.PartNumber == part {
			return fmt.Sprintf("%d/%d", p.OnHand, p.Reserved)
		}
	}
	return "none"
}

// move posts an action on an order.
func (w *world) move(action, id, more string) api.Order {
	w.t.Helper()
	return *mustPost[api.OrderResponse](w, api.PathOrder, `{"action":"`+action+`","order_id":"`+id+`"`+more+`}`).Order
}

func TestOrderFields(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	body, plan, bill := w.planned()
	const issue = `{"action":"create","site":"Sibaya","component":"`
	roof := mustPost[api.IssuesResponse](w, api.PathIssues, issue+`roof","issue_type":"leak","description":"It drips"}`).IssueID
	mustPost[api.AssetsResponse](w, api.PathAssets, `{"action":"add","asset_id":"INV-7","name":"n","type":"t","capacity_kw":1,"location":"l","site_id":"Sibaya","customer_id":"customer123"}`)
	other := mustPost[api.IssuesResponse](w, api.PathIssues, issue+`INV-7","issue_type":"noise","description":"It hums"}`).IssueID
	mustPost[api.IssuesResponse](w, api.PathIssues, `{"action":"acknowledge","issue_id":"`+roof+`"}`)
	mustPost[api.IssuesResponse](w, api.PathIssues, `{"action":"resolve","reason":"dry","issue_id":"`+roof+`"}`)
	list := []scenario{
		{name: "no action", body: `{}`, status: 400, contains: []string{`"error":"Invalid action"`}},
		{name: "nothing", body: `{"action":"create"}`, status: 400, contains: []string{`"error":"Missing required field: asset_id"`,
			`"missing":["asset_id","schedule_id","bom_id","assigned_technician","estimated_duration_hours","priority"]`}},
		{name: "no bill for a customer", body: `{"action":"create","customer_id":"customer123"}`, status: 400, contains: []string{"Missing required field: bom_id"}},
		{name: "wild priority", body: strings.Replace(body, "High", "urgent", 1), status: 400, contains: []string{"Invalid field: priority"}},
		{name: "no time", body: strings.Replace(body, ":4,", ":-4,", 1), status: 400, contains: []string{"Invalid field: estimated_duration_hours"}},
		{name: "too much time", body: strings.Replace(body, ":4,", ":4000,", 1), status: 400, contains: []string{"Invalid field: estimated_duration_hours"}},
		{name: "unknown asset", body: strings.Replace(body, ownAsset, "INV-0", 1), status: 403, contains: []string{"Access denied"}},
		{name: "another's asset", body: strings.Replace(body, ownAsset, foreignAsset, 1), status: 403, contains: []string{"Access denied"}},
		{name: "another unit's", key: "customer", body: strings.Replace(body, ownAsset, secondAsset, 1), status: 400, contains: []string{"Invalid field: bom_id"}},
		{name: "unknown bill", body: strings.Replace(body, bill.BOMID, "bom_0", 1), status: 403, contains: []string{"Access denied"}},
		{name: "unknown schedule", body: strings.Replace(body, plan.ScheduleID, "sch_0", 1), status: 403, contains: []string{"Access denied"}},
		{name: "unknown issue", body: strings.Replace(body, "}", `,"issue_id":"iss_0"}`, 1), status: 403, contains: []string{"Access denied"}},
		{name: "another unit's issue", body: strings.Replace(body, "}", `,"issue_id":"`+other+`"}`, 1), status: 400, contains: []string{"Invalid field: issue_id", "INV-7"}},
		{name: "a resolved issue", body: strings.Replace(body, "}", `,"issue_id":"`+roof+`"}`, 1), status: 409, contains: []string{"is resolved"}},
		{name: "created", body: body, status: 200, contains: []string{`"success":true,"message":"Work order created","order_id":"ord_`, `"asset_id":"` + ownAsset + `","status":"pending"`,
			`"estimated_completion":"2025-10-03T10:00:00Z"`, `"planned_start":"2025-10-03T06:00:00Z"`, `"assigned_technician":"grace"`, `"priority":"high"`}},
		{name: "its schedule and its bill are taken", body: body, status: 409, contains: []string{`"order_id":"ord_`}},
		{name: "list of nothing", body: `{"action":"list"}`, status: 400, contains: []string{"Missing required field: asset_id"}},
		{name: "list", body: `{"action":"list","asset_id":"` + ownAsset + `"}`, status: 200, contains: []string{`"orders":[{"order_id":"ord_`, `"created_at":"2025-10-02T10:00:00Z"`, `"count":1`}, without: []string{"history", `"parts"`}},
		{name: "list of others", body: `{"action":"list","site_id":"Sibaya","technician":"ada"}`, status: 200, contains: []string{`"orders":[]`}},
		{name: "unknown order", body: `{"action":"get","order_id":"ord_0"}`, status: 403, contains: []string{"Access denied"}},
		{name: "no order", body: `{"action":"start"}`, status: 400, contains: []string{"Missing required field: order_id"}},
	}
	for _, field := range []string{"asset_id", "schedule_id", "bom_id", "assigned_technician", "estimated_duration_hours", "priority"} {
		list = append(list, scenario{name: "without " + field, body: without(body, field), status: 400, contains: []string{`"error":"Missing required field: ` + field + `"`}})
	}
	posted(t, w, api.PathOrder, list)
	if s := mustPost[api.ScheduleResponse](w, api.PathSchedule, `{"action":"get","schedule_id":"`+plan.ScheduleID+`"}`).Schedule; s.Status != api.ScheduleConfirmed || s.OrderID == "" {
		t.Errorf("the schedule is %+v", s)
	}
}

// The life of an order, with what its moves do to stock, schedule and clocks.
func TestOrderLife(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	w.count("FUSE-GPV-15A", 3) // essential; the bill takes 2
	w.count("CONN-MC4", 5)     // the bill takes 2
	body, plan, _ := w.planned()
	id := mustPost[api.OrderResponse](w, api.PathOrder, strings.Replace(body, "grace", "unassigned", 1)).OrderID
	order := `"order_id":"` + id + `"`
	w.key("technician", auth.NewKey{Role: api.RoleTechnician, Sites: []string{ownSite}})
	if got := w.stock("FUSE-GPV-15A"); got != "3/2" {
		t.Errorf("fuses on hand and reserved: %s", got)
	}
	posted(t, w, api.PathOrder, []scenario{
		{name: "no technician is assigned", body: `{"action":"start",` + order + `}`, status: 409, contains: []string{"is not assigned"}},
		{name: "completed at once", body: `{"action":"complete",` + order + `,"completion_notes":"n"}`, status: 409, contains: []string{"is pending: complete is not possible", `"allowed":["in_progress","on_hold","cancelled"]`, `"actions":["start","hold","cancel"]`}},
		{name: "opened again at once", body: `{"action":"reopen",` + order + `,"reason":"r"}`, status: 409, contains: []string{`"allowed":[`}},
		{name: "no technician", body: `{"action":"assign",` + order + `}`, status: 400, contains: []string{"Missing required field: assigned_technician"}},
		{name: "blank technician", body: `{"action":"assign",` + order + `,"assigned_technician":" "}`, status: 400, contains: []string{"Missing required field: assigned_technician"}},
		{name: "cancelled with a blank reason", body: `{"action":"cancel",` + order + `,"reason":" "}`, status: 400, contains: []string{"Missing required field: reason"}},
		{name: "assigned", key: "technician", body: `{"action":"assign",` + order + `,"assigned_technician":"grace"}`, status: 200, contains: []string{`"assigned_technician":"grace"`, `"version":2`, `"acknowledged_at":"2025-10-02T10:00:00Z"`}},
		{name: "assigned again", body: `{"action":"assign",` + order + `,"assigned_technician":"grace"}`, status: 200, contains: []string{"Nothing to do", `"version":2`}},
		{name: "no reason to hold", body: `{"action":"hold",` + order + `}`, status: 400, contains: []string{"Missing required field: hold_reason"}},
		{name: "wild reason to hold", body: `{"action":"hold",` + order + `,"hold_reason":"tired"}`, status: 400, contains: []string{"weather, utility, access, parts, safety, other"}},
		{name: "another version", body: `{"action":"start",` + order + `,"version":1}`, status: 409, contains: []string{"it is at version 2, not 1", `"version":2`}},
		{name: "held before it began", body: `{"action":"hold",` + order + `,"hold_reason":"Weather"}`, status: 200, contains: []string{`"status":"on_hold"`, `"hold_reason":"weather"`, `"paused":true`}},
		{name: "held again", body: `{"action":"hold",` + order + `,"hold_reason":"parts"}`, status: 200, contains: []string{"Nothing to do", `"hold_reason":"weather"`}},
	})
	w.clock.add(2 * time.Hour)
	resumed := w.move("resume", id, "")
	// High: 24 h to start, and two hours of storm.
	if resumed.Status != api.OrderPending || resumed.Clocks.StartDue.String() != "2025-10-03T12:00:00Z" || resumed.Clocks.PausedMinutes != 120 || resumed.HoldReason != "" {
		t.Errorf("resumed after two hours of storm: %+v", resumed)
	}
	w.count("FUSE-GPV-15A", 3)
	started := w.move("start", id, "")
	if started.Status != api.OrderInProgress || len(started.Downtime) != 1 || started.Clocks.StartedAt.IsZero() {
		t.Errorf("started: %+v", started)
	}
	posted(t, w, api.PathOrder, []scenario{
		{name: "started again", body: `{"action":"start",` + order + `}`, status: 200, contains: []string{"Nothing to do", `"status":"in_progress"`}},
		{name: "cancelled by a technician", key: "technician", body: `{"action":"cancel",` + order + `,"reason":"r"}`, status: 403, contains: []string{"Access denied"}},
		{name: "completed without notes", body: `{"action":"complete",` + order + `}`, status: 400, contains: []string{"Missing required field: completion_notes"}},
		{name: "completed with blank notes", body: `{"action":"complete",` + order + `,"completion_notes":"\n"}`, status: 400, contains: []string{"Missing required field: completion_notes"}},
		{name: "unknown part", body: `{"action":"complete",` + order + `,"completion_notes":"n","parts_used":[{"part_number":"GLUE","quantity":1}]}`, status: 400, contains: []string{"parts_used[0].part_number"}},
		{name: "a part that the order does not plan, by a key of one site", body: `{"action":"complete",` + order + `,"completion_notes":"n","parts_used":[{"part_number":"PASTE-TH","quantity":1}]}`, status: 403, contains: []string{"the stock is the customer's"}},
		{name: "more than the order plans, by a key of one site", body: `{"action":"complete",` + order + `,"completion_notes":"n","parts_used":[{"part_number":"FUSE-GPV-15A","quantity":10000}]}`, status: 403, contains: []string{"the stock is the customer's"}},
		{name: "more than there is", key: "customer", body: `{"action":"complete",` + order + `,"completion_notes":"n","parts_used":[{"part_number":"FUSE-GPV-15A","quantity":4}]}`, status: 409, contains: []string{"Part FUSE-GPV-15A: 4 were used, 3 are at hand"}},
	})
	w.clock.add(90 * time.Minute)
	w.move("hold", id, `,"hold_reason":"parts"`)
	w.clock.add(time.Hour)
	if o := w.move("resume", id, ""); o.Status != api.OrderInProgress || o.Clocks.PausedMinutes != 120 {
		t.Errorf("a hold for parts stops no clock: %+v", o.Clocks)
	}
	done := w.move("complete", id, `,"completion_notes":"Fan replaced","parts_used":[{"part_number":"FUSE-GPV-15A","quantity":3},{"part_number":"PASTE-TH","quantity":1}]`)
	if done.Status != api.OrderCompleted || done.CompletionNotes != "Fan replaced" || done.ActualHours != 1.5 || done.Downtime[0].To.IsZero() || done.Verification.State != api.VerificationWaiting {
		t.Errorf("completed: %+v", done)
	}
	if fuses, plugs := w.stock("FUSE-GPV-15A"), w.stock("CONN-MC4"); fuses != "0/0" || plugs != "5/0" {
		t.Errorf("after it fuses are %s, plugs %s", fuses, plugs)
	}
	if s := mustPost[api.ScheduleResponse](w, api.PathSchedule, `{"action":"get","schedule_id":"`+plan.ScheduleID+`"}`).Schedule; s.Status != api.ScheduleCompleted || s.CompletedAt.IsZero() {
		t.Errorf("the schedule is %+v", s)
	}
	w.clock.add(api.ReopenWithin)
	mustPost[api.TrackResponse](w, api.PathTrack, `{"action":"subscribe","order_id":"`+id+`","callback_url":"https://example.org/hook"}`)
	again := w.move("reopen", id, `,"reason":"It is loud again"`)
	sent := mustPost[api.TrackResponse](w, api.PathTrack, `{"action":"deliveries","order_id":"`+id+`"}`).Deliveries
	if len(sent) != 1 || sent[0].Event.Status != api.OrderInProgress || sent[0].Event.CompletionNotes != "" || again.CompletionNotes != "" || !slices.ContainsFunc(again.History, func(m api.WorkMove) bool { return m.Note == "Fan replaced" }) {
		t.Errorf("a reopened order repeats the notes of its completion: %+v, %+v", sent, again)
	}
	if again.Status != api.OrderInProgress || len(again.Downtime) != 2 || again.Verification != nil || !again.CompletedAt.IsZero() {
		t.Errorf("opened again: %+v", again)
	}
	posted(t, w, api.PathOrder, []scenario{
		{name: "cancelled with parts in it", body: `{"action":"cancel",` + order + `,"reason":"r"}`, status: 409, contains: []string{"has used parts", `"allowed":["completed"]`}},
	})
	w.move("complete", id, `,"completion_notes":"Bearing greased","actual_hours":0.5`)
	w.clock.add(api.ReopenWithin + time.Second)
	posted(t, w, api.PathOrder, []scenario{
		{name: "opened too late", body: `{"action":"reopen",` + order + `,"reason":"r"}`, status: 409, contains: []string{"more than 7 days ago", `"allowed":[]`}},
		{name: "completed again", body: `{"action":"complete",` + order + `,"completion_notes":"x"}`, status: 200, contains: []string{"Nothing to do", `"completion_notes":"Bearing greased"`}},
	})
	var moves []string
	for _, m := range w.move("get", id, "").History {
		if m.From != m.To {
			moves = append(moves, m.To)
		}
	}
	if got := strings.Join(moves, " "); got != "pending on_hold pending in_progress on_hold in_progress completed in_progress completed" {
		t.Errorf("its history is %s", got)
	}
}

// With a customer, an order is made of its bill alone.
func TestOrderOfItsBill(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	w.judge(true) // a critical outage, with an issue
	_, plan, bill := w.planned()
	o := mustPost[api.OrderResponse](w, api.PathOrder, `{"action":"create","customer_id":"customer123","bom_id":"`+bill.BOMID+`"}`).Order
	if o.AssetID != ownAsset || o.ScheduleID != plan.ScheduleID || o.AssignedTechnician != api.TechnicianUnassigned || o.Priority != api.PriorityHigh ||
		o.EstimatedDurationHours != bill.EstimatedHours || o.FaultFamily != "inverter_outage" || o.IssueID != w.issue() || !o.Clocks.AcknowledgedAt.IsZero() {
		t.Errorf("made of the bill: %+v", o)
	}
	i := mustPost[api.IssuesResponse](w, api.PathIssues, `{}`).Issues[0]
	if i.Status != api.IssueInProgress || i.History[1].Note != "order "+o.OrderID {
		t.Errorf("the issue is %+v", i)
	}
	// If the order is cancelled, it releases the schedule and the bill, which another order takes.
	w.move("cancel", o.OrderID, `,"reason":"twice"`)
	if s := mustPost[api.ScheduleResponse](w, api.PathSchedule, `{"action":"get","schedule_id":"`+plan.ScheduleID+`"}`).Schedule; s.Status != api.SchedulePending || s.OrderID != "" {
		t.Errorf("the schedule is %+v", s)
	}
	if again := mustPost[api.OrderResponse](w, api.PathOrder, `{"action":"create","customer_id":"customer123","bom_id":"`+bill.BOMID+`"}`); again.OrderID == o.OrderID {
		t.Errorf("the cancelled order is made again: %+v", again)
	}
}

// What is short blocks the start, unless it is forced with a note.
func TestShortageBlocksTheStart(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	w.count("FUSE-GPV-15A", 3)
	w.count("CONN-MC4", 0) // not essential
	first, _, _ := w.planned()
	second, _, _ := w.planned()
	a, b := mustPost[api.OrderResponse](w, api.PathOrder, first).Order, mustPost[api.OrderResponse](w, api.PathOrder, second).Order
	if got := w.stock("FUSE-GPV-15A"); got != "3/3" {
		t.Errorf("fuses: %s", got)
	}
	order := `"order_id":"` + b.OrderID + `"`
	posted(t, w, api.PathOrder, []scenario{
		{name: "short", body: `{"action":"start",` + order + `}`, status: 409, contains: []string{"is short of 1 × FUSE-GPV-15A", `"shortages":[{"part_number":"FUSE-GPV-15A"`, `"short":1`}},
		{name: "by force without a note", body: `{"action":"start",` + order + `,"force":true}`, status: 400, contains: []string{"Missing required field: note"}},
		{name: "seen", body: `{"action":"get",` + order + `}`, status: 200, contains: []string{`"part_number":"FUSE-GPV-15A","description":"String fuse gPV 15 A, 1000 V","quantity":2,"reserved":1,"short":1,"essential":true`}},
	})
	w.move("cancel", a.OrderID, `,"reason":"no access"`)
	if started := w.move("start", b.OrderID, ""); started.Status != api.OrderInProgress {
		t.Errorf("with the parts of the other it is %+v", started)
	}
	if got := w.stock("FUSE-GPV-15A"); got != "3/2" {
		t.Errorf("fuses: %s", got)
	}
	w.count("FUSE-GPV-15A", 2)
	third, _, _ := w.planned()
	c := mustPost[api.OrderResponse](w, api.PathOrder, third).Order
	if forced := w.move("start", c.OrderID, `,"force":true,"note":"I bring my own"`); forced.Status != api.OrderInProgress {
		t.Errorf("by force it is %+v", forced)
	}
	w.move("complete", c.OrderID, `,"completion_notes":"done"`)
	if got := w.stock("FUSE-GPV-15A"); got != "2/2" {
		t.Errorf("what was not reserved was taken from the stock: %s", got)
	}
}

// Work ends within the daylight of the site, except emergencies.
func TestEstimatedCompletionIsInDaylight(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	mustPost[api.SitesResponse](w, api.PathSites, `{"action":"set","site":{"site_id":"Sibaya","latitude":-29.7,"longitude":31.1}}`)
	estimate := func(body string) string {
		t.Helper()
		return mustPost[api.OrderResponse](w, api.PathOrder, body).EstimatedCompletion.String()
	}
	body, _, _ := w.planned() // begins at 08:00 of the site, where the sun sets about 18:00
	if got := estimate(strings.Replace(body, ":4,", ":12,", 1)); !strings.HasPrefix(got, "2025-10-04T0") {
		t.Errorf("twelve hours from 08:00 end at %s, want on the next morning", got)
	}
	bomID := mustPost[api.BOMResponse](w, api.PathBOM, `{"action":"generate","asset_id":"`+ownAsset+`","maintenance_type":"emergency"}`).BOMID
	body = `{"action":"create","customer_id":"customer123","bom_id":"` + bomID + `","estimated_duration_hours":12}`
	if got := estimate(body); got != "2025-10-02T22:00:00Z" {
		t.Errorf("an emergency of twelve hours at 10:00 ends at %s", got)
	}
}
