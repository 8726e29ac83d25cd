//go:build !gateway

package objects

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/s3test"
)

// TestReady has buckets that cannot be used: each reports the reason in one
// sentence, and is ready once it is fixed.
func TestReady(t *testing.T) {
	server := s3test.Start(t)
	uri := server.Bucket(t)
	all := []string{"s3:ListBucket", "s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"}
	without := func(right string) func(t *testing.T) string {
		return func(t *testing.T) string {
			var rights []string
			for _, r := range all {
				if r != right {
					rights = append(rights, r)
				}
			}
			own := server.Bucket(t)
			server.Grant(t, own, rights...)
			return own
		}
	}
	for want, open := range map[string]func(t *testing.T) string{
		"": without(""),
		"does not let the service list (s3:ListBucket)":     without("s3:ListBucket"),
		"does not let the service read (s3:GetObject)":      without("s3:GetObject"),
		"does not let the service write (s3:PutObject)":     without("s3:PutObject"),
		"does not let the service delete (s3:DeleteObject)": without("s3:DeleteObject"),
		"does not exist": func(t *testing.T) string {
			s3test.Credentials(t, s3test.AccessKey, s3test.SecretKey)
			return s3test.URI("not-there", server.Endpoint())
		},
		"refuses the credentials: they are wrong or have ended": func(t *testing.T) string {
			s3test.Credentials(t, s3test.AccessKey, "another secret")
			return uri
		},
		"cannot be asked: no credentials are found, or they cannot be renewed": func(t *testing.T) string {
			s3test.Credentials(t, "", "")
			return uri
		},
		"cannot be reached": func(t *testing.T) string {
			s3test.Credentials(t, s3test.AccessKey, s3test.SecretKey)
			return s3test.URI("sunloop", "http://127.0.0.1:1")
		},
	} {
		t.Run(want, func(t *testing.T) {
			s := openWith(t, open(t), once)
			err := s.Ready(t.Context())
			if want == "" {
				if n, _, usage := s.Usage(t.Context()); err != nil || n != 0 || usage != nil {
					t.Errorf("%v; %d objects are left, %v", err, n, usage)
				}
				return
			}
			if err == nil || err.Error() != "the bucket of the objects "+want || !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("%v, want %s", err, want)
			}
			// A second check writes no more than the first.
			again := s.Ready(t.Context())
			if n, _, err := s.Usage(t.Context()); again == nil || err == nil && n > 1 {
				t.Errorf("again: %v; %d objects are left", again, n)
			}
		})
	}
	s3test.Credentials(t, s3test.AccessKey, s3test.SecretKey)
	s := openURI(t, uri)
	server.Stop()
	if err := s.Ready(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "cannot be reached") {
		t.Errorf("unavailable: %v", err)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("once it is back: %v", err)
	}
}

// TestNamedRightsSuffice: an account with the rights that the documents name does
// all that there is to do, and no failure is logged.
func TestNamedRightsSuffice(t *testing.T) {
	page, err := os.ReadFile("../../../docs/replicas.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(page), "\n## The bucket\n")
	part, _, _ = strings.Cut(part, "\n## ")
	rights := regexp.MustCompile(`s3:[A-Z]\w+`).FindAllString(part, -1)
	if len(rights) != 6 {
		t.Fatalf("the documents name %q", rights)
	}
	server := s3test.Start(t)
	uri := server.Bucket(t)
	server.Grant(t, uri, rights...)
	var heard bytes.Buffer
	s := openWith(t, in(uri, "installation"), once)
	s.remote.log = slog.New(slog.NewTextHandler(&heard, nil))
	if _, err := s.remote.client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: &s.remote.bucket, Key: s.remote.at("dead")}); err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	if err := s.Put(t.Context(), "broken", &endless{partBytes + 1, func() (int, error) { return 0, stop }}); !errors.Is(err, stop) {
		t.Errorf("put of a reader that fails: %v", err)
	}
	s.remote.sweep(t.Context(), -1<<40)
	if left := unfinished(t, s); left != nil {
		t.Errorf("parts are left of %q", left)
	}
	if err := errors.Join(s.Ready(t.Context()), s.Put(t.Context(), "a", &endless{n: partBytes + 1}), s.Put(t.Context(), "b", strings.NewReader("x"))); err != nil {
		t.Error(err)
	}
	if n := len(readAll(t, s, "a")); n != partBytes+1 {
		t.Errorf("%d bytes", n)
	}
	if n, _, err := s.Usage(t.Context()); n != 2 || err != nil {
		t.Errorf("%d objects, %v", n, err)
	}
	if err := errors.Join(s.Delete(t.Context(), "a"), s.Delete(t.Context(), "b")); err != nil {
		t.Error(err)
	}
	if heard.Len() > 0 {
		t.Errorf("the log has %s", heard.String())
	}
}

// TestReadyLogsOnce: checks of an unavailable bucket do not fill the log; when
// it becomes unavailable again, or fails otherwise, that is logged.
func TestReadyLogsOnce(t *testing.T) {
	p := s3test.NewProxy(t, s3test.Bucket(t))
	var heard bytes.Buffer
	s := openWith(t, p.URI, once)
	s.remote.log = slog.New(slog.NewTextHandler(&heard, nil))
	for i, code := range []string{"InternalError", "", "InternalError", "NoSuchBucket"} {
		heard.Reset()
		status := http.StatusInternalServerError
		if code == "NoSuchBucket" {
			status = http.StatusNotFound
		}
		p.Choose(func(*http.Request) s3test.Fault {
			if code == "" {
				return nil
			}
			return s3test.Refuse(status, code)
		})
		for range 3 {
			if err := s.Ready(t.Context()); (err == nil) != (code == "") {
				t.Errorf("%d: %v", i, err)
			}
		}
		want := 1
		if code == "" {
			want = 0
		}
		if n := strings.Count(heard.String(), "the bucket of the objects failed"); n != want {
			t.Errorf("%d: %d lines, want %d: %s", i, n, want, heard.String())
		}
	}
}

// TestReadyIsCheap: after the first check it is one request, and concurrent
// callers share it.
func TestReadyIsCheap(t *testing.T) {
	p := s3test.NewProxy(t, s3test.Bucket(t))
	s := openWith(t, p.URI, usual)
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.Seen()
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if seen := p.Seen(); len(seen) != 1 || !strings.HasPrefix(seen[0], "HEAD ") {
		t.Errorf("asked %q", seen)
	}
}

// TestRightIsWithdrawn: a read-only check does not notice that writing is no
// longer allowed, but after the first failed write it is tested.
func TestRightIsWithdrawn(t *testing.T) {
	p := s3test.NewProxy(t, s3test.Bucket(t))
	s := openWith(t, p.URI, once)
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.Choose(writes(s3test.Refuse(http.StatusForbidden, "AccessDenied")))
	if err := s.Put(t.Context(), "a", strings.NewReader("x")); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("put: %v", err)
	}
	for range 2 {
		if err := s.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "s3:PutObject") {
			t.Errorf("ready: %v", err)
		}
	}
	p.Choose(nil)
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("with the right again: %v", err)
	}
}

// TestFullBucketIsNotReady: only space in the bucket makes it ready again.
func TestFullBucketIsNotReady(t *testing.T) {
	p := s3test.NewProxy(t, s3test.Bucket(t))
	s := openWith(t, p.URI, once)
	full := s3test.Refuse(http.StatusInsufficientStorage, "InsufficientStorage")
	p.Choose(writes(full))
	if err := s.Put(t.Context(), "a", strings.NewReader("x")); !store.IsNoSpace(err) {
		t.Fatalf("put: %v", err)
	}
	if s.disk.Full() != nil || s.disk.Failure() != nil {
		t.Error("the disk of this machine is thought to be full")
	}
	// Something small would fit.
	p.Choose(func(r *http.Request) s3test.Fault {
		if r.Method == http.MethodPut && r.ContentLength >= roomBytes {
			return full
		}
		return nil
	})
	for range 2 {
		if err := s.Ready(t.Context()); !store.IsNoSpace(err) {
			t.Errorf("ready: %v", err)
		}
	}
	p.Choose(nil)
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if n, _, err := s.Usage(t.Context()); n != 0 || err != nil {
		t.Errorf("%d objects are left of trials, %v", n, err)
	}
}

// TestBucketThatWritesTwice: a service that overlooks the condition would lose
// objects, and is not used.
func TestBucketThatWritesTwice(t *testing.T) {
	xml := func(body string) s3test.Fault {
		return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, body)
		}
	}
	for what, overlooks := range map[string]func(r *http.Request, n int) s3test.Fault{
		"in one request": func(r *http.Request, n int) s3test.Fault {
			if r.Method == http.MethodPut && n == 2 {
				return xml("")
			}
			return nil
		},
		"in parts": func(r *http.Request, _ int) s3test.Fault {
			if r.Method == http.MethodPost && r.URL.Query().Has("uploadId") {
				return xml("<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>")
			}
			return nil
		},
	} {
		p := s3test.NewProxy(t, s3test.Bucket(t))
		s := openWith(t, p.URI, once)
		puts := 0
		p.Choose(func(r *http.Request) s3test.Fault {
			if r.Method == http.MethodPut {
				puts++
			}
			return overlooks(r, puts)
		})
		if err := s.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "does not know how to keep a key from being written twice") {
			t.Errorf("%s: %v", what, err)
		}
		p.Choose(nil)
		if err := s.Ready(t.Context()); err != nil {
			t.Errorf("%s, once it keeps to it: %v", what, err)
		}
	}
}
