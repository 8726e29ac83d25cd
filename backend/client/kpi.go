package client

import (
	"context"
	"strings"

	"app.sunloop/backend/api"
)

// KPIs are a site's key figures over a window, each with its unit, window and
// source; zero times of q are the last 30 whole days. An unknown site is
// [api.ErrSiteNotFound], a window that is empty or too large a 400.
func (c *Client) KPIs(ctx context.Context, q api.KPIQuery) (*api.KPIs, error) {
	window := values{"customer_id", q.CustomerID}
	if !q.From.IsZero() {
		window = append(window, "from", q.From.String())
	}
	if !q.To.IsZero() {
		window = append(window, "to", q.To.String())
	}
	return get[api.KPIs](ctx, c, strings.Replace(api.PathSiteKPIs, "{site_id}", pathSegment(q.SiteID), 1), window.query())
}
