package bolt

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"go.etcd.io/bbolt"
	"golang.org/x/sync/errgroup"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/block"
	"app.sunloop/engine/series"
)

// prepare makes the blocks that the append needs: of its own older samples, of
// the tail's days that are over, and, where the zone has changed, of all there
// is. The caller keeps other appends of the site out.
func (a *appending) prepare(ctx context.Context) error {
	var sealed []store.AssetFrame
	steps := map[string]int64{}
	err := a.store.view(ctx, func(tx *bbolt.Tx) error {
		site, err := siteIn(tx, a.id)
		if err != nil || site == nil {
			return err
		}
		known, err := site.roster()
		if err != nil {
			return err
		}
		for _, asset := range known {
			steps[asset.id] = asset.step
		}
		if a.rezone {
			sealed, err = site.everything(known)
		} else {
			sealed, err = site.tailBefore(known, a.is.open)
		}
		return err
	})
	if err != nil {
		return err
	}
	if a.rezone {
		// What is there counts as older, and the open day's part of it has to
		// be written again like the rest.
		a.frames = oneEach(append(sealed, a.frames...))
		a.is.open = a.openDay()
		sealed = nil
	}
	a.cut(append(sealed, a.frames...), steps)
	if !a.rezone {
		if err := a.load(ctx); err != nil {
			return err
		}
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for part := range slices.Chunk(a.blocks, 16) {
		g.Go(func() error {
			for _, p := range part {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := p.encode(); err != nil {
					return fmt.Errorf("asset %s: %w", p.asset, err)
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// cut divides what lies before the open day into pieces, one for each asset
// and run, ascending. Of two frames of an asset the later one is newer.
func (a *appending) cut(frames []store.AssetFrame, steps map[string]int64) {
	type place struct {
		asset string
		start int64
	}
	at := map[place]*piece{}
	for _, f := range frames {
		rest := f.Frame.Slice(f.Frame.Times[0], a.is.open)
		step := steps[f.AssetID]
		if s := commonInterval(f.Frame.Times); s > 0 {
			step = s
		}
		for rest.Len() > 0 {
			r := a.calendar.at(rest.Times[0])
			part := rest.Slice(rest.Times[0], r.end)
			rest = rest.Slice(r.end, a.is.open)
			p := at[place{f.AssetID, r.start}]
			if p == nil {
				p = &piece{asset: f.AssetID, run: r, step: step}
				at[place{f.AssetID, r.start}] = p
				a.blocks = append(a.blocks, p)
			}
			if p.frame.Len() == 0 {
				p.frame = part
			} else {
				p.frame = series.Merge(p.frame, part)
			}
		}
	}
	slices.SortFunc(a.blocks, func(p, q *piece) int {
		switch {
		case p.asset != q.asset && p.asset < q.asset, p.asset == q.asset && p.run.start < q.run.start:
			return -1
		}
		return 1
	})
}

// load copies the blocks that the pieces go into.
func (a *appending) load(ctx context.Context) error {
	return a.store.view(ctx, func(tx *bbolt.Tx) error {
		site, err := siteIn(tx, a.id)
		if err != nil || site == nil {
			return err
		}
		blocks := site.bucket.Bucket(blocksName)
		for _, p := range a.blocks {
			if ref, ok := site.ref(p.asset); ok {
				p.stored = slices.Clone(blocks.Get(blockKey(ref, p.run.start)))
			}
		}
		return nil
	})
}

// encode makes the piece's block and day sums.
func (p *piece) encode() error {
	whole := p.frame
	if p.stored != nil {
		old, err := block.Decode(p.stored)
		if err != nil {
			return err
		}
		whole = series.Merge(old, whole)
	}
	whole = withoutEmpty(whole)
	var err error
	if p.block, err = block.Encode(nil, whole); err != nil {
		return err
	}
	for _, d := range sums(whole, p.run.days, p.run.end, p.step) {
		p.sums = d.append(p.sums)
	}
	return nil
}

// withoutEmpty leaves out columns without a value.
func withoutEmpty(f series.Frame) series.Frame {
	out := series.Frame{Times: f.Times}
	for _, c := range f.Columns {
		if slices.ContainsFunc(c.Values, func(v float64) bool { return v == v }) {
			out.Columns = append(out.Columns, c)
		}
	}
	return out
}

// tailBefore is what the tail holds before t, as frames by asset.
func (s *site) tailBefore(known roster, t int64) ([]store.AssetFrame, error) {
	builders := make([]frameBuilder, len(known))
	c := s.bucket.Bucket(tailName).Cursor()
	for k, v := c.First(); k != nil && splitStampKey(k) < t; k, v = c.Next() {
		for u, err := range storedRow(v).all() {
			if err != nil {
				return nil, err
			}
			if int(u.ref) >= len(builders) {
				return nil, errRow
			}
			builders[u.ref].add(splitStampKey(k), u.values, nil)
		}
	}
	var frames []store.AssetFrame
	for ref, b := range builders {
		if b.frame.Len() > 0 {
			frames = append(frames, store.AssetFrame{AssetID: known[ref].id, Frame: b.frame})
		}
	}
	return frames, nil
}

// everything is all of a site's telemetry.
func (s *site) everything(known roster) ([]store.AssetFrame, error) {
	frames, err := s.tailBefore(known, maxStamp)
	if err != nil {
		return nil, err
	}
	for ref, asset := range known {
		f, err := store.Collect(func(yield func(series.Frame, error) bool) {
			for b := range s.blocks(uint32(ref), math.MinInt64, maxStamp) {
				if f, err := block.Decode(b); !yield(f, err) {
					return
				}
			}
		})
		if err != nil {
			return nil, fmt.Errorf("asset %s: %w", asset.id, err)
		}
		frames = append(frames, store.AssetFrame{AssetID: asset.id, Frame: f})
	}
	return frames, nil
}

// Seal moves the tails of all sites whose day is over by the clock into blocks
// and answers how many sites that were. Append does it for sites that report;
// this is for those that have fallen silent.
func (s *Store) Seal(ctx context.Context) (int, error) {
	var ids []string
	err := s.view(ctx, func(tx *bbolt.Tx) error {
		return tx.Bucket(telemetryBucket).ForEachBucket(func(k []byte) error {
			ids = append(ids, string(k))
			return nil
		})
	})
	if err != nil {
		return 0, fmt.Errorf("seal telemetry: %w", err)
	}
	sealed := 0
	for _, id := range ids {
		did, err := s.seal(ctx, id)
		if err != nil {
			return sealed, fmt.Errorf("seal telemetry of site %s: %w", id, err)
		}
		if did {
			sealed++
		}
	}
	return sealed, nil
}

func (s *Store) seal(ctx context.Context, id string) (bool, error) {
	lock := s.siteLock(id)
	lock.Lock()
	defer lock.Unlock()
	a := &appending{store: s, id: id, old: true}
	tail := 0
	err := s.view(ctx, func(tx *bbolt.Tx) error {
		site, err := siteIn(tx, id)
		if err != nil || site == nil {
			return err
		}
		if a.zone, err = s.siteZone(site); err != nil {
			return err
		}
		a.calendar = &calendar{zone: a.zone}
		a.was = site.meta
		a.is = siteMeta{site.meta.zone, max(site.meta.open, a.calendar.midnight(s.now().Unix()))}
		if k, _ := site.bucket.Bucket(tailName).Cursor().First(); k != nil && splitStampKey(k) < a.is.open {
			tail++
		}
		return nil
	})
	if err != nil || tail == 0 {
		return false, err
	}
	if err := a.prepare(ctx); err != nil {
		return false, err
	}
	return true, s.writes.update(ctx, func(tx *bbolt.Tx) (bool, error) { return true, a.put(tx) })
}
