package httpapi

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
)

func (s *server) login(in *input) (*call, error) {
	var b api.LoginRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	if err := missing(api.MissingField, "username", b.Username, "password", b.Password); err != nil {
		return nil, err
	}
	address := s.remote(in.Request)
	return &call{run: func(ctx context.Context, _ granted) (any, error) {
		return s.Auth.Login(ctx, b.Username, b.Password, address)
	}}, nil
}

func (s *server) verifyMFA(in *input) (*call, error) {
	var b api.VerifyMFARequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	if err := missing(api.MissingField, "mfa_token", b.MFAToken, "totp_code", b.TOTPCode); err != nil {
		return nil, err
	}
	return &call{run: func(ctx context.Context, _ granted) (any, error) {
		return s.Auth.VerifyMFA(ctx, b.MFAToken, b.TOTPCode)
	}}, nil
}

func (s *server) exchange(in *input) (*call, error) {
	var b api.ExchangeRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	if err := missing(api.MissingField, "external_token", b.ExternalToken, "provider", b.Provider); err != nil {
		return nil, err
	}
	address := s.remote(in.Request)
	return &call{run: func(ctx context.Context, _ granted) (any, error) {
		r, err := s.Auth.Exchange(ctx, b, address)
		if errors.Is(err, auth.ErrProvider) {
			s.Log.Error("sign-in by a provider", "error", err.Error())
			err = api.ErrUnavailable.With("reason", auth.ErrProvider.Error())
		}
		return r, err
	}}, nil
}

func (s *server) refresh(*input) (*call, error) {
	return &call{run: func(ctx context.Context, g granted) (any, error) { return s.Auth.Refresh(ctx, g.credential) }}, nil
}

func (s *server) logout(*input) (*call, error) {
	return &call{run: func(ctx context.Context, g granted) (any, error) {
		return api.Done{Success: true}, s.Auth.Logout(ctx, g.credential)
	}}, nil
}

func (s *server) apiKeyInfo(in *input) (*call, error) {
	var b api.APIKeyInfoRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	if err := missing(api.MissingField, "api_key", b.APIKey); err != nil {
		return nil, err
	}
	return &call{run: func(ctx context.Context, _ granted) (any, error) { return s.Auth.KeyInfo(ctx, b.APIKey) }}, nil
}

func (s *server) validateAPIKey(in *input) (*call, error) {
	var b api.ValidateAPIKeyRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	if err := missing(api.MissingField, "api_key", b.APIKey, "site_id", b.SiteID); err != nil {
		return nil, err
	}
	return &call{run: func(ctx context.Context, _ granted) (any, error) {
		r, err := s.Auth.ValidateKey(ctx, b.APIKey, b.SiteID)
		if err != nil {
			return r, err
		}
		// A key for all sites of some customers is valid for theirs alone.
		p, err := s.Auth.Authenticate(ctx, b.APIKey)
		if err != nil {
			return nil, err
		}
		all, err := s.Sites.SitesNamed(ctx, b.SiteID)
		if err != nil {
			return nil, err
		}
		switch _, err := p.Scope().Choose(all, ""); {
		case err == nil, errors.Is(err, api.ErrAmbiguousSite):
			r.Valid = true
		case errors.Is(err, api.ErrForbidden), !slices.Contains(p.Customers, api.Every):
			r.Valid = false
		}
		return r, nil
	}}, nil
}

func (s *server) setupStatus(in *input) (*call, error) {
	needsToken := in.RemoteAddr != api.InProcess
	return &call{run: func(ctx context.Context, _ granted) (any, error) {
		needs, err := s.Auth.NeedsAdmin(ctx)
		return api.SetupStatus{Success: true, NeedsAdmin: needs, NeedsToken: needs && needsToken}, err
	}}, nil
}

// setup makes the first administrator, for a caller at the machine who has the
// setup token. A proxy on the machine that adds no header makes every caller
// look like one at the machine. The console of this process needs no token.
func (s *server) setup(in *input) (*call, error) {
	var b api.SetupRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	if err := missing(api.MissingField, "username", b.Username, "password", b.Password); err != nil {
		return nil, err
	}
	local := in.local()
	address := s.remote(in.Request)
	return &call{run: func(ctx context.Context, _ granted) (any, error) {
		if !local {
			return nil, api.ErrForbidden
		}
		if in.RemoteAddr != api.InProcess {
			if err := s.Auth.CheckSetupToken(ctx, b.SetupToken, address); err != nil {
				return nil, err
			}
		}
		if _, err := s.Auth.CreateFirstAdmin(ctx, b.Username, b.Password, address); err != nil {
			return nil, err
		}
		return s.Auth.Login(ctx, b.Username, b.Password, address)
	}}, nil
}

// local says that the request was made in this process, or over loopback by a
// program: a proxy or a browser on the machine speaks for others.
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
