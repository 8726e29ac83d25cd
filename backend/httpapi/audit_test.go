package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/httpapi"
	"github.com/google/go-cmp/cmp"
)

// trail is all of the audit trail, newest first.
func (w *world) trail() []api.AuditRecord {
	w.t.Helper()
	list, next, err := w.deps.Audit.List(context.Background(), api.Unlimited(""), api.AuditQuery{Page: api.Page{Limit: 10_000}})
	if err != nil || next != "" {
		w.t.Fatalf("cursor %q, %v", next, err)
	}
	return list
}

// written is the one record that was added since there were n.
func (w *world) written(n int) api.AuditRecord {
	w.t.Helper()
	list := w.trail()
	if len(list) != n+1 {
		w.t.Fatalf("%d records were added, want one", len(list)-n)
	}
	return list[0]
}

// openWrites are requests of the routes that write and need no permission.
var openWrites = map[string]func(w *world) *httptest.ResponseRecorder{
	"login": func(w *world) *httptest.ResponseRecorder {
		return w.ask(http.MethodPost, api.PathLogin, `{"username":"ana","password":"`+password+`"}`)
	},
	"verify-mfa": func(w *world) *httptest.ResponseRecorder {
		return w.ask(http.MethodPost, api.PathVerifyMFA, `{"mfa_token":"x","totp_code":"123456"}`)
	},
	"exchange": func(w *world) *httptest.ResponseRecorder {
		return w.ask(http.MethodPost, api.PathExchange, `{"external_token":"e.y.J","provider":"company"}`)
	},
	"refresh": func(w *world) *httptest.ResponseRecorder {
		return w.ask(http.MethodPost, api.PathRefresh, "", "Authorization", "Bearer "+w.user("ben", api.RoleAnalyst, ownCustomer))
	},
	"logout": func(w *world) *httptest.ResponseRecorder {
		return w.ask(http.MethodPost, api.PathLogout, "", "Authorization", "Bearer "+w.user("carl", api.RoleAnalyst, ownCustomer))
	},
	"setup": func(w *world) *httptest.ResponseRecorder {
		return w.ask(http.MethodPost, api.PathSetup, `{"username":"eve","password":"`+password+`"}`)
	},
	"freemium-verify": func(w *world) *httptest.ResponseRecorder {
		return w.ask(http.MethodPost, api.PathFreemiumVerify, `{"email":"ana@example.org"}`)
	},
	"gateway-join": func(w *world) *httptest.ResponseRecorder {
		return w.ask(http.MethodPost, api.PathGatewayJoin, `{"code":"AAAA-BBBB-CCCC-DDDD"}`)
	},
	"freemium-forecast": func(w *world) *httptest.ResponseRecorder {
		body, kind := formOf("email", "ana@example.org")
		return w.ask(http.MethodPost, api.PathFreemiumForecast, body, "Content-Type", kind)
	},
}

// TestEveryWriteLeavesOneRecord sends every operation of the route table: one
// that writes leaves one record of its result, one that reads leaves none.
func TestEveryWriteLeavesOneRecord(t *testing.T) {
	w := newWorld(t, func(d *httpapi.Deps) { d.KeyRate, d.UserRate = 1_000_000, 1_000_000 })
	w.user("ana", api.RoleAnalyst, ownCustomer)
	n := 0
	for _, route := range api.Routes() {
		for _, op := range route.Operations {
			name := route.Name
			if len(route.Operations) > 1 || op.Action != "" {
				name += " " + op.Action
			}
			before := len(w.trail())
			var answered int
			var requestID string
			sample, ok := requests[name]
			open := openWrites[route.Name]
			switch {
			case ok:
				n++
				r := w.sent(route, sample, ids{ownCustomer, ownSite, ownAsset}, "upl_1", w.keys["admin"], n)
				answered, requestID = r.Code, r.Header().Get(api.HeaderRequestID)
			case open != nil:
				r := open(w)
				answered, requestID = r.Code, r.Header().Get(api.HeaderRequestID)
			case op.Writes():
				t.Errorf("%s writes, and has no request here", name)
				continue
			default:
				continue
			}
			if !op.Writes() || op.Frequent && answered < 400 {
				if added := len(w.trail()) - before; added != 0 {
					t.Errorf("%s only reads, and left %d records", name, added)
				}
				continue
			}
			r := w.written(before)
			if r.Route != route.Name || r.Action != op.Action || r.Status != answered || r.RequestID != requestID || r.AuditID == "" || (answered >= 400) != (r.Error != "") {
				t.Errorf("%s was answered by HTTP %d in %s, and left %+v", name, answered, requestID, r)
			}
			if op.Permission != api.PermissionNone && (r.Actor != "admin" || !strings.HasPrefix(r.ActorID, "key_")) {
				t.Errorf("%s by the key admin left %+v", name, r)
			}
		}
	}
}

// TestRefusedWritesLeaveOneRecord at whichever check they end.
func TestRefusedWritesLeaveOneRecord(t *testing.T) {
	w := newWorld(t, func(d *httpapi.Deps) { d.KeyRate = 1 })
	w.key("reader", auth.NewKey{Role: api.RoleAnalyst, Customers: []string{ownCustomer}})
	const set = `{"action":"set","site":{"site_id":"Sibaya","customer_id":"customer123","name":"n"}}`
	for _, c := range []struct {
		name, key, body string
		want            api.AuditRecord
	}{
		{"parameters", "admin", `{"action":"set"}`, api.AuditRecord{Actor: "admin", Status: 400, Error: "Missing required field: site"}},
		{"permission", "reader", set, api.AuditRecord{Actor: "reader", Status: 403, Error: "Access denied", SiteID: ownSite, CustomerIDs: []string{ownCustomer}}},
		{"scope", "own", strings.Replace(set, "Sibaya", "Elsewhere", 1), api.AuditRecord{Actor: "own", Status: 403, Error: "Access denied", SiteID: foreignSite, CustomerIDs: []string{ownCustomer}}},
		{"accepted", "own", set, api.AuditRecord{Actor: "own", Status: 200, SiteID: ownSite, CustomerIDs: []string{ownCustomer}}},
		{"rate", "own", set, api.AuditRecord{Actor: "own", Status: 429, Error: "Too many requests", SiteID: ownSite, CustomerIDs: []string{ownCustomer}}},
	} {
		before := len(w.trail())
		w.as(c.key, http.MethodPost, api.PathSites, c.body)
		got := w.written(before)
		if got.ActorID == "" || got.Address != "192.0.2.1" {
			t.Errorf("%s: actor %q at %q", c.name, got.ActorID, got.Address)
		}
		got.AuditID, got.Timestamp, got.ActorID, got.RequestID, got.Address = "", api.Time{}, "", "", ""
		c.want.Route, c.want.Action = "sites", "set"
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
	// Nothing was tried: no credential or an invalid one, whose body is not read;
	// no such action; a read.
	before := len(w.trail())
	w.ask(http.MethodPost, api.PathSites, set)
	w.ask(http.MethodPost, api.PathSites, set, "Authorization", "Bearer opa_prod_none")
	w.as("admin", http.MethodPost, api.PathSites, `{"action":"drop"}`)
	w.as("admin", http.MethodPost, api.PathSites, `{"action":"list"}`)
	if added := len(w.trail()) - before; added != 0 {
		t.Errorf("%d records of nothing", added)
	}
}

// TestAuditTargets, not what it is like.
func TestAuditTargets(t *testing.T) {
	w := newWorld(t, nil)
	r := w.as("admin", http.MethodPost, api.PathUsers, `{"action":"add","username":"ana","password":"`+password+`","role_id":"role_analyst","customer_ids":["customer123"]}`)
	var made api.UsersResponse
	if err := json.Unmarshal(r.Body.Bytes(), &made); err != nil {
		t.Fatal(err)
	}
	if got := w.written(0); !cmp.Equal(got.TargetIDs, map[string]string{"user_id": made.UserID}) || !cmp.Equal(got.CustomerIDs, []string{ownCustomer}) {
		t.Errorf("%+v", got)
	}
}

func TestFailedAndRepeatedWrites(t *testing.T) {
	w := newWorld(t, nil)
	w.detects.fail = errors.New("disk on fire")
	run := `{"action":"run","asset_id":"` + ownAsset + `"}`
	want := map[string]string{"asset_id": ownAsset}
	w.as("own", http.MethodPost, api.PathDetect, run)
	if r := w.written(0); r.Status != 500 || r.Error != "Internal error" || r.SiteID != ownSite || !cmp.Equal(r.TargetIDs, want) {
		t.Errorf("a failure left %+v", r)
	}
	w.detects.fail = nil
	want["detection_id"] = "det_1"
	w.as("own", http.MethodPost, api.PathDetect, run, api.HeaderIdempotencyKey, "k")
	if r := w.written(1); r.Status != 200 || r.Replayed || !cmp.Equal(r.TargetIDs, want) {
		t.Errorf("the first left %+v", r)
	}
	w.as("own", http.MethodPost, api.PathDetect, run, api.HeaderIdempotencyKey, "k")
	if r := w.written(2); r.Status != 200 || !r.Replayed {
		t.Errorf("the repetition left %+v", r)
	}
}

// panicky uploads break down.
type panicky struct{ taker }

type taker = httpapi.Uploads

func (panicky) Cancel(context.Context, api.Scope, string) (api.Upload, error) { panic("boom") }

func TestPanicLeavesARecord(t *testing.T) {
	w := newWorld(t, func(d *httpapi.Deps) { d.Uploads = panicky{d.Uploads} })
	if r := w.as("own", http.MethodPost, "/uploads/upl_1", `{"action":"cancel"}`); r.Code != 500 {
		t.Fatalf("HTTP %d", r.Code)
	}
	if r := w.written(0); r.Status != 500 || r.Action != "cancel" || r.Actor != "own" || r.TargetIDs["id"] != "upl_1" {
		t.Errorf("%+v", r)
	}
}

// TestSignInsAreRecorded: who signed in, and about whom a refusal was. What
// was typed is not kept: it may be a password in the wrong field.
func TestSignInsAreRecorded(t *testing.T) {
	w := newWorld(t, nil)
	w.user("ana", api.RoleAnalyst, ownCustomer)
	users, _, err := w.auth.As(api.Unlimited("")).Users(context.Background(), auth.UserFilter{}, api.Page{})
	if err != nil {
		t.Fatal(err)
	}
	ana := users[0]
	login := func(username, secret string) api.AuditRecord {
		before := len(w.trail())
		body, _ := json.Marshal(api.LoginRequest{Username: username, Password: secret})
		w.ask(http.MethodPost, api.PathLogin, string(body))
		return w.written(before)
	}
	if r := login("Ana", password); r.Status != 200 || r.Actor != "ana" || r.ActorID != ana.ID || !cmp.Equal(r.CustomerIDs, []string{ownCustomer}) {
		t.Errorf("a sign-in left %+v", r)
	}
	if r := login("ana", "not the password"); r.Status != 401 || r.ActorID != "" || r.Error != "Invalid credentials" || !cmp.Equal(r.TargetIDs, map[string]string{"user_id": ana.ID}) {
		t.Errorf("a wrong password left %+v", r)
	}
	if r := login("hunter2-in-the-wrong-field", "x"); r.Status != 401 || r.TargetIDs != nil {
		t.Errorf("an unknown name left %+v", r)
	}
	// An unauthenticated client cannot fill the disk.
	for range 300 {
		w.ask(http.MethodPost, api.PathVerifyMFA, `{"mfa_token":"x","totp_code":"000000","x_id":"from a client"}`)
	}
	list := w.trail()
	if len(list) > 100 {
		t.Errorf("%d records of 300 refusals", len(list))
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{password, "not the password", "hunter2", "000000", "from a client"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("the trail holds %q", secret)
		}
	}
}

// hearing looks at the trail when the status is sent.
type hearing struct {
	*httptest.ResponseRecorder
	w       *world
	records int
}

func (h *hearing) WriteHeader(status int) {
	h.records = len(h.w.trail())
	h.ResponseRecorder.WriteHeader(status)
}

// TestRecordComesBeforeTheAnswer: no response reports a change that is not in
// the trail yet.
func TestRecordComesBeforeTheAnswer(t *testing.T) {
	w := newWorld(t, nil)
	q := httptest.NewRequest(http.MethodPost, api.PathDetect, strings.NewReader(`{"action":"run","asset_id":"`+ownAsset+`"}`))
	q.Header.Set("X-Api-Key", w.keys["own"])
	h := &hearing{ResponseRecorder: httptest.NewRecorder(), w: w}
	w.handler.ServeHTTP(h, q)
	if h.Code != 200 || h.records != 1 {
		t.Errorf("HTTP %d with %d records", h.Code, h.records)
	}
}

// TestTrailFailsAlone: if the trail fails, the change is answered, and logged.
func TestTrailFailsAlone(t *testing.T) {
	w := newWorld(t, func(d *httpapi.Deps) { d.Audit = fullTrail{} })
	if r := w.as("own", http.MethodPost, api.PathDetect, `{"action":"run","asset_id":"`+ownAsset+`"}`); r.Code != 200 {
		t.Errorf("HTTP %d", r.Code)
	}
}

type fullTrail struct{ httpapi.Audit }

func (fullTrail) Append(context.Context, api.AuditRecord) error { return errors.New("no space left") }

// TestAnalystsWriteNothing: no operation that writes is open to one, of
// whatever route there will be.
func TestAnalystsWriteNothing(t *testing.T) {
	w := newWorld(t, func(d *httpapi.Deps) { d.KeyRate, d.UserRate = 1_000_000, 1_000_000 })
	callers := map[string]string{"user": w.user("analyst", api.RoleAnalyst, "*"), "key": w.key("analyst", auth.NewKey{Role: api.RoleAnalyst, Sites: []string{"*"}})}
	n := 0
	for _, route := range api.Routes() {
		for _, op := range route.Operations {
			if !op.Writes() || op.Permission == api.PermissionNone {
				continue
			}
			if op == api.MarkSeen.Operation {
				continue // it stores only that the caller has read the shift log
			}
			if auth.May(api.RoleAnalyst, op.Permission) {
				t.Errorf("an analyst may %s %s", route.Name, op.Action)
			}
			name := route.Name
			if len(route.Operations) > 1 || op.Action != "" {
				name += " " + op.Action
			}
			for caller, credential := range callers {
				n++
				if r := w.sent(route, requests[name], ids{ownCustomer, ownSite, ownAsset}, "upl_1", credential, n); r.Code != http.StatusForbidden || !strings.Contains(r.Body.String(), "Access denied") {
					t.Errorf("%s as an analyst's %s: HTTP %d %s", name, caller, r.Code, r.Body)
				}
			}
		}
	}
	if n < 40 {
		t.Errorf("%d requests: the table of routes has more operations that write", n)
	}
}
