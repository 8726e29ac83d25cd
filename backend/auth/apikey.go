package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"github.com/oklog/ulid/v2"
)

// A key in plain is keyPrefix, 26 characters of id, 52 of 256 random bits and
// 8 of CRC-32 over all before: a mistyped key is refused without a look into
// the store, and a secret scanner can tell a key from noise.
const (
	keyPrefix    = "opa_prod_"
	keyIDLen     = ulid.EncodedSize
	keySecretLen = 52
	keyCheckLen  = 8
	keyLen       = len(keyPrefix) + keyIDLen + keySecretLen + keyCheckLen
)

// apiKey is a key as stored: its digest, never itself.
type apiKey struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Digest    []byte    `json:"digest"` // SHA-256: the secret has 256 random bits
	Role      string    `json:"role"`
	Customers []string  `json:"customers"`
	Sites     []string  `json:"sites"`
	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by,omitempty"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
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
}

func (k apiKey) described() APIKey {
	return APIKey{k.ID, k.Name, k.Role, k.Customers, k.Sites, k.CreatedAt, k.CreatedBy, k.ExpiresAt, k.RevokedAt}
}

// NewKey is what a key is made of. At least one site or customer is named; of
// the other list, none given means every one. api.Every stands for all.
type NewKey struct {
	Name      string
	Role      string // default api.RoleOperator
	Customers []string
	Sites     []string
	ExpiresAt time.Time // zero: never
	CreatedBy string
}

// CreateKey makes a key and answers it in plain, this once.
func (s *Service) CreateKey(ctx context.Context, n NewKey) (plain string, key APIKey, err error) {
	if n.Role == "" {
		n.Role = api.RoleOperator
	}
	switch {
	case RoleName(n.Role) == "":
		return "", key, errRole()
	case len(n.Customers) == 0 && len(n.Sites) == 0:
		return "", key, api.InvalidField("sites", "name the sites or customers that the key opens, or *")
	case !n.ExpiresAt.IsZero() && !n.ExpiresAt.After(s.now()):
		return "", key, api.InvalidField("expires_at", "lies in the past")
	}
	id, plain, err := s.newPlainKey()
	if err != nil {
		return "", key, err
	}
	digest := sha256.Sum256([]byte(plain))
	k := apiKey{ID: id, Name: n.Name, Digest: digest[:], Role: n.Role, Customers: everyIfNone(n.Customers), Sites: everyIfNone(n.Sites),
		CreatedAt: s.now().UTC(), CreatedBy: n.CreatedBy, ExpiresAt: n.ExpiresAt.UTC()}
	if n.ExpiresAt.IsZero() {
		k.ExpiresAt = time.Time{}
	}
	err = s.records.Update(ctx, func(tx store.Tx) error { return apiKeys.Insert(tx, k) })
	if err != nil {
		return "", key, fmt.Errorf("store an API key: %w", err)
	}
	return plain, k.described(), nil
}

func everyIfNone(ids []string) []string {
	if len(ids) == 0 {
		return []string{api.Every}
	}
	return slices.Clone(ids)
}

// Keys are all keys, oldest first, also those revoked.
func (s *Service) Keys(ctx context.Context) ([]APIKey, error) {
	var keys []APIKey
	err := s.records.View(ctx, func(tx store.Tx) error {
		keys = nil
		all, _, err := apiKeys.List(tx, store.Query{})
		for _, k := range all {
			keys = append(keys, k.described())
		}
		return err
	})
	return keys, err
}

// RevokeKey ends a key for good; 404 for an unknown id.
func (s *Service) RevokeKey(ctx context.Context, id string) error {
	defer s.known.forget()
	return s.records.Update(ctx, func(tx store.Tx) error {
		k, err := apiKeys.Get(tx, store.Key(id))
		if errors.Is(err, store.ErrNotFound) {
			return &api.Error{Status: 404, Message: api.ErrAPIKeyNotFound.Message}
		}
		if err != nil || !k.RevokedAt.IsZero() {
			return err
		}
		k.RevokedAt = s.now().UTC()
		return apiKeys.Put(tx, k)
	})
}

// KeyInfo describes a key that is good; otherwise [api.ErrAPIKeyNotFound].
func (s *Service) KeyInfo(ctx context.Context, plain string) (api.APIKeyInfo, error) {
	k, err := s.findKey(ctx, plain, s.now())
	if err != nil {
		return api.APIKeyInfo{}, err
	}
	info := api.APIKeyInfo{Success: true, APIKeyID: k.ID, PermittedSiteIDs: k.Sites, CreatedAt: api.At(k.CreatedAt)}
	if !k.ExpiresAt.IsZero() {
		info.ExpiresAt = api.At(k.ExpiresAt)
	}
	return info, nil
}

// ValidateKey says whether a good key opens the site.
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
	return Principal{Kind: KindKey, ID: k.ID, Name: k.Name, Role: k.Role, Customers: k.Customers, Sites: k.Sites}, k.ExpiresAt, nil
}

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
	expired := !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt)
	if subtle.ConstantTimeCompare(digest[:], k.Digest) != 1 || expired || !k.RevokedAt.IsZero() {
		return apiKey{}, api.ErrAPIKeyNotFound
	}
	return k, nil
}

func looksLikeKey(credential string) bool { return strings.HasPrefix(credential, "opa_") }

func (s *Service) newPlainKey() (id, plain string, err error) {
	u := s.newULID()
	secret := make([]byte, 32)
	if _, err := rand.Read(secret); err != nil {
		return "", "", err
	}
	body := keyPrefix + strings.ToLower(u) + strings.ToLower(base32Text.EncodeToString(secret))
	return "key_" + u, body + checkOf(body), nil
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
