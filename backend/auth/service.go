package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/alexedwards/argon2id"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// Options of the service. Records, Key and Now are required.
type Options struct {
	Records store.Records
	Key     Key
	Now     func() time.Time

	// RequireMFA makes every user enrol an authenticator at the first
	// sign-in. Without it, users who have one are still asked for its code.
	RequireMFA bool

	// Shared means that other processes sign in users of the same records.
	Shared bool

	Providers []Provider // whose tokens Exchange takes

	// OnUser is called when a user was created; optional. The setup token is
	// worthless then.
	OnUser func()

	// HasSites reports whether a customer has a site; optional. The id of
	// such a customer is accepted whatever it looks like.
	HasSites func(tx store.Tx, customerID string) (bool, error)

	Issuer        string           // of tokens, and the name in authenticators; default Sunloop
	TokenLifetime time.Duration    // default api.TokenLifetime
	SigningKeyAge time.Duration    // at which Sweep rotates the key; default DefaultSigningKeyAge, negative: never
	Argon         *argon2id.Params // default DefaultParams
}

// Service is safe for concurrent use.
type Service struct {
	records    store.Records
	now        func() time.Time
	requireMFA bool
	issuer     string
	lifetime   time.Duration
	keyAge     time.Duration
	shared     bool

	sealer    *sealer
	passwords *passwords
	attempts  slowdown
	keyring   keyring
	known     known
	usage     usage
	issuers   []*issuer
	onUser    func()
	hasSites  func(tx store.Tx, customerID string) (bool, error) // may be nil
}

// maxSession is how long a session may be renewed before its user has to sign
// in again.
const maxSession = 30 * 24 * time.Hour

// New opens the service over its records, and makes the first signing key in an
// empty store.
func New(ctx context.Context, o Options) (*Service, error) {
	if o.Records == nil || o.Now == nil {
		return nil, errors.New("auth requires records and a clock")
	}
	s := &Service{records: o.Records, now: o.Now, requireMFA: o.RequireMFA, issuer: o.Issuer, lifetime: o.TokenLifetime, keyAge: cmp.Or(o.SigningKeyAge, DefaultSigningKeyAge), shared: o.Shared, onUser: o.OnUser, hasSites: o.HasSites}
	if s.issuer == "" {
		s.issuer = "Sunloop"
	}
	if s.lifetime == 0 {
		s.lifetime = api.TokenLifetime
	}
	params := DefaultParams()
	if o.Argon != nil {
		params = *o.Argon
	}
	var err error
	if s.passwords, err = newPasswords(params); err != nil {
		return nil, err
	}
	if s.sealer, err = newSealer(o.Key); err != nil {
		return nil, err
	}
	s.attempts = new(attempts)
	if o.Shared {
		s.attempts = &sharedAttempts{o.Records, s.sealer.hash}
	}
	for _, p := range o.Providers {
		i, err := newIssuer(p, o.Now)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(s.issuers, func(other *issuer) bool { return other.Name == p.Name }) {
			return nil, fmt.Errorf("two identity providers have the name %q", p.Name)
		}
		s.issuers = append(s.issuers, i)
	}
	if err := s.loadKeyring(ctx); err != nil {
		return nil, fmt.Errorf("open the signing keys: %w", err)
	}
	return s, nil
}

// Authenticate returns the principal of a credential: an API key or a user's
// token.
func (s *Service) Authenticate(ctx context.Context, credential string) (Principal, error) {
	now := s.now()
	digest := sha256.Sum256([]byte(credential))
	if p, ok := s.known.get(digest, now); ok {
		return p, nil
	}
	generation := s.known.generation()
	var p Principal
	var until time.Time
	var err error
	if looksLikeKey(credential) {
		p, until, err = s.authenticateKey(ctx, credential, now)
	} else {
		p, until, err = s.authenticateToken(ctx, credential, now)
	}
	if err != nil {
		return Principal{}, err
	}
	s.known.put(digest, p, now, until, generation)
	return p, nil
}

// Sweep removes challenges, sessions and signing keys that have ended, and
// rotates a signing key that is old. A service calls it every hour or so.
func (s *Service) Sweep(ctx context.Context) error {
	age := s.keyAge
	if age < 0 {
		age = math.MaxInt64
	}
	if err := s.rotate(ctx, age); err != nil {
		return err
	}
	now := s.now()
	if err := s.attempts.sweep(ctx, now); err != nil {
		return err
	}
	return s.records.Update(ctx, func(tx store.Tx) error {
		ended, _, err := challenges.List(tx, store.Query{})
		if err != nil {
			return err
		}
		for _, c := range ended {
			if !now.Before(c.Expires) {
				if err := challenges.Delete(tx, challenges.Key(c)); err != nil {
					return err
				}
			}
		}
		old, _, err := sessions.List(tx, store.Query{})
		if err != nil {
			return err
		}
		for _, e := range old {
			if !now.Before(e.Expires) {
				if err := sessions.Delete(tx, sessions.Key(e)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// tooMany is the refusal of a caller who must wait.
func tooMany(wait time.Duration) error {
	e := *api.ErrTooManyRequests
	e.RetryAfter = int((wait + time.Second - 1) / time.Second)
	return &e
}

// Tables is all that this package keeps in records, for a check of the data.
func Tables() []store.Checked {
	return []store.Checked{
		signingKeys,
		accounts,
		sessions,
		apiKeys,
		usages,
		joinCodes,
		challenges,
		sharedMarks,
		keptAttempts,
		setupNonces,
	}
}
