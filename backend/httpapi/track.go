package httpapi

import (
	"cmp"
	"context"

	"app.sunloop/backend/api"
)

// Tracking tells others of the changes of an order's status.
type Tracking interface {
	// Subscribe answers the secret of a new subscription, and none for one
	// that is there already; api.ErrInvalidCallback for a place that may not
	// be called, api.ErrOrderNotFound for an unknown order.
	Subscribe(ctx context.Context, scope api.Scope, r api.TrackRequest) (_ api.Subscription, secret string, err error)
	// Subscriptions lists those of an order, or of what q names, as they were
	// made.
	Subscriptions(ctx context.Context, scope api.Scope, q api.ListQuery, orderID string) ([]api.Subscription, string, error)
	// Unsubscribe answers api.ErrSubscriptionNotFound for an unknown id.
	Unsubscribe(ctx context.Context, scope api.Scope, subscriptionID string) (api.Subscription, error)
	// PauseSubscription and ResumeSubscription answer it as it is then; 409
	// with the allowed next states for one that has ended.
	PauseSubscription(ctx context.Context, scope api.Scope, subscriptionID string) (api.Subscription, error)
	ResumeSubscription(ctx context.Context, scope api.Scope, subscriptionID string) (api.Subscription, error)
	// RotateSecret answers the new secret.
	RotateSecret(ctx context.Context, scope api.Scope, subscriptionID string) (_ api.Subscription, secret string, err error)
	// Deliveries lists the newest first.
	Deliveries(ctx context.Context, scope api.Scope, r api.TrackRequest) ([]api.Delivery, string, error)
	// Replay sends again; 409 when the subscription has ended.
	Replay(ctx context.Context, scope api.Scope, r api.TrackRequest) ([]api.Delivery, error)
}

func (s *server) track(in *input) (*call, error) {
	var b api.TrackRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	b.OrderID = cmp.Or(b.OrderID, b.JobID)
	page, err := pageOf(b.Page)
	if err != nil {
		return nil, err
	}
	b.Page = page
	c := &call{action: b.Action, target: target{customerID: b.CustomerID, siteID: &b.SiteID}, fingerprint: in.digest()}
	one := func(message string, v api.Subscription, secret string, err error) (any, error) {
		return api.TrackResponse{Success: true, Message: message, SubscriptionID: v.SubscriptionID, OrderID: v.OrderID, Status: v.Status, Secret: secret, Subscription: &v, Count: 1}, err
	}
	switch b.Action {
	case api.ActionSubscribe:
		switch {
		case b.OrderID == "":
			return nil, api.MissingField("order_id")
		case b.CallbackURL == "":
			return nil, api.ErrInvalidCallback.With("field", "callback_url").With("reason", "it is missing")
		}
		c.run = func(ctx context.Context, g granted) (any, error) {
			v, secret, err := s.Tracking.Subscribe(ctx, g.scope, b)
			message := "Subscribed"
			if secret == "" {
				message = "Subscribed already"
			}
			return one(message, v, secret, err)
		}
	case api.ActionList:
		if b.OrderID == "" && b.CustomerID == "" && b.SiteID == "" {
			return nil, api.MissingField("order_id")
		}
		c.run = func(ctx context.Context, g granted) (any, error) {
			list, next, err := s.Tracking.Subscriptions(ctx, g.scope, api.ListQuery{CustomerID: b.CustomerID, SiteID: b.SiteID, Page: b.Page}, b.OrderID)
			return api.TrackResponse{Success: true, Subscriptions: there(list), Count: len(list), NextCursor: next}, err
		}
	case api.ActionUnsubscribe, api.ActionPause, api.ActionResume, api.ActionRotate:
		if b.SubscriptionID == "" {
			return nil, api.MissingField("subscription_id")
		}
		c.run = func(ctx context.Context, g granted) (any, error) {
			switch b.Action {
			case api.ActionPause:
				v, err := s.Tracking.PauseSubscription(ctx, g.scope, b.SubscriptionID)
				return one("Paused", v, "", err)
			case api.ActionResume:
				v, err := s.Tracking.ResumeSubscription(ctx, g.scope, b.SubscriptionID)
				return one("Resumed", v, "", err)
			case api.ActionRotate:
				v, secret, err := s.Tracking.RotateSecret(ctx, g.scope, b.SubscriptionID)
				return one("Secret rotated", v, secret, err)
			}
			v, err := s.Tracking.Unsubscribe(ctx, g.scope, b.SubscriptionID)
			return one("Unsubscribed", v, "", err)
		}
	case api.ActionDeliveries:
		if b.SubscriptionID == "" && b.OrderID == "" {
			return nil, api.MissingField("subscription_id")
		}
		c.run = func(ctx context.Context, g granted) (any, error) {
			list, next, err := s.Tracking.Deliveries(ctx, g.scope, b)
			return api.TrackResponse{Success: true, Deliveries: there(list), Count: len(list), NextCursor: next}, err
		}
	case api.ActionReplay:
		if b.SubscriptionID == "" && b.DeliveryID == "" {
			return nil, api.MissingField("delivery_id")
		}
		c.run = func(ctx context.Context, g granted) (any, error) {
			list, err := s.Tracking.Replay(ctx, g.scope, b)
			return api.TrackResponse{Success: true, Message: "Sent again", Deliveries: there(list), Count: len(list)}, err
		}
	default:
		return nil, api.ErrInvalidAction
	}
	return c, nil
}
