package backend

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
)

// TestUploadSessionLimits asserts the refusals of uploads in parts: of a caller, of all callers and
// of the disk, each with what to do.
func TestUploadSessionLimits(t *testing.T) {
	const most = 100 << 20
	h := open(t, Config{DataDir: t.TempDir(), Now: func() time.Time { return siteNow }, TrainingDays: 100_000, LargestUpload: most})
	ctx := t.Context()
	begin := func(size int64, name string) (string, error) {
		v, err := client.Call(ctx, h.Client, api.CreateUploadSession, api.UploadSessionRequest{CustomerID: "acme", SiteID: "roof", Size: size, Filename: name})
		if err != nil {
			return "", err
		}
		return v.Session.SessionID, nil
	}
	refused := func(what string, err error, status int, texts ...string) {
		t.Helper()
		var refusal *api.Error
		if !errors.As(err, &refusal) || refusal.Status != status {
			t.Fatalf("%s: %v, want status %d", what, err, status)
		}
		for _, text := range texts {
			if got := fmt.Sprint(refusal.Message, refusal.Details); !strings.Contains(got, text) {
				t.Errorf("%s: %q, want %q", what, got, text)
			}
		}
	}
	_, err := begin(most+1, "large.csv")
	refused("a file beyond the limit", err, http.StatusRequestEntityTooLarge, "100 MB")
	_, err = begin(0, "empty.csv")
	refused("a file without bytes", err, http.StatusBadRequest, "size")

	imports := h.service.opened.Load().pipeline.Imports
	free := imports.Free
	imports.Free = func() (int64, bool) { return 300 << 20, true }
	_, err = begin(most, "full.csv")
	refused("a full disk", err, http.StatusInsufficientStorage, "Not enough disk space", "300 MB are free", "split the file")
	imports.Free = func() (int64, bool) { return 0, false } // of a bucket, which has no end
	if _, err := begin(1000, "bucket.csv"); err != nil {
		t.Fatal(err)
	}
	for i := range api.MaxUploadSessions - 1 {
		if _, err := begin(1000, fmt.Sprintf("%d.csv", i)); err != nil {
			t.Fatal(err)
		}
	}
	_, err = begin(1000, "another.csv")
	refused("a caller with many", err, http.StatusConflict, "finish or cancel one")

	var sessions []string
	for caller := 0; err == nil || caller == 0; caller++ {
		if caller > 8 {
			t.Fatal("the files of all callers have no limit")
		}
		key, _, keyErr := h.service.Auth().CreateKey(ctx, auth.NewKey{Name: fmt.Sprintf("key %d", caller), Role: api.RoleAdmin, Customers: []string{"acme"}})
		if keyErr != nil {
			t.Fatal(keyErr)
		}
		h.key = key
		h.connect()
		err = nil
		for i := range api.MaxUploadSessions {
			var id string
			if id, err = begin(most, fmt.Sprintf("%d.csv", i)); err != nil {
				break
			}
			sessions = append(sessions, id)
		}
	}
	refused("all files", err, http.StatusInsufficientStorage, "800 MB of all their files", "try again when others are finished")
	if want := 7; len(sessions) != want { // and 4000 bytes of the first caller
		t.Errorf("%d sessions of 100 MB, want %d", len(sessions), want)
	}
	imports.Free = free
}

// TestHeldJobs asserts that a service whose other jobs are held stores what is imported, and runs them when they are
// no longer held.
func TestHeldJobs(t *testing.T) {
	var held atomic.Bool
	var asked atomic.Int32
	held.Store(true)
	h := open(t, Config{DataDir: t.TempDir(), Now: func() time.Time { return siteNow }, TrainingDays: 100_000, HoldJobs: func() bool {
		asked.Add(1)
		return held.Load()
	}})
	ctx := t.Context()
	day := time.Date(2026, 6, 10, 0, 0, 0, 0, time.UTC)
	ack, err := h.UploadTrain(ctx, api.UploadRequest{CustomerID: "acme", SiteID: "roof", Region: "eu", Location: "47.07,15.44", Timezone: "UTC", Filename: "pv.csv"},
		strings.NewReader(localDays(day, 2, 1, "INV-1")), nil)
	if err != nil {
		t.Fatal(err)
	}
	for asked.Load() < 2 { // a job is postponed, and tried once more
		if t.Context().Err() != nil {
			t.Fatal("no job was held")
		}
		time.Sleep(5 * time.Millisecond)
	}
	u, err := h.Upload(ctx, ack.UploadID)
	if err != nil {
		t.Fatal(err)
	}
	if u.RowsStored == 0 || u.Ended() {
		t.Errorf("%d rows are stored, ended %t, while jobs are held", u.RowsStored, u.Ended())
	}
	held.Store(false)
	if u := h.follow(ack.UploadID); u.RowsStored == 0 {
		t.Errorf("%+v", u)
	}
}
