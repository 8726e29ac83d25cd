package httpapi_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/logbuffer"
)

// The log is read newest first, part by part, by administrators of everything
// alone.
func TestLog(t *testing.T) {
	kept := logbuffer.New(nil, slog.LevelInfo)
	w := newWorld(t, func(d *httpapiDeps) { d.Journal = kept })
	log := slog.New(kept)
	for i := range 5 {
		log.Info(fmt.Sprint("event ", i))
	}
	log.Warn("a warning", "site", ownSite)
	ask := func(key, body string, status int) (r api.LogResponse) {
		t.Helper()
		got := w.as(key, http.MethodPost, api.PathLog, body)
		if got.Code != status {
			t.Fatalf("%s: HTTP %d %s", body, got.Code, got.Body)
		}
		if err := json.Unmarshal(got.Body.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	w.key("all", auth.NewKey{Role: api.RoleAdmin, Customers: []string{api.Every}, Sites: []string{api.Every}})
	w.key("limited", auth.NewKey{Role: api.RoleAdmin, Customers: []string{ownCustomer}})
	first := ask("all", `{"limit":4}`, 200)
	if first.Count != 4 || first.Lines[0].Message != "a warning" || first.Lines[0].Details != "site="+ownSite || first.Lines[0].Level != api.LogWarn || first.NextCursor == "" {
		t.Errorf("%+v", first)
	}
	rest := ask("all", fmt.Sprintf(`{"action":"list","limit":4,"cursor":%q}`, first.NextCursor), 200)
	if rest.Count != 2 || rest.Lines[0].Message != "event 1" || rest.NextCursor != "" {
		t.Errorf("%+v", rest)
	}
	if warnings := ask("all", `{"level":"WARN"}`, 200); warnings.Count != 1 {
		t.Errorf("%+v", warnings)
	}
	for _, body := range []string{`{"level":"LOUD"}`, `{"cursor":"x"}`, `{"limit":-1}`, `{"action":"drop"}`} {
		ask("all", body, 400)
	}
	ask("limited", `{}`, 403)
	ask("own", `{}`, 403)
}
