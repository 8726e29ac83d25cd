package health_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/health"
)

// TestHeartbeat: a watchdog is called while the service is well, and not otherwise. What
// changes is logged once, without the URL.
func TestHeartbeat(t *testing.T) {
	var calls []int
	minute, status := 0, http.StatusOK
	watchdog := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ping/secret-uuid" || r.Method != http.MethodGet {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		calls = append(calls, minute)
		w.WriteHeader(status)
	}))
	defer watchdog.Close()
	unwell := map[int][]string{2: {"store: the disk is full"}, 3: {"store: the disk is full"}, 5: {"detection is behind"}}
	ctx, cancel := context.WithCancel(t.Context())
	var log bytes.Buffer
	h := health.Heartbeat{URL: watchdog.URL + "/ping/secret-uuid", Log: slog.New(slog.NewTextHandler(&log, nil)),
		Unwell: func(context.Context) []string { return slices.Clone(unwell[minute]) },
		Wait: func(ctx context.Context, d time.Duration) error {
			if d != time.Minute {
				t.Errorf("waits %s", d)
			}
			if minute++; minute == 10 {
				cancel()
			}
			if status = http.StatusOK; minute == 7 || minute == 8 {
				status = http.StatusNotFound
			}
			return ctx.Err()
		}}
	h.Run(ctx)
	if want := []int{0, 1, 4, 6, 7, 8, 9}; !slices.Equal(calls, want) {
		t.Errorf("called in minutes %v, want %v", calls, want)
	}
	text := log.String()
	if strings.Contains(text, "secret-uuid") || strings.Contains(text, watchdog.URL) {
		t.Errorf("the log contains the URL:\n%s", text)
	}
	if strings.Count(text, "the disk is full") != 1 || strings.Count(text, "detection is behind") != 1 || strings.Count(text, "answered 404") != 1 || strings.Count(text, "sent again") != 3 {
		t.Errorf("log:\n%s", text)
	}
	for _, bad := range []string{"", "watchdog.example.org", "ftp://x/secret-uuid", "https:///secret-uuid", "https://x\n/secret-uuid"} {
		if err := health.CheckHeartbeat(bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	watchdog.Close()
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	log.Reset()
	h.Wait = func(context.Context, time.Duration) error { cancel(); return context.Canceled }
	minute = 0
	h.Run(ctx)
	if text := log.String(); !strings.Contains(text, "not reachable") || strings.Contains(text, "secret") {
		t.Errorf("without a watchdog: %s", text)
	}
}
