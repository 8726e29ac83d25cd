//go:build !gateway

package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/jackc/pgx/v5"

	"app.sunloop/backend/store"
)

// View runs fn over one committed state.
func (s *Store) View(ctx context.Context, fn func(tx store.Tx) error) error {
	if tx := store.JoinedTx(ctx); tx != nil {
		return fn(tx)
	}
	if reader := batchReaderOf(ctx); reader != nil {
		return fn(&records{ctx: ctx, reads: reader, store: s, known: map[string]*known{}})
	}
	return s.transact(ctx, snapshot, func(tx pgx.Tx) error {
		return fn(&records{ctx: ctx, reads: direct{tx}, store: s, known: map[string]*known{}})
	})
}

// Update runs fn as if no other transaction ran meanwhile, and commits what it
// wrote. fn is run again where another one got in the way.
func (s *Store) Update(ctx context.Context, fn func(tx store.Tx) error) error {
	if tx := store.JoinedTx(ctx); tx != nil {
		return fn(tx)
	}
	fn = store.RunCommitHook(ctx, fn)
	return s.transact(ctx, serial, func(tx pgx.Tx) error {
		r := &records{ctx: ctx, reads: direct{tx}, tx: tx, store: s, writable: true, known: map[string]*known{}}
		err := fn(r)
		if r.broken != nil && (err == nil || retryable(r.broken)) {
			return r.broken // whatever the result of fn, the database does not continue
		}
		if err != nil {
			return err
		}
		return r.flush()
	})
}

// records is store.Tx over a transaction. Writes are kept back until something
// has to see them in the database, so that a transaction costs few round trips.
type records struct {
	ctx      context.Context
	reads    reads
	tx       pgx.Tx // of an Update
	store    *Store
	writable bool
	known    map[string]*known // by bucket and key
	ahead    map[string]*known // as known, of the last Prefetch
	unsaved  []*known
	writes   []write // in order, for the running scans
	broken   error   // the first error of the database
}

// known is what the transaction has read or written of a key.
type known struct {
	bucket  string
	key     []byte
	value   []byte // or nil
	unsaved bool
}

type write struct {
	bucket string
	key    []byte
}

func (r *records) fault(what, bucket string, err error) error {
	err = fault(what+" "+bucket, err)
	if r.broken == nil {
		r.broken = err
	}
	return err
}

// shardOf splits a key behind its first part, which ends in 0x00 0x01; a key
// without parts is all shard. Keys sort as what they are split into does.
func shardOf(key []byte) (shard, rest []byte) {
	if i := bytes.Index(key, []byte{0, 1}); i >= 0 {
		return key[:i+2], key[i+2:]
	}
	return append([]byte{}, key...), []byte{} // never nil, which would be NULL
}

func ident(bucket string, key []byte) string { return bucket + "\x00" + string(key) }

// Get is the value at key.
func (r *records) Get(bucket string, key []byte) ([]byte, error) {
	id := ident(bucket, key)
	k := r.known[id]
	if k == nil {
		k = r.ahead[id]
	}
	if k == nil {
		k = &known{bucket: bucket, key: bytes.Clone(key)}
		var err error
		if k.value, err = r.reads.value(r.ctx, bucket, k.key); err != nil {
			return nil, r.fault("get from", bucket, err)
		}
		r.known[id] = k
	}
	if k.value == nil {
		return nil, store.ErrNotFound
	}
	return k.value, nil
}

// ReadsAhead is true in a View.
func (r *records) ReadsAhead() bool { return !r.writable }

// Prefetch reads the values at keys in one query. What it read before is forgotten, unless Get has
// returned it.
func (r *records) Prefetch(bucket string, keys [][]byte) error {
	if r.writable || len(keys) == 0 {
		return nil
	}
	values, err := r.reads.values(r.ctx, bucket, keys)
	if err != nil {
		return r.fault("read ahead in", bucket, err)
	}
	r.ahead = make(map[string]*known, len(keys))
	for i, key := range keys {
		r.ahead[ident(bucket, key)] = &known{bucket: bucket, key: key, value: values[i]}
	}
	return nil
}

// Put stores a copy of value at key.
func (r *records) Put(bucket string, key, value []byte) error {
	return r.set(bucket, key, append(make([]byte, 0, len(value)), value...))
}

// Delete removes key.
func (r *records) Delete(bucket string, key []byte) error { return r.set(bucket, key, nil) }

func (r *records) set(bucket string, key, value []byte) error {
	if !r.writable {
		return store.ErrReadOnly
	}
	if len(key) == 0 {
		return fmt.Errorf("write to %s: the key is empty", bucket)
	}
	id := ident(bucket, key)
	k := r.known[id]
	if k == nil {
		k = &known{bucket: bucket, key: bytes.Clone(key)}
		r.known[id] = k
	}
	k.value = value
	if !k.unsaved {
		k.unsaved = true
		r.unsaved = append(r.unsaved, k)
	}
	r.writes = append(r.writes, write{bucket, k.key})
	return nil
}

// flush sends the writes to the database, in one go.
func (r *records) flush() error {
	if len(r.unsaved) == 0 {
		return nil
	}
	var b pgx.Batch
	for _, k := range r.unsaved {
		k.unsaved = false
		shard, rest := shardOf(k.key)
		if k.value == nil {
			b.Queue(`DELETE FROM sunloop.kv WHERE bucket = $1 AND shard = $2 AND key = $3`, k.bucket, shard, rest)
		} else {
			b.Queue(`INSERT INTO sunloop.kv (bucket, shard, key, value) VALUES ($1, $2, $3, $4)
				ON CONFLICT (bucket, shard, key) DO UPDATE SET value = excluded.value`, k.bucket, shard, rest, k.value)
		}
	}
	bucket := r.unsaved[0].bucket
	r.unsaved = r.unsaved[:0]
	if err := r.tx.SendBatch(r.ctx, &b).Close(); err != nil {
		return r.fault("write to", bucket, err)
	}
	return nil
}

// Scan walks a range of keys. It fetches some at a time, and again where what
// lies ahead was written to.
func (r *records) Scan(bucket string, from, to []byte, reverse bool) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		from, to := bytes.Clone(from), bytes.Clone(to)
		most := scanMost
		if _, together := r.reads.(*batchReader); together {
			most = scanMostTogether
		}
		for n := scanFirst; ; n = min(2*n, most) {
			if to != nil && bytes.Compare(from, to) >= 0 {
				return
			}
			seen := len(r.writes)
			entries, err := r.fetch(bucket, from, to, reverse, n)
			if err != nil {
				yield(store.Entry{}, err)
				return
			}
			stale := false
			for _, e := range entries {
				if reverse {
					to = e.Key
				} else {
					from = slices.Concat(e.Key, []byte{0}) // the next there can be
				}
				if !yield(e, nil) {
					return
				}
				if stale = r.wrote(seen, bucket, from, to); stale {
					break
				}
			}
			if !stale && len(entries) < n {
				return
			}
		}
	}
}

// How many entries a Scan fetches at first, and at most, and at most in a goroutine of
// Together, since the pages of all goroutines are in memory at a time.
const (
	scanFirst        = 64
	scanMost         = 1024
	scanMostTogether = 128
)

// wrote reports whether any write except the first n was to a key of the range.
func (r *records) wrote(seen int, bucket string, from, to []byte) bool {
	for _, w := range r.writes[seen:] {
		if w.bucket == bucket && bytes.Compare(w.key, from) >= 0 && (to == nil || bytes.Compare(w.key, to) < 0) {
			return true
		}
	}
	return false
}

// fetch reads up to n entries of a range.
func (r *records) fetch(bucket string, from, to []byte, reverse bool, n int) ([]store.Entry, error) {
	if err := r.flush(); err != nil {
		return nil, err
	}
	entries, err := r.reads.page(r.ctx, keyRange{bucket, from, to, reverse}, n)
	if err != nil {
		return nil, r.fault("scan", bucket, err)
	}
	return entries, nil
}

// Enqueue adds a job to the transaction.
func (r *records) Enqueue(job store.Job) error {
	switch {
	case !r.writable:
		return store.ErrReadOnly
	case job.Kind == "":
		return errors.New("enqueue: job has no kind")
	case r.store.enqueue == nil:
		return errors.New("enqueue: the store was opened without a queue")
	}
	if job.RunAt.IsZero() {
		job.RunAt = r.store.now()
	}
	job.RunAt = job.RunAt.UTC()
	if job.MaxAttempts <= 0 {
		job.MaxAttempts = defaultAttempts
	}
	job.ID, job.Payload = "", bytes.Clone(job.Payload)
	err := r.store.enqueue(r.ctx, r.tx, job)
	switch {
	case err == nil:
		return nil
	case ofDatabase(err):
		return r.fault("enqueue", job.Kind, err)
	}
	return fmt.Errorf("enqueue %s: %w", job.Kind, err)
}
