package store_test

import (
	"context"
	"testing"
	"time"

	"app.sunloop/backend/store"
)

// TestBudget: the calls of a request share one wait, whatever becomes of its
// cancellation; a dependency that was silent leaves only the reserve; a call
// within another is not counted twice.
func TestBudget(t *testing.T) {
	left := func(ctx context.Context, d store.Dependency) time.Duration {
		bound, done := store.Bound(ctx, d, time.Hour)
		defer done()
		at, ok := bound.Deadline()
		if !ok {
			t.Fatal("a call has no deadline")
		}
		return time.Until(at)
	}
	within := func(what string, got, least, most time.Duration) {
		t.Helper()
		if got < least || got > most {
			t.Errorf("%s: %s are left, not %s to %s", what, got, least, most)
		}
	}
	if got := left(t.Context(), store.Database); got < 59*time.Minute {
		t.Errorf("without a budget a call may take %s", got)
	}
	ctx := store.WithBudget(t.Context(), time.Minute, time.Second)
	within("at first", left(ctx, store.Database), 50*time.Second, time.Minute)
	outer, done := store.Bound(ctx, store.Bucket, 10*time.Millisecond)
	if inner, end := store.Bound(outer, store.Bucket, time.Hour); inner != outer {
		t.Error("a call within another has a separate limit")
		end()
	}
	<-outer.Done()
	done()
	within("of the silent one", left(context.WithoutCancel(ctx), store.Bucket), 0, time.Second)
	within("of the other", left(context.WithoutCancel(ctx), store.Database), 50*time.Second, time.Minute)

	ctx = store.WithBudget(t.Context(), 10*time.Millisecond, time.Second)
	_, done = store.Bound(ctx, store.Database, time.Hour)
	time.Sleep(20 * time.Millisecond)
	done()
	within("after the wait", left(ctx, store.Bucket), 0, time.Second)
}

// TestChanges: an Update outside of the change does not count as one.
func TestChanges(t *testing.T) {
	ctx, changes := store.WithChanges(t.Context())
	store.NoteChange(t.Context())
	store.NoteChange(store.WithoutCommitHook(ctx))
	if changes.Possible() {
		t.Error("something was changed before anything was")
	}
	if store.NoteChange(context.WithoutCancel(ctx)); !changes.Possible() {
		t.Error("a change is not known")
	}
}
