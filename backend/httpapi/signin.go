package httpapi

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
)

func (s *server) signInHandlers() {
	handle(s, api.Login, func(ctx context.Context, c *caller, r *api.LoginRequest) (api.LoginResponse, error) {
		return s.Auth.Login(ctx, r.Username, r.Password, s.remote(c.request.Request))
	})
	handle(s, api.VerifyMFA, func(ctx context.Context, _ *caller, r *api.VerifyMFARequest) (api.LoginResponse, error) {
		return s.Auth.VerifyMFA(ctx, r.MFAToken, r.TOTPCode)
	})
	handle(s, api.Exchange, func(ctx context.Context, c *caller, r *api.ExchangeRequest) (api.LoginResponse, error) {
		answer, err := s.Auth.Exchange(ctx, *r, s.remote(c.request.Request))
		if errors.Is(err, auth.ErrProvider) {
			s.Log.Error("sign-in by a provider", "error", err.Error())
			err = api.ErrUnavailable.With("reason", auth.ErrProvider.Error())
		}
		return answer, err
	})
	handle(s, api.Refresh, func(ctx context.Context, c *caller, _ *api.None) (api.RefreshResponse, error) {
		return s.Auth.Refresh(ctx, c.credential)
	})
	handle(s, api.Logout, func(ctx context.Context, c *caller, _ *api.None) (api.Done, error) {
		return api.Done{Success: true}, s.Auth.Logout(ctx, c.credential)
	})
	handle(s, api.GetAPIKeyInfo, func(ctx context.Context, _ *caller, r *api.APIKeyInfoRequest) (api.APIKeyInfo, error) {
		return s.Auth.KeyInfo(ctx, r.APIKey)
	})
	handle(s, api.ValidateAPIKey, s.validateAPIKey)
	handle(s, api.GetSetupStatus, func(ctx context.Context, c *caller, _ *api.None) (api.SetupStatus, error) {
		needs, err := s.Auth.NeedsAdmin(ctx)
		return api.SetupStatus{Success: true, NeedsAdmin: needs, NeedsToken: needs && c.request.RemoteAddr != api.InProcess}, err
	})
	handle(s, api.Setup, s.setup)
	handle(s, api.GetKeySet, func(ctx context.Context, _ *caller, _ *api.None) (api.KeySet, error) { return s.Auth.KeySet(ctx) })
}

func (s *server) validateAPIKey(ctx context.Context, _ *caller, q *api.ValidateAPIKeyRequest) (api.ValidateAPIKeyResponse, error) {
	r, err := s.Auth.ValidateKey(ctx, q.APIKey, q.SiteID)
	if err != nil {
		return r, err
	}
	// A key for all sites of some customers is valid only for theirs.
	p, err := s.Auth.Authenticate(ctx, q.APIKey)
	if err != nil {
		return r, err
	}
	all, err := s.Sites.SitesNamed(ctx, q.SiteID)
	if err != nil {
		return r, err
	}
	switch _, err := p.Scope().Choose(all, ""); {
	case err == nil, errors.Is(err, api.ErrAmbiguousSite):
		r.Valid = true
	case errors.Is(err, api.ErrForbidden), !slices.Contains(p.Customers, api.Every):
		r.Valid = false
	}
	return r, nil
}

// setup makes the first administrator, for a caller at the machine who has the
// setup token. A proxy on the machine that adds no header makes every caller
// look like one at the machine. The console of this process needs no token.
func (s *server) setup(ctx context.Context, c *caller, r *api.SetupRequest) (none api.LoginResponse, err error) {
	address := s.remote(c.request.Request)
	if !c.request.local() {
		return none, api.ErrForbidden
	}
	if c.request.RemoteAddr != api.InProcess {
		if err := s.Auth.CheckSetupToken(ctx, r.SetupToken, address); err != nil {
			return none, err
		}
	}
	if _, err := s.Auth.CreateFirstAdmin(ctx, r.Username, r.Password, address); err != nil {
		return none, err
	}
	return s.Auth.Login(ctx, r.Username, r.Password, address)
}

// local reports whether the request was made in this process, or over loopback by
// a program: a proxy or a browser on the machine speaks for others.
func (in *input) local() bool {
	if in.RemoteAddr == api.InProcess {
		return true
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via", "Origin", "Sec-Fetch-Site"} {
		if in.Header.Get(name) != "" {
			return false
		}
	}
	a, err := netip.ParseAddrPort(in.RemoteAddr)
	return err == nil && a.Addr().Unmap().IsLoopback()
}
