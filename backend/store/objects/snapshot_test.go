package objects

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/store"
)

// TestHold deletes and replaces objects during a snapshot: the snapshot has the
// former ones, all other readers the present ones, and Release leaves no files.
func TestHold(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s := openTest(t, dir)
	put := func(key, content string) {
		t.Helper()
		if err := s.Put(ctx, key, strings.NewReader(content)); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(key string) {
		t.Helper()
		if err := s.Delete(ctx, key); err != nil {
			t.Fatal(err)
		}
	}
	put("a/kept", "kept")
	put("a/deleted", "deleted")
	put("b/replaced", "old")
	h, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Snapshot(); !errors.Is(err, errSnapshotOpen) {
		t.Errorf("a second hold: %v", err)
	}
	remove("a/deleted")
	remove("a/deleted") // again is no error
	remove("a/never")
	remove("b/replaced")
	put("b/replaced", "new")
	remove("b/replaced")
	put("b/replaced", "newer")
	put("c/later", "later")
	for _, key := range []string{"a/deleted", "a/never"} {
		if _, err := s.Open(ctx, key); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s is there: %v", key, err)
		}
	}
	keys, err := h.Keys(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, key := range keys {
		r, err := h.Open(key)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil {
			t.Fatal(err)
		}
		got[key] = string(b)
	}
	want := map[string]string{"a/kept": "kept", "a/deleted": "deleted", "b/replaced": "old", "c/later": "later"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("held (-want +got):\n%s", d)
	}
	if _, err := h.Open("../a/kept"); err == nil {
		t.Error("a path that is no key was opened")
	}
	if err := h.Release(); err != nil {
		t.Fatal(err)
	}
	var names []string
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, name)
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	})
	if d := cmp.Diff([]string{"a/kept", "b/replaced", "c/later"}, names); err != nil || d != "" {
		t.Errorf("files after the hold (-want +got), %v:\n%s", err, d)
	}
	if h, err = s.Snapshot(); err != nil {
		t.Fatalf("a hold after a hold: %v", err)
	}
	if err := h.Release(); err != nil {
		t.Fatal(err)
	}
}
