package client

import (
	"context"

	"app.sunloop/backend/api"
)

// Users are those whom the caller may see, by name; q.CustomerID narrows.
func (c *Client) Users(ctx context.Context, q api.ListQuery) (*api.UsersResponse, error) {
	return read[api.UsersResponse](ctx, c, api.PathUsers, api.UsersRequest{Action: api.ActionList, CustomerID: q.CustomerID, Page: q.Page})
}

// User is one of them.
func (c *Client) User(ctx context.Context, userID string) (*api.UsersResponse, error) {
	return read[api.UsersResponse](ctx, c, api.PathUsers, api.UsersRequest{Action: api.ActionGet, UserID: userID})
}

// AddUser makes a user of username, password, role, customers and sites.
func (c *Client) AddUser(ctx context.Context, u api.UsersRequest) (*api.UsersResponse, error) {
	u.Action = api.ActionAdd
	return post[api.UsersResponse](ctx, c, api.PathUsers, u, request{})
}

// SetUser changes of a user what is given: role, customers, sites,
// active, public keys for SSH.
func (c *Client) SetUser(ctx context.Context, u api.UsersRequest) (*api.UsersResponse, error) {
	u.Action = api.ActionSet
	return post[api.UsersResponse](ctx, c, api.PathUsers, u, request{})
}

// ResetPassword gives a user a new password and ends all sessions.
func (c *Client) ResetPassword(ctx context.Context, userID, password string) (*api.UsersResponse, error) {
	return post[api.UsersResponse](ctx, c, api.PathUsers, api.UsersRequest{Action: api.ActionResetPassword, UserID: userID, Password: password}, request{})
}

// ResetMFA lets a user set up a new authenticator and ends all sessions.
func (c *Client) ResetMFA(ctx context.Context, userID string) (*api.UsersResponse, error) {
	return post[api.UsersResponse](ctx, c, api.PathUsers, api.UsersRequest{Action: api.ActionResetMFA, UserID: userID}, request{})
}

// UnlinkUser forgets who a user is at an identity provider and ends all
// sessions.
func (c *Client) UnlinkUser(ctx context.Context, userID string) (*api.UsersResponse, error) {
	return post[api.UsersResponse](ctx, c, api.PathUsers, api.UsersRequest{Action: api.ActionUnlink, UserID: userID}, request{})
}

// UnlockUser forgets a user's wrong passwords and codes: the next sign-in need
// not wait.
func (c *Client) UnlockUser(ctx context.Context, userID string) (*api.UsersResponse, error) {
	return post[api.UsersResponse](ctx, c, api.PathUsers, api.UsersRequest{Action: api.ActionUnlock, UserID: userID}, request{})
}

// DeleteUser removes a user for good.
func (c *Client) DeleteUser(ctx context.Context, userID string) (*api.UsersResponse, error) {
	return post[api.UsersResponse](ctx, c, api.PathUsers, api.UsersRequest{Action: api.ActionDelete, UserID: userID}, request{})
}

// Keys are the API keys that the caller may see, oldest first; q.CustomerID
// narrows.
func (c *Client) Keys(ctx context.Context, q api.ListQuery) (*api.KeysResponse, error) {
	return read[api.KeysResponse](ctx, c, api.PathKeys, api.KeysRequest{Action: api.ActionList, CustomerID: q.CustomerID, Page: q.Page})
}

// Key is one of them, without the key.
func (c *Client) Key(ctx context.Context, apiKeyID string) (*api.KeysResponse, error) {
	return read[api.KeysResponse](ctx, c, api.PathKeys, api.KeysRequest{Action: api.ActionGet, APIKeyID: apiKeyID})
}

// CreateKey makes an API key; the answer holds it, this once.
func (c *Client) CreateKey(ctx context.Context, k api.KeysRequest) (*api.KeysResponse, error) {
	k.Action = api.ActionCreate
	return post[api.KeysResponse](ctx, c, api.PathKeys, k, request{})
}

// RotateKey makes a key in the place of k.APIKeyID, which opens for
// k.OverlapHours yet; the answer holds the new one, this once.
func (c *Client) RotateKey(ctx context.Context, k api.KeysRequest) (*api.KeysResponse, error) {
	k.Action = api.ActionRotate
	return post[api.KeysResponse](ctx, c, api.PathKeys, k, request{})
}

// RevokeKey ends an API key for good.
func (c *Client) RevokeKey(ctx context.Context, apiKeyID string) (*api.KeysResponse, error) {
	return post[api.KeysResponse](ctx, c, api.PathKeys, api.KeysRequest{Action: api.ActionRevoke, APIKeyID: apiKeyID}, request{})
}

// Log is what the service has logged of late, newest first.
func (c *Client) Log(ctx context.Context, q api.LogRequest) (*api.LogResponse, error) {
	q.Action = api.ActionList
	return read[api.LogResponse](ctx, c, api.PathLog, q)
}

// Audit is the trail of who changed what, newest first.
func (c *Client) Audit(ctx context.Context, q api.AuditRequest) (*api.AuditResponse, error) {
	q.Action = api.ActionList
	return read[api.AuditResponse](ctx, c, api.PathAudit, q)
}
