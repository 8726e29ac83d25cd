// Package outbox has what the outboxes of webhooks share: the queue of deliveries that
// wait, the secrets that sign, and what an attempt changes of a subscription.
package outbox

import (
	"context"
	"fmt"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/backend/webhook"
	"app.sunloop/internal/display"
)

// Config is what a [Queue] is made from.
type Config[D any] struct {
	Name    string // of the deliveries, for errors, in the plural
	Records store.Records
	Table   store.Table[D]                 // its index "due" has the deliveries that wait, by time
	Wall    func() time.Time               // the real clock
	Times   func(d D) Times                // of a delivery
	Move    func(d *D, now, due time.Time) // sets, now, when a delivery is due
}

// Times are the times of a delivery.
type Times struct {
	Due     time.Time // by the real clock
	Since   time.Time // when Due was set, by the same
	Created time.Time
}

// Queue is the deliveries of a table that wait. It is safe for concurrent use. Its state is
// in the store, except for the hint that a delivery was added, and the last reading of
// the clock.
type Queue[D any] struct {
	config  Config[D]
	waiting chan struct{}
	looking sync.Mutex
	looked  time.Time // by the clock of this process, which no other's replaces
}

// New makes a Queue.
func New[D any](c Config[D]) *Queue[D] {
	return &Queue[D]{config: c, waiting: make(chan struct{}, 1)}
}

// Notify notifies the deliverer that a delivery was added.
func (q *Queue[D]) Notify() {
	select {
	case q.waiting <- struct{}{}:
	default:
	}
}

// Added receives after deliveries were added; see [webhook.Outbox].
func (q *Queue[D]) Added() <-chan struct{} { return q.waiting }

// NextDelivery returns when the next delivery is due; ok is false if none waits.
func (q *Queue[D]) NextDelivery(ctx context.Context) (at time.Time, ok bool, err error) {
	err = q.config.Records.View(ctx, func(tx store.Tx) error {
		list, err := q.due(tx, 1)
		if err == nil && len(list) > 0 {
			at, ok = q.config.Times(list[0]).Due, true
		}
		return err
	})
	return at, ok, err
}

// due lists up to n deliveries that wait, the first due first; all for 0.
func (q *Queue[D]) due(tx store.Tx, n int) ([]D, error) {
	list, _, err := q.config.Table.List(tx, store.Query{Index: "due", Limit: n})
	if err != nil {
		return nil, fmt.Errorf("list %s that wait: %w", q.config.Name, err)
	}
	return list, nil
}

// Claim calls claim with up to n deliveries that are due, in one transaction, and stores
// each as claim has changed it. It does not write if none is due: a write costs a sync.
// claim may be called again for the same deliveries; begin precedes each time.
func (q *Queue[D]) Claim(ctx context.Context, now time.Time, n int, begin func(), claim func(tx store.Tx, d *D) error) error {
	if err := q.followClock(ctx); err != nil {
		return err
	}
	if at, ok, err := q.NextDelivery(ctx); err != nil || !ok || at.After(now) {
		return err
	}
	return q.config.Records.Update(ctx, func(tx store.Tx) error {
		begin()
		list, err := q.due(tx, n)
		if err != nil {
			return err
		}
		for _, d := range list {
			if q.config.Times(d).Due.After(now) {
				break
			}
			if err := claim(tx, &d); err != nil {
				return err
			}
			if err := q.put(tx, d); err != nil {
				return err
			}
		}
		return nil
	})
}

func (q *Queue[D]) put(tx store.Tx, d D) error {
	if err := q.config.Table.Put(tx, d); err != nil {
		return fmt.Errorf("store one of %s: %w", q.config.Name, err)
	}
	return nil
}

// followClock moves deliveries that wait if the clock was set back since the last query, or
// while the service was down: each waits again as long as it had to.
func (q *Queue[D]) followClock(ctx context.Context) error {
	q.looking.Lock()
	defer q.looking.Unlock()
	now := q.config.Wall().Round(0) // without its monotonic part, which shows no change of the clock
	if !q.looked.IsZero() && !now.Before(q.looked) {
		q.looked = now
		return nil
	}
	err := q.config.Records.Update(ctx, func(tx store.Tx) error {
		list, err := q.due(tx, 0)
		if err != nil {
			return err
		}
		for _, d := range list {
			times := q.config.Times(d)
			by := times.Since.Sub(now)
			if by <= 0 {
				continue
			}
			q.config.Move(&d, now, times.Due.Add(-by))
			if err := q.put(tx, d); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		q.looked = now
	}
	return err
}

// mostWaiting bounds the deliveries that are counted.
const mostWaiting = 20_000

// Status summarizes deliveries and their subscriptions.
type Status struct {
	Waiting  int       // deliveries, among them those that are tried again; at most 20,000 are counted
	Oldest   time.Time // when the oldest of them was made; zero: none waits
	Disabled int       // subscriptions that were given up
}

// Status reads the deliveries that wait, and the number of subscriptions that disabled counts.
func (q *Queue[D]) Status(ctx context.Context, disabled func(tx store.Tx) (int, error)) (out Status, err error) {
	err = q.config.Records.View(ctx, func(tx store.Tx) error {
		out = Status{}
		list, err := q.due(tx, mostWaiting)
		if err != nil {
			return err
		}
		for _, d := range list {
			if made := q.config.Times(d).Created; out.Waiting == 0 || made.Before(out.Oldest) {
				out.Oldest = made
			}
			out.Waiting++
		}
		if out.Disabled, err = disabled(tx); err != nil {
			return fmt.Errorf("count disabled subscriptions: %w", err)
		}
		return nil
	})
	return out, err
}

// SilentFor is the time without a success after which a subscription is disabled.
const SilentFor = 5 * 24 * time.Hour

// Health is what attempts change of a subscription.
type Health struct {
	Status, Reason            *string
	LastSuccess, FailingSince *api.Time
}

// Record updates a subscription that is not paused after an attempt.
func (h Health) Record(out webhook.PostResult) {
	at := api.At(out.At)
	if out.Failure == "" {
		*h.Status, *h.Reason, *h.LastSuccess, *h.FailingSince = api.SubscriptionActive, "", at, api.Time{}
		return
	}
	if h.FailingSince.IsZero() {
		*h.FailingSince = at
	}
	switch {
	case out.Gone:
		*h.Status, *h.Reason = api.SubscriptionDisabled, "the receiver answered 410"
	case at.Sub(h.FailingSince.Time) >= SilentFor:
		*h.Status, *h.Reason = api.SubscriptionDisabled, "no event was delivered for "+display.CountOf(int(SilentFor.Hours()/24), "day", "days")
	case out.Next.IsZero():
		*h.Status, *h.Reason = api.SubscriptionFailing, "all attempts of a delivery failed: "+out.Failure
	}
}

// Opener opens what is sealed, bound to its place.
type Opener interface {
	Open(sealed []byte, place string) ([]byte, error)
}

// Secrets opens the secrets that sign, the newest first. former is empty if only the present
// one does.
func Secrets(o Opener, place string, present, former []byte) (list []string, err error) {
	for _, sealed := range [][]byte{present, former} {
		if len(sealed) == 0 {
			continue
		}
		secret, err := o.Open(sealed, place)
		if err != nil {
			return nil, fmt.Errorf("open the secret of %s: %w", place, err)
		}
		list = append(list, string(secret))
	}
	return list, nil
}
