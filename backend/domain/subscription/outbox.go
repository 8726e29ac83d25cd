package subscription

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/outbox"
	"app.sunloop/backend/store"
	"app.sunloop/backend/webhook"
)

var _ webhook.Outbox = (*Service)(nil)

// newQueue is the queue of the deliveries that wait.
func newQueue(c Config) *outbox.Queue[delivery] {
	return outbox.New(outbox.Config[delivery]{Name: "event deliveries", Records: c.Records, Table: deliveries, Wall: c.Wall, Move: (*delivery).due,
		Times: func(d delivery) outbox.Times {
			return outbox.Times{Due: d.Due, Since: d.Since, Created: d.CreatedAt.Time}
		}})
}

// Committed notifies the deliverer that a delivery may wait; see [stream.Watcher].
func (s *Service) Committed() { s.Notify() }

// Claim leases up to n deliveries that are due until now+lease. Those whose subscription has
// ended are dropped, and those of a paused one held.
func (s *Service) Claim(ctx context.Context, now time.Time, lease time.Duration, n int) (claimed []webhook.Delivery, err error) {
	err = s.Queue.Claim(ctx, now, n, func() { claimed = nil }, func(tx store.Tx, d *delivery) error {
		v, err := ofDelivery(tx, *d)
		if err != nil {
			return err
		}
		switch {
		case v.Status == api.SubscriptionPaused:
			d.setStatus(api.DeliveryHeld)
			return nil
		case !v.live():
			d.setStatus(api.DeliveryDropped)
			return nil
		}
		secrets, err := s.secrets(v)
		if err != nil {
			return err
		}
		d.due(now, now.Add(lease))
		claimed = append(claimed, webhook.Delivery{ID: d.DeliveryID, URL: v.CallbackURL, Secrets: secrets, Body: api.HideSiteKeys(bytes.Clone(d.Body)), Attempt: d.Attempts + 1,
			RequestID: d.Origin.RequestID, Trace: d.Origin.Trace})
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

// firstOpen returns the first delivery of a queue that is not over; nil if there is none.
func firstOpen(tx store.Tx, queue []byte) (*delivery, error) {
	list, _, err := deliveries.List(tx, store.Query{Index: "open", Prefix: queue, Limit: 1})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// Delivered stores the result of an attempt, updates the subscription, and releases the next
// event of the object.
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
			if err := s.putSubscription(tx, &v); err != nil {
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
		s.Notify()
	}
	return err
}

// recordResult updates the subscription after an attempt. A paused one stays so.
func (v *subscription) recordResult(out webhook.PostResult) {
	if v.Status != api.SubscriptionPaused {
		outbox.Health{Status: &v.Status, Reason: &v.StatusReason, LastSuccess: &v.LastSuccessAt, FailingSince: &v.FailingSince}.Record(out)
	} else if out.Failure == "" {
		v.LastSuccessAt = api.At(out.At)
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
	defer s.Notify()
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
func (s *Service) OutboxStatus(ctx context.Context) (outbox.Status, error) {
	return s.Status(ctx, func(tx store.Tx) (n int, err error) {
		all, _, err := subscriptions.List(tx, store.Query{})
		for _, v := range all {
			if v.Status == api.SubscriptionDisabled {
				n++
			}
		}
		return n, err
	})
}
