package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"slices"
	"sync"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/telemetry"
)

// Inside a site's bucket, itself in the telemetry bucket under the site's id:
var (
	siteKey       = []byte("site")   // the layout
	assetIndexKey = []byte("roster") // the roster
	refsName      = []byte("refs")   // bucket: asset id → ref, 4 bytes
	blocksName    = []byte("blocks") // bucket: ref ‖ run's start → block
	sumsName      = []byte("sums")   // bucket: ref ‖ month's start → day sums
	tailName      = []byte("tail")   // bucket: stamp → row
	siteBuckets   = [][]byte{refsName, blocksName, sumsName, tailName}
)

// partNames are the buckets of the parts.
var partNames = [...][]byte{telemetry.Blocks: blocksName, telemetry.Sums: sumsName, telemetry.Tail: tailName}

// appendFill is how full pages are left whose keys come in order: what comes
// later goes behind, and seldom in between.
const appendFill = 1.0

// readBlocks is how many blocks are copied out of the file at a time.
const readBlocks = 32

// sites is telemetry.Storage in the file.
type sites struct {
	store *Store
	locks sync.Map // site id → *sync.RWMutex
}

var (
	_ store.Telemetry   = (*Store)(nil)
	_ telemetry.Storage = (*sites)(nil)
)

// Sites are the sites with telemetry.
func (h *sites) Sites(ctx context.Context) ([]string, error) {
	var ids []string
	err := h.store.view(ctx, func(r root) error {
		return r.tx.Bucket(telemetryBucket).ForEachBucket(func(k []byte) error {
			ids = append(ids, string(k))
			return nil
		})
	})
	return ids, err
}

// View runs fn with the site as it was committed last.
func (h *sites) View(ctx context.Context, id string, fn func(r telemetry.Reader) error) error {
	return h.store.view(ctx, func(in root) error { return fn(siteIn(in, id)) })
}

// Change holds the site's lock: shared if any number of changes may run, whose
// transactions isolate them and which share commits, and exclusively if one
// must be alone.
func (h *sites) Change(ctx context.Context, id string, alone bool, fn func(c telemetry.Change) error) error {
	v, ok := h.locks.Load(id)
	if !ok {
		v, _ = h.locks.LoadOrStore(id, new(sync.RWMutex))
	}
	lock := v.(*sync.RWMutex)
	if alone {
		lock.Lock()
		defer lock.Unlock()
	} else {
		lock.RLock()
		defer lock.RUnlock()
	}
	return fn(change{ctx, h, id})
}

// change is telemetry.Change while the site's lock is held.
type change struct {
	ctx   context.Context
	sites *sites
	id    string
}

func (c change) View(fn func(r telemetry.Reader) error) error {
	return c.sites.View(c.ctx, c.id, fn)
}

func (c change) Update(fn func(w telemetry.Writer) error) error {
	return c.sites.store.writes.update(c.ctx, func(in root) (bool, error) {
		s := siteIn(in, c.id)
		if err := s.make(); err != nil {
			return true, err
		}
		return true, fn(s)
	})
}

// site is a site's bucket in a transaction; bucket is nil without one.
type site struct {
	in     root
	id     string
	bucket *bucket
}

func siteIn(in root, id string) *site {
	s := &site{in: in, id: id}
	s.find()
	return s
}

// find looks up the site's bucket.
func (s *site) find() {
	if s.bucket = s.in.bucket(telemetryBucket).inner([]byte(s.id)); s.bucket != nil {
		s.bucket.mixed = true
	}
}

// make creates the bucket if needed.
func (s *site) make() error {
	made, err := s.in.tx.Bucket(telemetryBucket).CreateBucketIfNotExists([]byte(s.id))
	if err != nil {
		return err
	}
	for _, name := range siteBuckets {
		if _, err := made.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	s.find()
	return nil
}

// Layout is what PutSite stored; empty, which is no layout, in a bucket that
// lacks it.
func (s *site) Layout() ([]byte, error) {
	b, err := s.value(siteKey)
	if b == nil && s.bucket != nil {
		b = []byte{}
	}
	return b, err
}

// AssetIndex is what PutSite stored.
func (s *site) AssetIndex() ([]byte, error) { return s.value(assetIndexKey) }

func (s *site) value(key []byte) ([]byte, error) {
	if s.bucket == nil {
		return nil, nil
	}
	return s.bucket.Get(key), nil
}

// Assets are the named assets that there are, or all, ascending by id.
func (s *site) Assets(ids ...string) ([]telemetry.Asset, error) {
	if s.bucket == nil {
		return nil, nil
	}
	var out []telemetry.Asset
	refs := s.bucket.need(refsName)
	if len(ids) == 0 {
		c := refs.Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			out = append(out, telemetry.Asset{ID: string(k), Ref: binary.BigEndian.Uint32(v)})
		}
		return out, nil
	}
	if len(ids) > 1 {
		ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	}
	for _, id := range ids {
		if b := refs.Get([]byte(id)); len(b) == 4 {
			out = append(out, telemetry.Asset{ID: id, Ref: binary.BigEndian.Uint32(b)})
		}
	}
	return out, nil
}

// Get returns a value for each place.
func (s *site) Get(p telemetry.Section, at []telemetry.Location) ([][]byte, error) {
	values := make([][]byte, len(at))
	if s.bucket == nil {
		return values, nil
	}
	b := s.bucket.need(partNames[p])
	for i, place := range at {
		values[i] = b.Get(cellKey(p, place))
	}
	return values, nil
}

// Overlapping yields the assets' values that may overlap from..to.
func (s *site) Overlapping(p telemetry.Section, refs []uint32, from, to int64, limit int) iter.Seq2[telemetry.Cell, error] {
	return func(yield func(telemetry.Cell, error) bool) {
		if s.bucket == nil {
			return
		}
		c := s.bucket.need(partNames[p]).Cursor()
		n := 0
		for _, ref := range refs {
			k, v := seekOverlap(c, ref, from)
			for ; k != nil && binary.BigEndian.Uint32(k) == ref; k, v = c.Next() {
				start := splitStampKey(k[4:])
				if start >= to {
					break
				}
				if !yield(telemetry.Cell{Location: telemetry.Location{Ref: ref, Start: start}, Value: v}, nil) {
					return
				}
				if n++; n == limit {
					return
				}
			}
		}
	}
}

// seekOverlap is the asset's last entry that begins at or before from, or else
// its first.
func seekOverlap(c cursor, ref uint32, from int64) (k, v []byte) {
	key := blockKey(ref, from)
	if k, v = c.near(key); bytes.Equal(k, key) {
		return k, v
	}
	if k == nil {
		k, v = c.Last()
	} else {
		k, v = c.Prev()
	}
	if k == nil || !bytes.Equal(k[:4], key[:4]) {
		return c.near(key)
	}
	return k, v
}

// All yields a whole part.
func (s *site) All(p telemetry.Section) iter.Seq2[telemetry.Cell, error] {
	return func(yield func(telemetry.Cell, error) bool) {
		if s.bucket == nil {
			return
		}
		c := s.bucket.need(partNames[p]).Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			if !yield(telemetry.Cell{Location: splitCellKey(p, k), Value: v}, nil) {
				return
			}
		}
	}
}

// Rows yields the rows of from..to.
func (s *site) Rows(from, to int64) iter.Seq2[telemetry.Cell, error] {
	return func(yield func(telemetry.Cell, error) bool) {
		if s.bucket == nil {
			return
		}
		c := s.bucket.need(tailName).Cursor()
		for k, v := c.Seek(stampKey(from)); k != nil; k, v = c.Next() {
			at := splitStampKey(k)
			if at >= to || !yield(telemetry.Cell{Location: telemetry.Location{Start: at}, Value: v}, nil) {
				return
			}
		}
	}
}

// Clear empties the site.
func (s *site) Clear() error {
	if err := s.in.tx.Bucket(telemetryBucket).DeleteBucket([]byte(s.id)); err != nil {
		return err
	}
	return s.make()
}

// Remove removes the site.
func (s *site) Remove() error {
	return s.in.tx.Bucket(telemetryBucket).DeleteBucket([]byte(s.id))
}

// PutSite stores the site's layout, roster and joined asset.
func (s *site) PutSite(layout, roster []byte, joined []telemetry.Asset) error {
	refs := s.bucket.need(refsName)
	for _, a := range joined {
		if err := refs.Put([]byte(a.ID), binary.BigEndian.AppendUint32(nil, a.Ref)); err != nil {
			return err
		}
	}
	return errors.Join(s.bucket.Put(siteKey, layout), s.bucket.Put(assetIndexKey, roster))
}

// Put stores cells, and removes those without a value.
func (s *site) Put(p telemetry.Section, cells []telemetry.Cell) error {
	b := s.bucket.need(partNames[p])
	b.in.FillPercent = appendFill
	for _, c := range cells {
		var err error
		if c.Value == nil {
			err = b.Delete(cellKey(p, c.Location))
		} else {
			err = b.Put(cellKey(p, c.Location), c.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// DropRows removes the rows before a stamp.
func (s *site) DropRows(before int64) error {
	tail := s.bucket.need(tailName)
	var old [][]byte
	c := tail.Cursor()
	for k, _ := c.First(); k != nil && splitStampKey(k) < before; k, _ = c.Next() {
		old = append(old, slices.Clone(k))
	}
	for _, k := range old {
		if err := tail.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// cellKey is a place as the key of its part.
func cellKey(p telemetry.Section, at telemetry.Location) []byte {
	if p == telemetry.Tail {
		return stampKey(at.Start)
	}
	return blockKey(at.Ref, at.Start)
}

func splitCellKey(p telemetry.Section, k []byte) telemetry.Location {
	if p == telemetry.Tail {
		return telemetry.Location{Start: splitStampKey(k)}
	}
	return telemetry.Location{Ref: binary.BigEndian.Uint32(k), Start: splitStampKey(k[4:])}
}

// blockKey sorts by asset, then time.
func blockKey(ref uint32, start int64) []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 12), ref)
	return append(b, stampKey(start)...)
}

// stampKey sorts by time, negative ones too.
func stampKey(t int64) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, 0, 8), uint64(t)^1<<63)
}

func splitStampKey(k []byte) int64 { return int64(binary.BigEndian.Uint64(k) ^ 1<<63) }
