//go:build linux

package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"app.sunloop/backend/admin/socket"
)

// halfBackup is a service whose backup begins and does not end.
type halfBackup struct {
	socket.Service
	begun chan struct{}
}

func (h halfBackup) Backup(ctx context.Context, w io.Writer) (socket.Backup, error) {
	for range 100 {
		if _, err := w.Write(make([]byte, 64<<10)); err != nil {
			return socket.Backup{}, err
		}
	}
	h.begun <- struct{}{}
	<-ctx.Done()
	return socket.Backup{}, ctx.Err()
}

// TestKilledBackupLeavesNoFile kills the command in the middle of a backup, by
// a signal that it cannot catch.
func TestKilledBackupLeavesNoFile(t *testing.T) {
	data, err := os.MkdirTemp("", "b") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(data)
	if err := os.WriteFile(filepath.Join(data, "sunloop.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := socket.Listen(data)
	if err != nil {
		t.Fatal(err)
	}
	service := halfBackup{begun: make(chan struct{}, 1)}
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- l.Serve(ctx, service, time.Now) }()
	defer func() {
		end()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	target := t.TempDir()
	c := program(t, t.TempDir(), "admin", "backup", filepath.Join(target, "copy.tar.zst"), "--data", data)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	<-service.begun
	if err := c.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // it was killed
	if names := namesIn(t, target); len(names) > 0 {
		t.Errorf("the killed backup left %q", names)
	}
}

func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestLeftoversOfBackups: where files have temporary names, the next backup
// removes those of processes that have ended, and no other.
func TestLeftoversOfBackups(t *testing.T) {
	dir := t.TempDir()
	dead, live := filepath.Join(dir, ".sunloop-backup-1"), filepath.Join(dir, ".sunloop-backup-2")
	for _, path := range []string{dead, live, filepath.Join(dir, "other")} {
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	running, err := os.OpenFile(live, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	if err := holdFile(running); err != nil {
		t.Fatal(err)
	}
	f, err := createFile(filepath.Join(dir, "copy"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, "whole"); err != nil {
		t.Fatal(err)
	}
	if err := f.commit(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(namesIn(t, dir), " "); got != ".sunloop-backup-2 copy other" {
		t.Errorf("the folder has %s", got)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "copy")); err != nil || string(b) != "whole" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := createFile(filepath.Join(dir, "copy")); !os.IsExist(err) {
		t.Errorf("over a file that exists: %v", err)
	}
	// A name that was taken meanwhile is not replaced.
	f, err = createFile(filepath.Join(dir, "late"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.path, []byte("another's"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.commit(); f.unnamed && err == nil {
		t.Error("a file that exists is replaced")
	}
}
