//go:build !gateway

package riverjobs

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/pgtest"
)

// TestJobStats: jobs are counted by kind and state, and the oldest is that which
// is due longest.
func TestJobStats(t *testing.T) {
	h := openURL(t, pgtest.Database(t))
	now := time.Now().UTC().Truncate(time.Second)
	for i, kind := range []string{"train", "train", "detect"} {
		enqueue(t, h, store.Job{Kind: kind, RunAt: now.Add(time.Duration(2*i-1) * time.Hour)}) // one is due
	}
	enqueue(t, h, store.Job{Kind: "bad", RunAt: now})
	ctx, stop := context.WithCancel(t.Context())
	err := h.Work(ctx, store.Worker{Kinds: []string{"bad"}, Workers: 1, Lease: time.Minute, Tick: 10 * time.Millisecond, Run: func(context.Context, store.Claimed) store.JobResult {
		stop()
		return store.JobResult{Outcome: store.Dead, Cause: "it is bad"}
	}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := h.JobStats(t.Context(), now)
	want := map[string]store.KindStats{"train": {Waiting: 2, Oldest: now.Add(-time.Hour)}, "detect": {Waiting: 1}, "bad": {Dead: 1}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}
