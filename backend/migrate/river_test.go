//go:build !gateway

package migrate

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/backend/store/postgres"
	"app.sunloop/backend/store/riverjobs"
)

// TestJobsRun: the queue of the migrated deployment has the folder's jobs,
// hands each out once, and lets dead jobs be retried.
func TestJobsRun(t *testing.T) {
	h := newInstallation(t, 19)
	h.fill()
	file, err := bolt.OpenReadOnly(h.dir, fixed)
	must(t, err)
	want, err := file.Dead(t.Context(), 1000)
	must(t, err)
	waiting, running, _, err := file.Counts(t.Context())
	must(t, err)
	must(t, file.Close())
	h.move()
	for range 2 { // the second finds none to take
		db, err := riverjobs.Open(t.Context(), h.url, postgres.Options{Now: fixed})
		must(t, err)
		// What waited for the end of one that ran is that one by now.
		if is, runs, dead, err := db.Counts(t.Context()); err != nil || is != waiting+running || runs != 0 || dead != len(want) {
			t.Errorf("%d wait, %d run, %d are dead, %v, where %d waited, %d ran, %d were dead", is, runs, dead, err, waiting, running, len(want))
		}
		got, err := db.Dead(t.Context(), 1000)
		must(t, err)
		if diff := gocmp.Diff(plainDead(want), plainDead(got)); diff != "" {
			t.Errorf("dead (-folder +database):\n%s", diff)
		}
		if at, ok, err := db.Next(t.Context()); err != nil || !ok || !at.Equal(fixed()) {
			t.Errorf("the next job is due at %s, %t, %v", at, ok, err)
		}
		must(t, db.Close())
	}
	db, err := riverjobs.Open(t.Context(), h.url, postgres.Options{Now: fixed})
	must(t, err)
	defer db.Close()
	got, err := db.Dead(t.Context(), 1)
	must(t, err)
	must(t, db.RetryDead(t.Context(), got[0].ID, fixed()))
	if err := db.RetryDead(t.Context(), got[0].ID, fixed()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("revived twice: %v", err)
	}
}

// plainDead are dead jobs without the ids, which each database assigns, in an order
// that both have.
func plainDead(dead []store.DeadJob) []store.DeadJob {
	dead = slices.Clone(dead)
	for i := range dead {
		dead[i].ID = ""
		dead[i].Payload = bytes.ReplaceAll(dead[i].Payload, []byte(" "), nil) // a database spaces JSON as it likes
		dead[i].DiedAt, dead[i].RunAt = dead[i].DiedAt.Truncate(time.Microsecond), dead[i].RunAt.Truncate(time.Microsecond)
	}
	slices.SortFunc(dead, func(a, b store.DeadJob) int { return cmp.Compare(a.Unique, b.Unique) })
	return dead
}
