package auth

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// signingKey is a key as stored; the private half is sealed.
type signingKey struct {
	ID        string    `json:"id" limit:"id"`
	Sealed    []byte    `json:"sealed" limit:"4096"`
	CreatedAt time.Time `json:"created_at"`
	RetiresAt time.Time `json:"retires_at,omitzero"` // zero: it signs
}

var signingKeys = store.Table[signingKey]{
	Bucket: "auth/signing",
	Key:    func(k signingKey) []byte { return store.Key(k.ID) },
}

func (k signingKey) retired(now time.Time) bool {
	return !k.RetiresAt.IsZero() && !now.Before(k.RetiresAt)
}

// keyring holds the keys that were valid when it was loaded, opened.
type keyring struct {
	mu      sync.RWMutex
	signing string // id
	keys    map[string]ringKey
	loaded  time.Time
}

type ringKey struct {
	ed25519.PrivateKey
	stored signingKey
}

const (
	// reloadAfter bounds how often tokens with unknown keys cause a read of
	// the store for a key made by another process. It is also how long a
	// process may sign with a key after another process has rotated it.
	reloadAfter = 10 * time.Second
	// retireAfter is how long a key that was rotated is kept beyond the end of
	// the last token known then.
	retireAfter = time.Minute
	// ripeAfter is how old a key is before replicas sign with it: by then each has
	// looked for new keys, also one whose clock is some seconds off.
	ripeAfter = 3 * reloadAfter
)

// DefaultSigningKeyAge is the age at which a signing key is rotated.
const DefaultSigningKeyAge = 90 * 24 * time.Hour

// SigningKey is a key that tokens are signed with, without its private half.
type SigningKey struct {
	ID        string
	Public    ed25519.PublicKey
	CreatedAt time.Time
	RetiresAt time.Time // from when no token of it is good; zero: it signs
}

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
	ring := map[string]ringKey{}
	signing := ""
	for _, k := range stored {
		if k.retired(now) {
			continue
		}
		seed, err := s.sealer.open(k.Sealed, "signing/"+k.ID)
		if err != nil {
			return err
		}
		ring[k.ID] = ringKey{ed25519.NewKeyFromSeed(seed), k}
		if k.RetiresAt.IsZero() {
			signing = k.ID
		}
	}
	s.keyring.mu.Lock()
	defer s.keyring.mu.Unlock()
	s.keyring.keys, s.keyring.signing, s.keyring.loaded = ring, signing, now
	return nil
}

// freshKeyring reloads a ring in which a rotation by another process may be
// missing.
func (s *Service) freshKeyring(ctx context.Context, now time.Time) error {
	s.keyring.mu.RLock()
	old := now.Sub(s.keyring.loaded) >= reloadAfter
	s.keyring.mu.RUnlock()
	if !old {
		return nil
	}
	return s.loadKeyring(ctx)
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

// RotateSigningKey makes a new key. Tokens signed with the old one stay valid
// until they expire.
func (s *Service) RotateSigningKey(ctx context.Context) error { return s.rotate(ctx, 0) }

// rotate rotates a signing key of the age or older, and drops those that are
// of no use any more.
func (s *Service) rotate(ctx context.Context, age time.Duration) error {
	now := s.now().UTC()
	changed := false
	err := s.records.Update(ctx, func(tx store.Tx) error {
		changed = false
		stored, _, err := signingKeys.List(tx, store.Query{})
		if err != nil {
			return err
		}
		for _, k := range stored {
			switch {
			case k.retired(now):
				err = signingKeys.Delete(tx, signingKeys.Key(k))
			case k.RetiresAt.IsZero() && now.Sub(k.CreatedAt) >= age:
				if k.RetiresAt, err = s.lastToken(tx, now); err == nil {
					err = signingKeys.Put(tx, k)
				}
				if err == nil {
					err = s.addSigningKey(tx)
				}
			default:
				continue
			}
			if err != nil {
				return err
			}
			changed = true
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("rotate the signing key: %w", err)
	}
	if !changed {
		return nil
	}
	s.known.invalidate()
	return s.loadKeyring(ctx)
}

// lastToken returns the time by which all tokens signed until now have expired,
// by the sessions, also if their lifetime was longer than the current one.
// Other processes may still sign for a while.
func (s *Service) lastToken(tx store.Tx, now time.Time) (time.Time, error) {
	last := now.Add(s.lifetime)
	all, _, err := sessions.List(tx, store.Query{})
	for _, e := range all {
		if e.Expires.After(last) {
			last = e.Expires
		}
	}
	return last.Add(retireAfter), err
}

// currentKey is the key that signs.
func (s *Service) currentKey(ctx context.Context, now time.Time) (kid string, key ed25519.PrivateKey, err error) {
	if err := s.freshKeyring(ctx, now); err != nil {
		return "", nil, err
	}
	s.keyring.mu.RLock()
	defer s.keyring.mu.RUnlock()
	kid = s.keyring.signing
	if s.shared {
		kid = s.keyring.activeID(now)
	}
	k, ok := s.keyring.keys[kid]
	if !ok {
		return "", nil, errors.New("there is no signing key")
	}
	return kid, k.PrivateKey, nil
}

// activeID returns the newest key that all replicas have read, or the oldest if no
// key is old enough.
func (r *keyring) activeID(now time.Time) (kid string) {
	var at time.Time
	young := true
	for id, k := range r.keys {
		made := k.stored.CreatedAt
		ripe := now.Sub(made) >= ripeAfter
		if kid == "" || ripe && (young || made.After(at)) || !ripe && young && made.Before(at) {
			kid, at, young = id, made, !ripe
		}
	}
	return kid
}

func (s *Service) verificationKey(ctx context.Context, kid string, now time.Time) (ed25519.PublicKey, error) {
	for again := false; ; again = true {
		s.keyring.mu.RLock()
		key, ok := s.keyring.keys[kid]
		loaded := s.keyring.loaded
		s.keyring.mu.RUnlock()
		switch {
		case ok && key.stored.retired(now):
			return nil, errors.New("a key that has retired")
		case ok:
			return key.Public().(ed25519.PublicKey), nil
		case again || now.Sub(loaded) < reloadAfter:
			return nil, errors.New("unknown key id")
		}
		if err := s.loadKeyring(ctx); err != nil {
			return nil, err
		}
	}
}

// SigningKeys are the keys whose tokens are good, oldest first.
func (s *Service) SigningKeys(ctx context.Context) ([]SigningKey, error) {
	now := s.now()
	if err := s.freshKeyring(ctx, now); err != nil {
		return nil, err
	}
	s.keyring.mu.RLock()
	defer s.keyring.mu.RUnlock()
	var keys []SigningKey
	for _, k := range s.keyring.keys {
		if !k.stored.retired(now) {
			keys = append(keys, SigningKey{k.stored.ID, k.Public().(ed25519.PublicKey), k.stored.CreatedAt, k.stored.RetiresAt})
		}
	}
	slices.SortFunc(keys, func(a, b SigningKey) int { return cmp.Compare(a.ID, b.ID) })
	return keys, nil
}

// KeySet is the public halves of the signing keys after RFC 8037, for those
// who check tokens themselves.
func (s *Service) KeySet(ctx context.Context) (api.KeySet, error) {
	keys, err := s.SigningKeys(ctx)
	set := api.KeySet{Keys: []api.PublicKey{}}
	for _, k := range keys {
		set.Keys = append(set.Keys, api.PublicKey{KeyType: "OKP", Curve: "Ed25519", X: base64.RawURLEncoding.EncodeToString(k.Public), KeyID: k.ID, Use: "sig", Algorithm: "EdDSA"})
	}
	return set, err
}
