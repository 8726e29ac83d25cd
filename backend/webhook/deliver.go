package webhook

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// Outbox keeps the deliveries that wait.
type Outbox interface {
	// Claim takes up to n deliveries that are due, the longest due first, and
	// keeps them from others until now+lease: a process that dies loses none.
	Claim(ctx context.Context, now time.Time, lease time.Duration, n int) ([]Delivery, error)
	// Delivered keeps what became of an attempt.
	Delivered(ctx context.Context, id string, out PostResult) error
	// NextDelivery is when the next one is due; ok is false when none waits.
	NextDelivery(ctx context.Context) (at time.Time, ok bool, err error)
	// Added receives after deliveries were added. It is a hint that may be late
	// or missing.
	Added() <-chan struct{}
}

// delays are the delays after failed attempts.
var delays = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// Attempts is how often a delivery is tried.
var Attempts = len(delays) + 1

// jitter is the largest share by which a delay is lengthened, so that
// deliveries that failed together are not retried together.
const jitter = 0.1

// next returns when a delivery is attempted again after a failed attempt; zero
// if it is not. A requested longer delay is respected. chance is in [0,1).
func next(attempt int, out PostResult, chance float64) time.Time {
	if out.Failure == "" || out.Gone || attempt > len(delays) {
		return time.Time{}
	}
	delay := delays[attempt-1]
	delay += time.Duration(float64(delay) * jitter * chance)
	return out.At.Add(max(delay, out.RetryAfter))
}

// Figures of the loop.
const (
	atOnce   = 16          // calls at a time
	lease    = time.Minute // longer than a call takes
	idleLook = time.Minute // at most so long between two looks
	pause    = 5 * time.Second
)

// Deliverer sends what waits in an outbox.
type Deliverer struct {
	Outbox Outbox
	Poster *Poster
	Now    func() time.Time // the real clock
	Log    *slog.Logger
	// Around is called before an attempt, and returns the context for it
	// and a function for its outcome; it may be nil.
	Around func(ctx context.Context, one Delivery) (context.Context, func(PostResult))
}

// Run sends until ctx ends, then waits for the running calls, which are
// interrupted; their deliveries are due again after their lease. A place that
// is slow to answer holds up none of the others.
func (d *Deliverer) Run(ctx context.Context) {
	defer d.Poster.Close()
	var calls sync.WaitGroup
	defer calls.Wait()
	free := make(chan struct{}, atOnce) // one for each call that may begin
	for range atOnce {
		free <- struct{}{}
	}
	failing := false
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-free:
		}
		list, err := d.Outbox.Claim(ctx, d.Now(), lease, 1)
		if err == nil && len(list) == 1 {
			failing = false
			calls.Go(func() {
				d.send(ctx, list[0])
				free <- struct{}{}
			})
			continue
		}
		free <- struct{}{}
		look := idleLook
		if at, ok, nextErr := d.Outbox.NextDelivery(ctx); err == nil && nextErr == nil && ok {
			look = min(max(at.Sub(d.Now()), 0), idleLook)
		}
		if err != nil && ctx.Err() == nil {
			if !failing { // log a storage outage once
				d.Log.Error("claim a webhook", "error", err.Error())
			}
			look = pause
		}
		failing = err != nil
		d.wait(ctx, look)
	}
}

// send makes one attempt.
func (d *Deliverer) send(ctx context.Context, one Delivery) {
	ended := func(PostResult) {}
	if d.Around != nil {
		ctx, ended = d.Around(ctx, one)
	}
	out := d.Poster.Post(ctx, one)
	if ctx.Err() != nil && out.Failure != "" {
		ended(out)
		return // cut short: no attempt of the place's
	}
	out.Next = next(one.Attempt, out, rand.Float64()) //nolint:gosec // spreads retries, no secret
	ended(out)
	// What was received must not be sent again because the service ends.
	if err := d.Outbox.Delivered(context.WithoutCancel(ctx), one.ID, out); err != nil {
		d.Log.ErrorContext(ctx, "keep what became of a webhook", "delivery_id", one.ID, "error", err.Error())
	}
}

func (d *Deliverer) wait(ctx context.Context, most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-d.Outbox.Added():
	}
}
