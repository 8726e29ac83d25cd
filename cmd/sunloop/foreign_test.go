package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestAnotherServerIsUnknown names with --remote the TLS port of a service by
// http, and a server that is not Sunloop's: nothing is wrong with the command
// line, so each command that reports facts exits with 3.
func TestAnotherServerIsUnknown(t *testing.T) {
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	plain := "http://" + secure.Listener.Addr().String()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "<html>The plain HTTP request was sent to HTTPS port</html>", http.StatusBadRequest)
	}))
	defer other.Close()
	for _, command := range []string{"status", "findings", "alerts", "orders", "forecast", "kpi"} {
		for url, want := range map[string]string{plain: "no answer from " + plain + ": it speaks https; use https://", other.URL: "Bad Request"} {
			for _, more := range [][]string{nil, {"--site", "roof"}} {
				var out, failed bytes.Buffer
				args := append([]string{command, "--remote", url, "--token", "x"}, more...)
				if status := run(t.Context(), args, streams{out: &out, err: &failed}); status != statusUntold || !strings.Contains(failed.String(), want) {
					t.Errorf("sunloop %s exits with %d: %s", strings.Join(args, " "), status, failed.String())
				}
			}
		}
	}
}
