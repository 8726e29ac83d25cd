package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"app.sunloop/backend/api"
)

// Ambiguous bodies, values out of range and files without a form are refused by name.
func TestStrictRequests(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	for _, c := range []struct {
		path, kind, body string
		status           int
		contains         string
	}{
		{api.PathAssets, "application/json", `{"action":"list","action":"get"}`, 400, `"field":"action"`},
		{api.PathAssets, "application/json", `{"action":"list","ACTION":"list"}`, 400, `"field":"ACTION"`},
		{api.PathAssets, "application/json", `{"action":"add","asset_id":"A","name":"n","type":"t","capacity_kw":1,"location":"l","components":[{"oem":"o","model":"m","serial":"s","oem":"p"}]}`, 400, `"field":"oem"`},
		{api.PathAssets, "application/json", `{"action":"list","site_id":"Sibaya"}`, 200, `"count":1`},
		{api.PathForecast, "application/json", `{"site_id":"Sibaya","forecast_hours":0}`, 400, `"field":"forecast_hours"`},
		{api.PathForecast, "application/json", `{"site_id":"Sibaya","forecast_hours":-1}`, 400, `"field":"forecast_hours"`},
		{api.PathForecast, "application/json", `{"site_id":"Sibaya","forecast_hours":1e308}`, 400, `"field":"forecast_hours"`},
		{api.PathAssets, "application/json", `{"action":"list","limit":0}`, 400, `"field":"limit"`},
		{api.PathTerminalForecast, "application/json", `{"action":"accuracy","customer_id":"customer123","days":-1}`, 400, `"field":"days"`},
		{api.PathSchedule, "application/json", `{"action":"propose","asset_id":"` + ownAsset + `","maintenance_type":"corrective","estimated_duration_hours":-4}`, 400, `"field":"estimated_duration_hours"`},
		{api.PathSchedule, "application/json", `{"action":"propose","asset_id":"` + ownAsset + `","maintenance_type":"corrective","estimated_duration_hours":1e308}`, 400, `"field":"estimated_duration_hours"`},
		{api.PathUploadTrain, "text/csv", "timestamp,power\n2025-10-01T00:00:00Z,1\n", 415, "multipart/form-data"},
		{api.PathV1UploadTrain, "text/csv; charset=utf-8", "timestamp,power\n", 415, "multipart/form-data"},
		{api.PathUploadNowcast, "application/octet-stream", "timestamp,power\n", 415, `"code":"unsupported_content_type"`},
		{api.PathUploadNowcast, "application/json", `{}`, 400, "Missing required parameter"},
	} {
		r := w.as("own", http.MethodPost, c.path, c.body, "Content-Type", c.kind)
		if r.Code != c.status || !strings.Contains(r.Body.String(), c.contains) {
			t.Errorf("%s %s: HTTP %d %s, want %d with %s", c.path, c.body, r.Code, r.Body, c.status, c.contains)
		}
		if r.Header().Get(api.HeaderVersion) != api.Version {
			t.Errorf("%s: the version is %q", c.path, r.Header().Get(api.HeaderVersion))
		}
	}
}
