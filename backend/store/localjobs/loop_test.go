package localjobs

import (
	"context"
	"fmt"
	"testing"
	"time"

	"app.sunloop/backend/store"
)

// fullAtFirst is a queue without jobs whose first writes find a full disk.
type fullAtFirst struct {
	Jobs
	refused, released int
	claimed           func()
}

func (f *fullAtFirst) Rewind(context.Context, time.Time) error {
	if f.refused < 3 {
		f.refused++
		return fmt.Errorf("write: %w", store.ErrUnavailable)
	}
	return nil
}

func (f *fullAtFirst) Release(context.Context) error {
	f.released++
	return nil
}

func (f *fullAtFirst) Claim(context.Context, time.Time, time.Duration, int) ([]store.Claimed, error) {
	f.claimed()
	return nil, nil
}

func (f *fullAtFirst) Next(context.Context) (time.Time, bool, error) { return time.Time{}, false, nil }
func (f *fullAtFirst) Notify() <-chan struct{}                       { return nil }

// TestBeginWaits: the workers of a store that is not available when they begin wait for it.
func TestBeginWaits(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	jobs := &fullAtFirst{claimed: cancel}
	if err := New(jobs, time.Now).Work(ctx, store.Worker{Workers: 1, Exclusive: true, Tick: time.Millisecond, Lease: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if jobs.refused != 3 || jobs.released != 1 {
		t.Errorf("refused %d times, released %d times", jobs.refused, jobs.released)
	}
}
