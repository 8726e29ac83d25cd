package httpapi

import (
	"net/http"
	"sync"

	"app.sunloop/backend/admission"
	"app.sunloop/backend/api"
)

// Memory that bodies of requests and the values decoded from them may take at a
// time, in bytes. Requests of routes without a credential have an account of
// their own, so that unauthenticated clients cannot use up the memory of users.
const (
	bodyMemory       = 64 << 20
	publicBodyMemory = 16 << 20
)

// bodyShare is the part of an account that one caller may take: the holder of a
// credential, or without one a network.
const bodyShare = 4

// Estimates of the memory that a body takes in addition to its own bytes.
const (
	valueMemory = 256       // of a value in JSON, decoded: the largest structs in lists take less
	formMemory  = 192 << 10 // of a form: the buffers of its reader and the part of the file that is in memory
)

// memory is an account of bytes.
type memory struct {
	most int64

	mu     sync.Mutex
	held   int64
	shares map[string]int64 // of held, by caller
}

// take adds n bytes of a caller, or reports that there is no room for them.
func (m *memory) take(caller string, n int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held+n > m.most || m.shares[caller]+n > m.most/bodyShare {
		return false
	}
	if m.shares == nil {
		m.shares = map[string]int64{}
	}
	m.held += n
	m.shares[caller] += n
	return true
}

// give subtracts n bytes of a caller.
func (m *memory) give(caller string, n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held -= n
	if m.shares[caller] -= n; m.shares[caller] <= 0 {
		delete(m.shares, caller)
	}
}

// claim is what one request has taken of an account.
type claim struct {
	of     *memory
	caller string
	n      int64
}

// grow takes more bytes for the request.
func (c *claim) grow(n int64) error {
	if !c.of.take(c.caller, n) {
		return errBodiesBusy
	}
	c.n += n
	return nil
}

// release returns all memory that the request has taken to the budget.
func (c *claim) release() {
	if c.n > 0 {
		c.of.give(c.caller, c.n)
		c.n = 0
	}
}

// errBodiesBusy refuses a body for which there is no memory.
var errBodiesBusy = busyBodies()

func busyBodies() *api.Error {
	e := api.ErrUnavailable.With("reason", "too many request bodies are being read: repeat the request later")
	e.RetryAfter = 1
	return e
}

// claimOf is an empty claim of the caller of a route. The credential was
// checked before.
func (s *server) claimOf(q *http.Request, rt *api.Route, g *caller) claim {
	if rt.Credential == api.CredentialNone {
		return claim{of: &s.publicBodies, caller: admission.Network(s.remote(q))}
	}
	return claim{of: &s.bodies, caller: g.ID}
}
