package webhook

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"app.sunloop/internal/clock"
)

// Outbox stores pending deliveries.
type Outbox interface {
	// Claim returns up to n due deliveries, the longest due first, and leases
	// them until now+lease. If the process dies, they are due again after it.
	Claim(ctx context.Context, now time.Time, lease time.Duration, n int) ([]Delivery, error)
	// Delivered stores the result of an attempt.
	Delivered(ctx context.Context, id string, out PostResult) error
	// NextDelivery returns when the next delivery is due; ok is false if none is pending.
	NextDelivery(ctx context.Context) (at time.Time, ok bool, err error)
	// Added receives after deliveries were added. It is a hint that may be late
	// or missing.
	Added() <-chan struct{}
}

// delays are the delays after failed attempts.
var delays = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// Attempts is the number of attempts for a delivery.
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
	idleLook = time.Minute // longest pause between two queries of the outbox
	pause    = 5 * time.Second
)

// Deliverer sends the deliveries of an outbox.
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
// responds slowly does not delay the others.
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
				d.Log.Error("claim webhook", "error", err.Error())
			}
			look = pause
		}
		failing = err != nil
		clock.Wait(ctx, look, d.Outbox.Added())
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
		return // interrupted by the shutdown: this does not count as an attempt
	}
	out.Next = next(one.Attempt, out, rand.Float64()) //nolint:gosec // spreads retries, no secret
	ended(out)
	// What was received must not be sent again because the service ends.
	if err := d.Outbox.Delivered(context.WithoutCancel(ctx), one.ID, out); err != nil {
		d.Log.ErrorContext(ctx, "store result of webhook", "delivery_id", one.ID, "error", err.Error())
	}
}
