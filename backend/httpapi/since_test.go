package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// listed is how many items the list of a response has, and the field updated_at_ms of the first.
func (w *world) listed(path, body, items string) (n int, updated int64) {
	w.t.Helper()
	r := w.as("admin", http.MethodPost, path, body)
	var answer map[string]json.RawMessage
	var list []struct {
		UpdatedAtMS int64 `json:"updated_at_ms"`
	}
	if err := json.Unmarshal(r.Body.Bytes(), &answer); err != nil || r.Code != http.StatusOK {
		w.t.Fatalf("%s %s: HTTP %d %.300s", path, body, r.Code, r.Body)
	}
	if err := json.Unmarshal(answer[items], &list); err != nil {
		w.t.Fatalf("%s: %v in %.300s", path, err, r.Body)
	}
	if len(list) > 0 {
		updated = list[0].UpdatedAtMS
	}
	return len(list), updated
}

// TestUpdatedSince narrows lists to what was changed since an instant, to the millisecond.
func TestUpdatedSince(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 10_000 })
	have := w.foreignThings(ids{ownCustomer, ownSite, ownAsset}, "ours")
	w.clock.add(10*time.Minute + 123*time.Millisecond)
	for _, c := range []struct{ path, body string }{
		{api.PathAssets, `{"action":"set","asset_id":"` + ownAsset + `","name":"Inverter one"}`},
		{api.PathSites, `{"action":"rename","site_id":"Sibaya","name":"Sibaya one"}`},
		{api.PathIssues, `{"action":"create","site":"Sibaya","component":"fan","issue_type":"noise","description":"loud","priority":"high"}`},
		{api.PathSchedule, `{"action":"create","asset_id":"` + ownAsset + `","maintenance_type":"corrective","scheduled_date":"2025-10-05","priority":"high","reason":"r"}`},
		{api.PathAlerts, `{"action":"shelve","minutes":30,"reason":"noise","alert_id":"` + w.openAlert().AlertID + `"}`},
		{api.PathParts, `{"action":"adjust","customer_id":"customer123","part_number":"FAN-AX-24V","change":1,"reason":"bought"}`},
		{api.PathShift, `{"action":"note","site_id":"Sibaya","text":"Inverter one is down."}`},
		{api.PathSubscriptions, `{"action":"pause","subscription_id":"` + have["event subscription"] + `"}`},
		{api.PathTrack, `{"action":"pause","subscription_id":"` + have["subscription"] + `"}`},
		{api.PathUsers, `{"action":"set","username":"ours","group_id":"g1"}`},
		{api.PathKeys, `{"action":"revoke","api_key_id":"` + have["key"] + `"}`},
	} {
		if r := w.as("admin", http.MethodPost, c.path, c.body); r.Code != http.StatusOK {
			t.Fatalf("%s: HTTP %d %.300s", c.path, r.Code, r.Body)
		}
	}
	at := w.clock.now()
	for _, c := range []struct{ path, more, items string }{
		{api.PathAssets, `"customer_id":"customer123"`, "assets"},
		{api.PathSites, `"customer_id":"customer123"`, "sites"},
		{api.PathIssues, `"site_id":"Sibaya","issue_type":"noise"`, "issues"},
		{api.PathSchedule, `"site_id":"Sibaya"`, "schedules"},
		{api.PathAlerts, `"site_id":"Sibaya"`, "alerts"},
		{api.PathParts, `"customer_id":"customer123"`, "parts"},
		{api.PathShift, `"site_id":"Sibaya"`, "entries"},
		{api.PathSubscriptions, `"site_id":"Sibaya"`, "subscriptions"},
		{api.PathTrack, `"order_id":"` + have["order"] + `"`, "subscriptions"},
		{api.PathUsers, `"customer_id":"customer123"`, "users"},
		{api.PathKeys, `"customer_id":"customer123"`, "keys"},
	} {
		body := func(since time.Time) string {
			return fmt.Sprintf(`{"action":"list",%s,"updated_since":%q}`, c.more, since.Format("2006-01-02T15:04:05.000Z07:00"))
		}
		if n, updated := w.listed(c.path, body(at), c.items); n != 1 || updated != at.UnixMilli() {
			t.Errorf("%s: %d changed at the instant, updated_at_ms %d, want 1 and %d", c.path, n, updated, at.UnixMilli())
		}
		if n, _ := w.listed(c.path, body(at.Add(time.Millisecond)), c.items); n != 0 {
			t.Errorf("%s: %d changed after it", c.path, n)
		}
		if n, _ := w.listed(c.path, body(at.In(time.FixedZone("", 7200))), c.items); n != 1 {
			t.Errorf("%s: %d by an instant with an offset", c.path, n)
		}
	}
	posted(t, w, api.PathAssets, []scenario{
		{name: "no time", body: `{"action":"list","updated_since":"soon"}`, status: 400, contains: []string{"Invalid field: updated_since"}},
		{name: "not a list", body: `{"action":"get","asset_id":"` + ownAsset + `","updated_since":"2025-10-01"}`, status: 400, contains: []string{"Invalid field: updated_since"}},
	})
	if r := w.as("admin", http.MethodGet, api.PathUploads+"?updated_since=2025-10-02T10:10:00.123Z&status=completed", ""); r.Code != http.StatusOK {
		t.Errorf("uploads: HTTP %d %.300s", r.Code, r.Body)
	}
}

// TestEveryListTakesUpdatedSince finds the operations whose response is a page of a list, and tries
// each with an instant after all changes.
func TestEveryListTakesUpdatedSince(t *testing.T) {
	// Lists of what is computed for the request, or belongs to one record, and the telemetry paths, which take a span.
	without := strings.Fields("accuracy gaps propose fleet ooda/history telemetry/inverter telemetry/site ooda/terminal ooda/site log availability/list notifications subscriptions/deliveries preview")
	n := 0
	for _, op := range api.Operations() {
		if op.Response.Kind() != reflect.Struct {
			continue
		}
		if _, ok := op.Response.FieldByName("NextCursor"); !ok || op.Permission != api.PermissionRead && op.Permission != api.PermissionUsers && op.Permission != api.PermissionAudit || op.Writes() {
			continue
		}
		takes := false
		for _, f := range op.Fields {
			takes = takes || f.Name == "updated_since"
		}
		pages := false
		for _, f := range op.Fields {
			pages = pages || f.Name == "limit"
		}
		name := op.Route.Name + "/" + op.Action
		exempt := false
		for _, x := range without {
			exempt = exempt || strings.HasPrefix(name, x) || strings.HasSuffix(name, "/"+x)
		}
		if n++; pages && !takes && !exempt {
			t.Errorf("%s is a list without updated_since", name)
		}
		if takes {
			if op.TypeOfName("updated_since") != reflect.TypeFor[api.Instant]() {
				t.Errorf("%s: the type of updated_since", name)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d lists", n)
	}
}

// TestListsByMainFields narrows lists by the fields of their records.
func TestListsByMainFields(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 10_000 })
	w.judge(true)
	for _, kind := range []string{"noise", "heat"} {
		if r := w.as("admin", http.MethodPost, api.PathIssues, `{"action":"create","site":"Sibaya","component":"fan","issue_type":"`+kind+`","description":"d","priority":"low"}`); r.Code != http.StatusOK {
			t.Fatalf("HTTP %d %.300s", r.Code, r.Body)
		}
	}
	alert := w.openAlert()
	for _, c := range []struct{ path, body string }{
		{api.PathUsers, `{"action":"add","username":"ana","password":"correct horse","role_id":"role_analyst","customer_ids":["customer123"]}`},
		{api.PathKeys, `{"action":"create","name":"a","role_id":"role_collector","customer_ids":["customer123"]}`},
		{api.PathSubscriptions, `{"action":"subscribe","site_id":"Sibaya","callback_url":"https://example.org/1","events":["order.*"]}`},
	} {
		if r := w.as("admin", http.MethodPost, c.path, c.body); r.Code != http.StatusOK {
			t.Fatalf("%s: HTTP %d %.300s", c.path, r.Code, r.Body)
		}
	}
	for _, c := range []struct {
		path, more, items string
		n                 int
	}{
		{api.PathIssues, `"site_id":"Sibaya","issue_type":"noise"`, "issues", 1},
		{api.PathIssues, `"site_id":"Sibaya","priority":"low"`, "issues", 2},
		{api.PathIssues, `"site_id":"Sibaya","status":"Resolved"`, "issues", 0},
		{api.PathAlerts, `"site_id":"Sibaya","alert_severity":"` + alert.AlertSeverity + `"`, "alerts", 1},
		{api.PathAlerts, `"site_id":"Sibaya","alert_severity":"normal"`, "alerts", 0},
		{api.PathAlerts, `"site_id":"Sibaya","alert_type":"` + alert.AlertType + `"`, "alerts", 1},
		{api.PathAssets, `"customer_id":"customer123","type":"Inverter"`, "assets", 2},
		{api.PathAssets, `"customer_id":"customer123","type":"battery"`, "assets", 0},
		{api.PathOODA, `"customer_id":"customer123","fault_family":"soiling"`, "ml_enhanced_activities", 0},
		{api.PathUsers, `"role_id":"role_analyst"`, "users", 1},
		{api.PathUsers, `"role_id":"role_collector"`, "users", 0},
		{api.PathUsers, `"customer_id":"customer123","active":false`, "users", 0},
		{api.PathKeys, `"state":"revoked"`, "keys", 0},
		{api.PathKeys, `"customer_id":"customer123","role_id":"role_collector"`, "keys", 1},
		{api.PathSubscriptions, `"site_id":"Sibaya","status":"active"`, "subscriptions", 1},
		{api.PathSubscriptions, `"site_id":"Sibaya","status":"paused"`, "subscriptions", 0},
	} {
		if n, _ := w.listed(c.path, `{"action":"list",`+c.more+`}`, c.items); n != c.n {
			t.Errorf("%s %s: %d, want %d", c.path, c.more, n, c.n)
		}
	}
}
