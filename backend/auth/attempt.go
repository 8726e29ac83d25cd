package auth

import (
	"context"
	"sync"
	"time"
)

// Failed attempts to sign in delay further ones: the first are free, then each
// failure doubles the delay up to maxWait. Failures are counted for an account and
// an address, for an address over all accounts, and for an account over all
// addresses. The last two counts do not delay a caller from a network that the
// account has signed in from before: other callers cannot lock the owner out.
const (
	freeTries        = 5
	freeAddressTries = 50
	freeAccountTries = 20
	maxWait          = time.Minute
	forgetAfter      = 15 * time.Minute
	maxCounts        = 16384
)

// everywhere takes the place of the address in the count of an account over all
// addresses.
const everywhere = "*"

// signInAttempt is an attempt to sign in to an account.
type signInAttempt struct {
	account string // user name, folded
	address string // see [admission.Host]
	known   bool   // the account has signed in from this network before
}

// slowdown counts failures, in memory or in records that replicas share.
type slowdown interface {
	// wait returns how long the caller must wait before the attempt; zero or less
	// means that the attempt is allowed.
	wait(ctx context.Context, t signInAttempt, now time.Time) (time.Duration, error)
	// begin counts an attempt as failed until succeed is called, so that parallel
	// attempts are counted too. If wait is positive, the attempt is not allowed and
	// not counted.
	begin(ctx context.Context, t signInAttempt, now time.Time) (wait time.Duration, err error)
	// succeed resets the count of the account and the address, and subtracts this
	// attempt from the other two counts.
	succeed(ctx context.Context, t signInAttempt) error
	// resetFailures deletes the counts of an account, from all addresses.
	resetFailures(ctx context.Context, account string) error
	// sweep deletes counts older than forgetAfter.
	sweep(ctx context.Context, now time.Time) error
}

// attempts counts failures in memory, for a process without replicas. A restart
// resets the counts. There are at most maxCounts of them.
type attempts struct {
	mu sync.Mutex
	at map[attemptKey]*attempt
}

type attemptKey struct{ account, address string }

type attempt struct {
	failures int
	next     time.Time // of the next attempt that is allowed
	last     time.Time // of the last failure
}

func (a *attempts) wait(_ context.Context, t signInAttempt, now time.Time) (time.Duration, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts(t, now).wait(t, now), nil
}

func (a *attempts) begin(_ context.Context, t signInAttempt, now time.Time) (wait time.Duration, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts(t, now).recordAttempt(t, now), nil
}

// counts returns the counts of an attempt.
func (a *attempts) counts(t signInAttempt, now time.Time) counts {
	return counts{
		one:     a.entry(attemptKey{t.account, t.address}, now),
		address: a.entry(attemptKey{"", t.address}, now),
		account: a.entry(attemptKey{t.account, everywhere}, now),
	}
}

// counts are the three counts that include an attempt.
type counts struct {
	one     *attempt // of the account from the address
	address *attempt // of the address over all accounts
	account *attempt // of the account over all addresses that are not known to it
}

func (c counts) wait(t signInAttempt, now time.Time) time.Duration {
	wait := c.one.next.Sub(now)
	if !t.known {
		wait = max(wait, c.address.next.Sub(now), c.account.next.Sub(now))
	}
	return wait
}

// recordAttempt counts an attempt as failed, unless it must wait.
func (c counts) recordAttempt(t signInAttempt, now time.Time) (wait time.Duration) {
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

func (a *attempts) succeed(_ context.Context, t signInAttempt) error {
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

func (a *attempts) resetFailures(_ context.Context, account string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for k := range a.at {
		if k.account == account {
			delete(a.at, k)
		}
	}
	return nil
}

// sweep does nothing: entry limits the number of counts.
func (a *attempts) sweep(context.Context, time.Time) error { return nil }

func (a *attempts) entry(k attemptKey, now time.Time) *attempt {
	if a.at == nil {
		a.at = map[attemptKey]*attempt{}
	}
	e := a.at[k]
	if e != nil {
		e.limitToClock(now)
	}
	if e == nil || now.Sub(e.last) > forgetAfter {
		if len(a.at) >= maxCounts {
			a.prune(now)
		}
		e = &attempt{last: now}
		a.at[k] = e
	}
	return e
}

// prune deletes old counts, then any counts until three quarters of maxCounts are
// left, so that it does not run for each attempt of a flood.
func (a *attempts) prune(now time.Time) {
	for k, e := range a.at {
		if now.Sub(e.last) > forgetAfter {
			delete(a.at, k)
		}
	}
	for k := range a.at {
		if len(a.at) <= maxCounts*3/4 {
			return
		}
		delete(a.at, k)
	}
}

// limitToClock keeps the delay that was left if the clock was set back.
func (e *attempt) limitToClock(now time.Time) {
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
