package httpapi_test

import (
	"crypto/tls"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/openapi"
)

// TestHeadersOfRefusals: each refusal, and the page, has exactly these headers,
// over TLS and without. What is not named here is not said.
func TestHeadersOfRefusals(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) {
		d.KeyRate = 1
		d.Uploads = panicky{d.Uploads}
	})
	always := map[string]string{"X-Content-Type-Options": "nosniff", "Api-Version": api.Version}
	refused := map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store"}
	rated := map[string]string{"Ratelimit-Policy": `"key";q=1;w=60`, "Ratelimit": `"key";r=0;t=60`}
	cases := []struct {
		name, method, path, key, body string
		status                        int
		more                          []map[string]string
	}{
		{"no credential", http.MethodGet, "/forecast", "", "", 401, []map[string]string{refused, {"Www-Authenticate": "Bearer"}}},
		{"no such path", http.MethodGet, "/no/such", "own", "", 404, []map[string]string{refused}},
		{"another method", http.MethodGet, api.PathLogin, "own", "", 405, []map[string]string{refused, {"Allow": "POST"}}},
		{"too large", http.MethodPost, api.PathLogin, "", strings.Repeat("x", api.MaxJSONBytes+1), 413, []map[string]string{refused}},
		{"a panic", http.MethodPost, "/uploads/upl_1", "own", `{"action":"cancel"}`, 500, []map[string]string{refused, rated}},
		{"too often", http.MethodPost, "/uploads/upl_1", "own", `{"action":"cancel"}`, 429, []map[string]string{refused, rated, {"Retry-After": "60"}}},
		{"the page", http.MethodGet, api.PathDocs, "", "", 200, []map[string]string{{"Content-Type": "text/html; charset=utf-8", "Cache-Control": "private, no-cache", "Content-Security-Policy": openapi.Page().Policy, "Referrer-Policy": "no-referrer"}}},
	}
	plain, secure := httptest.NewServer(w.handler), httptest.NewTLSServer(w.handler)
	defer plain.Close()
	defer secure.Close()
	for _, server := range []*httptest.Server{plain, secure} {
		w.clock.add(2 * 60e9) // the rate window begins again
		for _, c := range cases {
			q, err := http.NewRequestWithContext(t.Context(), c.method, server.URL+c.path, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if c.body != "" {
				q.Header.Set("Content-Type", "application/json")
			}
			if c.key != "" {
				q.Header.Set(api.HeaderAPIKey, w.keys[c.key])
			}
			r, err := (&http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}).Do(q)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, r.Body)
			_ = r.Body.Close()
			want := map[string]string{}
			maps.Copy(want, always)
			for _, m := range c.more {
				maps.Copy(want, m)
			}
			if server == secure {
				want["Strict-Transport-Security"] = "max-age=31536000"
			}
			got := map[string]string{}
			for _, name := range slices.Sorted(maps.Keys(r.Header)) {
				got[name] = strings.Join(r.Header[name], " | ")
			}
			for _, name := range []string{"Date", "Content-Length", "X-Request-Id", "Etag", "Vary", "Connection"} {
				delete(got, name) // another each time, or asserted elsewhere
			}
			if d := cmp.Diff(want, got); r.StatusCode != c.status || d != "" {
				t.Errorf("%s at %.8s: HTTP %d (-want +got):\n%s", c.name, server.URL, r.StatusCode, d)
			}
		}
	}
}
