package auth

import (
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

// attempts counts failures in memory: a restart forgives, a flood of names
// cannot grow it without bound.
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

// begin counts a try as failed until succeed takes it back, so that tries in
// parallel are counted too. A positive wait means: not now.
func (a *attempts) begin(account, address string, now time.Time) (wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one, all := a.entry(attemptKey{account, address}, now), a.entry(attemptKey{"", address}, now)
	if wait = max(one.next.Sub(now), all.next.Sub(now)); wait > 0 {
		return wait
	}
	one.fail(now, freeTries)
	all.fail(now, freeAddressTries)
	return 0
}

// succeed forgives the account from the address, and this one try of the
// address.
func (a *attempts) succeed(account, address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.at, attemptKey{account, address})
	if all := a.at[attemptKey{"", address}]; all != nil && all.failures > 0 {
		all.failures--
	}
}

// forgive forgets all failures of an account, from every address.
func (a *attempts) forgive(account string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for k := range a.at {
		if k.account == account {
			delete(a.at, k)
		}
	}
}

func (a *attempts) entry(k attemptKey, now time.Time) *attempt {
	if a.at == nil {
		a.at = map[attemptKey]*attempt{}
	}
	e := a.at[k]
	if e != nil && now.Before(e.last) { // the clock was put back: the wait is no longer than it was
		e.next = now.Add(min(maxWait, max(0, e.next.Sub(e.last))))
		e.last = now
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

func (e *attempt) fail(now time.Time, free int) {
	e.failures++
	e.last = now
	if over := e.failures - free; over >= 0 {
		e.next = now.Add(min(maxWait, time.Second<<min(over, 10)))
	}
}
