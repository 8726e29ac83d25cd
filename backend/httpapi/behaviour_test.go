package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/httpapi"
	"github.com/google/go-cmp/cmp"
)

func TestSixtyOneInAMinute(t *testing.T) {
	w := newWorld(t, nil)
	const url = "/telemetry/data-period?site_id=" + ownSite
	for i := range 60 {
		r := w.as("own", http.MethodGet, url, "")
		if r.Code != 200 || r.Header().Get("RateLimit") != fmt.Sprintf(`"key";r=%d;t=%d`, 59-i, 60-i/2) || r.Header().Get("RateLimit-Policy") != `"key";q=60;w=60` {
			t.Fatalf("request %d: %d, RateLimit %s", i+1, r.Code, r.Header().Get("RateLimit"))
		}
		w.clock.add(500 * time.Millisecond)
	}
	r := w.as("own", http.MethodGet, url, "")
	if r.Code != 429 || !strings.Contains(r.Body.String(), `"Too many requests"`) {
		t.Fatalf("request 61: %d %s", r.Code, r.Body)
	}
	if other := w.as("customer", http.MethodGet, url, ""); other.Code != 200 {
		t.Errorf("another key: %d", other.Code)
	}
	if other := w.as("own", http.MethodPost, "/terminal/assets", `{"action":"list"}`); other.Code != 200 {
		t.Errorf("another API: %d", other.Code)
	}
	wait, err := strconv.Atoi(r.Header().Get("Retry-After"))
	if err != nil || wait != 30 {
		t.Fatalf("Retry-After %q", r.Header().Get("Retry-After"))
	}
	w.clock.add(time.Duration(wait)*time.Second - 501*time.Millisecond)
	if early := w.as("own", http.MethodGet, url, ""); early.Code != 429 {
		t.Errorf("too early: %d", early.Code)
	}
	w.clock.add(501 * time.Millisecond)
	if after := w.as("own", http.MethodGet, url, ""); after.Code != 200 {
		t.Errorf("after Retry-After: %d", after.Code)
	}
}

func TestRefusedRequestsDoNotCount(t *testing.T) {
	w := newWorld(t, nil)
	for range 100 {
		for url, want := range map[string]int{
			"/telemetry/data-period":                        400,
			"/telemetry/nowhere":                            404,
			"/telemetry/data-period?site_id=" + foreignSite: 403,
		} {
			if r := w.as("own", http.MethodGet, url, ""); r.Code != want {
				t.Fatalf("%s: %d", url, r.Code)
			}
		}
	}
	if r := w.as("own", http.MethodGet, "/telemetry/data-period?site_id="+ownSite, ""); !strings.Contains(r.Header().Get("RateLimit"), "r=59") {
		t.Errorf("RateLimit %s", r.Header().Get("RateLimit"))
	}
	token := w.user("person", api.RoleAnalyst, ownCustomer)
	if r := w.ask(http.MethodGet, "/telemetry/data-period?site_id="+ownSite, "", "Authorization", "Bearer "+token); r.Header().Get("RateLimit-Policy") != `"user";q=600;w=60` {
		t.Errorf("a person's policy is %s", r.Header().Get("RateLimit-Policy"))
	}
}

func TestConditional(t *testing.T) {
	w := newWorld(t, nil)
	w.measure(ownSite, ownAsset, "Africa/Johannesburg", time.Date(2025, 9, 30, 22, 0, 0, 0, time.UTC), 100)
	inverter := "/telemetry/inverter?asset_id=" + ownAsset + "&site_id=" + ownSite + "&start=2025-09-30&end=2025-10-02"
	for _, c := range []struct{ name, method, url, body string }{
		{"telemetry", http.MethodGet, inverter, ""},
		{"forecast", http.MethodGet, "/forecast?customer_id=customer123", ""},
		{"terminal", http.MethodPost, "/terminal/assets", `{"action":"list"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			full := w.as("own", c.method, c.url, c.body)
			tag := full.Header().Get("ETag")
			if full.Code != 200 || !strings.HasPrefix(tag, `"`) || len(tag) != 34 {
				t.Fatalf("%d, tag %q", full.Code, tag)
			}
			for _, sent := range []string{tag, "W/" + tag, `"other", ` + tag, tag[:33] + `-gzip"`} {
				r := w.as("own", c.method, c.url, c.body, "If-None-Match", sent)
				if r.Code != 304 || r.Body.Len() != 0 || r.Header().Get("ETag") == "" || r.Header().Get("Content-Type") != "" || r.Header().Get("Cache-Control") != "private, no-cache" || r.Header().Get("Vary") == "" {
					t.Errorf("If-None-Match %s: %d %v", sent, r.Code, r.Header())
				}
			}
			if r := w.as("own", c.method, c.url, c.body, "If-None-Match", `"other"`); r.Code != 200 {
				t.Errorf("another tag: %d", r.Code)
			}
			if r := w.ask(c.method, c.url, c.body, "If-None-Match", tag); r.Code != 401 {
				t.Errorf("a tag without a credential: %d", r.Code)
			}
		})
	}
	page := inverter + "&limit=1000"
	before := w.as("own", http.MethodGet, page, "").Header().Get("ETag")
	w.measure(ownSite, ownAsset, "Africa/Johannesburg", time.Date(2025, 9, 30, 22, 0, 0, 0, time.UTC), 101)
	if r := w.as("own", http.MethodGet, page, "", "If-None-Match", before); r.Code != 200 || r.Header().Get("ETag") == before {
		t.Errorf("after a new sample: %d, tag %s", r.Code, r.Header().Get("ETag"))
	}
}

func TestCompressedAnswersHaveTheirOwnTag(t *testing.T) {
	w := newWorld(t, nil)
	w.measure(ownSite, ownAsset, "Africa/Johannesburg", time.Date(2025, 9, 30, 22, 0, 0, 0, time.UTC), 288)
	url := "/telemetry/inverter?asset_id=" + ownAsset + "&site_id=" + ownSite + "&start=2025-09-30&end=2025-10-02"
	plain := w.as("own", http.MethodGet, url, "")
	tags := map[string]bool{plain.Header().Get("ETag"): true}
	for _, coding := range []string{"gzip", "zstd"} {
		r := w.as("own", http.MethodGet, url, "", "Accept-Encoding", coding)
		if r.Header().Get("Content-Encoding") != coding || r.Header().Get("Content-Length") == plain.Header().Get("Content-Length") || r.Body.Len() >= plain.Body.Len() {
			t.Errorf("%s: %v", coding, r.Header())
		}
		tags[r.Header().Get("ETag")] = true
		if coding == "gzip" {
			z, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(z); err != nil || !bytes.Equal(b, plain.Body.Bytes()) {
				t.Errorf("gzip body differs: %v", err)
			}
		}
	}
	if len(tags) != 3 {
		t.Errorf("tags %v: want three", tags)
	}
	for tag := range tags {
		if r := w.as("own", http.MethodGet, url, "", "Accept-Encoding", "gzip", "If-None-Match", tag); r.Code != 304 || r.Header().Get("ETag") != tag {
			t.Errorf("If-None-Match %s: %d, tag %s", tag, r.Code, r.Header().Get("ETag"))
		}
	}
}

func TestUploadForms(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	csv := "timestamp,power\n2025-10-01T00:00:00Z,1\n\n2025-10-01T00:05:00Z,2\n"
	all := []string{"customer_id", ownCustomer, "site_id", ownSite, "region", "af-south-1", "location", "Durban"}
	big := strings.Repeat("2025-10-01T00:00:00Z,1\n", api.MaxUploadBytes/23+1)
	for _, c := range []struct {
		name, path string
		form       []string
		status     int
		contains   string
	}{
		{"file last", api.PathUploadTrain, append(all, "file", csv), 200, `"upload_id":"upl_1"`},
		{"file first", api.PathUploadNowcast, append([]string{"file", csv}, all...), 200, `"processing_status":"queued"`},
		{"no file", api.PathUploadTrain, all, 400, "CSV file is required"},
		{"an empty file", api.PathUploadTrain, append(all, "file", ""), 400, `"upload_id":"upl_r1"`},
		{"an empty file first", api.PathUploadTrain, append([]string{"file", ""}, all...), 400, `"upload_id":"upl_r2"`},
		{"two files", api.PathUploadTrain, append(all, "file", csv, "file", csv), 400, "Invalid parameter: file"},
		{"no customer", api.PathUploadTrain, append(all[2:], "file", csv), 400, "Missing required parameter: customer_id"},
		{"no region", api.PathUploadTrain, []string{"customer_id", ownCustomer, "site_id", ownSite, "location", "l", "file", csv}, 400, "Missing required parameter: region"},
		{"a wild capacity", api.PathUploadTrain, append(all, "capacity_kw", "NaN", "file", csv), 400, "Invalid parameter: capacity_kw"},
		{"a field too long", api.PathUploadTrain, append(all, "location", strings.Repeat("x", 5000), "file", csv), 400, "Invalid parameter: location"},
		{"a foreign site", api.PathUploadTrain, []string{"customer_id", ownCustomer, "site_id", foreignSite, "region", "r", "location", "l", "file", csv}, 403, "Access denied"},
		{"the largest file", api.PathUploadTrain, append(all, "file", big[:api.MaxUploadBytes]), 200, `"queued"`},
		{"a byte more", api.PathUploadTrain, append(all, "file", big[:api.MaxUploadBytes+1]), 413, `"error":"File too large: the limit is 10 MB"`},
		{"a byte more, with its record", api.PathV1UploadTrain, append([]string{"site_id", ownSite}, "file", big[:api.MaxUploadBytes+1]), 413, `"upload_id":"upl_r4"`},
		{"a byte more before whose it is", api.PathUploadTrain, append([]string{"file", big[:api.MaxUploadBytes+1]}, all...), 413, "File too large: the limit is 10 MB"},
		{"v1", api.PathV1UploadTrain, []string{"file", csv, "site_id", ownSite, "data_type", "training"}, 200, `"data_points":2`},
		{"v1 without a type", api.PathV1UploadNowcast, []string{"file", csv, "site_id", ownSite}, 200, `"validation":{"status":"queued"}`},
		{"v1 with the other type", api.PathV1UploadNowcast, []string{"file", csv, "site_id", ownSite, "data_type", "training"}, 400, "Invalid parameter: data_type"},
		{"v1 without a site", api.PathV1UploadTrain, []string{"file", csv}, 400, "Missing required parameter: site_id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			body, contentType := formOf(c.form...)
			r := w.as("own", http.MethodPost, c.path, body, "Content-Type", contentType)
			if r.Code != c.status || !strings.Contains(r.Body.String(), c.contains) {
				t.Errorf("%d %s, want %d with %s", r.Code, r.Body, c.status, c.contains)
			}
		})
	}
	if got := w.uploads.reqs[0]; got.CustomerID != ownCustomer || got.Kind != api.UploadTrain || got.Filename != "data.csv" || got.Bytes != int64(len(csv)) || got.Region != "af-south-1" {
		t.Errorf("request %+v", got)
	}
	if v1 := w.uploads.reqs[len(w.uploads.reqs)-1]; v1.CustomerID != ownCustomer {
		t.Errorf("the customer of a v1 upload is %q", v1.CustomerID)
	}
	if r := w.uploads.refused; len(r) != 4 || r[3].CustomerID != ownCustomer || r[2].Bytes <= api.MaxUploadBytes || r[1].SiteID != ownSite {
		t.Errorf("refused %+v", r)
	}
	if string(w.uploads.file) != csv {
		t.Errorf("file %q", w.uploads.file)
	}
	left, err := os.ReadDir(w.deps.SpoolDir)
	if err != nil || len(left) != 0 {
		t.Errorf("spool holds %v, %v", left, err)
	}
}

// endless is a body of a gigabyte that counts what is read of it.
type endless struct{ left, read int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	for i := range p[:n] {
		p[i] = '1'
	}
	e.left -= n
	e.read += n
	return n, nil
}

func TestHugeBodyIsRefusedEarly(t *testing.T) {
	w := newWorld(t, nil)
	for credential, status := range map[string]int{w.keys["own"]: 413, "bad": 401} {
		e := &endless{left: 1 << 30}
		form := io.MultiReader(strings.NewReader("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n"), e)
		q := httptest.NewRequest(http.MethodPost, api.PathUploadTrain, form)
		q.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		q.Header.Set("Authorization", "Bearer "+credential)
		r := httptest.NewRecorder()
		w.handler.ServeHTTP(r, q)
		if r.Code != status || e.read > 11<<20 {
			t.Errorf("%d after %d bytes", r.Code, e.read)
		}
	}
	// A part that is passed over counts too.
	e := &endless{left: 64 << 20}
	q := httptest.NewRequest(http.MethodPost, api.PathUploadTrain, io.MultiReader(strings.NewReader("--b\r\nX: y\r\n\r\n"), e))
	q.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	q.Header.Set("Authorization", "Bearer "+w.keys["own"])
	r := httptest.NewRecorder()
	if w.handler.ServeHTTP(r, q); r.Code != 413 || e.read > 11<<20 {
		t.Errorf("a part without a name: %d after %d bytes", r.Code, e.read)
	}
	for path, credential := range map[string]string{api.PathLogin: "", "/terminal/assets": w.keys["own"], api.PathExchange: ""} {
		e := &endless{left: 64 << 20}
		q := httptest.NewRequest(http.MethodPost, path, io.MultiReader(strings.NewReader(`{"username":"`), e))
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("Authorization", "Bearer "+credential)
		r := httptest.NewRecorder()
		w.handler.ServeHTTP(r, q)
		if r.Code != 413 || e.read > 11<<20 {
			t.Errorf("%s: %d after %d bytes", path, r.Code, e.read)
		}
	}
}

func TestOddPartsOfAForm(t *testing.T) {
	w := newWorld(t, nil)
	form := func(part string) *httptest.ResponseRecorder {
		body := "--b\r\n" + part + "\r\n--b\r\nContent-Disposition: form-data; name=\"capacity_kw\"\r\n\r\nmuch\r\n--b--\r\n"
		return w.as("own", http.MethodPost, api.PathUploadNowcast, body, "Content-Type", "multipart/form-data; boundary=b")
	}
	// A part without a name is passed over, however long: the next field is
	// the one refused.
	for _, part := range []string{"Content-Disposition: form-data\r\n\r\nx", "X: y\r\n\r\n" + strings.Repeat("x", 100000)} {
		if r := form(part); r.Code != 400 || !strings.Contains(r.Body.String(), "Invalid parameter: capacity_kw") {
			t.Errorf("a part without a name: %d %s", r.Code, r.Body)
		}
	}
	for _, part := range []string{"no header\r\n\r\nx", "Content-Disposition: form-data; name=\"file\"; filename=\"a\x01.csv\"\r\n\r\nx"} {
		if r := form(part); r.Code != 400 || !strings.Contains(r.Body.String(), "Invalid multipart form") || !strings.Contains(r.Body.String(), "malformed MIME header") {
			t.Errorf("a part with a bad header: %d %s", r.Code, r.Body)
		}
	}
}

// TestLongNamesInAForm: a name that is refused is not sent back.
func TestLongNamesInAForm(t *testing.T) {
	w := newWorld(t, nil)
	body := "--b\r\nContent-Disposition: form-data; name=\"" + strings.Repeat("n", 1<<20) + "\"\r\n\r\n" + strings.Repeat("v", 5000) + "\r\n--b--\r\n"
	r := w.as("own", http.MethodPost, api.PathUploadTrain, body, "Content-Type", "multipart/form-data; boundary=b")
	if r.Code != 400 || r.Body.Len() > 1000 || !strings.Contains(r.Body.String(), "Invalid multipart form") {
		t.Errorf("%d with %d bytes", r.Code, r.Body.Len())
	}
}

func TestIdempotencyKey(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	const body = `{"action":"run","asset_id":"` + ownAsset + `"}`
	run := func(caller, key, body string) *httptest.ResponseRecorder {
		return w.as(caller, http.MethodPost, api.PathDetect, body, "Idempotency-Key", key)
	}
	first, again := run("own", "k1", body), run("own", "k1", body)
	if first.Code != 200 || first.Body.String() != again.Body.String() || again.Header().Get("Idempotency-Replayed") != "true" || first.Header().Get("Idempotency-Replayed") != "" {
		t.Errorf("first %d %s, again %s", first.Code, first.Body, again.Body)
	}
	if r := run("own", "k1", strings.Replace(body, `"run"`, `"run" `, 1)); r.Code != 422 {
		t.Errorf("another body: %d %s", r.Code, r.Body)
	}
	if r := run("customer", "k1", body); r.Code != 200 || r.Body.String() == first.Body.String() {
		t.Errorf("another caller: %d %s", r.Code, r.Body)
	}
	w.detects.fail = errors.New("broken")
	if r := run("own", "k2", body); r.Code != 500 {
		t.Errorf("failing: %d", r.Code)
	}
	w.detects.fail = nil
	if r := run("own", "k2", body); r.Code != 200 || r.Header().Get("Idempotency-Replayed") != "" {
		t.Errorf("a failure was kept: %d %v", r.Code, r.Header())
	}
	w.clock.add(25 * time.Hour)
	if r := run("own", "k1", body); r.Body.String() == first.Body.String() {
		t.Error("an answer was kept beyond 24 hours")
	}
	if r := w.as("own", http.MethodPost, api.PathDetect, body, "Idempotency-Key", strings.Repeat("k", 256)); r.Code != 400 {
		t.Errorf("a long key: %d", r.Code)
	}
}

func TestFiftyEqualCreatesMakeOne(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	body := `{"action":"run","asset_id":"` + ownAsset + `"}`
	answers := make([]string, 50)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			answers[i] = w.as("own", http.MethodPost, api.PathDetect, body, "Idempotency-Key", "same").Body.String()
		})
	}
	wg.Wait()
	for _, a := range answers {
		if a != answers[0] || !strings.Contains(a, "det_1") {
			t.Errorf("answer %s", a)
		}
	}
	if w.detects.runs != 1 {
		t.Errorf("%d runs", w.detects.runs)
	}
}

func TestSetupAtTheMachine(t *testing.T) {
	w := newWorld(t, nil)
	token, err := w.auth.SetupToken(t.Context())
	if err != nil || token == "" {
		t.Fatalf("setup token %q, %v", token, err)
	}
	if again, err := w.auth.SetupToken(t.Context()); err != nil || again != token {
		t.Errorf("another setup token %q, %v", again, err)
	}
	with := func(token, remote string, headers ...string) *httptest.ResponseRecorder {
		body := `{"username":"first","password":"` + password + `","setup_token":"` + token + `"}`
		q := httptest.NewRequest(http.MethodPost, api.PathSetup, strings.NewReader(body))
		q.RemoteAddr = remote
		for i := 0; i+1 < len(headers); i += 2 {
			q.Header.Set(headers[i], headers[i+1])
		}
		r := httptest.NewRecorder()
		w.handler.ServeHTTP(r, q)
		return r
	}
	post := func(remote string, headers ...string) *httptest.ResponseRecorder {
		return with(token, remote, headers...)
	}
	// A proxy that adds no header: every caller looks like one at the machine.
	for i, wrong := range []string{"", "nonsense", token[1:], strings.Repeat("a", len(token)), "x", "y"} {
		r, want := with(wrong, "127.0.0.1:4711"), http.StatusForbidden
		if i >= 5 {
			want = http.StatusTooManyRequests
		}
		if r.Code != want || want == http.StatusForbidden && !strings.Contains(r.Body.String(), "the setup token is missing or wrong") {
			t.Errorf("setup token %q: HTTP %d %s", wrong, r.Code, r.Body)
		}
	}
	if r := w.ask(http.MethodGet, api.PathSetup, ""); !strings.Contains(r.Body.String(), `"needs_admin":true,"needs_token":true`) {
		t.Errorf("status %s", r.Body)
	}
	for name, r := range map[string]*httptest.ResponseRecorder{
		"from elsewhere":    post("192.0.2.1:4711"),
		"through a proxy":   post("127.0.0.1:4711", "X-Forwarded-For", "192.0.2.1"),
		"from a browser":    post("127.0.0.1:4711", "Origin", "http://localhost"),
		"a claimed address": post("in-process:1"),
	} {
		if r.Code != 403 {
			t.Errorf("%s: %d", name, r.Code)
		}
	}
	// The right token is not slowed by wrong ones; it may be typed in any case.
	r := with(strings.ToUpper(strings.ReplaceAll(token, "-", " ")), "127.0.0.1:4711")
	var a api.LoginResponse
	if err := json.Unmarshal(r.Body.Bytes(), &a); err != nil || r.Code != 200 || a.Token == "" || a.User.RoleID != api.RoleAdmin {
		t.Fatalf("%d %s", r.Code, r.Body)
	}
	for _, token := range []string{token, "", "nonsense"} {
		if r := with(token, "127.0.0.1:4711"); r.Code != 409 {
			t.Errorf("a second one with the token %q: %d", token, r.Code)
		}
	}
	if left, err := w.auth.SetupToken(t.Context()); left != "" || err != nil {
		t.Errorf("a setup token after the setup: %q, %v", left, err)
	}
	if r := w.ask(http.MethodGet, api.PathSetup, ""); !strings.Contains(r.Body.String(), `"needs_admin":false`) {
		t.Errorf("status %s", r.Body)
	}
}

// TestSetupInTheProcess: the embedded console needs no setup token.
func TestSetupInTheProcess(t *testing.T) {
	w := newWorld(t, nil)
	ask := func(method, body string) *httptest.ResponseRecorder {
		q := httptest.NewRequest(method, api.PathSetup, strings.NewReader(body))
		q.RemoteAddr = api.InProcess
		r := httptest.NewRecorder()
		w.handler.ServeHTTP(r, q)
		return r
	}
	if r := ask(http.MethodGet, ""); !strings.Contains(r.Body.String(), `"needs_admin":true,"needs_token":false`) {
		t.Errorf("status %s", r.Body)
	}
	if r := ask(http.MethodPost, `{"username":"first","password":"`+password+`"}`); r.Code != http.StatusOK {
		t.Errorf("setup: HTTP %d %s", r.Code, r.Body)
	}
}

func TestPagesJoin(t *testing.T) {
	w := newWorld(t, nil)
	w.measure(ownSite, ownAsset, "Africa/Johannesburg", time.Date(2025, 9, 30, 22, 0, 0, 0, time.UTC), 288)
	for _, resolution := range []string{"", "15min", "hourly", "daily"} {
		url := "/telemetry/inverter?asset_id=" + ownAsset + "&site_id=" + ownSite + "&start=2025-09-30&end=2025-10-02&resolution=" + resolution
		read := func(url string) (r api.RecordsResponse) {
			w.clock.add(time.Second)
			if err := json.Unmarshal(w.as("own", http.MethodGet, url, "").Body.Bytes(), &r); err != nil {
				t.Fatal(err)
			}
			return r
		}
		want := read(url + "&limit=1000").Records
		var got []api.Record
		limit := max(1, len(want)/5)
		for cursor := ""; ; {
			part := read(fmt.Sprintf("%s&limit=%d&cursor=%s", url, limit, cursor)).Records
			for _, r := range part {
				cursor, r.Cursor = r.Cursor, ""
				got = append(got, r)
			}
			if len(part) < limit {
				break
			}
		}
		if d := cmp.Diff(want, got); d != "" || len(want) == 0 {
			t.Errorf("resolution %q: %d records: %s", resolution, len(want), d)
		}
	}
}

// TestLongRangesArePaged: a range of months is answered with a page, which is held whole.
func TestLongRangesArePaged(t *testing.T) {
	w := newWorld(t, nil)
	for d := range 150 {
		w.measure(ownSite, ownAsset, "Africa/Johannesburg", time.Date(2025, 1, d, 22, 0, 0, 0, time.UTC), 288)
	}
	r := w.as("own", http.MethodGet, "/telemetry/inverter?asset_id="+ownAsset+"&site_id="+ownSite+"&start=2024-12-01&end=2026-01-01&limit=1000", "")
	var got api.RecordsResponse
	if err := json.Unmarshal(r.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Records) != api.MaxLimit || got.Records[api.MaxLimit-1].Cursor == "" || r.Header().Get("ETag") == "" || r.Header().Get("Content-Length") == "" {
		t.Errorf("%d records, headers %v", len(got.Records), r.Header())
	}
}

// TestLookupCacheKeepsScope: what one caller had looked up opens nothing
// to another, and a change is seen at once.
func TestLookupCacheKeepsScope(t *testing.T) {
	w := newWorld(t, nil)
	for _, url := range []string{"/telemetry/data-period?site_id=" + foreignSite, "/telemetry/data-period?site_id=" + foreignSite + "&asset_id=" + foreignAsset} {
		for range 2 {
			if r := w.as("admin", http.MethodGet, url, ""); r.Code != 200 {
				t.Fatalf("%d %s", r.Code, r.Body)
			}
			for _, key := range []string{"own", "customer"} {
				if r := w.as(key, http.MethodGet, url, ""); r.Code != 403 {
					t.Errorf("%s with the key %s: %d", url, key, r.Code)
				}
			}
		}
	}
	daily := "/telemetry/inverter?asset_id=" + ownAsset + "&site_id=" + ownSite + "&start=2025-09-30&end=2025-10-02&resolution=daily"
	if r := w.as("own", http.MethodGet, daily, ""); r.Code != 200 {
		t.Fatal(r.Body)
	}
	if r := w.as("own", http.MethodPost, api.PathAssets, `{"action":"add","asset_id":"NEW","name":"n","type":"t","capacity_kw":1,"location":"l","site_id":"Sibaya"}`); r.Code != 200 {
		t.Fatal(r.Body)
	}
	if r := w.as("own", http.MethodGet, "/telemetry/data-period?site_id="+ownSite+"&asset_id=NEW", ""); r.Code != 200 {
		t.Errorf("a unit just added: %d", r.Code)
	}
}

// broken fails whatever is asked of the uploads.
type broken struct {
	*uploads
	err error
}

func (b broken) Import(context.Context, api.Scope, api.UploadRequest) (api.UploadAck, error) {
	return api.UploadAck{}, b.err
}

// TestFailureMessages: what is no refusal has the words of its route and
// reveals nothing internal; a full disk is reported.
func TestFailureMessages(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		words  string
	}{
		{errors.New("secret of the inside"), 500, "Upload failed"},
		{fmt.Errorf("store object: %w", &os.PathError{Op: "write", Path: "/secret", Err: syscall.ENOSPC}), 503, "Service unavailable"},
		{fmt.Errorf("wait: %w", context.DeadlineExceeded), 503, "Service unavailable"},
		{api.Conflict("It clashes"), 409, "It clashes"},
	} {
		w := newWorld(t, func(d *httpapi.Deps) { d.Uploads = broken{&uploads{}, c.err} })
		r := w.as("own", http.MethodPost, api.PathUploadTrain, `{"customer_id":"customer123","site_id":"Sibaya","region":"r","location":"l","s3_path":"x"}`)
		if r.Code != c.status || !strings.Contains(r.Body.String(), `"`+c.words+`"`) || strings.Contains(r.Body.String(), "secret") {
			t.Errorf("%v: %d %s", c.err, r.Code, r.Body)
		}
	}
}
