package httpapi

import (
	"context"

	"app.sunloop/backend/api"
)

// Subscriptions post the events of customers and sites to URLs.
type Subscriptions interface {
	// Subscribe returns the secret of a new subscription, and none for one that exists;
	// [api.ErrInvalidCallback] for a URL that may not be called.
	Subscribe(ctx context.Context, scope api.Scope, r api.SubscriptionsRequest) (_ api.EventSubscription, secret string, err error)
	// List returns the subscriptions that the scope covers, in the order in which they
	// were made.
	List(ctx context.Context, scope api.Scope, r api.SubscriptionsRequest) ([]api.EventSubscription, string, error)
	// Unsubscribe returns [api.ErrSubscriptionNotFound] for an unknown id, as all that follow.
	Unsubscribe(ctx context.Context, scope api.Scope, id string) (api.EventSubscription, error)
	// Pause and Resume are a 409 with the possible statuses for one that has ended.
	Pause(ctx context.Context, scope api.Scope, id string) (api.EventSubscription, error)
	Resume(ctx context.Context, scope api.Scope, id string) (api.EventSubscription, error)
	// Rotate returns the new secret.
	Rotate(ctx context.Context, scope api.Scope, id string) (_ api.EventSubscription, secret string, err error)
	// Preview returns an event with made-up data.
	Preview(ctx context.Context, scope api.Scope, r api.SubscriptionsRequest) (api.WebhookEvent, error)
	// Test posts an event with made-up data now.
	Test(ctx context.Context, scope api.Scope, r api.SubscriptionsRequest) (api.EventDelivery, error)
	// Deliveries lists the newest first.
	Deliveries(ctx context.Context, scope api.Scope, r api.SubscriptionsRequest) ([]api.EventDelivery, string, error)
	// Replay posts again; 409 for a subscription that is paused or has ended.
	Replay(ctx context.Context, scope api.Scope, r api.SubscriptionsRequest) ([]api.EventDelivery, error)
}

func (s *server) subscriptionHandlers() {
	type request = api.SubscriptionsRequest
	type response = api.SubscriptionsResponse
	one := func(message string, v api.EventSubscription, secret string, err error) (response, error) {
		return response{Success: true, Message: message, SubscriptionID: v.SubscriptionID, Status: v.Status, Secret: secret, Subscription: &v, Count: 1}, err
	}
	handle(s, api.SubscribeEvents, func(ctx context.Context, c *caller, r *request) (response, error) {
		v, secret, err := s.Subscriptions.Subscribe(ctx, c.scope, *r)
		message := "Subscribed"
		if secret == "" {
			message = "Subscribed already"
		} else if err == nil {
			c.audit.change(nil, v)
		}
		return one(message, v, secret, err)
	})
	handle(s, api.ListEventSubscriptions, func(ctx context.Context, c *caller, r *request) (response, error) {
		list, next, err := s.Subscriptions.List(ctx, c.scope, *r)
		return response{Success: true, Subscriptions: nonNil(list), Count: len(list), NextCursor: next}, err
	})
	for _, move := range []struct {
		endpoint api.Endpoint[request, response]
		message  string
		do       func(s Subscriptions, ctx context.Context, scope api.Scope, id string) (api.EventSubscription, error)
	}{
		{api.UnsubscribeEvents, "Unsubscribed", Subscriptions.Unsubscribe},
		{api.PauseEventSubscription, "Paused", Subscriptions.Pause},
		{api.ResumeEventSubscription, "Resumed", Subscriptions.Resume},
	} {
		handle(s, move.endpoint, func(ctx context.Context, c *caller, r *request) (response, error) {
			v, err := move.do(s.Subscriptions, ctx, c.scope, r.SubscriptionID)
			return one(move.message, v, "", err)
		})
	}
	handle(s, api.RotateEventSubscription, func(ctx context.Context, c *caller, r *request) (response, error) {
		v, secret, err := s.Subscriptions.Rotate(ctx, c.scope, r.SubscriptionID)
		return one("Secret rotated", v, secret, err)
	})
	handle(s, api.PreviewEvent, func(ctx context.Context, c *caller, r *request) (response, error) {
		e, err := s.Subscriptions.Preview(ctx, c.scope, *r)
		return response{Success: true, Event: &e, Count: 1}, err
	})
	handle(s, api.TestEventSubscription, func(ctx context.Context, c *caller, r *request) (response, error) {
		d, err := s.Subscriptions.Test(ctx, c.scope, *r)
		message := "Delivered"
		if d.Status == api.DeliveryFailed {
			message = "Not delivered: " + d.Failure
		}
		return response{Success: true, Message: message, SubscriptionID: d.SubscriptionID, Deliveries: []api.EventDelivery{d}, Count: 1}, err
	})
	handle(s, api.ListEventDeliveries, func(ctx context.Context, c *caller, r *request) (response, error) {
		list, next, err := s.Subscriptions.Deliveries(ctx, c.scope, *r)
		return response{Success: true, Deliveries: nonNil(list), Count: len(list), NextCursor: next}, err
	})
	handle(s, api.ReplayEventDeliveries, func(ctx context.Context, c *caller, r *request) (response, error) {
		list, err := s.Subscriptions.Replay(ctx, c.scope, *r)
		return response{Success: true, Message: "Sent again", Deliveries: nonNil(list), Count: len(list)}, err
	})
}
