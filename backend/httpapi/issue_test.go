package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
)

// issue is the id of the first issue of the first plant.
func (w *world) issue() string {
	w.t.Helper()
	list, _, err := w.domain.Issues.Issues(w.t.Context(), api.Unlimited("test"), api.ListQuery{SiteID: ownSite})
	if err != nil || len(list) == 0 {
		w.t.Fatalf("the issues: %v, %v", list, err)
	}
	return list[0].IssueID
}

func TestIssues(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	w.judge(true)
	w.clock.add(time.Hour)
	w.judge(true) // one issue for all the runs
	id := `"issue_id":"` + w.issue() + `"`
	w.key("foreign", auth.NewKey{Sites: []string{foreignSite}})
	const roof = `{"action":"create","site":"Sibaya","component":"roof","issue_type":"leak","description":"It drips","priority":"High"}`
	run := func(list []scenario) {
		t.Helper()
		for _, s := range list {
			s.method, s.url = http.MethodPost, api.PathIssues
			if s.key == "" {
				s.key = "own"
			}
			t.Run(s.name, func(t *testing.T) { s.run(t, w) })
		}
	}
	run([]scenario{
		{name: "no such action", body: `{"action":"delete"}`, status: 400, contains: []string{"Invalid action"}},
		{name: "made of a finding", body: `{"action":"list"}`, status: 200, contains: []string{`"count":1`, id, `"status":"New"`, `"priority":"high"`,
			`"issue_type":"inverter_outage"`, `"energy_at_risk_kw":20`, `"component":"` + ownAsset + `"`, `"description":"The unit makes no power."`, `"history":[{"to":"New","at":"2025-10-02T10:00:00Z","actor":"detector"}]`}},
		{name: "another's list", key: "foreign", body: `{}`, status: 200, contains: []string{`"issues":[]`, `"count":0`}},
		{name: "no issue", body: `{"action":"acknowledge"}`, status: 400, contains: []string{"Missing required field: issue_id"}},
		{name: "unknown issue", body: `{"action":"acknowledge","issue_id":"iss_0"}`, status: 403, contains: []string{"Access denied"}},
		{name: "another's issue", key: "foreign", body: `{"action":"acknowledge",` + id + `}`, status: 403, contains: []string{"Access denied"}},
		{name: "resolved too early", body: `{"action":"resolve",` + id + `,"reason":"looks well"}`, status: 409, contains: []string{"is New: it cannot become Resolved", `"allowed":["In Progress"]`}},
		{name: "acknowledged", body: `{"action":"acknowledge",` + id + `}`, status: 200, contains: []string{`"status":"In Progress"`, `"from":"New","to":"In Progress"`, `"actor":"own"`}},
		{name: "acknowledged again", body: `{"action":"acknowledge",` + id + `}`, status: 200, contains: []string{`"status":"In Progress"`}},
		{name: "no reason", body: `{"action":"resolve",` + id + `}`, status: 400, contains: []string{"Missing required field: reason"}},
		{name: "blank reason", body: `{"action":"resolve",` + id + `,"reason":" "}`, status: 400, contains: []string{"Missing required field: reason"}},
		{name: "resolved", body: `{"action":"resolve",` + id + `,"reason":"fuse replaced"}`, status: 200, contains: []string{`"status":"Resolved"`, `"note":"fuse replaced"`}},
		{name: "acknowledged too late", body: `{"action":"acknowledge",` + id + `}`, status: 409, contains: []string{"is Resolved: it cannot become In Progress", `"allowed":[]`}},
		{name: "no component", body: `{"action":"create","site":"Sibaya"}`, status: 400, contains: []string{"Missing required field: component"}},
		{name: "no such priority", body: strings.Replace(roof, "High", "urgent", 1), status: 400, contains: []string{"Invalid field: priority"}},
		{name: "unknown site", key: "admin", body: strings.Replace(roof, "Sibaya", "Nowhere", 1), status: 404, contains: []string{"Site not found"}},
		{name: "another's site", body: strings.Replace(roof, "Sibaya", "Elsewhere", 1), status: 403, contains: []string{"Access denied"}},
		{name: "created", body: roof, status: 200, contains: []string{`"message":"Issue created"`, `"status":"New"`, `"priority":"high"`, `"component":"roof"`}},
		{name: "created twice", body: roof, status: 409, contains: []string{"is open for this already"}},
		{name: "both", body: `{}`, status: 200, contains: []string{`"count":2`}},
	})
	w.clock.add(time.Hour)
	w.judge(true) // lasts: a person has seen to it
	run([]scenario{{name: "stays resolved", body: `{"action":"list","asset_id":"` + ownAsset + `"}`, status: 200, contains: []string{`"count":1`, `"status":"Resolved"`}, without: []string{"reopened"}}})
	w.clock.add(time.Hour)
	w.judge(false)
	w.clock.add(50 * time.Hour)
	w.judge(true)
	run([]scenario{{name: "fires again", body: `{"action":"list","asset_id":"` + ownAsset + `"}`, status: 200, contains: []string{`"count":1`, id, `"status":"In Progress"`, `"reopened":1`}}})
	w.clock.add(time.Hour)
	w.judge(false)
	run([]scenario{{name: "clears", body: `{"action":"list","asset_id":"` + ownAsset + `"}`, status: 200, contains: []string{`"status":"Resolved"`, `"actor":"detector","note":"auto"`, `"energy_at_risk_kw":0`}}})
	w.clock.add(100 * time.Hour)
	w.judge(true)
	run([]scenario{{name: "a new one after three days", body: `{"action":"list","asset_id":"` + ownAsset + `"}`, status: 200, contains: []string{`"count":2`, `"status":"New"`}}})
}
