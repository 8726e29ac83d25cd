package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"time"

	"app.sunloop/backend/api"
)

// Login signs a person in; the answer is a token or a challenge. A token is
// used for the calls to come.
func (c *Client) Login(ctx context.Context, username, password string) (*api.LoginResponse, error) {
	return signIn(ctx, c, api.Login, api.LoginRequest{Username: username, Password: password})
}

// VerifyMFA answers a challenge with a code of the authenticator or a
// recovery code.
func (c *Client) VerifyMFA(ctx context.Context, mfaToken, code string) (*api.LoginResponse, error) {
	return signIn(ctx, c, api.VerifyMFA, api.VerifyMFARequest{MFAToken: mfaToken, TOTPCode: code})
}

// Exchange signs in with the token of an identity provider, which the
// configuration of the service names.
func (c *Client) Exchange(ctx context.Context, r api.ExchangeRequest) (*api.LoginResponse, error) {
	return signIn(ctx, c, api.Exchange, r)
}

// KeySet is the public keys that check users' tokens.
func (c *Client) KeySet(ctx context.Context) (*api.KeySet, error) {
	return Call(ctx, c, api.GetKeySet, api.None{})
}

// SetupStatus reports whether the service still needs its first administrator.
func (c *Client) SetupStatus(ctx context.Context) (*api.SetupStatus, error) {
	return Call(ctx, c, api.GetSetupStatus, api.None{})
}

// Setup makes the first administrator and signs in as Login does. The token is
// the one-time setup token; it may be empty in the process of the service.
func (c *Client) Setup(ctx context.Context, username, password, token string) (*api.LoginResponse, error) {
	return signIn(ctx, c, api.Setup, api.SetupRequest{Username: username, Password: password, SetupToken: token})
}

func signIn[Req any](ctx context.Context, c *Client, e api.Endpoint[Req, api.LoginResponse], req Req) (*api.LoginResponse, error) {
	r, err := Call(ctx, c, e, req)
	if err == nil && r.Token != "" {
		c.SetCredential(r.Token)
	}
	return r, err
}

// Refresh gets a new token for the one in use, which ends. The client sends the
// request once: if the answer is lost, the service may have renewed the token, and
// the same token again would be a reuse, which ends the session. After such an error
// the caller signs in again.
func (c *Client) Refresh(ctx context.Context) (*api.RefreshResponse, error) {
	old := c.Credential()
	resp, err := c.sendOnce(ctx, request{method: "POST", path: api.PathRefresh}, old, "")
	if err != nil {
		return nil, err
	}
	if !resp.IsSuccess() {
		return nil, refusal(resp)
	}
	r := new(api.RefreshResponse)
	if err := json.Unmarshal(resp.Body(), r); err != nil {
		return nil, err
	}
	c.mu.Lock()
	// The same person: remembered answers stay good.
	if c.credential == old {
		c.credential = r.Token
	}
	c.mu.Unlock()
	if c.onToken != nil {
		c.onToken(r.Token)
	}
	return r, nil
}

// Logout ends the token in use and forgets it.
func (c *Client) Logout(ctx context.Context) error {
	_, err := Call(ctx, c, api.Logout, api.None{})
	if err == nil {
		c.SetCredential("")
	}
	return err
}

// APIKeyInfo describes a key.
func (c *Client) APIKeyInfo(ctx context.Context, key string) (*api.APIKeyInfo, error) {
	return Call(ctx, c, api.GetAPIKeyInfo, api.APIKeyInfoRequest{APIKey: key})
}

// ValidateAPIKey says whether a key opens a site.
func (c *Client) ValidateAPIKey(ctx context.Context, key, siteID string) (*api.ValidateAPIKeyResponse, error) {
	return Call(ctx, c, api.ValidateAPIKey, api.ValidateAPIKeyRequest{APIKey: key, SiteID: siteID})
}

// renew refreshes a user's token in its last quarter, but never a token again whose
// renewal had no answer. The call that follows returns the error of a token that is
// not valid.
func (c *Client) renew(ctx context.Context) {
	if c.now == nil || !renewalDue(c.Credential(), c.now()) {
		return
	}
	c.renewing.Lock()
	defer c.renewing.Unlock()
	c.adoptKept()
	credential := c.Credential()
	if !renewalDue(credential, c.now()) || credential == c.unanswered {
		return
	}
	_, err := c.Refresh(ctx)
	answered, unsent := (*api.Error)(nil), (*net.OpError)(nil)
	isUnsent := errors.As(err, &unsent) && unsent.Op == "dial"
	if err != nil && !isUnsent && !errors.As(err, &answered) {
		c.unanswered = credential
	}
}

// adoptKept replaces the token in use by the kept one, if that is a later token
// of the same session.
func (c *Client) adoptKept() {
	if c.kept == nil {
		return
	}
	inUse, kept := c.Credential(), c.kept()
	old, oldOK := claimsOf(inUse)
	fresh, freshOK := claimsOf(kept)
	if !oldOK || !freshOK || fresh.Session == "" || fresh.Session != old.Session || fresh.Iat <= old.Iat {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// The same person: remembered answers stay good.
	if c.credential == inUse {
		c.credential = kept
	}
}

// renewalDue reads the times of a token without checking it: that is the
// service's part.
func renewalDue(credential string, now time.Time) bool {
	issued, expires, ok := TokenLifetime(credential)
	return ok && now.Before(expires) && now.After(expires.Add(-expires.Sub(issued)/4))
}

// TokenLifetime returns when a user's token was issued and when it expires, by its own
// claims; ok is false for an API key and for malformed tokens.
func TokenLifetime(token string) (issued, expires time.Time, ok bool) {
	c, ok := claimsOf(token)
	if !ok {
		return
	}
	return time.Unix(c.Iat, 0).UTC(), time.Unix(c.Exp, 0).UTC(), true
}

// tokenClaims are the claims of a user's token that the client reads.
type tokenClaims struct {
	Iat, Exp int64
	Session  string `json:"sid"`
}

// claimsOf reads a token without checking its signature; ok is false for an API
// key or what is no token.
func claimsOf(token string) (c tokenClaims, ok bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return c, false
	}
	b, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(b, &c) != nil || c.Exp == 0 {
		return tokenClaims{}, false
	}
	return c, true
}
