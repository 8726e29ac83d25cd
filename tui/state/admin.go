package state

import (
	"context"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// QueryKeys asks for the API keys; it belongs to no site.
const QueryKeys Query = "keys"

// Admin is what administrators see beside the sites.
type Admin struct {
	Keys Value[[]api.KeyRecord] // oldest first
}

// ofSite says whether a query is about the site on screen.
func (q Query) ofSite() bool { return q != QuerySites && q != QueryKeys }

// allKeys are the keys of all pages.
func allKeys(ctx context.Context, c *client.Client) (any, error) {
	keys := []api.KeyRecord{}
	page := api.Page{Limit: api.MaxLimit}
	for {
		v, err := c.Keys(ctx, api.ListQuery{Page: page})
		if err != nil {
			return nil, err
		}
		keys = append(keys, v.Keys...)
		if page.Cursor = v.NextCursor; page.Cursor == "" {
			return cleaned(keys), nil
		}
	}
}
