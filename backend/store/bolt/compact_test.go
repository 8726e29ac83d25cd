package bolt

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"app.sunloop/backend/store"
)

// padded is a folder of whose file most pages are free.
func padded(t *testing.T) (dir string, want map[string]string) {
	t.Helper()
	dir, want = t.TempDir(), map[string]string{}
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	value := bytes.Repeat([]byte("v"), 4000)
	err = s.Update(t.Context(), func(tx store.Tx) error {
		for i := range 2000 {
			if err := tx.Put("things", fmt.Appendf(nil, "%04d", i), value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Update(t.Context(), func(tx store.Tx) error {
		for i := range 2000 {
			if i%100 == 0 {
				want[fmt.Sprintf("%04d", i)] = string(value)
			} else if err := tx.Delete("things", fmt.Appendf(nil, "%04d", i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return dir, want
}

// holds reads a folder whole.
func holds(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if faults := s.Check(t.Context()); len(faults) > 0 {
		t.Errorf("check: %v", faults)
	}
	got := 0
	err = s.View(t.Context(), func(tx store.Tx) error {
		for e, err := range tx.Scan("things", nil, nil, false) {
			if err != nil {
				return err
			}
			got++
			if want[string(e.Key)] != string(e.Value) {
				t.Errorf("%s is %d bytes", e.Key, len(e.Value))
			}
		}
		return nil
	})
	if err != nil || got != len(want) {
		t.Errorf("%d of %d records, %v", got, len(want), err)
	}
}

func TestCompact(t *testing.T) {
	dir, want := padded(t)
	// A compaction that was killed left half a file.
	if err := os.WriteFile(filepath.Join(dir, compactName), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	before, after, err := Compact(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	if before < 8_000_000 || after > before/4 || info.Size() != after || info.Mode().Perm() != 0o600 {
		t.Errorf("from %d to %d bytes; the file is %d, %v", before, after, info.Size(), info.Mode())
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("the folder holds %v", left)
	}
	holds(t, dir, want)
}

func TestCompactRefusals(t *testing.T) {
	t.Parallel()
	if _, _, err := Compact(t.Context(), t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder without a database: %v", err)
	}
	dir, want := padded(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Compact(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Compact(t.Context(), dir); !errors.Is(err, store.ErrLocked) {
		t.Errorf("a folder in use: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	holds(t, dir, want)
}

// TestOpenAfterCompact opens a folder during a compaction, and must get the new
// file: what is written to the old one would be lost.
func TestOpenAfterCompact(t *testing.T) {
	dir, _ := padded(t)
	path := filepath.Join(dir, fileName)
	old, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	opened := make(chan *Store, 1)
	failed := make(chan error, 1)
	go func() {
		s, err := Open(dir, Options{}) // waits for the lock of the old file
		opened <- s
		failed <- err
	}()
	if err := rewrite(t.Context(), filepath.Join(dir, "next"), old.db, nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(filepath.Join(dir, "next"), path), old.Close()); err != nil {
		t.Fatal(err)
	}
	s := <-opened
	if err := <-failed; errors.Is(err, store.ErrLocked) {
		t.Skip("the machine was too busy for the other to be still waiting")
	} else if err != nil {
		t.Fatal(err)
	}
	err = s.Update(t.Context(), func(tx store.Tx) error { return tx.Put("things", []byte("late"), []byte("kept")) })
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.View(t.Context(), func(tx store.Tx) error {
		v, err := tx.Get("things", []byte("late"))
		if string(v) != "kept" {
			t.Errorf("the late record is %q", v)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

const compactChild = "SUNLOOP_TEST_COMPACT_IN"

// TestCompactChild compacts again and again until it is killed.
func TestCompactChild(t *testing.T) {
	dir := os.Getenv(compactChild)
	if dir == "" {
		t.Skip("it is the process that TestCompactKilled kills")
	}
	for {
		if _, _, err := Compact(context.Background(), dir); err != nil {
			t.Fatal(err)
		}
		fmt.Println("compacted")
	}
}

// TestCompactKilled kills compactions at different moments; each leaves a
// folder that holds what it did.
func TestCompactKilled(t *testing.T) {
	t.Parallel()
	dir, want := padded(t)
	for round := range 8 {
		child := exec.Command(os.Args[0], "-test.run=^TestCompactChild$", "-test.v")
		child.Env = append(os.Environ(), compactChild+"="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if lines.Text() == "compacted" {
				time.Sleep(time.Duration(round*3100) * time.Microsecond) // anywhere within the next
				if err := child.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				break
			}
		}
		if err := child.Wait(); err == nil {
			t.Fatal("it was not killed")
		}
		holds(t, dir, want)
		if _, err := os.Stat(filepath.Join(dir, compactName)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("half a file stays: %v", err)
		}
	}
}
