package auth

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/admission"
	"app.sunloop/backend/api"
	"app.sunloop/backend/names"
	"app.sunloop/backend/store"
	"github.com/oklog/ulid/v2"
)

// account is a user as stored.
type account struct {
	ID          string          `json:"id" limit:"id"`
	Username    string          `json:"username" limit:"name"`
	Role        string          `json:"role" limit:"word"`
	Customers   []string        `json:"customers" limit:"1000 id"`
	Sites       []string        `json:"sites,omitempty" limit:"1000 id"` // ids; none: every one of the customers
	GroupID     string          `json:"group_id,omitempty" limit:"id"`
	SkinID      string          `json:"skin_id,omitempty" limit:"id"`
	Hash        string          `json:"hash" limit:"1024"`
	Inactive    bool            `json:"inactive,omitempty"`
	CreatedAt   time.Time       `json:"created_at"`
	LastLoginAt time.Time       `json:"last_login_at,omitzero"`
	TOTP        *authenticator  `json:"totp,omitempty"`
	Failures    []time.Time     `json:"failures,omitempty" limit:"1000 last"` // of codes, over all challenges
	External    *external       `json:"external,omitempty"`                   // signs in by a provider
	SSHKeys     []string        `json:"ssh_keys,omitempty" limit:"20 token"`  // public ones, as in a .pub file
	Networks    []signInNetwork `json:"networks,omitempty" limit:"16"`        // latest first
	ChangedAt   time.Time       `json:"changed_at,omitzero"`                  // by an administrator, or with a site that was removed
}

// authenticator is an enrolled one.
type authenticator struct {
	Sealed   []byte   `json:"sealed" limit:"4096"`
	LastStep int64    `json:"last_step"`                 // no code of it or before is taken again
	Recovery [][]byte `json:"recovery" limit:"100 1024"` // keyed hashes of the codes that are left
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

// User is an account without its secrets.
type User struct {
	ID            string
	Username      string
	Role          string
	Customers     []string // ids, or api.Every
	Sites         []string // ids, or api.Every
	GroupID       string   // of systems outside, which read it in tokens; may be empty
	SkinID        string   // as above
	Active        bool
	SSHKeys       []string // public ones, each as in a .pub file
	Enrolled      bool     // has an authenticator
	RecoveryCodes int      // that are left
	Issuer        string   // of the provider by which the user signs in; empty: by password
	CreatedAt     time.Time
	LastLoginAt   time.Time // zero: never
	LockedUntil   time.Time // until then no code is accepted, after too many wrong ones; zero or past: not locked
	UpdatedAt     time.Time // of the last change or sign-in
}

// Record is the user as administrators read one.
func (u User) Record() api.UserRecord {
	r := api.UserRecord{UserID: u.ID, Username: u.Username, RoleID: u.Role, RoleName: RoleName(u.Role), CustomerIDs: u.Customers, SiteIDs: u.Sites, GroupID: u.GroupID, SkinID: u.SkinID,
		Active: u.Active, SSHPublicKeys: u.SSHKeys, MFAEnrolled: u.Enrolled, RecoveryCodes: u.RecoveryCodes, Issuer: u.Issuer, CreatedAt: api.At(u.CreatedAt), UpdatedAtMS: u.UpdatedAt.UnixMilli()}
	if !u.LastLoginAt.IsZero() {
		r.LastLoginAt = api.At(u.LastLoginAt)
	}
	if !u.LockedUntil.IsZero() {
		r.LockedUntil = api.At(u.LockedUntil)
	}
	return r
}

func (a account) user() User {
	u := User{ID: a.ID, Username: a.Username, Role: a.Role, Customers: a.Customers, Sites: everyIfNone(a.Sites), GroupID: a.GroupID, SkinID: a.SkinID, Active: !a.Inactive, SSHKeys: a.SSHKeys,
		CreatedAt: a.CreatedAt, LastLoginAt: a.LastLoginAt, UpdatedAt: later(later(a.CreatedAt, a.LastLoginAt), a.ChangedAt)}
	if a.TOTP != nil {
		u.Enrolled, u.RecoveryCodes = true, len(a.TOTP.Recovery)
	}
	if a.External != nil {
		u.Issuer = a.External.Issuer
	}
	if n := len(a.Failures); n >= codeBudget {
		u.LockedUntil = a.Failures[n-codeBudget].Add(codeBudgetWindow)
	}
	return u
}

func (a account) wire() *api.User {
	permissions := []string{}
	for _, p := range Permissions(a.Role) {
		permissions = append(permissions, string(p))
	}
	return &api.User{UserID: a.ID, Username: a.Username, RoleID: a.Role, RoleName: RoleName(a.Role), CustomerIDs: a.Customers, SiteIDs: a.Sites,
		GroupID: a.GroupID, SkinID: a.SkinID, ApplicationPermissions: permissions}
}

func (a account) principal() Principal {
	return Principal{Kind: KindUser, ID: a.ID, Name: a.Username, Role: a.Role, Customers: a.Customers, Sites: everyIfNone(a.Sites)}
}

// NewUser is what a user is made of.
type NewUser struct {
	Username  string
	Password  string
	Role      string
	Customers []string // ids, or api.Every; an administrator has every one if none is given
	Sites     []string // ids, or api.Every; none: every one of the customers
	GroupID   string   // of systems outside; may be empty
	SkinID    string   // as above
	SSHKeys   []string // public ones, each as in a .pub file

	address string // of the person, whose network the account knows; may be empty
}

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

// CreateFirstAdmin makes an administrator; a conflict once any user exists. The
// caller has checked the setup token, or asks for the operator. address is where
// the person is, which the account then knows; it may be empty.
func (s *Service) CreateFirstAdmin(ctx context.Context, username, password, address string) (User, error) {
	empty, err := s.NeedsAdmin(ctx)
	if err != nil {
		return User{}, err
	}
	if !empty {
		return User{}, errHasUsers()
	}
	return s.create(ctx, NewUser{Username: username, Password: password, Role: api.RoleAdmin, address: address}, everyAccount, func(tx store.Tx) error {
		users, _, err := accounts.List(tx, store.Query{Limit: 1})
		if err == nil && len(users) > 0 {
			err = errHasUsers()
		}
		return err
	})
}

// everyAccount is a condition that all accounts meet.
func everyAccount(account) bool { return true }

func errHasUsers() error { return api.AlreadyExists("The first administrator exists already") }

// CreateUser makes a user for the operator; a conflict when the name is taken.
func (s *Service) CreateUser(ctx context.Context, n NewUser) (User, error) {
	return s.As(api.Unlimited("")).AddUser(ctx, n)
}

// AddUser makes a user; a conflict when the name is taken. A user without
// customers has those of an administrator who is limited, who must give a name
// that ends in @ and the id of a customer of the user.
func (m Administrator) AddUser(ctx context.Context, n NewUser) (User, error) {
	if len(n.Customers) == 0 && m.isLimited() {
		n.Customers = m.by.Customers
	}
	if len(n.Sites) == 0 && !slices.Contains(m.by.Sites, api.Every) {
		n.Sites = m.by.Sites
	}
	return m.create(ctx, n, m.canCompare(n.Customers), func(store.Tx) error {
		if !m.sees(n.Customers, n.Sites, n.Role) {
			return errBeyond
		}
		return m.checkOwnName(n.Username, n.Customers)
	})
}

// create stores a new user if allowed returns no error and the name is unique
// among the accounts for which canCompare returns true.
func (s *Service) create(ctx context.Context, n NewUser, canCompare func(account) bool, allowed func(store.Tx) error) (User, error) {
	name, err := cleanUsername(n.Username, n.Customers)
	if err != nil {
		return User{}, err
	}
	if reason := names.CheckUser(localPart(name, n.Customers)); reason != "" {
		return User{}, api.InvalidField("username", reason)
	}
	if err := checkPassword(n.Password); err != nil {
		return User{}, err
	}
	if err := guessable(n.Password, name); err != nil {
		return User{}, err
	}
	if !slices.Contains(UserRoles(), n.Role) {
		return User{}, errRole(UserRoles())
	}
	if err := errors.Join(checkIDs("customer_ids", n.Customers), checkIDs("site_ids", n.Sites), checkLabel("group_id", &n.GroupID), checkLabel("skin_id", &n.SkinID)); err != nil {
		return User{}, err
	}
	keys, err := cleanSSHKeys(n.SSHKeys)
	if err != nil {
		return User{}, err
	}
	if n.Role == api.RoleAdmin && len(n.Customers) == 0 {
		n.Customers = []string{api.Every}
	}
	hash, err := s.passwords.hash(ctx, n.Password)
	if err != nil {
		return User{}, err
	}
	a := account{ID: s.newID("usr"), Username: name, Role: n.Role, Customers: slices.Clone(n.Customers), Sites: slices.Clone(n.Sites), GroupID: n.GroupID, SkinID: n.SkinID, SSHKeys: keys, Hash: hash, CreatedAt: s.now().UTC()}
	if a.Customers == nil {
		a.Customers = []string{}
	}
	if n.address != "" {
		a.addNetwork(s.networkHash(a.ID, admission.Network(n.address)), a.CreatedAt)
	}
	err = s.records.Update(ctx, func(tx store.Tx) error {
		if err := allowed(tx); err != nil {
			return err
		}
		if err := s.checkNewCustomers(tx, a.Customers); err != nil {
			return err
		}
		// This check precedes the conflict, which would reveal foreign names.
		if err := checkReservedName(tx, name, a.Customers); err != nil {
			return err
		}
		if err := checkUniqueName(tx, name, canCompare); err != nil {
			return err
		}
		if err := roomFor(tx, accounts, a.Customers, api.MaxUsers, "users", func(other account) []string { return other.Customers }); err != nil {
			return err
		}
		return errors.Join(accounts.Insert(tx, a), endSetup(tx))
	})
	if err == nil && s.onUser != nil {
		s.onUser()
	}
	return a.user(), err
}

func errRole(of []string) error {
	return api.InvalidField("role_id", "one of "+strings.Join(of, ", "))
}

// later is the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// UserFilter narrows a list of users; a zero field selects all.
type UserFilter struct {
	CustomerID string // who may see it
	Role       string
	Active     *bool
}

// Users returns the users whom the administrator may see and the filter selects, by name.
func (m Administrator) Users(ctx context.Context, f UserFilter, p api.Page) (users []User, next string, err error) {
	err = m.records.View(ctx, func(tx store.Tx) error {
		users = nil
		all, _, err := accounts.List(tx, store.Query{Index: "name"})
		for _, a := range all {
			if m.sees(a.Customers, a.Sites, a.Role) && (f.CustomerID == "" || a.principal().CanCustomer(f.CustomerID)) && (f.Role == "" || f.Role == a.Role) && (f.Active == nil || *f.Active != a.Inactive) &&
				p.Since(a.user().UpdatedAt) {
				users = append(users, a.user())
			}
		}
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return part(users, func(u User) string { return folded(u.Username) }, p)
}

// UserRef names a user, by either.
type UserRef struct{ ID, Username string }

// find is the account, if the administrator may see it.
func (m Administrator) find(tx store.Tx, ref UserRef) (a account, err error) {
	if ref.ID != "" {
		a, err = accounts.Get(tx, store.Key(ref.ID))
	} else {
		a, err = byName(tx, ref.Username)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return a, api.ErrUserNotFound
	case err == nil && !m.sees(a.Customers, a.Sites, a.Role):
		return account{}, api.ErrUserNotFound
	}
	return a, err
}

// User is one whom the administrator may see.
func (m Administrator) User(ctx context.Context, ref UserRef) (u User, err error) {
	err = m.records.View(ctx, func(tx store.Tx) error {
		a, err := m.find(tx, ref)
		u = a.user()
		return err
	})
	return u, err
}

// UserChange says what of a user becomes another; nil stays.
type UserChange struct {
	Role      string // empty: stays
	Customers []string
	Sites     []string
	GroupID   *string  // empty takes it away
	SkinID    *string  // as above
	SSHKeys   []string // public ones in place of the former; empty and not nil: none
	Active    *bool    // false keeps the user out
	Password  *string  // a new one
	ResetTOTP bool     // delete authenticator and recovery codes: the next sign-in enrols again
	Unlink    bool     // delete the link to an identity provider: the next sign-in by one links again
	Unlock    bool     // reset the counts of wrong passwords and codes: the next sign-in need not wait
}

// endsSessions reports whether the user must sign in again.
func (c UserChange) endsSessions() bool {
	return c.Active != nil && !*c.Active || c.Password != nil || c.ResetTOTP || c.Unlink
}

func (c UserChange) check() error {
	switch {
	case c.Role != "" && !slices.Contains(UserRoles(), c.Role):
		return errRole(UserRoles())
	case c.Sites != nil && len(c.Sites) == 0:
		return api.InvalidField("site_ids", "name the sites that the user sees, or *")
	case c.Password != nil:
		return checkPassword(*c.Password)
	}
	return errors.Join(checkIDs("customer_ids", c.Customers), checkIDs("site_ids", c.Sites), checkLabel("group_id", c.GroupID), checkLabel("skin_id", c.SkinID))
}

// ChangeUser changes a user and answers how it was and is. A role, customers
// and sites act at once; a new password, a reset, the loss of a public key and
// being kept out end all sessions. The last active administrator stays one.
func (m Administrator) ChangeUser(ctx context.Context, ref UserRef, c UserChange) (before, after User, err error) {
	if err := c.check(); err != nil {
		return before, after, err
	}
	keys, err := cleanSSHKeys(c.SSHKeys)
	if err != nil {
		return before, after, err
	}
	hash := ""
	if c.Password != nil {
		if hash, err = m.passwords.hash(ctx, *c.Password); err != nil {
			return before, after, err
		}
	}
	defer m.known.invalidate()
	err = m.records.Update(ctx, func(tx store.Tx) error {
		a, err := m.find(tx, ref)
		if err != nil {
			return err
		}
		if c.Password != nil {
			if err := guessable(*c.Password, a.Username); err != nil {
				return err
			}
		}
		was := a
		before = a.user()
		if c.Role != "" {
			a.Role = c.Role
		}
		if c.Customers != nil {
			a.Customers = slices.Clone(c.Customers)
		}
		if c.Sites != nil {
			a.Sites = slices.Clone(c.Sites)
		}
		if c.GroupID != nil {
			a.GroupID = *c.GroupID
		}
		if c.SkinID != nil {
			a.SkinID = *c.SkinID
		}
		lost := c.SSHKeys != nil && losesKey(a.SSHKeys, keys)
		if c.SSHKeys != nil {
			a.SSHKeys = keys
		}
		if c.Active != nil {
			a.Inactive = !*c.Active
		}
		if hash != "" {
			a.Hash = hash
		}
		if c.Unlock {
			a.Failures = nil
		}
		if c.ResetTOTP {
			a.TOTP, a.Failures = nil, nil
		}
		if c.Unlink {
			a.External = nil
		}
		if !m.sees(a.Customers, a.Sites, a.Role) {
			return errBeyond
		}
		if err := m.checkNewCustomers(tx, c.Customers); err != nil {
			return err
		}
		if err := keepsReservedName(a.Username, was.Customers, a.Customers); err != nil {
			return err
		}
		a.ChangedAt = m.now().UTC()
		after = a.user()
		if err := accounts.Put(tx, a); err != nil {
			return err
		}
		if err := keepsAdmin(tx, was); err != nil || !c.endsSessions() && !lost {
			return err
		}
		return endSessions(tx, a.ID)
	})
	if err == nil && c.Unlock {
		err = m.attempts.resetFailures(ctx, folded(after.Username))
	}
	return before, after, err
}

// DeleteUser removes a user for good and answers who it was. The last active
// administrator stays.
func (m Administrator) DeleteUser(ctx context.Context, ref UserRef) (before User, err error) {
	defer m.known.invalidate()
	err = m.records.Update(ctx, func(tx store.Tx) error {
		a, err := m.find(tx, ref)
		if err != nil {
			return err
		}
		before = a.user()
		if err := accounts.Delete(tx, accounts.Key(a)); err != nil {
			return err
		}
		if err := keepsAdmin(tx, a); err != nil {
			return err
		}
		return endSessions(tx, a.ID)
	})
	return before, err
}

func (a account) administers() bool { return a.Role == api.RoleAdmin && !a.Inactive }

// unlimited says whether the account sees all customers and sites.
func (a account) unlimited() bool {
	return slices.Contains(a.Customers, api.Every) && slices.Contains(everyIfNone(a.Sites), api.Every)
}

// keepsAdmin refuses a change that leaves no administrator to undo it: none
// in all, or none with access to everything.
func keepsAdmin(tx store.Tx, was account) error {
	if !was.administers() {
		return nil
	}
	all, _, err := accounts.List(tx, store.Query{})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(a account) bool { return a.administers() && (a.unlimited() || !was.unlimited()) }) {
		return nil
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
