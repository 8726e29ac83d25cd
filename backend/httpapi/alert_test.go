package httpapi_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
)

const (
	terminal  = "TERM-Sibaya"
	aDay      = "&start=2025-10-02&end=2025-10-03"
	alertsURL = api.PathTerminalAlerts + "?terminal_device_id=" + terminal + "&site_id=" + ownSite
)

// openAlert is the first of the first plant's open alerts.
func (w *world) openAlert() api.Alert {
	w.t.Helper()
	list, _, _, err := w.domain.Alerts.Alerts(w.t.Context(), api.Unlimited("test"), api.ListQuery{SiteID: ownSite}, "")
	if err != nil || len(list) == 0 {
		w.t.Fatalf("the alerts: %v, %v", list, err)
	}
	return list[0]
}

func TestAlertRecords(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	for _, s := range []scenario{
		{name: "no period yet", url: api.PathAlertPeriod + "?site_id=Sibaya", status: 200, contains: []string{`{"site_id":"Sibaya","first_record":null,"last_record":null}`}},
		{name: "none yet", url: alertsURL + aDay, status: 200, contains: []string{`{"alerts":[]}`}},
		{name: "none yet at the site", url: api.PathSiteAlerts + "?site_id=Sibaya" + aDay, status: 200, contains: []string{`{"alerts":{}}`}},
	} {
		s.method, s.key = http.MethodGet, "own"
		t.Run(s.name, func(t *testing.T) { s.run(t, w) })
	}
	w.judge(true) // from 09:00
	for range 2 { // two more, days apart
		w.clock.add(time.Hour)
		w.judge(false)
		w.clock.add(100 * time.Hour)
		w.judge(true)
	}
	first := w.as("own", http.MethodGet, alertsURL+"&start=1970-01-01&end=9999-12-31&limit=1", "")
	cursor := between(first.Body.String(), `"cursor":"`, `"`)
	if cursor == "" || strings.Count(first.Body.String(), `"alert_id"`) != 1 {
		t.Fatalf("the first part: %s", first.Body)
	}
	const record = `{"terminal_device_id":"TERM-Sibaya","site_id":"Sibaya","timestamp":"2025-10-02T09:00:00Z","alert_type":"inverter_outage",` +
		`"alert_severity":"critical","message":"The unit makes no power.","source_system":"sunloop","resolved":true,"metadata":{"summary_id":"fnd_`
	for _, s := range []scenario{
		{name: "no device", url: api.PathTerminalAlerts + "?site_id=Sibaya" + aDay, status: 400, contains: []string{"Missing required parameter: terminal_device_id"}},
		{name: "no site", url: api.PathTerminalAlerts + "?terminal_device_id=x" + aDay, status: 400, contains: []string{"Missing required parameter: site_id"}},
		{name: "no start", url: alertsURL, status: 400, contains: []string{"Missing required parameter: start"}},
		{name: "no time", url: alertsURL + "&start=soon&end=2025-10-03", status: 400, contains: []string{"Invalid parameter: start"}},
		{name: "backwards", url: alertsURL + "&start=2025-10-03&end=2025-10-02", status: 400, contains: []string{"Invalid parameter: end"}},
		{name: "unknown device", url: strings.Replace(alertsURL, terminal, "TERM-0", 1) + aDay, status: 403, contains: []string{"Access denied"}},
		{name: "another's site", url: api.PathSiteAlerts + "?site_id=Elsewhere" + aDay, status: 403, contains: []string{"Access denied"}},
		{name: "no cursor of ours", url: alertsURL + aDay + "&cursor=x", status: 400, contains: []string{"Invalid parameter: cursor"}},
		{name: "a day", url: alertsURL + aDay, status: 200, contains: []string{`{"alerts":[` + record, `"asset_id":"` + ownAsset + `"`, `"state":"rtn-unack"`, `"resolved_at":"2025-10-02T10:00:00Z"`}},
		{name: "end is inclusive", url: alertsURL + "&start=2025-10-02T09:00:00Z&end=2025-10-02T09:00:00Z", status: 200, contains: []string{`{"alerts":[` + record}},
		{name: "before it", url: alertsURL + "&start=2025-10-02T08:00:00Z&end=2025-10-02T08:59:59Z", status: 200, contains: []string{`{"alerts":[]}`}},
		{name: "the next", url: alertsURL + "&start=1970-01-01&end=9999-12-31&limit=1000&cursor=" + cursor, status: 200, contains: []string{`"timestamp":"2025-10-06T14:00:00Z"`, `"timestamp":"2025-10-10T19:00:00Z"`}, without: []string{"2025-10-02T09", "cursor"}},
		{name: "of the site", url: api.PathSiteAlerts + "?site_id=Sibaya" + aDay, status: 200, contains: []string{`{"alerts":{"TERM-Sibaya":[` + record}},
		{name: "period", url: api.PathAlertPeriod + "?site_id=Sibaya&terminal_device_id=TERM-Sibaya", status: 200, contains: []string{`"terminal_device_id":"TERM-Sibaya","first_record":"2025-10-02T09:00:00Z","last_record":"2025-10-10T19:00:00Z"`}},
		{name: "period of an unknown device", url: api.PathAlertPeriod + "?site_id=Sibaya&terminal_device_id=x", status: 403, contains: []string{"Access denied"}},
	} {
		s.method, s.key = http.MethodGet, "own"
		t.Run(s.name, func(t *testing.T) { s.run(t, w) })
	}
	foreign := strings.Replace(cursor, cursor[:8], "AAAAAAAA", 1)
	scenario{method: http.MethodGet, key: "own", url: alertsURL + aDay + "&cursor=" + url.QueryEscape(foreign), status: 400, contains: []string{"Invalid parameter: cursor"}}.run(t, w)
}

// between returns the text between two marks, empty without them.
func between(s, a, b string) string {
	_, rest, _ := strings.Cut(s, a)
	in, _, ok := strings.Cut(rest, b)
	if !ok {
		return ""
	}
	return in
}

func TestAlertMoves(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	w.judge(true)
	id := w.openAlert().AlertID
	w.key("foreign", auth.NewKey{Sites: []string{foreignSite}})
	run := func(list ...scenario) {
		t.Helper()
		for _, s := range list {
			s.method, s.url = http.MethodPost, api.PathAlerts
			if s.key == "" {
				s.key = "own"
			}
			s.body = strings.ReplaceAll(s.body, "ID", id)
			t.Run(s.name, func(t *testing.T) { s.run(t, w) })
		}
	}
	run(
		scenario{name: "no such action", body: `{"action":"delete"}`, status: 400, contains: []string{"Invalid action"}},
		scenario{name: "no such state", body: `{"state":"loud"}`, status: 400, contains: []string{"Invalid field: state"}},
		scenario{name: "no alert", body: `{"action":"acknowledge"}`, status: 400, contains: []string{"Missing required field: alert_id"}},
		scenario{name: "a number for an alert", body: `{"action":"acknowledge","alert_id":7}`, status: 400, contains: []string{"Invalid field: alert_id"}},
		scenario{name: "unknown alert", body: `{"action":"acknowledge","alert_id":"alt_0"}`, status: 403, contains: []string{"Access denied"}},
		scenario{name: "of another site", key: "customer", body: `{"action":"get","alert_id":"ID","site_id":"Second Site"}`, status: 403, contains: []string{"Access denied"}},
		scenario{name: "another's alert", key: "foreign", body: `{"action":"acknowledge","alert_id":"ID"}`, status: 403, contains: []string{"Access denied"}},
		scenario{name: "another's list", key: "foreign", body: `{}`, status: 200, contains: []string{`"alerts":[]`, `"unacknowledged":{}`}},
		scenario{name: "raised", body: `{"site_id":"Sibaya"}`, status: 200, contains: []string{`"count":1`, `"state":"unack"`, `"resolved":false`, `"energy_at_risk_kw":20`, `"occurrences":1`,
			`"history":[{"to":"unack","at":"2025-10-02T10:00:00Z","actor":"detector"}]`, `"counts":{"unacknowledged":{"critical":1},"acknowledged":0,"shelved":0,"suppressed":0}`}},
		scenario{name: "health", body: `{"action":"health","site_id":"Sibaya"}`, status: 200, contains: []string{`"count":2`, `"health":[{"window_hours":24,"alarms":1,"per_day":1,"peak_10_min":1,"floods":0`, `"priorities":{"critical":1}},{"window_hours":720,"alarms":1`}},
		scenario{name: "another's health", key: "foreign", body: `{"action":"health"}`, status: 200, contains: []string{`"window_hours":24,"alarms":0,`}},
		scenario{name: "shelved without a reason", body: `{"action":"shelve","alert_id":"ID","minutes":60}`, status: 400, contains: []string{"Missing required field: reason"}},
		scenario{name: "shelved without an end", body: `{"action":"shelve","alert_id":"ID","reason":"r"}`, status: 400, contains: []string{"Missing required field: minutes"}},
		scenario{name: "shelved with a blank reason", body: `{"action":"shelve","alert_id":"ID","reason":" ","minutes":60}`, status: 400, contains: []string{"Missing required field: reason"}},
		scenario{name: "shelved with a novel", body: `{"action":"shelve","alert_id":"ID","minutes":60,"reason":"` + strings.Repeat("é", 2001) + `"}`, status: 400, contains: []string{"Invalid field: reason", "at most 2000 characters"}},
		scenario{name: "shelved for a day", body: `{"action":"shelve","alert_id":"ID","reason":"r","minutes":1440}`, status: 400, contains: []string{"Invalid field: minutes", "from 15 to 720"}},
		scenario{name: "taken off no shelf", body: `{"action":"unshelve","alert_id":"ID"}`, status: 409, contains: []string{"is unack: it cannot be changed by unshelve", `"allowed":["acknowledge","shelve","suppress"]`}},
		scenario{name: "shelved", body: `{"action":"shelve","alert_id":"ID","reason":"waiting for the fuse","minutes":60}`, status: 200,
			contains: []string{`"message":"Alarm shelved"`, `"state":"shelved"`, `"shelved_until":"2025-10-02T11:00:00Z"`, `"from":"unack","to":"shelved","at":"2025-10-02T10:00:00Z","actor":"own","reason":"waiting for the fuse","until":"2025-10-02T11:00:00Z"`}},
		scenario{name: "counted", body: `{"state":"shelved"}`, status: 200, contains: []string{`"count":1`, `"shelved":1`, `"unacknowledged":{}`}},
		scenario{name: "acknowledged on the shelf", body: `{"action":"acknowledge","alert_id":"ID"}`, status: 409, contains: []string{"is shelved", `"allowed":["shelve","suppress","unshelve"]`}},
	)
	w.clock.add(61 * time.Minute)
	run(
		scenario{name: "the time has ended", body: `{"action":"get","alert_id":"ID"}`, status: 200, contains: []string{`"state":"unack"`, `"at":"2025-10-02T11:00:00Z","actor":"service","reason":"the time has ended"`}, without: []string{"shelved_until"}},
		scenario{name: "acknowledged", body: `{"action":"acknowledge","alert_id":"ID","reason":"on my way"}`, status: 200, contains: []string{`"state":"ack"`, `"acknowledged_by":"own"`, `"acknowledged_at":"2025-10-02T11:01:00Z"`, `"reason":"on my way"`}},
		scenario{name: "acknowledged again", body: `{"action":"acknowledge","alert_id":"ID"}`, status: 200, contains: []string{`"acknowledged_at":"2025-10-02T11:01:00Z"`}},
		scenario{name: "suppressed until yesterday", body: `{"action":"suppress","alert_id":"ID","reason":"work","until":"2025-10-01"}`, status: 400, contains: []string{"Invalid field: until"}},
		scenario{name: "suppressed", body: `{"action":"suppress","alert_id":"ID","reason":"maintenance"}`, status: 200, contains: []string{`"state":"suppressed"`}},
	)
	w.clock.add(time.Hour)
	w.judge(true) // continues unseen
	run(
		scenario{name: "continues", body: `{"state":"suppressed"}`, status: 200, contains: []string{`"count":1`, `"suppressed":1`}},
		scenario{name: "suppressed no more", body: `{"action":"unsuppress","alert_id":"ID"}`, status: 200, contains: []string{`"state":"unack"`}},
	)
	w.clock.add(time.Hour)
	w.judge(false)
	run(
		scenario{name: "returned", body: `{}`, status: 200, contains: []string{`"state":"rtn-unack"`, `"resolved":true`, `"energy_at_risk_kw":0`, `"unacknowledged":{"critical":1}`}},
		scenario{name: "shelved when it is gone", body: `{"action":"shelve","alert_id":"ID","reason":"r","minutes":60}`, status: 409, contains: []string{`"allowed":["acknowledge"]`}},
	)
	w.clock.add(time.Hour)
	w.judge(true)
	run(scenario{name: "fires again", body: `{}`, status: 200, contains: []string{`"count":1`, `"state":"unack"`, `"occurrences":2`, `"resolved":false`, `"reason":"it recurred"`}, without: []string{"resolved_at"}})
	w.judge(false)
	run(
		scenario{name: "seen", body: `{"action":"acknowledge","alert_id":"ID"}`, status: 200, contains: []string{`"state":"cleared"`}},
		scenario{name: "gone from the list", body: `{}`, status: 200, contains: []string{`"alerts":[]`}},
		scenario{name: "among the cleared", body: `{"state":"cleared"}`, status: 200, contains: []string{`"count":1`, `"state":"cleared"`}},
		scenario{name: "too late", body: `{"action":"acknowledge","alert_id":"ID"}`, status: 409, contains: []string{"is cleared", `"allowed":[]`}},
	)
	w.clock.add(time.Hour)
	w.judge(true)
	if a := w.openAlert(); a.AlertID == id || a.State != api.AlertUnacknowledged {
		t.Errorf("what fires after it was cleared is %+v", a)
	}
}

func TestAcknowledgedIssueAcknowledgesItsAlert(t *testing.T) {
	w := newWorld(t, nil)
	w.judge(true)
	scenario{method: http.MethodPost, url: api.PathIssues, key: "own", body: `{"action":"acknowledge","issue_id":"` + w.issue() + `"}`, status: 200}.run(t, w)
	if a := w.openAlert(); a.State != api.AlertAcknowledged || a.AcknowledgedBy != "own" {
		t.Errorf("the alert is %+v", a)
	}
}

func TestUnitsMayHaveTheirOwnDevice(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	scenario{method: http.MethodPost, url: api.PathAssets, key: "admin", status: 200,
		body: `{"action":"add","asset_id":"INV-3","name":"n","type":"inverter","capacity_kw":10,"location":"l","site_id":"Sibaya","terminal_device_id":"TERM-3"}`}.run(t, w)
	w.judge(true)
	scenario{method: http.MethodGet, url: api.PathSiteAlerts + "?site_id=Sibaya" + aDay, key: "own", status: 200, contains: []string{`{"alerts":{"TERM-Sibaya":[{`}, without: []string{"TERM-3"}}.run(t, w)
	scenario{method: http.MethodPost, url: api.PathSites, key: "admin", body: `{"action":"set","site":{"site_id":"Sibaya","terminal_device_id":"  x"}}`, status: 400, contains: []string{"Invalid field: terminal_device_id"}}.run(t, w)
}
