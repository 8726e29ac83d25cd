package httpapi

import (
	"context"

	"app.sunloop/backend/api"
)

// Issues require the attention of a user.
type Issues interface {
	// Issues lists open ones first, then the last changed; all ids of q narrow.
	Issues(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Issue, string, error)
	// CreateIssue returns the issue as stored; 409 when its component has an
	// open one of the type.
	CreateIssue(ctx context.Context, scope api.Scope, r api.IssuesRequest) (api.Issue, error)
	// MoveIssue changes the status; api.ErrIssueNotFound for an unknown id,
	// 409 for a move that is not allowed.
	MoveIssue(ctx context.Context, scope api.Scope, r api.IssuesRequest, to string) (api.Issue, error)
}

func (s *server) issueHandlers() {
	one := func(message string, i api.Issue, err error) (api.IssuesResponse, error) {
		return api.IssuesResponse{Success: true, Message: message, IssueID: i.IssueID, Issue: &i, Count: 1}, err
	}
	handle(s, api.ListIssues, func(ctx context.Context, c *caller, r *api.IssuesRequest) (api.IssuesResponse, error) {
		list, next, err := s.Issues.Issues(ctx, c.scope, api.ListQuery{CustomerID: r.CustomerID, SiteID: r.SiteID, AssetID: r.AssetID, Filter: api.Filter{Status: r.Status, Priority: r.Priority, Type: r.IssueType}, Page: r.Page})
		return api.IssuesResponse{Success: true, Issues: nonNil(list), Count: len(list), NextCursor: next}, err
	})
	handle(s, api.CreateIssue, func(ctx context.Context, c *caller, r *api.IssuesRequest) (api.IssuesResponse, error) {
		i, err := s.Issues.CreateIssue(ctx, c.scope, *r)
		return one("Issue created", i, err)
	})
	handle(s, api.AcknowledgeIssue, func(ctx context.Context, c *caller, r *api.IssuesRequest) (api.IssuesResponse, error) {
		i, err := s.Issues.MoveIssue(ctx, c.scope, *r, api.IssueInProgress)
		return one("Issue acknowledged", i, err)
	})
	handle(s, api.ResolveIssue, func(ctx context.Context, c *caller, r *api.IssuesRequest) (api.IssuesResponse, error) {
		i, err := s.Issues.MoveIssue(ctx, c.scope, *r, api.IssueResolved)
		return one("Issue resolved", i, err)
	})
}
