package subscription

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/backend/webhook"
)

var _ webhook.Outbox = (*Service)(nil)

// Committed notifies the deliverer that a delivery waits; see [stream.Watcher].
func (s *Service) Committed() {
	select {
	case s.waiting <- struct{}{}:
	default:
	}
}

// Added receives after deliveries were added; see [webhook.Outbox].
func (s *Service) Added() <-chan struct{} { return s.waiting }

// NextDelivery returns when the next delivery is due; ok is false if none waits.
func (s *Service) NextDelivery(ctx context.Context) (at time.Time, ok bool, err error) {
	err = s.Records.View(ctx, func(tx store.Tx) error {
		list, _, err := deliveries.List(tx, store.Query{Index: "due", Limit: 1})
		if err == nil && len(list) > 0 {
			at, ok = list[0].Due, true
		}
		return err
	})
	if err != nil {
		return at, false, fmt.Errorf("read the next event delivery: %w", err)
	}
	return at, ok, nil
}

// Claim returns up to n deliveries that are due, which no one else gets until now+lease.
// Those whose subscription has ended are dropped, and those of a paused one held.
func (s *Service) Claim(ctx context.Context, now time.Time, lease time.Duration, n int) (claimed []webhook.Delivery, err error) {
	if err := s.followClock(ctx); err != nil {
		return nil, err
	}
	// Most calls find nothing, and a write costs a sync.
	if at, ok, err := s.NextDelivery(ctx); err != nil || !ok || at.After(now) {
		return nil, err
	}
	err = s.Records.Update(ctx, func(tx store.Tx) error {
		claimed = nil
		list, _, err := deliveries.List(tx, store.Query{Index: "due", Limit: n})
		if err != nil {
			return fmt.Errorf("list the event deliveries that are due: %w", err)
		}
		for _, d := range list {
			if d.Due.After(now) {
				break
			}
			v, err := ofDelivery(tx, d)
			if err != nil {
				return err
			}
			switch {
			case v.Status == api.SubscriptionPaused:
				d.setStatus(api.DeliveryHeld)
			case !v.live():
				d.setStatus(api.DeliveryDropped)
			default:
				secrets, err := s.secrets(v)
				if err != nil {
					return err
				}
				d.due(now, now.Add(lease))
				claimed = append(claimed, webhook.Delivery{ID: d.DeliveryID, URL: v.CallbackURL, Secrets: secrets, Body: api.HideSiteKeys(bytes.Clone(d.Body)), Attempt: d.Attempts + 1,
					RequestID: d.Origin.RequestID, Trace: d.Origin.Trace})
			}
			if err := putDelivery(tx, d); err != nil {
				return err
			}
		}
		return nil
	})
	return claimed, err
}

// ofDelivery returns the subscription of a delivery; one without a status if it does not
// exist any more.
func ofDelivery(tx store.Tx, d delivery) (subscription, error) {
	v, err := byID(tx, api.Unlimited("webhook"), d.SubscriptionID)
	if errors.Is(err, api.ErrSubscriptionNotFound) {
		return subscription{}, nil
	}
	return v, err
}

// followClock moves deliveries that wait if the clock was set back since the last query, or
// while the service was down: each waits again as long as it had to.
func (s *Service) followClock(ctx context.Context) error {
	s.looking.Lock()
	defer s.looking.Unlock()
	now := s.Wall().Round(0) // without its monotonic part, which shows no change of the clock
	if !s.looked.IsZero() && !now.Before(s.looked) {
		s.looked = now
		return nil
	}
	err := s.Records.Update(ctx, func(tx store.Tx) error {
		list, _, err := deliveries.List(tx, store.Query{Index: "due"})
		if err != nil {
			return fmt.Errorf("list the event deliveries that wait: %w", err)
		}
		for _, d := range list {
			if by := d.Since.Sub(now); by > 0 {
				d.due(now, d.Due.Add(-by))
				if err := putDelivery(tx, d); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err == nil {
		s.looked = now
	}
	return err
}

// firstOpen returns the first delivery of a queue that is not over; nil if there is none.
func firstOpen(tx store.Tx, queue []byte) (*delivery, error) {
	list, _, err := deliveries.List(tx, store.Query{Index: "open", Prefix: queue, Limit: 1})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// Delivered stores what became of an attempt, and what follows for the subscription and
// for the next event of the object.
func (s *Service) Delivered(ctx context.Context, id string, out webhook.PostResult) error {
	released := false
	err := s.Records.Update(ctx, func(tx store.Tx) error {
		released = false
		list, _, err := deliveries.List(tx, store.Query{Index: "id", Prefix: store.Key(id), Limit: 1})
		if err != nil || len(list) == 0 {
			return err // its site was removed meanwhile
		}
		d := list[0]
		v, err := ofDelivery(tx, d)
		if err != nil {
			return err
		}
		d.Attempts++
		d.LastAttemptAt, d.AnswerStatus, d.Failure = api.At(out.At), out.Status, out.Failure
		if v.live() || v.Status == api.SubscriptionPaused {
			v.recordResult(out)
			if !s.Wall().Before(v.FormerSecretUntil.Time) {
				v.Former, v.FormerSecretUntil = nil, api.Time{}
			}
			if err := putSubscription(tx, v); err != nil {
				return err
			}
		}
		switch {
		case out.Failure == "":
			d.DeliveredAt = api.At(out.At)
			d.setStatus(api.DeliveryDelivered)
		case out.Next.IsZero():
			d.setStatus(api.DeliveryFailed)
		case v.Status == api.SubscriptionPaused:
			d.setStatus(api.DeliveryHeld)
		case !v.live():
			d.setStatus(api.DeliveryFailed)
		default:
			d.due(out.At, out.Next)
		}
		if err := putDelivery(tx, d); err != nil || d.open() || !v.live() {
			return err
		}
		released, err = s.releaseNext(tx, d.queue())
		return err
	})
	if err == nil && released {
		s.Committed()
	}
	return err
}

// recordResult updates the subscription after an attempt. A paused one stays so.
func (v *subscription) recordResult(out webhook.PostResult) {
	at := api.At(out.At)
	switch {
	case out.Failure == "" && v.Status == api.SubscriptionPaused:
		v.LastSuccessAt = at
		return
	case out.Failure == "":
		v.Status, v.StatusReason, v.LastSuccessAt, v.FailingSince = api.SubscriptionActive, "", at, api.Time{}
		return
	case v.Status == api.SubscriptionPaused:
		return
	case v.FailingSince.IsZero():
		v.FailingSince = at
	}
	switch {
	case out.Gone:
		v.Status, v.StatusReason = api.SubscriptionDisabled, "it answered 410"
	case at.Sub(v.FailingSince.Time) >= silentFor:
		v.Status, v.StatusReason = api.SubscriptionDisabled, fmt.Sprintf("it has received nothing for %d days", int(silentFor.Hours()/24))
	case out.Next.IsZero():
		v.Status, v.StatusReason = api.SubscriptionFailing, "a delivery was given up: "+out.Failure
	}
}

// releaseNext makes the first delivery of a queue pending, if it is held.
func (s *Service) releaseNext(tx store.Tx, queue []byte) (bool, error) {
	d, err := firstOpen(tx, queue)
	if err != nil || d == nil || d.Status != api.DeliveryHeld {
		return false, err
	}
	now := s.Wall()
	d.due(now, now)
	return true, putDelivery(tx, *d)
}

// atOnce bounds a transaction over many deliveries.
const atOnce = 500

// release makes the first held delivery of each object of a subscription pending, if it is
// live, and drops all if it has ended.
func (s *Service) release(ctx context.Context, id string) error {
	defer s.Committed()
	for cursor, more := "", true; more; {
		err := s.Records.Update(ctx, func(tx store.Tx) error {
			v, err := byID(tx, api.Unlimited("webhook"), id)
			if err != nil || v.Status == api.SubscriptionPaused {
				more = false
				return err
			}
			list, next, err := deliveries.List(tx, store.Query{Index: "open", Prefix: store.Key(id), Limit: atOnce, Cursor: cursor})
			if err != nil {
				return fmt.Errorf("list the deliveries of subscription %s: %w", id, err)
			}
			for _, d := range list {
				if v.live() {
					if _, err := s.releaseNext(tx, d.queue()); err != nil {
						return err
					}
					continue
				}
				d.setStatus(api.DeliveryDropped)
				if err := putDelivery(tx, d); err != nil {
					return err
				}
			}
			cursor, more = next, next != ""
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Times after which records are deleted.
const (
	keepDeliveries = 30 * 24 * time.Hour
	keepSequences  = 2 * 365 * 24 * time.Hour // since the last event of the object
)

// Sweep deletes old deliveries and sequences. It drops what subscriptions that have ended
// still hold, and posts what an interrupted resumption has left.
func (s *Service) Sweep(ctx context.Context) error {
	return errors.Join(s.sweepSubscriptions(ctx), s.sweepDeliveries(ctx), s.sweepSequences(ctx))
}

func (s *Service) sweepSubscriptions(ctx context.Context) error {
	var all []subscription
	err := s.Records.View(ctx, func(tx store.Tx) (err error) {
		all, _, err = subscriptions.List(tx, store.Query{})
		return err
	})
	if err != nil {
		return fmt.Errorf("list the subscriptions of events: %w", err)
	}
	for _, v := range all {
		if err := s.release(ctx, v.SubscriptionID); err != nil && !errors.Is(err, api.ErrSubscriptionNotFound) {
			return err
		}
	}
	return nil
}

// sweepDeliveries deletes those that are old, whatever their status: one that has not been
// posted for so long is held by a paused subscription.
func (s *Service) sweepDeliveries(ctx context.Context) error {
	before := api.At(s.Wall().Add(-keepDeliveries))
	return s.sweep(ctx, "old event deliveries", func(tx store.Tx) (int, error) {
		list, _, err := deliveries.List(tx, store.Query{Index: "id", Limit: atOnce}) // ids sort by time
		if err != nil {
			return 0, err
		}
		list = slices.DeleteFunc(list, func(d delivery) bool { return !d.CreatedAt.Before(before.Time) })
		for _, d := range list {
			if err := deliveries.Delete(tx, deliveries.Key(d)); err != nil {
				return 0, err
			}
		}
		return len(list), nil
	})
}

func (s *Service) sweepSequences(ctx context.Context) error {
	before := api.At(s.Wall().Add(-keepSequences))
	return s.sweep(ctx, "old sequences of events", func(tx store.Tx) (int, error) {
		list, _, err := sequences.List(tx, store.Query{Index: "time", Limit: atOnce})
		if err != nil {
			return 0, err
		}
		list = slices.DeleteFunc(list, func(v sequence) bool { return !v.At.Before(before.Time) })
		for _, v := range list {
			if err := sequences.Delete(tx, sequences.Key(v)); err != nil {
				return 0, err
			}
		}
		return len(list), nil
	})
}

// sweep deletes a part at a time until fewer are left than one transaction deletes.
func (s *Service) sweep(ctx context.Context, what string, part func(tx store.Tx) (int, error)) error {
	for n := atOnce; n == atOnce; {
		err := s.Records.Update(ctx, func(tx store.Tx) (err error) {
			n, err = part(tx)
			return err
		})
		if err != nil {
			return fmt.Errorf("delete %s: %w", what, err)
		}
	}
	return nil
}

// OutboxStatus summarizes the deliveries and subscriptions.
type OutboxStatus struct {
	Waiting  int       // deliveries, among them those that are tried again
	Oldest   time.Time // when the oldest of them was made; zero: none waits
	Disabled int       // subscriptions that were given up
}

// mostWaiting bounds the deliveries that are counted.
const mostWaiting = 20_000

// OutboxStatus reads the deliveries that wait and all subscriptions.
func (s *Service) OutboxStatus(ctx context.Context) (out OutboxStatus, err error) {
	err = s.Records.View(ctx, func(tx store.Tx) error {
		out = OutboxStatus{}
		list, _, err := deliveries.List(tx, store.Query{Index: "due", Limit: mostWaiting})
		if err != nil {
			return err
		}
		for _, d := range list {
			if out.Waiting++; out.Oldest.IsZero() || d.CreatedAt.Before(out.Oldest) {
				out.Oldest = d.CreatedAt.Time
			}
		}
		all, _, err := subscriptions.List(tx, store.Query{})
		for _, v := range all {
			if v.Status == api.SubscriptionDisabled {
				out.Disabled++
			}
		}
		return err
	})
	if err != nil {
		return out, fmt.Errorf("read the status of event deliveries: %w", err)
	}
	return out, nil
}
