package auth

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"github.com/oklog/ulid/v2"
	"golang.org/x/text/unicode/norm"
)

// account is a user as stored.
type account struct {
	ID          string         `json:"id"`
	Username    string         `json:"username"`
	Role        string         `json:"role"`
	Customers   []string       `json:"customers"`
	Sites       []string       `json:"sites,omitempty"` // ids; none: every one of the customers
	GroupID     string         `json:"group_id,omitempty"`
	SkinID      string         `json:"skin_id,omitempty"`
	Hash        string         `json:"hash"`
	Inactive    bool           `json:"inactive,omitempty"`
	CreatedAt   time.Time      `json:"created_at"`
	LastLoginAt time.Time      `json:"last_login_at,omitzero"`
	TOTP        *authenticator `json:"totp,omitempty"`
	Failures    []time.Time    `json:"failures,omitempty"` // of codes, over all challenges
	External    *external      `json:"external,omitempty"` // signs in by a provider
}

// authenticator is an enrolled one.
type authenticator struct {
	Sealed   []byte   `json:"sealed"`
	LastStep int64    `json:"last_step"` // no code of it or before is taken again
	Recovery [][]byte `json:"recovery"`  // keyed hashes of the codes that are left
}

var accounts = store.Table[account]{
	Bucket: "auth/users",
	Key:    func(a account) []byte { return store.Key(a.ID) },
	Indexes: []store.Index[account]{
		{Name: "name", Key: func(a account) []byte { return store.Key(folded(a.Username)) }},
		{Name: "external", Key: func(a account) []byte {
			if a.External == nil {
				return nil
			}
			return store.Key(a.External.Issuer, a.External.Subject)
		}},
	},
}

// folded is a username as it is compared.
func folded(name string) string { return strings.ToLower(norm.NFC.String(name)) }

// User is an account without its secrets.
type User struct {
	ID            string
	Username      string
	Role          string
	Customers     []string // ids, or api.Every
	Active        bool
	Enrolled      bool // has an authenticator
	RecoveryCodes int  // that are left
	CreatedAt     time.Time
	LastLoginAt   time.Time // zero: never
}

func (a account) user() User {
	u := User{ID: a.ID, Username: a.Username, Role: a.Role, Customers: a.Customers, Active: !a.Inactive,
		CreatedAt: a.CreatedAt, LastLoginAt: a.LastLoginAt}
	if a.TOTP != nil {
		u.Enrolled, u.RecoveryCodes = true, len(a.TOTP.Recovery)
	}
	return u
}

func (a account) wire() *api.User {
	permissions := []string{}
	for _, p := range Permissions(a.Role) {
		permissions = append(permissions, string(p))
	}
	return &api.User{UserID: a.ID, Username: a.Username, RoleID: a.Role, RoleName: RoleName(a.Role), CustomerIDs: a.Customers,
		GroupID: a.GroupID, SkinID: a.SkinID, ApplicationPermissions: permissions}
}

func (a account) principal() Principal {
	return Principal{Kind: KindUser, ID: a.ID, Name: a.Username, Role: a.Role, Customers: a.Customers, Sites: []string{api.Every}}
}

// NewUser is what a user is made of.
type NewUser struct {
	Username  string
	Password  string
	Role      string
	Customers []string // ids, or api.Every; an administrator has every one if none is given
}

// errUserNotFound is the refusal of an unknown username.
var errUserNotFound = &api.Error{Status: 404, Message: "User not found"}

// NeedsAdmin says whether there is no user yet.
func (s *Service) NeedsAdmin(ctx context.Context) (bool, error) {
	var empty bool
	err := s.records.View(ctx, func(tx store.Tx) error {
		users, _, err := accounts.List(tx, store.Query{Limit: 1})
		empty = len(users) == 0
		return err
	})
	return empty, err
}

// CreateFirstAdmin makes an administrator; a conflict once any user exists.
func (s *Service) CreateFirstAdmin(ctx context.Context, username, password string) (User, error) {
	empty, err := s.NeedsAdmin(ctx)
	if err != nil {
		return User{}, err
	}
	if !empty {
		return User{}, errHasUsers()
	}
	return s.create(ctx, NewUser{Username: username, Password: password, Role: api.RoleAdmin}, func(tx store.Tx) error {
		users, _, err := accounts.List(tx, store.Query{Limit: 1})
		if err == nil && len(users) > 0 {
			err = errHasUsers()
		}
		return err
	})
}

func errHasUsers() error { return api.Conflict("The first administrator exists already") }

// CreateUser makes a user; a conflict when the name is taken.
func (s *Service) CreateUser(ctx context.Context, n NewUser) (User, error) {
	return s.create(ctx, n, func(store.Tx) error { return nil })
}

func (s *Service) create(ctx context.Context, n NewUser, allowed func(store.Tx) error) (User, error) {
	name, err := cleanUsername(n.Username)
	if err != nil {
		return User{}, err
	}
	if err := checkPassword(n.Password); err != nil {
		return User{}, err
	}
	if RoleName(n.Role) == "" {
		return User{}, errRole()
	}
	if n.Role == api.RoleAdmin && len(n.Customers) == 0 {
		n.Customers = []string{api.Every}
	}
	hash, err := s.passwords.hash(ctx, n.Password)
	if err != nil {
		return User{}, err
	}
	a := account{ID: s.newID("usr"), Username: name, Role: n.Role, Customers: slices.Clone(n.Customers), Hash: hash, CreatedAt: s.now().UTC()}
	if a.Customers == nil {
		a.Customers = []string{}
	}
	err = s.records.Update(ctx, func(tx store.Tx) error {
		if err := allowed(tx); err != nil {
			return err
		}
		if _, err := byName(tx, name); err == nil {
			return api.Conflict("The username %s is taken", name)
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		return accounts.Insert(tx, a)
	})
	return a.user(), err
}

func errRole() error { return api.InvalidField("role", "one of "+strings.Join(Roles(), ", ")) }

// Users are all users by name.
func (s *Service) Users(ctx context.Context) ([]User, error) {
	var users []User
	err := s.records.View(ctx, func(tx store.Tx) error {
		users = nil
		all, _, err := accounts.List(tx, store.Query{Index: "name"})
		for _, a := range all {
			users = append(users, a.user())
		}
		return err
	})
	return users, err
}

// SetRole changes what a user may do. The last active administrator stays one.
func (s *Service) SetRole(ctx context.Context, username, role string) error {
	if RoleName(role) == "" {
		return errRole()
	}
	return s.change(ctx, username, false, func(a *account) { a.Role = role })
}

// SetCustomers changes whose data a user sees.
func (s *Service) SetCustomers(ctx context.Context, username string, customers []string) error {
	return s.change(ctx, username, false, func(a *account) { a.Customers = append([]string{}, customers...) })
}

// SetActive lets a user in or keeps the user out and ends all sessions. The
// last active administrator stays in.
func (s *Service) SetActive(ctx context.Context, username string, active bool) error {
	return s.change(ctx, username, !active, func(a *account) { a.Inactive = !active })
}

// SetPassword gives a new password and ends all sessions.
func (s *Service) SetPassword(ctx context.Context, username, password string) error {
	if err := checkPassword(password); err != nil {
		return err
	}
	hash, err := s.passwords.hash(ctx, password)
	if err != nil {
		return err
	}
	return s.change(ctx, username, true, func(a *account) { a.Hash = hash })
}

// ResetTOTP forgets a user's authenticator and recovery codes, so that the
// next sign-in enrols anew, and ends all sessions.
func (s *Service) ResetTOTP(ctx context.Context, username string) error {
	return s.change(ctx, username, true, func(a *account) { a.TOTP, a.Failures = nil, nil })
}

func (s *Service) change(ctx context.Context, username string, signOut bool, edit func(*account)) error {
	defer s.known.forget()
	return s.records.Update(ctx, func(tx store.Tx) error {
		a, err := byName(tx, username)
		if errors.Is(err, store.ErrNotFound) {
			return errUserNotFound
		}
		if err != nil {
			return err
		}
		wasAdmin := a.Role == api.RoleAdmin && !a.Inactive
		edit(&a)
		if err := accounts.Put(tx, a); err != nil {
			return err
		}
		if wasAdmin && (a.Role != api.RoleAdmin || a.Inactive) {
			if err := keepsAdmin(tx); err != nil {
				return err
			}
		}
		if !signOut {
			return nil
		}
		return endSessions(tx, a.ID)
	})
}

// keepsAdmin refuses a change that leaves no one to undo it.
func keepsAdmin(tx store.Tx) error {
	all, _, err := accounts.List(tx, store.Query{})
	if err != nil {
		return err
	}
	for _, a := range all {
		if a.Role == api.RoleAdmin && !a.Inactive {
			return nil
		}
	}
	return api.Conflict("The last active administrator cannot be removed")
}

func byName(tx store.Tx, username string) (account, error) {
	found, _, err := accounts.List(tx, store.Query{Index: "name", Prefix: store.Key(folded(username)), Limit: 1})
	if err != nil {
		return account{}, fmt.Errorf("look up a user: %w", err)
	}
	if len(found) == 0 {
		return account{}, store.ErrNotFound
	}
	return found[0], nil
}

// newID is a fresh id: kind prefix and ULID.
func (s *Service) newID(kind string) string { return kind + "_" + s.newULID() }

func (s *Service) newULID() string {
	return ulid.MustNew(ulid.Timestamp(s.now()), rand.Reader).String()
}
