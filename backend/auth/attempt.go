package auth

import (
	"context"
	"sync"
	"time"
)

// The slow-down of sign-in: the first tries are free, then each failure
// doubles the wait up to a minute. It is kept per account and address, so a
// stranger slows only the stranger, and per address over all accounts.
const (
	freeTries        = 5
	freeAddressTries = 50
	maxWait          = time.Minute
	forgetAfter      = 15 * time.Minute
	maxWatched       = 16384
)

// slowdown counts failures, in memory or for all replicas.
type slowdown interface {
	// begin counts a try as failed until succeed takes it back, so that tries in
	// parallel are counted too. A positive wait means: not now.
	begin(ctx context.Context, account, address string, now time.Time) (wait time.Duration, err error)
	// succeed forgives the account from the address, and this one try of the
	// address.
	succeed(ctx context.Context, account, address string) error
	// forgive forgets all failures of an account, from every address.
	forgive(ctx context.Context, account string) error
	// sweep forgets what is old.
	sweep(ctx context.Context, now time.Time) error
}

// attempts counts failures in memory, of a process that has no replicas: a
// restart forgives, a flood of names cannot grow it without bound.
type attempts struct {
	mu sync.Mutex
	at map[attemptKey]*attempt
}

type attemptKey struct{ account, address string }

type attempt struct {
	failures int
	next     time.Time // no try before
	last     time.Time
}

func (a *attempts) begin(_ context.Context, account, address string, now time.Time) (wait time.Duration, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return try(a.entry(attemptKey{account, address}, now), a.entry(attemptKey{"", address}, now), now), nil
}

// try counts a try of an account from an address, and of the address over all
// accounts, unless one of them has to wait.
func try(one, all *attempt, now time.Time) (wait time.Duration) {
	if wait = max(one.next.Sub(now), all.next.Sub(now)); wait > 0 {
		return wait
	}
	one.fail(now, freeTries)
	all.fail(now, freeAddressTries)
	return 0
}

func (a *attempts) succeed(_ context.Context, account, address string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.at, attemptKey{account, address})
	if all := a.at[attemptKey{"", address}]; all != nil && all.failures > 0 {
		all.failures--
	}
	return nil
}

func (a *attempts) forgive(_ context.Context, account string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for k := range a.at {
		if k.account == account {
			delete(a.at, k)
		}
	}
	return nil
}

// sweep is for the flood that may come: see prune.
func (a *attempts) sweep(context.Context, time.Time) error { return nil }

func (a *attempts) entry(k attemptKey, now time.Time) *attempt {
	if a.at == nil {
		a.at = map[attemptKey]*attempt{}
	}
	e := a.at[k]
	if e != nil {
		e.follow(now)
	}
	if e == nil || now.Sub(e.last) > forgetAfter {
		if len(a.at) >= maxWatched {
			a.prune(now)
		}
		e = &attempt{last: now}
		a.at[k] = e
	}
	return e
}

// prune forgets what is old; when too much is young, any of it down to three
// quarters, so that a flood does not make every try pay for a pass.
func (a *attempts) prune(now time.Time) {
	for k, e := range a.at {
		if now.Sub(e.last) > forgetAfter {
			delete(a.at, k)
		}
	}
	for k := range a.at {
		if len(a.at) <= maxWatched*3/4 {
			return
		}
		delete(a.at, k)
	}
}

// follow lets the wait be no longer than it was where the clock was put back.
func (e *attempt) follow(now time.Time) {
	if now.Before(e.last) {
		e.next = now.Add(min(maxWait, max(0, e.next.Sub(e.last))))
		e.last = now
	}
}

func (e *attempt) fail(now time.Time, free int) {
	e.failures++
	e.last = now
	if over := e.failures - free; over >= 0 {
		e.next = now.Add(min(maxWait, time.Second<<min(over, 10)))
	}
}
