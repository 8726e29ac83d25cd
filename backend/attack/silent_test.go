package attack

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/servetest"
	"app.sunloop/backend/store/pgtest"
	"app.sunloop/backend/store/s3test"
)

// TestFrozenDatabase: with PostgreSQL stopped in the middle of its work a read
// and a write are answered, and after it continues the service serves again.
func TestFrozenDatabase(t *testing.T) {
	const bound = 10 * time.Second
	server := pgtest.Start(t, pgtest.Options{})
	dir, database := t.TempDir(), server.Database(t)
	key, _, _ := strings.Cut(servetest.Admin(t, dir, "", "key", "create", "root", "--role", api.RoleAdmin, "--customers", api.Every, "--store", database), "\n")
	v := &target{Process: servetest.Start(t, dir, "--no-mfa", "--store", database), root: key}
	thaw := server.Freeze(t)
	for _, c := range []struct{ name, path, body string }{
		{"read", api.PathSites, `{"action":"list"}`},
		{"write", api.PathKeys, `{"action":"create","name":"pump","role_id":"role_analyst","customer_ids":["c"]}`},
	} {
		begun := time.Now()
		status, answer := v.post(t, c.path, key, "application/json", strings.NewReader(c.body))
		took := time.Since(begun)
		report(t, row{name: "silent database", tried: "a " + c.name + " while PostgreSQL is frozen", bound: "503 within 10 s",
			measured: fmt.Sprintf("HTTP %d in %s", status, took.Round(10*time.Millisecond)), ok: status == http.StatusServiceUnavailable && took <= bound})
		if status != http.StatusServiceUnavailable {
			t.Errorf("a %s: HTTP %d %s", c.name, status, answer)
		}
	}
	thaw()
	begun := time.Now()
	for late := begun.Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if status, _ := v.post(t, api.PathSites, key, "application/json", strings.NewReader(`{"action":"list"}`)); status == http.StatusOK {
			break
		}
		if time.Now().After(late) {
			t.Fatal("the service does not serve again")
		}
	}
	took := time.Since(begun)
	report(t, row{name: "silent database", tried: "a read after PostgreSQL continues", bound: "200 within 10 s", measured: took.Round(10 * time.Millisecond).String(), ok: took <= bound})
}

// TestSilentBucket: with a bucket that swallows requests reads stay ready, and an
// upload is answered.
func TestSilentBucket(t *testing.T) {
	p := s3test.NewProxy(t, s3test.Bucket(t))
	v := serve(t, "--objects", p.URI)
	key := v.root
	p.Choose(func(*http.Request) s3test.Fault { return s3test.Hang })
	const form = "--x\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n"
	var body strings.Builder
	for _, f := range [][2]string{{"customer_id", "acme"}, {"site_id", "South"}, {"region", "eu"}, {"location", "47.07,15.44"}, {"timezone", "UTC"}} {
		fmt.Fprintf(&body, form, f[0], f[1])
	}
	body.WriteString("--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\ntimestamp,power_kw\n2026-06-12T00:00:00Z,1\n2026-06-12T01:00:00Z,2\n\r\n--x--\r\n")
	for i, c := range []struct {
		what  string
		bound time.Duration
	}{{"the first upload", 10 * time.Second}, {"an upload when the bucket is known to be down", 2 * time.Second}} {
		begun := time.Now()
		status, answer := v.post(t, api.PathUploadNowcast, key, "multipart/form-data; boundary=x", strings.NewReader(body.String()))
		took := time.Since(begun)
		report(t, row{name: "silent bucket", tried: c.what, bound: "503 within " + c.bound.String(),
			measured: fmt.Sprintf("HTTP %d in %s", status, took.Round(10*time.Millisecond)), ok: status == http.StatusServiceUnavailable && took <= c.bound})
		if status != http.StatusServiceUnavailable {
			t.Errorf("upload %d: HTTP %d %s", i, status, answer)
		}
	}
	resp, err := http.Get(v.URL + api.PathReady)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	report(t, row{name: "silent bucket", tried: "/readyz", bound: "HTTP 200", measured: fmt.Sprintf("HTTP %d", resp.StatusCode), ok: resp.StatusCode == http.StatusOK})
}
