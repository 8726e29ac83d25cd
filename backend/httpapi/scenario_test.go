package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// scenario is one request and what must come back.
type scenario struct {
	name     string
	method   string
	url      string
	body     string
	headers  []string
	key      string // of the world; empty: no credential
	status   int
	contains []string
	without  []string
}

func (s scenario) run(t *testing.T, w *world) {
	t.Helper()
	r := w.ask(s.method, s.url, s.body, s.headers...)
	if s.key != "" {
		r = w.as(s.key, s.method, s.url, s.body, s.headers...)
	}
	got := r.Body.String()
	if r.Code != s.status {
		t.Errorf("status %d, want %d: %s", r.Code, s.status, got)
	}
	for _, c := range s.contains {
		if !strings.Contains(got, c) {
			t.Errorf("%s\nwant %s", got, c)
		}
	}
	for _, c := range s.without {
		if strings.Contains(got, c) {
			t.Errorf("%s\nhas %s", got, c)
		}
	}
	if got != "" && r.Header().Get("Content-Type") != "application/json" {
		t.Errorf("content type %q", r.Header().Get("Content-Type"))
	}
	if r.Header().Get("X-Content-Type-Options") != "nosniff" || r.Header().Get("X-Request-Id") == "" {
		t.Errorf("headers %v", r.Header())
	}
	if r.Code >= 400 && s.method != http.MethodHead {
		var e api.ErrorBody
		if err := json.Unmarshal(r.Body.Bytes(), &e); err != nil || e.Success || e.Status != "error" || e.Error == "" || e.RequestID != r.Header().Get("X-Request-Id") {
			t.Errorf("error body %s: %v", got, err)
		}
	}
}

func TestScenarios(t *testing.T) {
	w := newWorld(t, nil)
	w.measure(ownSite, ownAsset, "Africa/Johannesburg", time.Date(2025, 9, 30, 22, 0, 0, 0, time.UTC), 288)
	const day = "start=2025-10-01T00:00:00%2B02:00&end=2025-10-02T00:00:00%2B02:00"
	inverter := "/telemetry/inverter?asset_id=" + ownAsset + "&site_id=" + ownSite + "&"
	get, post := http.MethodGet, http.MethodPost
	for _, s := range []scenario{
		// Order of checks.
		{name: "no credential", method: get, url: "/forecast", status: 401, contains: []string{`"error":"` + api.ErrUnauthorized.Message}},
		{name: "no credential, unknown path", method: get, url: "/nowhere", status: 401},
		{name: "basic credential is none", method: get, url: "/forecast?customer_id=c", headers: []string{"Authorization", "Basic abc"}, status: 401},
		{name: "unknown path", method: get, url: "/nowhere", key: "own", status: 404, contains: []string{`"Not found"`}},
		{name: "unknown path before the credential's worth", method: get, url: "/nowhere", headers: []string{"x-api-key", "bad"}, status: 404},
		{name: "unclean path", method: get, url: "/telemetry/../forecast", key: "own", status: 404},
		{name: "wrong method", method: http.MethodDelete, url: "/forecast", key: "own", status: 405, contains: []string{`"Method not allowed"`}},
		{name: "wrong method of a public path", method: http.MethodPut, url: "/api/auth/login", status: 405},
		{name: "parameters before the credential's worth", method: get, url: "/forecast", headers: []string{"x-api-key", "bad"}, status: 400, contains: []string{"Missing required parameter: customer_id"}},
		{name: "bad credential", method: get, url: "/forecast?customer_id=customer123", headers: []string{"x-api-key", "bad"}, status: 401, contains: []string{api.ErrUnauthorized.Message}},
		{name: "bad token", method: get, url: "/forecast?customer_id=customer123", headers: []string{"Authorization", "Bearer a.b.c"}, status: 401, contains: []string{`"Invalid token"`}},
		{name: "scope", method: get, url: "/forecast?customer_id=customer123&site_id=Elsewhere", key: "own", status: 403, contains: []string{`"Access denied"`}, without: []string{"Secret"}},

		// Either header carries either credential.
		{name: "x-api-key on the main host", method: get, url: "/forecast?customer_id=customer123", headers: []string{"x-api-key", w.keys["own"]}, status: 200},
		{name: "bearer on the telemetry host", method: get, url: "/telemetry/data-period?site_id=Sibaya", headers: []string{"Authorization", "bearer " + w.keys["own"]}, status: 200},

		// Forecast.
		{name: "forecast", method: get, url: "/forecast?customer_id=customer123&site_id=Sibaya", key: "own", status: 200, contains: []string{`"horizon_hours":48`, `"forecasts":[]`}},
		{name: "forecast horizon", method: get, url: "/forecast?customer_id=customer123&horizon_hours=72", key: "own", status: 200, contains: []string{`"horizon_hours":72`}},
		{name: "forecast horizon too long", method: get, url: "/forecast?customer_id=customer123&horizon_hours=721", key: "own", status: 400, contains: []string{"Invalid parameter: horizon_hours", `"field":"horizon_hours"`}},
		{name: "forecast horizon no number", method: get, url: "/forecast?customer_id=customer123&horizon_hours=2d", key: "own", status: 400},
		{name: "forecast without a model", method: get, url: "/forecast?customer_id=customer123&site_id=Second+Site", key: "customer", status: 404, contains: []string{"No model found for customer"}},
		{name: "forecast of an unknown site", method: get, url: "/forecast?customer_id=customer123&site_id=Nowhere", key: "customer", status: 403, contains: []string{"Access denied"}},
		{name: "forecast of another customer's site", method: get, url: "/forecast?customer_id=customer123&site_id=Elsewhere", key: "admin", status: 404, contains: []string{`"Site not found"`}},
		{name: "energy forecast", method: post, url: "/forecast", body: `{"site_id":"Sibaya"}`, key: "own", status: 200, contains: []string{`"hour_ahead":24`}},
		{name: "energy forecast of nothing", method: post, url: "/forecast", body: `{}`, key: "own", status: 400, contains: []string{"Missing required field: customer_id"}},
		{name: "energy forecast too long", method: post, url: "/forecast", body: `{"site_id":"Sibaya","forecast_hours":721}`, key: "own", status: 400},
		{name: "energy forecast of an unknown device", method: post, url: "/forecast", body: `{"site_id":"Sibaya","device_id":"INV-0"}`, key: "own", status: 403, contains: []string{"Access denied"}},

		// Telemetry.
		{name: "period", method: get, url: "/telemetry/data-period?site_id=Sibaya", key: "own", status: 200, contains: []string{`"first_record":"2025-09-30T22:00:00Z"`, `"last_record":"2025-10-01T21:55:00Z"`}, without: []string{"asset_id"}},
		{name: "period of a unit", method: get, url: "/telemetry/data-period?site_id=Sibaya&asset_id=" + ownAsset, key: "own", status: 200, contains: []string{`"asset_id":"INV-1000000054495190"`}},
		{name: "period of a site without data", method: get, url: "/telemetry/data-period?site_id=Second+Site", key: "customer", status: 200, contains: []string{`"first_record":null,"last_record":null`}},
		{name: "period without a site", method: get, url: "/telemetry/data-period", key: "own", status: 400, contains: []string{"Missing required parameter: site_id"}},
		{name: "period of an unknown unit", method: get, url: "/telemetry/data-period?site_id=Sibaya&asset_id=INV-0", key: "own", status: 403, contains: []string{"Access denied"}},
		{name: "records", method: get, url: inverter + day, key: "own", status: 200, contains: []string{
			`{"records":[{"asset_id":"INV-1000000054495190","site_id":"Sibaya","timestamp":"2025-09-30T22:00:00Z","power":0,"kWh":0,"inverter_state":2,"run_state":0,"temperature":20,"error_code":0,"error_type":"normal"},`}},
		{name: "no records in the range", method: get, url: inverter + "start=2024-01-01&end=2024-01-02", key: "own", status: 200, contains: []string{`{"records":[]}`}},
		{name: "an empty range", method: get, url: inverter + "start=2025-10-01T00:00:01Z&end=2025-10-01T00:04:59Z", key: "own", status: 200, contains: []string{`{"records":[]}`}},
		{name: "end is inclusive", method: get, url: inverter + "start=2025-10-01&end=2025-10-01", key: "own", status: 200, contains: []string{`"timestamp":"2025-10-01T00:00:00Z"`}},
		{name: "an empty range of a site", method: get, url: "/telemetry/site?site_id=Sibaya&start=2025-10-01T00:00:01Z&end=2025-10-01T00:04:59Z", key: "own", status: 200, contains: []string{`{"records":{}}`}},
		{name: "hourly", method: get, url: inverter + day + "&resolution=hourly", key: "own", status: 200, contains: []string{`"timestamp":"2025-10-01T10:00:00Z"`}, without: []string{":05:00Z"}},
		{name: "daily", method: get, url: inverter + day + "&resolution=daily", key: "own", status: 200, contains: []string{`{"records":[{"asset_id":"INV-1000000054495190","site_id":"Sibaya","timestamp":"2025-09-30T22:00:00Z","power":`}, without: []string{"T22:05"}},
		{name: "limit", method: get, url: inverter + day + "&limit=1", key: "own", status: 200, contains: []string{`"cursor":"`}, without: []string{"22:05:00"}},
		{name: "a plus sign as it is", method: get, url: inverter + "start=2025-10-01T00:00:00+02:00&end=2025-10-01T00:05:00+02:00", key: "own", status: 200, contains: []string{"2025-09-30T22:00:00Z"}},
		{name: "no start", method: get, url: inverter + "end=2025-10-01", key: "own", status: 400, contains: []string{"Missing required parameter: start"}},
		{name: "no asset", method: get, url: "/telemetry/inverter?site_id=Sibaya", key: "own", status: 400, contains: []string{"Missing required parameter: asset_id"}},
		{name: "wild start", method: get, url: inverter + "start=yesterday&end=2025-10-01", key: "own", status: 400, contains: []string{"Invalid parameter: start"}},
		{name: "end before start", method: get, url: inverter + "start=2025-10-02&end=2025-10-01", key: "own", status: 400, contains: []string{"Invalid parameter: end"}},
		{name: "wild resolution", method: get, url: inverter + day + "&resolution=1s", key: "own", status: 400, contains: []string{"Invalid parameter: resolution"}},
		{name: "wild cursor", method: get, url: inverter + day + "&cursor=zzz", key: "own", status: 400, contains: []string{"Invalid parameter: cursor"}},
		{name: "limit zero", method: get, url: inverter + day + "&limit=0", key: "own", status: 400, contains: []string{"Invalid parameter: limit"}},
		{name: "a unit of another site", method: get, url: "/telemetry/inverter?asset_id=INV-9&site_id=Sibaya&" + day, key: "own", status: 403, contains: []string{"Access denied"}},
		{name: "site records", method: get, url: "/telemetry/site?site_id=Sibaya&limit=2&" + day, key: "own", status: 200, contains: []string{`{"records":{"INV-1000000054495190":[{`}},
		{name: "latest", method: get, url: "/telemetry/latest?site_id=Sibaya", key: "own", status: 200, contains: []string{`{"site_id":"Sibaya","records":[{"asset_id":"INV-1000000054495190","site_id":"Sibaya","timestamp":"2025-10-01T21:55:00Z"`}},

		// Assets and sites.
		{name: "assets list", method: post, url: "/terminal/assets", body: `{"action":"list"}`, key: "own", status: 200, contains: []string{`"count":1`, ownAsset}, without: []string{"Secret", "INV-2"}},
		{name: "assets of a customer", method: post, url: "/terminal/assets", body: `{"action":"list","customer_id":"customer123"}`, key: "admin", status: 200, contains: []string{`"count":2`}, without: []string{"Secret"}},
		{name: "assets of an unknown customer", method: post, url: "/terminal/assets", body: `{"action":"list","customer_id":"unknown"}`, key: "admin", status: 200, contains: []string{`"assets":[]`, `"count":0`}},
		{name: "asset", method: post, url: "/terminal/assets", body: `{"action":"get","asset_id":"INV-1000000054495190"}`, key: "own", status: 200, contains: []string{`"asset":{"asset_id":"INV-1000000054495190"`}},
		{name: "a setting that cannot be cleared", method: post, url: "/terminal/assets", body: `{"action":"set","asset_id":"INV-1000000054495190","clear":["mounting","capacity_kw"]}`, key: "admin", status: 400, contains: []string{"Invalid field: clear[1]", "capacity_kw"}},
		{name: "asset without id", method: post, url: "/terminal/assets", body: `{"action":"get"}`, key: "own", status: 400, contains: []string{"Missing required field: asset_id"}},
		{name: "unknown asset", method: post, url: "/terminal/assets", body: `{"action":"get","asset_id":"INV-0"}`, key: "own", status: 403, contains: []string{"Access denied"}},
		{name: "foreign asset", method: post, url: "/terminal/assets", body: `{"action":"get","asset_id":"INV-9"}`, key: "own", status: 403, without: []string{"Secret"}},
		{name: "no action", method: post, url: "/terminal/assets", body: `{}`, key: "own", status: 400, contains: []string{"Invalid action"}},
		{name: "wild action", method: post, url: "/terminal/assets", body: `{"action":"drop"}`, key: "own", status: 400, contains: []string{"Invalid action"}},
		{name: "add without capacity", method: post, url: "/terminal/assets", body: `{"action":"add","asset_id":"N","name":"n","type":"inverter","location":"l"}`, key: "admin", status: 400, contains: []string{"Missing required field: capacity_kw"}},
		{name: "add with a half component", method: post, url: "/terminal/assets", body: `{"action":"add","asset_id":"N","name":"n","type":"inverter","capacity_kw":1,"location":"l","components":[{"oem":"o","model":"m"}]}`, key: "admin", status: 400, contains: []string{"Missing required field: components[0].serial"}},
		{name: "add", method: post, url: "/terminal/assets", body: `{"action":"add","asset_id":"N","name":"n","type":"inverter","capacity_kw":1,"location":"l","site_id":"Sibaya","customer_id":"customer123"}`, key: "own", status: 200, contains: []string{`"asset_id":"N"`, `"success":true`}},
		{name: "add again", method: post, url: "/terminal/assets", body: `{"action":"add","asset_id":"N","name":"n","type":"inverter","capacity_kw":1,"location":"l","site_id":"Sibaya","customer_id":"customer123"}`, key: "own", status: 409},
		{name: "add to a foreign site", method: post, url: "/terminal/assets", body: `{"action":"add","asset_id":"M","name":"n","type":"inverter","capacity_kw":1,"location":"l","site_id":"Elsewhere"}`, key: "own", status: 403},
		{name: "sites list", method: post, url: "/terminal/sites", body: `{"action":"list"}`, key: "customer", status: 200, contains: []string{`"count":2`}, without: []string{"Secret"}},
		{name: "site", method: post, url: "/terminal/sites", body: `{"action":"get","site_id":"Sibaya"}`, key: "own", status: 200, contains: []string{`"timezone":"Africa/Johannesburg"`}},
		{name: "unknown site", method: post, url: "/terminal/sites", body: `{"action":"get","site_id":"Nowhere"}`, key: "admin", status: 404, contains: []string{"Site not found"}},
		{name: "set a site", method: post, url: "/terminal/sites", body: `{"action":"set","site":{"site_id":"Sibaya","customer_id":"customer123","name":"New name"}}`, key: "own", status: 200, contains: []string{"New name"}},
		{name: "set without a site", method: post, url: "/terminal/sites", body: `{"action":"set"}`, key: "own", status: 400, contains: []string{"Missing required field: site"}},

		// Lists by customer.
		{name: "stored forecasts without a customer", method: post, url: "/terminal/forecast", body: `{}`, key: "own", status: 400, contains: []string{"Missing required field: customer_id"}},
		{name: "stored forecasts, none", method: post, url: "/terminal/forecast", body: `{"customer_id":"customer123"}`, key: "own", status: 404, contains: []string{"No forecast results found"}},
		{name: "ooda without a customer", method: post, url: "/terminal/ooda", body: `{"site_id":"Sibaya"}`, key: "own", status: 400, contains: []string{"Missing required field: customer_id"}},
		{name: "ooda, none", method: post, url: "/terminal/ooda", body: `{"customer_id":"customer123"}`, key: "own", status: 404, contains: []string{"No OODA summaries found"}},
		{name: "ooda of a foreign customer", method: post, url: "/terminal/ooda", body: `{"customer_id":"other-customer"}`, key: "customer", status: 403, contains: []string{"Access denied"}},
		{name: "models", method: post, url: "/terminal/ml-models", body: `{}`, key: "own", status: 200, contains: []string{`"model_metrics":[]`, `"count":0`}},
		{name: "models without a body", method: post, url: "/terminal/ml-models", key: "own", status: 200},
		{name: "models, wild action", method: post, url: "/terminal/ml-models", body: `{"action":"sell"}`, key: "own", status: 400, contains: []string{"Invalid action"}},

		// Detection.
		{name: "detect", method: post, url: "/terminal/detect", body: `{"action":"run","asset_id":"INV-1000000054495190"}`, key: "own", status: 200, contains: []string{`"anomalies_detected":0`, `"status":"completed"`, `"detection_id":"det_1"`}, without: []string{`"detections"`}},
		{name: "detect without an asset", method: post, url: "/terminal/detect", body: `{"action":"run"}`, key: "own", status: 400, contains: []string{"Missing required field: asset_id"}},
		{name: "detect an unknown asset", method: post, url: "/terminal/detect", body: `{"action":"run","asset_id":"INV-0"}`, key: "own", status: 403, contains: []string{"Access denied"}},
		{name: "detect list", method: post, url: "/terminal/detect", body: `{"action":"list"}`, key: "own", status: 200, contains: []string{`"detections":[]`, `"count":0`}},
		{name: "detections", method: post, url: "/terminal/detections", body: `{"customer_id":"customer123"}`, key: "own", status: 200, contains: []string{`"detections":[]`}},
		{name: "detect, wild action", method: post, url: "/terminal/detect", body: `{"action":"stop"}`, key: "own", status: 400, contains: []string{"Invalid action"}},

		{name: "site summary", method: post, url: "/terminal/telemetry", body: `{"action":"site-summary","site_id":"Sibaya"}`, key: "own", status: 200, contains: []string{`"summary":{`, `"total_inverters"`}},
		{name: "site summary without a site", method: post, url: "/terminal/telemetry", body: `{"action":"site-summary"}`, key: "own", status: 400, contains: []string{"Missing required field: site_id"}},
		{name: "activities", method: post, url: "/terminal/activities", body: `{"action":"list","customer_id":"customer123"}`, key: "own", status: 200, contains: []string{`"activities":[`}},

		// Bodies.
		{name: "no JSON", method: post, url: "/terminal/assets", body: `action=list`, key: "own", status: 400, contains: []string{"Invalid JSON body"}},
		{name: "half a JSON", method: post, url: "/terminal/assets", body: `{"action":"list"`, key: "own", status: 400, contains: []string{"Invalid JSON body"}},
		{name: "two JSONs", method: post, url: "/terminal/assets", body: `{"action":"list"}{}`, key: "own", status: 400, contains: []string{"Invalid JSON body"}},
		{name: "an array", method: post, url: "/terminal/assets", body: `[]`, key: "own", status: 400, contains: []string{"Invalid JSON body"}},
		{name: "a field of the wrong kind", method: post, url: "/terminal/assets", body: `{"action":7}`, key: "own", status: 400, contains: []string{"Invalid field: action"}},
		{name: "an embedded field of the wrong kind", method: post, url: "/terminal/assets", body: `{"action":"list","limit":1.5}`, key: "own", status: 400, contains: []string{`"Invalid field: limit"`}},
		{name: "one activity", method: post, url: "/terminal/activities", body: `{"limit":1}`, key: "own", status: 200, contains: []string{`"count":1`}},
		{name: "activities below nothing", method: post, url: "/terminal/activities", body: `{"limit":-1}`, key: "own", status: 400, contains: []string{"Invalid field: limit"}},
		{name: "a limit too large", method: post, url: "/terminal/assets", body: `{"action":"list","limit":1001}`, key: "own", status: 400, contains: []string{"Invalid field: limit"}},
		{name: "a compressed body", method: post, url: "/terminal/assets", body: `{}`, headers: []string{"Content-Encoding", "gzip"}, key: "own", status: 415},
		{name: "a body too large", method: post, url: "/terminal/assets", body: `{"action":"` + strings.Repeat("a", api.MaxJSONBytes) + `"}`, key: "own", status: 413, contains: []string{"Request body too large: the limit is 256 KiB"}},

		{name: "a body that is not UTF-8", method: post, url: "/terminal/assets", body: "{\"action\":\"get\",\"asset_id\":\"a\xff\"}", key: "own", status: 400, contains: []string{"Invalid JSON body", "not UTF-8"}},
		{name: "a time that is a number", method: post, url: "/terminal/alerts", body: `{"action":"shelve","alert_id":"a","until":5}`, key: "own", status: 400, contains: []string{`"Invalid field: until"`}},
		{name: "a time that is empty", method: post, url: "/terminal/alerts", body: `{"action":"shelve","alert_id":"a","until":""}`, key: "own", status: 400, contains: []string{`"Invalid field: until"`}},
		{name: "a time that another field quotes", method: post, url: "/terminal/alerts", body: `{"action":"shelve","alert_id":"soon","until":"soon"}`, key: "own", status: 400, contains: []string{`"Invalid field: until"`}},

		// Query strings of which a part would be lost.
		{name: "a semicolon in the query", method: get, url: "/uploads?limit=1;cursor=x", key: "own", status: 400, contains: []string{"Invalid query string"}},
		{name: "half an escape in the query", method: get, url: "/telemetry/latest?site_id=%zz", key: "own", status: 400, contains: []string{"Invalid query string"}},

		// Uploads but their forms.
		{name: "accuracy", method: post, url: "/terminal/forecast", body: `{"action":"accuracy","customer_id":"customer123"}`, key: "customer", status: 200, contains: []string{`"leads":[]`, `"days":30`}},
		{name: "accuracy of no days", method: post, url: "/terminal/forecast", body: `{"action":"accuracy","customer_id":"customer123","days":-1}`, key: "customer", status: 400, contains: []string{"Invalid field: days"}},
		{name: "forecast snapshot", method: get, url: "/forecast-snapshot?site_id=Sibaya&horizon=48h", key: "own", status: 200, contains: []string{`"horizon_hours":48`}},
		{name: "forecast snapshot of a day", method: get, url: "/forecast-snapshot?site_id=Sibaya", key: "own", status: 200, contains: []string{`"horizon_hours":24`}},
		{name: "forecast snapshot without a model", method: get, url: "/forecast-snapshot?site_id=Second%20Site", key: "customer", status: 404, contains: []string{`"Not found"`}},
		{name: "forecast snapshot of no site", method: get, url: "/forecast-snapshot", key: "own", status: 400, contains: []string{"Missing required parameter: site_id"}},
		{name: "forecast snapshot of no hours", method: get, url: "/forecast-snapshot?site_id=Sibaya&horizon=2d", key: "own", status: 400, contains: []string{"Invalid parameter: horizon"}},
		{name: "uploads, none", method: get, url: "/uploads", key: "own", status: 200, contains: []string{`"uploads":[]`}},
		{name: "cancel of an unknown upload", method: post, url: "/uploads/upl_0", body: `{"action":"cancel"}`, key: "own", status: 403, contains: []string{"Access denied"}},
		{name: "no move of an upload", method: post, url: "/uploads/upl_0", body: `{"action":"delete"}`, key: "own", status: 400, contains: []string{`"Invalid action"`}},
		{name: "unknown upload", method: get, url: "/uploads/upl_0", key: "own", status: 403, contains: []string{"Access denied"}},
		{name: "import without a path", method: post, url: "/upload_train", body: `{"customer_id":"customer123","site_id":"Sibaya","region":"af-south-1","location":"Durban"}`, key: "own", status: 400, contains: []string{"Missing required parameter: s3_path"}},
		{name: "import", method: post, url: "/upload_nowcast", body: `{"customer_id":"customer123","site_id":"Sibaya","region":"af-south-1","location":"Durban","s3_path":"file:///x"}`, key: "own", status: 200, contains: []string{`"processing_status":"queued"`}},

		// What needs no credential.
		{name: "health", method: get, url: "/healthz", status: 200, contains: []string{`"success":true`}},
		{name: "ready", method: get, url: "/readyz", status: 200},
		{name: "setup status", method: get, url: "/api/auth/setup", status: 200, contains: []string{`"needs_admin":true`}},
		{name: "setup from elsewhere", method: post, url: "/api/auth/setup", body: `{"username":"a","password":"correct horse"}`, status: 403, contains: []string{"Access denied"}},
		{name: "login, unknown", method: post, url: "/api/auth/login", body: `{"username":"a","password":"b"}`, status: 401, contains: []string{`"Invalid credentials"`}},
		{name: "login without a password", method: post, url: "/api/auth/login", body: `{"username":"a"}`, status: 400, contains: []string{"Missing required field: password"}},
		{name: "verify, unknown", method: post, url: "/api/auth/verify-mfa", body: `{"mfa_token":"a","totp_code":"000000"}`, status: 401, contains: []string{`"MFA token expired"`}},
		{name: "key info", method: post, url: "/api/auth/api-key-info", body: `{"api_key":"` + w.keys["own"] + `"}`, status: 200, contains: []string{`"permitted_site_ids":["Sibaya"]`}, without: []string{"expires_at"}},
		{name: "key info, unknown", method: post, url: "/api/auth/api-key-info", body: `{"api_key":"opa_prod_x"}`, status: 401, contains: []string{"API key not found"}},
		{name: "validate", method: post, url: "/api/auth/validate-api-key", body: `{"api_key":"` + w.keys["own"] + `","site_id":"Sibaya"}`, status: 200, contains: []string{`"valid":true`}},
		{name: "validate a foreign site for all of a customer's", method: post, url: "/api/auth/validate-api-key", body: `{"api_key":"` + w.keys["customer"] + `","site_id":"Elsewhere"}`, status: 200, contains: []string{`"valid":false`}},
		{name: "validate all of a customer's sites", method: post, url: "/api/auth/validate-api-key", body: `{"api_key":"` + w.keys["customer"] + `","site_id":"Sibaya"}`, status: 200, contains: []string{`"valid":true`}},
		{name: "validate another site", method: post, url: "/api/auth/validate-api-key", body: `{"api_key":"` + w.keys["own"] + `","site_id":"Elsewhere"}`, status: 200, contains: []string{`"valid":false`}},
		{name: "refresh with a key", method: post, url: "/api/auth/refresh", key: "own", status: 401, contains: []string{"Invalid token"}},
		{name: "logout without a token", method: post, url: "/api/auth/logout", status: 401},
	} {
		t.Run(s.name, func(t *testing.T) {
			w.clock.add(2 * time.Second) // keeps clear of the rate
			s.run(t, w)
		})
	}
}

func TestAllowHeader(t *testing.T) {
	w := newWorld(t, nil)
	for url, want := range map[string]string{"/forecast": "GET, HEAD, POST", "/terminal/assets": "POST", "/uploads/x": "GET, HEAD, POST"} {
		if got := w.as("own", http.MethodDelete, url, "").Header().Get("Allow"); got != want {
			t.Errorf("%s: Allow %q, want %q", url, got, want)
		}
	}
}

func TestRequestID(t *testing.T) {
	w := newWorld(t, nil)
	for sent, kept := range map[string]bool{"abc-1.2_3": true, "": false, "a b": false, "a\x1b": false, strings.Repeat("a", 65): false} {
		got := w.ask(http.MethodGet, "/healthz", "", "X-Request-Id", sent).Header().Get("X-Request-Id")
		if (got == sent) != kept || got == "" {
			t.Errorf("sent %q, got %q", sent, got)
		}
	}
}

func TestPanicIsAnError(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.Sites = anySite{d.Sites} })
	scenario{method: http.MethodPost, url: "/forecast", body: `{"site_id":"boom"}`, key: "admin", status: 500,
		contains: []string{`"Internal error"`}, without: []string{"boom"}}.run(t, w)
}

func TestHead(t *testing.T) {
	w := newWorld(t, nil)
	full, head := w.as("own", http.MethodGet, "/telemetry/data-period?site_id=Sibaya", ""), w.as("own", http.MethodHead, "/telemetry/data-period?site_id=Sibaya", "")
	if head.Code != 200 || head.Header().Get("ETag") != full.Header().Get("ETag") || head.Header().Get("ETag") == "" {
		t.Errorf("HEAD %d %v", head.Code, head.Header())
	}
}

func TestCORS(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.CORSOrigins = []string{"https://ops.example"} })
	r := w.ask(http.MethodOptions, "/forecast", "", "Origin", "https://ops.example", "Access-Control-Request-Method", "GET")
	if r.Code != 204 || r.Header().Get("Access-Control-Allow-Origin") != "https://ops.example" || !strings.Contains(r.Header().Get("Access-Control-Allow-Headers"), "If-None-Match") {
		t.Errorf("preflight %d %v", r.Code, r.Header())
	}
	r = w.ask(http.MethodGet, "/forecast", "", "Origin", "https://ops.example")
	if r.Code != 401 || r.Header().Get("Access-Control-Allow-Origin") != "https://ops.example" || !strings.Contains(strings.Join(r.Header().Values("Vary"), ","), "Origin") {
		t.Errorf("error %d %v", r.Code, r.Header())
	}
	for _, other := range []string{"https://evil.example", "https://ops.example.evil.example", "https://ops.example:8443", "https://ops.exampl", "https://not-ops.example", "https://x.ops.example",
		"http://ops.example", "ops.example", "HTTPS://OPS.EXAMPLE", "https://ops.example/", "null", "*", "https://ops.example, https://evil.example"} {
		for _, method := range []string{http.MethodGet, http.MethodOptions} {
			r = w.ask(method, "/forecast", "", "Origin", other, "Access-Control-Request-Method", "GET")
			if r.Header().Get("Access-Control-Allow-Origin") != "" || r.Code == http.StatusNoContent {
				t.Errorf("the origin %s is allowed: %v", other, r.Header())
			}
		}
	}
	if r = newWorld(t, nil).ask(http.MethodOptions, "/forecast", "", "Origin", "https://ops.example", "Access-Control-Request-Method", "GET"); r.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("CORS is on by default: %v", r.Header())
	}
}
