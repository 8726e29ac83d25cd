package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"github.com/oklog/ulid/v2"
)

// A plain key is keyPrefix, 26 characters of id, 52 of 256 random bits and 8 of
// CRC-32 over all of these: a mistyped key is rejected without a read of the
// store, and a secret scanner can recognise a key.
const (
	keyPrefix    = "opa_prod_"
	keyIDLen     = ulid.EncodedSize
	keySecretLen = 52
	keyCheckLen  = 8
	keyLen       = len(keyPrefix) + keyIDLen + keySecretLen + keyCheckLen
)

// apiKey is a key as stored: its digest, never itself.
type apiKey struct {
	ID        string    `json:"id" limit:"id"`
	Name      string    `json:"name" limit:"name"`
	Digest    []byte    `json:"digest" limit:"64"` // SHA-256: the secret has 256 random bits
	Role      string    `json:"role" limit:"word"`
	Customers []string  `json:"customers" limit:"1000 id"`
	Sites     []string  `json:"sites" limit:"1000 id"`
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by,omitempty" limit:"name cut"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
	Replaces  string    `json:"replaces,omitempty" limit:"id"` // id of the key that was rotated
	Origin    string    `json:"origin,omitempty" limit:"id"`   // id of the first key of those that were rotated
	Rate      int       `json:"rate,omitempty"`                // accepted requests a minute; 0: by its role, noRate: without a limit
	ChangedAt time.Time `json:"changed_at,omitzero"`           // when a site was removed from its scope
}

var apiKeys = store.Table[apiKey]{
	Bucket: "auth/keys",
	Key:    func(k apiKey) []byte { return store.Key(k.ID) },
}

// APIKey describes a key without the key.
type APIKey struct {
	ID        string
	Name      string
	Role      string
	Customers []string // ids, or api.Every
	Sites     []string // ids, or api.Every
	CreatedAt time.Time
	CreatedBy string
	ExpiresAt time.Time // zero: never
	RevokedAt time.Time // zero: not revoked
	Replaces  string    // id of the key in whose place it was made
	State     string    // one of [api.KeyStates] when it was looked at
	UpdatedAt time.Time // when it was changed or expired last
	Rate      Rate
	Usage     Usage
}

// Rate is how many requests a minute are accepted of a key.
type Rate struct {
	Class   string // a rate class of package api
	Minutes int    // accepted requests a minute; of [api.RateCustom]
}

// noRate is the stored rate of a key whose requests are not limited.
const noRate = -1

// rate is that of a key.
func (k apiKey) rate() Rate {
	switch {
	case k.Rate > 0:
		return Rate{Class: api.RateCustom, Minutes: k.Rate}
	case k.Rate == noRate || k.Role == api.RoleCollector:
		return Rate{Class: api.RateNone}
	}
	return Rate{Class: api.RateDefault}
}

func (k apiKey) described(now time.Time) APIKey {
	d := APIKey{k.ID, k.Name, k.Role, k.Customers, k.Sites, k.CreatedAt, k.CreatedBy, k.ExpiresAt, k.RevokedAt, k.Replaces, api.KeyGood, k.changed(now), k.rate(), Usage{}}
	switch {
	case !k.RevokedAt.IsZero():
		d.State = api.KeyRevoked
	case k.expired(now):
		d.State = api.KeyExpired
	}
	return d
}

// Scope is what the key opens.
func (k APIKey) Scope() api.Scope {
	return api.Scope{Customers: k.Customers, Sites: k.Sites, Actor: k.Name, ActorID: k.ID, Role: k.Role}
}

// Record is the key as administrators read one.
func (k APIKey) Record() api.KeyRecord {
	r := api.KeyRecord{APIKeyID: k.ID, Name: k.Name, RoleID: k.Role, PermittedSiteIDs: k.Sites, CustomerIDs: k.Customers, State: k.State,
		CreatedAt: api.At(k.CreatedAt), CreatedBy: k.CreatedBy, Replaces: k.Replaces, UpdatedAtMS: k.UpdatedAt.UnixMilli(),
		RateClass: k.Rate.Class, RatePerMinute: k.Rate.Minutes, Usage: k.Usage.record()}
	if k.Rate.Class == api.RateDefault {
		r.RatePerMinute = api.RequestsPerMinute
	}
	if !k.ExpiresAt.IsZero() {
		r.ExpiresAt = api.At(k.ExpiresAt)
	}
	if !k.RevokedAt.IsZero() {
		r.RevokedAt = api.At(k.RevokedAt)
	}
	return r
}

func (k apiKey) expired(now time.Time) bool { return !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt) }

// NewKey describes a key to create. It names at least one site or customer; if
// the other list is empty it means all. api.Every means all.
type NewKey struct {
	Name      string
	Role      string // default api.RoleOperator
	Customers []string
	Sites     []string
	ExpiresAt time.Time // zero: never
	CreatedBy string
	Rate      *int // accepted requests a minute, 0 for no limit; nil: by the role
}

// CreateKey creates a key for the operator and returns it in plain text, which
// is not stored.
func (s *Service) CreateKey(ctx context.Context, n NewKey) (plain string, key APIKey, err error) {
	return s.As(api.Unlimited("")).CreateKey(ctx, n)
}

// CreateKey creates a key and returns it in plain text, which is not stored. If
// the list of customers or sites is omitted, it is the administrator's own.
func (m Administrator) CreateKey(ctx context.Context, n NewKey) (plain string, key APIKey, err error) {
	if n.Role == "" {
		n.Role = api.RoleOperator
	}
	switch {
	case RoleName(n.Role) == "":
		return "", key, errRole(Roles())
	case len(n.Customers) == 0 && len(n.Sites) == 0:
		return "", key, api.InvalidField("permitted_site_ids", "name the sites or customers that the key opens, or *")
	case !n.ExpiresAt.IsZero() && !n.ExpiresAt.After(m.now()):
		return "", key, errPastEnd
	}
	rate, err := m.newRate(n)
	if err != nil {
		return "", key, err
	}
	if err := errors.Join(checkIDs("customer_ids", n.Customers), checkIDs("permitted_site_ids", n.Sites)); err != nil {
		return "", key, err
	}
	if len(n.Customers) == 0 {
		n.Customers = m.by.Customers
	}
	if len(n.Sites) == 0 {
		n.Sites = m.by.Sites
	}
	if !m.sees(n.Customers, n.Sites, n.Role) {
		return "", key, errBeyond
	}
	k := apiKey{Name: n.Name, Role: n.Role, Customers: slices.Clone(n.Customers), Sites: slices.Clone(n.Sites),
		CreatedAt: m.now().UTC(), CreatedBy: n.CreatedBy, ExpiresAt: n.ExpiresAt, Rate: rate}
	if !n.ExpiresAt.IsZero() {
		k.ExpiresAt = n.ExpiresAt.UTC()
	}
	if k.ID, plain, k.Digest, err = m.newPlainKey(); err != nil {
		return "", key, err
	}
	err = m.records.Update(ctx, func(tx store.Tx) error {
		if err := m.checkNewCustomers(tx, k.Customers); err != nil {
			return err
		}
		if err := m.roomForKey(tx, k.Customers, api.MaxKeys); err != nil {
			return err
		}
		return apiKeys.Insert(tx, k)
	})
	if err != nil {
		return "", key, fmt.Errorf("store an API key: %w", err)
	}
	return plain, k.described(m.now()), nil
}

// newRate is the stored rate of a new key. More than the contract's is given by
// administrators of everything only, except to collectors: their requests are few and
// each is bounded.
func (m Administrator) newRate(n NewKey) (int, error) {
	switch {
	case n.Rate == nil:
		return 0, nil
	case *n.Rate < 0 || *n.Rate > api.MaxKeyRate:
		return 0, api.InvalidField("rate_per_minute", fmt.Sprintf("a whole number up to %d; 0 is no limit", api.MaxKeyRate))
	case (*n.Rate == 0 || *n.Rate > api.RequestsPerMinute) && n.Role != api.RoleCollector && !m.by.Unlimited():
		return 0, errBeyond
	case *n.Rate == 0:
		return noRate, nil
	}
	return *n.Rate, nil
}

// endedKeyAge is how long a key that was revoked or has expired is kept.
const endedKeyAge = 365 * 24 * time.Hour

// roomForKey refuses one more key of customers that have most good ones. It deletes their keys that ended before endedKeyAge, and of the others
// that have ended the oldest above [api.MaxKeys].
func (m Administrator) roomForKey(tx store.Tx, customers []string, most int) error {
	now := m.now()
	ended := map[string][]apiKey{}
	err := roomFor(tx, apiKeys, customers, most, "API keys", func(k apiKey) []string {
		if k.RevokedAt.IsZero() && !k.expired(now) {
			return k.Customers
		}
		for _, id := range customers {
			if slices.Contains(k.Customers, id) {
				ended[id] = append(ended[id], k)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, keys := range ended {
		slices.SortFunc(keys, func(a, b apiKey) int { return b.end().Compare(a.end()) })
		for i, k := range keys {
			if i < api.MaxKeys && now.Sub(k.end()) < endedKeyAge {
				continue
			}
			if err := errors.Join(apiKeys.Delete(tx, apiKeys.Key(k)), usages.Delete(tx, store.Key(k.ID))); err != nil {
				return fmt.Errorf("delete API key %s: %w", k.ID, err)
			}
		}
	}
	return nil
}

// end is when a key ended that is no longer good.
func (k apiKey) end() time.Time {
	if k.RevokedAt.IsZero() || k.expired(k.RevokedAt) {
		return k.ExpiresAt
	}
	return k.RevokedAt
}

var (
	errPastEnd = api.InvalidField("expires_at", "lies in the past")
	errNoKey   = api.UnknownID(api.ErrAPIKeyNotFound.Message)
)

func everyIfNone(ids []string) []string {
	if len(ids) == 0 {
		return []string{api.Every}
	}
	return slices.Clone(ids)
}

// changed is when a key was made or changed last; a key that expired changed then.
func (k apiKey) changed(now time.Time) time.Time {
	at := later(later(k.CreatedAt, k.RevokedAt), k.ChangedAt)
	if k.expired(now) {
		at = later(at, k.ExpiresAt)
	}
	return at
}

// KeyFilter narrows a list of API keys; an empty field selects all.
type KeyFilter struct {
	CustomerID  string // whose data the key grants access to
	Role, State string
}

// Keys returns the keys that the administrator may see and the filter selects, oldest first,
// also expired and revoked ones.
func (m Administrator) Keys(ctx context.Context, f KeyFilter, p api.Page) (keys []APIKey, next string, err error) {
	err = m.records.View(ctx, func(tx store.Tx) error {
		keys = nil
		all, _, err := apiKeys.List(tx, store.Query{})
		for _, k := range all {
			if m.sees(k.Customers, k.Sites, k.Role) && (f.CustomerID == "" || k.scope().CanCustomer(f.CustomerID)) && (f.Role == "" || f.Role == k.Role) && p.Since(k.changed(m.now())) {
				d := k.described(m.now())
				if f.State != "" && f.State != d.State {
					continue
				}
				var failed error
				if d.Usage, failed = m.usageOf(tx, k.ID); failed != nil {
					return failed
				}
				keys = append(keys, d)
			}
		}
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return part(keys, func(k APIKey) string { return k.ID }, p)
}

func (k apiKey) scope() api.Scope { return api.Scope{Customers: k.Customers, Sites: k.Sites} }

// findOwn is the key, if the administrator may see it.
func (m Administrator) findOwn(tx store.Tx, id string) (apiKey, error) {
	k, err := apiKeys.Get(tx, store.Key(id))
	if errors.Is(err, store.ErrNotFound) || err == nil && !m.sees(k.Customers, k.Sites, k.Role) {
		return apiKey{}, errNoKey
	}
	return k, err
}

// Key is one that the administrator may see; 404 for an unknown id.
func (m Administrator) Key(ctx context.Context, id string) (key APIKey, err error) {
	err = m.records.View(ctx, func(tx store.Tx) error {
		k, err := m.findOwn(tx, id)
		if err != nil {
			return err
		}
		key = k.described(m.now())
		key.Usage, err = m.usageOf(tx, id)
		return err
	})
	return key, err
}

// RevokeKey ends a key for good and answers how it was and is; 404 for an
// unknown id.
func (m Administrator) RevokeKey(ctx context.Context, id string) (before, after APIKey, err error) {
	now := m.now().UTC()
	defer m.known.invalidate()
	err = m.records.Update(ctx, func(tx store.Tx) error {
		k, err := m.findOwn(tx, id)
		if err != nil {
			return err
		}
		before = k.described(now)
		if k.RevokedAt.IsZero() {
			k.RevokedAt = now
			err = apiKeys.Put(tx, k)
		}
		after = k.described(now)
		return err
	})
	return before, after, err
}

// Rotation describes how a key is replaced.
type Rotation struct {
	Overlap   time.Duration // for which the former key opens yet
	ExpiresAt time.Time     // of the new one; zero: it lives as long as the former was to, or without end
	By        string        // who does it
}

// Rotated is the result of a rotation.
type Rotated struct {
	Plain         string // the new key, returned only here
	Key           APIKey // the new one
	Before, After APIKey // the former one
}

// RotateKey creates a key like the named one to replace it; the former key ends
// after the overlap. The error is 404 for an unknown id, and a conflict for a
// key that has ended. If the former key remains good for a time, it is also a
// conflict where a customer would have more than [api.MaxKeys] good keys.
func (m Administrator) RotateKey(ctx context.Context, id string, r Rotation) (done Rotated, err error) {
	now := m.now().UTC()
	if !r.ExpiresAt.IsZero() && !r.ExpiresAt.After(now) {
		return Rotated{}, errPastEnd
	}
	fresh := apiKey{CreatedAt: now, CreatedBy: r.By, Replaces: id, ExpiresAt: r.ExpiresAt}
	if fresh.ID, done.Plain, fresh.Digest, err = m.newPlainKey(); err != nil {
		return Rotated{}, err
	}
	defer m.known.invalidate()
	err = m.records.Update(ctx, func(tx store.Tx) error {
		old, err := m.findOwn(tx, id)
		if err != nil {
			return err
		}
		if done.Before = old.described(now); done.Before.State != api.KeyGood {
			return api.InvalidTransition("API key %s is %s; it cannot be rotated", id, done.Before.State)
		}
		k := fresh
		k.Name, k.Role, k.Customers, k.Sites, k.Rate, k.Origin = old.Name, old.Role, old.Customers, old.Sites, old.Rate, cmp.Or(old.Origin, old.ID)
		if k.ExpiresAt.IsZero() && !old.ExpiresAt.IsZero() {
			k.ExpiresAt = now.Add(old.ExpiresAt.Sub(old.CreatedAt))
		}
		if end := now.Add(r.Overlap); old.ExpiresAt.IsZero() || end.Before(old.ExpiresAt) {
			old.ExpiresAt = end
		}
		done.Key, done.After = k.described(now), old.described(now)
		if err := apiKeys.Put(tx, old); err != nil {
			return err
		}
		most := api.MaxKeys
		if old.expired(now) {
			most = math.MaxInt // the new key is not one more
		}
		if err := m.roomForKey(tx, k.Customers, most); err != nil {
			return err
		}
		return apiKeys.Insert(tx, k)
	})
	if err != nil {
		return Rotated{}, err
	}
	return done, nil
}

// KeyInfo describes a key that is good or has expired; otherwise [api.ErrAPIKeyNotFound].
func (s *Service) KeyInfo(ctx context.Context, plain string) (api.APIKeyInfo, error) {
	k, err := s.findKey(ctx, plain, time.Time{})
	if err != nil {
		return api.APIKeyInfo{}, err
	}
	info := api.APIKeyInfo{Success: true, APIKeyID: k.ID, PermittedSiteIDs: k.Sites, IsExpired: k.expired(s.now()), CreatedAt: api.At(k.CreatedAt)}
	if !k.ExpiresAt.IsZero() {
		info.ExpiresAt = api.At(k.ExpiresAt)
	}
	return info, nil
}

// ValidateKey reports whether a valid key has access to the site.
func (s *Service) ValidateKey(ctx context.Context, plain, siteID string) (api.ValidateAPIKeyResponse, error) {
	k, err := s.findKey(ctx, plain, s.now())
	if err != nil {
		return api.ValidateAPIKeyResponse{}, err
	}
	return api.ValidateAPIKeyResponse{Success: true, Valid: api.Scope{Sites: k.Sites}.CanSite(siteID), PermittedSiteIDs: k.Sites}, nil
}

func (s *Service) authenticateKey(ctx context.Context, plain string, now time.Time) (Principal, time.Time, error) {
	k, err := s.findKey(ctx, plain, now)
	if errors.Is(err, api.ErrAPIKeyNotFound) {
		err = api.ErrUnauthorized
	}
	if err != nil {
		return Principal{}, time.Time{}, err
	}
	return Principal{Kind: KindKey, ID: k.ID, Name: k.Name, Role: k.Role, Customers: k.Customers, Sites: k.Sites, Rate: k.rate(), Origin: k.Origin}, k.ExpiresAt, nil
}

// findKey returns the key unless it is revoked or has expired at now; at the zero time no
// key has expired.
func (s *Service) findKey(ctx context.Context, plain string, now time.Time) (apiKey, error) {
	id, ok := keyID(plain)
	if !ok {
		return apiKey{}, api.ErrAPIKeyNotFound
	}
	var k apiKey
	err := s.records.View(ctx, func(tx store.Tx) (err error) {
		k, err = apiKeys.Get(tx, store.Key(id))
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return apiKey{}, api.ErrAPIKeyNotFound
	}
	if err != nil {
		return apiKey{}, fmt.Errorf("look up an API key: %w", err)
	}
	digest := sha256.Sum256([]byte(plain))
	if subtle.ConstantTimeCompare(digest[:], k.Digest) != 1 || k.expired(now) || !k.RevokedAt.IsZero() {
		return apiKey{}, api.ErrAPIKeyNotFound
	}
	return k, nil
}

func looksLikeKey(credential string) bool { return strings.HasPrefix(credential, "opa_") }

func (s *Service) newPlainKey() (id, plain string, digest []byte, err error) {
	u := s.newULID()
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return "", "", nil, err
	}
	body := keyPrefix + strings.ToLower(u) + strings.ToLower(base32Text.EncodeToString(secret))
	plain = body + checkOf(body)
	sum := sha256.Sum256([]byte(plain))
	return "key_" + u, plain, sum[:], nil
}

func checkOf(body string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(body))) }

// keyID is the id that a well-formed key in plain names.
func keyID(plain string) (string, bool) {
	if len(plain) != keyLen || !strings.HasPrefix(plain, keyPrefix) {
		return "", false
	}
	body, check := plain[:keyLen-keyCheckLen], plain[keyLen-keyCheckLen:]
	if check != checkOf(body) {
		return "", false
	}
	return "key_" + strings.ToUpper(plain[len(keyPrefix):len(keyPrefix)+keyIDLen]), true
}
