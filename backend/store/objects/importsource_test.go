package objects

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"app.sunloop/backend/store"
)

// fakeS3 is an S3 server with one bucket and its contents.
type fakeS3 struct {
	*s3mem.Backend
	t        testing.TB
	endpoint string
}

const bucketName = "exports"

func newS3(t testing.TB) *fakeS3 {
	t.Helper()
	s := &fakeS3{Backend: s3mem.New(), t: t}
	if err := s.CreateBucket(bucketName); err != nil {
		t.Fatal(err)
	}
	h := gofakes3.New(s.Backend).Server()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	s.endpoint = server.URL
	// The first links of the default chain; nothing of the machine's own.
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	return s
}

func (s *fakeS3) put(key, body string) {
	s.t.Helper()
	if _, err := s.PutObject(bucketName, key, nil, strings.NewReader(body), int64(len(body)), nil); err != nil {
		s.t.Fatal(err)
	}
}

// at is an allowed prefix of the bucket.
func (s *fakeS3) at(prefix, endpoint string) string {
	return fmt.Sprintf("s3://%s/%s?region=eu-central-1&use_path_style=true&endpoint=%s", bucketName, prefix, endpoint)
}

func allow(t testing.TB, prefixes ...string) *ImportSource {
	t.Helper()
	e, err := Allow(prefixes...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func TestFetchFromS3(t *testing.T) {
	s := newS3(t)
	s.put("portal/acme/2026 05.csv", "a,b\n")
	s.put("portal/acme/odd?key#1%20.csv", "odd\n")
	s.put("portal/other/x.csv", "secret\n")
	s.put("portals/acme/x.csv", "outside\n")
	e := allow(t, s.at("portal/{customer_id}/", s.endpoint))
	for _, c := range []struct {
		uri, customer, want string
		limit               int64
		err                 error
	}{
		{uri: "s3://exports/portal/acme/2026 05.csv", want: "a,b\n"},
		{uri: "s3://exports/portal/acme/odd?key#1%20.csv", want: "odd\n"},
		{uri: "s3://exports/portal/acme/2026 05.csv", limit: 3, err: ErrTooLarge},
		{uri: "s3://exports/portal/acme/2026 05.csv", limit: 4, want: "a,b\n"},
		{uri: "s3://exports/portal/acme/absent.csv", err: store.ErrNotFound},
		{uri: "s3://exports/portal/other/x.csv", err: ErrNotAllowed},
		{uri: "s3://exports/portal/other/x.csv", customer: "other", want: "secret\n"},
		{uri: "s3://exports/portals/acme/x.csv", err: ErrNotAllowed},
		{uri: "s3://exports/portal/acme/../other/x.csv", err: ErrNotAllowed},
		{uri: "s3://exports/portal/acme//x.csv", err: ErrNotAllowed},
		{uri: "s3://exports/portal/acme/", err: ErrNotAllowed},
		{uri: "s3://elsewhere/portal/acme/x.csv", err: ErrNotAllowed},
		{uri: "s3://exports", err: ErrNotAllowed},
		{uri: "https://exports/portal/acme/x.csv", err: ErrNotAllowed},
		{uri: "s3://exports/portal/acme/../../portal/x.csv", customer: "..", err: ErrNotAllowed},
	} {
		customer, limit := c.customer, c.limit
		if customer == "" {
			customer = "acme"
		}
		if limit == 0 {
			limit = 1 << 20
		}
		got, err := e.Fetch(t.Context(), c.uri, customer, limit)
		if string(got) != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s of %s up to %d bytes: %q, %v; want %q, %v", c.uri, customer, limit, got, err, c.want, c.err)
		}
	}
	// A bucket that is not there has no such object.
	gone := allow(t, strings.Replace(s.at("", s.endpoint), bucketName, "removed", 1))
	if _, err := gone.Fetch(t.Context(), "s3://removed/x.csv", "acme", 1<<20); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("of a bucket that is not there: %v", err)
	}
}

// denying answers every request as S3 does to a key without rights.
func denying(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(http.StatusForbidden)
	_, _ = w.Write([]byte(`<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>`))
}

func TestFetchFromAStoreThatDoesNotGive(t *testing.T) {
	s := newS3(t)
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	denied := httptest.NewServer(http.HandlerFunc(denying))
	defer denied.Close()
	if _, err := allow(t, s.at("", denied.URL)).Fetch(t.Context(), "s3://exports/x.csv", "acme", 1<<20); !errors.Is(err, ErrDenied) {
		t.Errorf("a store that refuses: %v", err)
	}
	// A port without a listener.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := allow(t, s.at("", "http://"+l.Addr().String())).Fetch(t.Context(), "s3://exports/x.csv", "acme", 1<<20); !errors.Is(err, ErrUnreachable) {
		t.Errorf("unavailable store: %v", err)
	}
	// One that takes the request and never answers.
	hold := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hold }))
	defer silent.Close()
	defer close(hold)
	e := allow(t, s.at("", silent.URL))
	e.timeout = 50 * time.Millisecond
	if _, err := e.Fetch(t.Context(), "s3://exports/x.csv", "acme", 1<<20); !errors.Is(err, ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a store that is silent: %v", err)
	}
}

func TestAllowRefuses(t *testing.T) {
	for _, bad := range []string{"", "exports/portal", "https://example.com/x", "s3://", "s3:///x", "file://", "file:///", "file://host/x", "file:///srv?x=1",
		"s3://user:word@exports/x", "s3://{customer_id}/x", "s3://exports/x?endpoint={customer_id}", "mem://x"} {
		if _, err := Allow(bad); err == nil {
			t.Errorf("%q is allowed", bad)
		} else {
			t.Log(err)
		}
	}
}

// TestPlacesOfCustomersAreApart: of a place by customer each reads its own
// files, whatever it and the others are called.
func TestPlacesOfCustomersAreApart(t *testing.T) {
	folder := t.TempDir()
	customers := []string{"acme", "acme2", "ac", "acme.", "ACME/..", "..", "a/b", "a", "a b", "é", "{customer_id}", ""}
	for _, c := range customers {
		own := filepath.Join(folder, Clean(c))
		if err := errors.Join(os.MkdirAll(own, 0o700), os.WriteFile(filepath.Join(own, "x.csv"), []byte(c), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	base := "file://" + filepath.ToSlash(folder) + "/"
	e := allow(t, base+"{customer_id}")
	for _, who := range customers {
		for _, whose := range customers {
			got, err := e.Fetch(t.Context(), base+Clean(whose)+"/x.csv", who, 1<<20)
			if who == whose && (err != nil || string(got) != who) || who != whose && !errors.Is(err, ErrNotAllowed) {
				t.Errorf("%q reads the file of %q: %q, %v", who, whose, got, err)
			}
		}
		for _, way := range []string{"../x.csv", "./x.csv", "/x.csv", Clean(who) + "/../acme2/x.csv", Clean(who) + "%2f..%2facme2/x.csv", Clean(who) + `\..\acme2\x.csv`, "x.csv\x00"} {
			if got, err := e.Fetch(t.Context(), base+way, who, 1<<20); err == nil {
				t.Errorf("%q reads %q: %q", who, way, got)
			}
		}
	}
}
