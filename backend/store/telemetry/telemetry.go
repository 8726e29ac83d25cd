// Package telemetry stores the reports of sites' units: the open day in rows of
// all units, the days before as compressed blocks of several days with their
// day sums. It is written once over [Storage], a small interface of byte storage,
// so that every store holds the same data.
package telemetry

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"app.sunloop/backend/store"
)

// Section is one of the three kinds of values that are kept of a site.
type Section int

// The parts. Their values lie at places: an asset's ref and a time in Unix
// seconds.
const (
	Blocks Section = iota // at the start of the block's run of days
	Sums                  // at the start of the month
	Tail                  // at the stamp; the row is of all assets, so the ref is 0
)

// Location is where a value is kept in its part.
type Location struct {
	Ref   uint32
	Start int64 // Unix seconds
}

// Cell is a value at its place.
type Cell struct {
	Location
	Value []byte
}

// Asset is an asset of a site with its number there, which it keeps.
type Asset struct {
	ID  string
	Ref uint32
}

// Storage is where an [Store] keeps its bytes. A closure may be run again from
// its start, so it has no effect but through what it is given.
type Storage interface {
	// Sites are the ids of the sites that there are.
	Sites(ctx context.Context) ([]string, error)
	// View runs fn over one committed state of the site.
	View(ctx context.Context, siteID string, fn func(r Reader) error) error
	// Change runs fn, which reads the site and then writes to it. Two
	// changes that read before they write are serialised if one of them is
	// alone; others may overlap between the read and the write. If Change
	// returns nil, what fn wrote is durable; otherwise nothing is stored.
	Change(ctx context.Context, siteID string, alone bool, fn func(c Change) error) error
}

// Change is a running change: any number of reads, then one Update.
type Change interface {
	View(fn func(r Reader) error) error
	Update(fn func(w Writer) error) error
}

// Reader reads one state of a site. Values are valid until the end of the
// transaction and must not be changed.
type Reader interface {
	// Layout and AssetIndex are what PutSite stored last; nil for a new site.
	Layout() ([]byte, error)
	AssetIndex() ([]byte, error)
	// Assets are the named assets that there are, or all when none is named,
	// ascending by id.
	Assets(ids ...string) ([]Asset, error)
	// Get returns a value for each place, or nil.
	Get(p Section, at []Location) ([][]byte, error)
	// Overlapping yields, asset by asset in the order of refs, the values of
	// Blocks or Sums whose stretch may overlap from <= time < to: the last one
	// that starts at or before from, and those behind it, ascending. It ends
	// after limit values, if that is not 0.
	Overlapping(p Section, refs []uint32, from, to int64, limit int) iter.Seq2[Cell, error]
	// All yields the whole part, ascending by ref and start.
	All(p Section) iter.Seq2[Cell, error]
	// Rows yields the rows of Tail with from <= stamp < to, ascending.
	Rows(from, to int64) iter.Seq2[Cell, error]
}

// Writer changes a site as well.
type Writer interface {
	Reader
	// Clear removes all there is of the site, before it is written again.
	Clear() error
	// Remove removes all there is of the site, and the site.
	Remove() error
	// PutSite stores the layout, the assetIndex, and the assets that joined it.
	PutSite(layout, assetIndex []byte, joined []Asset) error
	// Put stores the cells, none of whose places are equal. One without a value
	// is removed.
	Put(p Section, cells []Cell) error
	// DropRows removes the rows of Tail before a stamp.
	DropRows(before int64) error
}

// Options are the settings of a Store.
type Options struct {
	// Now is the clock that determines which day is open.
	Now func() time.Time
	// PartBlocks is how many blocks Read copies out of the storage at a time.
	PartBlocks int
}

// Store implements [store.Telemetry] over a Storage. It is safe for concurrent use.
type Store struct {
	storage    Storage
	now        func() time.Time
	partBlocks int
}

var _ store.Telemetry = (*Store)(nil)

// New returns the telemetry that is kept in storage.
func New(storage Storage, o Options) *Store {
	return &Store{storage: storage, now: o.Now, partBlocks: o.PartBlocks}
}

// SiteIDs are the ids of the sites with telemetry.
func (a *Store) SiteIDs(ctx context.Context) ([]string, error) { return a.storage.Sites(ctx) }

const secondsADay = 86400

var errLayout = errors.New("damaged site record")

// layout describes how a site's telemetry is stored: samples before open are in
// blocks, the others in the tail.
type layout struct {
	zone string
	open int64 // midnight of the open day, Unix seconds
	sums int   // version of the day sums
}

// sumsMark separates the zone from the version of the sums; version 1 has no
// mark, and its reader refuses the zone with a mark.
const sumsMark = "\x00"

func (m layout) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(m.open))
	b = append(b, m.zone...)
	if m.sums < 2 {
		return b
	}
	return append(append(b, sumsMark...), byte(m.sums))
}

// site is a stored site in a transaction.
type site struct {
	Reader
	id     string
	layout layout
}

// siteIn is nil for a site without telemetry.
func siteIn(r Reader, id string) (*site, error) {
	b, err := r.Layout()
	if err != nil || b == nil {
		return nil, err
	}
	if len(b) < 8 {
		return nil, fmt.Errorf("site %s: %w", id, errLayout)
	}
	m := layout{open: int64(binary.LittleEndian.Uint64(b)), sums: 1}
	zone, version, marked := strings.Cut(string(b[8:]), sumsMark)
	if m.zone = zone; marked {
		if len(version) != 1 {
			return nil, fmt.Errorf("site %s: %w", id, errLayout)
		}
		if m.sums = int(version[0]); m.sums > sumsVersion {
			return nil, fmt.Errorf("site %s: %w: day sums of version %d, this one knows up to %d", id, store.ErrNewer, m.sums, sumsVersion)
		}
	}
	return &site{r, id, m}, nil
}

func (s *site) assetIndex() (assetIndex, error) {
	b, err := s.AssetIndex()
	if err != nil {
		return nil, err
	}
	r, err := readAssetIndex(b)
	if err != nil {
		return nil, fmt.Errorf("site %s: %w", s.id, err)
	}
	return r, nil
}

// viewSite runs fn with the site, unless it does not exist.
func (a *Store) viewSite(ctx context.Context, siteID string, fn func(s *site) error) error {
	err := a.storage.View(ctx, siteID, func(r Reader) error {
		site, err := siteIn(r, siteID)
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

// siteZone is the zone of a stored site.
func (a *Store) siteZone(s *site) (*time.Location, error) {
	z, err := store.Zone(s.layout.zone)
	if err != nil {
		return nil, fmt.Errorf("site %s: %w", s.id, err)
	}
	return z, nil
}
