package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/httpapi"
	"app.sunloop/backend/store"
)

// dying is the records of a process that is killed after so many more Updates:
// none of its later ones comes to the disk.
type dying struct {
	store.Records
	left int
}

var errKilled = errors.New("killed")

func (d *dying) Update(ctx context.Context, fn func(store.Tx) error) error {
	if d.left == 0 {
		return errKilled
	}
	d.left--
	return d.Records.Update(ctx, fn)
}

// A process that dies between a change and the answer of its Idempotency-Key
// leaves a key under which the change is never made again.
func TestKilledBetweenChangeAndAnswer(t *testing.T) {
	const schedule = `"asset_id":"` + ownAsset + `","maintenance_type":"corrective","scheduled_date":"2025-10-05","priority":"high","reason":"Fan"`
	for _, c := range []struct{ name, path, body, list, one string }{
		{"stock", api.PathParts, `{"action":"adjust","site_id":"Sibaya","part_number":"PCB-CTRL","change":3,"reason":"delivery"}`, `{"action":"list","site_id":"Sibaya","limit":1000}`, `"on_hand":3,`},
		{"schedule", api.PathSchedule, `{"action":"create",` + schedule + `}`, `{"action":"list","asset_id":"` + ownAsset + `"}`, `"maintenance_type":"corrective"`},
		{"user", api.PathUsers, `{"action":"add","username":"ana","password":"a very long one 7","role_id":"role_analyst","customer_ids":["customer123"]}`, `{"action":"list"}`, `"username":"ana"`},
		{"key", api.PathKeys, `{"action":"create","name":"pump","role_id":"role_analyst","customer_ids":["customer123"]}`, `{"action":"list"}`, `"name":"pump"`},
		{"asset", api.PathAssets, `{"action":"add","asset_id":"NEW","name":"n","type":"t","capacity_kw":1,"location":"l","site_id":"Sibaya"}`, `{"action":"list","site_id":"Sibaya"}`, `"asset_id":"NEW"`},
		{"bill", api.PathBOM, `{"action":"generate","asset_id":"` + ownAsset + `","maintenance_type":"corrective"}`, `{"action":"list","site_id":"Sibaya"}`, `"bom_id":"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			process := &dying{left: -1}
			w := newWorld(t, func(d *httpapiDeps) { process.Records, d.Records = d.Records, process })
			post := func(key string) *httptest.ResponseRecorder {
				return w.as("admin", http.MethodPost, c.path, c.body, "Idempotency-Key", key)
			}
			process.left = 1 // the key is taken, its answer not kept
			if r := post("k"); r.Code < 500 {
				t.Fatalf("killed before it answered: %d %s", r.Code, r.Body)
			}
			process.left = -1
			w.handler = httpapi.New(w.deps)
			for _, later := range []time.Duration{0, 3 * time.Minute, 23 * time.Hour} {
				w.clock.add(later)
				if r := post("k"); r.Code != http.StatusConflict || !strings.Contains(r.Body.String(), "was carried out, but its answer was lost") {
					t.Errorf("%s later: %d %s", later, r.Code, r.Body)
				}
			}
			list := w.as("admin", http.MethodPost, c.path, c.list)
			if n := strings.Count(list.Body.String(), c.one); list.Code != http.StatusOK || n != 1 {
				t.Errorf("it was done %d times: %d %s", n, list.Code, list.Body)
			}
		})
	}
}

// One that dies before the change leaves a key that is free after its lease,
// and one that was only slow must not make the change a second time.
func TestKilledBeforeTheChange(t *testing.T) {
	process := &dying{left: -1}
	w := newWorld(t, func(d *httpapiDeps) { process.Records, d.Records = d.Records, process })
	const body = `{"action":"run","asset_id":"` + ownAsset + `"}`
	post := func() *httptest.ResponseRecorder {
		return w.as("own", http.MethodPost, api.PathDetect, body, "Idempotency-Key", "k")
	}
	process.left, w.detects.fail = 1, errKilled
	if r := post(); r.Code != 500 {
		t.Fatalf("killed: %d %s", r.Code, r.Body)
	}
	process.left, w.detects.fail = -1, nil
	w.handler = httpapi.New(w.deps)
	if r := post(); r.Code != http.StatusConflict || !strings.Contains(r.Body.String(), "is in progress") {
		t.Errorf("at once: %d %s", r.Code, r.Body)
	}
	w.clock.add(2 * time.Minute)
	if r := post(); r.Code != 200 || w.detects.runs != 1 {
		t.Errorf("after its lease: %d %s, %d runs", r.Code, r.Body, w.detects.runs)
	}
}

// Two replicas: the first is so slow that the second takes it for dead. The
// change is made by one of them.
func TestSlowRequestLosesItsKey(t *testing.T) {
	w := newWorld(t, nil)
	const body = `{"action":"adjust","site_id":"Sibaya","part_number":"PCB-CTRL","change":3,"reason":"delivery"}`
	slow := &slowStock{parts: w.deps.BOMs}
	deps := w.deps
	deps.BOMs = slow
	first, second := httpapi.New(deps), w.handler
	post := func(h http.Handler) *httptest.ResponseRecorder {
		w.handler = h
		return w.as("customer", http.MethodPost, api.PathParts, body, "Idempotency-Key", "k")
	}
	var other *httptest.ResponseRecorder
	slow.before = func() {
		w.clock.add(3 * time.Minute)
		other = post(second)
	}
	if r := post(first); r.Code != http.StatusConflict {
		t.Errorf("the slow one: %d %s", r.Code, r.Body)
	}
	if other.Code != 200 {
		t.Errorf("the other: %d %s", other.Code, other.Body)
	}
	if r := post(second); r.Body.String() != other.Body.String() || !strings.Contains(r.Body.String(), `"on_hand":3,`) {
		t.Errorf("again: %d %s", r.Code, r.Body)
	}
}

// parts is embedded under a name that is not its method's.
type parts = httpapi.BOMs

// slowStock calls before once, ahead of an adjustment of the stock.
type slowStock struct {
	parts
	before func()
}

func (s *slowStock) AdjustStock(ctx context.Context, scope api.Scope, r api.PartsRequest) (api.Part, error) {
	s.before()
	return s.parts.AdjustStock(ctx, scope, r)
}
