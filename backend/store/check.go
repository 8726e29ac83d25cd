package store

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// Checked is the data of a package in buckets of records, as seen by a check. A
// bucket that no package claims is reported.
type Checked interface {
	// Buckets are those that it claims.
	Buckets() []string
	// Check reads all of it, reports what is wrong, and returns the number
	// of records.
	Check(tx Tx, report func(error)) (records int)
	// Record is the type of the records as they are stored; nil for entries
	// without a form.
	Record() reflect.Type
}

// Unchecked claims a bucket of entries that have no form to check.
type Unchecked string

// Buckets is the one bucket.
func (p Unchecked) Buckets() []string { return []string{string(p)} }

// Check counts the entries.
func (p Unchecked) Check(tx Tx, report func(error)) (records int) {
	for _, err := range tx.Scan(string(p), nil, nil, false) {
		if err != nil {
			report(fmt.Errorf("read %s: %w", p, err))
			break
		}
		records++
	}
	return records
}

// Record is nil.
func (p Unchecked) Record() reflect.Type { return nil }

// Record is T, or the type of the table's form.
func (t Table[T]) Record() reflect.Type { return t.form().stored() }

// Buckets are the table's own and those of its indexes.
func (t Table[T]) Buckets() []string {
	buckets := []string{t.Bucket}
	for _, ix := range t.Indexes {
		buckets = append(buckets, t.indexBucket(ix))
	}
	return buckets
}

// Check decodes every record, finds it under its own key and in each of its
// indexes, and sees that every entry of an index names a record that belongs
// there.
func (t Table[T]) Check(tx Tx, report func(error)) (records int) {
	for e, err := range tx.Scan(t.Bucket, nil, nil, false) {
		if err != nil {
			report(fmt.Errorf("read %s: %w", t.Bucket, err))
			return records
		}
		records++
		v, err := t.decode(e.Value)
		if err != nil {
			report(fmt.Errorf("record %s of %s cannot be read: %w", keyText(e.Key), t.Bucket, err))
			continue
		}
		if key := t.Key(v); !bytes.Equal(key, e.Key) {
			report(fmt.Errorf("record %s of %s lies under the key %s", keyText(key), t.Bucket, keyText(e.Key)))
			continue
		}
		for _, ix := range t.Indexes {
			k := ix.Key(v)
			if k == nil {
				continue
			}
			if named, err := tx.Get(t.indexBucket(ix), slices.Concat(k, e.Key)); err != nil || !bytes.Equal(named, e.Key) {
				report(fmt.Errorf("record %s of %s is not in its index %s", keyText(e.Key), t.Bucket, ix.Name))
			}
		}
	}
	for _, ix := range t.Indexes {
		t.checkIndex(tx, ix, report)
	}
	return records
}

func (t Table[T]) checkIndex(tx Tx, ix Index[T], report func(error)) {
	for e, err := range tx.Scan(t.indexBucket(ix), nil, nil, false) {
		if err != nil {
			report(fmt.Errorf("read index %s of %s: %w", ix.Name, t.Bucket, err))
			return
		}
		b, err := tx.Get(t.Bucket, e.Value)
		if errors.Is(err, ErrNotFound) {
			report(fmt.Errorf("index %s of %s names the record %s, which is not there", ix.Name, t.Bucket, keyText(e.Value)))
			continue
		}
		if err != nil {
			continue // reported as a record
		}
		v, err := t.decode(b)
		if err != nil {
			continue // reported as a record
		}
		if k := ix.Key(v); k == nil || !bytes.Equal(slices.Concat(k, e.Value), e.Key) {
			report(fmt.Errorf("index %s of %s has the record %s where it does not belong", ix.Name, t.Bucket, keyText(e.Value)))
		}
	}
}

// keyText is a key for people.
func keyText(key []byte) string {
	if parts := Parts(key); parts != nil {
		return fmt.Sprintf("%q", parts)
	}
	return fmt.Sprintf("%q", key)
}
