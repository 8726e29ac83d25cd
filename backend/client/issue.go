package client

import (
	"context"

	"app.sunloop/backend/api"
)

// Issues lists open issues first, then the last changed.
func (c *Client) Issues(ctx context.Context, q api.ListQuery) (*api.IssuesResponse, error) {
	return read[api.IssuesResponse](ctx, c, api.PathIssues, api.IssuesRequest{Action: api.ActionList, CustomerID: q.CustomerID, SiteID: q.SiteID, AssetID: q.AssetID, Page: q.Page})
}

// CreateIssue makes an issue of a component.
func (c *Client) CreateIssue(ctx context.Context, req api.IssuesRequest) (*api.IssuesResponse, error) {
	req.Action = api.ActionCreate
	return post[api.IssuesResponse](ctx, c, api.PathIssues, req, request{})
}

// AcknowledgeIssue takes an issue on; the note may be empty.
func (c *Client) AcknowledgeIssue(ctx context.Context, issueID, note string) (*api.IssuesResponse, error) {
	return post[api.IssuesResponse](ctx, c, api.PathIssues, api.IssuesRequest{Action: api.ActionAcknowledge, IssueID: issueID, Reason: note}, request{})
}

// ResolveIssue ends an issue that was taken on.
func (c *Client) ResolveIssue(ctx context.Context, issueID, reason string) (*api.IssuesResponse, error) {
	return post[api.IssuesResponse](ctx, c, api.PathIssues, api.IssuesRequest{Action: api.ActionResolve, IssueID: issueID, Reason: reason}, request{})
}
