package httpapi

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"app.sunloop/backend/api"
)

// log lists what the service has logged of late.
func (s *server) log(in *input) (*call, error) {
	var b api.LogRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	page, err := pageOf(b.Page)
	if err != nil {
		return nil, err
	}
	if b.Level != "" && !slices.Contains(api.LogLevels(), b.Level) {
		return nil, api.InvalidField("level", "it is one of "+strings.Join(api.LogLevels(), ", "))
	}
	before := int64(0)
	if page.Cursor != "" {
		if before, err = strconv.ParseInt(page.Cursor, 10, 64); err != nil || before < 1 {
			return nil, api.InvalidField("cursor", "not a cursor of this list")
		}
	}
	return &call{action: b.Action, run: func(_ context.Context, g granted) (any, error) {
		if !g.CanCustomer(api.Every) || !g.CanSite(api.Every) {
			return nil, api.ErrForbidden.With("reason", "a line may be about any customer and site, and yours are limited")
		}
		var lines []api.LogEntry
		if s.Journal != nil {
			lines = s.Journal.Entries(b.Level, before, page.Limit)
		}
		next := ""
		if n := len(lines); n == page.Limit && lines[n-1].Sequence > 1 {
			next = strconv.FormatInt(lines[n-1].Sequence, 10)
		}
		return api.LogResponse{Success: true, Lines: there(lines), Count: len(lines), NextCursor: next}, nil
	}}, nil
}
