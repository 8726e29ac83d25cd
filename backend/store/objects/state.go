//go:build !gateway

package objects

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"app.sunloop/internal/clock"
)

// Down returns why the bucket does not work, in a sentence that is safe to show
// to clients; nil while it works as far as is known. It sends no request: the
// state is that of the last request that failed as a whole, or of the last
// check. A bucket that is down is checked every few seconds until it works. A
// folder is never down.
func (s *Store) Down() error {
	if s.remote == nil {
		return nil
	}
	if why := s.remote.down.Load(); why != nil {
		return *why
	}
	return nil
}

// down reports whether an error shows that no other request would succeed.
func down(err error) bool {
	var e *bucketError
	return errors.As(err, &e) && e.down
}

// longestProbe is the longest pause between two checks of a bucket that is
// down.
const longestProbe = 5 * time.Second

// noteState records what a check, or a request that failed as a whole, has
// shown about the bucket: an error that shows that it is down, or that it
// works. Each change is logged once.
func (b *remote) noteState(err error) {
	if err != nil && !down(err) {
		return // of this request, or of a right: the rest may work
	}
	if err == nil {
		if b.down.Swap(nil) != nil {
			b.log.Info("bucket available")
		}
		return
	}
	if b.down.Swap(&err) == nil {
		b.log.Warn("bucket unavailable", "reason", err.Error())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.probing || b.limits.probe == 0 || b.life.Err() != nil {
		return
	}
	b.probing = true
	b.work.Go(b.probe)
}

// probe checks the bucket until it works or the store is closed.
func (b *remote) probe() {
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.probing = false
	}()
	for pause := b.limits.probe; b.down.Load() != nil; pause = min(2*pause, longestProbe) {
		if clock.Sleep(b.life, pause+rand.N(pause/4+1)) != nil { //nolint:gosec // spreads retries, no secret
			return
		}
		_ = b.ready(b.life) // look notes the state
	}
}

// ready is [Store.Ready] of a bucket.
func (b *remote) ready(ctx context.Context) error {
	if b.life.Err() != nil {
		return errClosed
	}
	look := b.looks.DoChan("", func() (any, error) { //nolint:contextcheck // callers share one look, which outlives each
		b.work.Add(1)
		defer b.work.Done()
		return nil, b.look()
	})
	select {
	case <-ctx.Done():
		return ctx.Err()
	case answer := <-look:
		return answer.Err
	}
}
