package bolt

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// Append stores all frames or none; when it returns they are on the disk.
// Samples of the site's open day go to the tail, all stamps of the call in one
// transaction. Older ones are first merged into their blocks outside of any
// transaction, on all cores, and then put in one: even a year of a hundred
// units holds up other writers only while some megabytes are written.
//
// The open day is that of the site's newest sample, or of the clock if that is
// earlier. Days before it are sealed: the Append that opens the next day moves
// them from the tail into blocks. A site that comes with another zone than
// before has all its blocks made anew.
func (s *Store) Append(ctx context.Context, key store.SiteKey, frames []store.AssetFrame) error {
	if err := s.append(ctx, key, frames); err != nil {
		return fmt.Errorf("append telemetry of site %s: %w", key.ID, err)
	}
	return nil
}

func (s *Store) append(ctx context.Context, key store.SiteKey, frames []store.AssetFrame) error {
	if err := checkFrames(key, frames); err != nil {
		return err
	}
	zone, err := s.zone(key.Zone.String())
	if err != nil {
		return err
	}
	frames = oneEach(frames)
	if len(frames) == 0 {
		return nil
	}
	lock := s.siteLock(key.ID)

	// A live step needs no block: any number of them may share a commit.
	lock.RLock()
	a, err := s.plan(ctx, key.ID, zone, frames)
	if err == nil && a.tailOnly() {
		defer lock.RUnlock()
		return s.writes.update(ctx, func(tx *bbolt.Tx) (bool, error) { return true, a.put(tx) })
	}
	lock.RUnlock()
	if err != nil {
		return err
	}

	lock.Lock()
	defer lock.Unlock()
	if a, err = s.plan(ctx, key.ID, zone, frames); err != nil {
		return err
	}
	if err := a.prepare(ctx); err != nil {
		return err
	}
	return s.writes.update(ctx, func(tx *bbolt.Tx) (bool, error) { return true, a.put(tx) })
}

// siteLock is held for reading by those who write to the tail only, since
// transactions keep them apart, and for writing by those who make blocks.
func (s *Store) siteLock(id string) *sync.RWMutex {
	lock, _ := s.sites.LoadOrStore(id, new(sync.RWMutex))
	return lock.(*sync.RWMutex)
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
			out[n-1].Frame = series.Merge(out[n-1].Frame, f.Frame)
			continue
		}
		out[n] = f
		n++
	}
	return out[:n]
}

// appending is one Append on its way.
type appending struct {
	store    *Store
	id       string
	zone     *time.Location
	calendar *calendar
	frames   []store.AssetFrame
	was, is  siteMeta
	old      bool // the site has telemetry already
	rezone   bool // all of it has to be laid out anew
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
	sums   []byte
}

// plan looks at what is stored and settles the open day.
func (s *Store) plan(ctx context.Context, id string, zone *time.Location, frames []store.AssetFrame) (*appending, error) {
	a := &appending{store: s, id: id, zone: zone, frames: frames, calendar: &calendar{zone: zone}}
	err := s.view(ctx, func(tx *bbolt.Tx) error {
		site, err := siteIn(tx, id)
		if err != nil || site == nil {
			return err
		}
		a.was, a.old = site.meta, true
		return nil
	})
	if err != nil {
		return nil, err
	}
	a.is = siteMeta{zone.String(), a.openDay()}
	if a.rezone = a.old && a.was.zone != a.is.zone; a.old && !a.rezone {
		a.is.open = max(a.is.open, a.was.open)
	}
	return a, nil
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
	today := a.calendar.midnight(a.store.now().Unix())
	day := min(today, a.calendar.midnight(newest))
	if oldest < day && day < today {
		// It writes blocks as it is; one for the last day costs nothing more.
		day = series.NextMidnight(time.Unix(day, 0), a.zone).Unix()
	}
	return day
}

// tailOnly says that no block is touched, nor the layout.
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
func (a *appending) put(tx *bbolt.Tx) error {
	if a.rezone {
		if err := tx.Bucket(telemetryBucket).DeleteBucket([]byte(a.id)); err != nil {
			return err
		}
	}
	site, err := makeSite(tx, a.id)
	if err != nil {
		return err
	}
	if err := site.bucket.Put(siteKey, a.is.append(nil)); err != nil {
		return err
	}
	before, err := site.roster()
	if err != nil {
		return err
	}
	after, refs := before.refs(a.frames)
	for i, f := range a.frames {
		after[refs[i]].note(f)
	}
	if err := site.putRoster(after, len(before)); err != nil {
		return err
	}
	if err := a.putBlocks(site); err != nil {
		return err
	}
	return a.putTail(site, refs)
}

func (a *appending) putBlocks(site *site) error {
	blocks, sums := site.bucket.Bucket(blocksName), site.bucket.Bucket(sumsName)
	blocks.FillPercent, sums.FillPercent = appendFill, appendFill
	for _, p := range a.blocks {
		ref, ok := site.ref(p.asset)
		if !ok {
			return fmt.Errorf("asset %s: %w", p.asset, errRoster)
		}
		if err := blocks.Put(blockKey(ref, p.run.start), p.block); err != nil {
			return err
		}
		month := blockKey(ref, p.run.month)
		days := monthSums(sums.Get(month)).replace(p.run.start, p.run.end, p.sums)
		var err error
		if len(days) > 0 {
			err = sums.Put(month, days)
		} else {
			err = sums.Delete(month)
		}
		if err != nil {
			return err
		}
	}
	if len(a.blocks) == 0 {
		return nil
	}
	// What has been sealed leaves the tail.
	tail := site.bucket.Bucket(tailName)
	var sealed [][]byte
	c := tail.Cursor()
	for k, _ := c.First(); k != nil && splitStampKey(k) < a.is.open; k, _ = c.Next() {
		sealed = append(sealed, slices.Clone(k))
	}
	for _, k := range sealed {
		if err := tail.Delete(k); err != nil {
			return err
		}
	}
	return nil
}

// putTail merges the samples of the open day into its rows.
func (a *appending) putTail(site *site, refs []uint32) error {
	tail := site.bucket.Bucket(tailName)
	tail.FillPercent = appendFill
	rows := map[int64]row{}
	for i, f := range a.frames {
		first, _ := slices.BinarySearch(f.Frame.Times, a.is.open)
		for k := first; k < f.Frame.Len(); k++ {
			at := f.Frame.Times[k]
			r, ok := rows[at]
			if !ok {
				if stored := tail.Get(stampKey(at)); stored != nil {
					var err error
					if r, err = storedRow(stored).row(); err != nil {
						return err
					}
				}
			}
			rows[at] = r.set(refs[i], sampleOf(f.Frame, k))
		}
	}
	stamps := make([]int64, 0, len(rows))
	for at := range rows {
		stamps = append(stamps, at)
	}
	slices.Sort(stamps)
	for _, at := range stamps {
		if err := tail.Put(stampKey(at), rows[at].append(nil)); err != nil {
			return err
		}
	}
	return nil
}
