package auth

import (
	"crypto/sha256"
	"sync"
	"time"
)

// knownFor is how long a verified credential is accepted without a read of the
// store. A change by this process acts at once; one by another process within
// this time.
const knownFor = 10 * time.Second

const maxKnown = 4096

// known remembers checked credentials by their digest. The zero value is
// ready.
type known struct {
	mu  sync.RWMutex
	at  map[[sha256.Size]byte]knownPrincipal
	gen int
}

type knownPrincipal struct {
	Principal
	from, until time.Time
}

func (k *known) get(digest [sha256.Size]byte, now time.Time) (Principal, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	p, ok := k.at[digest]
	if !ok || now.Before(p.from) || !now.Before(p.until) {
		return Principal{}, false
	}
	return p.Principal, true
}

// generation changes with every forget.
func (k *known) generation() int {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.gen
}

// put remembers, unless something was forgotten since generation: what was
// read before may be old already.
func (k *known) put(digest [sha256.Size]byte, p Principal, now, until time.Time, generation int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.gen != generation {
		return
	}
	if k.at == nil || len(k.at) >= maxKnown {
		k.at = map[[sha256.Size]byte]knownPrincipal{}
	}
	if end := now.Add(knownFor); until.IsZero() || end.Before(until) {
		until = end
	}
	k.at[digest] = knownPrincipal{p, now, until}
}

// invalidate drops all: users, sessions or keys have changed.
func (k *known) invalidate() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.at = nil
	k.gen++
}
