package bolt

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"time"

	"go.etcd.io/bbolt"
	"golang.org/x/sync/errgroup"

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
	c := s.bucket.Bucket(tailName).Cursor()
	for k, v := c.Seek(stampKey(from)); k != nil && splitStampKey(k) < to; k, v = c.Next() {
		values, err := storedRow(v).find(ref)
		if err != nil {
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

// maxDaysAhead is for how many days room is made before they are counted.
const maxDaysAhead = 400

// Daily are the stored day sums, and those of the open day computed, ascending
// by asset and day.
func (s *Store) Daily(ctx context.Context, siteID string, from, to time.Time, assetIDs ...string) ([]store.DaySum, error) {
	lo, hi := ceilUnix(from), ceilUnix(to)
	var out []store.DaySum
	err := s.viewSite(ctx, siteID, func(site *site) error {
		zone, err := s.siteZone(site)
		if err != nil {
			return err
		}
		assets := site.assets(assetIDs)
		out = make([]store.DaySum, 0, min(max(0, hi-lo)/secondsADay+1, maxDaysAhead))
		open, err := site.openDays(assets, zone, lo, hi)
		if err != nil {
			return err
		}
		for i, a := range assets {
			for _, v := range site.keyed(sumsName, a.ref, lo, hi) {
				if len(v)%daySumSize != 0 {
					return errSums
				}
				for ; len(v) > 0; v = v[daySumSize:] {
					if d := readDaySum(v); d.day >= lo && d.day < hi {
						out = append(out, d.of(a.id, zone))
					}
				}
			}
			for _, d := range open[a.ref] {
				if d.day >= lo && d.day < hi {
					out = append(out, d.of(a.id, zone))
				}
			}
			if i == 0 {
				// The other assets are likely to have as many days.
				out = slices.Grow(out, len(out)*(len(assets)-1))
			}
		}
		return nil
	})
	return out, err
}

func (d daySum) of(assetID string, zone *time.Location) store.DaySum {
	return store.DaySum{AssetID: assetID, Day: time.Unix(d.day, 0).In(zone), EnergyKWh: d.energyKWh, PeakKW: d.peakKW, Samples: int(d.samples)}
}

// openDays sums what the tail holds of the days that start in from..to, by ref.
func (s *site) openDays(assets []named, zone *time.Location, from, to int64) (map[uint32][]daySum, error) {
	if to <= s.meta.open {
		return nil, nil
	}
	r, err := s.roster()
	if err != nil {
		return nil, err
	}
	out := map[uint32][]daySum{}
	cal := calendar{zone: zone}
	frames, err := s.tailFrames(assets, max(from, s.meta.open), len(r))
	for ref, f := range frames {
		for f.Len() > 0 {
			run := cal.at(f.Times[0])
			out[uint32(ref)] = append(out[uint32(ref)], sums(f.Slice(f.Times[0], run.end), run.days, run.end, r[ref].step)...)
			f = f.Slice(run.end, maxStamp)
		}
	}
	return out, err
}

// fewAssets is for how many assets each is looked up in the tail's rows by
// itself; for more, the rows are read from end to end.
const fewAssets = 4

// tailFrames is what sums are made of in the tail, from a time on; the place of
// a frame is its asset's ref.
func (s *site) tailFrames(assets []named, from int64, known int) ([]series.Frame, error) {
	out := make([]series.Frame, known)
	if len(assets) <= fewAssets {
		for _, a := range assets {
			f, err := s.tail(a.ref, from, maxStamp, summed)
			if err != nil {
				return nil, err
			}
			out[a.ref] = f
		}
		return out, nil
	}
	builders := make([]frameBuilder, known)
	c := s.bucket.Bucket(tailName).Cursor()
	for k, v := c.Seek(stampKey(from)); k != nil; k, v = c.Next() {
		at := splitStampKey(k)
		for u, err := range storedRow(v).all() {
			if err != nil {
				return nil, err
			}
			if int(u.ref) >= known {
				return nil, errRow
			}
			builders[u.ref].add(at, u.values, summed)
		}
	}
	for _, a := range assets {
		out[a.ref] = builders[a.ref].frame
	}
	return out, nil
}

// Recompute is Daily from the samples themselves, on all cores: what the
// stored sums must be equal to.
func (s *Store) Recompute(ctx context.Context, siteID string, from, to time.Time, assetIDs ...string) ([]store.DaySum, error) {
	var assets []named
	var steps []int64
	var zone *time.Location
	err := s.viewSite(ctx, siteID, func(site *site) error {
		r, err := site.roster()
		if err != nil {
			return err
		}
		assets = site.assets(assetIDs)
		for _, a := range assets {
			steps = append(steps, r[a.ref].step)
		}
		zone, err = s.siteZone(site)
		return err
	})
	if err != nil {
		return nil, err
	}
	days := make([][]store.DaySum, len(assets))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, a := range assets {
		g.Go(func() (err error) {
			days[i], err = s.recompute(ctx, siteID, a.id, from, to, zone, steps[i])
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(days...), nil
}

func (s *Store) recompute(ctx context.Context, siteID, assetID string, from, to time.Time, zone *time.Location, step int64) ([]store.DaySum, error) {
	lo, hi := ceilUnix(from), ceilUnix(to)
	cal := calendar{zone: zone}
	var out []store.DaySum
	// Whole runs are read, as a day that starts in the range may end behind it.
	for f, err := range s.Read(ctx, siteID, assetID, from, to.AddDate(0, 0, 2), summed...) {
		if err != nil {
			return nil, err
		}
		for f.Len() > 0 {
			run := cal.at(f.Times[0])
			for _, d := range sums(f.Slice(f.Times[0], run.end), run.days, run.end, step) {
				if d.day >= lo && d.day < hi {
					out = append(out, d.of(assetID, zone))
				}
			}
			f = f.Slice(run.end, maxStamp)
		}
	}
	return out, nil
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
