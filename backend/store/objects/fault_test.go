//go:build !gateway

package objects

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/s3test"
)

// hasty are limits with which a bucket that is silent is given up soon.
var hasty = limits{call: 300 * time.Millisecond, part: 300 * time.Millisecond, idle: 300 * time.Millisecond, ready: 300 * time.Millisecond, tries: 1, count: 1000}

// always does the same with each request.
func always(f s3test.Fault) func(*http.Request) s3test.Fault {
	return func(*http.Request) s3test.Fault { return f }
}

// writes are the requests that send objects.
func writes(f s3test.Fault) func(*http.Request) s3test.Fault {
	return func(r *http.Request) s3test.Fault {
		if r.Method == http.MethodPut {
			return f
		}
		return nil
	}
}

// TestFaults makes the bucket respond in each possible way: the error is one
// sentence, without the bucket's messages and names, which the log has.
func TestFaults(t *testing.T) {
	p := s3test.NewProxy(t, s3test.Bucket(t))
	var heard bytes.Buffer
	s := openWith(t, p.URI, once)
	s.remote.log = slog.New(slog.NewTextHandler(&heard, nil))
	if err := s.Put(t.Context(), "there", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	const busy, fault = "takes no more requests for now", "has an internal fault"
	for _, c := range []struct {
		status            int
		code              string
		write, read, away string // away: of Delete
	}{
		{http.StatusServiceUnavailable, "SlowDown", busy, busy, busy},
		{http.StatusServiceUnavailable, "ServiceUnavailable", busy, busy, busy},
		{http.StatusTooManyRequests, "TooManyRequests", busy, busy, busy},
		{http.StatusConflict, "ConditionalRequestConflict", busy, busy, busy},
		{http.StatusInsufficientStorage, "InsufficientStorage", "is full", "is full", "is full"},
		{http.StatusForbidden, "QuotaExceeded", "is full", "is full", "is full"},
		{http.StatusInternalServerError, "InternalError", fault, fault, fault},
		{http.StatusForbidden, "AccessDenied", "does not let the service write (s3:PutObject)", "does not let the service read (s3:GetObject)", "does not let the service delete (s3:DeleteObject)"},
		{http.StatusForbidden, "SignatureDoesNotMatch", "refuses the credentials: they are wrong or have ended", "refuses the credentials: they are wrong or have ended", "refuses the credentials: they are wrong or have ended"},
		{http.StatusNotFound, "XAdminUserNotFound", "refuses the credentials: they are wrong or have ended", "refuses the credentials: they are wrong or have ended", "refuses the credentials: they are wrong or have ended"},
		{http.StatusForbidden, "RequestTimeTooSkewed", "refuses the request: its clock and this machine's differ", "refuses the request: its clock and this machine's differ", "refuses the request: its clock and this machine's differ"},
		{http.StatusNotFound, "NoSuchBucket", "does not exist", "does not exist", "does not exist"},
		{http.StatusMovedPermanently, "PermanentRedirect", "is in another region than the URI says", "is in another region than the URI says", "is in another region than the URI says"},
		{http.StatusNotImplemented, "NotImplemented", "does not know how to keep a key from being written twice (If-None-Match)", "does not know how to keep a key from being written twice (If-None-Match)", "does not know how to keep a key from being written twice (If-None-Match)"},
		{http.StatusTeapot, "Tea", "gives an answer that is not understood", "gives an answer that is not understood", "gives an answer that is not understood"},
	} {
		heard.Reset()
		p.Choose(func(r *http.Request) s3test.Fault {
			if r.Method == http.MethodHead {
				return nil
			}
			return s3test.Refuse(c.status, c.code)
		})
		_, readErr := s.Open(t.Context(), "there")
		errs := []error{s.Put(t.Context(), "new", strings.NewReader("x")), readErr, s.Delete(t.Context(), "there")}
		for i, want := range []string{"put object new: the bucket of the objects " + c.write, "open object there: the bucket of the objects " + c.read,
			"delete object there: the bucket of the objects " + c.away} {
			err := errs[i]
			if err == nil || err.Error() != want {
				t.Errorf("%d %s: %v, want %s", c.status, c.code, err, want)
				continue
			}
			full := strings.HasSuffix(want, "is full")
			if store.IsNoSpace(err) != full || errors.Is(err, store.ErrUnavailable) == full || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrExists) {
				t.Errorf("%d %s: of the wrong kind: %v", c.status, c.code, err)
			}
			if reason := store.Reason(err); !full && !strings.HasSuffix(want, reason) {
				t.Errorf("%d %s: the reason is %q", c.status, c.code, reason)
			}
		}
		if !strings.Contains(heard.String(), "canary-request") || strings.Contains(heard.String(), s3test.SecretKey) {
			t.Errorf("%d %s: the log has %s", c.status, c.code, heard.String())
		}
	}
	p.Choose(nil)
	if got := readAll(t, s, "there"); string(got) != "x" {
		t.Errorf("after all that the object is %q", got)
	}
}

// TestBusyBucketIsRetried: a response that asks for a delay is no failure.
func TestBusyBucketIsRetried(t *testing.T) {
	p := s3test.NewProxy(t, s3test.Bucket(t))
	s := openWith(t, p.URI, usual)
	left := map[string]int{http.MethodPut: 2, http.MethodGet: 1, http.MethodDelete: 1}
	p.Choose(func(r *http.Request) s3test.Fault {
		if left[r.Method]--; left[r.Method] >= 0 {
			return s3test.Refuse(http.StatusServiceUnavailable, "SlowDown")
		}
		return nil
	})
	if err := s.Put(t.Context(), "a", strings.NewReader("x")); err != nil {
		t.Error(err)
	}
	if got := readAll(t, s, "a"); string(got) != "x" {
		t.Errorf("it is %q", got)
	}
	if err := s.Delete(t.Context(), "a"); err != nil {
		t.Error(err)
	}
}

// TestTriesAreBounded counts what a bucket that never has time is asked.
func TestTriesAreBounded(t *testing.T) {
	p := s3test.NewProxy(t, s3test.Bucket(t))
	l := usual
	l.tries = 2
	s := openWith(t, p.URI, l)
	p.Choose(always(s3test.Refuse(http.StatusServiceUnavailable, "SlowDown")))
	if err := s.Delete(t.Context(), "a"); err == nil {
		t.Error("a bucket that refuses has deleted")
	}
	if seen := p.Seen(); len(seen) != 2 {
		t.Errorf("asked %q", seen)
	}
}

// TestSilentBucket: an endpoint that never responds, or stops in the middle,
// blocks no caller.
func TestSilentBucket(t *testing.T) {
	p := s3test.NewProxy(t, s3test.Bucket(t))
	s := openWith(t, p.URI, usual)
	large := bytes.Repeat([]byte("x"), 4<<20)
	if err := s.Put(t.Context(), "large", bytes.NewReader(large)); err != nil {
		t.Fatal(err)
	}
	s.remote.limits = hasty
	p.Choose(always(s3test.Hang))
	_, err := s.Open(t.Context(), "large")
	_, _, usage := s.Usage(t.Context())
	for what, err := range map[string]error{"put": s.Put(t.Context(), "a", strings.NewReader("x")), "open": err,
		"delete": s.Delete(t.Context(), "large"), "ready": s.Ready(t.Context()), "usage": usage} {
		if err == nil || !strings.HasSuffix(err.Error(), "the bucket of the objects does not answer in time") || !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
	p.Choose(writes(s3test.Hang))
	for _, size := range []int{10, partBytes + 1} {
		err := s.Put(t.Context(), "a", io.LimitReader(&endless{n: size}, int64(size)))
		if err == nil || !strings.Contains(err.Error(), "does not answer in time") {
			t.Errorf("put of %d bytes: %v", size, err)
		}
	}
	s.remote.limits.call, s.remote.limits.idle = usual.call, 2*time.Second
	p.Choose(always(func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("begun"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	r, err := s.Open(t.Context(), "large")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); string(got) != "begun" || err == nil || err.Error() != "the bucket of the objects does not answer in time" {
		t.Errorf("read %q, %v", got, err)
	}
}

// TestCutReading: a line that breaks is an error, and no early end.
func TestCutReading(t *testing.T) {
	p := s3test.NewProxy(t, s3test.Bucket(t))
	s := openURI(t, p.URI)
	if err := s.Put(t.Context(), "a", strings.NewReader(strings.Repeat("x", 1<<20))); err != nil {
		t.Fatal(err)
	}
	p.Choose(always(s3test.Cut(1000)))
	r, err := s.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	endpoint := strings.TrimPrefix(endpointOf(t, p.URI), "http://")
	if got, err := io.ReadAll(r); err == nil || len(got) != 1000 || strings.Contains(err.Error(), endpoint) || !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestCutList: a line that breaks is no end of a list.
func TestCutList(t *testing.T) {
	p := s3test.NewProxy(t, s3test.Bucket(t))
	s := openWith(t, p.URI, once)
	if err := s.Put(t.Context(), "a", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	for name, cut := range map[string]s3test.Fault{"before the answer": s3test.Lose, "within it": s3test.Cut(60)} {
		p.Choose(always(cut))
		if n, _, err := s.Usage(t.Context()); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %d objects, %v", name, n, err)
		}
	}
}

func endpointOf(t *testing.T, uri string) string {
	t.Helper()
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("endpoint")
}

// TestCancelledCaller: a cancelled caller gets its own cancellation as the error.
func TestCancelledCaller(t *testing.T) {
	p := s3test.NewProxy(t, s3test.Bucket(t))
	s := openURI(t, p.URI)
	p.Choose(always(s3test.Hang))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, open := s.Open(ctx, "a")
	_, _, usage := s.Usage(ctx)
	for what, err := range map[string]error{"put": s.Put(ctx, "a", strings.NewReader("x")), "open": open, "delete": s.Delete(ctx, "a"), "ready": s.Ready(ctx), "usage": usage} {
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestOpenPlaces: one function opens folders and buckets, and rejects invalid
// places without repeating a secret.
func TestOpenPlaces(t *testing.T) {
	s3test.Credentials(t, "key", "secret")
	folder := filepath.Join(t.TempDir(), "objects")
	for _, place := range []string{folder, "file://" + filepath.ToSlash(folder)} {
		s, err := Open(t.Context(), place, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Put(t.Context(), "a", strings.NewReader("x")), s.Delete(t.Context(), "a"), s.Ready(t.Context()), s.Close()); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(folder); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"s3://", "s3:///x?region=r", "s3://user:canary@b?region=r", "s3://canary@b?region=r", "s3://b?region=r#canary", "s3://b?region=r&secret_access_key=canary",
		"s3://b?region=r&endpoint=http://user:canary@host", "s3://b?region=r&endpoint=host:9000", "s3://b?region=r&endpoint=https://host/canary", "s3://b?region=canary&region=r",
		"s3://b?use_path_style=true", "s3://b?region=r&use_path_style=maybe", "s3://b/../c?region=r", "s3://b/c%20d?region=r", "s3://b//c?region=r", "s3://b/.hidden?region=r",
		"s3://b/" + strings.Repeat("long/", 60) + "?region=r", "gs://b", "https://b", "file://", "file:///", "file://host/x", "file:///x?region=canary", "s3://%zz:canary@b"} {
		s, err := Open(t.Context(), bad, nil, nil)
		switch {
		case err == nil:
			t.Errorf("%s is opened", bad)
			s.Close()
		case strings.Contains(err.Error(), "canary") && !strings.Contains(bad, "use_path_style=maybe"):
			t.Errorf("%s: %v", bad, err)
		default:
			t.Log(err)
		}
	}
	if _, err := OpenBucket(t.Context(), "file:///x", nil); err == nil {
		t.Error("a folder is opened as a bucket")
	}
	// An unavailable bucket is no wrong URI.
	s, err := Open(t.Context(), s3test.URI("sunloop", "http://127.0.0.1:1"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Ready(t.Context()); !errors.Is(err, errClosed) {
		t.Errorf("ready once closed: %v", err)
	}
}

// TestPrivateAuthority: an endpoint with a certificate of a private authority is
// reached by the file that AWS_CA_BUNDLE names, and else not.
func TestPrivateAuthority(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s3test.Refuse(http.StatusNotFound, "NoSuchBucket")(w, r, nil)
	}))
	defer server.Close()
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes
	bundle := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"": "cannot be reached", bundle: "does not exist"} {
		s3test.Credentials(t, "key", "secret")
		t.Setenv("AWS_CA_BUNDLE", file)
		if err := openWith(t, s3test.URI("sunloop", server.URL), once).Ready(t.Context()); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("with %q: %v, want %s", file, err, want)
		}
	}
}
