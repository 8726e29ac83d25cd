package httpapi_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/store"
)

// postAs sends a request and returns its response as an object.
func postAs(t *testing.T, w *world, key, path, body string) map[string]any {
	t.Helper()
	r := w.as(key, http.MethodPost, path, body)
	var v map[string]any
	if err := json.Unmarshal(r.Body.Bytes(), &v); err != nil || r.Code != http.StatusOK {
		t.Fatalf("%s %s: HTTP %d %s, %v", path, body, r.Code, r.Body, err)
	}
	return v
}

// A summary has all of its keys when nothing is known, as at night: clients read them
// without a check.
func TestSummaryHasEveryKeyAtNight(t *testing.T) {
	w := newWorld(t, nil)
	w.clock.add(12 * time.Hour) // midnight in Sibaya
	v := postAs(t, w, "own", api.PathTerminalTelemetry, `{"action":"site-summary","site_id":"Sibaya"}`)
	for _, of := range []any{v, v["summary"]} {
		fields := of.(map[string]any)
		for _, name := range []string{"fleet_availability_pct", "fleet_pr_pct", "last_updated", "expected_power_kw", "expected_kWh_today", "expected_kWh_so_far", "specific_yield_kWh_kWp"} {
			if value, there := fields[name]; !there || value != nil {
				t.Errorf("%s is %v, there %v; want null", name, value, there)
			}
		}
		for name, want := range map[string]any{"total_kWh_today": 0.0, "energy_state": "none", "active_inverters": 0.0, "total_inverters": 1.0, "power_state": "none", "service_time": "2025-10-02T22:00:00Z"} {
			if fields[name] != want {
				t.Errorf("%s is %v, want %v", name, fields[name], want)
			}
		}
	}
}

// A run of gap filling without gaps, or whose errors are unknown, has its keys too, and
// says why they are null.
func TestInterpolationWithoutGaps(t *testing.T) {
	w := newWorld(t, nil)
	at := func(v float64) *float64 { return &v }
	err := w.store.Update(t.Context(), func(tx store.Tx) error {
		none := model.Interpolation{CustomerID: ownCustomer}
		none.ResultID, none.SiteID = "int_1", ownSite
		none.ProcessedAt = api.At(w.clock.now())
		none.DataWindow = api.Window{Start: none.ProcessedAt, End: none.ProcessedAt}
		if _, err := w.domain.Models.AddInterpolation(tx, none); err != nil {
			return err
		}
		some := none
		some.ResultID, some.Method, some.WeatherFeatures.MeanTemperatureC = "int_2", "linear", at(21.5)
		some.PerformanceMetrics = api.PerformanceMetrics{RMSEKW: at(2), MAEKW: at(1), R2Score: at(0.9), NRMSEPercent: at(1.5)}
		_, err := w.domain.Models.AddInterpolation(tx, some)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	list := postAs(t, w, "own", api.PathInterpolation, `{"customer_id":"customer123"}`)["interpolation_results"].([]any)
	some, none := list[0].(map[string]any), list[1].(map[string]any)
	metrics, weather := none["performance_metrics"].(map[string]any), none["weather_features"].(map[string]any)
	if none["method"] != api.MethodNone || metrics["reason"] == nil || weather["reason"] == nil {
		t.Errorf("without gaps: %v", none)
	}
	for _, name := range []string{"rmse_kw", "mae_kw", "r2_score", "nrmse_percent"} {
		if v, there := metrics[name]; !there || v != nil {
			t.Errorf("unknown %s is %v, there %v", name, v, there)
		}
	}
	metrics, weather = some["performance_metrics"].(map[string]any), some["weather_features"].(map[string]any)
	if irradiance, there := weather["mean_irradiance_wm2"]; some["method"] != "linear" || metrics["rmse_kw"] != 2.0 || metrics["reason"] != nil || weather["mean_temperature_c"] != 21.5 ||
		!there || irradiance != nil || weather["reason"] != "no irradiance is known for the window" {
		t.Errorf("with gaps: %v", some)
	}
}

// A battery keeps its capacity and the energy that its warranty covers.
func TestBatteryIsKept(t *testing.T) {
	w := newWorld(t, nil)
	postAs(t, w, "own", api.PathAssets, `{"action":"add","asset_id":"BAT-1","name":"Battery","type":"battery","capacity_kw":50,"capacity_kwh":215.5,"warranty_throughput_kwh":600000,"location":"Cellar"}`)
	for _, want := range []float64{215.5, 230} {
		a := postAs(t, w, "own", api.PathAssets, `{"action":"get","asset_id":"BAT-1"}`)["asset"].(map[string]any)
		if a["capacity_kwh"] != want || a["warranty_throughput_kwh"] != 600000.0 || a["capacity_kw"] != 50.0 {
			t.Errorf("the battery is %v, want %v kWh", a, want)
		}
		postAs(t, w, "own", api.PathAssets, `{"action":"set","asset_id":"BAT-1","capacity_kwh":230}`)
	}
	if r := w.as("own", http.MethodPost, api.PathAssets, `{"action":"set","asset_id":"BAT-1","capacity_kwh":-1}`); r.Code != http.StatusBadRequest || !strings.Contains(r.Body.String(), `"field":"capacity_kwh"`) {
		t.Errorf("a negative capacity: %d %s", r.Code, r.Body)
	}
}

// An expired key is described as such; it opens nothing, and a revoked one is unknown.
func TestExpiredKeyIsDescribed(t *testing.T) {
	w := newWorld(t, nil)
	plain := w.key("short", auth.NewKey{Sites: []string{ownSite}, ExpiresAt: w.clock.now().Add(time.Hour)})
	describe := func() (int, map[string]any) {
		r := w.ask(http.MethodPost, api.PathAPIKeyInfo, `{"api_key":"`+plain+`"}`)
		var v map[string]any
		_ = json.Unmarshal(r.Body.Bytes(), &v)
		return r.Code, v
	}
	if status, v := describe(); status != http.StatusOK || v["is_expired"] != false {
		t.Errorf("a good key: %d %v", status, v)
	}
	w.clock.add(2 * time.Hour)
	if status, v := describe(); status != http.StatusOK || v["is_expired"] != true || v["expires_at"] == nil || len(v["permitted_site_ids"].([]any)) != 1 {
		t.Errorf("an expired key: %d %v", status, v)
	}
	if r := w.as("short", http.MethodGet, api.PathLatest+"?site_id="+ownSite, ""); r.Code != http.StatusUnauthorized {
		t.Errorf("a request with the expired key: %d %s", r.Code, r.Body)
	}
}

// The claims of a token have group_id and skin_id, empty if the user has none.
func TestTokensHaveAllClaims(t *testing.T) {
	w := newWorld(t, nil)
	parts := strings.Split(w.user("ana", api.RoleAnalyst, ownCustomer), ".")
	b, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims map[string]any
	if err != nil || json.Unmarshal(b, &claims) != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"group_id", "skin_id"} {
		if v, there := claims[name]; !there || v != "" {
			t.Errorf("%s is %v, there %v", name, v, there)
		}
	}
}

// A schedule of a public client, which always names its customer, needs no type.
func TestScheduleWithoutAType(t *testing.T) {
	w := newWorld(t, nil)
	plan := func(more string) map[string]any {
		t.Helper()
		v := postAs(t, w, "own", api.PathSchedule, `{"action":"create","customer_id":"customer123","asset_id":"`+ownAsset+`","scheduled_date":"2025-10-05","priority":"high","reason":"Fan is loud"`+more+`}`)
		if v["maintenance_type"] != v["schedule"].(map[string]any)["maintenance_type"] {
			t.Errorf("the answer is %v", v)
		}
		return v
	}
	if v := plan(""); v["maintenance_type"] != api.MaintenancePreventive || !strings.Contains(v["message"].(string), "preventive") {
		t.Errorf("without a finding: %v", v)
	}
	now := w.clock.now()
	site, err := w.domain.Sites.Site(t.Context(), api.Unlimited("test"), ownSite)
	if err != nil {
		t.Fatal(err)
	}
	err = w.store.Update(t.Context(), func(tx store.Tx) error {
		_, err := w.domain.Detections.RecordRun(tx, finding.Run{Site: site, From: now.AddDate(0, 0, -60), Now: now, Units: []string{ownAsset}, Events: []finding.Event{
			{Family: "inverter_outage", Units: []string{ownAsset}, Start: now.Add(-3 * time.Hour), LastSeen: now, LossFraction: 1, Severity: api.SeverityCritical, Summary: "down"}}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if v := plan(""); v["maintenance_type"] != api.MaintenanceCorrective || !strings.Contains(v["message"].(string), "corrective") {
		t.Errorf("with a finding: %v", v)
	}
	if v := plan(`,"every_months":12,"task":"Yearly inspection"`); v["maintenance_type"] != api.MaintenancePreventive {
		t.Errorf("recurring work: %v", v)
	}
	if v := plan(`,"maintenance_type":"preventive"`); v["message"] != "Maintenance scheduled" {
		t.Errorf("with its type: %v", v)
	}
}

// A schedule as public clients send it has a title or a description, hours and no date: it is
// planned for the next morning of the site.
func TestScheduleOfPublicClients(t *testing.T) {
	w := newWorld(t, nil)
	for body, reason := range map[string]string{
		`"description":"Maintenance for soiling","priority":"Medium","estimated_duration_hours":4`:                           "Maintenance for soiling",
		`"title":"Repair faulty inverter","priority":"High","description":"Fan is loud","estimated_duration_hours":8`:        "Fan is loud",
		`"title":"Repair faulty inverter","priority":"high","scheduled_date":"2025-10-03T06:00:00Z","reason":"As it is hot"`: "As it is hot",
	} {
		v := postAs(t, w, "own", api.PathSchedule, `{"action":"create","customer_id":"customer123","asset_id":"`+ownAsset+`",`+body+`}`)
		if got := v["schedule"].(map[string]any); got["reason"] != reason || v["scheduled_date"] != "2025-10-03T06:00:00Z" {
			t.Errorf("%s: %v", body, v)
		}
	}
	for body, field := range map[string]string{
		`"customer_id":"customer123","priority":"low"`:                                                 "reason",
		`"customer_id":"customer123","priority":"low","title":"t","estimated_duration_hours":-4`:       "estimated_duration_hours",
		`"customer_id":"customer123","priority":"low","title":"t","estimated_duration_hours":1e308`:    "estimated_duration_hours",
		`"maintenance_type":"preventive","scheduled_date":"2025-10-05","priority":"low","title":"t"`:   "reason",
		`"maintenance_type":"preventive","priority":"low","reason":"r","description":"without a date"`: "scheduled_date",
	} {
		if r := w.as("own", http.MethodPost, api.PathSchedule, `{"action":"create","asset_id":"`+ownAsset+`",`+body+`}`); r.Code != http.StatusBadRequest || !strings.Contains(r.Body.String(), `"field":"`+field+`"`) {
			t.Errorf("%s: HTTP %d %s", body, r.Code, r.Body)
		}
	}
}

// A unit without records in the window is left out of those of its site: an empty list breaks
// clients that read the first record.
func TestUnitsWithoutRecordsAreLeftOut(t *testing.T) {
	w := newWorld(t, nil)
	postAs(t, w, "own", api.PathAssets, `{"action":"add","asset_id":"INV-A","name":"n","type":"inverter","capacity_kw":50,"location":"l"}`)
	w.measure(ownSite, ownAsset, "Africa/Johannesburg", time.Date(2025, 9, 30, 22, 0, 0, 0, time.UTC), 12)
	for _, resolution := range []string{"", "&resolution=hourly", "&resolution=daily"} {
		for span, want := range map[string]int{"&start=2025-09-30&end=2025-10-02": 1, "&start=2024-09-30&end=2024-10-02": 0} {
			var v api.SiteRecordsResponse
			r := w.as("own", http.MethodGet, "/telemetry/site?site_id=Sibaya"+span+resolution, "")
			if err := json.Unmarshal(r.Body.Bytes(), &v); err != nil || r.Code != http.StatusOK || v.Records == nil || len(v.Records) != want || want == 1 && len(v.Records[ownAsset]) == 0 {
				t.Errorf("%s%s: HTTP %d %.300s", span, resolution, r.Code, r.Body)
			}
		}
	}
}

// Telemetry comes in pages of 100 records, at most 1,000, of a unit and of a site; the
// cursor of the last record continues. The product's client reads all pages.
func TestTelemetryInPages(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	day := time.Date(2025, 9, 30, 22, 0, 0, 0, time.UTC)
	postAs(t, w, "own", api.PathAssets, `{"action":"add","asset_id":"INV-A","name":"n","type":"inverter","capacity_kw":50,"location":"l"}`)
	w.measure(ownSite, ownAsset, "Africa/Johannesburg", day, 288)
	w.measure(ownSite, "INV-A", "Africa/Johannesburg", day, 288)
	const span = "&start=2025-09-30&end=2025-10-02"
	get := func(url string, v any) {
		t.Helper()
		r := w.as("own", http.MethodGet, url, "")
		if err := json.Unmarshal(r.Body.Bytes(), v); err != nil || r.Code != http.StatusOK {
			t.Fatalf("%s: %d %.200s %v", url, r.Code, r.Body, err)
		}
	}
	var unit api.RecordsResponse
	get("/telemetry/inverter?site_id=Sibaya&asset_id="+ownAsset+span, &unit)
	if n := len(unit.Records); n != api.DefaultLimit || unit.Records[n-1].Cursor == "" {
		t.Errorf("a unit without a limit: %d records", n)
	}
	pages, seen, cursor := 0, map[string]int{}, ""
	for {
		var page api.SiteRecordsResponse
		get("/telemetry/site?site_id=Sibaya&cursor="+cursor+span, &page)
		n := 0
		cursor = ""
		for id, records := range page.Records {
			n += len(records)
			seen[id] += len(records)
			for i, r := range records {
				if i > 0 && !r.Timestamp.After(records[i-1].Timestamp.Time) {
					t.Fatalf("%s after %s", r.Timestamp, records[i-1].Timestamp)
				}
				if r.Cursor != "" {
					cursor = r.Cursor
				}
			}
		}
		if pages++; n > api.DefaultLimit || cursor != "" && n != api.DefaultLimit {
			t.Fatalf("page %d has %d records, cursor %q", pages, n, cursor)
		}
		if cursor == "" {
			break
		}
	}
	if pages != 6 || seen[ownAsset] != 288 || seen["INV-A"] != 288 {
		t.Errorf("%d pages with %v", pages, seen)
	}
	for _, bad := range []string{"&limit=1001", "&limit=0", "&limit=-1", "&cursor=x", "&cursor=e30"} {
		for _, path := range []string{"/telemetry/inverter", "/telemetry/site", "/ooda/terminal", "/ooda/site"} {
			unit := map[string]string{"/telemetry/inverter": "&asset_id=" + ownAsset, "/ooda/terminal": "&terminal_device_id=T"}[path]
			if r := w.as("own", http.MethodGet, path+"?site_id=Sibaya"+unit+span+bad, ""); r.Code != http.StatusBadRequest || !strings.Contains(r.Body.String(), "Invalid parameter: "+strings.Trim(strings.SplitN(bad, "=", 2)[0], "&")) {
				t.Errorf("%s with %s: %d %s", path, bad, r.Code, r.Body)
			}
		}
	}
	c := client.New(client.Options{Transport: client.InProcess(w.handler), Credential: w.keys["own"], Now: time.Now})
	for i := range 5 { // of a minute each: more than a page of the client's
		w.measure(ownSite, ownAsset, "Africa/Johannesburg", day.AddDate(0, 0, -1-i), 288)
	}
	q := api.RecordsQuery{SiteID: ownSite, AssetID: ownAsset, Start: api.At(day.AddDate(0, 0, -10)), End: api.At(day.AddDate(0, 0, 2))}
	one, err := c.Inverter(t.Context(), q)
	if err != nil || len(one.Records) != 6*288 {
		t.Fatalf("the client reads %d records of the unit, %v", len(one.Records), err)
	}
	all, err := c.SiteRecords(t.Context(), q)
	if err != nil || len(all.Records[ownAsset]) != 6*288 || len(all.Records["INV-A"]) != 288 {
		t.Errorf("the client reads %d and %d records of the site, %v", len(all.Records[ownAsset]), len(all.Records["INV-A"]), err)
	}
}
