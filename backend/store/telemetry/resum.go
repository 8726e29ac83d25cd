package telemetry

import (
	"context"
	"fmt"
	"math"

	"app.sunloop/backend/store/block"
	"app.sunloop/engine/energy"
)

// Resum replaces the day sums that earlier versions stored, in all sites, and
// returns the number of sites. Until a site's sums are replaced, Daily computes
// them from the samples. It may be interrupted and run again, and other replicas
// may run it at the same time.
func (a *Store) Resum(ctx context.Context) (int, error) {
	ids, err := a.storage.Sites(ctx)
	if err != nil {
		return 0, fmt.Errorf("sum days again: %w", err)
	}
	n := 0
	for _, id := range ids {
		did, err := a.resum(ctx, id)
		if err != nil {
			return n, fmt.Errorf("sum days of site %s again: %w", id, err)
		}
		if did {
			n++
		}
	}
	return n, nil
}

// resum replaces the day sums of a site if they are of an earlier version. It
// reports whether they were.
func (a *Store) resum(ctx context.Context, id string) (did bool, err error) {
	// Most sites are current: a read blocks no append.
	err = a.storage.View(ctx, id, func(r Reader) error {
		site, err := siteIn(r, id)
		did = err == nil && site != nil && site.layout.sums != sumsVersion
		return err
	})
	if err != nil || !did {
		return false, err
	}
	err = a.storage.Change(ctx, id, true, func(c Change) error {
		r := resumming{archive: a, id: id}
		if err := c.View(r.read); err != nil {
			return err
		}
		return c.Update(r.write)
	})
	return err == nil, err
}

// resumming is the replacement of a site's day sums.
type resumming struct {
	archive *Store
	id      string
	months  []Cell
}

// read sums the days of all blocks.
func (m *resumming) read(r Reader) error {
	m.months = nil
	site, err := siteIn(r, m.id)
	if err != nil || site == nil {
		return err
	}
	zone, err := m.archive.siteZone(site)
	if err != nil {
		return err
	}
	known, err := site.assetIndex()
	if err != nil {
		return err
	}
	// A month that has no days any more keeps no sums.
	for c, err := range site.All(Sums) {
		if err != nil {
			return err
		}
		m.months = append(m.months, Cell{Location: c.Location})
	}
	at := make(map[Location]int, len(m.months))
	for i, c := range m.months {
		at[c.Location] = i
	}
	days := make([][]daySum, len(m.months))
	cal, decoder, sum := &calendar{zone: zone}, &block.Decoder{}, &summer{}
	for c, err := range site.All(Blocks) {
		if err != nil {
			return err
		}
		if int(c.Ref) >= len(known) {
			return errAssetIndex
		}
		f, err := decoder.DecodeRange(c.Value, math.MinInt64, maxStamp, energy.Quantities...)
		if err != nil {
			return fmt.Errorf("asset %s: %w", known[c.Ref].id, err)
		}
		run := cal.at(c.Start)
		place := Location{c.Ref, run.month}
		i, ok := at[place]
		if !ok {
			i = len(days)
			at[place] = i
			m.months, days = append(m.months, Cell{Location: place}), append(days, nil)
		}
		days[i] = sum.sums(days[i], f, run.days, run.end, known[c.Ref].step, 0)
	}
	for i := range m.months {
		m.months[i].Value = packSums(days[i])
	}
	return nil
}

// write stores the sums and their version. It may run more than once.
func (m *resumming) write(w Writer) error {
	site, err := siteIn(w, m.id)
	if err != nil || site == nil {
		return err
	}
	assetIndex, err := w.AssetIndex()
	if err != nil {
		return err
	}
	site.layout.sums = sumsVersion
	if err := w.PutSite(site.layout.append(nil), assetIndex, nil); err != nil {
		return err
	}
	return w.Put(Sums, m.months)
}
