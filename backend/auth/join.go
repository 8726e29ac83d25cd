package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// joinCode is a code with which one gateway joins a site, as stored: its digest, never
// itself.
type joinCode struct {
	Digest     string    `json:"digest" limit:"word"` // SHA-256 in hex: the code has 80 random bits
	Name       string    `json:"name" limit:"name"`
	CustomerID string    `json:"customer_id" limit:"id"`
	SiteID     string    `json:"site_id" limit:"id"`
	CreatedAt  time.Time `json:"created_at"`
	CreatedBy  string    `json:"created_by" limit:"name cut"`
	ExpiresAt  time.Time `json:"expires_at"`
}

var joinCodes = store.Table[joinCode]{
	Bucket: "auth/join-codes",
	Key:    func(c joinCode) []byte { return store.Key(c.Digest) },
}

// maxJoinCodes bounds the codes that are good at a time.
const maxJoinCodes = 1000

// Code length: 16 characters of base 32 in groups of four.
const joinCodeBytes = 10

// Invitation describes a code for a gateway.
type Invitation struct {
	Name       string // of the gateway
	CustomerID string
	SiteID     string // the site's key
	Lifetime   time.Duration
	By         string
}

// Invite makes a code with which one gateway joins a site, and returns it in plain text,
// which is not stored.
func (m Administrator) Invite(ctx context.Context, i Invitation) (code string, expires time.Time, err error) {
	if !m.sees([]string{i.CustomerID}, []string{i.SiteID}, api.RoleCollector) {
		return "", expires, errBeyond
	}
	secret := make([]byte, joinCodeBytes)
	if _, err := rand.Read(secret); err != nil {
		return "", expires, err
	}
	text := base32Text.EncodeToString(secret)
	code = strings.Join([]string{text[:4], text[4:8], text[8:12], text[12:]}, "-")
	now := m.now().UTC()
	expires = now.Add(i.Lifetime)
	err = m.records.Update(ctx, func(tx store.Tx) error {
		n := 0
		var ended []joinCode
		err := joinCodes.Each(tx, store.Query{}, func(c joinCode) error {
			if n++; !now.Before(c.ExpiresAt) {
				ended = append(ended, c)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, c := range ended {
			if err := joinCodes.Delete(tx, joinCodes.Key(c)); err != nil {
				return err
			}
		}
		if n-len(ended) >= maxJoinCodes {
			return api.TooMany("The service", maxJoinCodes, "join codes that are not used yet")
		}
		return joinCodes.Insert(tx, joinCode{digestOf(code), i.Name, i.CustomerID, i.SiteID, now, i.By, expires})
	})
	if err != nil {
		return "", expires, fmt.Errorf("store a join code: %w", err)
	}
	return code, expires, nil
}

// digestOf is the digest of a code as a person writes it: case and separators do not
// count.
func digestOf(code string) string {
	code = strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(code))
	sum := sha256.Sum256([]byte(code))
	return hex.EncodeToString(sum[:])
}

// Join makes the key of a gateway for a code, which is worthless from then on;
// [api.ErrJoinCode] for one that is not good.
func (s *Service) Join(ctx context.Context, code string) (plain string, key APIKey, err error) {
	k := apiKey{Role: api.RoleCollector, CreatedAt: s.now().UTC()}
	if k.ID, plain, k.Digest, err = s.newPlainKey(); err != nil {
		return "", key, err
	}
	err = s.records.Update(ctx, func(tx store.Tx) error {
		c, err := joinCodes.Get(tx, store.Key(digestOf(code)))
		if errors.Is(err, store.ErrNotFound) || err == nil && !s.now().Before(c.ExpiresAt) {
			return api.ErrJoinCode
		}
		if err != nil {
			return err
		}
		if err := joinCodes.Delete(tx, joinCodes.Key(c)); err != nil {
			return err
		}
		k := k
		k.Name, k.Customers, k.Sites, k.CreatedBy = c.Name, []string{c.CustomerID}, []string{c.SiteID}, c.CreatedBy
		key = k.described(s.now())
		if err := s.As(api.Unlimited(c.CreatedBy)).roomForKey(tx, k.Customers, api.MaxKeys); err != nil {
			return err
		}
		return apiKeys.Insert(tx, k)
	})
	if err != nil {
		return "", APIKey{}, err
	}
	return plain, key, nil
}
