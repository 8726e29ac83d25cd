package httpapi

import (
	"context"

	"app.sunloop/backend/api"
)

// Shifts are the shift logs of sites.
type Shifts interface {
	// List lists the entries of a site, the newest first, and until when the caller
	// has seen what happened there.
	List(ctx context.Context, scope api.Scope, siteID string, page api.Page) (list []api.ShiftEntry, seen api.Time, next string, err error)
	// Add adds an entry of a kind, signed by the caller.
	Add(ctx context.Context, scope api.Scope, siteID, kind, text string) (api.ShiftEntry, error)
	// Seen marks what happened until a time as seen, the zero time means now, and
	// the entry of an id, if it is not empty, as read; api.ErrShiftEntryNotFound for
	// an unknown one.
	Seen(ctx context.Context, scope api.Scope, siteID, entryID string, until api.Time) (seen api.Time, named *api.ShiftEntry, err error)
}

func (s *server) shiftHandlers() {
	add := func(kind, message string) func(ctx context.Context, c *caller, r *api.ShiftRequest) (api.ShiftResponse, error) {
		return func(ctx context.Context, c *caller, r *api.ShiftRequest) (api.ShiftResponse, error) {
			e, err := s.Shifts.Add(ctx, c.scope, r.SiteID, kind, r.Text)
			if err != nil {
				return api.ShiftResponse{}, err
			}
			c.audit.change(nil, e, c.site.CustomerID)
			return api.ShiftResponse{Success: true, Message: message, Entry: &e, Count: 1}, nil
		}
	}
	handle(s, api.ListShift, func(ctx context.Context, c *caller, r *api.ShiftRequest) (api.ShiftResponse, error) {
		list, seen, next, err := s.Shifts.List(ctx, c.scope, r.SiteID, r.Page)
		return api.ShiftResponse{Success: true, SeenAt: seen, Entries: nonNil(list), Count: len(list), NextCursor: next}, err
	})
	handle(s, api.AddShiftNote, add(api.ShiftNote, "Note added"))
	handle(s, api.HandOver, add(api.ShiftHandOver, "Shift handed over"))
	handle(s, api.MarkSeen, func(ctx context.Context, c *caller, r *api.ShiftRequest) (api.ShiftResponse, error) {
		seen, entry, err := s.Shifts.Seen(ctx, c.scope, r.SiteID, r.EntryID, r.Until)
		if err != nil {
			return api.ShiftResponse{}, err
		}
		return api.ShiftResponse{Success: true, Message: "Marked as seen", SeenAt: seen, Entry: entry}, nil
	})
}
