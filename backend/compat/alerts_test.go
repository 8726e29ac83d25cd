package compat

import (
	"net/http"
	"testing"

	"app.sunloop/backend/api"
)

// alert is one as clients read it.
var alert = object(fields{
	"terminal_device_id": text, "site_id": exactly(site), "timestamp": instant, "alert_type": text,
	"alert_severity": exactly("critical", "major", "moderate", "minor", "normal"), "message": text, "source_system": text, "resolved": boolean,
	"metadata?": object(fields{}), "cursor?": text,
	"alert_id": text, "asset_id?": text, "state": text, "acknowledged_by?": text, "acknowledged_at?": instant, "shelved_until?": instant, "energy_at_risk_kw": number,
})

func TestAlertPeriod(t *testing.T) {
	for _, v := range [][]string{{"site_id", site}, {"site_id", site, "terminal_device_id", device}, {"site_id", site, "customer_id", customer}} {
		read(t, api.HostAlerts, "/ooda/data-period", query(v...)).is(object(fields{"site_id": exactly(site), "terminal_device_id?": exactly(device), "first_record": instant, "last_record": instant}))
	}
	terminal(t, "/terminal/sites", "action", "set", "site", map[string]any{"site_id": "Quiet", "customer_id": customer, "name": "Quiet", "timezone": "Africa/Johannesburg"})
	read(t, api.HostAlerts, "/ooda/data-period", query("site_id", "Quiet"), ".first_record", ".last_record").
		is(object(fields{"site_id": exactly("Quiet"), "first_record": exactly(nil), "last_record": exactly(nil)}))
	read(t, api.HostAlerts, "/ooda/data-period", query()).refused(http.StatusBadRequest, "Missing required parameter: site_id")
	read(t, api.HostAlerts, "/ooda/data-period", query("site_id", "Nowhere")).refused(http.StatusNotFound, "Site not found")
}

// TestAlertsOfAllTime asks for everything, in parts and at once, with times as
// JavaScript and Python write them.
func TestAlertsOfAllTime(t *testing.T) {
	ask := func(start, end string, more ...string) answer {
		return read(t, api.HostAlerts, "/ooda/terminal", query(append([]string{"terminal_device_id", device, "site_id", site, "start", start, "end", end}, more...)...)).is(object(fields{"alerts": list(alert)}))
	}
	whole := ask("1970-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z")
	all := whole.elements("alerts")
	if len(all) == 0 {
		t.Fatal("the demo has no alerts")
	}
	for _, span := range [][2]string{{"1970-01-01", "9999-12-31"}, {"1970-01-01T00:00:00", "9999-12-31T23:59:59.999999"}, {"1970-01-01T00:00:00+00:00", "9999-12-31T00:00:00+00:00"}} {
		if a := ask(span[0], span[1], "limit", "1000"); len(a.elements("alerts")) != len(all) {
			t.Errorf("%v: %d of %d", span, len(a.elements("alerts")), len(all))
		}
	}
	cursor := ""
	for i := range all {
		more := []string{"limit", "1"}
		if cursor != "" {
			more = append(more, "cursor", cursor)
		}
		a := ask("1970-01-01", "9999-12-31", more...)
		if id, want := a.text("alerts.0.alert_id"), all[i].(map[string]any)["alert_id"]; id != want {
			t.Errorf("part %d is %s, not %v", i, id, want)
		}
		cursor = a.text("alerts.0.cursor")
	}
	if a := ask("1970-01-01", "9999-12-31", "limit", "1", "cursor", cursor); len(a.elements("alerts")) != 0 {
		t.Errorf("behind the last: %s", a.body)
	}
	if a := ask("1970-01-01", "1971-01-01"); len(a.elements("alerts")) != 0 {
		t.Errorf("of 1970: %s", a.body)
	}
}

func TestAlertsOfASite(t *testing.T) {
	a := read(t, api.HostAlerts, "/ooda/site", query("site_id", site, "start", "1970-01-01T00:00:00Z", "end", "9999-12-31T23:59:59Z", "customer_id", customer)).
		is(object(fields{"alerts": both(eachOf(both(some(alert), ascending("timestamp"))), object(fields{device: some(alert)}))}))
	for name, l := range a.at("alerts").(map[string]any) {
		for _, r := range l.([]any) {
			if r.(map[string]any)["terminal_device_id"] != name {
				t.Errorf("under %s: %v", name, r)
			}
		}
	}
}

func TestAlertsRefusals(t *testing.T) {
	for _, name := range []string{"terminal_device_id", "site_id", "start", "end"} {
		v := query("terminal_device_id", device, "site_id", site, "start", "2025-10-01", "end", "2025-10-02")
		v.Del(name)
		read(t, api.HostAlerts, "/ooda/terminal", v).refused(http.StatusBadRequest, "Missing required parameter: "+name)
	}
	v := query("terminal_device_id", device, "site_id", site, "start", "soon", "end", "2025-10-02")
	read(t, api.HostAlerts, "/ooda/terminal", v).refused(http.StatusBadRequest, "Invalid parameter: start")
	v = query("terminal_device_id", "TERM-0", "site_id", site, "start", "2025-10-01", "end", "2025-10-02")
	read(t, api.HostAlerts, "/ooda/terminal", v).refused(http.StatusNotFound, "Terminal device not found")
	get(t, bare, shared.hosts[api.HostAlerts], "/ooda/data-period", query("site_id", site)).refused(http.StatusUnauthorized, "Unauthorized")
}
