package httpapi_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/store"
)

// judge records a run of the detector over the first plant, with an outage of
// its unit while ill, and returns the id of its detection.
func (w *world) judge(ill bool) string {
	w.t.Helper()
	return w.judgeOf(ids{ownCustomer, ownSite, ownAsset}, ill)
}

// judgeOf is judge of any plant.
func (w *world) judgeOf(of ids, ill bool) string {
	w.t.Helper()
	now := w.clock.now()
	run := finding.Run{Site: api.Site{SiteID: of.site, CustomerID: of.customer}, ModelVersion: "rules", From: now.Add(-24 * time.Hour), Now: now,
		Units: []string{of.asset}, Requested: []string{of.asset}}
	if ill {
		run.Events = []finding.Event{{Family: "inverter_outage", Units: []string{of.asset}, Start: now.Add(-time.Hour), LastSeen: now, LossFraction: 1, LostKWh: 12,
			EnergyAtRiskKW: 20, Confidence: 0.9, Severity: api.SeverityCritical, Summary: "The unit makes no power.",
			Causes:   []api.Cause{{Cause: "Blown fuse", Confidence: 0.6}, {Cause: "Tripped breaker", Confidence: 0.3}},
			Actions:  []api.Action{{Priority: "high", Action: "Check the fuses"}},
			Evidence: []api.Evidence{{For: true, Text: "Its peers make 40 kW."}}}}
	}
	var out finding.RunResult
	if err := w.changes.Update(w.t.Context(), func(tx store.Tx) (err error) {
		out, err = w.domain.Detections.RecordRun(tx, run)
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
	return out.Detections[of.asset].DetectionID
}

func TestDiagnose(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	well := w.judge(false)
	w.clock.add(2 * time.Hour)
	ill := w.judge(true)
	run := `{"action":"run","asset_id":"` + ownAsset + `"`
	for _, s := range []scenario{
		{name: "no asset", body: `{"action":"run"}`, status: 400, contains: []string{"Missing required field: asset_id"}},
		{name: "no such action", body: `{"action":"guess"}`, status: 400, contains: []string{"Invalid action"}},
		{name: "negative hours", body: run + `,"lookback_hours":-1}`, status: 400, contains: []string{"Invalid field: lookback_hours"}},
		{name: "unknown asset", body: `{"action":"run","asset_id":"INV-0"}`, status: 403, contains: []string{"Access denied"}},
		{name: "another's asset", body: `{"action":"run","asset_id":"` + foreignAsset + `"}`, status: 403, contains: []string{"Access denied"}},
		{name: "unknown detection", body: run + `,"detection_id":"det_0"}`, status: 403, contains: []string{"Access denied"}},
		{name: "an outage", body: run + `}`, status: 200, contains: []string{`"message":"Diagnosis completed"`, `"root_cause":"Blown fuse"`, `"confidence":0.6`,
			`"category":"inverter_outage"`, `"summary":"The unit makes no power."`, `"recommended_actions":[{"priority":"high","action":"Check the fuses"}]`,
			`"evidence":[{"for":true,"text":"Its peers make 40 kW."}]`, `"alternatives":[{"cause":"Tripped breaker","confidence":0.3}]`,
			`"status":"completed"`, `"detection_id":"` + ill + `"`}},
		{name: "before it", body: run + `,"detection_id":"` + well + `"}`, status: 200, contains: []string{`"root_cause":"none"`, `"confidence":0,`,
			`"category":"none"`, `"summary":"No abnormality was detected."`, `"alternatives":[]`}},
		{name: "list", body: `{"action":"list","site_id":"Sibaya"}`, status: 200, contains: []string{`"count":2`, `"severity":"critical"`, `"diagnosed_at":"2025-10-02T12:00:00Z"`}},
		{name: "list of a unit", body: `{"action":"list","asset_id":"` + ownAsset + `"}`, status: 200, contains: []string{`"count":2`}},
	} {
		s.method, s.url, s.key = http.MethodPost, api.PathDiagnose, "own"
		t.Run(s.name, func(t *testing.T) { s.run(t, w) })
	}
	for _, s := range []scenario{
		{name: "diagnostics", body: `{}`, key: "own", status: 200, contains: []string{`"count":2`}},
		{name: "another's diagnostics", body: `{"site_id":"Elsewhere"}`, key: "own", status: 403, contains: []string{"Access denied"}},
	} {
		s.method, s.url = http.MethodPost, api.PathDiagnostics
		t.Run(s.name, func(t *testing.T) { s.run(t, w) })
	}
}

// TestOneSeverity holds each finding against its alert and the partners' signals:
// all have one place on one scale, also while a lower severity is not yet taken
// over, and after the finding has ended.
func TestOneSeverity(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	want := map[string][2]string{ // of each grade: label, alert
		api.PartnerCritical: {api.SeverityCritical, api.AlertCritical}, api.PartnerHigh: {api.SeverityCritical, api.AlertMajor},
		api.PartnerMedium: {api.SeverityWarning, api.AlertModerate}, api.PartnerLow: {api.SeverityNormal, api.AlertMinor},
	}
	start := w.clock.now()
	judge := func(grade string, ended bool) {
		t.Helper()
		now := w.clock.now()
		e := finding.Event{Family: "inverter_outage", Units: []string{ownAsset}, Start: start.Add(-time.Hour), LastSeen: now, LossFraction: 1, Confidence: 0.9,
			Severity: want[grade][0], Grade: grade, Summary: "It is down."}
		if ended {
			e.End = now
		}
		run := finding.Run{Site: api.Site{SiteID: ownSite, CustomerID: ownCustomer}, From: start.Add(-24 * time.Hour), Now: now, Units: []string{ownAsset}, Events: []finding.Event{e}}
		if err := w.store.Update(t.Context(), func(tx store.Tx) error {
			_, err := w.domain.Detections.RecordRun(tx, run)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(path, body string, out any) {
		t.Helper()
		if r := w.as("own", http.MethodPost, path, body); r.Code != 200 || json.Unmarshal(r.Body.Bytes(), out) != nil {
			t.Fatalf("%s: %d %s", path, r.Code, r.Body)
		}
	}
	same := func(name, label, alert string) {
		t.Helper()
		var f api.FindingsResponse
		var a struct{ Alerts []api.Alert }
		ask("/terminal/ooda", `{"action":"list","customer_id":"`+ownCustomer+`","site_id":"`+ownSite+`"}`, &f)
		ask("/terminal/alerts", `{"action":"list","customer_id":"`+ownCustomer+`","site_id":"`+ownSite+`"}`, &a)
		if len(f.MLEnhancedActivities) != 1 || len(a.Alerts) != 1 {
			t.Fatalf("%s: %d findings, %d alerts", name, len(f.MLEnhancedActivities), len(a.Alerts))
		}
		if got := f.MLEnhancedActivities[0]; got.SeverityLabel != label || got.AlertSeverity != alert || a.Alerts[0].AlertSeverity != alert {
			t.Errorf("%s: the finding is %s and %s, its alert %s, want %s and %s", name, got.SeverityLabel, got.AlertSeverity, a.Alerts[0].AlertSeverity, label, alert)
		}
	}
	for _, grade := range []string{api.PartnerLow, api.PartnerMedium, api.PartnerHigh, api.PartnerCritical} {
		judge(grade, false)
		same(grade, want[grade][0], want[grade][1])
		w.clock.add(time.Minute)
	}
	judge(api.PartnerMedium, false)
	same("a lower one at once", api.SeverityCritical, api.AlertCritical)
	w.clock.add(finding.CalmPeriod)
	judge(api.PartnerMedium, false)
	same("a lower one that lasted", api.SeverityWarning, api.AlertModerate)
	judge(api.PartnerMedium, true)
	same("ended", api.SeverityWarning, api.AlertModerate)
}
