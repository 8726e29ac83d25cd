package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"app.sunloop/backend/store"
)

// Inside a site's bucket, itself in the telemetry bucket under the site's id:
var (
	siteKey     = []byte("site")   // siteMeta
	rosterKey   = []byte("roster") // roster
	refsName    = []byte("refs")   // bucket: asset id → ref, 4 bytes
	blocksName  = []byte("blocks") // bucket: ref ‖ run's start → block
	sumsName    = []byte("sums")   // bucket: ref ‖ month's start → monthSums
	tailName    = []byte("tail")   // bucket: stamp → row
	siteBuckets = [][]byte{refsName, blocksName, sumsName, tailName}
)

// appendFill is how full pages are left whose keys come in order: what comes
// later goes behind, and seldom in between.
const appendFill = 1.0

const secondsADay = 86400

var errSite = errors.New("damaged site record")

// siteMeta says how a site's telemetry is laid out: samples before open are in
// blocks, the others in the tail.
type siteMeta struct {
	zone string
	open int64 // midnight of the open day, Unix seconds
}

func (m siteMeta) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(m.open))
	return append(b, m.zone...)
}

// site is a site's bucket in a transaction.
type site struct {
	id     string
	bucket *bbolt.Bucket
	meta   siteMeta
}

// siteIn is nil for a site without telemetry.
func siteIn(tx *bbolt.Tx, id string) (*site, error) {
	b := tx.Bucket(telemetryBucket).Bucket([]byte(id))
	if b == nil {
		return nil, nil
	}
	v := b.Get(siteKey)
	if len(v) < 8 {
		return nil, fmt.Errorf("site %s: %w", id, errSite)
	}
	return &site{id, b, siteMeta{string(v[8:]), int64(binary.LittleEndian.Uint64(v))}}, nil
}

// makeSite is the site's bucket, made if need be.
func makeSite(tx *bbolt.Tx, id string) (*site, error) {
	b, err := tx.Bucket(telemetryBucket).CreateBucketIfNotExists([]byte(id))
	if err != nil {
		return nil, err
	}
	for _, name := range siteBuckets {
		if _, err := b.CreateBucketIfNotExists(name); err != nil {
			return nil, err
		}
	}
	return &site{id: id, bucket: b}, nil
}

func (s *site) roster() (roster, error) {
	r, err := readRoster(s.bucket.Get(rosterKey))
	if err != nil {
		return nil, fmt.Errorf("site %s: %w", s.id, err)
	}
	return r, nil
}

// putRoster stores the roster and the refs of those beyond the first known.
func (s *site) putRoster(r roster, known int) error {
	refs := s.bucket.Bucket(refsName)
	for i := known; i < len(r); i++ {
		if err := refs.Put([]byte(r[i].id), binary.BigEndian.AppendUint32(nil, uint32(i))); err != nil {
			return err
		}
	}
	return s.bucket.Put(rosterKey, r.append(nil))
}

// ref is the asset's place in the roster.
func (s *site) ref(assetID string) (uint32, bool) {
	if b := s.bucket.Bucket(refsName).Get([]byte(assetID)); len(b) == 4 {
		return binary.BigEndian.Uint32(b), true
	}
	return 0, false
}

// named is an asset's id with its ref.
type named struct {
	id  string
	ref uint32
}

// assets are the named assets that there are, or all, ascending by id.
func (s *site) assets(ids []string) []named {
	var out []named
	refs := s.bucket.Bucket(refsName)
	if len(ids) == 0 {
		c := refs.Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			out = append(out, named{string(k), binary.BigEndian.Uint32(v)})
		}
		return out
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		if ref, ok := s.ref(id); ok {
			out = append(out, named{id, ref})
		}
	}
	return out
}

// blockKey sorts by asset, then time.
func blockKey(ref uint32, start int64) []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 12), ref)
	return append(b, stampKey(start)...)
}

func splitBlockKey(k []byte) (ref uint32, start int64) {
	return binary.BigEndian.Uint32(k), splitStampKey(k[4:])
}

// stampKey sorts by time, negative ones too.
func stampKey(t int64) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, 0, 8), uint64(t)^1<<63)
}

func splitStampKey(k []byte) int64 { return int64(binary.BigEndian.Uint64(k) ^ 1<<63) }

// zone is the named zone, which must be one of the zone database: the store
// finds it again after a restart.
func (s *Store) zone(name string) (*time.Location, error) {
	if z, ok := s.zones.Load(name); ok {
		return z.(*time.Location), nil
	}
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("zone %q is not a place's", name)
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("zone %q: %w", name, err)
	}
	s.zones.Store(name, z)
	return z, nil
}

// siteZone is the zone of a stored site.
func (s *Store) siteZone(site *site) (*time.Location, error) {
	z, err := s.zone(site.meta.zone)
	if err != nil {
		return nil, fmt.Errorf("site %s: %w", site.id, err)
	}
	return z, nil
}

var _ store.Telemetry = (*Store)(nil)
