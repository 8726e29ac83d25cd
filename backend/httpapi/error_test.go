package httpapi_test

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/httpapi"
	"app.sunloop/backend/openapi"
)

// Every error has a code, the id of its request and the address of its description, which
// the page and docs/errors.md have; one about a field names the field.
func TestErrorsHaveCodes(t *testing.T) {
	w := newWorld(t, nil)
	page, err := os.ReadFile("../../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	const add = `{"action":"add","asset_id":"` + ownAsset + `","name":"n","type":"t","capacity_kw":1,"location":"l","site_id":"Sibaya"}`
	for _, c := range []struct {
		key, method, url, body string
		status                 int
		code, field            string
	}{
		{"", http.MethodGet, "/telemetry/latest?site_id=Sibaya", "", 401, "unauthorized", ""},
		{"own", http.MethodGet, "/nowhere", "", 404, "not_found", ""},
		{"own", http.MethodGet, api.PathAssets, "", 405, "method_not_allowed", ""},
		{"own", http.MethodGet, "/telemetry/latest", "", 400, "missing_required_parameter", "site_id"},
		{"own", http.MethodGet, "/telemetry/site?site_id=Sibaya&start=soon&end=2025-10-01", "", 400, "invalid_parameter", "start"},
		{"own", http.MethodGet, "/telemetry/latest?site_id=Elsewhere", "", 403, "access_denied", ""},
		{"admin", http.MethodGet, "/telemetry/latest?site_id=Nowhere", "", 404, "site_not_found", ""},
		{"own", http.MethodPost, api.PathAssets, `{"action":"drop"}`, 400, "invalid_action", ""},
		{"own", http.MethodPost, api.PathAssets, `{`, 400, "invalid_json_body", ""},
		{"own", http.MethodPost, api.PathAssets, `{"action":"get"}`, 400, "missing_required_field", "asset_id"},
		{"own", http.MethodPost, api.PathDetect, `{"action":"run","asset_id":"` + ownAsset + `","lookback_hours":-1}`, 400, "invalid_field", "lookback_hours"},
		{"own", http.MethodPost, api.PathAssets, add, 409, "already_exists", ""},
		{"own", http.MethodPost, api.PathAssets, `{"action":"set","asset_id":"` + ownAsset + `","name":"m","version":7}`, 409, "version_conflict", ""},
	} {
		var headers []string
		if c.key != "" {
			headers = []string{"Authorization", "Bearer " + w.keys[c.key]}
		}
		r := w.ask(c.method, c.url, c.body, headers...)
		var e api.ErrorBody
		if err := json.Unmarshal(r.Body.Bytes(), &e); err != nil {
			t.Fatalf("%s %s: %s, %v", c.url, c.body, r.Body, err)
		}
		if r.Code != c.status || e.Code != c.code || e.Field != c.field || e.RequestID == "" || e.RequestID != r.Header().Get(api.HeaderRequestID) || e.Docs != "/docs#error-"+c.code {
			t.Errorf("%s %s: HTTP %d %s, want %d %s %q", c.url, c.body, r.Code, r.Body, c.status, c.code, c.field)
		}
		if !strings.Contains(string(page), "| `"+c.code+"` | ") || !strings.Contains(string(openapi.Page().HTML), `id="error-`+c.code+`"`) {
			t.Errorf("%s is not described", c.code)
		}
	}
	prefixed := *w
	prefixed.handler = httpapi.View(w.handler, "/plants")
	if r := prefixed.ask(http.MethodGet, "/plants/telemetry/latest?site_id=Sibaya", ""); !strings.Contains(r.Body.String(), `"docs":"/plants/docs#error-unauthorized"`) {
		t.Errorf("below a prefix: %s", r.Body)
	}
	valid := regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*$`)
	for _, route := range api.Routes() {
		for _, e := range route.Errors {
			if code := e.Body("", "").Code; !valid.MatchString(code) || !strings.Contains(string(page), "| `"+code+"` | ") {
				t.Errorf("%s: error %q has the code %q, which is not described", route.Name, e.Message, code)
			}
		}
	}
}
