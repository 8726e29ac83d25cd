// Package storetest is the conformance suite of the store's interfaces: every
// store passes it.
package storetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"app.sunloop/backend/store"
)

// Store is a store of everything except objects and jobs. It accepts jobs, and
// reports how many wait either as a store.Queue or by Waiting.
type Store interface {
	store.Records
	store.Telemetry
}

// QueueStore is a store of jobs and of the records that they follow from.
type QueueStore interface {
	store.Records
	store.Queue
}

// Open makes an empty store that reads the given clock and is closed when the
// test ends.
type Open func(t *testing.T, now func() time.Time) Store

// OpenQueue makes an empty store that reads the real clock, and returns a
// function that opens a replica of it. All are closed when the test ends.
type OpenQueue func(t *testing.T) (replica func() QueueStore)

// waiting is how many jobs of the store wait.
func waiting(t *testing.T, h Store) int {
	t.Helper()
	var n int
	var err error
	switch h := h.(type) {
	case store.Queue:
		n, _, _, err = h.Counts(t.Context())
	case interface {
		Waiting(ctx context.Context) (int, error)
	}:
		n, err = h.Waiting(t.Context())
	default:
		t.Fatalf("%T does not report how many jobs wait", h)
	}
	ok(t, err)
	return n
}

// clock is a time that tests set.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)} }

// Now is the clock's time.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// advance moves the clock and answers its new time.
func (c *clock) advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
	return c.at
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
