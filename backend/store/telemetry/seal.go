package telemetry

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/block"
	"app.sunloop/engine/energy"
	"app.sunloop/engine/series"
)

// prepare builds the blocks that the append needs: of older samples in it, of
// the tail's finished days, and, if the zone has changed, of all data. The
// caller excludes other appends of the site.
func (a *appending) prepare(ctx context.Context, c Change) error {
	var sealed []store.AssetFrame
	var known assetIndex
	err := c.View(func(r Reader) error {
		site, err := siteIn(r, a.id)
		if err != nil || site == nil {
			return err
		}
		if known, err = site.assetIndex(); err != nil {
			return err
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
		a.frames = a.calendar.split(oneEach(append(sealed, a.frames...)))
		a.is.open, a.is.sums = a.openDay(), sumsVersion
		sealed = nil
	}
	a.cut(append(sealed, a.frames...), known)
	if !a.rezone {
		if err := a.load(c, known); err != nil {
			return err
		}
	}
	return a.encodeAll(ctx)
}

// encodeAll builds the blocks and day sums of all pieces.
func (a *appending) encodeAll(ctx context.Context) error {
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
func (a *appending) cut(frames []store.AssetFrame, known assetIndex) {
	steps := map[string]int64{}
	for _, asset := range known {
		steps[asset.id] = asset.step
	}
	type place struct {
		asset string
		start int64
	}
	at := map[place]*piece{}
	for _, f := range frames {
		rest := f.Frame.Slice(f.Frame.Times[0], a.is.open)
		step := steps[f.AssetID]
		if s := usualStep(f.Frame.Times); s != 0 {
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
				p.frame = energy.Merge(p.frame, part)
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
func (a *appending) load(c Change, known assetIndex) error {
	ref := known.byID()
	var at []Location
	var pieces []*piece
	for _, p := range a.blocks {
		if n, ok := ref[p.asset]; ok {
			at, pieces = append(at, Location{n, p.run.start}), append(pieces, p)
		}
	}
	if len(at) == 0 {
		return nil
	}
	return c.View(func(r Reader) error {
		stored, err := r.Get(Blocks, at)
		if err != nil {
			return err
		}
		for i, p := range pieces {
			p.stored = slices.Clone(stored[i])
		}
		return nil
	})
}

// encode builds the piece's block and day sums.
func (p *piece) encode() error {
	whole := p.frame
	if p.stored != nil {
		old, err := block.Decode(p.stored)
		if err != nil {
			return err
		}
		// What is new may show more of its day.
		p.eachDay(func(day, end int64) {
			if i, _ := slices.BinarySearch(p.frame.Times, day); i < p.frame.Len() && p.frame.Times[i] < end {
				old = energy.WithoutDerived(old, day, end)
			}
		})
		whole = energy.Merge(old, whole)
	}
	p.eachDay(func(day, end int64) { whole = energy.DeriveSteps(whole, day, end, p.step) })
	whole = withoutEmpty(whole)
	var err error
	if p.block, err = block.Encode(nil, whole); err != nil {
		return err
	}
	var sum summer
	p.sums = sum.sums(p.sums[:0], whole, p.run.days, p.run.end, p.step, 0)
	return nil
}

// eachDay calls f with the start and the end of each day of the piece's run.
func (p *piece) eachDay(f func(day, end int64)) {
	for i, day := range p.run.days {
		end := p.run.end
		if i+1 < len(p.run.days) {
			end = p.run.days[i+1]
		}
		f(day, end)
	}
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
func (s *site) tailBefore(known assetIndex, t int64) ([]store.AssetFrame, error) {
	builders := make([]frameBuilder, len(known))
	for c, err := range s.Rows(math.MinInt64, t) {
		if err != nil {
			return nil, err
		}
		for u, err := range storedRow(c.Value).all() {
			if err != nil {
				return nil, err
			}
			if int(u.ref) >= len(builders) {
				return nil, errRow
			}
			builders[u.ref].add(c.Start, u.values, nil)
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

// everything is all of a site's telemetry, of each asset the blocks before the
// tail: a coarse sample at the end of a block corrects none of the tail.
func (s *site) everything(known assetIndex) ([]store.AssetFrame, error) {
	var frames []store.AssetFrame
	for ref, asset := range known {
		f, err := store.Collect(func(yield func(series.Frame, error) bool) {
			for c, err := range s.Overlapping(Blocks, []uint32{uint32(ref)}, math.MinInt64, maxStamp, 0) {
				var f series.Frame
				if err == nil {
					f, err = block.Decode(c.Value)
				}
				if !yield(f, err) {
					return
				}
			}
		})
		if err != nil {
			return nil, fmt.Errorf("asset %s: %w", asset.id, err)
		}
		frames = append(frames, store.AssetFrame{AssetID: asset.id, Frame: energy.WithoutDerived(f, math.MinInt64, maxStamp)})
	}
	tail, err := s.tailBefore(known, maxStamp)
	return append(frames, tail...), err
}

// Seal moves the tails of all sites whose day is over by the clock into blocks
// and returns how many sites that were. Append does it for sites that report;
// this is for those that have fallen silent.
func (a *Store) Seal(ctx context.Context) (int, error) {
	ids, err := a.storage.Sites(ctx)
	if err != nil {
		return 0, fmt.Errorf("seal telemetry: %w", err)
	}
	sealed := 0
	for _, id := range ids {
		did, err := a.seal(ctx, id)
		if err != nil {
			return sealed, fmt.Errorf("seal telemetry of site %s: %w", id, err)
		}
		if did {
			sealed++
		}
	}
	return sealed, nil
}

func (a *Store) seal(ctx context.Context, id string) (did bool, err error) {
	// Most sites have nothing to seal: a read blocks no other append.
	p := &appending{archive: a, id: id, old: true}
	if did, err = p.over(func(fn func(r Reader) error) error { return a.storage.View(ctx, id, fn) }); err != nil || !did {
		return false, err
	}
	if _, err := a.resum(ctx, id); err != nil {
		return false, err
	}
	err = a.storage.Change(ctx, id, true, func(c Change) error {
		p := &appending{archive: a, id: id, old: true}
		if did, err = p.over(c.View); err != nil || !did {
			return err
		}
		if err := p.prepare(ctx, c); err != nil {
			return err
		}
		return c.Update(p.put)
	})
	return did && err == nil, err
}

// over reports whether the tail holds days that are over by the clock, and
// prepares an append of only these.
func (a *appending) over(view func(fn func(r Reader) error) error) (bool, error) {
	found := false
	err := view(func(r Reader) error {
		site, err := siteIn(r, a.id)
		if err != nil || site == nil {
			return err
		}
		if a.zone, err = a.archive.siteZone(site); err != nil {
			return err
		}
		a.calendar = &calendar{zone: a.zone}
		a.was = site.layout
		a.is = layout{site.layout.zone, max(site.layout.open, a.calendar.midnight(a.archive.now().Unix())), site.layout.sums}
		for _, err := range site.Rows(math.MinInt64, a.is.open) {
			found = err == nil
			return err
		}
		return nil
	})
	return found, err
}
