package maintenance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/outbox"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/backend/webhook"
)

// delivery is an event in the outbox. It is written in the transaction that
// changes the order, so that none is lost and none is of a change that was not
// made.
type delivery struct {
	DeliveryID     string     `json:"delivery_id" limit:"id"` // the webhook-id: the same in each attempt
	SubscriptionID string     `json:"subscription_id" limit:"id"`
	OrderID        string     `json:"order_id" limit:"id"`
	Status         string     `json:"status" limit:"word"`
	Event          orderEvent `json:"event"`
	CreatedAt      api.Time   `json:"created_at"`
	Attempts       int        `json:"attempts"`
	LastAttemptAt  api.Time   `json:"last_attempt_at,omitzero"`
	NextAttemptAt  api.Time   `json:"next_attempt_at,omitzero"`
	DeliveredAt    api.Time   `json:"delivered_at,omitzero"`
	AnswerStatus   int        `json:"answer_status,omitempty"`            // the HTTP status of the last answer
	Failure        string     `json:"failure,omitempty" limit:"line cut"` // error of the last attempt

	CustomerID string    `json:"customer_id" limit:"id"`
	SiteID     string    `json:"site_id" limit:"id"`
	Version    int       `json:"version"`        // of the order: events of one order sort by it
	Due        time.Time `json:"due,omitzero"`   // by the real clock, while it waits
	Since      time.Time `json:"since,omitzero"` // when Due was set, by the same

	Origin store.Origin `json:"origin,omitzero"` // the request that moved the order
}

// orderEvent is the event as it was announced.
type orderEvent struct {
	OrderID         string   `json:"order_id" limit:"id"`
	Status          string   `json:"status" limit:"word"`
	UpdatedAt       api.Time `json:"updated_at"`
	CompletionNotes string   `json:"completion_notes" limit:"text"`
}

// event is what is posted.
func (d delivery) event() api.OrderEvent {
	e := d.Event
	return api.OrderEvent{OrderID: e.OrderID, Status: e.Status, UpdatedAt: e.UpdatedAt, CompletionNotes: e.CompletionNotes, Sequence: d.Version}
}

func (d delivery) toAPI() api.Delivery {
	return api.Delivery{
		DeliveryID: d.DeliveryID, SubscriptionID: d.SubscriptionID, OrderID: d.OrderID, Status: d.Status, Event: d.event(),
		CreatedAt: d.CreatedAt, Attempts: d.Attempts, LastAttemptAt: d.LastAttemptAt, NextAttemptAt: d.NextAttemptAt, DeliveredAt: d.DeliveredAt,
		AnswerStatus: d.AnswerStatus, Failure: d.Failure,
	}
}

func (d delivery) owner() (customer, site string) { return d.CustomerID, d.SiteID }

// due sets, now, when it is sent.
func (d *delivery) due(now, at time.Time) {
	d.Since, d.Due, d.NextAttemptAt = now.UTC(), at.UTC(), api.At(at)
}

// over ends it.
func (d *delivery) over(status string) {
	d.Status, d.Since, d.Due, d.NextAttemptAt = status, time.Time{}, time.Time{}, api.Time{}
}

var deliveries = store.Table[delivery]{
	Bucket: "deliveries",
	Key:    func(d delivery) []byte { return store.Key(d.SiteID, d.DeliveryID) },
	Indexes: []store.Index[delivery]{
		{Name: "id", Key: func(d delivery) []byte { return store.Key(d.DeliveryID) }},
		{Name: "order", Key: func(d delivery) []byte { return store.Key(d.OrderID, d.DeliveryID) }},
		{Name: "subscription", Key: func(d delivery) []byte { return store.Key(d.SubscriptionID, d.DeliveryID) }},
		{Name: "held", Key: func(d delivery) []byte {
			if d.Status != api.DeliveryHeld {
				return nil
			}
			return store.Key(d.SubscriptionID, fmt.Sprintf("%09d", d.Version))
		}},
		{Name: "due", Key: func(d delivery) []byte {
			if d.Status != api.DeliveryPending {
				return nil
			}
			return store.Key(fmt.Sprintf("%015d", d.Due.UnixMilli()))
		}},
	},
}

func putDelivery(tx store.Tx, d delivery) error {
	if err := deliveries.Put(tx, d); err != nil {
		return fmt.Errorf("store delivery %s: %w", d.DeliveryID, err)
	}
	return nil
}

// announce writes the order's status into the outbox for each of its
// subscriptions, within the transaction that changes it by the request by.
func (s *Service) announce(tx store.Tx, o order, by store.Origin) error {
	all, err := subscriptionsOf(tx, o.OrderID)
	if err != nil {
		return err
	}
	for _, v := range all {
		if !v.live() && v.Status != api.SubscriptionPaused {
			continue
		}
		before, err := heldDeliveries(tx, v.SubscriptionID, 1)
		if err != nil {
			return err
		}
		if v.Status == api.SubscriptionCompleted { // the order continues
			v.Status = api.SubscriptionActive
			if err := s.putSubscription(tx, &v); err != nil {
				return err
			}
		}
		now := s.Wall()
		d := delivery{CustomerID: o.CustomerID, SiteID: o.SiteID, Version: o.Version, Origin: by}
		d.DeliveryID, d.SubscriptionID, d.OrderID, d.Status, d.CreatedAt = record.NewID("whd", now), v.SubscriptionID, o.OrderID, api.DeliveryPending, api.At(now)
		d.Event = orderEvent{OrderID: o.OrderID, Status: o.Status, UpdatedAt: o.UpdatedAt, CompletionNotes: o.CompletionNotes}
		if d.due(now, now); v.Status == api.SubscriptionPaused || len(before) > 0 {
			d.over(api.DeliveryHeld)
		}
		if err := putDelivery(tx, d); err != nil {
			return err
		}
	}
	return nil
}

// newQueue is the queue of the deliveries that wait.
func newQueue(c Config) *outbox.Queue[delivery] {
	return outbox.New(outbox.Config[delivery]{Name: "webhooks", Records: c.Records, Table: deliveries, Wall: c.Wall, Move: (*delivery).due,
		Times: func(d delivery) outbox.Times {
			return outbox.Times{Due: d.Due, Since: d.Since, Created: d.CreatedAt.Time}
		}})
}

// Claim takes up to n deliveries that are due and keeps them from others until
// now+lease. Those whose subscription has ended are dropped.
func (s *Service) Claim(ctx context.Context, now time.Time, lease time.Duration, n int) (claimed []webhook.Delivery, err error) {
	err = s.Queue.Claim(ctx, now, n, func() { claimed = nil }, func(tx store.Tx, d *delivery) error {
		one, live, err := s.outgoing(tx, *d)
		if err != nil {
			return err
		}
		if !live {
			d.over(api.DeliveryDropped)
			return nil
		}
		d.due(now, now.Add(lease))
		claimed = append(claimed, one)
		return nil
	})
	return claimed, err
}

// outgoing is a delivery as it is posted; live is false when its subscription
// has ended.
func (s *Service) outgoing(tx store.Tx, d delivery) (out webhook.Delivery, live bool, err error) {
	v, err := subscriptions.Get(tx, store.Key(d.SiteID, d.SubscriptionID))
	if errors.Is(err, store.ErrNotFound) || err == nil && !v.live() {
		return out, false, nil
	}
	if err != nil {
		return out, false, fmt.Errorf("read subscription %s: %w", d.SubscriptionID, err)
	}
	secrets, err := s.secrets(v)
	if err != nil {
		return out, false, err
	}
	body, err := json.Marshal(d.event())
	if err != nil {
		return out, false, fmt.Errorf("write the event of delivery %s: %w", d.DeliveryID, err)
	}
	return webhook.Delivery{ID: d.DeliveryID, URL: v.CallbackURL, Secrets: secrets, Body: api.HideSiteKeys(body), Attempt: d.Attempts + 1, RequestID: d.Origin.RequestID, Trace: d.Origin.Trace}, true, nil
}

// Delivered stores the result of an attempt, and what that says of the
// subscription.
func (s *Service) Delivered(ctx context.Context, id string, out webhook.PostResult) error {
	released := false
	err := s.Records.Update(ctx, func(tx store.Tx) error {
		d, err := byID(tx, deliveries, api.Unlimited("webhook"), id, api.ErrDeliveryNotFound, delivery.owner)
		if err != nil {
			return err
		}
		v, err := subscriptions.Get(tx, store.Key(d.SiteID, d.SubscriptionID))
		if err != nil {
			return fmt.Errorf("read subscription %s: %w", d.SubscriptionID, err)
		}
		d.Attempts++
		d.LastAttemptAt, d.AnswerStatus, d.Failure = api.At(out.At), out.Status, out.Failure
		switch {
		case out.Failure == "":
			d.DeliveredAt = api.At(out.At)
			d.over(api.DeliveryDelivered)
		case out.Next.IsZero():
			d.over(api.DeliveryFailed)
		default:
			d.due(out.At, out.Next)
		}
		paused := v.Status == api.SubscriptionPaused // while it was being sent
		switch {
		case v.live():
			v.health().Record(out)
		case paused && out.Failure == "":
			v.LastSuccessAt = api.At(out.At)
		}
		switch {
		case d.Status != api.DeliveryPending:
		case paused:
			d.over(api.DeliveryHeld)
		case !v.live():
			d.over(api.DeliveryFailed)
		}
		if err := putDelivery(tx, d); err != nil {
			return err
		}
		if released, err = s.settle(tx, &v); err != nil {
			return err
		}
		if !s.Wall().Before(v.FormerSecretUntil.Time) {
			v.Former, v.FormerSecretUntil = nil, api.Time{}
		}
		return s.putSubscription(tx, &v)
	})
	if released {
		s.Notify()
	}
	return err
}

// health is what attempts change of the subscription.
func (v *subscription) health() outbox.Health {
	return outbox.Health{Status: &v.Status, Reason: &v.StatusReason, LastSuccess: &v.LastSuccessAt, FailingSince: &v.FailingSince}
}

// settle lets the next of what was kept back go, and completes an active
// subscription whose order has ended and that has received all. What one that
// was disabled keeps back is dropped.
func (s *Service) settle(tx store.Tx, v *subscription) (released bool, err error) {
	switch {
	case v.Status == api.SubscriptionDisabled:
		return false, dropHeld(tx, v.SubscriptionID)
	case !v.live():
		return false, nil
	}
	if left, released, err := s.releaseHeld(tx, v.SubscriptionID); err != nil || left || v.Status != api.SubscriptionActive {
		return released, err
	}
	o, err := byID(tx, orders, api.Unlimited("webhook"), v.OrderID, api.ErrOrderNotFound, order.owner)
	if err != nil || o.open() {
		return false, err
	}
	list, err := deliveriesOf(tx, v.SubscriptionID)
	if err == nil && !slices.ContainsFunc(list, func(d delivery) bool { return d.Status == api.DeliveryPending }) {
		v.Status = api.SubscriptionCompleted
	}
	return false, err
}

// keepDeliveries is how long what is over stays to be looked at and replayed.
const keepDeliveries = 30 * 24 * time.Hour

// Sweep drops what has expired: old deliveries, and reservations of orders that
// should have begun long ago.
func (s *Service) Sweep(ctx context.Context) error {
	return errors.Join(s.sweepDeliveries(ctx), s.expireReservations(ctx))
}

// sweepDeliveries drops those that have long been over.
func (s *Service) sweepDeliveries(ctx context.Context) error {
	before := api.At(s.Wall().Add(-keepDeliveries))
	for cursor, more := "", true; more; {
		err := s.Records.Update(ctx, func(tx store.Tx) error {
			more = false
			// Ids sort by the time they were made.
			list, next, err := deliveries.List(tx, store.Query{Index: "id", Limit: api.MaxLimit, Cursor: cursor})
			if err != nil {
				return fmt.Errorf("list old deliveries: %w", err)
			}
			for _, d := range list {
				if !d.CreatedAt.Before(before.Time) {
					return nil
				}
				if d.Status == api.DeliveryPending || d.Status == api.DeliveryHeld {
					continue
				}
				if err := deliveries.Delete(tx, deliveries.Key(d)); err != nil {
					return fmt.Errorf("drop delivery %s: %w", d.DeliveryID, err)
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

var _ webhook.Outbox = (*Service)(nil)

// OutboxStatus summarizes the deliveries and subscriptions of all orders.
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
