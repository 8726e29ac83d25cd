package httpapi

import (
	"context"
	"strconv"

	"app.sunloop/backend/api"
)

// Journal is what the service has logged recently.
type Journal interface {
	// Entries lists those of a level and above (empty: all), newest first, that
	// came before a sequence (0: all), at most limit of them.
	Entries(level string, before int64, limit int) []api.LogEntry
}

func (s *server) logHandlers() {
	handle(s, api.ListAudit, func(ctx context.Context, c *caller, r *api.AuditRequest) (api.AuditResponse, error) {
		list, next, err := s.Audit.List(ctx, c.scope, api.AuditQuery{CustomerID: r.CustomerID, SiteID: r.SiteID, Actor: r.Actor, Route: r.Route, TargetID: r.TargetID, From: r.From, To: r.To, Page: r.Page})
		return api.AuditResponse{Success: true, Records: nonNil(list), Count: len(list), NextCursor: next}, err
	})
	handle(s, api.ListLog, s.listLog, func(r *api.LogRequest) error { _, err := logPosition(r.Cursor); return err })
}

// listLog lists what the service has logged recently.
func (s *server) listLog(_ context.Context, c *caller, r *api.LogRequest) (api.LogResponse, error) {
	if !c.CanCustomer(api.Every) || !c.CanSite(api.Every) {
		return api.LogResponse{}, api.ErrForbidden.With("reason", "a line may be about any customer and site, and yours are limited")
	}
	before, err := logPosition(r.Cursor)
	if err != nil {
		return api.LogResponse{}, err
	}
	var lines []api.LogEntry
	if s.Journal != nil {
		lines = s.Journal.Entries(r.Level, before, r.Limit)
	}
	next := ""
	if n := len(lines); n == r.Limit && lines[n-1].Sequence > 1 {
		next = strconv.FormatInt(lines[n-1].Sequence, 10)
	}
	return api.LogResponse{Success: true, Lines: nonNil(lines), Count: len(lines), NextCursor: next}, nil
}

// logPosition returns the sequence that a cursor names; 0 for an empty cursor.
func logPosition(cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	before, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil || before < 1 {
		return 0, api.InvalidField("cursor", "not a cursor of this list")
	}
	return before, nil
}
