package client

import (
	"context"

	"app.sunloop/backend/api"
)

// Nowcast is the live overview of a customer's units: r names the customer,
// and may name a range and units.
func (c *Client) Nowcast(ctx context.Context, r api.NowcastRequest) (*api.NowcastResponse, error) {
	r.Action = api.ActionList
	return read[api.NowcastResponse](ctx, c, api.PathNowcast, r)
}
