package httpapi

import (
	"context"

	"app.sunloop/backend/api"
)

// Tracking reports changes of the status of orders to subscribers.
type Tracking interface {
	// Subscribe returns the secret of a new subscription, and none for one
	// that is there already; api.ErrInvalidCallback for a place that may not
	// be called, api.ErrOrderNotFound for an unknown order.
	Subscribe(ctx context.Context, scope api.Scope, r api.TrackRequest) (_ api.Subscription, secret string, err error)
	// Subscriptions lists those of an order, or of what q names, as they were
	// made.
	Subscriptions(ctx context.Context, scope api.Scope, q api.ListQuery, orderID string) ([]api.Subscription, string, error)
	// Unsubscribe returns api.ErrSubscriptionNotFound for an unknown id.
	Unsubscribe(ctx context.Context, scope api.Scope, subscriptionID string) (api.Subscription, error)
	// PauseSubscription and ResumeSubscription answer it as it is then; 409
	// with the allowed next states for one that has ended.
	PauseSubscription(ctx context.Context, scope api.Scope, subscriptionID string) (api.Subscription, error)
	ResumeSubscription(ctx context.Context, scope api.Scope, subscriptionID string) (api.Subscription, error)
	// RotateSecret returns the new secret.
	RotateSecret(ctx context.Context, scope api.Scope, subscriptionID string) (_ api.Subscription, secret string, err error)
	// Deliveries lists the newest first.
	Deliveries(ctx context.Context, scope api.Scope, r api.TrackRequest) ([]api.Delivery, string, error)
	// Replay sends again; 409 when the subscription has ended.
	Replay(ctx context.Context, scope api.Scope, r api.TrackRequest) ([]api.Delivery, error)
}

func (s *server) trackHandlers() {
	one := func(message string, v api.Subscription, secret string, err error) (api.TrackResponse, error) {
		return api.TrackResponse{Success: true, Message: message, SubscriptionID: v.SubscriptionID, OrderID: v.OrderID, Status: v.Status, Secret: secret, Subscription: &v, Count: 1}, err
	}
	handle(s, api.Subscribe, func(ctx context.Context, c *caller, r *api.TrackRequest) (api.TrackResponse, error) {
		v, secret, err := s.Tracking.Subscribe(ctx, c.scope, *r)
		message := "Subscribed"
		if secret == "" {
			message = "Subscribed already"
		}
		return one(message, v, secret, err)
	})
	handle(s, api.ListSubscriptions, func(ctx context.Context, c *caller, r *api.TrackRequest) (api.TrackResponse, error) {
		list, next, err := s.Tracking.Subscriptions(ctx, c.scope, api.ListQuery{CustomerID: r.CustomerID, SiteID: r.SiteID, Page: r.Page}, r.OrderID)
		return api.TrackResponse{Success: true, Subscriptions: nonNil(list), Count: len(list), NextCursor: next}, err
	})
	handle(s, api.Unsubscribe, func(ctx context.Context, c *caller, r *api.TrackRequest) (api.TrackResponse, error) {
		v, err := s.Tracking.Unsubscribe(ctx, c.scope, r.SubscriptionID)
		return one("Unsubscribed", v, "", err)
	})
	handle(s, api.PauseSubscription, func(ctx context.Context, c *caller, r *api.TrackRequest) (api.TrackResponse, error) {
		v, err := s.Tracking.PauseSubscription(ctx, c.scope, r.SubscriptionID)
		return one("Paused", v, "", err)
	})
	handle(s, api.ResumeSubscription, func(ctx context.Context, c *caller, r *api.TrackRequest) (api.TrackResponse, error) {
		v, err := s.Tracking.ResumeSubscription(ctx, c.scope, r.SubscriptionID)
		return one("Resumed", v, "", err)
	})
	handle(s, api.RotateSubscription, func(ctx context.Context, c *caller, r *api.TrackRequest) (api.TrackResponse, error) {
		v, secret, err := s.Tracking.RotateSecret(ctx, c.scope, r.SubscriptionID)
		return one("Secret rotated", v, secret, err)
	})
	handle(s, api.ListDeliveries, func(ctx context.Context, c *caller, r *api.TrackRequest) (api.TrackResponse, error) {
		list, next, err := s.Tracking.Deliveries(ctx, c.scope, *r)
		return api.TrackResponse{Success: true, Deliveries: nonNil(list), Count: len(list), NextCursor: next}, err
	})
	handle(s, api.ReplayDeliveries, func(ctx context.Context, c *caller, r *api.TrackRequest) (api.TrackResponse, error) {
		list, err := s.Tracking.Replay(ctx, c.scope, *r)
		return api.TrackResponse{Success: true, Message: "Sent again", Deliveries: nonNil(list), Count: len(list)}, err
	})
}
