package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// TestNowcast: at 10:00 UTC, noon at the site, the only unit feeds 40 kW of its
// 50; the others of the customer are silent.
func TestNowcast(t *testing.T) {
	w := newWorld(t, nil)
	w.measure(ownSite, ownAsset, "Africa/Johannesburg", time.Date(2025, 10, 1, 22, 0, 0, 0, time.UTC), 145)
	r := w.as("customer", http.MethodPost, api.PathNowcast, `{"action":"list","customer_id":"customer123","time_range":"6h"}`)
	var got api.NowcastResponse
	if err := json.Unmarshal(r.Body.Bytes(), &got); err != nil || r.Code != 200 || !got.Success {
		t.Fatalf("%d %s, %v", r.Code, r.Body, err)
	}
	m := got.Data.LatestMetrics
	if m.TotalPowerKW != 40 || m.AvgCapacityFactor != 80 || m.ActiveInverters != 1 || m.TotalInverters != 2 || m.LastUpdated.String() != "2025-10-02T10:00:00Z" {
		t.Errorf("%+v", m)
	}
	if len(got.Data.TimeSeries) != 72 {
		t.Errorf("%d points", len(got.Data.TimeSeries))
	}
	for body, want := range map[string]string{
		`{"action":"list"}`: "Missing required field: customer_id",
		`{"action":"list","customer_id":"customer123","time_range":"2h"}`:    "Invalid field: time_range",
		`{"action":"run","customer_id":"customer123"}`:                       "Invalid action",
		`{"action":"list","customer_id":"customer123","asset_filter":"INV"}`: "Invalid field: asset_filter",
	} {
		if r := w.as("customer", http.MethodPost, api.PathNowcast, body); r.Code != 400 || !strings.Contains(r.Body.String(), want) {
			t.Errorf("%s: %d %s", body, r.Code, r.Body)
		}
	}
	// A key for one site sees that one alone.
	r = w.as("own", http.MethodPost, api.PathNowcast, `{"customer_id":"customer123","time_range":"LATEST"}`)
	if err := json.Unmarshal(r.Body.Bytes(), &got); err != nil || r.Code != 200 || got.Data.LatestMetrics.TotalInverters != 1 || len(got.Data.TimeSeries) != 0 {
		t.Errorf("%d %s, %v", r.Code, r.Body, err)
	}
}
