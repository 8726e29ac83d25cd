package client

import (
	"context"

	"app.sunloop/backend/api"
)

// Schedules lists open ones first, what is due first before the others; an
// empty status is all.
func (c *Client) Schedules(ctx context.Context, q api.ListQuery, status string) (*api.ScheduleResponse, error) {
	return read[api.ScheduleResponse](ctx, c, api.PathSchedule, api.ScheduleRequest{Action: api.ActionList, CustomerID: q.CustomerID, SiteID: q.SiteID, AssetID: q.AssetID, Status: status, Page: q.Page})
}

// Schedule is one schedule with its history.
func (c *Client) Schedule(ctx context.Context, scheduleID string) (*api.Schedule, error) {
	r, err := read[api.ScheduleResponse](ctx, c, api.PathSchedule, api.ScheduleRequest{Action: api.ActionGet, ScheduleID: scheduleID})
	if err != nil {
		return nil, err
	}
	return r.Schedule, nil
}

// CreateSchedule plans maintenance of an asset.
func (c *Client) CreateSchedule(ctx context.Context, req api.ScheduleRequest) (*api.ScheduleResponse, error) {
	req.Action = api.ActionCreate
	return c.MoveSchedule(ctx, req)
}

// MoveSchedule confirms, completes or cancels a schedule, as req.Action says.
func (c *Client) MoveSchedule(ctx context.Context, req api.ScheduleRequest) (*api.ScheduleResponse, error) {
	return post[api.ScheduleResponse](ctx, c, api.PathSchedule, req, request{})
}

// Propose says when work should be done, the best window first.
func (c *Client) Propose(ctx context.Context, req api.ScheduleRequest) (*api.ProposeResponse, error) {
	req.Action = api.ActionPropose
	return read[api.ProposeResponse](ctx, c, api.PathSchedule, req)
}

// BOMs lists the newest first, without their items.
func (c *Client) BOMs(ctx context.Context, q api.ListQuery) (*api.BOMResponse, error) {
	return read[api.BOMResponse](ctx, c, api.PathBOM, api.BOMRequest{Action: api.ActionList, CustomerID: q.CustomerID, SiteID: q.SiteID, AssetID: q.AssetID, Page: q.Page})
}

// BOM is one bill of materials with its items.
func (c *Client) BOM(ctx context.Context, bomID string) (*api.BOM, error) {
	r, err := read[api.BOMResponse](ctx, c, api.PathBOM, api.BOMRequest{Action: api.ActionGet, BOMID: bomID})
	if err != nil {
		return nil, err
	}
	return r.BOM, nil
}

// GenerateBOM makes the bill of materials of work at an asset.
func (c *Client) GenerateBOM(ctx context.Context, req api.BOMRequest) (*api.BOMResponse, error) {
	req.Action = api.ActionGenerate
	return post[api.BOMResponse](ctx, c, api.PathBOM, req, request{})
}

// Parts lists the catalogue with a customer's stock, by part number.
func (c *Client) Parts(ctx context.Context, req api.PartsRequest) (*api.PartsResponse, error) {
	req.Action = api.ActionList
	return read[api.PartsResponse](ctx, c, api.PathParts, req)
}

// AdjustStock counts a part, or books what came or went.
func (c *Client) AdjustStock(ctx context.Context, req api.PartsRequest) (*api.PartsResponse, error) {
	req.Action = api.ActionAdjust
	return post[api.PartsResponse](ctx, c, api.PathParts, req, request{})
}

// Orders lists open work orders first, each the newest first; the fields
// Status, OpenOnly and Technician of narrow are heeded.
func (c *Client) Orders(ctx context.Context, q api.ListQuery, narrow api.OrderRequest) (*api.OrderResponse, error) {
	return read[api.OrderResponse](ctx, c, api.PathOrder, api.OrderRequest{Action: api.ActionList, CustomerID: q.CustomerID, SiteID: q.SiteID, AssetID: q.AssetID, Page: q.Page,
		Status: narrow.Status, OpenOnly: narrow.OpenOnly, Technician: narrow.Technician})
}

// Order is one work order with its parts and its history.
func (c *Client) Order(ctx context.Context, orderID string) (*api.Order, error) {
	r, err := read[api.OrderResponse](ctx, c, api.PathOrder, api.OrderRequest{Action: api.ActionGet, OrderID: orderID})
	if err != nil {
		return nil, err
	}
	return r.Order, nil
}

// CreateOrder makes a work order.
func (c *Client) CreateOrder(ctx context.Context, req api.OrderRequest) (*api.OrderResponse, error) {
	req.Action = api.ActionCreate
	return c.MoveOrder(ctx, req)
}

// MoveOrder assigns, starts, holds, resumes, completes, cancels or reopens a
// work order, as req.Action says.
func (c *Client) MoveOrder(ctx context.Context, req api.OrderRequest) (*api.OrderResponse, error) {
	return post[api.OrderResponse](ctx, c, api.PathOrder, req, request{})
}

// Subscribe asks for the changes of an order's status to be posted to a URL.
// The secret of a new subscription is in the answer, and nowhere again.
func (c *Client) Subscribe(ctx context.Context, orderID, callbackURL string) (*api.TrackResponse, error) {
	return post[api.TrackResponse](ctx, c, api.PathTrack, api.TrackRequest{Action: api.ActionSubscribe, OrderID: orderID, CallbackURL: callbackURL}, request{})
}

// Subscriptions lists those of an order, or with an empty one of what q names.
func (c *Client) Subscriptions(ctx context.Context, q api.ListQuery, orderID string) (*api.TrackResponse, error) {
	return read[api.TrackResponse](ctx, c, api.PathTrack, api.TrackRequest{Action: api.ActionList, OrderID: orderID, CustomerID: q.CustomerID, SiteID: q.SiteID, Page: q.Page})
}

// Unsubscribe ends a subscription.
func (c *Client) Unsubscribe(ctx context.Context, subscriptionID string) (*api.TrackResponse, error) {
	return post[api.TrackResponse](ctx, c, api.PathTrack, api.TrackRequest{Action: api.ActionUnsubscribe, SubscriptionID: subscriptionID}, request{})
}

// PauseSubscription keeps the events of a subscription until it is resumed.
func (c *Client) PauseSubscription(ctx context.Context, subscriptionID string) (*api.TrackResponse, error) {
	return post[api.TrackResponse](ctx, c, api.PathTrack, api.TrackRequest{Action: api.ActionPause, SubscriptionID: subscriptionID}, request{})
}

// ResumeSubscription lets them go, the oldest first.
func (c *Client) ResumeSubscription(ctx context.Context, subscriptionID string) (*api.TrackResponse, error) {
	return post[api.TrackResponse](ctx, c, api.PathTrack, api.TrackRequest{Action: api.ActionResume, SubscriptionID: subscriptionID}, request{})
}

// RotateSecret gives a subscription a new secret, which is in the answer and
// nowhere again. The former one signs too for [api.SecretOverlap].
func (c *Client) RotateSecret(ctx context.Context, subscriptionID string) (*api.TrackResponse, error) {
	return post[api.TrackResponse](ctx, c, api.PathTrack, api.TrackRequest{Action: api.ActionRotate, SubscriptionID: subscriptionID}, request{})
}

// Deliveries lists those of an order or of a subscription, the newest first.
func (c *Client) Deliveries(ctx context.Context, req api.TrackRequest) (*api.TrackResponse, error) {
	req.Action = api.ActionDeliveries
	return read[api.TrackResponse](ctx, c, api.PathTrack, req)
}

// Replay sends a delivery again, or all of a subscription that were given up.
func (c *Client) Replay(ctx context.Context, req api.TrackRequest) (*api.TrackResponse, error) {
	req.Action = api.ActionReplay
	return post[api.TrackResponse](ctx, c, api.PathTrack, req, request{})
}
