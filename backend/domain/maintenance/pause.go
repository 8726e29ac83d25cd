package maintenance

import (
	"context"
	"fmt"
	"slices"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/backend/webhook"
)

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
		s.added()
	}
	return v, err
}

// RotateSecret gives a subscription a new secret. The former one signs beside
// it for [api.SecretOverlap]; of two rotations within that time the secret of
// the first is gone at once.
func (s *Service) RotateSecret(ctx context.Context, scope api.Scope, subscriptionID string) (_ api.Subscription, secret string, err error) {
	secret = webhook.NewSecret()
	v, err := s.changeSubscription(ctx, scope, subscriptionID, func(_ store.Tx, v *subscription) (title string, err error) {
		if v.Status == api.SubscriptionDeleted {
			return "", api.Conflict("Subscription %s is %s: subscribe again for a secret", v.SubscriptionID, v.Status).With("subscription_id", v.SubscriptionID)
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
		if err := putSubscription(tx, v); err != nil {
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
	return illegal("Subscription", v.SubscriptionID, v.Status, to, subscriptionMoves[v.Status])
}

// secrets sign what is posted to the subscription, the newest first.
func (s *Service) secrets(v subscription) (out []string, err error) {
	sealed := [][]byte{v.Sealed}
	if s.Wall().Before(v.FormerSecretUntil.Time) {
		sealed = append(sealed, v.Former)
	}
	for _, one := range sealed {
		secret, err := s.Sealer.Open(one, v.place())
		if err != nil {
			return nil, fmt.Errorf("open the secret of subscription %s: %w", v.SubscriptionID, err)
		}
		out = append(out, string(secret))
	}
	return out, nil
}

// deliveriesOf a subscription, the oldest first.
func deliveriesOf(tx store.Tx, subscriptionID string) ([]delivery, error) {
	list, _, err := deliveries.List(tx, store.Query{Index: "subscription", Prefix: store.Key(subscriptionID)})
	if err != nil {
		return nil, fmt.Errorf("list the deliveries of subscription %s: %w", subscriptionID, err)
	}
	return list, nil
}

// held are the deliveries that a subscription keeps back, the oldest first, up
// to a number; 0: all.
func held(tx store.Tx, subscriptionID string, most int) ([]delivery, error) {
	list, _, err := deliveries.List(tx, store.Query{Index: "held", Prefix: store.Key(subscriptionID), Limit: most})
	if err != nil {
		return nil, fmt.Errorf("list what subscription %s keeps back: %w", subscriptionID, err)
	}
	return list, nil
}

// letGo lets the oldest delivery go that is kept back, once all before it
// have been tried: so they come in order. left says that there was one.
func (s *Service) letGo(tx store.Tx, subscriptionID string) (left, released bool, err error) {
	next, err := held(tx, subscriptionID, 1)
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
	list, err := held(tx, subscriptionID, 0)
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
