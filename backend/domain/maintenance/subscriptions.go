package maintenance

import (
	"context"
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

// Sealer encrypts the secrets of subscriptions, bound to their place.
type Sealer interface {
	Seal(secret []byte, place string) ([]byte, error)
	Open(sealed []byte, place string) ([]byte, error)
}

// subscription is the record of a subscription.
type subscription struct {
	SubscriptionID string   `json:"subscription_id" limit:"id"`
	OrderID        string   `json:"order_id" limit:"id"`
	CallbackURL    string   `json:"callback_url" limit:"url"`
	Status         string   `json:"status" limit:"word"`
	CreatedAt      api.Time `json:"created_at"`

	SiteID        string   `json:"site_id" limit:"id"`
	CreatedBy     string   `json:"created_by,omitempty" limit:"name cut"`
	LastSuccessAt api.Time `json:"last_success_at,omitzero"`
	FailingSince  api.Time `json:"failing_since,omitzero"`
	StatusReason  string   `json:"status_reason,omitempty" limit:"line cut"`

	FormerSecretUntil api.Time `json:"former_secret_until,omitzero"` // after a rotation: until then the former secret signs too

	CustomerID string `json:"customer_id" limit:"id"`
	AssetID    string `json:"asset_id" limit:"id"`
	Sealed     []byte `json:"sealed" limit:"4096"`           // the secret
	Former     []byte `json:"former,omitempty" limit:"4096"` // the one before, which signs until FormerSecretUntil
	UpdatedMS  int64  `json:"updated_ms,omitempty"`
}

func (v subscription) toAPI() api.Subscription {
	return api.Subscription{
		SubscriptionID: v.SubscriptionID, OrderID: v.OrderID, CallbackURL: v.CallbackURL, Status: v.Status, CreatedAt: v.CreatedAt, SiteID: v.SiteID,
		CreatedBy: v.CreatedBy, LastSuccessAt: v.LastSuccessAt, FailingSince: v.FailingSince, StatusReason: v.StatusReason,
		FormerSecretUntil: v.FormerSecretUntil, UpdatedAtMS: v.UpdatedMS,
	}
}

func (v subscription) owner() (customer, site string) { return v.CustomerID, v.SiteID }

// live says whether events are sent to it.
func (v subscription) live() bool {
	return slices.Contains([]string{api.SubscriptionActive, api.SubscriptionFailing, api.SubscriptionCompleted}, v.Status)
}

func (v subscription) place() string { return "subscription/" + v.SubscriptionID }

var subscriptions = store.Table[subscription]{
	Bucket: "subscriptions",
	Key:    func(v subscription) []byte { return store.Key(v.SiteID, v.SubscriptionID) },
	Indexes: append(listed(
		func(v subscription) (customer, site, asset string) { return v.CustomerID, v.SiteID, v.AssetID },
		func(v subscription) []string { return []string{v.SubscriptionID} }),
		store.Index[subscription]{Name: "id", Key: func(v subscription) []byte { return store.Key(v.SubscriptionID) }},
		store.Index[subscription]{Name: "order", Key: func(v subscription) []byte { return store.Key(v.OrderID) }}),
}

// maxSubscriptions of one order.
const maxSubscriptions = 50

// Subscribe asks for the changes of an order's status. The same order and URL
// have one subscription, which is answered without its secret; one that ended
// is taken up again. The place is refused with [api.ErrInvalidCallback] when
// the guard does not let it be called.
func (s *Service) Subscribe(ctx context.Context, scope api.Scope, r api.TrackRequest) (_ api.Subscription, secret string, err error) {
	if err := s.Guard.Check(ctx, r.CallbackURL); err != nil {
		var refused *webhook.RefusedError
		if !errors.As(err, &refused) {
			return api.Subscription{}, "", err
		}
		return api.Subscription{}, "", api.ErrInvalidCallback.With("field", "callback_url").With("reason", refused.Why)
	}
	var v subscription
	fresh := webhook.NewSecret()
	err = s.Records.Update(ctx, func(tx store.Tx) error {
		secret = ""
		o, err := byID(tx, orders, scope, r.OrderID, api.ErrOrderNotFound, order.owner)
		if err != nil {
			return err
		}
		all, err := subscriptionsOf(tx, o.OrderID)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(all, func(v subscription) bool {
			return v.CallbackURL == r.CallbackURL && v.Status != api.SubscriptionDeleted
		})
		if at >= 0 {
			v = all[at]
			if v.Status == api.SubscriptionDisabled || v.Status == api.SubscriptionCompleted {
				v.Status, v.StatusReason, v.FailingSince = api.SubscriptionActive, "", api.Time{}
				return s.putSubscription(tx, &v)
			}
			return nil
		}
		if len(all) >= maxSubscriptions {
			return api.LimitReached("Order %s has %d subscriptions: that is the most", o.OrderID, maxSubscriptions)
		}
		v = subscription{CustomerID: o.CustomerID, AssetID: o.AssetID}
		v.SubscriptionID, v.OrderID, v.CallbackURL, v.SiteID = s.id("sub"), o.OrderID, r.CallbackURL, o.SiteID
		v.Status, v.CreatedAt, v.CreatedBy = api.SubscriptionActive, api.At(s.Now()), scope.Actor
		if v.Sealed, err = s.Sealer.Seal([]byte(fresh), v.place()); err != nil {
			return fmt.Errorf("seal the secret of a subscription: %w", err)
		}
		secret = fresh
		if err := s.putSubscription(tx, &v); err != nil {
			return err
		}
		return s.note(tx, v.CustomerID, v.SiteID, v.AssetID, api.PhaseAct, "Job tracking subscribed", "order "+v.OrderID, scope.Actor)
	})
	return v.toAPI(), secret, err
}

func subscriptionsOf(tx store.Tx, orderID string) ([]subscription, error) {
	all, _, err := subscriptions.List(tx, store.Query{Index: "order", Prefix: store.Key(orderID)})
	if err != nil {
		return nil, fmt.Errorf("list the subscriptions of order %s: %w", orderID, err)
	}
	return all, nil
}

// putSubscription stores a subscription as changed now.
func (s *Service) putSubscription(tx store.Tx, v *subscription) error {
	v.UpdatedMS = s.Now().UnixMilli()
	if err := subscriptions.Put(tx, *v); err != nil {
		return fmt.Errorf("store subscription %s: %w", v.SubscriptionID, err)
	}
	return nil
}

// Subscriptions lists those of an order, or of what q names, in the order in
// which they were made.
func (s *Service) Subscriptions(ctx context.Context, scope api.Scope, q api.ListQuery, orderID string) ([]api.Subscription, string, error) {
	sq := listing(q)
	if orderID != "" {
		if _, err := s.Order(ctx, scope, orderID); err != nil {
			return nil, "", err
		}
		sq = store.Query{Index: "order", Prefix: store.Key(orderID)}
	}
	list, next, err := record.List(ctx, s.Records, subscriptions, sq, q.Page, func(v subscription) bool {
		return within(scope, q, v.CustomerID, v.SiteID, v.AssetID) && v.Status != api.SubscriptionDeleted &&
			q.SinceUnix(v.UpdatedMS, record.Latest(v.CreatedAt, record.Latest(v.LastSuccessAt, v.FailingSince)))
	})
	out := make([]api.Subscription, len(list))
	for i, v := range list {
		out[i] = v.toAPI()
	}
	return out, next, err
}

// Unsubscribe ends a subscription; what was not delivered is dropped. To end
// one again changes nothing.
func (s *Service) Unsubscribe(ctx context.Context, scope api.Scope, subscriptionID string) (api.Subscription, error) {
	var v subscription
	err := s.Records.Update(ctx, func(tx store.Tx) (err error) {
		if v, err = byID(tx, subscriptions, scope, subscriptionID, api.ErrSubscriptionNotFound, subscription.owner); err != nil || v.Status == api.SubscriptionDeleted {
			return err
		}
		v.Status, v.Sealed, v.Former, v.FormerSecretUntil = api.SubscriptionDeleted, nil, nil, api.Time{}
		if err := s.putSubscription(tx, &v); err != nil {
			return err
		}
		if err := dropHeld(tx, v.SubscriptionID); err != nil {
			return err
		}
		return s.note(tx, v.CustomerID, v.SiteID, v.AssetID, api.PhaseAct, "Job tracking ended", "order "+v.OrderID, scope.Actor)
	})
	return v.toAPI(), err
}

// Deliveries lists those of an order or of a subscription, the newest first.
func (s *Service) Deliveries(ctx context.Context, scope api.Scope, r api.TrackRequest) ([]api.Delivery, string, error) {
	sq := store.Query{Index: "order", Prefix: store.Key(r.OrderID), Reverse: true}
	err := s.Records.View(ctx, func(tx store.Tx) error {
		if r.SubscriptionID != "" {
			sq = store.Query{Index: "subscription", Prefix: store.Key(r.SubscriptionID), Reverse: true}
			_, err := byID(tx, subscriptions, scope, r.SubscriptionID, api.ErrSubscriptionNotFound, subscription.owner)
			return err
		}
		_, err := byID(tx, orders, scope, r.OrderID, api.ErrOrderNotFound, order.owner)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	list, next, err := record.List(ctx, s.Records, deliveries, sq, r.Page, func(d delivery) bool {
		return scope.Allows(d.CustomerID, d.SiteID) && r.Since(record.Latest(d.CreatedAt, d.LastAttemptAt).Time)
	})
	out := make([]api.Delivery, len(list))
	for i, d := range list {
		out[i] = d.toAPI()
	}
	return out, next, err
}

// Replay sends a delivery again from its first attempt, or all of a
// subscription that were given up; it answers those.
func (s *Service) Replay(ctx context.Context, scope api.Scope, r api.TrackRequest) (again []api.Delivery, err error) {
	err = s.Records.Update(ctx, func(tx store.Tx) error {
		again = []api.Delivery{}
		list, err := s.toReplay(tx, scope, r)
		if err != nil {
			return err
		}
		for _, d := range list {
			v, err := byID(tx, subscriptions, scope, d.SubscriptionID, api.ErrSubscriptionNotFound, subscription.owner)
			switch {
			case err != nil:
				return err
			case v.Status == api.SubscriptionPaused:
				return api.InvalidTransition("Subscription %s is paused: resume it first", v.SubscriptionID).With("subscription_id", v.SubscriptionID)
			case !v.live():
				return api.InvalidTransition("Subscription %s is %s: subscribe again first", v.SubscriptionID, v.Status).With("subscription_id", v.SubscriptionID)
			}
			d.Status, d.Attempts, d.Failure, d.AnswerStatus = api.DeliveryPending, 0, "", 0
			now := s.Wall()
			d.due(now, now)
			if err := putDelivery(tx, d); err != nil {
				return err
			}
			again = append(again, d.toAPI())
		}
		return nil
	})
	s.Notify()
	return again, err
}

func (s *Service) toReplay(tx store.Tx, scope api.Scope, r api.TrackRequest) ([]delivery, error) {
	if r.DeliveryID != "" {
		d, err := byID(tx, deliveries, scope, r.DeliveryID, api.ErrDeliveryNotFound, delivery.owner)
		return []delivery{d}, err
	}
	if _, err := byID(tx, subscriptions, scope, r.SubscriptionID, api.ErrSubscriptionNotFound, subscription.owner); err != nil {
		return nil, err
	}
	list, _, err := deliveries.List(tx, store.Query{Index: "subscription", Prefix: store.Key(r.SubscriptionID), Limit: api.MaxLimit, Reverse: true})
	if err != nil {
		return nil, fmt.Errorf("list the deliveries of subscription %s: %w", r.SubscriptionID, err)
	}
	list = slices.DeleteFunc(list, func(d delivery) bool { return d.Status != api.DeliveryFailed && d.Status != api.DeliveryDropped })
	slices.Reverse(list) // the oldest first
	return list, nil
}

// subscriptionMoves are the moves that the owner of a subscription may make,
// by status.
var subscriptionMoves = map[string][]string{
	api.SubscriptionActive:  {api.SubscriptionPaused},
	api.SubscriptionFailing: {api.SubscriptionPaused},
	api.SubscriptionPaused:  {api.SubscriptionActive},
}

// PauseSubscription keeps the events of a subscription back, also those on
// their way, until it is resumed. To pause one again changes nothing.
func (s *Service) PauseSubscription(ctx context.Context, scope api.Scope, subscriptionID string) (api.Subscription, error) {
	return s.changeSubscription(ctx, scope, subscriptionID, func(tx store.Tx, v *subscription) (title string, err error) {
		if v.Status == api.SubscriptionPaused {
			return "", nil
		}
		if err := v.allow(api.SubscriptionPaused); err != nil {
			return "", err
		}
		v.Status, v.StatusReason, v.FailingSince = api.SubscriptionPaused, "", api.Time{}
		list, err := deliveriesOf(tx, v.SubscriptionID)
		if err != nil {
			return "", err
		}
		for _, d := range list {
			if d.Status != api.DeliveryPending {
				continue
			}
			d.over(api.DeliveryHeld)
			if err := putDelivery(tx, d); err != nil {
				return "", err
			}
		}
		return "Job tracking paused", nil
	})
}

// ResumeSubscription lets the events of a paused subscription go, the oldest
// first. To resume one that is not paused, and to which events are sent,
// changes nothing.
func (s *Service) ResumeSubscription(ctx context.Context, scope api.Scope, subscriptionID string) (api.Subscription, error) {
	v, err := s.changeSubscription(ctx, scope, subscriptionID, func(tx store.Tx, v *subscription) (title string, err error) {
		if v.Status == api.SubscriptionActive || v.Status == api.SubscriptionFailing {
			return "", nil
		}
		if err := v.allow(api.SubscriptionActive); err != nil {
			return "", err
		}
		v.Status = api.SubscriptionActive
		_, err = s.settle(tx, v)
		return "Job tracking resumed", err
	})
	if err == nil {
		s.Notify()
	}
	return v, err
}

// RotateSecret gives a subscription a new secret. The former one also signs
// for [api.SecretOverlap]; of two rotations within that time the secret of
// the first ends immediately.
func (s *Service) RotateSecret(ctx context.Context, scope api.Scope, subscriptionID string) (_ api.Subscription, secret string, err error) {
	secret = webhook.NewSecret()
	v, err := s.changeSubscription(ctx, scope, subscriptionID, func(_ store.Tx, v *subscription) (title string, err error) {
		if v.Status == api.SubscriptionDeleted {
			return "", api.InvalidTransition("Subscription %s is %s: subscribe again for a secret", v.SubscriptionID, v.Status).With("subscription_id", v.SubscriptionID)
		}
		v.Former, v.FormerSecretUntil = v.Sealed, api.At(s.Wall().Add(api.SecretOverlap))
		v.Sealed, err = s.Sealer.Seal([]byte(secret), v.place())
		if err != nil {
			return "", fmt.Errorf("seal the secret of a subscription: %w", err)
		}
		return "Secret of job tracking rotated", nil
	})
	if err != nil {
		secret = ""
	}
	return v, secret, err
}

// changeSubscription makes a change and notes it under the title that change
// answers; with an empty one, nothing has changed.
func (s *Service) changeSubscription(ctx context.Context, scope api.Scope, subscriptionID string, change func(store.Tx, *subscription) (title string, err error)) (api.Subscription, error) {
	var v subscription
	err := s.Records.Update(ctx, func(tx store.Tx) (err error) {
		if v, err = byID(tx, subscriptions, scope, subscriptionID, api.ErrSubscriptionNotFound, subscription.owner); err != nil {
			return err
		}
		title, err := change(tx, &v)
		if err != nil || title == "" {
			return err
		}
		if err := s.putSubscription(tx, &v); err != nil {
			return err
		}
		return s.note(tx, v.CustomerID, v.SiteID, v.AssetID, api.PhaseAct, title, "order "+v.OrderID, scope.Actor)
	})
	return v.toAPI(), err
}

func (v subscription) allow(to string) error {
	if slices.Contains(subscriptionMoves[v.Status], to) {
		return nil
	}
	return invalidTransition("Subscription", v.SubscriptionID, v.Status, to, subscriptionMoves[v.Status])
}

// secrets sign what is posted to the subscription, the newest first.
func (s *Service) secrets(v subscription) ([]string, error) {
	return outbox.Secrets(s.Sealer, v.place(), v.Sealed, v.former(s.Wall()))
}

// former is the former secret while it signs too.
func (v subscription) former(now time.Time) []byte {
	if now.Before(v.FormerSecretUntil.Time) {
		return v.Former
	}
	return nil
}

// deliveriesOf a subscription, the oldest first.
func deliveriesOf(tx store.Tx, subscriptionID string) ([]delivery, error) {
	list, _, err := deliveries.List(tx, store.Query{Index: "subscription", Prefix: store.Key(subscriptionID)})
	if err != nil {
		return nil, fmt.Errorf("list the deliveries of subscription %s: %w", subscriptionID, err)
	}
	return list, nil
}

// heldDeliveries are the deliveries that a subscription keeps back, the oldest first, up
// to a number; 0: all.
func heldDeliveries(tx store.Tx, subscriptionID string, most int) ([]delivery, error) {
	list, _, err := deliveries.List(tx, store.Query{Index: "held", Prefix: store.Key(subscriptionID), Limit: most})
	if err != nil {
		return nil, fmt.Errorf("list what subscription %s keeps back: %w", subscriptionID, err)
	}
	return list, nil
}

// releaseHeld lets the oldest delivery go that is kept back, once all before it
// have been tried: so they come in order. left says that there was one.
func (s *Service) releaseHeld(tx store.Tx, subscriptionID string) (left, released bool, err error) {
	next, err := heldDeliveries(tx, subscriptionID, 1)
	if err != nil || len(next) == 0 {
		return false, false, err
	}
	list, err := deliveriesOf(tx, subscriptionID)
	if err != nil {
		return true, false, err
	}
	if slices.ContainsFunc(list, func(d delivery) bool { return d.Status == api.DeliveryPending && d.Attempts == 0 }) {
		return true, false, nil
	}
	next[0].Status = api.DeliveryPending
	now := s.Wall()
	next[0].due(now, now)
	return true, true, putDelivery(tx, next[0])
}

// dropHeld ends what a subscription that has ended keeps back.
func dropHeld(tx store.Tx, subscriptionID string) error {
	list, err := heldDeliveries(tx, subscriptionID, 0)
	if err != nil {
		return err
	}
	for _, d := range list {
		d.over(api.DeliveryDropped)
		if err := putDelivery(tx, d); err != nil {
			return err
		}
	}
	return nil
}
