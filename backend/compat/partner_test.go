package compat

import (
	"net/http"
	"strings"
	"testing"

	"app.sunloop/backend/api"
)

// conditional asks again with the tag of an answer, as clients do that cache.
func conditional(t *testing.T, a answer, base, path string, namesAndValues ...string) {
	t.Helper()
	tag := a.header.Get("ETag")
	if len(tag) < 3 || tag[0] != '"' || a.header.Get("Cache-Control") != "private, max-age=60" {
		t.Errorf("%s: ETag %s, Cache-Control %s", a.what, tag, a.header.Get("Cache-Control"))
	}
	for sent, status := range map[string]int{tag: http.StatusNotModified, "W/" + tag: http.StatusNotModified, `"other", ` + tag: http.StatusNotModified, `"other"`: http.StatusOK} {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path+"?"+query(namesAndValues...).Encode(), nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("x-api-key", shared.key)
		q.Header.Set("If-None-Match", sent)
		again := send(t, q)
		if again.status != status || again.header.Get("ETag") == "" {
			t.Errorf("%s with If-None-Match %s: HTTP %d, ETag %q", a.what, sent, again.status, again.header.Get("ETag"))
		}
		if status == http.StatusNotModified && len(again.body) > 0 {
			t.Errorf("%s: a body with 304", a.what)
		}
	}
}

func TestForecastSnapshot(t *testing.T) {
	snapshot := func(hours int) shape {
		return object(fields{
			"site_id": exactly(site), "model_id": text, "generated_at": instant, "horizon_hours": exactly(float64(hours)), "resolution": text,
			"intervals": both(count(hours, object(fields{"ts": instant, "p10_kw": number, "p50_kw": number, "p90_kw": number, "revenue_zar": number})), ascending("ts")),
			"totals":    object(fields{"total_kwh": number, "total_revenue_zar": number}),
		})
	}
	a := read(t, api.HostPartner, "/forecast-snapshot", query("site_id", site)).is(snapshot(24))
	conditional(t, a, shared.hosts[api.HostPartner], "/forecast-snapshot", "site_id", site)
	read(t, api.HostPartner, "/forecast-snapshot", query("site_id", site, "horizon", "48h", "customer_id", customer)).is(snapshot(48))
	kWh, money := 0.0, 0.0
	for _, e := range a.elements("intervals") {
		i := e.(map[string]any)
		low, mid, high := i["p10_kw"].(float64), i["p50_kw"].(float64), i["p90_kw"].(float64)
		if !(0 <= low && low <= mid && mid <= high) {
			t.Errorf("%s: %v, %v, %v", i["ts"], low, mid, high)
		}
		kWh += mid
		money += i["revenue_zar"].(float64)
	}
	if total := a.at("totals.total_kwh").(float64); total < kWh-0.1 || total > kWh+0.1 || total <= 0 {
		t.Errorf("%v kWh in all, %v in parts", total, kWh)
	}
	if total := a.at("totals.total_revenue_zar").(float64); total < money-0.1 || total > money+0.1 || total <= 0 {
		t.Errorf("%v ZAR in all, %v in parts", total, money)
	}
	read(t, api.HostPartner, "/forecast-snapshot", query()).refused(http.StatusBadRequest, "Missing required parameter: site_id")
	read(t, api.HostPartner, "/forecast-snapshot", query("site_id", site, "horizon", "soon")).refused(http.StatusBadRequest, "Invalid parameter: horizon")
	read(t, api.HostPartner, "/forecast-snapshot", query("site_id", "Nowhere")).refused(http.StatusNotFound, "Site not found")
	read(t, api.HostPartner, "/forecast-snapshot", query("site_id", "Havelland")).refused(http.StatusNotFound, "Not found")
	get(t, bare, shared.hosts[api.HostPartner], "/forecast-snapshot", query("site_id", site)).refused(http.StatusUnauthorized, "Unauthorized")
}

var (
	partnerSeverity = exactly("Critical", "High", "Medium", "Low")
	day             = matches(`^\d{4}-\d\d-\d\d$`)
	counts          = eachOf(integer)
)

func TestKPIRollup(t *testing.T) {
	rollup := object(fields{
		"site_id": exactly(site), "period": object(fields{"start": day, "end": day}), "generated_at": instant,
		"system":         object(fields{"rated_capacity_kw": number, "device_count": exactly(float64(len(shared.fleet.Sites[0].Units)))}),
		"energy_balance": object(fields{"consumption_kwh": number, "solar_production_kwh": number, "grid_purchases_kwh": number, "solar_offset_pct": percent}),
		"performance": object(fields{"system_pr": number, "pr_target": share, "pr_status": text, "true_uptime_pct": percent, "state_uptime_pct": percent,
			"availability_pct": percent, "availability_target": number}),
		"ear": object(fields{"energy_lost_kwh": number, "energy_lost_pct": percent, "capacity_utilization_pct": percent,
			"recovery_potential_kwh": object(fields{"50pct": number, "75pct": number, "95pct": number, "100pct": number}),
			"value_lost_zar":         number, "realized_savings_zar": number, "annual_projection_zar": number}),
		"financial": object(fields{"tariff_currency": exactly("ZAR"), "shortfall_cost_zar": number, "realized_savings_zar": number, "total_potential_value_zar": number,
			"tou_breakdown": object(fields{})}),
		"battery?": object(fields{}),
	})
	a := read(t, api.HostPartner, "/kpi-rollup", query("site_id", site, "customer_id", customer)).is(rollup)
	conditional(t, a, shared.hosts[api.HostPartner], "/kpi-rollup", "site_id", site)
	// A share, not percent; above 1 where panels are larger than the rating.
	if pr := a.at("performance.system_pr").(float64); pr < 0.4 || pr > 1 {
		t.Errorf("a performance ratio of %v", pr)
	}
	if a.at("energy_balance.solar_production_kwh").(float64) <= 0 || a.at("ear.recovery_potential_kwh.100pct") != a.at("ear.energy_lost_kwh") {
		t.Errorf("%s", a.body)
	}
	read(t, api.HostPartner, "/kpi-rollup", query()).refused(http.StatusBadRequest, "Missing required parameter: site_id")
	read(t, api.HostPartner, "/kpi-rollup", query("site_id", "Nowhere")).refused(http.StatusNotFound, "Site not found")
	get(t, bare, shared.hosts[api.HostPartner], "/kpi-rollup", query("site_id", site)).refused(http.StatusUnauthorized, "Unauthorized")
}

func TestMaintenanceSignals(t *testing.T) {
	signal := object(fields{
		"id": text, "timestamp": instant, "asset_id": maybe, "type": exactly("Critical State", "Warning State", "Temperature", "Capacity Underperformance", "Zero Production"),
		"severity": partnerSeverity, "description": text, "state_code?": text, "rated_kw?": number, "expected_kw?": number, "actual_kw?": number, "capacity_pct?": number, "irradiance_wm2?": number,
	})
	signals := func(of shape) shape {
		return object(fields{"site_id": exactly(site), "generated_at": instant, "cursor": instant, "signals": of,
			"summary": object(fields{"by_type": counts, "by_severity": counts, "by_asset": counts})})
	}
	a := read(t, api.HostPartner, "/maintenance-signals", query("site_id", site)).is(signals(some(signal)))
	conditional(t, a, shared.hosts[api.HostPartner], "/maintenance-signals", "site_id", site)
	bySeverity := map[string]float64{}
	for _, e := range a.elements("signals") {
		bySeverity[e.(map[string]any)["severity"].(string)]++
	}
	for name, n := range bySeverity {
		if got := a.at("summary.by_severity." + name); got != n {
			t.Errorf("%v of severity %s, %v of them in all", got, name, n)
		}
		for _, spelled := range []string{name, strings.ToLower(name)} {
			some := read(t, api.HostPartner, "/maintenance-signals", query("site_id", site, "severity", spelled)).is(signals(count(int(n), signal)))
			for _, e := range some.elements("signals") {
				if e.(map[string]any)["severity"] != name {
					t.Errorf("of %s: %v", spelled, e)
				}
			}
		}
	}
	for _, since := range []string{"1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z", "1970-01-01T00:00:00"} {
		read(t, api.HostPartner, "/maintenance-signals", query("site_id", site, "since", since)).is(signals(count(len(a.elements("signals")), signal)))
	}
	read(t, api.HostPartner, "/maintenance-signals", query("site_id", site, "since", a.text("cursor"))).is(signals(count(0, signal)))
	read(t, api.HostPartner, "/maintenance-signals", query("site_id", site, "since", "9999-12-31T23:59:59Z")).is(signals(count(0, signal)))
	read(t, api.HostPartner, "/maintenance-signals", query("site_id", site, "since", "soon")).refused(http.StatusBadRequest, "Invalid parameter: since")
	read(t, api.HostPartner, "/maintenance-signals", query("site_id", site, "severity", "Awful")).refused(http.StatusBadRequest, "Invalid parameter: severity")
	read(t, api.HostPartner, "/maintenance-signals", query()).refused(http.StatusBadRequest, "Missing required parameter: site_id")
	read(t, api.HostPartner, "/maintenance-signals", query("site_id", "Nowhere")).refused(http.StatusNotFound, "Site not found")
}

func TestMaintenanceSchedule(t *testing.T) {
	task := object(fields{"asset_id": text, "task_type": exactly("inspection", "corrective_maintenance", "scheduled_service"), "reason": text, "recommended_date": day,
		"estimated_duration_hours": number, "priority": text})
	a := read(t, api.HostPartner, "/maintenance-schedule", query("site_id", site)).is(object(fields{
		"site_id": exactly(site), "generated_at": instant, "horizon": object(fields{"start": exactly(now.Format("2006-01-02")), "end": day}), "tasks": some(task),
		"summary": object(fields{"total_tasks": integer, "by_priority": counts, "by_task_type": counts, "by_asset": counts}),
	}))
	conditional(t, a, shared.hosts[api.HostPartner], "/maintenance-schedule", "site_id", site)
	if a.at("summary.total_tasks") != float64(len(a.elements("tasks"))) || a.text("horizon.end") < now.AddDate(0, 0, 89).Format("2006-01-02") {
		t.Errorf("%.400s", a.body)
	}
	for _, e := range a.elements("tasks") {
		if date := e.(map[string]any)["recommended_date"].(string); date < a.text("horizon.start") || date > a.text("horizon.end") {
			t.Errorf("a task of %s", date)
		}
	}
	read(t, api.HostPartner, "/maintenance-schedule", query()).refused(http.StatusBadRequest, "Missing required parameter: site_id")
	read(t, api.HostPartner, "/maintenance-schedule", query("site_id", "Nowhere")).refused(http.StatusNotFound, "Site not found")
}

// TestSnapshotsByKind are the same as at their own paths.
func TestSnapshotsByKind(t *testing.T) {
	for kind, path := range map[string]string{"kpi-rollup": "/kpi-rollup", "maintenance-signals": "/maintenance-signals", "maintenance-schedule": "/maintenance-schedule", "forecast": "/forecast-snapshot"} {
		a := read(t, api.HostPartner, "/snapshot", query("site_id", site, "kind", kind)).is(object(fields{"site_id": exactly(site), "generated_at": instant}))
		own := read(t, api.HostPartner, path, query("site_id", site))
		if string(a.body) != string(own.body) {
			t.Errorf("%s: %.200s; %.200s", kind, a.body, own.body)
		}
		conditional(t, a, shared.hosts[api.HostPartner], "/snapshot", "site_id", site, "kind", kind)
	}
	read(t, api.HostPartner, "/snapshot", query("site_id", site, "kind", "nothing")).refused(http.StatusBadRequest, "Invalid parameter: kind")
	read(t, api.HostPartner, "/snapshot", query("site_id", site)).refused(http.StatusBadRequest, "Missing required parameter: kind")
	// Ids of sites may hold spaces, and a site may have no snapshot yet.
	const hall = "Roof of the hall"
	terminal(t, "/terminal/sites", "action", "set", "site", map[string]any{"site_id": hall, "customer_id": customer, "name": hall, "timezone": "Africa/Johannesburg"}).is(object(fields{"success": exactly(true)}))
	for _, path := range []string{"/kpi-rollup", "/maintenance-signals", "/maintenance-schedule", "/forecast-snapshot"} {
		read(t, api.HostPartner, path, query("site_id", hall)).refused(http.StatusNotFound, "Not found")
	}
}
