package telemetry

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/block"
	"app.sunloop/engine/series"
)

// groupBlocks is about how many blocks ReadUnits copies out at a time.
const groupBlocks = 400

// ReadUnits yields the assets' samples, a frame for each, in the order of their
// ids. The rows of the open day hold all units, so they are read once for all
// of them: reading units one by one would read each row as often as there are
// units. They are read first: days sealed meanwhile are in blocks too, which
// have priority.
func (a *Store) ReadUnits(ctx context.Context, siteID string, assetIDs []string, from, to time.Time, quantities ...series.Quantity) iter.Seq2[store.AssetFrame, error] {
	return func(yield func(store.AssetFrame, error) bool) {
		at, end := ceilUnix(from), ceilUnix(to)
		tails, err := a.tails(ctx, siteID, assetIDs, at, end, quantities)
		if err != nil {
			yield(store.AssetFrame{}, err)
			return
		}
		each := int(max(0, end-at)/(runDays*secondsADay)) + 2 // blocks
		for group := range slices.Chunk(assetIDs, max(1, groupBlocks/each)) {
			blocks, err := a.blocks(ctx, siteID, group, at, end)
			if err != nil {
				yield(store.AssetFrame{}, err)
				return
			}
			for _, id := range group {
				f, err := joined(blocks[id], tails[id], at, end, quantities)
				if err != nil {
					yield(store.AssetFrame{}, fmt.Errorf("read telemetry of %s: %w", id, err))
					return
				}
				if !yield(store.AssetFrame{AssetID: id, Frame: f}, nil) {
					return
				}
			}
		}
	}
}

// tails are the assets' parts of the open day.
func (a *Store) tails(ctx context.Context, siteID string, assetIDs []string, from, to int64, quantities []series.Quantity) (map[string]series.Frame, error) {
	frames := map[string]series.Frame{}
	if len(assetIDs) == 0 || from >= to {
		return frames, nil
	}
	err := a.viewSite(ctx, siteID, func(site *site) error {
		if to <= site.layout.open {
			return nil
		}
		assets, err := site.Assets(assetIDs...)
		if err != nil {
			return err
		}
		builders := map[uint32]*frameBuilder{}
		for _, v := range assets {
			builders[v.Ref] = new(frameBuilder)
		}
		for c, err := range site.Rows(from, to) {
			if err != nil {
				return err
			}
			for u, err := range storedRow(c.Value).all() {
				if err != nil {
					return err
				}
				if b := builders[u.ref]; b != nil {
					b.add(c.Start, u.values, quantities)
				}
			}
		}
		for _, v := range assets {
			frames[v.ID] = builders[v.Ref].frame
		}
		return nil
	})
	return frames, err
}

// blocks are copies of the assets' blocks that may overlap from..to.
func (a *Store) blocks(ctx context.Context, siteID string, assetIDs []string, from, to int64) (map[string][][]byte, error) {
	var blocks map[string][][]byte
	if from >= to {
		return nil, nil
	}
	err := a.viewSite(ctx, siteID, func(site *site) error {
		blocks = map[string][][]byte{}
		if from >= site.layout.open {
			return nil
		}
		assets, err := site.Assets(assetIDs...)
		if err != nil || len(assets) == 0 {
			return err
		}
		refs, ids := make([]uint32, len(assets)), map[uint32]string{}
		for i, v := range assets {
			refs[i], ids[v.Ref] = v.Ref, v.ID
		}
		slices.Sort(refs)
		for c, err := range site.Overlapping(Blocks, refs, from, to, 0) {
			if err != nil {
				return err
			}
			blocks[ids[c.Ref]] = append(blocks[ids[c.Ref]], bytes.Clone(c.Value))
		}
		return nil
	})
	return blocks, err
}

// joined is what blocks hold of from <= stamp < to, and behind it the tail's.
func joined(blocks [][]byte, tail series.Frame, from, to int64, quantities []series.Quantity) (series.Frame, error) {
	return store.Collect(func(yield func(series.Frame, error) bool) {
		for _, b := range blocks {
			f, err := block.DecodeRange(b, from, to, quantities...)
			if err != nil {
				yield(f, err)
				return
			}
			if n := f.Len(); n > 0 {
				from = f.Times[n-1] + 1
				if !yield(f, nil) {
					return
				}
			}
		}
		if tail = tail.Slice(from, to); tail.Len() > 0 {
			yield(tail, nil)
		}
	})
}
