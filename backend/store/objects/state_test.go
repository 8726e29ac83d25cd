//go:build !gateway

package objects

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/s3test"
)

// TestSwallowingBucket: a bucket that never responds ends a write and a read
// within the deadline of their request, and is known to be down from then on,
// until a check finds that it works.
func TestSwallowingBucket(t *testing.T) {
	p := s3test.NewProxy(t, s3test.Bucket(t))
	quick := usual
	quick.probe = time.Millisecond
	s := openWith(t, p.URI, quick)
	var heard bytes.Buffer
	s.remote.log = slog.New(slog.NewTextHandler(&heard, nil))
	if err := s.Put(t.Context(), "there", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	p.Choose(always(s3test.Hang))
	ctx := store.WithBudget(t.Context(), 200*time.Millisecond, 20*time.Millisecond)
	err := s.Put(ctx, "lost", strings.NewReader("x"))
	if !errors.Is(err, store.ErrUnavailable) || store.Reason(err) != "the bucket of the objects does not answer in time" {
		t.Errorf("put: %v", err)
	}
	if why := s.Down(); why == nil || why.Error() != store.Reason(err) {
		t.Errorf("known of the bucket: %v", why)
	}
	r, err := s.Open(store.WithBudget(t.Context(), 200*time.Millisecond, 20*time.Millisecond), "there")
	if err == nil {
		_, err = io.ReadAll(r)
		r.Close()
	}
	if !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("read: %v", err)
	}
	p.Choose(nil)
	eventually(t, "the bucket works again", func() bool { return s.Down() == nil })
	s.Close()
	for _, want := range []string{`msg="bucket unavailable"`, `msg="bucket available"`} {
		if n := strings.Count(heard.String(), want); n != 1 {
			t.Errorf("the log has %s %d times:\n%s", want, n, heard.String())
		}
	}
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for late := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// TestCredentialsRotate: an account gets another secret, and then the file of
// credentials. Until then the bucket is down, and afterwards it works without
// being opened again.
func TestCredentialsRotate(t *testing.T) {
	server := s3test.Start(t)
	uri := server.Bucket(t)
	file := filepath.Join(t.TempDir(), "credentials")
	server.Account(t, "rotated", "first-secret")
	s3test.WriteCredentials(t, file, "rotated", "first-secret")
	s3test.CredentialsFile(t, file)
	s := openWith(t, uri, usual)
	if err := s.Put(t.Context(), "a", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	server.Account(t, "rotated", "second-secret")
	if err := s.Put(t.Context(), "b", strings.NewReader("x")); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("with the former secret: %v", err)
	}
	s3test.WriteCredentials(t, file, "rotated", "second-secret")
	eventually(t, "the secret is read again", func() bool { return s.Put(t.Context(), "b", strings.NewReader("x")) == nil })
	if err := s.Ready(t.Context()); err != nil || s.Down() != nil {
		t.Errorf("ready: %v, %v", err, s.Down())
	}
}
