package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// TestTooLongIsRefused refuses texts and lists above their limits, by the name of
// the field, and stores nothing of them.
func TestTooLongIsRefused(t *testing.T) {
	w := newWorld(t, nil)
	long := func(n int) string { return strings.Repeat("x", n) }
	asset := func(id, location, components string) string {
		return fmt.Sprintf(`{"action":"add","customer_id":%q,"site_id":%q,"asset_id":%q,"name":"n","type":"t","capacity_kw":1,"location":%q,"components":[%s]}`,
			ownCustomer, ownSite, id, location, components)
	}
	site := func(field, value string) string {
		return fmt.Sprintf(`{"action":"set","site":{"site_id":%q,"customer_id":%q,%q:%q}}`, ownSite, ownCustomer, field, value)
	}
	component := `{"oem":"a","model":"b","serial":"c"}`
	for name, c := range map[string]struct{ key, path, body, field, reason string }{
		"components":       {"customer", "/terminal/assets", asset("INV-L1", "l", strings.Repeat(component+",", 5000)+component), "components", "at most 200 items"},
		"one too many":     {"customer", "/terminal/assets", asset("INV-L2", "l", strings.Repeat(component+",", 200)+component), "components", "at most 200 items"},
		"component serial": {"customer", "/terminal/assets", asset("INV-L3", "l", component+`,{"oem":"a","model":"b","serial":"`+long(201)+`"}`), "components[1].serial", "at most 200 characters"},
		"location":         {"customer", "/terminal/assets", asset("INV-L4", long(200_000), component), "location", "at most 200 characters"},
		"site name":        {"customer", "/terminal/sites", site("name", long(200_000)), "site.name", "at most 200 characters"},
		"site location":    {"customer", "/terminal/sites", site("location", long(201)), "site.location", "at most 200 characters"},
		"issue":            {"customer", "/terminal/issues", `{"action":"create","site":"` + ownSite + `","component":"c","issue_type":"t","description":"` + long(5000) + `"}`, "description", "at most 2000 characters"},
		"key name":         {"admin", "/terminal/keys", `{"action":"create","permitted_site_ids":["*"],"name":"` + long(201) + `"}`, "name", "at most 200 characters"},
		"cursor":           {"customer", "/terminal/assets", `{"action":"list","cursor":"` + long(5000) + `"}`, "cursor", "at most 4096 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			a := w.as(c.key, http.MethodPost, c.path, c.body)
			var refusal api.ErrorBody
			if err := json.Unmarshal(a.Body.Bytes(), &refusal); err != nil {
				t.Fatal(err)
			}
			if a.Code != http.StatusBadRequest || refusal.Error != "Invalid field: "+c.field || refusal.Details["reason"] != c.reason {
				t.Errorf("HTTP %d %s, want 400 Invalid field: %s, %s", a.Code, a.Body, c.field, c.reason)
			}
		})
	}
	list := w.as("customer", http.MethodPost, "/terminal/assets", `{"action":"list"}`).Body.String()
	if strings.Contains(list, "INV-L") || len(list) > 10_000 {
		t.Errorf("something of the refused is listed: %.300s", list)
	}
}

// TestLongFieldOfAForm refuses a form by the name of the parameter.
func TestLongFieldOfAForm(t *testing.T) {
	w := newWorld(t, nil)
	for field, value := range map[string]string{"location": strings.Repeat("x", 201), "region": strings.Repeat("é", 201), "manufacturer": strings.Repeat("x", 4000)} {
		fields := []string{"customer_id", ownCustomer, "site_id", ownSite}
		for _, name := range []string{"region", "location"} {
			if name != field {
				fields = append(fields, name, "somewhere")
			}
		}
		body, kind := formOf(append(fields, field, value, "file", "time,power\n2025-01-01T00:00:00Z,1\n")...)
		a := w.as("customer", http.MethodPost, "/upload_train", body, "Content-Type", kind)
		if a.Code != http.StatusBadRequest || !strings.Contains(a.Body.String(), "Invalid parameter: "+field) || !strings.Contains(a.Body.String(), "at most 200 characters") {
			t.Errorf("%s: HTTP %d %s", field, a.Code, a.Body)
		}
	}
}

// edit changes a stored record as an older version, which had no limits, may have
// left it.
func (w *world) edit(bucket string, key []byte, change func(record map[string]any)) {
	w.t.Helper()
	err := w.store.Update(context.Background(), func(tx store.Tx) error {
		b, err := tx.Get(bucket, key)
		if err != nil {
			return err
		}
		var record map[string]any
		if err := json.Unmarshal(b, &record); err != nil {
			return err
		}
		change(record)
		if b, err = json.Marshal(record); err != nil {
			return err
		}
		return tx.Put(bucket, key, b)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestLongRecordsOfOlderVersions lists a record that was stored before there were
// limits, changes its other fields, and refuses to make it longer.
func TestLongRecordsOfOlderVersions(t *testing.T) {
	w := newWorld(t, nil)
	name := strings.Repeat("n", 1<<20)
	w.edit("sites", store.Key(ownSite), func(site map[string]any) { site["name"] = name })
	set := func(fields string) *httptest.ResponseRecorder {
		return w.as("customer", http.MethodPost, "/terminal/sites", fmt.Sprintf(`{"action":"set","site":{"site_id":%q,%s}}`, ownSite, fields))
	}
	if a := set(`"tariff_per_kwh":0.25,"currency":"EUR"`); a.Code != http.StatusOK {
		t.Errorf("a change of the tariff: HTTP %d %.300s", a.Code, a.Body)
	}
	if a := set(`"name":"` + strings.Repeat("n", 201) + `"`); a.Code != http.StatusBadRequest {
		t.Errorf("another long name: HTTP %d %.300s", a.Code, a.Body)
	}
	list := w.as("customer", http.MethodPost, "/terminal/sites", `{"action":"list"}`).Body.String()
	if !strings.Contains(list, name) || !strings.Contains(list, `"tariff_per_kwh":0.25`) {
		t.Errorf("the list has lost the record: %.300s", list)
	}
	if a := set(`"name":"short"`); a.Code != http.StatusOK {
		t.Errorf("a short name: HTTP %d %.300s", a.Code, a.Body)
	}
}

// TestFullListOfARecord refuses with 409 what would lengthen a list of a record
// that is full, and changes nothing.
func TestFullListOfARecord(t *testing.T) {
	w := newWorld(t, nil)
	body, _, _ := w.planned()
	id := mustPost[api.OrderResponse](w, api.PathOrder, body).OrderID
	w.edit("orders", store.Key(ownSite, id), func(order map[string]any) {
		moves := order["history"].([]any)
		for len(moves) < 1000 {
			moves = append(moves, moves[0])
		}
		order["history"] = moves
	})
	a := w.as("customer", http.MethodPost, "/terminal/order", fmt.Sprintf(`{"action":"hold","order_id":%q,"hold_reason":"weather"}`, id))
	if a.Code != http.StatusConflict || !strings.Contains(a.Body.String(), "history is full: at most 1000 items") {
		t.Errorf("HTTP %d %s", a.Code, a.Body)
	}
	a = w.as("customer", http.MethodPost, "/terminal/order", fmt.Sprintf(`{"action":"get","order_id":%q}`, id))
	if !strings.Contains(a.Body.String(), `"status":"pending"`) {
		t.Errorf("the order was changed: %.300s", a.Body)
	}
}
