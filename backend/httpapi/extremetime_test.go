package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// TestExtremeTimes asks for windows from the year 0 to the year 9999 wherever a
// request names one, and plans work so far ahead that its end has no year of four
// digits. A refusal names the bound that is violated.
func TestExtremeTimes(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1_000_000 })
	w.measure(ownSite, ownAsset, "Africa/Johannesburg", time.Date(2025, 9, 30, 22, 0, 0, 0, time.UTC), 10)
	for _, path := range []string{"/telemetry/inverter?asset_id=" + ownAsset, "/telemetry/site?", "/ooda/site?", "/ooda/terminal?terminal_device_id=TERM-Sibaya"} {
		for _, span := range []struct {
			start, end string
			status     int
			contains   string
		}{
			{"0000-01-01", "9999-12-31T23:59:59Z", 200, `":`},
			{"0001-01-01T00:00:00Z", "9999-12-31", 200, `":`},
			{"9999-12-31", "9999-12-31", 200, `":`},
			{"9999-12-31", "0001-01-01", 400, "Invalid parameter: end"},
			{"10000-01-01", "9999-12-31", 400, "Invalid parameter: start"},
			{"0000-01-01T00:00:00+14:00", "9999-12-31", 400, "Invalid parameter: start"},
			{"2025-10-01", "9999-12-31T23:59:59-14:00", 400, "Invalid parameter: end"},
		} {
			r := w.as("customer", http.MethodGet, path+"&site_id=Sibaya&start="+strings.ReplaceAll(span.start, "+", "%2B")+"&end="+span.end, "")
			if r.Code != span.status || !strings.Contains(r.Body.String(), span.contains) {
				t.Errorf("%s from %s to %s: HTTP %d %s", path, span.start, span.end, r.Code, r.Body)
			}
		}
	}
	const schedule = `{"action":"create","asset_id":"` + ownAsset + `","site_id":"Sibaya","maintenance_type":"preventive","priority":"high","reason":"service","scheduled_date":`
	order, _, _ := w.planned()
	for _, request := range []struct {
		path, body string
		status     int
		contains   string
	}{
		{api.PathAudit, `{"action":"list","from":"0001-01-01","to":"9999-12-31T23:59:59Z"}`, 200, `"records":`},
		{api.PathAudit, `{"action":"list","from":"9999-12-31"}`, 200, `"records":[]`},
		{api.PathAudit, `{"action":"list","from":"9999-12-31","to":"2025-01-01"}`, 400, "to"},
		{api.PathSchedule, schedule + `"9999-12-31T23:59:59Z"}`, 400, "must be 2125-10-02T10:00:00Z or earlier, not 9999-12-31T23:59:59Z"},
		{api.PathSchedule, schedule + `"0000-01-01"}`, 400, "scheduled_date"},
		{api.PathSchedule, schedule + `"2125-10-02"}`, 200, `"scheduled_date":"2125-10-02`},
		{api.PathOrder, strings.TrimSuffix(order, "}") + `,"planned_start":"9999-12-31T23:59:59Z"}`, 400, "must be 2125-10-02T10:00:00Z or earlier, not 9999-12-31T23:59:59Z"},
	} {
		who := "customer"
		if request.path == api.PathAudit {
			who = "admin"
		}
		if r := w.as(who, http.MethodPost, request.path, request.body); r.Code != request.status || !strings.Contains(r.Body.String(), request.contains) {
			t.Errorf("%s %s: HTTP %d %s", request.path, request.body, r.Code, r.Body)
		}
	}
}
