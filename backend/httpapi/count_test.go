package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// fill puts n entries into a bucket, under keys that key makes.
func (w *world) fill(bucket string, n int, key func(i int) []byte, value string) {
	w.t.Helper()
	err := w.store.Update(context.Background(), func(tx store.Tx) error {
		for i := range n {
			if err := tx.Put(bucket, key(i), []byte(value)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestTooManyRecords refuses with 409 one record more than there may be, and
// names what is full. In addition to the full one there is room.
func TestTooManyRecords(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	unit := func(site, id string) string {
		return fmt.Sprintf(`{"action":"add","customer_id":%q,"site_id":%q,"asset_id":%q,"name":"n","type":"t","capacity_kw":1,"location":"l"}`, ownCustomer, site, id)
	}
	plan := func(site, asset string) string {
		return fmt.Sprintf(`{"action":"create","site_id":%q,"asset_id":%q,"maintenance_type":"corrective","scheduled_date":"2025-10-03T06:00:00Z","priority":"high","reason":"Fan is loud"}`, site, asset)
	}
	bill := func(site, asset string) string {
		return fmt.Sprintf(`{"action":"generate","site_id":%q,"asset_id":%q,"maintenance_type":"corrective"}`, site, asset)
	}
	key := func(customer string) string {
		return fmt.Sprintf(`{"action":"create","name":"k","customer_ids":[%q]}`, customer)
	}
	number := func(lead ...string) func(int) []byte {
		return func(i int) []byte { return store.Key(append(lead, fmt.Sprintf("%06d", i))...) }
	}
	for _, c := range []struct {
		bucket     string
		n          int
		key        func(int) []byte
		value      string
		who, path  string
		full, room string
		want       string
	}{
		{"schedules/asset", api.MaxOpenSchedules, number(ownSite, ownAsset, "open"), "", "customer", api.PathSchedule, plan(ownSite, ownAsset), plan(secondSite, secondAsset), "Asset " + ownAsset + " has 1000 open schedules, which is the most"},
		{"boms/asset", api.MaxBOMs, number(ownSite, ownAsset, "x"), "", "customer", api.PathBOM, bill(ownSite, ownAsset), bill(secondSite, secondAsset), "Asset " + ownAsset + " has 10000 bills of materials, which is the most"},
		{"auth/keys", api.MaxKeys, number(), `{"id":"k","customers":["` + ownCustomer + `"]}`, "admin", api.PathKeys, key(ownCustomer), key(foreignCustomer), "Customer " + ownCustomer + " has 10000 API keys, which is the most"},
		{"assets", api.MaxUnits, number(ownSite), `{}`, "customer", "/terminal/assets", unit(ownSite, "INV-LAST"), unit(secondSite, "INV-FIRST"), "Site " + ownSite + " has 10000 units, which is the most"},
		{"sites/customer", api.MaxSites, number(ownCustomer), "", "admin", "/terminal/sites",
			`{"action":"set","site":{"site_id":"new","customer_id":"` + ownCustomer + `"}}`, `{"action":"set","site":{"site_id":"new","customer_id":"` + foreignCustomer + `"}}`, "Customer " + ownCustomer + " has 20000 sites, which is the most"},
	} {
		t.Run(c.bucket, func(t *testing.T) {
			w.fill(c.bucket, c.n, c.key, c.value)
			if a := w.as(c.who, http.MethodPost, c.path, c.full); a.Code != http.StatusConflict || !strings.Contains(a.Body.String(), c.want) {
				t.Errorf("HTTP %d %.300s, want 409 %s", a.Code, a.Body, c.want)
			}
			if a := w.as(c.who, http.MethodPost, c.path, c.room); a.Code != http.StatusOK && a.Code != http.StatusCreated {
				t.Errorf("next to the full one: HTTP %d %.300s", a.Code, a.Body)
			}
		})
	}
}

// TestEndedKeysDoNotCount creates a key in addition to the maximum number of
// revoked or expired ones. Those that ended more than a year ago, and the oldest
// above the limit, are deleted.
func TestEndedKeysDoNotCount(t *testing.T) {
	for _, c := range []struct{ old, kept int }{{10, api.MaxKeys}, {30, api.MaxKeys - 10}} {
		t.Run(fmt.Sprintf("%d old", c.old), func(t *testing.T) { testEndedKeys(t, c.old, c.kept) })
	}
}

// testEndedKeys stores 20 ended keys more than the maximum of valid ones, a
// number of which ended more than a year ago, and requires how many are kept.
func testEndedKeys(t *testing.T, old, kept int) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	stored := func() (n int) {
		err := w.store.View(context.Background(), func(tx store.Tx) error {
			n = 0
			for _, err := range tx.Scan("auth/keys", nil, nil, false) {
				if err != nil {
					return err
				}
				n++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := stored()
	err := w.store.Update(context.Background(), func(tx store.Tx) error {
		for i := range api.MaxKeys + 20 {
			id, end, field := fmt.Sprintf("%06d", i), "2025-09-01T00:00:00Z", "revoked_at"
			switch {
			case i < old:
				end = "2024-09-01T00:00:00Z" // more than a year ago
			case i%2 == 0:
				field = "expires_at"
			}
			value := fmt.Sprintf(`{"id":%q,"customers":[%q],%q:%q}`, id, ownCustomer, field, end)
			if err := tx.Put("auth/keys", store.Key(id), []byte(value)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"action":"create","name":"k","customer_ids":[%q]}`, ownCustomer)
	if a := w.as("admin", http.MethodPost, api.PathKeys, body); a.Code != http.StatusOK {
		t.Fatalf("HTTP %d %.300s", a.Code, a.Body)
	}
	if n, want := stored(), before+kept+1; n != want {
		t.Errorf("%d keys are stored, want %d", n, want)
	}
}

// TestRotatedKeysCount rotates a key of a customer that has as many as there may be:
// the former key must end at once.
func TestRotatedKeysCount(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	w.fill("auth/keys", api.MaxKeys, func(i int) []byte { return store.Key(fmt.Sprintf("%06d", i)) }, `{"id":"000000","customers":["`+ownCustomer+`"],"sites":["*"]}`)
	for _, c := range []struct{ overlap, status int }{{1, http.StatusConflict}, {0, http.StatusOK}} {
		body := fmt.Sprintf(`{"action":"rotate","api_key_id":"000000","overlap_hours":%d}`, c.overlap)
		a := w.as("admin", http.MethodPost, api.PathKeys, body)
		if a.Code != c.status || c.status == http.StatusConflict && !strings.Contains(a.Body.String(), "Customer "+ownCustomer+" has 10000 API keys, which is the most") {
			t.Errorf("overlap of %d hours: HTTP %d %.300s, want %d", c.overlap, a.Code, a.Body, c.status)
		}
	}
}
