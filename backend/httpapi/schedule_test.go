package httpapi_test

import (
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

func TestSchedules(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 }) // it is 2025-10-02, 10:00 UTC
	const create = `{"action":"create","asset_id":"` + ownAsset + `","maintenance_type":"Corrective","scheduled_date":"2025-10-05T08:00:00+02:00","priority":"High","reason":"Fan is loud"}`
	without := func(field string) string {
		return without(create, field)
	}
	posted(t, w, api.PathSchedule, []scenario{
		{name: "no action", body: `{}`, status: 400, contains: []string{`"error":"Invalid action"`}},
		{name: "no asset", body: without("asset_id"), status: 400, contains: []string{`"error":"Missing required field: asset_id"`}},
		{name: "no type", body: without("maintenance_type"), status: 400, contains: []string{"Missing required field: maintenance_type"}},
		{name: "no date", body: without("scheduled_date"), status: 400, contains: []string{"Missing required field: scheduled_date"}},
		{name: "no priority", body: without("priority"), status: 400, contains: []string{"Missing required field: priority"}},
		{name: "no reason", body: without("reason"), status: 400, contains: []string{"Missing required field: reason"}},
		{name: "blank reason", body: strings.Replace(create, "Fan is loud", " \u00a0", 1), status: 400, contains: []string{"Missing required field: reason"}},
		{name: "wild type", body: strings.Replace(create, "Corrective", "magic", 1), status: 400, contains: []string{"Invalid field: maintenance_type", "preventive, corrective, emergency"}},
		{name: "wild date", body: strings.Replace(create, "2025-10-05T08:00:00+02:00", "soon", 1), status: 400, contains: []string{"Invalid field: scheduled_date"}},
		{name: "long reason", body: strings.Replace(create, "Fan is loud", strings.Repeat("x", 2001), 1), status: 400, contains: []string{"Invalid field: reason"}},
		{name: "unknown asset", body: strings.Replace(create, ownAsset, "INV-0", 1), status: 403, contains: []string{"Access denied"}},
		{name: "another's asset", body: strings.Replace(create, ownAsset, foreignAsset, 1), status: 403, contains: []string{"Access denied"}},
		{name: "in the past", body: strings.Replace(create, "2025-10-05T08:00:00+02:00", "2025-10-02T09:59:00Z", 1), status: 400, contains: []string{"Invalid field: scheduled_date", "in the past"}},
		{name: "an emergency in the past", body: strings.NewReplacer("2025-10-05T08:00:00+02:00", "2025-10-01T09:59:00Z", "Corrective", "emergency").Replace(create), status: 200},
		{name: "today", body: strings.Replace(create, "2025-10-05T08:00:00+02:00", "2025-10-02", 1), status: 200, contains: []string{`"scheduled_date":"2025-10-02T00:00:00Z"`, `"overdue":false`}},
		{name: "created", body: create, status: 200, contains: []string{`"success":true,"message":"Maintenance scheduled","schedule_id":"sch_`, `"asset_id":"` + ownAsset + `"`,
			`"scheduled_date":"2025-10-05T06:00:00Z"`, `"maintenance_type":"corrective"`, `"priority":"high"`, `"status":"pending"`, `"version":1`, `"created_by":"own"`}},
		{name: "list of nothing", body: `{"action":"list"}`, status: 400, contains: []string{"Missing required field: asset_id"}},
		{name: "list", body: `{"action":"list","asset_id":"` + ownAsset + `"}`, status: 200, contains: []string{`"count":3`}, without: []string{"history"}},
		{name: "list of a customer", body: `{"action":"list","customer_id":"customer123"}`, status: 200, contains: []string{`"count":3`}},
		{name: "list of an unknown asset", body: `{"action":"list","asset_id":"INV-0"}`, status: 403, contains: []string{"Access denied"}},
		{name: "overdue ones", body: `{"action":"list","customer_id":"customer123","overdue_only":true}`, status: 200, contains: []string{`"count":1`, `"maintenance_type":"emergency"`, `"overdue":true`, `"status":"pending"`}},
		{name: "wild status", body: `{"action":"list","customer_id":"customer123","status":"late"}`, status: 400, contains: []string{"Invalid field: status"}},
		{name: "wild cursor", body: `{"action":"list","customer_id":"customer123","cursor":"!"}`, status: 400, contains: []string{"Invalid parameter: cursor"}},
		{name: "no id", body: `{"action":"get"}`, status: 400, contains: []string{"Missing required field: schedule_id"}},
		{name: "unknown id", body: `{"action":"get","schedule_id":"sch_0"}`, status: 403, contains: []string{"Access denied"}},
	})

	made := mustPost[api.ScheduleResponse](w, api.PathSchedule, create)
	id := `"schedule_id":"` + made.ScheduleID + `"`
	w.key("foreign", authKey(foreignSite))
	posted(t, w, api.PathSchedule, []scenario{
		{name: "another's", key: "foreign", body: `{"action":"get",` + id + `}`, status: 403, contains: []string{"Access denied"}},
		{name: "completed too early", body: `{"action":"complete",` + id + `}`, status: 409, contains: []string{"is pending: it cannot become completed", `"allowed":["confirmed","cancelled"]`}},
		{name: "cancelled without a reason", body: `{"action":"cancel",` + id + `}`, status: 400, contains: []string{"Missing required field: reason"}},
		{name: "cancelled with a blank reason", body: `{"action":"cancel",` + id + `,"reason":"  "}`, status: 400, contains: []string{"Missing required field: reason"}},
		{name: "confirmed by one who knows another version", body: `{"action":"confirm",` + id + `,"version":7}`, status: 409, contains: []string{"it is at version 1, not 7"}},
		{name: "confirmed", body: `{"action":"confirm",` + id + `,"version":1}`, status: 200, contains: []string{`"status":"confirmed"`, `"version":2`}},
		{name: "confirmed again", body: `{"action":"confirm",` + id + `}`, status: 200, contains: []string{`"status":"confirmed"`, `"version":2`}},
		{name: "completed in the future", body: `{"action":"complete",` + id + `,"completed_at":"2025-10-03"}`, status: 400, contains: []string{"Invalid field: completed_at"}},
		{name: "completed before it was made", body: `{"action":"complete",` + id + `,"completed_at":"1999-01-01"}`, status: 400, contains: []string{"Invalid field: completed_at"}},
		{name: "completed", body: `{"action":"complete",` + id + `}`, status: 200, contains: []string{`"status":"completed"`, `"completed_at":"2025-10-02T10:00:00Z"`}},
		{name: "cancelled too late", body: `{"action":"cancel",` + id + `,"reason":"r"}`, status: 409, contains: []string{`"allowed":[]`}},
		{name: "its history", body: `{"action":"get",` + id + `}`, status: 200, contains: []string{
			`"history":[{"to":"pending","at":"2025-10-02T10:00:00Z","actor":"own","note":"Fan is loud"},{"from":"pending","to":"confirmed","at":"2025-10-02T10:00:00Z","actor":"own"},{"from":"confirmed","to":"completed"`}},
	})

	w.clock.add(4 * 24 * time.Hour)
	posted(t, w, api.PathSchedule, []scenario{
		{name: "days later", body: `{"action":"list","customer_id":"customer123","status":"pending","overdue_only":true}`, status: 200, contains: []string{`"count":3`}},
		{name: "created twice with one key", headers: []string{"Idempotency-Key", "k"}, body: strings.Replace(create, "05T", "15T", 1), status: 200},
		{name: "and again", headers: []string{"Idempotency-Key", "k"}, body: strings.Replace(create, "05T", "15T", 1), status: 200},
		{name: "is one", body: `{"action":"list","customer_id":"customer123"}`, status: 200, contains: []string{`"count":5`}},
	})
}

// A list has what is due first before the others, then what ended; page by
// page it is the same.
func TestScheduleListOrderAndPages(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	var ids []string
	for _, day := range []string{"20", "05", "11", "30"} {
		v := mustPost[api.ScheduleResponse](w, api.PathSchedule, `{"action":"create","asset_id":"`+ownAsset+`","maintenance_type":"preventive","scheduled_date":"2025-10-`+day+`","priority":"low","reason":"r`+day+`"}`)
		ids = append(ids, v.ScheduleID)
	}
	mustPost[api.ScheduleResponse](w, api.PathSchedule, `{"action":"cancel","schedule_id":"`+ids[1]+`","reason":"rain"}`)
	mustPost[api.ScheduleResponse](w, api.PathSchedule, `{"action":"cancel","schedule_id":"`+ids[2]+`","reason":"rain"}`)
	want := []string{"r20", "r30", "r11", "r05"}
	var got []string
	for cursor, first := "", true; first || cursor != ""; first = false {
		page := mustPost[api.ScheduleResponse](w, api.PathSchedule, `{"action":"list","site_id":"`+ownSite+`","limit":1,"cursor":"`+cursor+`"}`)
		for _, v := range page.Schedules {
			got = append(got, v.Reason)
		}
		cursor = page.NextCursor
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("page by page: %v, want %v", got, want)
	}
}

// Recurring work follows on its completion, once for a date, by the site's
// calendar.
func TestRecurringWork(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	const plan = `{"action":"create","asset_id":"` + ownAsset + `","maintenance_type":"preventive","scheduled_date":"2025-10-31T08:00:00+02:00","priority":"low","reason":"torque","every_months":1}`
	posted(t, w, api.PathSchedule, []scenario{
		{name: "corrective work does not recur", body: strings.Replace(plan, "preventive", "corrective", 1), status: 400, contains: []string{"only preventive work recurs"}},
		{name: "both units", body: strings.Replace(plan, `"every_months":1`, `"every_months":1,"every_days":2`, 1), status: 400, contains: []string{"Invalid field: every_months"}},
		{name: "no such count", body: strings.Replace(plan, `"every_months":1`, `"every_days":4000`, 1), status: 400, contains: []string{"Invalid field: every_days"}},
	})
	first := mustPost[api.ScheduleResponse](w, api.PathSchedule, plan)
	again := mustPost[api.ScheduleResponse](w, api.PathSchedule, plan)
	if again.ScheduleID != first.ScheduleID || !strings.Contains(again.Message, "already") {
		t.Errorf("planned twice: %+v", again)
	}
	move := func(action, id, more string) api.Schedule {
		t.Helper()
		return *mustPost[api.ScheduleResponse](w, api.PathSchedule, `{"action":"`+action+`","schedule_id":"`+id+`"`+more+`}`).Schedule
	}
	get := func(id string) api.Schedule { return move("get", id, "") }
	w.clock.add(29 * 24 * time.Hour) // 2025-10-31
	move("confirm", first.ScheduleID, "")
	done := move("complete", first.ScheduleID, "")
	second := get(done.NextID)
	if second.ScheduledDate.String() != "2025-11-30T06:00:00Z" || second.Status != api.SchedulePending || second.Task != "torque" {
		t.Errorf("after the 31st of October comes %+v, want the 30th of November, 08:00 of the site", second)
	}
	if n := move("complete", first.ScheduleID, ""); n.NextID != second.ScheduleID || n.Version != done.Version {
		t.Errorf("completed again it is %+v", n)
	}
	// Two months late, the date that was left out does not vanish: the next one
	// to come takes its place, and the reason is kept.
	w.clock.add(70 * 24 * time.Hour) // 2026-01-09
	skipped := move("cancel", second.ScheduleID, `,"reason":"roof is closed"`)
	third := get(skipped.NextID)
	if third.ScheduledDate.String() != "2026-01-30T06:00:00Z" || skipped.ScheduledDate.String() != "2025-11-30T06:00:00Z" || skipped.History[len(skipped.History)-1].Note != "roof is closed" {
		t.Errorf("left out, it continues with %+v after %+v", third, skipped)
	}
	if ended := move("cancel", third.ScheduleID, `,"reason":"sold","end_series":true`); ended.NextID != "" {
		t.Errorf("the series continues: %+v", ended)
	}
}

func TestProposeFields(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	const ask = `{"action":"propose","asset_id":"` + ownAsset + `","maintenance_type":"corrective","estimated_duration_hours":2}`
	posted(t, w, api.PathSchedule, []scenario{
		{name: "of nothing", body: `{"action":"propose"}`, status: 400, contains: []string{"Missing required field: asset_id"}},
		{name: "no type", body: without(ask, "maintenance_type"), status: 400, contains: []string{"Missing required field: maintenance_type"}},
		{name: "no time", body: without(ask, "estimated_duration_hours"), status: 400, contains: []string{"Missing required field: estimated_duration_hours"}},
		{name: "too much time", body: strings.Replace(ask, ":2}", ":2001}", 1), status: 400, contains: []string{"Invalid field: estimated_duration_hours"}},
		{name: "wild kind", body: strings.Replace(ask, "}", `,"kind":"fast"}`, 1), status: 400, contains: []string{"Invalid field: kind", "isolating, measuring"}},
		{name: "no forecast", body: ask, status: 404, contains: []string{"No forecast results found"}},
	})
}
