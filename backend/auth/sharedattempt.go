package auth

import (
	"context"
	"encoding/hex"
	"errors"
	"time"

	"app.sunloop/backend/store"
)

// sharedAttempts counts failures for all replicas, in their records. Names and
// addresses are kept as keyed hashes: people type passwords where their name
// belongs.
type sharedAttempts struct {
	records store.Records
	hash    func(secret, place string) []byte
}

// keptAttempt is an attempt as stored.
type keptAttempt struct {
	Account  string    `json:"account,omitempty" limit:"1024"` // none: of the address over all accounts
	Address  string    `json:"address" limit:"1024"`
	Failures int       `json:"failures"`
	Next     time.Time `json:"next,omitzero"`
	Last     time.Time `json:"last"`
}

var keptAttempts = store.Table[keptAttempt]{
	Bucket: "auth/attempts",
	Key:    func(a keptAttempt) []byte { return store.Key(a.Account, a.Address) },
}

// clockSlack is by how much the clocks of replicas may differ: a stamp that is
// so little ahead is another's, and no sign of a clock that was put back.
const clockSlack = 10 * time.Second

func (a *sharedAttempts) account(name string) string {
	return hex.EncodeToString(a.hash(name, "attempt/account"))
}

func (a *sharedAttempts) address(address string) string {
	return hex.EncodeToString(a.hash(address, "attempt/address"))
}

// entry returns the state of a key, including the current attempt.
func entry(tx store.Tx, account, address string, now time.Time) (keptAttempt, *attempt, error) {
	k, err := keptAttempts.Get(tx, store.Key(account, address))
	if errors.Is(err, store.ErrNotFound) || err == nil && now.Sub(k.Last) > forgetAfter {
		return keptAttempt{Account: account, Address: address}, &attempt{last: now}, nil
	}
	e := &attempt{k.Failures, k.Next, k.Last}
	if e.last.Sub(now) > clockSlack {
		e.limitToClock(now)
	}
	return k, e, err
}

func keep(tx store.Tx, k keptAttempt, e *attempt) error {
	k.Failures, k.Next, k.Last = e.failures, e.next.UTC(), e.last.UTC()
	return keptAttempts.Put(tx, k)
}

// keptCounts are the counts of a try with their records.
type keptCounts struct {
	counts
	kept [3]keptAttempt // of one, address and account
}

func (a *sharedAttempts) counts(tx store.Tx, t signInAttempt, now time.Time) (c keptCounts, err error) {
	account, address := a.account(t.account), a.address(t.address)
	for i, key := range [...]struct {
		account, address string
		into             **attempt
	}{{account, address, &c.one}, {"", address, &c.address}, {account, a.address(everywhere), &c.counts.account}} {
		if c.kept[i], *key.into, err = entry(tx, key.account, key.address, now); err != nil {
			return c, err
		}
	}
	return c, nil
}

func (a *sharedAttempts) wait(ctx context.Context, t signInAttempt, now time.Time) (wait time.Duration, err error) {
	err = a.records.View(ctx, func(tx store.Tx) error {
		c, err := a.counts(tx, t, now)
		if err == nil {
			wait = c.wait(t, now)
		}
		return err
	})
	return wait, err
}

func (a *sharedAttempts) begin(ctx context.Context, t signInAttempt, now time.Time) (wait time.Duration, err error) {
	err = a.records.Update(ctx, func(tx store.Tx) error {
		c, err := a.counts(tx, t, now)
		if err != nil {
			return err
		}
		if wait = c.recordAttempt(t, now); wait > 0 {
			return nil
		}
		err = errors.Join(keep(tx, c.kept[0], c.one), keep(tx, c.kept[1], c.address))
		if !t.known {
			err = errors.Join(err, keep(tx, c.kept[2], c.counts.account))
		}
		return err
	})
	return wait, err
}

func (a *sharedAttempts) succeed(ctx context.Context, t signInAttempt) error {
	account, address := a.account(t.account), a.address(t.address)
	keys := [][]byte{store.Key("", address)}
	if !t.known {
		keys = append(keys, store.Key(account, a.address(everywhere)))
	}
	return a.records.Update(ctx, func(tx store.Tx) error {
		if err := keptAttempts.Delete(tx, store.Key(account, address)); err != nil {
			return err
		}
		for _, key := range keys {
			k, err := keptAttempts.Get(tx, key)
			if errors.Is(err, store.ErrNotFound) || err == nil && k.Failures == 0 {
				continue
			}
			if err != nil {
				return err
			}
			k.Failures--
			if err := keptAttempts.Put(tx, k); err != nil {
				return err
			}
		}
		return nil
	})
}

func (a *sharedAttempts) resetFailures(ctx context.Context, account string) error {
	return a.drop(ctx, store.Query{Prefix: store.Key(a.account(account))}, func(keptAttempt) bool { return true })
}

func (a *sharedAttempts) sweep(ctx context.Context, now time.Time) error {
	return a.drop(ctx, store.Query{}, func(k keptAttempt) bool { return now.Sub(k.Last) > forgetAfter })
}

// drop deletes expired entries, some at a time.
func (a *sharedAttempts) drop(ctx context.Context, q store.Query, over func(keptAttempt) bool) error {
	const some = 200
	for q.Limit = some; ; {
		var next string
		err := a.records.Update(ctx, func(tx store.Tx) error {
			var list []keptAttempt
			var err error
			if list, next, err = keptAttempts.List(tx, q); err != nil {
				return err
			}
			for _, k := range list {
				if over(k) {
					err = errors.Join(err, keptAttempts.Delete(tx, keptAttempts.Key(k)))
				}
			}
			return err
		})
		if q.Cursor = next; err != nil || next == "" {
			return err
		}
	}
}
