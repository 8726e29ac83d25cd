package compat

import (
	"compress/gzip"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"app.sunloop/backend/api"
)

// plainly asks without what net/http does by itself for compressed answers.
func plainly(t *testing.T, method, path string, namesAndValues ...string) (*http.Response, []byte) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, shared.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Accept-Encoding", "identity")
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		q.Header.Set(namesAndValues[i], namesAndValues[i+1])
	}
	resp, err := shared.http.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, b
}

// TestTagsOfEachCoding: a strong tag names bytes, so each coding has its own;
// each is good for the next question, whatever coding that asks for.
func TestTagsOfEachCoding(t *testing.T) {
	for _, path := range []string{
		"/telemetry/inverter?asset_id=" + asset + "&site_id=" + site + "&start=2025-10-01&end=2025-10-03",
		"/forecast?customer_id=" + customer + "&site_id=" + site, "/forecast-snapshot?site_id=" + site, "/openapi.json",
	} {
		_, want := plainly(t, http.MethodGet, path, "x-api-key", shared.key)
		tags := map[string]string{} // coding → tag
		for _, coding := range []string{"identity", "gzip", "zstd"} {
			resp, b := plainly(t, http.MethodGet, path, "x-api-key", shared.key, "Accept-Encoding", coding)
			tag := resp.Header.Get("ETag")
			got := resp.Header.Get("Content-Encoding")
			if resp.StatusCode != http.StatusOK || got != strings.TrimPrefix(coding, "identity") || !strings.Contains(strings.Join(resp.Header.Values("Vary"), ","), "Accept-Encoding") {
				t.Errorf("%s as %s: HTTP %d, Content-Encoding %q, Vary %q", path, coding, resp.StatusCode, got, resp.Header.Values("Vary"))
			}
			if string(decoded(t, got, b)) != string(want) {
				t.Errorf("%s as %s is another text", path, coding)
			}
			for other, seen := range tags {
				if seen == tag && !strings.HasPrefix(tag, "W/") {
					t.Errorf("%s: %s and %s have the strong tag %s", path, other, coding, tag)
				}
			}
			tags[coding] = tag
		}
		for _, tag := range tags {
			for _, coding := range []string{"identity", "gzip", "zstd"} {
				full, _ := plainly(t, http.MethodGet, path, "x-api-key", shared.key, "Accept-Encoding", coding)
				for _, method := range []string{http.MethodGet, http.MethodHead} {
					resp, b := plainly(t, method, path, "x-api-key", shared.key, "Accept-Encoding", coding, "If-None-Match", tag)
					if resp.StatusCode != http.StatusNotModified || len(b) > 0 || resp.Header.Get("ETag") == "" || resp.Header.Get("Content-Length") != "" {
						t.Errorf("%s %s as %s with %s: HTTP %d, ETag %q, Content-Length %q, %d bytes", method, path, coding, tag, resp.StatusCode, resp.Header.Get("ETag"), resp.Header.Get("Content-Length"), len(b))
					}
					for _, name := range []string{"Cache-Control", "Vary"} {
						if got, want := resp.Header.Get(name), full.Header.Get(name); got != want {
							t.Errorf("%s %s as %s: 304 has %s %q, 200 %q", method, path, coding, name, got, want)
						}
					}
				}
			}
		}
		head, b := plainly(t, http.MethodHead, path, "x-api-key", shared.key)
		get, _ := plainly(t, http.MethodGet, path, "x-api-key", shared.key)
		for _, name := range []string{"ETag", "Content-Type", "Content-Length", "Cache-Control", "Vary"} {
			if head.Header.Get(name) != get.Header.Get(name) {
				t.Errorf("HEAD %s: %s is %q, of GET %q", path, name, head.Header.Get(name), get.Header.Get(name))
			}
		}
		if head.StatusCode != http.StatusOK || len(b) > 0 {
			t.Errorf("HEAD %s: HTTP %d, %d bytes", path, head.StatusCode, len(b))
		}
		if strings.HasPrefix(path, "/openapi") {
			continue // that is anybody's
		}
		if resp, _ := plainly(t, http.MethodGet, path, "If-None-Match", tags["identity"]); resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s with a tag and no key: HTTP %d", path, resp.StatusCode)
		}
	}
}

func decoded(t *testing.T, coding string, b []byte) []byte {
	t.Helper()
	var r io.Reader = strings.NewReader(string(b))
	var err error
	switch coding {
	case "gzip":
		r, err = gzip.NewReader(r)
	case "zstd":
		var d *zstd.Decoder
		if d, err = zstd.NewReader(r); err == nil {
			defer d.Close()
			r = d
		}
	}
	if err == nil {
		b, err = io.ReadAll(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// browserOrigin is of pages that may use the JavaScript client.
const browserOrigin = "https://app.example.org"

// TestBrowsers asks as a page does: first whether it may, then with its origin.
func TestBrowsers(t *testing.T) {
	for _, c := range []struct {
		method, path, headers string
	}{
		{http.MethodGet, "/telemetry/data-period?site_id=" + site, "x-api-key"},
		{http.MethodPost, "/terminal/assets", "authorization,content-type"},
		{http.MethodPost, "/upload_train", "authorization"},
		{http.MethodGet, "/forecast-snapshot?site_id=" + site, "if-none-match,x-api-key"},
	} {
		for origin, allowed := range map[string]bool{browserOrigin: true, "https://evil.example.org": false} {
			resp, b := plainly(t, http.MethodOptions, c.path, "Origin", origin, "Access-Control-Request-Method", c.method, "Access-Control-Request-Headers", c.headers)
			if got := resp.Header.Get("Access-Control-Allow-Origin"); (got == origin) != allowed {
				t.Errorf("%s of %s: allowed is %q", c.path, origin, got)
			}
			if !allowed {
				continue
			}
			may := strings.ToLower(resp.Header.Get("Access-Control-Allow-Headers"))
			for name := range strings.SplitSeq(c.headers, ",") {
				if !strings.Contains(may, name) {
					t.Errorf("%s: %s is not among %s", c.path, name, may)
				}
			}
			if resp.StatusCode != http.StatusNoContent || len(b) > 0 || !strings.Contains(resp.Header.Get("Access-Control-Allow-Methods"), c.method) {
				t.Errorf("%s: HTTP %d, methods %s", c.path, resp.StatusCode, resp.Header.Get("Access-Control-Allow-Methods"))
			}
			// A page must be able to read refusals too.
			resp, _ = plainly(t, http.MethodGet, "/telemetry/data-period", "Origin", origin)
			if resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("Access-Control-Allow-Origin") != origin {
				t.Errorf("a refusal: HTTP %d, allowed is %q", resp.StatusCode, resp.Header.Get("Access-Control-Allow-Origin"))
			}
			resp, _ = plainly(t, http.MethodGet, "/forecast-snapshot?site_id="+site, "Origin", origin, "x-api-key", shared.key)
			if may := resp.Header.Get("Access-Control-Expose-Headers"); resp.StatusCode != http.StatusOK || !strings.Contains(may, "ETag") || !strings.Contains(may, "Retry-After") {
				t.Errorf("HTTP %d exposes %q", resp.StatusCode, may)
			}
		}
	}
}

// TestTransport is what a scanner of TLS would look for.
func TestTransport(t *testing.T) {
	address := strings.TrimPrefix(shared.url, "https://")
	if _, err := tls.Dial("tcp", address, &tls.Config{RootCAs: shared.roots, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		c, err := tls.Dial("tcp", address, &tls.Config{RootCAs: shared.roots, MinVersion: version, MaxVersion: version})
		if err != nil {
			t.Errorf("TLS %x: %v", version, err)
			continue
		}
		_ = c.Close()
	}
	for _, h := range api.Hosts() {
		for _, path := range []string{api.PathHealth, api.PathReady} {
			q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, shared.hosts[h]+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			send(t, q).is(object(fields{"success": exactly(true)}))
		}
	}
}

// TestHostsServeOnlyTheirPaths asks every listener for a path of each host.
func TestHostsServeOnlyTheirPaths(t *testing.T) {
	paths := map[api.Host]string{
		api.HostMain: "/uploads?customer_id=" + customer, api.HostTelemetry: "/telemetry/data-period?site_id=" + site, api.HostAlerts: "/ooda/data-period?site_id=" + site,
		api.HostPartner: "/forecast-snapshot?site_id=" + site, api.HostAuth: api.PathSetup, api.HostFreemium: api.PathFreemiumVerify,
	}
	for owner, path := range paths {
		for _, h := range api.Hosts() {
			q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, shared.hosts[h]+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			xAPIKey.set(q, shared.key)
			a := send(t, q, ".first_record", ".last_record")
			switch {
			case h != owner:
				a.refused(http.StatusNotFound, "Not found")
			case h == api.HostFreemium:
				a.refused(http.StatusMethodNotAllowed, "Method not allowed")
			default:
				a.is(object(fields{}))
			}
		}
	}
}
