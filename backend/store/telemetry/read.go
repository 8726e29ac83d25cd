package telemetry

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/block"
	"app.sunloop/engine/series"
)

// maxStamp is later than any stamp.
const maxStamp = math.MaxInt64

// Read yields an asset's samples, a frame for each block, that is for some days,
// and one for the open day. Unknown sites and assets have none. No transaction is
// open while the reader is at work, or it could wait for itself: some blocks are
// copied out at a time.
func (a *Store) Read(ctx context.Context, siteID, assetID string, from, to time.Time, quantities ...series.Quantity) iter.Seq2[series.Frame, error] {
	return func(yield func(series.Frame, error) bool) {
		at, end := ceilUnix(from), ceilUnix(to)
		for at < end {
			part, err := a.readPart(ctx, siteID, assetID, at, end, quantities)
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

func (a *Store) readPart(ctx context.Context, siteID, assetID string, from, to int64, quantities []series.Quantity) (part, error) {
	var p part
	err := a.storage.View(ctx, siteID, func(r Reader) error {
		site, err := siteIn(r, siteID)
		if err != nil || site == nil {
			return err
		}
		assets, err := site.Assets(assetID)
		if err != nil || len(assets) == 0 {
			return err
		}
		ref := assets[0].Ref
		if from < site.layout.open {
			for c, err := range site.Overlapping(Blocks, []uint32{ref}, from, to, a.partBlocks+1) {
				if err != nil {
					return err
				}
				if p.more = len(p.blocks) == a.partBlocks; p.more {
					return nil
				}
				p.blocks = append(p.blocks, bytes.Clone(c.Value))
			}
		}
		if to > site.layout.open {
			p.tail, err = site.tail(ref, from, to, quantities)
		}
		return err
	})
	return p, err
}

// tail is an asset's part of the open day.
func (s *site) tail(ref uint32, from, to int64, quantities []series.Quantity) (series.Frame, error) {
	var b frameBuilder
	at := 0 // in the row, mostly the same as in the row before
	for c, err := range s.Rows(from, to) {
		if err != nil {
			return series.Frame{}, err
		}
		var values sample
		if values, at, err = storedRow(c.Value).seek(ref, at); err != nil {
			return series.Frame{}, err
		}
		if values != nil {
			b.add(c.Start, values, quantities)
		}
	}
	return b.frame, nil
}

// Period is the first and last stamp of an asset or of the whole site.
func (a *Store) Period(ctx context.Context, siteID, assetID string) (first, last time.Time, ok bool, err error) {
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	err = a.viewSite(ctx, siteID, func(site *site) error {
		r, err := site.assetIndex()
		for _, v := range r {
			if assetID == "" || v.id == assetID {
				lo, hi, ok = min(lo, v.first), max(hi, v.last), true
			}
		}
		return err
	})
	if err != nil || !ok {
		return time.Time{}, time.Time{}, false, err
	}
	return time.Unix(lo, 0).UTC(), time.Unix(hi, 0).UTC(), true, nil
}

// Steps are the usual steps of a site's assets in seconds, of those that have one.
func (a *Store) Steps(ctx context.Context, siteID string) (map[string]int64, error) {
	var steps map[string]int64
	err := a.viewSite(ctx, siteID, func(site *site) error {
		r, err := site.assetIndex()
		steps = make(map[string]int64, len(r))
		for _, v := range r {
			if v.step > 0 {
				steps[v.id] = v.step
			}
		}
		return err
	})
	return steps, err
}

// Latest is each asset's newest sample, ascending by asset.
func (a *Store) Latest(ctx context.Context, siteID string) ([]store.AssetFrame, error) {
	var frames []store.AssetFrame
	err := a.viewSite(ctx, siteID, func(site *site) error {
		r, err := site.assetIndex()
		for _, v := range r {
			frames = append(frames, store.AssetFrame{AssetID: v.id, Frame: v.newest.frame(v.last)})
		}
		return err
	})
	slices.SortFunc(frames, func(a, b store.AssetFrame) int { return cmp.Compare(a.AssetID, b.AssetID) })
	return frames, err
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
