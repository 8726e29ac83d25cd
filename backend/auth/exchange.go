package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"slices"

	"app.sunloop/backend/admission"
	"app.sunloop/backend/api"
	"app.sunloop/backend/names"
	"app.sunloop/backend/store"
)

// external is who a user is at a provider.
type external struct {
	Issuer  string `json:"issuer" limit:"url"`
	Subject string `json:"subject" limit:"1024"`
}

// Exchange signs in the user named by a provider's token. The provider's
// sign-in replaces password and second factor. The error is what is wrong with
// the token; [api.ErrUserInactive]; [api.ErrForbidden] with a reason for a
// person who is not a user; or [ErrProvider] if the token cannot be verified.
// address is the caller's network address.
func (s *Service) Exchange(ctx context.Context, r api.ExchangeRequest, address string) (api.LoginResponse, error) {
	at := slices.IndexFunc(s.issuers, func(i *issuer) bool { return i.Name == r.Provider })
	if at < 0 {
		return api.LoginResponse{}, api.InvalidField("provider", "no identity provider of this service")
	}
	who, err := s.issuers[at].identify(ctx, r.ExternalToken)
	if err != nil {
		return api.LoginResponse{}, err
	}
	if nonce, _ := who.claims["nonce"].(string); r.Nonce != "" && subtle.ConstantTimeCompare([]byte(nonce), []byte(r.Nonce)) != 1 {
		return api.LoginResponse{}, api.ErrInvalidToken
	}
	now := s.now()
	var a, was account
	var e session
	err = s.records.Update(ctx, func(tx store.Tx) (err error) {
		if a, was, err = s.externalAccount(tx, s.issuers[at].Provider, who); err != nil {
			return about(a.ID, err)
		}
		if a.Inactive {
			return about(a.ID, api.ErrUserInactive)
		}
		a.addNetwork(s.networkHash(a.ID, admission.Network(address)), now)
		e, err = s.startSession(tx, a, now)
		return err
	})
	if err != nil {
		return api.LoginResponse{}, err
	}
	answer, err := s.signedIn(ctx, a, e, now)
	if was.External == nil {
		answer.After = new(a.user().Record())
		if was.ID != "" {
			answer.Before = new(was.user().Record())
		}
	}
	return answer, err
}

// externalAccount is the account of a person, by who that is at the provider,
// else by the username, else a new one; and how it was, the zero account for a
// new one.
func (s *Service) externalAccount(tx store.Tx, p Provider, who identity) (a, was account, err error) {
	known, _, err := accounts.List(tx, store.Query{Index: "external", Prefix: store.Key(who.issuer, who.subject), Limit: 1})
	if err != nil {
		return account{}, was, err
	}
	if len(known) > 0 {
		return known[0], known[0], nil
	}
	a, err = byName(tx, who.username)
	switch {
	case errors.Is(err, store.ErrNotFound) && p.Provision != nil:
		a, err = s.provisioned(tx, *p.Provision, who)
	case errors.Is(err, store.ErrNotFound):
		err = denied("there is no user of this name")
	case err != nil:
	case a.External != nil:
		err = denied("the username belongs to another user")
	case p.KeepApart:
		err = denied("the user of this name signs in with a password")
	default:
		was = a
	}
	a.External = &external{who.issuer, who.subject}
	return a, was, err
}

// provisioned returns the account of a new user. It has no password.
func (s *Service) provisioned(tx store.Tx, p Provision, who identity) (account, error) {
	if reason := names.CheckUser(who.username); reason != "" {
		return account{}, denied("the username is not accepted: " + reason)
	}
	a := account{ID: s.newID("usr"), Username: who.username, Role: p.Role, Customers: slices.Clone(p.Customers), CreatedAt: s.now().UTC()}
	if p.RoleClaim != "" {
		named := texts(who.claims[p.RoleClaim])
		if at := slices.IndexFunc(UserRoles(), func(r string) bool { return slices.Contains(named, r) }); at >= 0 {
			a.Role = UserRoles()[at]
		}
	}
	if a.Role == "" {
		return account{}, denied("the claim " + p.RoleClaim + " names no role")
	}
	if p.CustomersClaim != "" {
		for _, id := range texts(who.claims[p.CustomersClaim]) {
			// All customers are for the configuration to give.
			if id != "" && id != api.Every && !slices.Contains(a.Customers, id) {
				a.Customers = append(a.Customers, id)
			}
		}
	}
	if len(a.Customers) == 0 {
		return account{}, denied("the claim " + p.CustomersClaim + " names no customer")
	}
	switch err := checkReservedName(tx, a.Username, a.Customers); {
	case errors.Is(err, api.InvalidField("username", "")):
		return account{}, denied("the username ends in @ and the id of a customer that the user does not belong to")
	case err != nil:
		return account{}, err
	}
	refusal := (*api.Error)(nil)
	switch err := errors.Join(checkUniqueName(tx, a.Username, everyAccount), s.checkNewCustomers(tx, a.Customers)); {
	case errors.As(err, &refusal) && refusal.Status == http.StatusConflict:
		return account{}, denied("the username looks like another one")
	case errors.As(err, &refusal) && refusal.Status == http.StatusBadRequest:
		return account{}, denied("the claim " + p.CustomersClaim + " names a customer whose id looks like another one")
	case err != nil:
		return account{}, err
	}
	return a, nil
}

// texts are the strings of a claim that is one or a list of them.
func texts(claim any) (list []string) {
	switch c := claim.(type) {
	case string:
		return []string{c}
	case []any:
		for _, v := range c {
			if text, ok := v.(string); ok {
				list = append(list, text)
			}
		}
	}
	return list
}

// subject is an error of a sign-in with the user that it is about.
type subject struct {
	error
	userID string
}

func (s subject) Unwrap() error { return s.error }

// about marks an error of a sign-in with the user, if there is one.
func about(userID string, err error) error {
	if err == nil || userID == "" {
		return err
	}
	return subject{err, userID}
}

// SubjectOf is the id of the user whom a refused sign-in was about, empty when
// that is not known.
func SubjectOf(err error) string {
	var s subject
	if errors.As(err, &s) {
		return s.userID
	}
	return ""
}
