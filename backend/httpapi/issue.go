package httpapi

import (
	"context"
	"slices"
	"strings"

	"app.sunloop/backend/api"
)

// Issues are what somebody must see to.
type Issues interface {
	// Issues lists open ones first, then the last changed; all ids of q narrow.
	Issues(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Issue, string, error)
	// CreateIssue answers the issue as stored; 409 when its component has an
	// open one of the type.
	CreateIssue(ctx context.Context, scope api.Scope, r api.IssuesRequest) (api.Issue, error)
	// MoveIssue changes the status; api.ErrIssueNotFound for an unknown id,
	// 409 for a move that is not allowed.
	MoveIssue(ctx context.Context, scope api.Scope, r api.IssuesRequest, to string) (api.Issue, error)
}

func (s *server) issues(in *input) (*call, error) {
	var b api.IssuesRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	c := &call{action: b.Action, target: target{customerID: b.CustomerID, siteID: &b.SiteID}, fingerprint: in.digest()}
	one := func(message string, i api.Issue, err error) (any, error) {
		return api.IssuesResponse{Success: true, Message: message, IssueID: i.IssueID, Issue: &i, Count: 1}, err
	}
	switch b.Action {
	case "", api.ActionList:
		page, err := pageOf(b.Page)
		if err != nil {
			return nil, err
		}
		c.run = func(ctx context.Context, g granted) (any, error) {
			list, next, err := s.Issues.Issues(ctx, g.scope, api.ListQuery{CustomerID: b.CustomerID, SiteID: b.SiteID, AssetID: b.AssetID, Page: page})
			return api.IssuesResponse{Success: true, Issues: there(list), Count: len(list), NextCursor: next}, err
		}
	case api.ActionCreate:
		if err := missing(api.MissingField, "component", b.Component, "site", b.Site, "issue_type", b.IssueType, "description", b.Description); err != nil {
			return nil, err
		}
		b.Priority = strings.ToLower(b.Priority)
		if !slices.Contains([]string{"", api.PriorityHigh, api.PriorityMedium, api.PriorityLow}, b.Priority) {
			return nil, api.InvalidField("priority", "it is high, medium or low")
		}
		c.target.siteID = &b.Site
		c.run = func(ctx context.Context, g granted) (any, error) {
			i, err := s.Issues.CreateIssue(ctx, g.scope, b)
			return one("Issue created", i, err)
		}
	case api.ActionAcknowledge, api.ActionResolve:
		if b.IssueID == "" {
			return nil, api.MissingField("issue_id")
		}
		to, message := api.IssueInProgress, "Issue acknowledged"
		if b.Action == api.ActionResolve {
			if blank(b.Reason) && b.CustomerID == "" {
				return nil, api.MissingField("reason")
			}
			to, message = api.IssueResolved, "Issue resolved"
		}
		c.run = func(ctx context.Context, g granted) (any, error) {
			i, err := s.Issues.MoveIssue(ctx, g.scope, b, to)
			return one(message, i, err)
		}
	default:
		return nil, api.ErrInvalidAction
	}
	return c, nil
}
