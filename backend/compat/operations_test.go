package compat

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"app.sunloop/backend/api"
)

var (
	severity = exactly("critical", "warning", "normal")
	action   = object(fields{"priority": exactly("high", "medium", "low"), "action": text})
)

// faulty is a unit of the demo that is ill at its beginning.
const faulty = "INV-1000000054495192"

func TestOODASummaries(t *testing.T) {
	summary := object(fields{
		"summary_id": text, "asset_id": maybe, "created_at": instant, "last_detection_at": instant, "model_version": text, "fault_family": text,
		"severity_label": severity, "confidence": share, "energy_at_risk_kw": number, "root_cause": text, "recommended_actions": list(action), "detections": list(text),
	})
	for _, more := range [][]any{nil, {"action", "list"}, {"site_id", site}, {"limit", 1000}} {
		terminal(t, "/terminal/ooda", append([]any{"customer_id", customer}, more...)...).
			is(object(fields{"success": exactly(true), "customer_id": exactly(customer), "ml_enhanced_activities": some(summary), "count": integer}))
	}
	a := terminal(t, "/terminal/ooda", "customer_id", customer)
	found := false
	for _, e := range a.elements("ml_enhanced_activities") {
		s := e.(map[string]any)
		found = found || s["asset_id"] == faulty && s["active"] == true && len(s["detections"].([]any)) > 0
	}
	if !found {
		t.Errorf("the demo's outage is not among %.600s", a.body)
	}
	terminal(t, "/terminal/ooda").refused(http.StatusBadRequest, "Missing required field: customer_id")
	terminal(t, "/terminal/ooda", "action", "list").refused(http.StatusBadRequest, "Missing required field: customer_id")
	terminal(t, "/terminal/ooda", "customer_id", "unknown").refused(http.StatusNotFound, "No OODA summaries found")
}

func TestDetection(t *testing.T) {
	analysis := object(fields{
		"severity_label": severity, "severity_score": share, "status": text, "fault_type": text, "summary": text, "anomalies": list(object(fields{})),
		"metrics": object(fields{"latest_power_kw": number, "baseline_power_kw?": number, "latest_irradiance_wm2?": number, "latest_temperature_c?": number,
			"latest_inverter_state?": integer, "latest_run_state?": integer}),
		"energy_at_risk_kw": number, "last_observation": instant,
	})
	run := object(fields{"success": exactly(true), "message": text, "detection_id": text, "asset_id": text, "anomalies_detected": integer, "status": exactly("completed"), "analysis": analysis})
	terminal(t, "/terminal/detect", "action", "run", "asset_id", asset).is(run)
	ill := terminal(t, "/terminal/detect", "action", "run", "asset_id", faulty, "customer_id", customer, "site_id", site, "lookback_hours", 24).is(run)
	if ill.at("anomalies_detected") == 0.0 || ill.text("analysis.fault_type") != "inverter_outage" || len(ill.elements("analysis.anomalies")) == 0 {
		t.Errorf("the demo's outage: %.600s", ill.body)
	}
	for _, back := range []int{1, 3, 6, 24} { // what lasts is counted with any look-back, as clients ask for 6 hours
		checkRun(t, faulty, back, true)
	}
	checkRun(t, asset, 24, false)
	for _, a := range terminal(t, "/terminal/assets", "action", "list", "customer_id", customer, "limit", 4).elements("assets") {
		checkRun(t, a.(map[string]any)["asset_id"].(string), api.MaxLookbackHours, false)
	}
	detections := object(fields{"success": exactly(true), "count": integer, "detections": both(some(object(fields{
		"detection_id": text, "asset_id": exactly(faulty), "detected_at": instant, "anomalies_detected": integer, "severity": severity, "status": exactly("completed"),
	})), descending("detected_at"))})
	terminal(t, "/terminal/detect", "action", "list", "asset_id", faulty).is(detections)
	terminal(t, "/terminal/detections", "action", "list", "asset_id", faulty, "customer_id", customer).is(detections)
	if a := terminal(t, "/terminal/detections", "asset_id", faulty).is(detections); !strings.Contains(string(a.body), ill.text("detection_id")) {
		t.Errorf("the one just run is not there: %.300s", a.body)
	}
	terminal(t, "/terminal/detections", "customer_id", customer, "limit", 1000).is(object(fields{"detections": some(object(fields{})), "count": integer}))

	diagnosis := object(fields{
		"root_cause": text, "category": text, "confidence": share, "summary": text, "recommended_actions": list(action),
		"evidence": list(object(fields{"text": text})), "alternatives": list(object(fields{"cause": text, "confidence": share})),
	})
	diagnosed := object(fields{"success": exactly(true), "message": text, "diagnostic_id": text, "asset_id": exactly(faulty), "root_cause": text, "confidence": share, "status": exactly("completed"), "analysis": diagnosis})
	for _, more := range [][]any{nil, {"customer_id", customer, "detection_id", ill.text("detection_id")}, {"customer_id", customer, "lookback_hours", 48}} {
		a := terminal(t, "/terminal/diagnose", append([]any{"action", "run", "asset_id", faulty}, more...)...).is(diagnosed)
		if a.text("root_cause") == "none" || len(a.elements("analysis.recommended_actions")) == 0 {
			t.Errorf("%s", a.body)
		}
	}
	diagnostics := object(fields{"success": exactly(true), "count": integer, "diagnostics": both(some(object(fields{
		"diagnostic_id": text, "asset_id": exactly(faulty), "diagnosed_at": instant, "root_cause": text, "confidence": share, "severity": severity, "status": exactly("completed"),
	})), descending("diagnosed_at"))})
	terminal(t, "/terminal/diagnose", "action", "list", "asset_id", faulty).is(diagnostics)
	terminal(t, "/terminal/diagnostics", "action", "list", "asset_id", faulty, "customer_id", customer).is(diagnostics)
	terminal(t, "/terminal/diagnostics", "customer_id", customer).is(object(fields{"diagnostics": some(object(fields{})), "count": integer}))

	for _, path := range []string{"/terminal/detect", "/terminal/diagnose"} {
		terminal(t, path, "action", "run", "asset_id", "INV-0", "customer_id", customer).refused(http.StatusNotFound, "Asset not found")
		terminal(t, path, "action", "run").refused(http.StatusBadRequest, "Missing required field: asset_id")
		terminal(t, path, "action", "drop").refused(http.StatusBadRequest, "Invalid action")
		terminal(t, path, "action", "run", "asset_id", asset, "lookback_hours", -1).refused(http.StatusBadRequest, "Invalid field: lookback_hours")
		terminal(t, path).refused(http.StatusBadRequest, "Invalid action")
	}
}

// checkRun requires that the count, the status and the severity of a run of the detector
// agree with each other, with the stored run and with its diagnosis.
func checkRun(t *testing.T, assetID string, back int, ill bool) {
	t.Helper()
	run := terminal(t, "/terminal/detect", "action", "run", "asset_id", assetID, "customer_id", customer, "lookback_hours", back)
	n, anomalies := run.at("anomalies_detected").(float64), run.elements("analysis.anomalies")
	status, severity, open := run.text("analysis.status"), run.text("analysis.severity_label"), false
	for _, a := range anomalies {
		open = open || a.(map[string]any)["ended_at"] == nil
	}
	if int(n) != len(anomalies) || (n > 0) != (status == "anomaly_detected") || (n > 0) != (run.text("analysis.fault_type") != "none") ||
		n == 0 && (status != "normal" || severity != "normal") || !open && severity == "critical" || ill && !open {
		t.Errorf("%s, %d h back: %.0f anomalies, status %s, severity %s, %.600s", assetID, back, n, status, severity, run.body)
	}
	list := terminal(t, "/terminal/detections", "asset_id", assetID, "customer_id", customer).elements("detections")
	at := slices.IndexFunc(list, func(d any) bool { return d.(map[string]any)["detection_id"] == run.text("detection_id") })
	if at < 0 {
		t.Fatalf("%s: the run is not stored: %.600s", assetID, run.body)
	}
	stored := list[at].(map[string]any)
	analysis := stored["analysis"].(map[string]any)
	if stored["anomalies_detected"] != n || stored["severity"] != severity ||
		analysis["status"] != status || analysis["severity_label"] != severity || len(analysis["anomalies"].([]any)) != len(anomalies) {
		t.Errorf("%s: stored as %v, the run is %.600s", assetID, stored, run.body)
	}
	diagnosis := terminal(t, "/terminal/diagnose", "action", "run", "asset_id", assetID, "customer_id", customer, "detection_id", run.text("detection_id"))
	if (diagnosis.text("root_cause") == "none") != (n == 0) || diagnosis.text("analysis.category") != run.text("analysis.fault_type") {
		t.Errorf("%s: the run is %.600s, its diagnosis %.600s", assetID, run.body, diagnosis.body)
	}
}

func TestIssues(t *testing.T) {
	issue := object(fields{
		"issue_id": text, "asset_id?": text, "site_id": text, "component": text, "issue_type": text, "status": exactly("New", "In Progress", "Resolved"),
		"priority": exactly("high", "medium", "low"), "energy_at_risk_kw": number, "financial_impact": number, "created_at": instant, "updated_at": instant,
		"description": text, "history": some(object(fields{"to": text, "at": instant})),
	})
	issues := object(fields{"success": exactly(true), "issues": some(issue), "count": integer})
	terminal(t, "/terminal/issues", "action", "list", "customer_id", customer).is(issues)
	terminal(t, "/terminal/issues", "customer_id", customer).is(issues)
	terminal(t, "/terminal/issues").is(issues)

	made := terminal(t, "/terminal/issues", "action", "create", "customer_id", customer, "component", asset, "site", site, "issue_type", "loose_cable", "description", "A cable hangs from the tray", "priority", "High").
		is(object(fields{"success": exactly(true), "issue_id": text, "issue": issue}))
	id := made.text("issue_id")
	if made.text("issue.status") != "New" || made.text("issue.priority") != "high" || made.text("issue.component") != asset {
		t.Errorf("%s", made.body)
	}
	move := func(action, status string, more ...any) {
		t.Helper()
		a := terminal(t, "/terminal/issues", append([]any{"action", action, "issue_id", id, "customer_id", customer}, more...)...).is(object(fields{"success": exactly(true), "issue": issue}))
		if a.text("issue.status") != status {
			t.Errorf("after %s: %s", action, a.body)
		}
	}
	move("acknowledge", "In Progress")
	move("resolve", "Resolved")
	if a := terminal(t, "/terminal/issues", "action", "acknowledge", "issue_id", id, "customer_id", customer); a.status != http.StatusConflict || !strings.Contains(string(a.body), "Resolved") {
		t.Errorf("a resolved one is acknowledged: HTTP %d %s", a.status, a.body)
	}
	terminal(t, "/terminal/issues", "action", "acknowledge", "issue_id", "iss_0", "customer_id", customer).refused(http.StatusNotFound, "Issue not found")
	terminal(t, "/terminal/issues", "action", "acknowledge").refused(http.StatusBadRequest, "Missing required field: issue_id")
	terminal(t, "/terminal/issues", "action", "drop").refused(http.StatusBadRequest, "Invalid action")
	for _, name := range []string{"component", "site", "issue_type", "description"} {
		b := bodyOf("action", "create", "component", asset, "site", site, "issue_type", "other", "description", "words")
		delete(b, name)
		post(t, bearer, shared.url, "/terminal/issues", b).refused(http.StatusBadRequest, "Missing required field: "+name)
	}
}

func TestModels(t *testing.T) {
	model := object(fields{
		"model_name": text, "model_version": text, "model_type": exactly("forecasting", "interpolation", "diagnostics"), "status": exactly("production", "challenger", "archived"),
		"last_trained_at": instant, "training_data_window": object(fields{"start": instant, "end": instant}),
		"hyperparameters":    object(fields{"layers": list(integer), "learning_rate": number, "dropout": number, "optimizer": text}),
		"training_metrics":   object(fields{"epochs": integer, "train_loss": number, "validation_loss": number, "early_stop_epoch": integer}),
		"artifact_locations": object(fields{"model": matches(`^[a-z0-9]+://`), "encoders": matches(`^[a-z0-9]+://`), "config": matches(`^[a-z0-9]+://`)}),
	})
	models := object(fields{"success": exactly(true), "model_metrics": some(model), "count": integer})
	for _, form := range [][]any{nil, {"customer_id", customer}, {"action", "list", "customer_id", customer}, {"customer_id", customer, "site_id", site, "limit", 1000}} {
		terminal(t, "/terminal/ml-models", form...).is(models)
	}
	terminal(t, "/terminal/ml-models", "customer_id", secondCustomer).is(object(fields{"success": exactly(true), "model_metrics": count(0, model), "count": exactly(0.0)}))
	terminal(t, "/terminal/ml-models", "action", "history", "customer_id", customer, "site_id", site).
		is(object(fields{"success": exactly(true), "history": some(object(fields{"model_version": text, "to": text, "at": instant, "actor": text, "reason": text})), "count": integer}))
	for _, action := range []string{"promote", "rollback", "evaluate"} {
		terminal(t, "/terminal/ml-models", "action", action, "customer_id", customer).refused(http.StatusBadRequest, "Missing required field: site_id")
	}
	if a := terminal(t, "/terminal/ml-models", "action", "promote", "customer_id", customer, "site_id", site, "reason", "too short"); a.status != http.StatusBadRequest {
		t.Errorf("a promotion for a reason of nine characters: HTTP %d %s", a.status, a.body)
	}
	terminal(t, "/terminal/ml-models", "action", "promote", "customer_id", customer, "site_id", site, "reason", "it looks better", "model_version", "0.0.0").refused(http.StatusNotFound, "Model not found")
	terminal(t, "/terminal/ml-models", "action", "drop", "site_id", site).refused(http.StatusBadRequest, "Invalid action")
}

func TestSiteSummary(t *testing.T) {
	vital := object(fields{
		"total_kWh_today": number, "fleet_availability_pct?": percent, "fleet_pr_pct?": percent, "active_inverters": integer, "total_inverters": exactly(float64(len(shared.fleet.Sites[0].Units))), "last_updated": instant,
	})
	for _, more := range [][]any{nil, {"customer_id", customer}} {
		a := terminal(t, "/terminal/telemetry", append([]any{"action", "site-summary", "site_id", site}, more...)...).
			is(both(vital, object(fields{"success": exactly(true), "summary": vital})))
		for _, name := range []string{"total_kWh_today", "active_inverters", "last_updated"} {
			if a.at(name) != a.at("summary."+name) {
				t.Errorf("%s is %v at the top and %v below", name, a.at(name), a.at("summary."+name))
			}
		}
		if a.at("fleet_pr_pct") == nil || a.at("total_kWh_today").(float64) <= 0 {
			t.Errorf("a morning in Sibaya: %s", a.body)
		}
	}
	terminal(t, "/terminal/telemetry", "action", "site-summary").refused(http.StatusBadRequest, "Missing required field: site_id")
	terminal(t, "/terminal/telemetry", "site_id", site).refused(http.StatusBadRequest, "Invalid action")
	terminal(t, "/terminal/telemetry", "action", "site-summary", "site_id", "Nowhere", "customer_id", customer).refused(http.StatusNotFound, "Site not found")
}

func TestLiveOverview(t *testing.T) {
	units := len(shared.fleet.Sites[0].Units)
	metrics := object(fields{"total_power_kw": number, "avg_temperature_c": number, "avg_capacity_factor": percent, "active_inverters": integer, "total_inverters": integer, "last_updated": instant})
	overview := object(fields{"success": exactly(true), "data": object(fields{"latest_metrics": metrics, "time_series": list(object(fields{"timestamp": instant}))})})
	for span, least := range map[string]int{"1h": 2, "6h": 6, "24h": 20, "7d": 100, "latest": 0} {
		a := terminal(t, "/terminal/nowcastUI", "action", "list", "customer_id", customer, "site_id", site, "time_range", span, "asset_filter", []any{}).is(overview)
		points := a.elements("data.time_series")
		if len(points) < least || span == "latest" && len(points) > 0 {
			t.Errorf("%d points of %s", len(points), span)
		}
		for _, wrong := range ascending("timestamp")(span, points) {
			t.Error(wrong)
		}
		if a.at("data.latest_metrics.total_inverters") != float64(units) || a.at("data.latest_metrics.total_power_kw").(float64) <= 0 {
			t.Errorf("a morning in Sibaya: %.300s", a.body)
		}
	}
	one := terminal(t, "/terminal/nowcastUI", "action", "list", "customer_id", customer, "time_range", "24h", "asset_filter", []any{asset}).is(overview)
	if one.at("data.latest_metrics.total_inverters") != 1.0 {
		t.Errorf("of one unit: %.300s", one.body)
	}
	terminal(t, "/terminal/nowcastUI", "action", "list", "customer_id", customer).is(overview)
	terminal(t, "/terminal/nowcastUI", "action", "list", "customer_id", customer, "time_range", "2h").refused(http.StatusBadRequest, "Invalid field: time_range")
	terminal(t, "/terminal/nowcastUI", "action", "drop", "customer_id", customer).refused(http.StatusBadRequest, "Invalid action")
}

func TestActivities(t *testing.T) {
	activities := object(fields{"success": exactly(true), "activities": both(some(object(fields{
		"phase": exactly("observe", "orient", "decide", "act"), "title": text, "description": maybe, "timestamp": instant,
	})), descending("timestamp")), "count": integer})
	for _, form := range [][]any{{"action", "list", "customer_id", customer}, {"action", "list"}, {"customer_id", customer, "site_id", site}, {"action", "list", "customer_id", customer, "limit", 1000}} {
		terminal(t, "/terminal/activities", form...).is(activities)
	}
	terminal(t, "/terminal/activities", "action", "list", "customer_id", "unknown").is(object(fields{"activities": count(0, text), "count": exactly(0.0)}))
}

// TestWhatEveryPathRefuses in the one shape of errors.
func TestWhatEveryPathRefuses(t *testing.T) {
	main := shared.hosts["main"]
	for _, path := range []string{"/terminal/assets", "/terminal/detect", "/terminal/ooda", "/terminal/issues", "/upload_train", "/forecast"} {
		post(t, bare, main, path, bodyOf("action", "list", "customer_id", customer)).refused(http.StatusUnauthorized, "Unauthorized")
		postAs(t, xAPIKey, "opa_prod_unknown", main, path, bodyOf("action", "list", "asset_id", asset, "customer_id", customer, "site_id", site, "region", "za", "location", "x", "s3_path", "s3://x/y.csv")).
			refused(http.StatusUnauthorized, "Unauthorized")
	}
	get(t, bearer, main, "/terminal/assets", query()).refused(http.StatusMethodNotAllowed, "Method not allowed")
	get(t, bearer, main, "/terminal/nothing", query()).refused(http.StatusNotFound, "Not found")
	get(t, bearer, main, "/telemetry/data-period", query("site_id", site)).refused(http.StatusNotFound, "Not found") // another host's
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, main+"/terminal/assets", strings.NewReader(`{"action": "list"`))
	if err != nil {
		t.Fatal(err)
	}
	bearer.set(q, shared.key)
	send(t, q).refused(http.StatusBadRequest, "Invalid JSON body")
}
