package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/store"
)

// TestSnapshotMayBeKept: a partner's client may keep a snapshot for a minute,
// and asks then whether it is still the same. Between two makings it is, byte
// by byte; a site id may hold a space.
func TestSnapshotMayBeKept(t *testing.T) {
	w := newWorld(t, nil)
	w.measure(secondSite, secondAsset, "Africa/Johannesburg", time.Date(2025, 9, 30, 22, 0, 0, 0, time.UTC), 288)
	second := url.QueryEscape(secondSite)
	paths := []string{"/kpi-rollup?site_id=" + second, "/maintenance-signals?site_id=" + second, "/maintenance-schedule?site_id=" + second,
		"/maintenance-signals?severity=HIGH&site_id=" + second, "/snapshot?kind=kpi-rollup&site_id=" + second, "/forecast-snapshot?site_id=" + ownSite, "/snapshot?kind=forecast&site_id=" + ownSite}
	for _, path := range paths[:5] {
		if r := w.as("customer", http.MethodGet, path, ""); r.Code != 404 || !strings.Contains(r.Body.String(), `"error":"Not found"`) {
			t.Errorf("%s before it was made: %d %s", path, r.Code, r.Body)
		}
	}
	if err := w.partner.Make(t.Context(), secondSite, w.clock.now()); err != nil {
		t.Fatal(err)
	}
	bodies := map[string]string{}
	for _, path := range paths {
		r := w.as("customer", http.MethodGet, path, "")
		tag := r.Header().Get("ETag")
		if r.Code != 200 || !strings.HasPrefix(tag, `"`) || r.Header().Get("Cache-Control") != "private, max-age=60" {
			t.Fatalf("%s: %d, %v", path, r.Code, r.Header())
		}
		bodies[path] = r.Body.String()
		w.clock.add(10 * time.Minute)
		if r = w.as("customer", http.MethodGet, path, ""); r.Body.String() != bodies[path] || r.Header().Get("ETag") != tag {
			t.Errorf("%s is another without a making: %s, was %s", path, r.Body, bodies[path])
		}
		r = w.as("customer", http.MethodGet, path, "", "If-None-Match", tag)
		if r.Code != 304 || r.Body.Len() != 0 || r.Header().Get("ETag") != tag || r.Header().Get("Cache-Control") != "private, max-age=60" {
			t.Errorf("%s again: %d %q, %v", path, r.Code, r.Body, r.Header())
		}
	}
	if bodies[paths[0]] != bodies[paths[4]] || bodies[paths[5]] != bodies[paths[6]] {
		t.Error("/snapshot answers another document than the path of the kind")
	}
	w.clock.add(2 * time.Hour)
	if err := w.partner.Make(t.Context(), secondSite, w.clock.now()); err != nil {
		t.Fatal(err)
	}
	if r := w.as("customer", http.MethodGet, paths[0], ""); r.Code != 200 || r.Body.String() == bodies[paths[0]] {
		t.Errorf("made again it is still %s", r.Body)
	}
}

func TestSnapshotsRefuse(t *testing.T) {
	w := newWorld(t, nil)
	for path, want := range map[string]struct {
		status int
		words  string
	}{
		"/kpi-rollup":                                                {400, "Missing required parameter: site_id"},
		"/maintenance-signals":                                       {400, "Missing required parameter: site_id"},
		"/maintenance-schedule":                                      {400, "Missing required parameter: site_id"},
		"/snapshot?kind=forecast":                                    {400, "Missing required parameter: site_id"},
		"/snapshot?site_id=Sibaya":                                   {400, "Missing required parameter: kind"},
		"/snapshot?site_id=Sibaya&kind=battery":                      {400, "Invalid parameter: kind"},
		"/snapshot?site_id=Sibaya&kind=weather":                      {400, `there is no snapshot \"weather\"`},
		"/maintenance-signals?site_id=Sibaya&since=soon":             {400, "Invalid parameter: since"},
		"/maintenance-signals?site_id=Sibaya&severity=bad":           {400, "Invalid parameter: severity"},
		"/snapshot?site_id=Sibaya&kind=maintenance-signals&since=no": {400, "Invalid parameter: since"},
		"/kpi-rollup?site_id=Elsewhere":                              {403, "Access denied"},
		"/kpi-rollup?site_id=Second+Site":                            {403, "Access denied"}, // the key is for Sibaya alone
		"/snapshot?kind=maintenance-signals&site_id=Second+Site":     {403, "Access denied"},
		"/maintenance-schedule?site_id=Sibaya":                       {404, "Not found"},
	} {
		if r := w.as("own", http.MethodGet, path, ""); r.Code != want.status || !strings.Contains(r.Body.String(), want.words) {
			t.Errorf("%s: %d %s, want %d %s", path, r.Code, r.Body, want.status, want.words)
		}
	}
	if r := w.as("customer", http.MethodGet, "/kpi-rollup?site_id=Elsewhere", ""); r.Code != 403 {
		t.Errorf("another customer's site: %d %s", r.Code, r.Body)
	}
}

// TestSignalsByCursor: a cursor asks for what came after it.
func TestSignalsByCursor(t *testing.T) {
	w := newWorld(t, nil)
	w.measure(ownSite, ownAsset, "Africa/Johannesburg", time.Date(2025, 9, 30, 22, 0, 0, 0, time.UTC), 288)
	site, err := w.domain.Sites.Site(t.Context(), api.Unlimited("test"), ownSite)
	if err != nil {
		t.Fatal(err)
	}
	judge := func(events ...finding.Event) {
		t.Helper()
		now := w.clock.now()
		err := w.store.Update(t.Context(), func(tx store.Tx) error {
			_, err := w.domain.Detections.RecordRun(tx, finding.Run{Site: site, From: now.Add(-60 * 24 * time.Hour), Now: now, Units: []string{ownAsset}, Events: events})
			return err
		})
		if err == nil {
			err = w.partner.Make(t.Context(), ownSite, now)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ask := func(more string) (m api.MaintenanceSignals) {
		t.Helper()
		r := w.as("own", http.MethodGet, "/maintenance-signals?site_id="+ownSite+more, "")
		if err := json.Unmarshal(r.Body.Bytes(), &m); err != nil || r.Code != 200 {
			t.Fatalf("%d %s, %v", r.Code, r.Body, err)
		}
		return m
	}
	now := w.clock.now()
	outage := finding.Event{Family: "inverter_outage", Units: []string{ownAsset}, Start: now.Add(-2 * time.Hour), LastSeen: now, LossFraction: 1, Severity: api.SeverityCritical, Grade: api.PartnerHigh, Summary: "It is down."}
	judge(outage)
	first := ask("")
	if len(first.Signals) != 1 || first.Cursor != "2025-10-02T08:00:00Z" || first.Signals[0].Type != api.SignalZero || first.Signals[0].Timestamp.String() != first.Cursor {
		t.Fatalf("%+v", first)
	}
	if m := ask("&since=" + first.Cursor); len(m.Signals) != 0 || m.Summary.BySeverity == nil || m.Cursor != first.Cursor {
		t.Errorf("nothing is new: %+v", m)
	}
	w.clock.add(time.Hour)
	hot := finding.Event{Family: "thermal_derating", Units: []string{ownAsset}, Start: now.Add(-3 * time.Hour), LastSeen: w.clock.now(), LossFraction: 0.1, Severity: api.SeverityWarning, Grade: api.PartnerMedium, Summary: "It is hot."}
	judge(outage, hot)
	// It began before the cursor, but was not known then.
	m := ask("&since=" + first.Cursor)
	if len(m.Signals) != 1 || m.Signals[0].Type != api.SignalTemperature || m.Summary.ByType[api.SignalTemperature] != 1 || m.Summary.ByAsset[ownAsset] != 1 || m.Signals[0].StartedAt.String() != "2025-10-02T07:00:00Z" {
		t.Errorf("what is new: %+v", m)
	}
	if again := ask("&since=" + m.Cursor); len(again.Signals) != 0 {
		t.Errorf("reported twice: %+v", again)
	}
	if all, high := ask("&since=2025-10-01"), ask("&severity=hIgH"); len(all.Signals) != 2 || len(high.Signals) != 1 || high.Summary.BySeverity[api.PartnerHigh] != 1 || len(high.Summary.BySeverity) != 1 {
		t.Errorf("all %+v, of high severity %+v", all, high)
	}
}
