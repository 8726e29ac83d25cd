package state

import (
	"context"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// The queries that belong to no site: the fleet, and those of administration.
const (
	QueryKeys  Query = "keys"
	QueryUsers Query = "users"
	QueryFleet Query = "fleet"
	QueryLog   Query = "log"
	QueryAudit Query = "audit"
)

// Admin is what belongs to no one site: the fleet, and what administrators see.
type Admin struct {
	Keys  Value[[]api.KeyRecord]   // oldest first
	Users Value[[]api.UserRecord]  // by name
	Fleet Value[[]api.FleetSite]   // by name
	Log   Value[[]api.LogEntry]    // of the service, newest first
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
	QueryFleet: anywhere(func(s *Store) *Value[[]api.FleetSite] { return &s.Admin.Fleet }, func(ctx context.Context, c *client.Client, _ Request) ([]api.FleetSite, error) {
		return everyPage(func(p api.Page) ([]api.FleetSite, string, error) {
			v, err := c.Fleet(ctx, api.ListQuery{Page: p})
			if err != nil {
				return nil, "", err
			}
			return v.Sites, v.NextCursor, nil
		})
	}),
	QueryLog: anywhere(func(s *Store) *Value[[]api.LogEntry] { return &s.Admin.Log }, func(ctx context.Context, c *client.Client, _ Request) ([]api.LogEntry, error) {
		v, err := c.Log(ctx, api.LogRequest{Page: api.Page{Limit: api.MaxLimit}})
		return field(v, err, func() []api.LogEntry { return v.Lines })
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
