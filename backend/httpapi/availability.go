package httpapi

import (
	"context"

	"app.sunloop/backend/api"
)

// Availability are the categories of availability of a site's units.
type Availability interface {
	// List returns the units of the site that r names, with their categories in
	// its window. A window that is empty or too large is a 400.
	List(ctx context.Context, scope api.Scope, r api.AvailabilityRequest) (api.AvailabilityResponse, error)
	// Set assigns a category to a time of units; a unit that the site does not
	// have is a 400.
	Set(ctx context.Context, scope api.Scope, r api.AvailabilityRequest) (api.AvailabilityChange, error)
	// Revoke revokes a change; api.ErrAvailabilityChangeNotFound for an unknown
	// id, 409 if it is revoked already.
	Revoke(ctx context.Context, scope api.Scope, siteID, changeID, reason string) (before, after api.AvailabilityChange, err error)
	// Changes lists the changes of a site, the newest first.
	Changes(ctx context.Context, scope api.Scope, siteID string, page api.Page) ([]api.AvailabilityChange, string, error)
}

func (s *server) availabilityHandlers() {
	one := func(message string, c api.AvailabilityChange) api.AvailabilityChangeResponse {
		return api.AvailabilityChangeResponse{Success: true, Message: message, ChangeID: c.ChangeID, Change: &c}
	}
	handle(s, api.ListAvailability, func(ctx context.Context, c *caller, r *api.AvailabilityRequest) (api.AvailabilityResponse, error) {
		return s.Availability.List(ctx, c.scope, *r)
	})
	handle(s, api.SetAvailability, func(ctx context.Context, c *caller, r *api.AvailabilityRequest) (api.AvailabilityChangeResponse, error) {
		after, err := s.Availability.Set(ctx, c.scope, *r)
		if err != nil {
			return api.AvailabilityChangeResponse{}, err
		}
		c.audit.change(nil, after, c.site.CustomerID)
		return one("Availability changed", after), nil
	})
	handle(s, api.RevokeAvailability, func(ctx context.Context, c *caller, r *api.AvailabilityRequest) (api.AvailabilityChangeResponse, error) {
		before, after, err := s.Availability.Revoke(ctx, c.scope, r.SiteID, r.ChangeID, r.Reason)
		if err != nil {
			return api.AvailabilityChangeResponse{}, err
		}
		c.audit.change(before, after, c.site.CustomerID)
		return one("Availability change revoked", after), nil
	})
	handle(s, api.ListAvailabilityChanges, func(ctx context.Context, c *caller, r *api.AvailabilityRequest) (api.AvailabilityChangesResponse, error) {
		list, next, err := s.Availability.Changes(ctx, c.scope, r.SiteID, r.Page)
		return api.AvailabilityChangesResponse{Success: true, Changes: nonNil(list), Count: len(list), NextCursor: next}, err
	})
}
