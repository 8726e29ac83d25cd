package record

import (
	"bytes"
	"fmt"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// pruneAtOnce bounds a transaction, so that others wait only briefly.
const pruneAtOnce = 500

// Prune deletes records that are due, up to the bound. Site and time are read
// off the keys alone: the last part of each is an id that was made by [NewID].
func Prune[T any](tx store.Tx, t store.Table[T], due func(siteID string, made time.Time) bool) (int, error) {
	var keys [][]byte
	for e, err := range tx.Scan(t.Bucket, nil, nil, false) {
		if err != nil {
			return 0, err
		}
		parts := store.Parts(e.Key)
		if made, ok := MadeAt(parts); ok && due(parts[0], made) {
			keys = append(keys, bytes.Clone(e.Key))
		}
		if len(keys) == pruneAtOnce {
			break
		}
	}
	for _, k := range keys {
		if err := t.Delete(tx, k); err != nil {
			return 0, err
		}
	}
	return len(keys), nil
}

// ObjectRef is a record's reference to objects, with what the record knows of them.
type ObjectRef struct {
	By     string   // the record, for people
	Keys   []string // of the objects, in the order in which SHA256 takes them
	URI    string   // instead of keys
	Bytes  int64    // of all together; 0: not known
	SHA256 string   // hex, of all together; empty: not known
}

// EachReadable calls do with the records of a table that can be read.
func EachReadable[T any](tx store.Tx, t store.Table[T], do func(T)) error {
	for e, err := range tx.Scan(t.Bucket, nil, nil, false) {
		if err != nil {
			return fmt.Errorf("read %s: %w", t.Bucket, err)
		}
		if v, err := t.Decode(e.Value); err == nil {
			do(v)
		}
	}
	return nil
}

// OfSite are records whose keys begin with the id of a site. They are deleted with it.
type OfSite struct {
	store.Prefixed
	Effect func(e *api.SiteEffects) *int // the count of these records among the effects of a removal; nil: they are not counted
	Last   bool                          // deleted last, in one transaction: until then the site is known to be removed
}

// OfSites returns records that are deleted with their site, without a count.
func OfSites(records ...store.Prefixed) []OfSite {
	list := make([]OfSite, len(records))
	for i, r := range records {
		list[i].Prefixed = r
	}
	return list
}
