package auth

import (
	"context"
	"sync"
	"time"
)

// The slow-down of sign-in: the first tries are free, then each failure
// doubles the wait up to a minute. Failures are counted for an account from one
// address, for an address over all accounts, and for an account over all
// addresses. The last two do not slow a caller from a network that the account
// has signed in from before: others cannot lock its owner out.
const (
	freeTries        = 5
	freeAddressTries = 50
	freeAccountTries = 20
	maxWait          = time.Minute
	forgetAfter      = 15 * time.Minute
	maxWatched       = 16384
)

// everywhere is the address of the count of an account over all addresses.
const everywhere = "*"

// attemptOf is a try to sign in.
type attemptOf struct {
	account string // its name, folded
	address string // see callerOf
	known   bool   // the account has signed in from this network before
}

// slowdown counts failures, in memory or for all replicas.
type slowdown interface {
	// wait is how long the caller of a try must wait; zero or less: not.
	wait(ctx context.Context, t attemptOf, now time.Time) (time.Duration, error)
	// begin counts a try as failed until succeed takes it back, so that tries in
	// parallel are counted too. A positive wait means: not now.
	begin(ctx context.Context, t attemptOf, now time.Time) (wait time.Duration, err error)
	// succeed forgives the account from the address, and this one try of the
	// address and of the account.
	succeed(ctx context.Context, t attemptOf) error
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

func (a *attempts) wait(_ context.Context, t attemptOf, now time.Time) (time.Duration, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts(t, now).wait(t, now), nil
}

func (a *attempts) begin(_ context.Context, t attemptOf, now time.Time) (wait time.Duration, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts(t, now).try(t, now), nil
}

// counts are those of a try.
func (a *attempts) counts(t attemptOf, now time.Time) counts {
	return counts{
		one:     a.entry(attemptKey{t.account, t.address}, now),
		address: a.entry(attemptKey{"", t.address}, now),
		account: a.entry(attemptKey{t.account, everywhere}, now),
	}
}

// counts are those that a try is part of.
type counts struct {
	one     *attempt // of the account from the address
	address *attempt // of the address over all accounts
	account *attempt // of the account over all addresses that are not known to it
}

func (c counts) wait(t attemptOf, now time.Time) time.Duration {
	wait := c.one.next.Sub(now)
	if !t.known {
		wait = max(wait, c.address.next.Sub(now), c.account.next.Sub(now))
	}
	return wait
}

// try counts a try, unless it has to wait.
func (c counts) try(t attemptOf, now time.Time) (wait time.Duration) {
	if wait = c.wait(t, now); wait > 0 {
		return wait
	}
	c.one.fail(now, freeTries)
	c.address.fail(now, freeAddressTries)
	if !t.known {
		c.account.fail(now, freeAccountTries)
	}
	return 0
}

func (a *attempts) succeed(_ context.Context, t attemptOf) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.at, attemptKey{t.account, t.address})
	keys := []attemptKey{{"", t.address}}
	if !t.known {
		keys = append(keys, attemptKey{t.account, everywhere})
	}
	for _, k := range keys {
		if e := a.at[k]; e != nil && e.failures > 0 {
			e.failures--
		}
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
