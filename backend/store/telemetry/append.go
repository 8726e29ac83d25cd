package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/engine/energy"
	"app.sunloop/engine/series"
)

// Append stores all frames or none; when it returns they are durable.
//
// Samples of the site's open day go to the tail, all time stamps of the call in
// one transaction. Older ones are first merged into their blocks, on all cores,
// and then written in one transaction: even a year of a hundred units blocks
// other writers only while some megabytes are written.
//
// The open day is that of the site's newest sample, or of the clock if that is
// earlier. Days before it are sealed: the Append that opens the next day moves
// them from the tail to blocks. If a site's zone changes, all its blocks are
// rebuilt.
func (a *Store) Append(ctx context.Context, key store.SiteKey, frames []store.AssetFrame) error {
	if err := a.append(ctx, key, frames); err != nil {
		return fmt.Errorf("append telemetry of site %s: %w", key.ID, err)
	}
	return nil
}

// errOlder: the frames are not of the open day only.
var errOlder = errors.New("blocks have to be made")

func (a *Store) append(ctx context.Context, key store.SiteKey, frames []store.AssetFrame) error {
	if err := checkFrames(key, frames); err != nil {
		return err
	}
	zone, err := store.Zone(key.Zone.String())
	if err != nil {
		return err
	}
	frames = oneEach(frames)
	if len(frames) == 0 {
		return nil
	}
	// A live step needs no block: it may overlap with others, which write to the
	// tail only as well.
	err = a.storage.Change(ctx, key.ID, false, func(c Change) error {
		p, err := a.plan(c, key.ID, zone, frames)
		if err == nil && !p.tailOnly() {
			err = errOlder
		}
		if err != nil {
			return err
		}
		return c.Update(p.put)
	})
	if !errors.Is(err, errOlder) {
		return err
	}
	if _, err := a.resum(ctx, key.ID); err != nil {
		return err
	}
	return a.storage.Change(ctx, key.ID, true, func(c Change) error {
		p, err := a.plan(c, key.ID, zone, frames)
		if err != nil {
			return err
		}
		if err := p.prepare(ctx, c); err != nil {
			return err
		}
		return c.Update(p.put)
	})
}

// oneEach joins frames of one asset, later ones being newer, drops empty ones
// and sorts by asset.
func oneEach(frames []store.AssetFrame) []store.AssetFrame {
	var out []store.AssetFrame
	for _, f := range frames {
		if f.Frame.Len() > 0 {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b store.AssetFrame) int {
		switch {
		case a.AssetID < b.AssetID:
			return -1
		case a.AssetID > b.AssetID:
			return 1
		}
		return 0
	})
	n := 0
	for i, f := range out {
		if i > 0 && f.AssetID == out[n-1].AssetID {
			out[n-1].Frame = energy.Merge(out[n-1].Frame, f.Frame)
			continue
		}
		out[n] = f
		n++
	}
	return out[:n]
}

// appending is a running Append.
type appending struct {
	archive  *Store
	id       string
	zone     *time.Location
	calendar *calendar
	frames   []store.AssetFrame
	was, is  layout
	old      bool // the site has telemetry already
	rezone   bool // all of it has to be laid out again
	blocks   []*piece
}

// piece is an asset's part of a run that has to be written.
type piece struct {
	asset  string
	run    run
	frame  series.Frame // what is new, and what the tail held
	stored []byte       // the block that is there, if any
	step   int64        // the asset's usual interval
	block  []byte       // to be written
	sums   []daySum
}

// plan reads what is stored and determines the open day.
func (a *Store) plan(c Change, id string, zone *time.Location, frames []store.AssetFrame) (*appending, error) {
	p := &appending{archive: a, id: id, zone: zone, frames: frames, calendar: &calendar{zone: zone}}
	err := c.View(func(r Reader) error {
		site, err := siteIn(r, id)
		if err != nil || site == nil {
			return err
		}
		p.was, p.old = site.layout, true
		return nil
	})
	if err != nil {
		return nil, err
	}
	p.is = layout{zone.String(), p.openDay(), sumsVersion}
	if p.old {
		p.is.sums = p.was.sums // a live sample changes none
	}
	if p.rezone = p.old && p.was.zone != p.is.zone; p.old && !p.rezone {
		p.is.open = max(p.is.open, p.was.open)
	}
	return p, nil
}

// openDay is the midnight before the frames' newest sample, or before now: a
// stamp of the future opens no day. History that ends before today by the clock
// leaves no day open.
func (a *appending) openDay() int64 {
	oldest, newest := int64(math.MaxInt64), int64(math.MinInt64)
	for _, f := range a.frames {
		oldest = min(oldest, f.Frame.Times[0])
		newest = max(newest, f.Frame.Times[f.Frame.Len()-1])
	}
	today := a.calendar.midnight(a.archive.now().Unix())
	day := min(today, a.calendar.midnight(newest))
	if oldest < day && day < today {
		// It writes blocks as it is; one for the last day costs nothing more.
		day = series.NextMidnight(time.Unix(day, 0), a.zone).Unix()
	}
	return day
}

// tailOnly reports that no block is changed, nor the layout.
func (a *appending) tailOnly() bool {
	if !a.old || a.rezone || a.is != a.was {
		return false
	}
	for _, f := range a.frames {
		if f.Frame.Times[0] < a.is.open {
			return false
		}
	}
	return true
}

// put writes what was prepared, and the tail. It may run more than once.
func (a *appending) put(w Writer) error {
	if a.rezone {
		if err := w.Clear(); err != nil {
			return err
		}
	}
	stored, err := w.AssetIndex()
	if err != nil {
		return err
	}
	before, err := readAssetIndex(stored)
	if err != nil {
		return err
	}
	after, refs := before.refs(a.frames)
	for i, f := range a.frames {
		after[refs[i]].note(f)
	}
	if err := w.PutSite(a.is.append(nil), after.append(nil), after.from(len(before))); err != nil {
		return err
	}
	if len(a.blocks) > 0 {
		if err := a.putBlocks(w, after); err != nil {
			return err
		}
	}
	return a.putTail(w, refs)
}

// putBlocks puts the blocks and their sums, and drops what they hold of the
// tail.
func (a *appending) putBlocks(w Writer, known assetIndex) error {
	ref := known.byID()
	blocks := make([]Cell, len(a.blocks))
	var months []Cell
	var at []Location
	for i, p := range a.blocks {
		n, ok := ref[p.asset]
		if !ok {
			return fmt.Errorf("asset %s: %w", p.asset, errAssetIndex)
		}
		blocks[i] = Cell{Location{n, p.run.start}, p.block}
		// The pieces of a month are neighbours.
		if month := (Location{n, p.run.month}); i == 0 || at[len(at)-1] != month {
			at = append(at, month)
		}
	}
	stored, err := w.Get(Sums, at)
	if err != nil {
		return err
	}
	for i, p := range a.blocks {
		if n := len(months); n == 0 || months[n-1].Location != (Location{blocks[i].Ref, p.run.month}) {
			months = append(months, Cell{at[n], stored[n]})
		}
		m := &months[len(months)-1]
		if err := monthSums(m.Value).check(); err != nil {
			return fmt.Errorf("asset %s: %w", p.asset, err)
		}
		m.Value = monthSums(m.Value).replace(p.run.start, p.run.end, p.sums)
	}
	for i := range months {
		if len(months[i].Value) == 0 {
			months[i].Value = nil
		}
	}
	if err := w.Put(Blocks, blocks); err != nil {
		return err
	}
	if err := w.Put(Sums, months); err != nil {
		return err
	}
	return w.DropRows(a.is.open)
}

// putTail merges the samples of the open day into its rows.
func (a *appending) putTail(w Writer, refs []uint32) error {
	rows := map[int64]row{}
	var at []Location
	add := func(t int64) {
		if len(at) > 0 && at[len(at)-1].Start == t {
			return // the same stamp of the asset before, mostly
		}
		if _, ok := rows[t]; !ok {
			rows[t] = nil
			at = append(at, Location{Start: t})
		}
	}
	frames := make([]series.Frame, len(a.frames))
	replaced := make([]bool, len(a.frames)) // the frame has all of the asset's samples at its stamps
	for i, f := range a.frames {
		first, _ := slices.BinarySearch(f.Frame.Times, a.is.open)
		if frames[i] = f.Frame; first > 0 {
			frames[i] = f.Frame.Slice(a.is.open, maxStamp)
		}
		if frames[i].Len() == 0 {
			continue
		}
		corrected, ok, err := corrected(w, refs[i], frames[i])
		if err != nil {
			return err
		}
		if ok {
			frames[i], replaced[i] = corrected, true
		}
		for _, t := range frames[i].Times {
			add(t)
		}
	}
	if len(at) == 0 {
		return nil
	}
	slices.SortFunc(at, func(a, b Location) int { return cmp.Compare(a.Start, b.Start) })
	stored, err := w.Get(Tail, at)
	if err != nil {
		return err
	}
	for i, b := range stored {
		if b != nil {
			if rows[at[i].Start], err = storedRow(b).row(); err != nil {
				return err
			}
		}
	}
	for i, f := range frames {
		for k, t := range f.Times {
			if replaced[i] {
				rows[t] = rows[t].replace(refs[i], sampleOf(f, k))
			} else {
				rows[t] = rows[t].set(refs[i], sampleOf(f, k))
			}
		}
	}
	cells := make([]Cell, len(at))
	for i, p := range at {
		cells[i] = Cell{p, rows[p.Start].append(nil)}
	}
	return w.Put(Tail, cells)
}

// corrected is a frame of the open day with what is stored of the asset's at its
// stamps and between them; ok is false if the frame replaces no finer samples.
func corrected(r Reader, ref uint32, f series.Frame) (out series.Frame, ok bool, err error) {
	if !energy.MayCorrect(f) {
		return out, false, nil
	}
	var b frameBuilder
	near := 0
	for c, err := range r.Rows(f.Times[0], f.Times[f.Len()-1]+secondsADay) {
		if err != nil {
			return out, false, err
		}
		var values sample
		if values, near, err = storedRow(c.Value).seek(ref, near); err != nil {
			return out, false, err
		}
		if values != nil {
			b.add(c.Start, values, nil)
		}
	}
	if b.frame.Len() == 0 || len(energy.Corrections(b.frame, f)) == 0 {
		return out, false, nil
	}
	return energy.Merge(b.frame, f), true, nil
}
