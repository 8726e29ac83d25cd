package auth

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"sync/atomic"
	"unicode/utf8"

	"app.sunloop/backend/api"
	"github.com/alexedwards/argon2id"
	"golang.org/x/text/unicode/norm"
)

// Limits of passwords.
const (
	MinPasswordRunes = 8
	MaxPasswordBytes = 1024
)

// DefaultParams are those of RFC 9106 section 4 for machines with less
// memory (64 MiB, 3 passes), in 2 lanes as there are 2 hashes at once at most.
func DefaultParams() argon2id.Params {
	return argon2id.Params{Memory: 64 << 10, Iterations: 3, Parallelism: 2, SaltLength: 16, KeyLength: 32}
}

// passwords hashes through a queue: a hash costs memory that everyone can ask
// for.
type passwords struct {
	params argon2id.Params
	queue  hashQueue
	dummy  string       // the hash of nobody's password
	worked atomic.Int64 // hashes made or compared

	// compare is that of Argon2id; tests replace it.
	compare func(password, hash string) (ok bool, used *argon2id.Params, err error)
}

func newPasswords(params argon2id.Params) (*passwords, error) {
	filler := make([]byte, params.SaltLength+params.KeyLength)
	if _, err := rand.Read(filler); err != nil {
		return nil, err
	}
	b64 := base64.RawStdEncoding.EncodeToString
	return &passwords{
		params: params,
		queue:  hashQueue{slots: hashSlots},
		dummy: fmt.Sprintf("$argon2id$v=19$m=%d,t=%d,p=%d$%s$%s", params.Memory, params.Iterations, params.Parallelism,
			b64(filler[:params.SaltLength]), b64(filler[params.SaltLength:])),
		compare: argon2id.CheckHash,
	}, nil
}

// hash makes the hash of a new password, for a caller who is signed in.
func (p *passwords) hash(ctx context.Context, password string) (string, error) {
	leave, err := p.queue.enter(ctx, "", true)
	if err != nil {
		return "", err
	}
	defer leave()
	p.worked.Add(1)
	return argon2id.CreateHash(norm.NFC.String(password), &p.params)
}

// check compares, within a turn of the queue. weak is true if the hash was made
// with other parameters than today's. An empty hash costs the same and never
// matches.
func (p *passwords) check(password, hash string) (ok, weak bool, err error) {
	known := hash != ""
	if !known {
		hash = p.dummy
	}
	p.worked.Add(1)
	ok, used, err := p.compare(norm.NFC.String(password), hash)
	if err != nil {
		return false, false, fmt.Errorf("check a password: %w", err)
	}
	return ok && known, *used != p.params, nil
}

// checkPassword refuses what may not be a password.
func checkPassword(password string) error {
	switch {
	case utf8.RuneCountInString(password) < MinPasswordRunes:
		return api.InvalidField("password", fmt.Sprintf("at least %d characters", MinPasswordRunes))
	case len(password) > MaxPasswordBytes:
		return api.InvalidField("password", fmt.Sprintf("at most %d bytes", MaxPasswordBytes))
	}
	return nil
}
