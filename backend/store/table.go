package store

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"slices"
)

// Table keeps records of type T in a bucket as JSON, with secondary indexes
// kept in step. It is written once over [Tx], so every store has it.
type Table[T any] struct {
	Bucket   string
	Key      func(T) []byte // unique
	Indexes  []Index[T]
	Form     Form[T]   // nil: T is stored
	Upgrades []Upgrade // from version 1 to 2, from 2 to 3, and so on
}

// Index lists records under other keys, in that key's order. A nil key leaves
// the record out.
type Index[T any] struct {
	Name string
	Key  func(T) []byte
}

// Get returns the record at key, or ErrNotFound.
func (t Table[T]) Get(tx Tx, key []byte) (T, error) {
	b, err := tx.Get(t.Bucket, key)
	if err != nil {
		var none T
		return none, err
	}
	return t.Decode(b)
}

// Put stores v in place of a former record with its key. Fields that the service
// fills itself are cut to the limits that they declare. Another field above its
// limit is a [limit.Error], unless the former record had it as long.
func (t Table[T]) Put(tx Tx, v T) error {
	key := t.Key(v)
	old, err := t.Get(tx, key)
	var former *T
	switch {
	case err == nil:
		former = &old
	case !errors.Is(err, ErrNotFound):
		return err
	}
	v, record, err := t.form().fit(v, former)
	if err != nil {
		return fmt.Errorf("write a record of %s: %w", t.Bucket, err)
	}
	if former != nil {
		if err := t.unindex(tx, old, key); err != nil {
			return err
		}
	}
	b, err := t.encode(record)
	if err != nil {
		return fmt.Errorf("write a record of %s: %w", t.Bucket, err)
	}
	if err := tx.Put(t.Bucket, key, b); err != nil {
		return err
	}
	for _, ix := range t.Indexes {
		if k := ix.Key(v); k != nil {
			if err := tx.Put(t.indexBucket(ix), slices.Concat(k, key), key); err != nil {
				return err
			}
		}
	}
	return nil
}

// Insert is Put, but answers ErrExists when there is a record already.
func (t Table[T]) Insert(tx Tx, v T) error {
	if _, err := tx.Get(t.Bucket, t.Key(v)); err == nil {
		return ErrExists
	} else if !errors.Is(err, ErrNotFound) {
		return err
	}
	return t.Put(tx, v)
}

// Delete removes the record at key, if there is one.
func (t Table[T]) Delete(tx Tx, key []byte) error {
	old, err := t.Get(tx, key)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := t.unindex(tx, old, key); err != nil {
		return err
	}
	return tx.Delete(t.Bucket, key)
}

func (t Table[T]) unindex(tx Tx, old T, key []byte) error {
	for _, ix := range t.Indexes {
		if k := ix.Key(old); k != nil {
			if err := tx.Delete(t.indexBucket(ix), slices.Concat(k, key)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t Table[T]) indexBucket(ix Index[T]) string { return t.Bucket + "/" + ix.Name }

// Query selects from a table or from one of its indexes.
type Query struct {
	Index   string // empty: by the record's own key
	Prefix  []byte // of the key in that order
	Reverse bool
	Limit   int    // of records; 0: no limit
	Bytes   int    // of records as they are stored, beyond which no further one is read; 0: no limit
	Cursor  string // from a former List of the same query
}

// cursorOf is a key with whose it is: a cursor of another list would select
// something else, or nothing.
func cursorOf(bucket string, key []byte) []byte {
	return slices.Concat([]byte(bucket), []byte{0}, key)
}

// List is what the query selects, and the cursor for the next part, empty at
// the end. A part has at least one record, however large.
func (t Table[T]) List(tx Tx, q Query) (records []T, next string, err error) {
	var last []byte
	size := 0
	for e, err := range t.entries(tx, q) {
		if err != nil {
			return nil, "", err
		}
		if full := len(records) > 0 && q.Bytes > 0 && size+len(e.Value) > q.Bytes; full || q.Limit > 0 && len(records) == q.Limit {
			return records, base64.RawURLEncoding.EncodeToString(cursorOf(t.bucketOf(q), last)), nil
		}
		last = bytes.Clone(e.Key)
		size += len(e.Value)
		v, err := t.Decode(e.Value)
		if err != nil {
			return nil, "", err
		}
		records = append(records, v)
	}
	return records, "", nil
}

// Each calls do with each record that the query selects, in its order, until do
// returns an error. Its Limit and Bytes are not looked at.
func (t Table[T]) Each(tx Tx, q Query, do func(v T) error) error {
	for e, err := range t.entries(tx, q) {
		if err != nil {
			return err
		}
		v, err := t.Decode(e.Value)
		if err != nil {
			return err
		}
		if err := do(v); err != nil {
			return err
		}
	}
	return nil
}

// Full reports whether the query selects at least most records. It reads no
// record, and the cursor, Limit and Bytes of the query are not looked at.
func (t Table[T]) Full(tx Tx, q Query, most int) (bool, error) {
	to := After(q.Prefix)
	if len(q.Prefix) == 0 {
		to = nil
	}
	n := 0
	for _, err := range tx.Scan(t.bucketOf(q), q.Prefix, to, false) {
		if err != nil {
			return false, fmt.Errorf("count the records of %s: %w", t.Bucket, err)
		}
		if n++; n >= most {
			return true, nil
		}
	}
	return false, nil
}

// bucketOf is the bucket in whose order a query reads.
func (t Table[T]) bucketOf(q Query) string {
	if q.Index != "" {
		return t.Bucket + "/" + q.Index
	}
	return t.Bucket
}

// prefetching is the scan of an index that announces the records which it names, some at a time.
// While a transaction writes, it is the scan alone, which notices writes ahead.
func prefetching(tx Tx, index, bucket string, from, to []byte, q Query) iter.Seq2[Entry, error] {
	scan := tx.Scan(index, from, to, q.Reverse)
	if !tx.ReadsAhead() {
		return scan
	}
	return func(yield func(Entry, error) bool) {
		most := prefetched / 4
		if q.Limit > 0 {
			most = min(most, q.Limit+1)
		}
		var part []Entry
		flush := func() bool {
			keys := make([][]byte, len(part))
			for i, e := range part {
				keys[i] = e.Value
			}
			if err := tx.Prefetch(bucket, keys); err != nil {
				yield(Entry{}, err)
				return false
			}
			for _, e := range part {
				if !yield(e, nil) {
					return false
				}
			}
			part = part[:0]
			return true
		}
		for e, err := range scan {
			if err != nil {
				yield(e, err)
				return
			}
			part = append(part, Entry{Key: bytes.Clone(e.Key), Value: bytes.Clone(e.Value)})
			if len(part) >= most && !flush() {
				return
			}
		}
		flush()
	}
}

// entries are the records of a query as they are stored, with their keys in its
// order.
func (t Table[T]) entries(tx Tx, q Query) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		bucket := t.bucketOf(q)
		from, to := q.Prefix, After(q.Prefix)
		if len(q.Prefix) == 0 {
			to = nil
		}
		if q.Cursor != "" {
			at, err := base64.RawURLEncoding.DecodeString(q.Cursor)
			at, own := bytes.CutPrefix(at, cursorOf(bucket, nil))
			if err != nil || !own || !bytes.HasPrefix(at, q.Prefix) {
				yield(Entry{}, fmt.Errorf("cursor %q is not of this list", q.Cursor))
				return
			}
			if q.Reverse {
				to = at
			} else {
				from = slices.Concat(at, []byte{0})
			}
		}
		if q.Index == "" {
			for e, err := range tx.Scan(bucket, from, to, q.Reverse) {
				if !yield(e, err) || err != nil {
					return
				}
			}
			return
		}
		for e, err := range prefetching(tx, bucket, t.Bucket, from, to, q) {
			if err == nil {
				if e.Value, err = tx.Get(t.Bucket, e.Value); err != nil {
					err = fmt.Errorf("index %s names a record that is not there: %w", bucket, err)
				}
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}
