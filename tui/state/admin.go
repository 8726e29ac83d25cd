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
	QueryUsers Query = "users"
	QueryAudit Query = "audit"
)

// Admin is what administrators see beside the sites.
type Admin struct {
	Keys  Value[[]api.KeyRecord]   // oldest first
	Users Value[[]api.UserRecord]  // by name
	Audit Value[[]api.AuditRecord] // newest first
}

// auditRecords is how many of the newest records are looked at, auditParts how
// many parts are asked for at most: a part may be short, or empty.
const auditRecords, auditParts = api.MaxLimit, 2

var adminSources = map[Query]source{
	QueryKeys: anywhere(func(s *Store) *Value[[]api.KeyRecord] { return &s.Admin.Keys }, func(ctx context.Context, c *client.Client, _ Request) ([]api.KeyRecord, error) {
		return everyPage(func(p api.Page) ([]api.KeyRecord, string, error) {
			v, err := c.Keys(ctx, api.ListQuery{Page: p})
			if err != nil {
				return nil, "", err
			}
			return v.Keys, v.NextCursor, nil
		})
	}),
	QueryUsers: anywhere(func(s *Store) *Value[[]api.UserRecord] { return &s.Admin.Users }, func(ctx context.Context, c *client.Client, _ Request) ([]api.UserRecord, error) {
		return everyPage(func(p api.Page) ([]api.UserRecord, string, error) {
			v, err := c.Users(ctx, api.ListQuery{Page: p})
			if err != nil {
				return nil, "", err
			}
			return v.Users, v.NextCursor, nil
		})
	}),
	QueryAudit: anywhere(func(s *Store) *Value[[]api.AuditRecord] { return &s.Admin.Audit }, func(ctx context.Context, c *client.Client, _ Request) ([]api.AuditRecord, error) {
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
		return records, nil
	}),
}
