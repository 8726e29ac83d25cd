package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"go.etcd.io/bbolt"

	"app.sunloop/backend/store"
)

// Since schema 2 each stored value ends in a checksum of its bucket, its key
// and itself, so that a value is either returned as it was written or an error
// is. A read that finds nothing verifies the rows before and after the
// position: because the order of keys is verified, a row that existed can only
// be one of these, with a damaged key.
const (
	sumSchema = 2
	sumBytes  = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// bucketSeed is what the checksums in a bucket start from, by that of the bucket
// around it.
func bucketSeed(outer uint32, name []byte) uint32 {
	return sumParts(outer, name, nil)
}

// sumParts is a checksum of a key, with its length, and a value.
func sumParts(seed uint32, key, value []byte) uint32 {
	sum := crc32.Update(seed^uint32(len(key))*0x9E3779B1, castagnoli, key) //nolint:gosec // part of a checksum
	return crc32.Update(sum, castagnoli, value)
}

// sealValue is a value with its checksum.
func sealValue(seed uint32, key, value []byte) []byte {
	b := make([]byte, 0, len(value)+sumBytes)
	b = append(b, value...)
	return binary.LittleEndian.AppendUint32(b, sumParts(seed, key, value))
}

// openValue is a value without its checksum; ok is false if they do not match.
func openValue(seed uint32, key, stored []byte) (value []byte, ok bool) {
	n := len(stored) - sumBytes
	if n < 0 {
		return nil, false
	}
	return stored[:n:n], binary.LittleEndian.Uint32(stored[n:]) == sumParts(seed, key, stored[:n])
}

// schemaOf reads the version of the layout from its two rows. The second came
// with schema 2 and is a checksum of the first.
func schemaOf(version, sum []byte) (uint32, error) {
	if len(version) != 4 {
		return 0, damage("the schema is missing")
	}
	v := binary.BigEndian.Uint32(version)
	if sum == nil && v == 1 {
		return v, nil
	}
	if sum == nil || !bytes.Equal(sum, schemaSum(version)) {
		return 0, damage("the schema %d does not match its checksum", v)
	}
	if v > SchemaVersion {
		return 0, fmt.Errorf("%w: schema %d, this one knows up to %d", store.ErrNewer, v, SchemaVersion)
	}
	return v, nil
}

func schemaSum(version []byte) []byte {
	return binary.LittleEndian.AppendUint32(nil, sumParts(bucketSeed(0, metaBucket), schemaKey, version))
}

// putSchema stores the version of the layout.
func putSchema(meta *bbolt.Bucket) error {
	version := binary.BigEndian.AppendUint32(nil, SchemaVersion)
	return errors.Join(meta.Put(schemaKey, version), meta.Put(schemaSumKey, schemaSum(version)))
}

// root is all buckets in a transaction.
type root struct {
	tx   *bbolt.Tx
	sums bool // values carry checksums
}

// bucket returns the named bucket, or nil.
func (r root) bucket(name []byte) *bucket { return r.of(r.tx.Bucket(name), 0, name) }

func (r root) of(b *bbolt.Bucket, outer uint32, name []byte) *bucket {
	if b == nil {
		return nil
	}
	return &bucket{in: b, seed: bucketSeed(outer, name), sums: r.sums, name: name}
}

// bucket is a bucket whose values carry checksums. A value that does not match
// its own ends the transaction with an error, see [Store.guarded].
type bucket struct {
	in    *bbolt.Bucket
	seed  uint32
	sums  bool
	mixed bool // there are buckets between the rows, whose names were verified when the file was opened
	name  []byte
}

// inner returns a bucket within, or nil.
func (b *bucket) inner(name []byte) *bucket {
	return root{sums: b.sums}.of(b.in.Bucket(name), b.seed, name)
}

// need is a bucket within that is always there.
func (b *bucket) need(name []byte) *bucket {
	in := b.inner(name)
	if in == nil {
		panic(damaged{damage("bucket %q lacks the bucket %q", b.name, name)})
	}
	return in
}

// open verifies a row and returns its value.
func (b *bucket) open(key, stored []byte) []byte {
	if !b.sums || key == nil || stored == nil && b.mixed {
		return stored
	}
	value, ok := openValue(b.seed, key, stored)
	if !ok || stored == nil {
		panic(damaged{damage("a row of bucket %q does not match its checksum", b.name)})
	}
	return value
}

// damaged is the panic of a damaged row, for [Store.guarded].
type damaged struct{ error }

// Get returns the value at key, or nil.
func (b *bucket) Get(key []byte) []byte {
	if !b.sums {
		return b.in.Get(key)
	}
	c := b.in.Cursor()
	k, v := c.Seek(key)
	if k != nil && bytes.Equal(k, key) {
		return b.open(k, v)
	}
	b.open(k, v)
	b.open(b.before(c, k == nil, key))
	return nil
}

// before is the row before a key at which a cursor found none.
func (b *bucket) before(c *bbolt.Cursor, end bool, key []byte) (k, v []byte) {
	switch {
	case b.in.Writable():
		return seekBefore(c, key)
	case end:
		return c.Last()
	}
	return c.Prev()
}

// Put stores a value.
func (b *bucket) Put(key, value []byte) error {
	if err := b.in.Put(key, sealValue(b.seed, key, value)); err != nil {
		return fmt.Errorf("put into %s: %w", b.name, err)
	}
	return nil
}

// Delete removes a row, if it is there.
func (b *bucket) Delete(key []byte) error {
	if err := b.in.Delete(key); err != nil {
		return fmt.Errorf("delete from %s: %w", b.name, err)
	}
	return nil
}

// Cursor walks the rows, each of which is verified as it is reached.
func (b *bucket) Cursor() cursor { return cursor{b.in.Cursor(), b} }

type cursor struct {
	in *bbolt.Cursor
	of *bucket
}

func (c cursor) at(k, v []byte) (key, value []byte) { return k, c.of.open(k, v) }

// after is the first row with a greater key.
func (c cursor) after(key []byte) (k, value []byte) {
	k, v := c.in.Seek(key)
	if k != nil && bytes.Equal(k, key) {
		return c.Next()
	}
	return c.at(k, v)
}

// before is the last row with a smaller key. The row behind it is verified too.
func (c cursor) before(key []byte) (k, value []byte) {
	if c.of.sums {
		c.near(key)
	}
	return c.at(seekBefore(c.in, key))
}

func (c cursor) First() (key, value []byte) { return c.at(c.in.First()) }
func (c cursor) Last() (key, value []byte)  { return c.at(c.in.Last()) }
func (c cursor) Next() (key, value []byte)  { return c.at(c.in.Next()) }
func (c cursor) Prev() (key, value []byte)  { return c.at(c.in.Prev()) }

// Seek is the first row at or behind a key. The row before it is verified too
// where the key itself is not there.
func (c cursor) Seek(key []byte) (k, value []byte) {
	k, v := c.in.Seek(key)
	if c.of.sums && (k == nil || !bytes.Equal(k, key)) {
		c.of.open(c.of.before(c.in, k == nil, key))
		k, v = c.in.Seek(key)
	}
	return c.at(k, v)
}

// near is Seek for a caller that verifies the row before itself.
func (c cursor) near(key []byte) (k, value []byte) { return c.at(c.in.Seek(key)) }
