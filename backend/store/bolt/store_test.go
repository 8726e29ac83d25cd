package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/storetest"
	"app.sunloop/engine/series"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(watchedDir); dir != "" {
		watchedWriter(dir)
		os.Exit(0)
	}
	if dir := os.Getenv(crashDir); dir != "" {
		crashWriter(dir) // until it is killed
	}
	goleak.VerifyTestMain(m)
}

// fixed is the clock of tests that do not move it.
func fixed() time.Time { return time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC) }

func openTest(t testing.TB, now func() time.Time) *Store {
	t.Helper()
	return openIn(t, t.TempDir(), now)
}

func openIn(t testing.TB, dir string, now func() time.Time) *Store {
	t.Helper()
	s, err := Open(dir, Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's own context has ended.
		if faults := s.Check(context.Background()); len(faults) > 0 {
			t.Errorf("check: %v", faults)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestConformance(t *testing.T) {
	open := func(t *testing.T, now func() time.Time) storetest.Store { return openTest(t, now) }
	t.Run("records", func(t *testing.T) { storetest.Records(t, open) })
	t.Run("telemetry", func(t *testing.T) { storetest.Telemetry(t, open) })
	t.Run("queue", func(t *testing.T) {
		storetest.Queue(t, func(t *testing.T) (replica func() storetest.QueueStore) {
			s := openTest(t, time.Now)
			return func() storetest.QueueStore { return s } // one file has one owner
		})
	})
	t.Run("claims", func(t *testing.T) {
		storetest.Claims(t, func(t *testing.T, now func() time.Time) storetest.ClaimsStore { return openTest(t, now) })
	})
}

func TestLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	openIn(t, dir, fixed)
	_, err := Open(dir, Options{})
	if !errors.Is(err, store.ErrLocked) {
		t.Fatalf("second opening: %v", err)
	}
	for _, want := range []string{strconv.Itoa(os.Getpid()), filepath.Base(os.Args[0]), "2026-03-29T12:00:00Z"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %s", err, want)
		}
	}
	// A note that cannot be read leaves the plain sentence.
	if err := os.WriteFile(filepath.Join(dir, holderName), []byte("?"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}); !errors.Is(err, store.ErrLocked) {
		t.Errorf("second opening: %v", err)
	}
}

// TestModes asserts that nothing of the data is open to others.
func TestModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "data")
	openIn(t, dir, fixed)
	for name, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, fileName): 0o600, filepath.Join(dir, holderName): 0o600} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestSchema(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := s.Schema(t.Context()); v != SchemaVersion || err != nil {
		t.Errorf("schema %d, %v", v, err)
	}
	err = s.db.Update(func(tx *bbolt.Tx) error {
		version := binary.BigEndian.AppendUint32(nil, SchemaVersion+1)
		meta := tx.Bucket(metaBucket)
		return errors.Join(meta.Put(schemaKey, version), meta.Put(schemaSumKey, schemaSum(version)))
	})
	if err := errors.Join(err, s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}); !errors.Is(err, store.ErrNewer) {
		t.Errorf("opening a newer file: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, holderName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a note of the holder stays: %v", err)
	}
}

// TestBackup restores a backup into an empty folder and finds all in it.
func TestBackup(t *testing.T) {
	s := openTest(t, fixed)
	site := store.SiteKey{ID: "site", Zone: time.UTC}
	frame := storetest.FleetPower(0, 40)
	if err := s.Append(t.Context(), site, []store.AssetFrame{{AssetID: "a", Frame: frame}}); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if n, err := s.Backup(t.Context(), &b); err != nil || n != int64(b.Len()) {
		t.Fatalf("backup of %d bytes, %v", n, err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, fileName), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	restored := openIn(t, dir, fixed)
	f, err := store.Collect(restored.Read(t.Context(), "site", "a", time.Unix(0, 0), fixed()))
	if err != nil || f.Len() != frame.Len() {
		t.Errorf("%d samples of %d, %v", f.Len(), frame.Len(), err)
	}
}

// TestSeal seals a site that has fallen silent, once.
func TestSeal(t *testing.T) {
	now := fixed()
	s := openTest(t, func() time.Time { return now })
	site := store.SiteKey{ID: "site", Zone: time.UTC}
	frame := series.Frame{Times: []int64{now.Unix(), now.Unix() + 300}}
	frame.Set(series.PowerKW, []float64{6, 12})
	if err := s.Append(t.Context(), site, []store.AssetFrame{{AssetID: "a", Frame: frame}}); err != nil {
		t.Fatal(err)
	}
	before, err := s.Daily(t.Context(), "site", time.Unix(0, 0), now)
	if err != nil {
		t.Fatal(err)
	}
	for day, want := range []int{0, 1, 0} {
		if n, err := s.Seal(t.Context()); n != want || err != nil {
			t.Errorf("day %d: sealed %d sites, want %d, %v", day, n, want, err)
		}
		now = now.AddDate(0, 0, 1)
	}
	after, err := s.Daily(t.Context(), "site", time.Unix(0, 0), now)
	if err != nil || len(after) != 1 || len(before) != 1 || after[0] != before[0] || after[0].EnergyKWh != 1.5 {
		t.Errorf("day sums %v were %v, %v", after, before, err)
	}
	got, err := store.Collect(s.Read(t.Context(), "site", "a", time.Unix(0, 0), now))
	if err != nil || got.Len() != 2 {
		t.Errorf("read %v, %v", got, err)
	}
}

// TestRecompute: the stored sums are those of the samples.
func TestRecompute(t *testing.T) {
	s := openTest(t, fixed)
	site := store.SiteKey{ID: "site", Zone: time.UTC}
	var frames []store.AssetFrame
	for i := range 5 {
		frames = append(frames, store.AssetFrame{AssetID: strconv.Itoa(i), Frame: storetest.FleetPower(i, 100)})
	}
	if err := s.Append(t.Context(), site, frames); err != nil {
		t.Fatal(err)
	}
	from, to := fixed().AddDate(0, 0, -80), fixed()
	for _, ids := range [][]string{nil, {"3", "1"}} {
		stored, err := s.Daily(t.Context(), "site", from, to, ids...)
		if err != nil {
			t.Fatal(err)
		}
		computed, err := s.Recompute(t.Context(), "site", from, to, ids...)
		if err != nil || len(stored) != len(computed) || len(stored) == 0 {
			t.Fatalf("%d sums stored, %d computed, %v", len(stored), len(computed), err)
		}
		for i := range stored {
			if stored[i] != computed[i] {
				t.Fatalf("stored %v, computed %v", stored[i], computed[i])
			}
		}
	}
}

// TestFailedCommit: if the disk is full nothing is acknowledged, and the store
// continues when there is space again.
func TestFailedCommit(t *testing.T) {
	s := openTest(t, fixed)
	put := func(key string, size int) error {
		return s.Update(t.Context(), func(tx store.Tx) error { return tx.Put("b", []byte(key), make([]byte, size)) })
	}
	if err := put("first", 10); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(s.db.Path())
	if err != nil {
		t.Fatal(err)
	}
	s.db.MaxSize = int(info.Size())
	if err := put("large", 8<<20); err == nil {
		t.Error("more than the file may hold is acknowledged")
	}
	s.db.MaxSize = 0
	if err := put("second", 10); err != nil {
		t.Error(err)
	}
	err = s.View(t.Context(), func(tx store.Tx) error {
		if _, err := tx.Get("b", []byte("large")); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("what was not acknowledged is there: %v", err)
		}
		_, err := tx.Get("b", []byte("second"))
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
