package auth

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"github.com/golang-jwt/jwt/v5"
)

// claims of a token: those of the specification and the registered ones.
type claims struct {
	UserID      string   `json:"user_id"`
	Username    string   `json:"username"`
	RoleID      string   `json:"role_id"`
	CustomerIDs []string `json:"customer_ids"`
	GroupID     string   `json:"group_id,omitempty"`
	SkinID      string   `json:"skin_id,omitempty"`
	SessionID   string   `json:"sid"`
	jwt.RegisteredClaims
}

// audience of the tokens, so that another service's token under a shared
// issuer name is none of ours.
const audience = "sunloop"

// signingKey is a key as stored; the private half is sealed.
type signingKey struct {
	ID        string    `json:"id"`
	Sealed    []byte    `json:"sealed"`
	CreatedAt time.Time `json:"created_at"`
	RetiresAt time.Time `json:"retires_at,omitzero"` // zero: it signs
}

var signingKeys = store.Table[signingKey]{
	Bucket: "auth/signing",
	Key:    func(k signingKey) []byte { return store.Key(k.ID) },
}

// keyring holds the keys that are valid, opened.
type keyring struct {
	mu      sync.RWMutex
	signing string // id
	keys    map[string]ed25519.PrivateKey
	loaded  time.Time
}

// reloadAfter bounds how often tokens with unknown keys make the service look
// into the store for a key that another process made.
const reloadAfter = 10 * time.Second

// loadKeyring reads the keys, and makes one in an empty store.
func (s *Service) loadKeyring(ctx context.Context) error {
	var stored []signingKey
	read := func(tx store.Tx) (err error) {
		stored, _, err = signingKeys.List(tx, store.Query{})
		return err
	}
	if err := s.records.View(ctx, read); err != nil {
		return err
	}
	if len(stored) == 0 {
		err := s.records.Update(ctx, func(tx store.Tx) error {
			if err := read(tx); err != nil || len(stored) > 0 {
				return err
			}
			return s.addSigningKey(tx)
		})
		if err != nil {
			return err
		}
		if err := s.records.View(ctx, read); err != nil {
			return err
		}
	}
	now := s.now()
	ring := map[string]ed25519.PrivateKey{}
	signing := ""
	for _, k := range stored {
		if !k.RetiresAt.IsZero() && !now.Before(k.RetiresAt) {
			continue
		}
		seed, err := s.sealer.open(k.Sealed, "signing/"+k.ID)
		if err != nil {
			return err
		}
		ring[k.ID] = ed25519.NewKeyFromSeed(seed)
		if k.RetiresAt.IsZero() {
			signing = k.ID
		}
	}
	s.keyring.mu.Lock()
	defer s.keyring.mu.Unlock()
	s.keyring.keys, s.keyring.signing, s.keyring.loaded = ring, signing, now
	return nil
}

func (s *Service) addSigningKey(tx store.Tx) error {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	k := signingKey{ID: s.newID("sig"), CreatedAt: s.now().UTC()}
	k.Sealed = s.sealer.seal(private.Seed(), "signing/"+k.ID)
	return signingKeys.Insert(tx, k)
}

// RotateSigningKey makes a new key; tokens under the old one stay good until
// they end by themselves.
func (s *Service) RotateSigningKey(ctx context.Context) error {
	now := s.now().UTC()
	err := s.records.Update(ctx, func(tx store.Tx) error {
		stored, _, err := signingKeys.List(tx, store.Query{})
		if err != nil {
			return err
		}
		for _, k := range stored {
			switch {
			case k.RetiresAt.IsZero():
				// Other processes may sign with it until they look again.
				k.RetiresAt = now.Add(s.lifetime + time.Minute)
				err = signingKeys.Put(tx, k)
			case !now.Before(k.RetiresAt):
				err = signingKeys.Delete(tx, signingKeys.Key(k))
			}
			if err != nil {
				return err
			}
		}
		return s.addSigningKey(tx)
	})
	if err != nil {
		return fmt.Errorf("rotate the signing key: %w", err)
	}
	s.known.forget()
	return s.loadKeyring(ctx)
}

// sign makes the token of a session.
func (s *Service) sign(a account, e session, now time.Time) (string, error) {
	s.keyring.mu.RLock()
	kid := s.keyring.signing
	key := s.keyring.keys[kid]
	s.keyring.mu.RUnlock()
	if key == nil {
		return "", errors.New("there is no signing key")
	}
	t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims{
		UserID: a.ID, Username: a.Username, RoleID: a.Role, CustomerIDs: a.Customers, GroupID: a.GroupID, SkinID: a.SkinID, SessionID: e.ID,
		RegisteredClaims: jwt.RegisteredClaims{
			ID: e.TokenID, Issuer: s.issuer, Audience: jwt.ClaimStrings{audience}, Subject: a.ID,
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(s.lifetime)),
		},
	})
	t.Header["kid"] = kid
	return t.SignedString(key)
}

// parse checks a token after RFC 8725: one algorithm, our keys only, issuer,
// audience, type and end. Other headers (jku, jwk, x5u) are not looked at.
func (s *Service) parse(ctx context.Context, token string, now time.Time) (claims, error) {
	var c claims
	_, err := jwt.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		kid, _ := t.Header["kid"].(string)
		return s.verificationKey(ctx, kid, now)
	},
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}), jwt.WithIssuer(s.issuer), jwt.WithAudience(audience),
		jwt.WithExpirationRequired(), jwt.WithTimeFunc(func() time.Time { return now }), jwt.WithStrictDecoding())
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return c, err
	case errors.Is(err, jwt.ErrTokenExpired) && !errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return c, api.ErrTokenExpired
	case err != nil, c.SessionID == "" || c.ID == "" || c.UserID == "":
		return c, api.ErrInvalidToken
	}
	return c, nil
}

func (s *Service) verificationKey(ctx context.Context, kid string, now time.Time) (ed25519.PublicKey, error) {
	for again := false; ; again = true {
		s.keyring.mu.RLock()
		key, loaded := s.keyring.keys[kid], s.keyring.loaded
		s.keyring.mu.RUnlock()
		if key != nil {
			return key.Public().(ed25519.PublicKey), nil
		}
		if again || now.Sub(loaded) < reloadAfter {
			return nil, errors.New("unknown key id")
		}
		if err := s.loadKeyring(ctx); err != nil {
			return nil, err
		}
	}
}
