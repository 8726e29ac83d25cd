package store

import (
	"bytes"
	"fmt"
)

// Prefixed are records that belong together by the prefix of their keys, as those
// of a site do.
type Prefixed interface {
	// CountPrefix counts those with a prefix.
	CountPrefix(tx Tx, prefix []byte) (int, error)
	// DeletePrefix deletes those with a prefix, at most so many, and returns their
	// number.
	DeletePrefix(tx Tx, prefix []byte, most int) (int, error)
}

// CountPrefix counts the records whose keys begin with prefix.
func (t Table[T]) CountPrefix(tx Tx, prefix []byte) (int, error) {
	return countPrefix(tx, t.Bucket, prefix)
}

// DeletePrefix deletes records whose keys begin with prefix, at most so many, with
// their index entries.
func (t Table[T]) DeletePrefix(tx Tx, prefix []byte, most int) (int, error) {
	return deletePrefix(tx, t.Bucket, prefix, most, t.Delete)
}

// CountPrefix counts the entries whose keys begin with prefix.
func (p Unchecked) CountPrefix(tx Tx, prefix []byte) (int, error) {
	return countPrefix(tx, string(p), prefix)
}

// DeletePrefix deletes entries whose keys begin with prefix, at most so many.
func (p Unchecked) DeletePrefix(tx Tx, prefix []byte, most int) (int, error) {
	return deletePrefix(tx, string(p), prefix, most, func(tx Tx, key []byte) error { return tx.Delete(string(p), key) })
}

func countPrefix(tx Tx, bucket string, prefix []byte) (int, error) {
	n := 0
	for _, err := range tx.Scan(bucket, prefix, After(prefix), false) {
		if err != nil {
			return n, fmt.Errorf("count the records of %s: %w", bucket, err)
		}
		n++
	}
	return n, nil
}

func deletePrefix(tx Tx, bucket string, prefix []byte, most int, drop func(tx Tx, key []byte) error) (int, error) {
	var keys [][]byte
	for e, err := range tx.Scan(bucket, prefix, After(prefix), false) {
		if err != nil {
			return 0, fmt.Errorf("list the records of %s: %w", bucket, err)
		}
		if keys = append(keys, bytes.Clone(e.Key)); len(keys) == most {
			break
		}
	}
	for _, key := range keys {
		if err := drop(tx, key); err != nil {
			return 0, fmt.Errorf("delete a record of %s: %w", bucket, err)
		}
	}
	return len(keys), nil
}

// ChangePrefix changes the records whose keys begin with prefix, where change
// reports that it did. It may change their keys.
func (t Table[T]) ChangePrefix(tx Tx, prefix []byte, change func(*T) bool) error {
	type pair struct {
		key []byte
		v   T
	}
	var changed []pair
	for e, err := range tx.Scan(t.Bucket, prefix, After(prefix), false) {
		if err != nil {
			return fmt.Errorf("list the records of %s: %w", t.Bucket, err)
		}
		v, err := t.Decode(e.Value)
		if err != nil {
			return err
		}
		if change(&v) {
			changed = append(changed, pair{bytes.Clone(e.Key), v})
		}
	}
	for _, p := range changed {
		if err := t.Delete(tx, p.key); err != nil {
			return err
		}
		if err := t.Put(tx, p.v); err != nil {
			return err
		}
	}
	return nil
}
