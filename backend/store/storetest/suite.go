// Package storetest is the conformance suite of the store's interfaces: every
// home for the data passes it, or is none.
package storetest

import (
	"sync"
	"testing"
	"time"

	"app.sunloop/backend/store"
)

// Home is a home for everything but objects.
type Home interface {
	store.Records
	store.Telemetry
	store.Queue
}

// Open makes an empty home that reads the given clock and is closed when the
// test ends.
type Open func(t *testing.T, now func() time.Time) Home

// Run runs the whole suite.
func Run(t *testing.T, open Open) {
	t.Run("records", func(t *testing.T) { Records(t, open) })
	t.Run("queue", func(t *testing.T) { Queue(t, open) })
	t.Run("telemetry", func(t *testing.T) { Telemetry(t, open) })
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
