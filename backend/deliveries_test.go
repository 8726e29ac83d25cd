package backend

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/gateway/drop"
	"app.sunloop/backend/store"
)

// killed is the panic that ends a source as a kill does.
type killed struct{}

// mortal is an intake that ends its source at the n-th call, before it or after it. All
// effects of a source but the moving of files are calls, and files are moved between two.
type mortal struct {
	drop.Intake
	left  int // calls until the end
	after bool
}

func (m *mortal) step(after bool) {
	if after == m.after {
		if m.left--; m.left < 0 {
			panic(killed{})
		}
	}
}

func (m *mortal) Known(ctx context.Context, source string, files []upload.Delivery) (map[int]upload.Delivery, error) {
	m.step(false)
	out, err := m.Intake.Known(ctx, source, files)
	m.step(true)
	return out, err
}

func (m *mortal) Deliver(ctx context.Context, req api.UploadRequest, d upload.Delivery, again bool, r io.Reader) (upload.Delivery, error) {
	m.step(false)
	out, err := m.Intake.Deliver(ctx, req, d, again, r)
	m.step(true)
	return out, err
}

func (m *mortal) Finish(ctx context.Context, d upload.Delivery) error {
	m.step(false)
	err := m.Intake.Finish(ctx, d)
	m.step(true)
	return err
}

func (m *mortal) Unfinished(ctx context.Context, source string) ([]upload.Delivery, error) {
	m.step(false)
	return m.Intake.Unfinished(ctx, source)
}

// TestDeliveredOnce ends a source at each of its steps: when it continues, each file of the
// folder is one upload, is stored once, and lies where its outcome belongs.
func TestDeliveredOnce(t *testing.T) {
	h := open(t, Config{DataDir: t.TempDir(), Now: func() time.Time { return time.Date(2026, 6, 15, 10, 10, 0, 0, time.UTC) }, HoldJobs: func() bool { return true }})
	good := "timestamp,asset_id,power_kw\n"
	for i := range 24 {
		good += fmt.Sprintf("2026-06-14T%02d:00:00Z,INV-1,%d\n", i, max(0, 6-abs(i-12)))
	}
	for _, move := range []bool{true, false} {
		for _, after := range []bool{false, true} {
			for n, ended := 0, false; !ended; n++ {
				if n > 30 {
					t.Fatal("the source does not come to its end")
				}
				ended = h.deliverOnce(t, fmt.Sprintf("site-%v-%v-%d", move, after, n), move, after, n, good)
			}
		}
	}
}

func abs(n int) int { return max(n, -n) }

// deliverOnce reports whether the source came to its end before its n-th step.
func (h *instance) deliverOnce(t *testing.T, site string, move, after bool, n int, good string) (ended bool) {
	t.Helper()
	dir, ctx := t.TempDir(), t.Context()
	for name, content := range map[string]string{"good.csv": good, "bad.csv": "no table", "same.csv": good} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Date(2026, 6, 15, 10, 10, 0, 0, time.UTC)
	intake := h.service.Deliveries("default", site)
	run := func(with drop.Intake) (ended bool) {
		defer func() {
			switch r := recover().(type) {
			case nil, killed:
			default:
				panic(r)
			}
		}()
		s := drop.NewFolder(drop.Folder{Config: drop.Config{Name: "exports", Settle: time.Second, Move: move, Request: api.UploadRequest{Kind: api.UploadNowcast}}, Path: dir},
			drop.Options{Intake: with, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)})
		for range 50 {
			now = now.Add(time.Minute)
			if _, err := s.Scan(ctx); err != nil {
				t.Fatal(err)
			}
			if s.Status().Waiting == 0 {
				return true
			}
			for _, u := range h.uploadsOf(t, site) { // its import ends
				h.follow(u.UploadID)
			}
		}
		t.Fatalf("%s: files wait without end", site)
		return false
	}
	ended = run(&mortal{intake, n, after})
	if !run(intake) {
		t.Fatalf("%s: the source does not continue", site)
	}
	list := h.uploadsOf(t, site)
	var got []string
	for _, u := range list {
		u = h.follow(u.UploadID)
		got = append(got, u.Filename+" "+u.ProcessingStatus)
		if u.Source != "exports" {
			t.Errorf("%s: %s has the source %q", site, u.Filename, u.Source)
		}
	}
	slices.Sort(got)
	// same.csv has the content of good.csv, and is the same upload.
	if want := []string{"bad.csv rejected", "good.csv completed"}; len(got) != 2 || !strings.HasPrefix(got[0], want[0]) || !strings.HasPrefix(got[1], want[1]) {
		t.Errorf("%s: %q, want %q", site, got, want)
	}
	where := []string{"bad.csv", "good.csv", "same.csv"}
	if move {
		where = []string{"done/good.csv", "done/same.csv", "failed/bad.csv"}
	}
	var files []string
	for _, pattern := range []string{"*.csv", "*/*.csv"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			rel, _ := filepath.Rel(dir, f)
			files = append(files, filepath.ToSlash(rel))
		}
	}
	if slices.Sort(files); !slices.Equal(files, where) {
		t.Errorf("%s: files %q, want %q", site, files, where)
	}
	if open, err := intake.Unfinished(ctx, "exports"); err != nil || len(open) > 0 {
		t.Errorf("%s: unfinished %+v, %v", site, open, err)
	}
	return ended
}

func (h *instance) uploadsOf(t *testing.T, site string) []api.Upload {
	t.Helper()
	r, err := h.Uploads(t.Context(), api.ListQuery{CustomerID: "default", SiteID: site})
	if err != nil {
		if strings.Contains(err.Error(), "not found") || strings.Contains(err.Error(), "does not exist") {
			return nil
		}
		t.Fatal(err)
	}
	return r.Uploads
}

// TestDeliveriesOfAnArchivedSite: files of an archived site wait until it is in use again.
func TestDeliveriesOfAnArchivedSite(t *testing.T) {
	now := time.Date(2026, 6, 15, 10, 10, 0, 0, time.UTC)
	h := open(t, Config{DataDir: t.TempDir(), Now: func() time.Time { return now }, HoldJobs: func() bool { return true }})
	ctx, sites, scope := t.Context(), h.service.Domain().Sites, api.Unlimited("test")
	if err := h.service.Live().Register(ctx, api.Site{SiteID: "roof", CustomerID: "default", Timezone: "UTC", CapacityKW: 10}, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := sites.ArchiveSite(ctx, scope, "roof", func(store.Tx, string) (bool, error) { return false, nil }); err != nil {
		t.Fatal(err)
	}
	intake := h.service.Deliveries("default", "roof")
	deliver := func() (upload.Delivery, error) {
		return intake.Deliver(ctx, api.UploadRequest{Kind: api.UploadNowcast, Filename: "a.csv"}, upload.Delivery{Source: "exports", Name: "a.csv", Mark: "1"}, true,
			strings.NewReader("timestamp,asset_id,power_kw\n2026-06-14T10:00:00Z,INV-1,1\n2026-06-14T11:00:00Z,INV-1,2\n2026-06-14T12:00:00Z,INV-1,2\n"))
	}
	if _, err := deliver(); err == nil || len(h.uploadsOf(t, "roof")) != 0 {
		t.Errorf("a file of an archived site: %v", err)
	}
	if _, _, err := sites.UnarchiveSite(ctx, scope, "roof"); err != nil {
		t.Fatal(err)
	}
	d, err := deliver()
	if err != nil {
		t.Fatal(err)
	}
	h.follow(d.UploadID)
}
