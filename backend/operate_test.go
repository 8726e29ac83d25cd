package backend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"app.sunloop/backend/admin"
	"app.sunloop/backend/admin/socket"
	"app.sunloop/backend/api"
	"app.sunloop/backend/backup"
	"app.sunloop/backend/store"
	"app.sunloop/engine/simulate"
)

// buckets reads every pair of a database, those of buckets in buckets too.
func buckets(t *testing.T, file string) map[string]string {
	t.Helper()
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	var walk func(path string, b *bbolt.Bucket) error
	walk = func(path string, b *bbolt.Bucket) error {
		all[path] = fmt.Sprint("sequence ", b.Sequence())
		return b.ForEach(func(k, v []byte) error {
			if v == nil {
				return walk(fmt.Sprintf("%s/%x", path, k), b.Bucket(k))
			}
			all[fmt.Sprintf("%s=%x", path, k)] = string(v)
			return nil
		})
	}
	err = db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error { return walk(string(name), b) })
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return all
}

// files reads a folder's files that backups keep, except for the database.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !backup.Kept(name) || name == backup.Database {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		all[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestBackupEqualsTheFolder restores what lies still: every pair of every bucket
// and every file is what it was, byte by byte.
func TestBackupEqualsTheFolder(t *testing.T) {
	now := time.Date(2026, 6, 15, 9, 0, 0, 0, time.UTC)
	h := open(t, Config{DataDir: t.TempDir(), Now: func() time.Time { return now }, Version: "1.2.3"})
	worksite(t, h)
	h.follow(h.sample(now, 12).UploadID)
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if waiting, running, _, err := h.service.opened.Load().records.Counts(t.Context()); err != nil || waiting+running == 0 {
			break
		} else if time.Now().After(deadline) {
			t.Fatal("the jobs do not end")
		}
	}
	h.down()
	// At rest nothing runs, but the copy itself is recorded after it is made.
	var file bytes.Buffer
	var err error
	if h.service, err = New(h.cfg); err != nil {
		t.Fatal(err)
	}
	still := filepath.Join(t.TempDir(), "still.db")
	f, err := os.Create(still)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.service.opened.Load().records.Backup(t.Context(), f); errors.Join(err, f.Close()) != nil {
		t.Fatal(err)
	}
	if _, err := h.service.Admin().Backup(t.Context(), &file); err != nil {
		t.Fatal(err)
	}
	if err := h.service.Close(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "restored")
	m, err := admin.Restore(t.Context(), &file, dir, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if m.Version != "1.2.3" || len(m.Parts) < 3 {
		t.Errorf("manifest %+v", m)
	}
	want := buckets(t, still)
	if len(want) < 50 {
		t.Errorf("only %d pairs", len(want))
	}
	if d := cmp.Diff(want, buckets(t, filepath.Join(dir, backup.Database))); d != "" {
		t.Errorf("records and telemetry (-want +got):\n%s", d)
	}
	if d := cmp.Diff(files(t, h.cfg.DataDir), files(t, dir)); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	h.up() // for the end
}

// sample uploads some days of a clean site.
func (h *instance) sample(now time.Time, days int) *api.UploadAck {
	h.t.Helper()
	s := simulate.Clean(1, now.AddDate(0, 0, -days), 3).Sites[0]
	var body bytes.Buffer
	if err := s.WriteCSV(&body, now.AddDate(0, 0, -days), now, 15*time.Minute); err != nil {
		h.t.Fatal(err)
	}
	ack, err := h.UploadNowcast(h.t.Context(), api.UploadRequest{CustomerID: "acme", SiteID: s.ID, Region: "eu", Location: "Berlin", Timezone: "Europe/Berlin"}, &body, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return ack
}

// TestBackupWhileWriting backs up over the socket while telemetry, files and
// orders are written and objects deleted. What is restored is a prefix of what
// each writer did, each record whole, and every object that a record names is
// there.
func TestBackupWhileWriting(t *testing.T) {
	now := time.Date(2026, 6, 15, 9, 0, 0, 0, time.UTC)
	h := open(t, Config{DataDir: t.TempDir(), Now: func() time.Time { return now }})
	order := worksite(t, h)
	key := func(i int) string { return fmt.Sprintf("test/object-%06d", i) }
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var wait sync.WaitGroup
	var put atomic.Int64
	write := func(fn func(i int) error) {
		wait.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if err := fn(i); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	// Each object before its record, each record before its object's end.
	write(func(i int) error {
		err := h.service.objects.Put(ctx, key(i), strings.NewReader(strings.Repeat(key(i), 1000)))
		if err == nil {
			err = h.service.opened.Load().records.Update(ctx, func(tx store.Tx) error { return tx.Put("test", store.Key(key(i)), []byte(key(i))) })
		}
		if err == nil && i >= 10 {
			if err = h.service.opened.Load().records.Update(ctx, func(tx store.Tx) error { return tx.Delete("test", store.Key(key(i-10))) }); err == nil {
				err = h.service.objects.Delete(ctx, key(i-10))
			}
		}
		put.Store(int64(i))
		return err
	})
	write(func(i int) error { // moves, numbered by the order's version
		action := []string{api.ActionHold, api.ActionResume}[i%2]
		_, err := h.MoveOrder(ctx, api.OrderRequest{Action: action, OrderID: order, HoldReason: api.HoldWeather})
		return err
	})
	write(func(i int) error {
		at := now.Add(time.Duration(i-2000) * time.Minute)
		csv := fmt.Sprintf("time,INV-1 AC power (kW)\n%s,%d\n", at.Format("2006-01-02 15:04"), i+1)
		_, err := h.UploadNowcast(ctx, api.UploadRequest{CustomerID: "acme", SiteID: "North", Region: "eu", Location: "Berlin", Timezone: "UTC"}, strings.NewReader(csv), nil)
		return err
	})
	for round := range 3 {
		for before := put.Load(); put.Load() < before+15; {
			time.Sleep(5 * time.Millisecond)
		}
		least, moved := put.Load(), h.version(order)
		var file bytes.Buffer
		done, err := socket.Fetch(ctx, h.cfg.DataDir, &file)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "restored")
		m, err := admin.Restore(ctx, &file, dir, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		if done.Files != len(m.Parts) || done.Bytes != m.Size() {
			t.Errorf("said %+v, restored %d files of %d bytes", done, len(m.Parts), m.Size())
		}
		h.prefix(dir, order, int(least), moved)
		t.Logf("round %d: %d objects, order at version %d", round, least, moved)
	}
	stop()
	wait.Wait()
}

func (h *instance) version(order string) int {
	h.t.Helper()
	o, err := h.Order(h.t.Context(), order)
	if err != nil {
		h.t.Fatal(err)
	}
	return o.Version
}

// prefix opens a restored folder as a service does, and finds
// everything acknowledged before the backup began, and no partial
// data.
func (h *instance) prefix(dir, order string, least, moved int) {
	h.t.Helper()
	t, ctx := h.t, h.t.Context()
	cfg := h.cfg
	cfg.DataDir = dir
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	there := &instance{t: t, service: s, key: h.key, cfg: cfg}
	there.connect()
	defer there.Close()
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if faults := s.opened.Load().records.Check(ctx); len(faults) > 0 {
		t.Errorf("check: %v", faults)
	}
	var keys []string
	err = s.opened.Load().records.View(ctx, func(tx store.Tx) error {
		keys = nil
		for e, err := range tx.Scan("test", nil, nil, false) {
			if err != nil {
				return err
			}
			keys = append(keys, string(e.Value))
		}
		return nil
	})
	if err != nil || len(keys) < 9 || len(keys) > 12 {
		t.Fatalf("%d records, %v", len(keys), err)
	}
	for i, key := range keys {
		var n, first int
		_, _ = fmt.Sscanf(key, "test/object-%06d", &n)
		_, _ = fmt.Sscanf(keys[0], "test/object-%06d", &first)
		if n != first+i || i == len(keys)-1 && n < least {
			t.Errorf("record %d is %d after %d, at least %d were written", i, n, first, least)
		}
		r, err := s.objects.Open(ctx, key)
		if err != nil {
			t.Errorf("a record names an object: %v", err)
			continue
		}
		b, err := io.ReadAll(r)
		r.Close()
		if err != nil || string(b) != strings.Repeat(key, 1000) {
			t.Errorf("%s: %d bytes, %v", key, len(b), err)
		}
	}
	if o, err := there.Order(ctx, order); err != nil || o.Version < moved || len(o.History) != o.Version {
		t.Errorf("the order: %+v, %v, at least version %d", o, err, moved)
	}
	uploads, err := there.Uploads(ctx, api.ListQuery{CustomerID: "acme", Page: api.Page{Limit: api.MaxLimit}})
	if err != nil || len(uploads.Uploads) == 0 {
		t.Fatalf("uploads: %v", err)
	}
	for _, u := range uploads.Uploads {
		if key, ok := s.objects.Key(u.S3Path); ok {
			r, err := s.objects.Open(ctx, key)
			if err != nil {
				t.Errorf("upload %s: %v", u.UploadID, err)
				continue
			}
			r.Close()
		}
	}
}

// TestAdministrationIsNotPublic asks the public handler for the operator's routes,
// with the best key there is.
func TestAdministrationIsNotPublic(t *testing.T) {
	h := open(t, Config{DataDir: t.TempDir(), Now: time.Now})
	for _, path := range []string{"/backup", "/operator/backup", "//backup", "/operator"} {
		for _, host := range []string{"operator", "localhost"} {
			r := httptest.NewRequest(http.MethodPost, path, nil)
			r.Host = host
			r.Header.Set("Authorization", "Bearer "+h.key)
			w := httptest.NewRecorder()
			h.service.Handler().ServeHTTP(w, r)
			if w.Code < 300 || w.Header().Get("Trailer") != "" {
				t.Errorf("%s at %s: %d", path, host, w.Code)
			}
		}
	}
}

// TestBackupRecord finds a backup and one that failed in the trail, and nothing
// of either in the folder.
func TestBackupRecord(t *testing.T) {
	h := open(t, Config{DataDir: t.TempDir(), Now: time.Now})
	if _, err := h.service.Admin().Backup(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space")
	r, w := io.Pipe()
	first := make(chan error, 1)
	go func() {
		_, err := h.service.Admin().Backup(t.Context(), w)
		first <- err
	}()
	if _, err := r.Read(make([]byte, 1)); err != nil { // it is running
		t.Fatal(err)
	}
	if _, err := h.service.Admin().Backup(t.Context(), io.Discard); !errors.Is(err, admin.ErrBackupRunning) {
		t.Errorf("two at a time: %v", err)
	}
	r.CloseWithError(full)
	if err := <-first; !errors.Is(err, full) {
		t.Errorf("a backup that cannot be written: %v", err)
	}
	list, _, err := h.service.Trail().List(t.Context(), api.Unlimited("test"), api.AuditQuery{Actor: admin.Actor, Page: api.Page{Limit: 10}})
	if err != nil || len(list) != 2 || list[0].Status != 500 || !strings.Contains(list[0].Error, "no space") || list[1].Status != 200 || list[1].Action != api.ActionCreate {
		t.Errorf("trail %+v, %v", list, err)
	}
	if left, err := os.ReadDir(h.service.opened.Load().spool); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	if names := files(t, h.cfg.DataDir); len(names) != 1 {
		t.Errorf("files %v", maps.Keys(names))
	}
}

// TestBackupAge reads from the metrics how old the newest backup is that did not
// fail, over a restart too.
func TestBackupAge(t *testing.T) {
	now := time.Date(2026, 6, 15, 9, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	cfg := Config{DataDir: t.TempDir(), Now: clock, Wall: clock, Metrics: true}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	const series = "sunloop_backup_age_seconds"
	if m := scraped(t, s); strings.Contains(m, "\n"+series) {
		t.Error("a backup that was never made is reported")
	}
	if _, err := s.Admin().Backup(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * time.Hour)
	for range 2*api.DefaultLimit + 1 {
		if _, err := s.Admin().Backup(t.Context(), failing{io.ErrShortWrite}); err == nil {
			t.Fatal("a backup that cannot be written is made")
		}
		now = now.Add(time.Minute) // beyond what the trail takes of refusals at once
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if age := amount(t, scraped(t, s), series); age != (2*time.Hour + (2*api.DefaultLimit+1)*time.Minute).Seconds() {
		t.Errorf("the newest backup is %v s old", age)
	}
	now = now.Add(90 * 24 * time.Hour)
	if m := scraped(t, s); strings.Contains(m, "\n"+series) {
		t.Error("an old backup is reported")
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
