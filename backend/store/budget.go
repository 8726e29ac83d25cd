package store

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Dependency is another service that a store waits for.
type Dependency int

// The dependencies.
const (
	Database Dependency = iota
	Bucket
	dependencies
)

// budget is how long one request may wait for dependencies.
type budget struct {
	mu      sync.Mutex
	left    time.Duration
	reserve time.Duration
	silent  [dependencies]bool
}

type (
	budgetKey  struct{}
	boundKey   struct{}
	changesKey struct{}
)

// WithBudget returns a context in which all calls of [Bound] together may wait
// for total. When total is used up, or for a dependency that has not answered
// in time, all further calls together may wait for another reserve, so that what
// the request has begun can be undone and recorded. The budget is a value of the
// context: [context.WithoutCancel] keeps it. Time that a request computes, or
// reads its body, is not counted.
func WithBudget(ctx context.Context, total, reserve time.Duration) context.Context {
	return context.WithValue(ctx, budgetKey{}, &budget{left: total, reserve: reserve})
}

// Bound returns a context for one call of a dependency. It ends after limit, or
// earlier if the budget of ctx is used up. The caller must call done when the
// call has returned. A call within another one, with its context, is bounded
// and counted only once.
func Bound(ctx context.Context, d Dependency, limit time.Duration) (bound context.Context, done func()) {
	if ctx.Value(boundKey{}) != nil {
		return ctx, func() {}
	}
	b, _ := ctx.Value(budgetKey{}).(*budget)
	reserved := false
	if b != nil {
		var left time.Duration
		left, reserved = b.of(d)
		limit = min(limit, left)
	}
	begin := time.Now()
	bound, cancel := context.WithTimeout(context.WithValue(ctx, boundKey{}, true), limit)
	return bound, func() {
		if b != nil {
			b.spend(d, time.Since(begin), reserved, bound.Err() == context.DeadlineExceeded && ctx.Err() == nil)
		}
		cancel()
	}
}

func (b *budget) of(d Dependency) (left time.Duration, reserved bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left > 0 && !b.silent[d] {
		return b.left, false
	}
	return max(0, b.reserve), true
}

func (b *budget) spend(d Dependency, took time.Duration, reserved, silent bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if reserved {
		b.reserve -= took
	} else {
		b.left -= took
	}
	b.silent[d] = b.silent[d] || silent
}

// Changes reports whether transactions have changed anything.
type Changes struct{ possible atomic.Bool }

// WithChanges returns a context whose Updates report to the returned Changes.
// Updates of an [WithoutCommitHook] context do not.
func WithChanges(ctx context.Context) (context.Context, *Changes) {
	c := new(Changes)
	return context.WithValue(ctx, changesKey{}, c), c
}

// Possible reports whether an Update was committed, or may have been because
// the answer to its COMMIT was lost. If it is false, nothing was stored.
func (c *Changes) Possible() bool { return c.possible.Load() }

// NoteChange records that an Update of ctx was or may have been committed.
func NoteChange(ctx context.Context) {
	if c, _ := ctx.Value(changesKey{}).(*Changes); c != nil {
		c.possible.Store(true)
	}
}
