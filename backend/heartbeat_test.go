package backend

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
)

// TestHeartbeatOfTheService: a service that is well calls the watchdog. One whose
// detection is behind is not well, and one whose parts are not ready neither.
func TestHeartbeatOfTheService(t *testing.T) {
	calls := make(chan string, 100)
	watchdog := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { calls <- r.Method + " " + r.URL.Path }))
	defer watchdog.Close()
	h := open(t, Config{DataDir: t.TempDir(), Now: time.Now, Heartbeat: watchdog.URL + "/ping/1"})
	select {
	case got := <-calls:
		if got != "GET /ping/1" {
			t.Errorf("called by %s", got)
		}
	case <-time.After(time.Minute):
		t.Fatal("the watchdog is not called")
	}
	if reasons := h.service.unwell(t.Context()); len(reasons) > 0 {
		t.Errorf("not well: %v", reasons)
	}
	o := h.service.opened.Load()
	err := o.records.Update(t.Context(), func(tx store.Tx) error {
		for id, change := range map[string]func(*sitedata.State){
			"behind":  func(s *sitedata.State) { s.Data, s.DetectData, s.DetectAt = 2, 1, time.Now().Add(-3*time.Hour) },
			"current": func(s *sitedata.State) { s.Data, s.DetectData, s.DetectAt = 2, 2, time.Now().Add(-3*time.Hour) },
			"new":     func(s *sitedata.State) { s.Data, s.Rhythm.Last = 1, time.Now() },
		} {
			if _, err := sitedata.UpdateState(tx, id, func(s *sitedata.State) { s.CustomerID = "acme"; change(s) }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// The planner may run the detection of the site, which does not exist, at any time.
	if n, err := o.pipeline.DetectionBehind(t.Context()); err != nil || n > 1 {
		t.Errorf("%d sites are behind, %v", n, err)
	}
	h.service.health.End()
	if reasons := strings.Join(h.service.unwell(t.Context()), "; "); !strings.HasPrefix(reasons, "service: ") {
		t.Errorf("while it ends: %q", reasons)
	}
}
