package compat

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// invocation is a request of the public Python client, as boto3 1.40 sends it.
type invocation struct {
	function, how, payload string
	headers                map[string]string // that differ; empty: left out
}

// signed are headers in the form of boto3, whose signature is of other credentials:
// it is not verified.
var signed = map[string]string{
	"Accept-Encoding":       "identity",
	"User-Agent":            "Boto3/1.40.14 md/Botocore#1.40.14 ua/2.1 os/linux md/arch#x86_64 lang/python#3.12 md/pyimpl#CPython cfg/retry-mode#legacy Botocore/1.40.14",
	"X-Amz-Date":            "20260415T080000Z",
	"X-Amz-Invocation-Type": "RequestResponse",
	"Authorization": "AWS4-HMAC-SHA256 Credential=sunloop/20260415/af-south-1/lambda/aws4_request, SignedHeaders=host;x-amz-date;x-amz-invocation-type;x-amz-security-token, " +
		"Signature=5f1c3b8a0d9e4c7b6a5f4e3d2c1b0a99887766554433221100ffeeddccbbaa00",
	"Amz-Sdk-Invocation-Id": "0a3c2f8e-6c1d-4f57-9a55-3b2b7e7d5a10",
	"Amz-Sdk-Request":       "attempt=1",
}

// invoke sends an invocation to the listener of all hosts.
func invoke(t *testing.T, v invocation) (*http.Response, map[string]any) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, shared.url+"/2015-03-31/functions/"+v.function+"/invocations", strings.NewReader(v.payload))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range signed {
		q.Header.Set(name, value)
	}
	q.Header.Set("X-Amz-Security-Token", shared.key)
	if v.how != "" {
		q.Header.Set("X-Amz-Invocation-Type", v.how)
	}
	for name, value := range v.headers {
		if q.Header.Set(name, value); value == "" {
			q.Header.Del(name)
		}
	}
	a, err := shared.http.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	result := map[string]any{}
	if len(b) > 0 {
		if err := json.Unmarshal(b, &result); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
	}
	return a, result
}

// ofTerminal is an event of the terminal function.
func ofTerminal(path, body string) string {
	b, _ := json.Marshal(map[string]string{"httpMethod": "POST", "path": path, "body": body})
	return string(b)
}

// TestLambda: the calls of the public Python client to the functions of the terminal, of
// forecasts, of interpolation and of ingestion return what the client reads.
func TestLambda(t *testing.T) {
	t.Parallel() // after the tests that count what the demo has
	ofCustomer := func(action string) string {
		return `{"action": "` + action + `", "customer_id": "` + customer + `"}`
	}
	only := `{"customer_id": "` + customer + `"}`
	for name, c := range map[string]struct {
		function, payload, field string
	}{
		"list_assets":               {"terminalApi", ofTerminal("/assets", ofCustomer("list")), "assets"},
		"get_asset":                 {"terminalApi", ofTerminal("/assets", `{"action": "get", "customer_id": "customer123", "asset_id": "`+asset+`"}`), "asset"},
		"run_detection":             {"terminalApi", ofTerminal("/detect", `{"action": "run", "customer_id": "customer123", "asset_id": "`+asset+`", "lookback_hours": 6}`), "analysis"},
		"list_detections":           {"terminalApi", ofTerminal("/detect", ofCustomer("list")), "detections"},
		"list_diagnostics":          {"terminalApi", ofTerminal("/diagnose", ofCustomer("list")), "diagnostics"},
		"create_schedule":           {"terminalApi", ofTerminal("/schedule", `{"action": "create", "customer_id": "customer123", "asset_id": "`+asset+`", "description": "Clean the fans", "priority": "Medium", "estimated_duration_hours": 4}`), "schedule_id"},
		"list_schedules":            {"terminalApi", ofTerminal("/schedule", ofCustomer("list")), "schedules"},
		"list_issues":               {"terminalApi", ofTerminal("/issues", ofCustomer("list")), "issues"},
		"create_issue":              {"terminalApi", ofTerminal("/issues", `{"action": "create", "customer_id": "customer123", "component": "`+asset+`", "site": "Sibaya", "issue_type": "lambda", "description": "Loud", "priority": "Medium"}`), "issue_id"},
		"list_activities":           {"terminalApi", ofTerminal("/activities", ofCustomer("list")), "activities"},
		"get_forecast_results":      {"terminalApi", ofTerminal("/forecast", only), "forecast_results"},
		"get_interpolation_results": {"terminalApi", ofTerminal("/interpolation", only), "interpolation_results"},
		"get_ml_models":             {"terminalApi", ofTerminal("/ml-models", `{}`), "model_metrics"},
		"get_ml_ooda_summaries":     {"terminalApi", ofTerminal("/ooda", only), "ml_enhanced_activities"},
		"get_site_summary":          {"terminalApi", ofTerminal("/telemetry", `{"action": "site-summary", "site_id": "Sibaya"}`), "summary"},
		"get_nowcast_data":          {"terminalApi", ofTerminal("/nowcastUI", `{"action": "list", "customer_id": "customer123", "time_range": "1h", "asset_filter": []}`), "data"},
		"get_device_forecast":       {"forecastingApi", `{"site_id": "Sibaya", "device_id": "` + asset + `", "forecast_hours": 24}`, "forecasts"},
		"get_site_forecast":         {"forecastingApi", `{"site_id": "Sibaya", "forecast_hours": 24, "include_device_breakdown": true}`, "device_forecasts"},
		"get_customer_forecast":     {"forecastingApi", `{"customer_id": "customer123", "forecast_hours": 24}`, "forecasts"},
		"interpolate":               {"interpolationService", `{"customer_id": "customer123", "dataset_key": "historical/Sibaya.csv"}`, "interpolation_results"},
	} {
		t.Run(name, func(t *testing.T) {
			a, result := invoke(t, invocation{function: c.function, payload: c.payload})
			// Gaps are filled after a training, when nothing else is to be done.
			for c.field == "interpolation_results" && result["statusCode"] == 404.0 {
				time.Sleep(20 * time.Millisecond)
				a, result = invoke(t, invocation{function: c.function, payload: c.payload})
			}
			if a.StatusCode != http.StatusOK || a.Header.Get("X-Amz-Function-Error") != "" || a.Header.Get("X-Amz-Executed-Version") != "$LATEST" || a.Header.Get("X-Amzn-Requestid") == "" {
				t.Fatalf("HTTP %d %v %v", a.StatusCode, a.Header, result)
			}
			// As the client reads it.
			if status, ok := result["statusCode"]; ok {
				if status != 200.0 {
					t.Fatalf("%v", result)
				}
				result, _ = result["body"].(map[string]any)
			}
			if result[c.field] == nil {
				t.Errorf("no %s in %v", c.field, result)
			}
		})
	}
}

// TestLambdaIngestion: a file in a place that the operator allows is imported, of both kinds
// of data; one elsewhere is refused, and an event is accepted.
func TestLambdaIngestion(t *testing.T) {
	t.Parallel() // after the tests that count what the demo has
	ingestion := func(kind, place string) invocation {
		return invocation{function: "dataIngestion", payload: `{"customer_id": "customer123", "site_id": "Compat Lambda", "region": "af-south-1", "location": "Durban", "data_type": "` + kind + `", "s3_path": "` + place + `"}`}
	}
	for kind, want := range map[string]string{"training": "historical", "nowcast": "nowcast"} {
		path := filepath.Join(shared.exports(), "lambda-"+kind+".csv")
		if err := os.WriteFile(path, []byte(production(2)), 0o600); err != nil {
			t.Fatal(err)
		}
		a, result := invoke(t, ingestion(kind, "file://"+path))
		id, _ := result["upload_id"].(string)
		if a.StatusCode != http.StatusOK || a.Header.Get("X-Amz-Function-Error") != "" || result["statusCode"] != nil || result["status"] != "success" || id == "" {
			t.Errorf("%s: HTTP %d %v %v", kind, a.StatusCode, a.Header, result)
			continue
		}
		u := ended(t, id, "completed", "completed_with_warnings")
		if u.text("upload.kind") != want || u.at("upload.rows_stored") != 2*96.0 {
			t.Errorf("%s: %s", kind, u.body)
		}
		_, result = invoke(t, ingestion(kind, "s3://elsewhere/a.csv"))
		body, _ := result["body"].(map[string]any)
		if result["statusCode"] != 400.0 || !strings.Contains(strings.ToLower(body["error"].(string)), "s3_path") {
			t.Errorf("%s from elsewhere: %v", kind, result)
		}
	}
	a, result := invoke(t, invocation{function: "dataIngestion", how: "Event", payload: `{"customer_id": "customer123"}`})
	if a.StatusCode != http.StatusAccepted || len(result) != 0 {
		t.Errorf("an event: HTTP %d %v", a.StatusCode, result)
	}
}

// TestLambdaRefusals: errors come in the form that the client reads, and who has no key of
// the service gets nothing, however the request is signed.
func TestLambdaRefusals(t *testing.T) {
	list := ofTerminal("/assets", `{"action": "list", "customer_id": "customer123"}`)
	for name, c := range map[string]struct {
		invocation
		http   int
		status float64 // of the payload; 0: it has none
		text   string
	}{
		"no key":                        {invocation{"terminalApi", "", list, map[string]string{"X-Amz-Security-Token": "", "Authorization": ""}}, 200, 401, "Unauthorized"},
		"credentials of AWS":            {invocation{"terminalApi", "", list, map[string]string{"X-Amz-Security-Token": ""}}, 200, 401, "Unauthorized"},
		"another key":                   {invocation{"terminalApi", "", list, map[string]string{"X-Amz-Security-Token": "opa_prod_none"}}, 200, 401, "Unauthorized"},
		"the key as access key id":      {invocation{"terminalApi", "", list, map[string]string{"X-Amz-Security-Token": "", "Authorization": strings.Replace(signed["Authorization"], "sunloop/", shared.key+"/", 1)}}, 200, 200, "assets"},
		"the key in the event":          {invocation{"terminalApi", "", strings.Replace(list, "{", `{"headers":{"X-Api-Key":"`+shared.key+`"},`, 1), map[string]string{"X-Amz-Security-Token": ""}}, 200, 200, "assets"},
		"an unknown unit":               {invocation{"terminalApi", "", ofTerminal("/assets", `{"action": "get", "asset_id": "INV-0"}`), nil}, 200, 404, "Asset not found"},
		"an unknown action":             {invocation{"terminalApi", "", ofTerminal("/assets", `{"action": "dance"}`), nil}, 200, 400, "Invalid action"},
		"a path out of the terminal":    {invocation{"terminalApi", "", ofTerminal("/../uploads", `{}`), nil}, 200, 404, "Not found"},
		"an unknown path":               {invocation{"terminalApi", "", ofTerminal("/dance", `{}`), nil}, 200, 404, "Not found"},
		"a forecast of an unknown site": {invocation{"forecastingApi", "", `{"site_id": "Nowhere"}`, nil}, 200, 404, "Site not found"},
		"an unknown field":              {invocation{"forecastingApi", "", `{"site_id": "Sibaya", "hours": 3}`, nil}, 200, 400, "hours"},
		"an unknown function":           {invocation{"weather", "", `{}`, nil}, 404, 0, "Function not found: weather"},
		"no event":                      {invocation{"terminalApi", "", `{"action": "list"}`, nil}, 400, 0, "an event with httpMethod"},
		"no JSON":                       {invocation{"terminalApi", "", `hello`, nil}, 400, 0, "not a JSON object"},
		"a list":                        {invocation{"forecastingApi", "", `[]`, nil}, 400, 0, "not a JSON object"},
		"a body that is no JSON":        {invocation{"terminalApi", "", ofTerminal("/assets", "hello"), nil}, 400, 0, "not a JSON object"},
		"too large":                     {invocation{"forecastingApi", "", `{"site_id": "` + strings.Repeat("x", 2*api.MaxJSONBytes) + `"}`, nil}, 413, 0, "larger than 512 KB"},
		"an unknown type":               {invocation{"terminalApi", "Later", list, nil}, 400, 0, "RequestResponse, Event or DryRun"},
		"an event without a key":        {invocation{"terminalApi", "Event", list, map[string]string{"X-Amz-Security-Token": ""}}, 403, 0, "Unauthorized"},
		"a dry run without a key":       {invocation{"terminalApi", "DryRun", list, map[string]string{"X-Amz-Security-Token": ""}}, 403, 0, "Unauthorized"},
		"a dry run":                     {invocation{"terminalApi", "DryRun", list, nil}, 204, 0, ""},
		"a dry run of no function":      {invocation{"weather", "DryRun", `{}`, nil}, 404, 0, "Function not found"},
		"a path without invocations":    {invocation{"terminalApi/x", "", list, map[string]string{"X-Api-Key": shared.key}}, 404, 0, "Not found"},
	} {
		t.Run(name, func(t *testing.T) {
			a, result := invoke(t, c.invocation)
			status, _ := result["statusCode"].(float64)
			b, _ := json.Marshal(result)
			if a.StatusCode != c.http || status != c.status || !bytes.Contains(b, []byte(c.text)) {
				t.Errorf("HTTP %d, status %v: %s", a.StatusCode, status, b)
			}
			if _, isObject := result["body"].(map[string]any); status != 0 && !isObject {
				t.Errorf("the body is no object: %s", b)
			}
			if kind := a.Header.Get("X-Amzn-Errortype"); (kind != "") != (c.http >= 400 && name != "a path without invocations") {
				t.Errorf("the type of error is %q", kind)
			}
		})
	}
	// Listeners of other hosts have no functions.
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, shared.hosts[api.HostTelemetry]+"/2015-03-31/functions/terminalApi/invocations", strings.NewReader(list))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("X-Api-Key", shared.key)
	a, err := shared.http.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	_ = a.Body.Close()
	if a.StatusCode != http.StatusNotFound {
		t.Errorf("at the host of telemetry: HTTP %d", a.StatusCode)
	}
}
