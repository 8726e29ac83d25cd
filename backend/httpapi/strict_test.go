package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

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

// Misspelt names are refused with the name that was probably meant, on every kind of request;
// what public clients send without effect is accepted.
func TestUnknownNames(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	upload := func(names ...string) string {
		body, _ := formOf(append([]string{"customer_id", ownCustomer, "site_id", ownSite, "region", "r", "location", "l"}, names...)...)
		return body
	}
	const form = "form"
	span := "&start=2025-10-01&end=2025-10-02"
	for _, c := range []struct {
		path, kind, body string
		status           int
		contains         string
	}{
		{api.PathAssets, "", `{"action":"list","custmer_id":"customer123"}`, 400, `"error":"Unknown field: custmer_id"`},
		{api.PathAssets, "", `{"action":"list","siteId":"Sibaya"}`, 400, `"did_you_mean":"site_id"`},
		{api.PathAssets, "", `{"action":"list","Site_ID":"Sibaya"}`, 400, `"reason":"did you mean site_id?"`},
		{api.PathAssets, "", `{"acton":"list"}`, 400, `"code":"unknown_field","field":"acton"`},
		{api.PathAssets, "", `{"action":"add","asset_id":"A","name":"n","type":"t","capacity_kw":1,"location":"l","components":[{"oem":"o","model":"m","serail":"s"}]}`, 400, `"did_you_mean":"components.serial"`},
		{api.PathSites, "", `{"action":"set","site":{"site_id":"Sibaya","nam":"n"}}`, 400, `"field":"site.nam"`},
		{api.PathAssets, "", `{"action":"list","` + strings.Repeat("é", 200) + `":1}`, 400, `"reason":"there is no é`},
		{api.PathAssets + "?site_id=Sibaya", "", `{"action":"list"}`, 400, `"error":"Unknown parameter: site_id"`},
		{api.PathUploadTrain, form, upload("manufacturr", "SMA", "file", "timestamp,power\n2025-10-01T00:00:00Z,1\n"), 400, `"did_you_mean":"manufacturer"`},
		{api.PathUploadTrain, form, upload("region", "x", "file", "timestamp,power\n2025-10-01T00:00:00Z,1\n"), 400, `"error":"Invalid parameter: region"`},
		{api.PathUploadTrain, form, upload("data_type", "training", "file", "timestamp,power\n2025-10-01T00:00:00Z,1\n"), 200, `"status":"success"`},
		{"GET /telemetry/site?site_id=Sibaya&resoluton=daily" + span, "", "", 400, `"did_you_mean":"resolution"`},
		{"GET /telemetry/site?site_id=Sibaya&site_id=Other" + span, "", "", 400, `"reason":"it is there twice"`},
		{"GET /telemetry/site?site_id=Sibaya&resolution=daily" + span, "", "", 200, `"records"`},
		{"GET /ooda/site?site_id=Sibaya&resolution=5min" + span, "", "", 200, `"alerts"`},
		{"GET /healthz?verbose=1", "", "", 400, `"code":"unknown_parameter"`},
		{"GET /maintenance-schedule?site_id=Sibaya&since=2025-10-01", "", "", 404, `"error":"Not found"`},
	} {
		method, path, ok := strings.Cut(c.path, " ")
		if !ok {
			method, path = http.MethodPost, c.path
		}
		kind := c.kind
		switch kind {
		case "":
			kind = "application/json"
		case form:
			first, _, _ := strings.Cut(c.body, "\r\n")
			kind = "multipart/form-data; boundary=" + strings.TrimPrefix(first, "--")
		}
		r := w.as("own", method, path, c.body, "Content-Type", kind)
		if r.Code != c.status || !strings.Contains(r.Body.String(), c.contains) {
			t.Errorf("%s %.200s: HTTP %d %s, want %d with %s", c.path, c.body, r.Code, r.Body, c.status, c.contains)
		}
	}
}

// A request may ask for a version; an unknown one is refused and those that are supported are
// named. What will be removed is answered with its dates.
func TestVersionsAndDeprecation(t *testing.T) {
	w := newWorld(t, nil)
	ask := func(version string) *httptest.ResponseRecorder {
		return w.as("own", http.MethodPost, api.PathAssets, `{"action":"list"}`, api.HeaderVersion, version)
	}
	if r := ask(api.Version); r.Code != http.StatusOK || r.Header().Get(api.HeaderVersion) != api.Version || r.Header().Get(api.HeaderDeprecation) != "" {
		t.Errorf("the newest: %d %v", r.Code, r.Header())
	}
	for _, unknown := range []string{"2020-01-01", "1", "2026-11-29 "} {
		if r := ask(unknown); r.Code != http.StatusBadRequest || !strings.Contains(r.Body.String(), `"code":"unknown_api_version","field":"API-Version"`) || !strings.Contains(r.Body.String(), api.Version) {
			t.Errorf("%q: %d %s", unknown, r.Code, r.Body)
		}
	}
	since, sunset := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC)
	fields := api.ListAssets.Fields
	defer func() { api.ListAssets.Fields, api.ListAssets.Deprecated = fields, nil }()
	api.ListAssets.Fields = slices.Clone(fields)
	at := slices.IndexFunc(fields, func(f api.Field) bool { return f.Name == "limit" })
	api.ListAssets.Fields[at].Deprecated = &api.Deprecation{Since: since, Instead: "nothing"}
	if r := ask(""); r.Header().Get(api.HeaderDeprecation) != "" {
		t.Errorf("a request without the parameter: %v", r.Header())
	}
	if r := w.as("own", http.MethodPost, api.PathAssets, `{"action":"list","limit":5}`); r.Code != http.StatusOK || r.Header().Get(api.HeaderDeprecation) != "@1798761600" || r.Header().Get(api.HeaderSunset) != "" {
		t.Errorf("a request with the parameter: %d %v", r.Code, r.Header())
	}
	api.ListAssets.Deprecated = &api.Deprecation{Since: since.AddDate(1, 0, 0), Sunset: sunset, Instead: "another operation"}
	r := w.as("own", http.MethodPost, api.PathAssets, `{"action":"list","limit":5}`)
	if h := r.Header(); h.Get(api.HeaderDeprecation) != "@1798761600" || h.Get(api.HeaderSunset) != "Sat, 01 Jan 2028 00:00:00 GMT" || h.Get("Link") != `</docs>; rel="deprecation"; type="text/html"` {
		t.Errorf("both: %v", h)
	}
}
