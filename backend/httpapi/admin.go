package httpapi

import (
	"context"
	"errors"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
)

func (s *server) userHandlers() {
	one := func(message string, u auth.User, err error) (api.UsersResponse, error) {
		r := u.Record()
		return api.UsersResponse{Success: true, Message: message, User: &r, UserID: u.ID, Count: 1}, err
	}
	handle(s, api.ListUsers, func(ctx context.Context, c *caller, r *api.UsersRequest) (api.UsersResponse, error) {
		list, next, err := s.Auth.As(c.scope).Users(ctx, auth.UserFilter{CustomerID: r.CustomerID, Role: r.RoleID, Active: r.Active}, r.Page)
		return api.UsersResponse{Success: true, Users: recordsOf(list, auth.User.Record), Count: len(list), NextCursor: next}, err
	})
	handle(s, api.GetUser, func(ctx context.Context, c *caller, r *api.UsersRequest) (api.UsersResponse, error) {
		u, err := s.Auth.As(c.scope).User(ctx, auth.UserRef{ID: r.UserID, Username: r.Username})
		return one("", u, err)
	})
	handle(s, api.AddUser, func(ctx context.Context, c *caller, r *api.UsersRequest) (api.UsersResponse, error) {
		sites, err := s.siteKeys(ctx, c.scope, r.CustomerIDs, r.SiteIDs)
		if err != nil {
			return api.UsersResponse{}, err
		}
		u, err := s.Auth.As(c.scope).AddUser(ctx, auth.NewUser{Username: r.Username, Password: r.Password, Role: r.RoleID, Customers: r.CustomerIDs, Sites: sites, GroupID: deref(r.GroupID), SkinID: deref(r.SkinID), SSHKeys: r.SSHPublicKeys})
		if err == nil {
			c.audit.change(nil, u.Record(), u.Customers...)
		}
		return one("User added", u, err)
	})
	handle(s, api.DeleteUser, func(ctx context.Context, c *caller, r *api.UsersRequest) (api.UsersResponse, error) {
		u, err := s.Auth.As(c.scope).DeleteUser(ctx, auth.UserRef{ID: r.UserID, Username: r.Username})
		if err == nil {
			c.audit.change(u.Record(), nil, u.Customers...)
		}
		return api.UsersResponse{Success: true, Message: "User deleted", UserID: u.ID}, err
	})
	change := func(e api.Endpoint[api.UsersRequest, api.UsersResponse], message string, of func(r *api.UsersRequest) auth.UserChange) {
		handle(s, e, func(ctx context.Context, c *caller, r *api.UsersRequest) (api.UsersResponse, error) {
			change := of(r)
			var err error
			if change.Sites, err = s.siteKeys(ctx, c.scope, r.CustomerIDs, r.SiteIDs); err != nil {
				return api.UsersResponse{}, err
			}
			before, after, err := s.Auth.As(c.scope).ChangeUser(ctx, auth.UserRef{ID: r.UserID, Username: r.Username}, change)
			if err == nil {
				c.audit.change(before.Record(), after.Record(), append(before.Customers, after.Customers...)...)
			}
			return one(message, after, err)
		})
	}
	change(api.SetUser, "User changed", func(r *api.UsersRequest) auth.UserChange {
		return auth.UserChange{Role: r.RoleID, Customers: r.CustomerIDs, Sites: r.SiteIDs, GroupID: r.GroupID, SkinID: r.SkinID, Active: r.Active, SSHKeys: r.SSHPublicKeys}
	})
	change(api.ResetPassword, "Password changed; all sessions are ended", func(r *api.UsersRequest) auth.UserChange { return auth.UserChange{Password: &r.Password} })
	change(api.ResetMFA, "The next sign-in sets up an authenticator; all sessions are ended", func(*api.UsersRequest) auth.UserChange { return auth.UserChange{ResetTOTP: true} })
	change(api.UnlinkUser, "The next sign-in by an identity provider links the user again; all sessions are ended", func(*api.UsersRequest) auth.UserChange { return auth.UserChange{Unlink: true} })
	change(api.UnlockUser, "Failed sign-ins are reset", func(*api.UsersRequest) auth.UserChange { return auth.UserChange{Unlock: true} })
	s.keyHandlers()
}

// siteKeys replaces the ids of sites that a key or a user is to have by the
// sites' keys, so that a site which another customer makes later is not meant.
// Where one customer is meant, the ids are clear and stay: see [api.Scope].
func (s *server) siteKeys(ctx context.Context, scope api.Scope, customers, ids []string) ([]string, error) {
	if len(customers) == 0 {
		customers = scope.Customers
	}
	if len(customers) == 1 && customers[0] != api.Every && slices.Equal(customers, scope.Customers) {
		return ids, nil
	}
	out := slices.Clone(ids)
	for i, id := range ids {
		all, err := s.Sites.SitesNamed(ctx, id)
		if err != nil {
			return nil, err
		}
		if out[i], err = scope.GrantedSite(id, all, customers); errors.Is(err, api.ErrAmbiguousSite) {
			return nil, api.MissingField("customer_ids").With("reason", "several customers have a site "+id+": name the customer")
		} else if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// deref is the text that was given, or none.
func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func (s *server) keyHandlers() {
	one := func(message, plain string, k auth.APIKey, err error) (api.KeysResponse, error) {
		r := k.Record()
		return api.KeysResponse{Success: true, Message: message, Key: &r, APIKey: plain, APIKeyID: k.ID, Count: 1}, err
	}
	handle(s, api.ListKeys, func(ctx context.Context, c *caller, r *api.KeysRequest) (api.KeysResponse, error) {
		list, next, err := s.Auth.As(c.scope).Keys(ctx, auth.KeyFilter{CustomerID: r.CustomerID, Role: r.RoleID, State: r.State}, r.Page)
		return api.KeysResponse{Success: true, Keys: recordsOf(list, auth.APIKey.Record), Count: len(list), NextCursor: next}, err
	})
	handle(s, api.GetKey, func(ctx context.Context, c *caller, r *api.KeysRequest) (api.KeysResponse, error) {
		k, err := s.Auth.As(c.scope).Key(ctx, r.APIKeyID)
		return one("", "", k, err)
	})
	handle(s, api.CreateKey, func(ctx context.Context, c *caller, r *api.KeysRequest) (api.KeysResponse, error) {
		sites, err := s.siteKeys(ctx, c.scope, r.CustomerIDs, r.PermittedSiteIDs)
		if err != nil {
			return api.KeysResponse{}, err
		}
		plain, k, err := s.Auth.As(c.scope).CreateKey(ctx, auth.NewKey{Name: r.Name, Role: r.RoleID, Customers: r.CustomerIDs, Sites: sites, ExpiresAt: r.ExpiresAt.Time, CreatedBy: c.Name, Rate: r.RatePerMinute})
		if err == nil {
			c.audit.change(nil, k.Record(), k.Customers...)
		}
		return one("The key is shown only now", plain, k, err)
	})
	handle(s, api.RotateKey, func(ctx context.Context, c *caller, r *api.KeysRequest) (api.KeysResponse, error) {
		overlap := api.DefaultOverlap
		if r.OverlapHours != nil {
			overlap = time.Duration(*r.OverlapHours) * time.Hour
		}
		k, err := s.Auth.As(c.scope).RotateKey(ctx, r.APIKeyID, auth.Rotation{Overlap: overlap, ExpiresAt: r.ExpiresAt.Time, By: c.Name})
		if err == nil {
			c.audit.change(k.Before.Record(), k.After.Record(), k.Before.Customers...)
		}
		return one("The key is shown only now; the former one ends at "+api.At(k.After.ExpiresAt).String(), k.Plain, k.Key, err)
	})
	handle(s, api.RevokeKey, func(ctx context.Context, c *caller, r *api.KeysRequest) (api.KeysResponse, error) {
		before, after, err := s.Auth.As(c.scope).RevokeKey(ctx, r.APIKeyID)
		if err == nil {
			c.audit.change(before.Record(), after.Record(), after.Customers...)
		}
		return one("Key revoked", "", after, err)
	})
}

// recordsOf is a list as it is answered: there even when empty.
func recordsOf[T, R any](list []T, record func(T) R) []R {
	out := make([]R, len(list))
	for i, v := range list {
		out[i] = record(v)
	}
	return out
}
