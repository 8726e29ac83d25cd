//go:build unix

package objects

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"app.sunloop/backend/store"
)

func TestFetchFromAFolder(t *testing.T) {
	outside, folder := t.TempDir(), t.TempDir()
	write := func(name, body string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(body), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(outside, "secret.csv"), "secret\n")
	write(filepath.Join(folder, "acme", "day 1.csv"), "a,b\n")
	write(filepath.Join(folder, "other", "x.csv"), "theirs\n")
	err := errors.Join(
		os.Symlink(filepath.Join(outside, "secret.csv"), filepath.Join(folder, "acme", "link.csv")),
		os.Symlink("day 1.csv", filepath.Join(folder, "acme", "latest.csv")),
		syscall.Mkfifo(filepath.Join(folder, "acme", "pipe.csv"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	base := "file://" + filepath.ToSlash(folder)
	e := allow(t, base+"/{customer_id}")
	for _, c := range []struct {
		name, want string
		err        error
	}{
		{"acme/day 1.csv", "a,b\n", nil},
		{"acme/latest.csv", "a,b\n", nil},
		{"acme/absent.csv", "", store.ErrNotFound},
		{"acme/link.csv", "", ErrNotAllowed},
		{"acme/pipe.csv", "", ErrNoFile},
		{"acme", "", ErrNoFile},
		{"other/x.csv", "", ErrNotAllowed},
		{"acme/../other/x.csv", "", ErrNotAllowed},
	} {
		got, err := e.Fetch(t.Context(), base+"/"+c.name, "acme", 1<<20)
		if string(got) != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v; want %q, %v", c.name, got, err, c.want, c.err)
		}
	}
	if _, err := allow(t, base+"/absent").Fetch(t.Context(), base+"/absent/x.csv", "acme", 1<<20); !errors.Is(err, ErrUnreachable) {
		t.Errorf("of a folder that is not there: %v", err)
	}
	var none *ImportSource
	if _, err := none.Fetch(t.Context(), base+"/acme/day 1.csv", "acme", 1<<20); !errors.Is(err, ErrNotAllowed) {
		t.Errorf("where nothing is allowed: %v", err)
	}
}
