package bolt

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	"go.etcd.io/bbolt"

	"app.sunloop/backend/store"
)

// recordPrefix keeps the names of record buckets apart from the store's own.
const recordPrefix = "r/"

// scanCheck is the number of entries that a Scan yields between checks of the
// context.
const scanCheck = 256

// View runs fn over the last committed state.
func (s *Store) View(ctx context.Context, fn func(tx store.Tx) error) error {
	if tx := store.JoinedTx(ctx); tx != nil {
		return fn(tx)
	}
	return s.view(ctx, func(in root) error {
		return fn(&records{ctx: ctx, root: in, store: s})
	})
}

// Together calls do for 0 to n-1.
func (s *Store) Together(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	return store.AtOnce(ctx, n, do)
}

// Update runs fn and commits what it wrote. fn may run more than once.
func (s *Store) Update(ctx context.Context, fn func(tx store.Tx) error) error {
	if tx := store.JoinedTx(ctx); tx != nil {
		return fn(tx)
	}
	fn = store.RunCommitHook(ctx, fn)
	var enqueued bool
	err := s.writes.update(ctx, func(in root) (bool, error) {
		r := &records{ctx: ctx, root: in, store: s}
		err := fn(r)
		enqueued = r.enqueued
		return r.dirty, err
	})
	if err == nil && enqueued {
		s.wake()
	}
	return err
}

func (s *Store) view(ctx context.Context, fn func(r root) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.ended == nil {
		return s.db.view(fn)
	}
	begin := s.now()
	err := s.db.view(fn)
	s.ended(store.TransactionEvent{Context: ctx, Kind: store.TransactionRead, Begin: begin, Took: s.now().Sub(begin), Err: err})
	return err
}

// records is store.Tx over a bbolt transaction.
type records struct {
	ctx context.Context
	root
	store    *Store
	buckets  map[string]*bucket
	dirty    bool // something was written
	enqueued bool // a job among it
}

// open is the named bucket; nil when it is not there and create is false.
func (r *records) open(name string, create bool) (*bucket, error) {
	if b := r.buckets[name]; b != nil {
		return b, nil
	}
	full := []byte(recordPrefix + name)
	b := r.bucket(full)
	if b == nil && create {
		made, err := r.tx.CreateBucket(full)
		if err != nil {
			return nil, fmt.Errorf("create bucket %s: %w", name, err)
		}
		b = r.of(made, 0, full)
	}
	if b != nil {
		if r.buckets == nil {
			r.buckets = map[string]*bucket{}
		}
		r.buckets[name] = b
	}
	return b, nil
}

// Get is the value at key.
func (r *records) Get(bucket string, key []byte) ([]byte, error) {
	b, err := r.open(bucket, false)
	if err != nil {
		return nil, err
	}
	if b != nil {
		if v := b.Get(key); v != nil {
			return v, nil
		}
	}
	return nil, store.ErrNotFound
}

// Prefetch does nothing: the file is mapped.
func (r *records) Prefetch(string, [][]byte) error { return nil }

// ReadsAhead is false.
func (r *records) ReadsAhead() bool { return false }

// Put stores a copy of value at key.
func (r *records) Put(bucket string, key, value []byte) error {
	b, err := r.writable(bucket)
	if err != nil {
		return err
	}
	return b.Put(key, value)
}

// Delete removes key.
func (r *records) Delete(bucket string, key []byte) error {
	b, err := r.writable(bucket)
	if err != nil {
		return err
	}
	return b.Delete(key)
}

func (r *records) writable(name string) (*bucket, error) {
	if !r.tx.Writable() {
		return nil, store.ErrReadOnly
	}
	r.dirty = true
	return r.open(name, true)
}

// Scan walks a range of keys.
func (r *records) Scan(bucket string, from, to []byte, reverse bool) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		b, err := r.open(bucket, false)
		if err != nil {
			yield(store.Entry{}, err)
			return
		}
		if b == nil {
			return
		}
		c := b.Cursor()
		k, v := first(c, from, to, reverse)
		for n := 0; k != nil && within(k, from, to); n++ {
			if n%scanCheck == 0 && r.ctx.Err() != nil {
				yield(store.Entry{}, r.ctx.Err())
				return
			}
			if !yield(store.Entry{Key: k, Value: v}, nil) {
				return
			}
			// A cursor is lost when its bucket changes: where one may, the place
			// is sought again.
			switch {
			case !r.tx.Writable() && reverse:
				k, v = c.Prev()
			case !r.tx.Writable():
				k, v = c.Next()
			case reverse:
				k, v = c.at(seekBefore(c.in, k))
			default:
				k, v = c.after(k)
			}
		}
	}
}

// first is where a scan begins.
func first(c cursor, from, to []byte, reverse bool) (k, v []byte) {
	switch {
	case !reverse && len(from) == 0:
		return c.First()
	case !reverse:
		return c.Seek(from)
	case to == nil:
		return c.Last()
	default:
		return c.before(to)
	}
}

// seekBefore is the last entry with a smaller key.
func seekBefore(c *bbolt.Cursor, key []byte) (k, v []byte) {
	// First handles a case that Prev does not: inside a transaction Prev
	// returns nil at each leaf that has been emptied, and continues when
	// called again.
	if k, _ := c.First(); k == nil || bytes.Compare(k, key) >= 0 {
		return nil, nil
	}
	if k, _ = c.Seek(key); k == nil {
		k, v = c.Last() // all are smaller
	} else {
		k, v = c.Prev()
	}
	for k == nil {
		k, v = c.Prev()
	}
	return k, v
}

func within(k, from, to []byte) bool {
	return bytes.Compare(k, from) >= 0 && (to == nil || bytes.Compare(k, to) < 0)
}
