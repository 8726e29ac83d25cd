package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"app.sunloop/backend/api"
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
