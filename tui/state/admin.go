package state

import (
	"context"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// The queries of administration: API keys, and the newest records of the audit
// trail. They belong to no site.
const (
	QueryKeys  Query = "keys"
	QueryAudit Query = "audit"
)

// Admin is what administrators see beside the sites.
type Admin struct {
	Keys  Value[[]api.KeyRecord]   // oldest first
	Audit Value[[]api.AuditRecord] // newest first
}

// ofSite says whether a query is about the site on screen.
func (q Query) ofSite() bool { return q != QuerySites && q != QueryKeys && q != QueryAudit }

// auditRecords is how many of the newest records are looked at, auditParts how
// many parts are asked for at most: a part may be short, or empty.
const auditRecords, auditParts = api.MaxLimit, 2

// newestAudit are the newest records of the audit trail.
func newestAudit(ctx context.Context, c *client.Client) (any, error) {
	records := []api.AuditRecord{}
	page := api.Page{Limit: auditRecords}
	for range auditParts {
		v, err := c.Audit(ctx, api.AuditRequest{Page: page})
		if err != nil {
			return nil, err
		}
		records = append(records, v.Records...)
		if page.Cursor = v.NextCursor; page.Cursor == "" || len(records) >= auditRecords {
			break
		}
	}
	return cleaned(records), nil
}

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
