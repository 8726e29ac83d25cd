package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// A change of a category counts at once, is recorded in the audit trail with its
// reason, and counts no more when it is revoked.
func TestAvailabilityChange(t *testing.T) {
	w := newWorld(t, nil)
	w.measure(ownSite, ownAsset, "Africa/Johannesburg", time.Date(2025, 9, 30, 22, 0, 0, 0, time.UTC), 288)
	post := func(body string) *api.AvailabilityChangeResponse {
		t.Helper()
		r := w.as("admin", http.MethodPost, api.PathAvailability, body)
		var out api.AvailabilityChangeResponse
		if err := json.Unmarshal(r.Body.Bytes(), &out); err != nil || r.Code != 200 {
			t.Fatalf("HTTP %d %s", r.Code, r.Body)
		}
		return &out
	}
	majeure := func() float64 {
		t.Helper()
		r := w.as("own", http.MethodPost, api.PathAvailability, `{"site_id":"Sibaya","from":"2025-09-30T22:00:00Z","to":"2025-10-01T22:00:00Z"}`)
		var out api.AvailabilityResponse
		if err := json.Unmarshal(r.Body.Bytes(), &out); err != nil || r.Code != 200 {
			t.Fatalf("HTTP %d %s", r.Code, r.Body)
		}
		for _, c := range out.Site.Categories {
			if c.Category == api.AvailabilityForceMajeure {
				return c.Hours
			}
		}
		return -1
	}
	made := post(`{"action":"set","site_id":"Sibaya","from":"2025-10-01T08:00:00Z","to":"2025-10-01T10:00:00Z","category":"force_majeure","reason":"flood, notice 12"}`)
	if got := majeure(); got != 2 {
		t.Errorf("force majeure for %v h, want 2", got)
	}
	post(`{"action":"revoke","site_id":"Sibaya","change_id":"` + made.ChangeID + `","reason":"withdrawn"}`)
	if got := majeure(); got != 0 {
		t.Errorf("force majeure for %v h after it was revoked", got)
	}
	trail := w.as("admin", http.MethodPost, api.ListAudit.Route.Path, `{"action":"list"}`).Body.String()
	for _, text := range []string{`"action":"set"`, `"action":"revoke"`, "flood, notice 12", "withdrawn"} {
		if !strings.Contains(trail, text) {
			t.Errorf("the audit trail has no %q: %s", text, trail)
		}
	}
}
