package subscription

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/outbox"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/backend/webhook"
)

// maxSubscriptions is the number of subscriptions of a customer.
const maxSubscriptions = 100

// Subscribe makes a subscription and returns its secret. One with the same customer, site,
// URL and events is returned without its secret; if it was disabled, it is active again.
func (s *Service) Subscribe(ctx context.Context, scope api.Scope, r api.SubscriptionsRequest) (_ api.EventSubscription, secret string, err error) {
	if err := s.Guard.Check(ctx, r.CallbackURL); err != nil {
		var refused *webhook.RefusedError
		if !errors.As(err, &refused) {
			return api.EventSubscription{}, "", err
		}
		return api.EventSubscription{}, "", api.ErrInvalidCallback.With("field", "callback_url").With("reason", refused.Why)
	}
	events := slices.Clone(r.Events)
	slices.Sort(events)
	events = slices.Compact(events)
	fresh := webhook.NewSecret()
	var v subscription
	err = s.Records.Update(ctx, func(tx store.Tx) error {
		secret = ""
		customer, err := s.customerOf(tx, scope, r)
		if err != nil {
			return err
		}
		all, _, err := subscriptions.List(tx, store.Query{Index: "customer", Prefix: store.Key(customer)})
		if err != nil {
			return fmt.Errorf("list the subscriptions of customer %s: %w", customer, err)
		}
		same := slices.IndexFunc(all, func(v subscription) bool {
			return v.SiteID == r.SiteID && v.CallbackURL == r.CallbackURL && slices.Equal(v.Events, events)
		})
		if same >= 0 {
			if v = all[same]; v.Status == api.SubscriptionDisabled {
				v.Status, v.StatusReason, v.FailingSince = api.SubscriptionActive, "", api.Time{}
				return s.putSubscription(tx, &v)
			}
			return nil
		}
		if len(all) >= maxSubscriptions {
			return api.LimitReached("Customer %s has %d subscriptions: that is the most", customer, maxSubscriptions)
		}
		now := s.Wall()
		v = subscription{SubscriptionID: s.ids.New("evs", now), CustomerID: customer, SiteID: r.SiteID, Events: events, CallbackURL: r.CallbackURL,
			Status: api.SubscriptionActive, CreatedAt: api.At(now), CreatedBy: scope.Actor}
		if v.Sealed, err = s.Sealer.Seal([]byte(fresh), v.place()); err != nil {
			return fmt.Errorf("seal the secret of a subscription: %w", err)
		}
		secret = fresh
		return s.putSubscription(tx, &v)
	})
	return v.toAPI(), secret, err
}

// customerOf returns the customer of a new subscription, if the scope covers it.
func (s *Service) customerOf(tx store.Tx, scope api.Scope, r api.SubscriptionsRequest) (string, error) {
	switch {
	case r.SiteID != "":
		return s.Owner(tx, scope, r.SiteID)
	case r.CustomerID != "":
	case len(scope.Customers) == 1 && scope.Customers[0] != api.Every:
		r.CustomerID = scope.Customers[0]
	default:
		return "", api.MissingField("customer_id")
	}
	if !scope.CanWholeCustomer(r.CustomerID) {
		return "", api.ErrForbidden
	}
	return r.CustomerID, nil
}

// List returns the subscriptions that a caller may see, in the order in which they were
// made, optionally of one customer or site.
func (s *Service) List(ctx context.Context, scope api.Scope, r api.SubscriptionsRequest) ([]api.EventSubscription, string, error) {
	q := store.Query{Index: "id"}
	switch {
	case r.SiteID != "":
		q = store.Query{Prefix: store.Key(r.SiteID)}
	case r.CustomerID != "":
		q = store.Query{Index: "customer", Prefix: store.Key(r.CustomerID)}
	}
	list, cursor, err := record.List(ctx, s.Records, subscriptions, q, r.Page, func(v subscription) bool {
		return v.Status != api.SubscriptionDeleted && v.visible(scope) && (r.CustomerID == "" || r.CustomerID == v.CustomerID) &&
			r.SinceUnix(v.UpdatedMS, record.Latest(v.CreatedAt, record.Latest(v.LastSuccessAt, v.FailingSince))) && record.Is(r.Status, v.Status)
	})
	return record.Convert(list, subscription.toAPI), cursor, err
}

// moves are the changes of status that a subscriber may make, by status.
var moves = map[string][]string{
	api.SubscriptionActive:  {api.SubscriptionPaused},
	api.SubscriptionFailing: {api.SubscriptionPaused},
	api.SubscriptionPaused:  {api.SubscriptionActive},
}

func (v subscription) allow(to string) error {
	if allowed := moves[v.Status]; !slices.Contains(allowed, to) {
		return api.InvalidTransition("Subscription %s is %s: it cannot become %s", v.SubscriptionID, v.Status, to).With("allowed", append([]string{}, allowed...))
	}
	return nil
}

// change changes a subscription in one transaction.
func (s *Service) change(ctx context.Context, scope api.Scope, id string, change func(tx store.Tx, v *subscription) error) (api.EventSubscription, error) {
	var v subscription
	err := s.Records.Update(ctx, func(tx store.Tx) (err error) {
		if v, err = byID(tx, scope, id); err != nil {
			return err
		}
		if err := change(tx, &v); err != nil {
			return err
		}
		return s.putSubscription(tx, &v)
	})
	return v.toAPI(), err
}

// Unsubscribe ends a subscription; what was not delivered is dropped. To end one again
// changes nothing.
func (s *Service) Unsubscribe(ctx context.Context, scope api.Scope, id string) (api.EventSubscription, error) {
	v, err := s.change(ctx, scope, id, func(_ store.Tx, v *subscription) error {
		v.Status, v.StatusReason, v.Sealed, v.Former, v.FormerSecretUntil = api.SubscriptionDeleted, "", nil, nil, api.Time{}
		return nil
	})
	if err != nil {
		return v, err
	}
	return v, s.release(ctx, id)
}

// Pause holds the events of a subscription until it is resumed. To pause one again changes
// nothing.
func (s *Service) Pause(ctx context.Context, scope api.Scope, id string) (api.EventSubscription, error) {
	return s.change(ctx, scope, id, func(_ store.Tx, v *subscription) error {
		if v.Status == api.SubscriptionPaused {
			return nil
		}
		if err := v.allow(api.SubscriptionPaused); err != nil {
			return err
		}
		v.Status, v.StatusReason, v.FailingSince = api.SubscriptionPaused, "", api.Time{}
		return nil
	})
}

// Resume posts the events of a paused subscription, and all that follow. To resume one that
// is not paused changes nothing.
func (s *Service) Resume(ctx context.Context, scope api.Scope, id string) (api.EventSubscription, error) {
	v, err := s.change(ctx, scope, id, func(_ store.Tx, v *subscription) error {
		if v.live() {
			return nil
		}
		if err := v.allow(api.SubscriptionActive); err != nil {
			return err
		}
		v.Status = api.SubscriptionActive
		return nil
	})
	if err != nil {
		return v, err
	}
	return v, s.release(ctx, id)
}

// Rotate gives a subscription a new secret. The former one also signs for
// [api.SecretOverlap].
func (s *Service) Rotate(ctx context.Context, scope api.Scope, id string) (_ api.EventSubscription, secret string, err error) {
	fresh := webhook.NewSecret()
	v, err := s.change(ctx, scope, id, func(_ store.Tx, v *subscription) (err error) {
		if v.Status == api.SubscriptionDeleted {
			return api.InvalidTransition("Subscription %s is deleted: subscribe again for a secret", v.SubscriptionID)
		}
		v.Former, v.FormerSecretUntil = v.Sealed, api.At(s.Wall().Add(api.SecretOverlap))
		if v.Sealed, err = s.Sealer.Seal([]byte(fresh), v.place()); err != nil {
			return fmt.Errorf("seal the secret of a subscription: %w", err)
		}
		return nil
	})
	if err != nil {
		return v, "", err
	}
	return v, fresh, nil
}

// secrets sign what is posted to the subscription, the newest first.
func (s *Service) secrets(v subscription) ([]string, error) {
	var former []byte
	if s.Wall().Before(v.FormerSecretUntil.Time) {
		former = v.Former
	}
	return outbox.Secrets(s.Sealer, v.place(), v.Sealed, former)
}

// Preview returns an event of a type with made-up data, as it is posted for a customer or
// a site, or to a subscription.
func (s *Service) Preview(ctx context.Context, scope api.Scope, r api.SubscriptionsRequest) (api.WebhookEvent, error) {
	customer, site := r.CustomerID, r.SiteID
	err := s.Records.View(ctx, func(tx store.Tx) (err error) {
		switch {
		case r.SubscriptionID != "":
			v, err := byID(tx, scope, r.SubscriptionID)
			customer, site = v.CustomerID, v.SiteID
			return err
		case site != "":
			customer, err = s.Owner(tx, scope, site)
		}
		return err
	})
	return sample(r.Event, customer, site, s.Wall()), err
}

// Test posts an event with made-up data once, and returns the delivery with the answer of
// the receiver.
func (s *Service) Test(ctx context.Context, scope api.Scope, r api.SubscriptionsRequest) (api.EventDelivery, error) {
	var v subscription
	var secrets []string
	err := s.Records.View(ctx, func(tx store.Tx) (err error) {
		if v, err = byID(tx, scope, r.SubscriptionID); err != nil {
			return err
		}
		if v.Status == api.SubscriptionDeleted {
			return api.InvalidTransition("Subscription %s is deleted: subscribe again first", v.SubscriptionID)
		}
		secrets, err = s.secrets(v)
		return err
	})
	if err != nil {
		return api.EventDelivery{}, err
	}
	kind := r.Event
	if kind == "" {
		kind = api.EventOrderCreated
	}
	now := s.Wall()
	e := sample(kind, v.CustomerID, v.SiteID, now)
	body, err := json.Marshal(e)
	if err != nil {
		return api.EventDelivery{}, fmt.Errorf("encode a test event: %w", err)
	}
	d := delivery{DeliveryID: s.ids.New("evd", now), SubscriptionID: v.SubscriptionID, CustomerID: v.CustomerID, SiteID: v.SiteID, Object: e.Object, ObjectID: e.ObjectID,
		Sequence: e.Sequence, Body: body, CreatedAt: api.At(now), Attempts: 1, Origin: store.OriginOf(ctx)}
	out := s.Poster.Post(ctx, webhook.Delivery{ID: d.DeliveryID, URL: v.CallbackURL, Secrets: secrets, Body: api.HideSiteKeys(slices.Clone(body)), Attempt: 1})
	d.LastAttemptAt, d.AnswerStatus, d.Failure = api.At(out.At), out.Status, out.Failure
	if d.setStatus(api.DeliveryDelivered); out.Failure != "" {
		d.setStatus(api.DeliveryFailed)
	} else {
		d.DeliveredAt = api.At(out.At)
	}
	err = s.Records.Update(context.WithoutCancel(ctx), func(tx store.Tx) error { return putDelivery(tx, d) })
	return d.toAPI(), err
}

// Deliveries lists those of a subscription, the newest first, optionally of one status.
func (s *Service) Deliveries(ctx context.Context, scope api.Scope, r api.SubscriptionsRequest) ([]api.EventDelivery, string, error) {
	err := s.Records.View(ctx, func(tx store.Tx) error {
		_, err := byID(tx, scope, r.SubscriptionID)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	q := store.Query{Index: "subscription", Prefix: store.Key(r.SubscriptionID), Reverse: true}
	list, cursor, err := record.List(ctx, s.Records, deliveries, q, r.Page, func(d delivery) bool { return r.Status == "" || d.Status == r.Status })
	return record.Convert(list, delivery.toAPI), cursor, err
}

// Replay posts deliveries again from the first attempt, each object's in order: one of them,
// those of a subscription that were not delivered, or all of it since a time. At most
// [api.MaxLimit] are replayed by a call, the oldest.
func (s *Service) Replay(ctx context.Context, scope api.Scope, r api.SubscriptionsRequest) (again []api.EventDelivery, err error) {
	id := r.SubscriptionID
	err = s.Records.Update(ctx, func(tx store.Tx) error {
		again = nil
		list, v, err := toReplay(tx, scope, r)
		if err != nil {
			return err
		}
		id = v.SubscriptionID
		switch {
		case v.Status == api.SubscriptionPaused:
			return api.InvalidTransition("Subscription %s is paused: resume it first", v.SubscriptionID)
		case !v.live():
			return api.InvalidTransition("Subscription %s is %s: subscribe again first", v.SubscriptionID, v.Status)
		}
		for _, d := range list {
			d.Attempts, d.Failure, d.AnswerStatus, d.DeliveredAt = 0, "", 0, api.Time{}
			d.setStatus(api.DeliveryHeld)
			if err := putDelivery(tx, d); err != nil {
				return err
			}
			again = append(again, d.toAPI())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return again, s.release(ctx, id)
}

func toReplay(tx store.Tx, scope api.Scope, r api.SubscriptionsRequest) ([]delivery, subscription, error) {
	if r.DeliveryID != "" {
		d, v, err := deliveryByID(tx, scope, r.DeliveryID)
		if err == nil && d.open() {
			return nil, v, nil // it is being sent
		}
		return []delivery{d}, v, err
	}
	v, err := byID(tx, scope, r.SubscriptionID)
	if err != nil {
		return nil, v, err
	}
	var list []delivery
	err = deliveries.Each(tx, store.Query{Index: "subscription", Prefix: store.Key(r.SubscriptionID)}, func(d delivery) error {
		chosen := d.Status == api.DeliveryFailed || d.Status == api.DeliveryDropped
		if !r.Since.IsZero() {
			chosen = !d.open() && !d.CreatedAt.Before(r.Since.Time)
		}
		if chosen && len(list) < api.MaxLimit {
			list = append(list, d)
		}
		return nil
	})
	return list, v, record.Wrap(err, "list the deliveries of subscription "+r.SubscriptionID)
}
