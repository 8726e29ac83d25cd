// Package clock waits for durations on the wall clock.
package clock

import (
	"context"
	"time"
)

// Sleep waits for d, or until ctx ends, and then returns its error. Without a
// positive d it only looks at ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Wait waits for d, until something is received from wake, or until ctx ends.
func Wait(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-wake:
	case <-ctx.Done():
	}
}
