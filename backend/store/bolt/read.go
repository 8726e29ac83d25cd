package bolt

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/block"
	"app.sunloop/engine/series"
)

// maxStamp is later than any stamp.
const maxStamp = math.MaxInt64

// readBlocks is how many blocks are copied out of the file at a time: a
// transaction is never open while the reader is at work, or it could wait for
// itself.
const readBlocks = 32

// Read yields an asset's samples, a frame for each block, that is for some days,
// and one for the open day. Unknown sites and assets have none.
func (s *Store) Read(ctx context.Context, siteID, assetID string, from, to time.Time, quantities ...series.Quantity) iter.Seq2[series.Frame, error] {
	return func(yield func(series.Frame, error) bool) {
		at, end := ceilUnix(from), ceilUnix(to)
		for at < end {
			part, err := s.readPart(ctx, siteID, assetID, at, end, quantities)
			if err != nil {
				yield(series.Frame{}, fmt.Errorf("read telemetry of %s: %w", assetID, err))
				return
			}
			for _, b := range part.blocks {
				f, err := block.DecodeRange(b, at, end, quantities...)
				if err != nil {
					yield(series.Frame{}, fmt.Errorf("read telemetry of %s: %w", assetID, err))
					return
				}
				if n := f.Len(); n > 0 {
					at = f.Times[n-1] + 1
					if !yield(f, nil) {
						return
					}
				}
			}
			if part.more {
				continue
			}
			if part.tail.Len() > 0 {
				yield(part.tail, nil)
			}
			return
		}
	}
}

// part is what one transaction gives a reader. Blocks and tail are from one
// state, so nothing is lost when a day is sealed between two parts.
type part struct {
	blocks [][]byte
	more   bool // blocks, so that the tail has not been looked at
	tail   series.Frame
}

func (s *Store) readPart(ctx context.Context, siteID, assetID string, from, to int64, quantities []series.Quantity) (part, error) {
	var p part
	err := s.view(ctx, func(tx *bbolt.Tx) error {
		site, err := siteIn(tx, siteID)
		if err != nil || site == nil {
			return err
		}
		ref, ok := site.ref(assetID)
		if !ok {
			return nil
		}
		if from < site.meta.open {
			for b := range site.blocks(ref, from, to) {
				if p.more = len(p.blocks) == readBlocks; p.more {
					return nil
				}
				p.blocks = append(p.blocks, bytes.Clone(b))
			}
		}
		if to > site.meta.open {
			p.tail, err = site.tail(ref, from, to, quantities)
		}
		return err
	})
	return p, err
}

// blocks yields an asset's blocks that may have samples with from <= time < to.
func (s *site) blocks(ref uint32, from, to int64) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, v := range s.keyed(blocksName, ref, from, to) {
			if !yield(v) {
				return
			}
		}
	}
}

// keyed yields an asset's values of the bucket whose run may overlap from..to.
func (s *site) keyed(bucket []byte, ref uint32, from, to int64) iter.Seq2[int64, []byte] {
	return func(yield func(int64, []byte) bool) {
		c := s.bucket.Bucket(bucket).Cursor()
		key := blockKey(ref, from)
		k, v := c.Seek(key)
		if !bytes.Equal(k, key) {
			// The run that holds from began earlier, if it is there.
			if k == nil {
				k, v = c.Last()
			} else {
				k, v = c.Prev()
			}
			if k == nil || !bytes.Equal(k[:4], key[:4]) {
				k, v = c.Seek(key)
			}
		}
		for ; k != nil && bytes.Equal(k[:4], key[:4]); k, v = c.Next() {
			_, start := splitBlockKey(k)
			if start >= to || !yield(start, v) {
				return
			}
		}
	}
}

// tail is an asset's part of the open day.
func (s *site) tail(ref uint32, from, to int64, quantities []series.Quantity) (series.Frame, error) {
	var b frameBuilder
	at := 0 // in the row, mostly the same as in the row before
	c := s.bucket.Bucket(tailName).Cursor()
	for k, v := c.Seek(stampKey(from)); k != nil && splitStampKey(k) < to; k, v = c.Next() {
		var values sample
		var err error
		if values, at, err = storedRow(v).seek(ref, at); err != nil {
			return series.Frame{}, err
		}
		if values != nil {
			b.add(splitStampKey(k), values, quantities)
		}
	}
	return b.frame, nil
}

// Period is the first and last stamp of an asset or of the whole site.
func (s *Store) Period(ctx context.Context, siteID, assetID string) (first, last time.Time, ok bool, err error) {
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	err = s.viewSite(ctx, siteID, func(site *site) error {
		r, err := site.roster()
		for _, a := range r {
			if assetID == "" || a.id == assetID {
				lo, hi, ok = min(lo, a.first), max(hi, a.last), true
			}
		}
		return err
	})
	if err != nil || !ok {
		return time.Time{}, time.Time{}, false, err
	}
	return time.Unix(lo, 0).UTC(), time.Unix(hi, 0).UTC(), true, nil
}

// Latest is each asset's newest sample, ascending by asset.
func (s *Store) Latest(ctx context.Context, siteID string) ([]store.AssetFrame, error) {
	var frames []store.AssetFrame
	err := s.viewSite(ctx, siteID, func(site *site) error {
		r, err := site.roster()
		for _, a := range r {
			frames = append(frames, store.AssetFrame{AssetID: a.id, Frame: a.newest.frame(a.last)})
		}
		return err
	})
	slices.SortFunc(frames, func(a, b store.AssetFrame) int { return cmp.Compare(a.AssetID, b.AssetID) })
	return frames, err
}

// viewSite runs fn with the site, or not at all where there is none.
func (s *Store) viewSite(ctx context.Context, siteID string, fn func(s *site) error) error {
	err := s.view(ctx, func(tx *bbolt.Tx) error {
		site, err := siteIn(tx, siteID)
		if err != nil || site == nil {
			return err
		}
		return fn(site)
	})
	if err != nil {
		return fmt.Errorf("read telemetry of site %s: %w", siteID, err)
	}
	return nil
}

// ceilUnix is the first whole second that is not before t, so that from..to is
// the same stamps in seconds.
func ceilUnix(t time.Time) int64 {
	s := t.Unix()
	if t.Nanosecond() > 0 {
		s++
	}
	return s
}
