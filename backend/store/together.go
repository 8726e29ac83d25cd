package store

import (
	"context"
	"errors"
	"sync"
)

// GetMany returns the values at keys, nil for one that is absent.
func GetMany(tx Tx, bucket string, keys [][]byte) ([][]byte, error) {
	values := make([][]byte, len(keys))
	for at := 0; at < len(keys); at += prefetched {
		part := keys[at:min(at+prefetched, len(keys))]
		if err := tx.Prefetch(bucket, part); err != nil {
			return nil, err
		}
		for i, key := range part {
			v, err := tx.Get(bucket, key)
			if err != nil && !errors.Is(err, ErrNotFound) {
				return nil, err
			}
			values[at+i] = v
		}
	}
	return values, nil
}

// prefetched is how many keys are announced at a time.
const prefetched = 1000

type (
	joinedKey   struct{}
	togetherKey struct{}
)

// WithTx returns a ctx whose View and Update run their closures in tx, instead of in
// transactions of their own. It is for calls within the closure that tx belongs to.
func WithTx(ctx context.Context, tx Tx) context.Context {
	return context.WithValue(ctx, joinedKey{}, tx)
}

// JoinedTx returns the transaction that [WithTx] has put into ctx, nil if there is none. A
// store uses it in View and Update.
func JoinedTx(ctx context.Context) Tx {
	tx, _ := ctx.Value(joinedKey{}).(Tx)
	return tx
}

// How a transaction of [UpdateEach] ends without effect.
var (
	errAgain = errors.New("a refused item has written") // it runs again without the item
	errNone  = errors.New("an item was refused and all were asked for")
)

// UpdateEach calls do for the items 0 to n-1 in one transaction, and returns the error of each
// item, nil for one that was done. An item with an error that refused accepts has no effect;
// any other error ends the transaction without effect and is returned as err. With all, one
// refused item leaves the transaction without effect. do gets a ctx of [WithTx]; it may run
// again for an item.
func UpdateEach(ctx context.Context, records Records, n int, all bool, refused func(error) bool, do func(ctx context.Context, i int) error) (errs []error, err error) {
	undone := make([]error, n) // of items that wrote before they were refused
	for {
		err = records.Update(ctx, func(tx Tx) error {
			errs = make([]error, n)
			some := false
			for i := range n {
				if errs[i] = undone[i]; errs[i] != nil {
					some = true
					continue
				}
				w := &watchedTx{Tx: tx}
				err := do(WithTx(ctx, w), i)
				if err == nil {
					continue
				}
				if !refused(err) {
					return err
				}
				if errs[i], some = err, true; w.wrote {
					undone[i] = err
					return errAgain
				}
			}
			if some && all {
				return errNone
			}
			return nil
		})
		switch {
		case errors.Is(err, errAgain):
		case errors.Is(err, errNone):
			return errs, nil
		default:
			return errs, err
		}
	}
}

// WithTogether returns the ctx of a goroutine of [Records.Together], with what the store
// needs to recognise its reads.
func WithTogether(ctx context.Context, reads any) context.Context {
	return context.WithValue(ctx, togetherKey{}, reads)
}

// TogetherOf returns what [WithTogether] has put into ctx, nil if there is nothing.
func TogetherOf(ctx context.Context) any { return ctx.Value(togetherKey{}) }

// atOnce is how many goroutines of AtOnce run at a time.
const atOnce = 4

// AtOnce is [Records.Together] of a store that gains nothing by making reads together: some
// calls of do run at a time.
func AtOnce(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	errs := make([]error, n)
	turns := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i := range n {
		turns <- struct{}{}
		all.Go(func() {
			errs[i] = do(ctx, i)
			<-turns
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
