package backend

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store/s3test"
)

// counted counts what is read of a body.
type counted struct {
	io.Reader
	n int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += n
	return n, err
}

// sendFile uploads a file, and returns how much of the body was read.
func (h *instance) sendFile(csv string, headers ...string) (*httptest.ResponseRecorder, int) {
	h.t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	for name, value := range map[string]string{"customer_id": "acme", "site_id": "South", "region": "eu", "location": "47.07,15.44", "timezone": "UTC"} {
		if err := w.WriteField(name, value); err != nil {
			h.t.Fatal(err)
		}
	}
	part, err := w.CreateFormFile("file", "a.csv")
	if err == nil {
		_, err = io.WriteString(part, csv)
	}
	if err != nil || w.Close() != nil {
		h.t.Fatal(err)
	}
	body := &counted{Reader: &form}
	q := httptest.NewRequest(http.MethodPost, api.PathUploadNowcast, body)
	q.Header.Set("Authorization", "Bearer "+h.key)
	q.Header.Set("Content-Type", w.FormDataContentType())
	for i := 0; i+1 < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	r := httptest.NewRecorder()
	h.service.Handler().ServeHTTP(r, q)
	return r, body.n
}

// TestSilentBucket: a bucket that swallows requests ends the first upload within
// the wait of its request, and the next before its body is read. Nothing is left
// of either. Reads and changes of records continue, and readiness reports it,
// until the bucket responds again.
func TestSilentBucket(t *testing.T) {
	p := s3test.NewProxy(t, s3test.Bucket(t))
	h := open(t, Config{DataDir: t.TempDir(), Now: time.Now, Objects: p.URI, Wait: shortWait})
	const csv = "timestamp,power_kw\n2026-06-12T00:00:00Z,1\n2026-06-12T01:00:00Z,2\n"
	waitFor(t, "the first look at the bucket", func() bool { return h.ask("GET", api.PathReady+"?capability=uploads", "", "").Code == http.StatusOK })
	p.Choose(func(*http.Request) s3test.Fault { return s3test.Hang })
	wantRefused := func(what string, r *httptest.ResponseRecorder) {
		t.Helper()
		var said refusalOf
		if err := json.Unmarshal(r.Body.Bytes(), &said); err != nil {
			t.Fatal(err)
		}
		if r.Code != http.StatusServiceUnavailable || r.Header().Get("Retry-After") == "" || said.Details.Outcome != outcomeNone || said.Details.Reason != "the bucket of the objects does not answer in time" {
			t.Errorf("%s: HTTP %d, Retry-After %q, %s", what, r.Code, r.Header().Get("Retry-After"), r.Body)
		}
	}
	first, _ := h.sendFile(csv)
	wantRefused("the first upload", first)
	second, read := h.sendFile(csv, "Expect", "100-continue") // otherwise the body is read after the answer
	wantRefused("the second upload", second)
	if read != 0 {
		t.Errorf("%d bytes of the second upload were read", read)
	}
	if w := h.ask("GET", api.PathReady, "", ""); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"not_ready":{"objects":`) {
		t.Errorf("readyz: HTTP %d %s", w.Code, w.Body)
	}
	for capability, want := range map[string]int{"reads": 200, "writes": 200, "mail": 200, "uploads": 503, "jobs": 503} {
		if w := h.ask("GET", api.PathReady+"?capability="+capability, "", ""); w.Code != want {
			t.Errorf("readyz of %s: HTTP %d %s", capability, w.Code, w.Body)
		}
	}
	if w := h.ask("POST", api.PathSites, h.key, listSites); w.Code != http.StatusOK {
		t.Errorf("a read: HTTP %d %s", w.Code, w.Body)
	}
	if w := h.ask("POST", api.PathKeys, h.key, `{"action":"create","name":"pump","role_id":"role_analyst","customer_ids":["c"]}`); w.Code != http.StatusOK {
		t.Errorf("a change: HTTP %d %s", w.Code, w.Body)
	}
	p.Choose(nil)
	waitFor(t, "an upload after the bucket answers", func() bool {
		r, _ := h.sendFile(csv)
		return r.Code == http.StatusOK
	})
	list, err := h.Uploads(t.Context(), api.ListQuery{CustomerID: "acme"})
	if err != nil || len(list.Uploads) != 1 {
		t.Errorf("%d uploads are known, %v", len(list.Uploads), err)
	}
	waitFor(t, "nothing is left of what was refused", func() bool {
		n, _, err := h.service.objects.Usage(t.Context())
		return err == nil && n == 1
	})
}
