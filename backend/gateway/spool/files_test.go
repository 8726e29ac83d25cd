package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// kept keeps a file and returns its id.
func kept(t *testing.T, q *Files, id, content string) error {
	t.Helper()
	d, err := q.Create(File{ID: id, Source: "exports", Name: id + ".csv"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := d.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	return d.Keep()
}

func idsOf(list []File) (ids []string) {
	for _, f := range list {
		ids = append(ids, f.ID)
	}
	return ids
}

// TestFiles: entries keep order, state and bytes when the folder is opened again; what was
// not kept is gone, and a file whose bytes changed is an error.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	open := func() *Files {
		q, err := OpenFiles(dir, FilesOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	q := open()
	for _, id := range []string{"a", "b", "c", "d"} {
		if err := kept(t, q, id, "content of "+id); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"a", "b", "c"} {
		if err := q.Confirm(id); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Sent("a", "upl_1"); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Create(File{ID: "e"}); err != nil { // the process ends
		t.Fatal(err)
	}
	// A process that ended between the two steps of Sent leaves both entries.
	b, err := os.ReadFile(filepath.Join(dir, "0000000001.sent"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "0000000001.file"), b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	q = open()
	if got := fmt.Sprint(idsOf(q.Unanswered()), idsOf(q.list(fileWaiting)), idsOf(q.Pending())); got != "[a] [b c] [d]" {
		t.Errorf("%s", got)
	}
	if list := q.Unanswered(); list[0].UploadID != "upl_1" {
		t.Errorf("%+v", list)
	}
	for _, f := range q.list(fileWaiting) {
		if b, err := q.Content(f); err != nil || string(b) != "content of "+f.ID {
			t.Errorf("%s: %q, %v", f.ID, b, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 4 {
		t.Errorf("%q, %v", left, err)
	}
	if err := q.Remove("d"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "0000000002.file")
	b, err = os.ReadFile(path)
	if err == nil {
		b[len(b)-1]++
		err = os.WriteFile(path, b, 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "0000000003.file"), []byte("nothing"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	q = open()
	if got := idsOf(q.list(fileWaiting)); !slices.Equal(got, []string{"b"}) || q.Status().Damaged != 1 {
		t.Errorf("%q, %+v", got, q.Status())
	}
	if _, err := q.Content(q.list(fileWaiting)[0]); !errors.Is(err, ErrFileDamaged) {
		t.Errorf("%v", err)
	}
}

// TestFilesRoom: beyond the room the oldest files that wait are dropped; what is pending
// is not.
func TestFilesRoom(t *testing.T) {
	var dropped []string
	q, err := OpenFiles(t.TempDir(), FilesOptions{MaxBytes: 4*fileHead + 400, Dropped: func(f File) { dropped = append(dropped, f.ID) }})
	if err != nil {
		t.Fatal(err)
	}
	content := strings.Repeat("x", 100)
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		if err := kept(t, q, id, content); err != nil {
			t.Fatal(err)
		}
		if err := q.Confirm(id); err != nil {
			t.Fatal(err)
		}
	}
	if got := idsOf(q.list(fileWaiting)); !slices.Equal(got, []string{"c", "d", "e", "f"}) || !slices.Equal(dropped, []string{"a", "b"}) {
		t.Errorf("wait %q, dropped %q", got, dropped)
	}
	if s := q.Status(); s.Bytes > s.MaxBytes || s.Waiting != 4 {
		t.Errorf("%+v", s)
	}
	for _, id := range []string{"1", "2", "3", "4"} {
		if err := kept(t, q, id, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := kept(t, q, "5", content); !errors.Is(err, ErrFull) {
		t.Errorf("%v", err)
	}
}
