package httpapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
)

// userMoves are what is done to a user by an action, and its words.
var userMoves = map[string]string{
	api.ActionSet:           "User changed",
	api.ActionResetPassword: "Password changed; all sessions are ended",
	api.ActionResetMFA:      "The next sign-in sets up an authenticator; all sessions are ended",
	api.ActionUnlink:        "The next sign-in by an identity provider links the user anew; all sessions are ended",
	api.ActionUnlock:        "Wrong passwords and codes are forgotten",
}

func (s *server) users(in *input) (*call, error) {
	var b api.UsersRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	c := &call{action: b.Action, target: target{customerID: b.CustomerID}, fingerprint: in.digest()}
	one := func(message string, u auth.User, err error) (any, error) {
		r := u.Record()
		return api.UsersResponse{Success: true, Message: message, User: &r, UserID: u.ID, Count: 1}, err
	}
	ref := auth.UserRef{ID: b.UserID, Username: b.Username}
	if _, moves := userMoves[b.Action]; ref == (auth.UserRef{}) && (moves || b.Action == api.ActionGet || b.Action == api.ActionDelete) {
		return nil, api.MissingField("user_id")
	}
	switch b.Action {
	case "", api.ActionList:
		page, err := pageOf(b.Page)
		if err != nil {
			return nil, err
		}
		c.run = func(ctx context.Context, g granted) (any, error) {
			list, next, err := s.Auth.As(g.scope).Users(ctx, b.CustomerID, page)
			return api.UsersResponse{Success: true, Users: recordsOf(list, auth.User.Record), Count: len(list), NextCursor: next}, err
		}
	case api.ActionGet:
		c.run = func(ctx context.Context, g granted) (any, error) {
			u, err := s.Auth.As(g.scope).User(ctx, ref)
			return one("", u, err)
		}
	case api.ActionAdd:
		if err := missing(api.MissingField, "username", b.Username, "password", b.Password, "role_id", b.RoleID); err != nil {
			return nil, err
		}
		c.run = func(ctx context.Context, g granted) (any, error) {
			var err error
			if b.SiteIDs, err = s.siteKeys(ctx, g.scope, b.CustomerIDs, b.SiteIDs); err != nil {
				return nil, err
			}
			u, err := s.Auth.As(g.scope).AddUser(ctx, auth.NewUser{Username: b.Username, Password: b.Password, Role: b.RoleID, Customers: b.CustomerIDs, Sites: b.SiteIDs, GroupID: deref(b.GroupID), SkinID: deref(b.SkinID), SSHKeys: b.SSHPublicKeys})
			if err == nil {
				g.note.change(nil, u.Record(), u.Customers...)
			}
			return one("User added", u, err)
		}
	case api.ActionDelete:
		c.run = func(ctx context.Context, g granted) (any, error) {
			u, err := s.Auth.As(g.scope).DeleteUser(ctx, ref)
			if err == nil {
				g.note.change(u.Record(), nil, u.Customers...)
			}
			return api.UsersResponse{Success: true, Message: "User deleted", UserID: u.ID}, err
		}
	default:
		change, err := userChange(b)
		if err != nil {
			return nil, err
		}
		c.run = func(ctx context.Context, g granted) (any, error) {
			if change.Sites, err = s.siteKeys(ctx, g.scope, b.CustomerIDs, b.SiteIDs); err != nil {
				return nil, err
			}
			before, after, err := s.Auth.As(g.scope).ChangeUser(ctx, ref, change)
			if err == nil {
				g.note.change(before.Record(), after.Record(), append(before.Customers, after.Customers...)...)
			}
			return one(userMoves[b.Action], after, err)
		}
	}
	return c, nil
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
	whole := api.Scope{Customers: customers, Sites: []string{api.Every}}
	out := slices.Clone(ids)
	for i, id := range ids {
		all, err := s.Sites.SitesNamed(ctx, id)
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(v api.Site) bool { return !scope.Allows(v.CustomerID, v.SiteID) })
		switch site, err := whole.Choose(all, ""); {
		case err == nil:
			out[i] = site.SiteID
		case errors.Is(err, api.ErrAmbiguousSite):
			return nil, api.MissingField("customer_ids").With("reason", "several customers have a site "+id+": name the customer")
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

// userChange is what an action changes of a user.
func userChange(b api.UsersRequest) (c auth.UserChange, err error) {
	switch b.Action {
	case api.ActionSet:
		if b.RoleID == "" && b.CustomerIDs == nil && b.SiteIDs == nil && b.GroupID == nil && b.SkinID == nil && b.Active == nil && b.SSHPublicKeys == nil {
			return c, api.MissingField("role_id, customer_ids, site_ids, group_id, skin_id, active or ssh_public_keys")
		}
		return auth.UserChange{Role: b.RoleID, Customers: b.CustomerIDs, Sites: b.SiteIDs, GroupID: b.GroupID, SkinID: b.SkinID, Active: b.Active, SSHKeys: b.SSHPublicKeys}, nil
	case api.ActionResetPassword:
		return auth.UserChange{Password: &b.Password}, missing(api.MissingField, "password", b.Password)
	case api.ActionResetMFA:
		return auth.UserChange{ResetTOTP: true}, nil
	case api.ActionUnlock:
		return auth.UserChange{Unlock: true}, nil
	case api.ActionUnlink:
		return auth.UserChange{Unlink: true}, nil
	}
	return c, api.ErrInvalidAction
}

func (s *server) keys(in *input) (*call, error) {
	var b api.KeysRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	c := &call{action: b.Action, target: target{customerID: b.CustomerID}, fingerprint: in.digest()}
	one := func(message, plain string, k auth.APIKey, err error) (any, error) {
		r := k.Record()
		return api.KeysResponse{Success: true, Message: message, Key: &r, APIKey: plain, APIKeyID: k.ID, Count: 1}, err
	}
	if b.APIKeyID == "" && slices.Contains([]string{api.ActionGet, api.ActionRotate, api.ActionRevoke}, b.Action) {
		return nil, api.MissingField("api_key_id")
	}
	switch b.Action {
	case "", api.ActionList:
		page, err := pageOf(b.Page)
		if err != nil {
			return nil, err
		}
		c.run = func(ctx context.Context, g granted) (any, error) {
			list, next, err := s.Auth.As(g.scope).Keys(ctx, b.CustomerID, page)
			return api.KeysResponse{Success: true, Keys: recordsOf(list, auth.APIKey.Record), Count: len(list), NextCursor: next}, err
		}
	case api.ActionGet:
		c.run = func(ctx context.Context, g granted) (any, error) {
			k, err := s.Auth.As(g.scope).Key(ctx, b.APIKeyID)
			return one("", "", k, err)
		}
	case api.ActionCreate:
		if b.Name == "" {
			return nil, api.MissingField("name")
		}
		c.run = func(ctx context.Context, g granted) (any, error) {
			var err error
			if b.PermittedSiteIDs, err = s.siteKeys(ctx, g.scope, b.CustomerIDs, b.PermittedSiteIDs); err != nil {
				return nil, err
			}
			plain, k, err := s.Auth.As(g.scope).CreateKey(ctx, auth.NewKey{Name: b.Name, Role: b.RoleID, Customers: b.CustomerIDs, Sites: b.PermittedSiteIDs, ExpiresAt: b.ExpiresAt.Time, CreatedBy: g.Name})
			if err == nil {
				g.note.change(nil, k.Record(), k.Customers...)
			}
			return one("The key is shown only now", plain, k, err)
		}
	case api.ActionRotate:
		overlap, err := overlapOf(b.OverlapHours)
		if err != nil {
			return nil, err
		}
		c.run = func(ctx context.Context, g granted) (any, error) {
			r, err := s.Auth.As(g.scope).RotateKey(ctx, b.APIKeyID, auth.Rotation{Overlap: overlap, ExpiresAt: b.ExpiresAt.Time, By: g.Name})
			if err == nil {
				g.note.change(r.Before.Record(), r.After.Record(), r.Before.Customers...)
			}
			return one("The key is shown only now; the former one ends at "+api.At(r.After.ExpiresAt).String(), r.Plain, r.Key, err)
		}
	case api.ActionRevoke:
		c.run = func(ctx context.Context, g granted) (any, error) {
			before, after, err := s.Auth.As(g.scope).RevokeKey(ctx, b.APIKeyID)
			if err == nil {
				g.note.change(before.Record(), after.Record(), after.Customers...)
			}
			return one("Key revoked", "", after, err)
		}
	default:
		return nil, api.ErrInvalidAction
	}
	return c, nil
}

// recordsOf is a list as it is answered: there even when empty.
func recordsOf[T, R any](list []T, record func(T) R) []R {
	out := make([]R, len(list))
	for i, v := range list {
		out[i] = record(v)
	}
	return out
}

func overlapOf(hours *int) (time.Duration, error) {
	if hours == nil {
		return api.DefaultOverlap, nil
	}
	if most := int(api.MaxOverlap / time.Hour); *hours < 0 || *hours > most {
		return 0, api.InvalidField("overlap_hours", fmt.Sprintf("a whole number from 0 to %d", most))
	}
	return time.Duration(*hours) * time.Hour, nil
}
