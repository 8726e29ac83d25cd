package socket

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// answers is a service made up for a test.
type answers func(ctx context.Context, w io.Writer) (Backup, error)

func (a answers) Backup(ctx context.Context, w io.Writer) (Backup, error) { return a(ctx, w) }

func (answers) Jobs(context.Context) (Jobs, error) { return queued, nil }

func (answers) RetryJob(_ context.Context, id string) error {
	if id != queued.DeadJobs[0].ID {
		return errors.New("no dead job " + id)
	}
	return nil
}

var queued = Jobs{Waiting: 2, Running: 1, Dead: 1, DeadJobs: []DeadJob{{ID: "job_1/é", Kind: "train", About: "roof", Attempts: 3, Cause: "no \"room\"", DiedAt: time.Unix(1e9, 0).UTC()}}}

func TestJobs(t *testing.T) {
	dir := t.TempDir()
	if _, err := JobsOf(t.Context(), dir); !errors.Is(err, ErrNoProcess) {
		t.Errorf("before anybody listens: %v", err)
	}
	if err := RetryJob(t.Context(), dir, "job_1"); !errors.Is(err, ErrNoProcess) {
		t.Errorf("before anybody listens: %v", err)
	}
	serve(t, dir, os.Getuid(), whole)
	got, err := JobsOf(t.Context(), dir)
	if diff := cmp.Diff(queued, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if err := RetryJob(t.Context(), dir, queued.DeadJobs[0].ID); err != nil {
		t.Error(err)
	}
	if err := RetryJob(t.Context(), dir, "job_2"); err == nil || err.Error() != "no dead job job_2" {
		t.Errorf("an unknown job: %v", err)
	}
}

// serve serves until the test, or what it answers, ends it.
func serve(t *testing.T, dir string, user int, s answers) (end func()) {
	t.Helper()
	l, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	l.user = user
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx, s, time.Now) }()
	closed := false
	end = func() {
		if closed {
			return
		}
		closed = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the end: %v", err)
		}
	}
	t.Cleanup(end)
	return end
}

var whole = answers(func(_ context.Context, w io.Writer) (Backup, error) {
	_, err := io.WriteString(w, strings.Repeat("backup", 100_000))
	return Backup{Files: 3, Bytes: 7}, err
})

func TestFetch(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), strings.Repeat("long", 30), strings.Repeat("er", 40))} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := Fetch(t.Context(), dir, io.Discard); !errors.Is(err, ErrNoProcess) {
			t.Errorf("before anybody listens: %v", err)
		}
		end := serve(t, dir, os.Getuid(), whole)
		info, err := os.Stat(filepath.Join(dir, socketName))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 || info.Mode().Type() != fs.ModeSocket {
			t.Errorf("the socket is %v", info.Mode())
		}
		var b bytes.Buffer
		done, err := Fetch(t.Context(), dir, &b)
		if err != nil {
			t.Fatal(err)
		}
		if done != (Backup{3, 7}) || b.String() != strings.Repeat("backup", 100_000) {
			t.Errorf("%+v, %d bytes", done, b.Len())
		}
		end()
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s stays", left[0].Name())
		}
	}
}

// TestStale finds a socket that a killed process left.
func TestStale(t *testing.T) {
	dir := t.TempDir()
	l, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Listener.Close(); err != nil { // its file stays, as after a kill
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, socketName)); err != nil {
		t.Fatal(err)
	}
	if _, err := Fetch(t.Context(), dir, io.Discard); !errors.Is(err, ErrNoProcess) {
		t.Errorf("no process listens any more: %v", err)
	}
	serve(t, dir, os.Getuid(), whole)
	if _, err := Fetch(t.Context(), dir, io.Discard); err != nil {
		t.Error(err)
	}
}

// TestOtherUserIsRefused asks as a user who is not the service's.
func TestOtherUserIsRefused(t *testing.T) {
	if p := peerOfConn(pair(t)); !p.known {
		t.Skip("this system does not report the peer of a socket; the modes of socket and folder are the guard")
	}
	dir := t.TempDir()
	asked := false
	serve(t, dir, os.Getuid()+1, func(context.Context, io.Writer) (Backup, error) {
		asked = true
		return Backup{}, nil
	})
	var b bytes.Buffer
	_, err := Fetch(t.Context(), dir, &b)
	if err == nil || !strings.Contains(err.Error(), "serves user") || b.Len() > 0 || asked {
		t.Errorf("%v, %d bytes, asked %t", err, b.Len(), asked)
	}
	if _, err := JobsOf(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "serves user") {
		t.Errorf("the jobs: %v", err)
	}
}

// pair is one end of a connection of this process with itself.
func pair(t *testing.T) net.Conn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestFailure sees that a backup that did not end well is not taken for one.
func TestFailure(t *testing.T) {
	dir := t.TempDir()
	end := serve(t, dir, os.Getuid(), func(_ context.Context, w io.Writer) (Backup, error) {
		_, _ = io.WriteString(w, "half")
		return Backup{}, errors.New("the disk is full: é\n")
	})
	if _, err := Fetch(t.Context(), dir, io.Discard); err == nil || err.Error() != "the disk is full: é\n" {
		t.Errorf("a failure: %v", err)
	}
	end()
	end = serve(t, dir, os.Getuid(), func(context.Context, io.Writer) (Backup, error) { panic(http.ErrAbortHandler) })
	if _, err := Fetch(t.Context(), dir, io.Discard); err == nil {
		t.Error("an answer that breaks off is taken for whole")
	}
	end()
	// The service ends during a backup: both sides are notified.
	begun, ended := make(chan bool), make(chan error, 1)
	end = serve(t, dir, os.Getuid(), func(ctx context.Context, w io.Writer) (Backup, error) {
		_, _ = io.WriteString(w, "half")
		close(begun)
		<-ctx.Done()
		ended <- ctx.Err()
		return Backup{}, ctx.Err()
	})
	got := make(chan error, 1)
	go func() {
		_, err := Fetch(t.Context(), dir, io.Discard)
		got <- err
	}()
	<-begun
	end()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the backup that was cut off: %v", err)
	}
	if err := <-got; err == nil {
		t.Error("a backup that was cut off is taken for whole")
	}
}
