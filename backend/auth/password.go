package auth

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
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

// DefaultParams returns the parameters of new hashes: the 19 MiB and one lane of
// OWASP's recommendation for Argon2id (Password Storage Cheat Sheet: 19 MiB, 2
// passes, 1 lane, or more), with 4 passes instead of 2. Two hashes at the same time
// keep the service within 120 MB of memory while clients without a credential flood
// it with sign-ins; the 64 MiB of RFC 9106, section 4, which earlier versions used,
// do not. More passes make guesses on a stolen hash more expensive and need no memory.
func DefaultParams() argon2id.Params {
	return argon2id.Params{Memory: 19 << 10, Iterations: 4, Parallelism: 1, SaltLength: 16, KeyLength: 32}
}

// minGarbageBytes is the garbage of hashes that is collected even if the live heap is
// small: that of one hash.
const minGarbageBytes = 19 << 20

// passwords computes password hashes. The queue limits how many run.
type passwords struct {
	params argon2id.Params
	queue  hashQueue
	dummy  string       // compared if there is no account; no password matches it
	worked atomic.Int64 // hashes computed

	garbage atomic.Uint64 // bytes of the hashes computed since the last collection

	// compare is argon2id.CheckHash; tests replace it.
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

// hash returns the hash of a new password, for a caller who is signed in.
func (p *passwords) hash(ctx context.Context, password string) (string, error) {
	leave, err := p.queue.enter(ctx, "", true, false)
	if err != nil {
		return "", err
	}
	defer leave()
	defer p.collect(p.params.Memory)
	p.worked.Add(1)
	return argon2id.CreateHash(norm.NFC.String(password), &p.params)
}

// collect frees the memory of a hash that has been computed, in KiB, before the next
// hash begins: each one allocates its memory, and the garbage of several would be
// larger than the rest of the service. A collection takes time in proportion to the
// live heap, so the garbage of hashes may be a quarter of that. The memory of a hash
// with larger parameters is returned to the operating system, as is unused memory
// before such a hash begins (see check).
func (p *passwords) collect(memory uint32) {
	if memory > p.params.Memory {
		p.garbage.Store(0)
		debug.FreeOSMemory()
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if garbage := p.garbage.Add(uint64(memory) << 10); garbage >= max(minGarbageBytes, live[0].Value.Uint64()/4) {
		p.garbage.Store(0)
		runtime.GC()
	}
}

// isLarge reports whether a stored hash needs more memory than a new one.
func (p *passwords) isLarge(hash string) bool {
	used, _, _, err := argon2id.DecodeHash(hash)
	return err == nil && used.Memory > p.params.Memory
}

// check compares a password with a hash during a turn of the queue. outdated is
// true if the parameters of the hash are not the current ones. An empty hash takes
// the same time and memory as a current one and matches no password.
func (p *passwords) check(password, hash string) (ok, outdated bool, err error) {
	known := hash != ""
	if !known {
		hash = p.dummy
	}
	p.worked.Add(1)
	if p.isLarge(hash) { // it runs alone: what the hashes before it have left is free
		debug.FreeOSMemory()
	}
	ok, used, err := p.compare(norm.NFC.String(password), hash)
	if err != nil {
		return false, false, fmt.Errorf("check a password: %w", err)
	}
	p.collect(used.Memory)
	return ok && known, *used != p.params, nil
}

// checkPassword returns an error if a new password is too short or too long.
func checkPassword(password string) error {
	switch {
	case utf8.RuneCountInString(password) < MinPasswordRunes:
		return api.InvalidField("password", fmt.Sprintf("at least %d characters", MinPasswordRunes))
	case len(password) > MaxPasswordBytes:
		return api.InvalidField("password", fmt.Sprintf("at most %d bytes", MaxPasswordBytes))
	}
	return nil
}
