// Package bolt stores Sunloop's data in one bbolt file inside a data folder. A
// [Store] is at once [store.Records], [store.Telemetry] and [store.Queue], so
// that a record and the job that follows from it commit together.
//
// The file has one owner at a time. Acknowledged writes are on stable storage;
// concurrent writers share a commit. Of Sunloop's packages it imports store and
// its subpackages, and series.
package bolt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"crypto/rand"

	"github.com/oklog/ulid/v2"

	"app.sunloop/backend/regularfile"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/localjobs"
	"app.sunloop/backend/store/telemetry"
)

// SchemaVersion is the layout that this package reads and writes. A file of an
// older version is brought up to it by Open, a newer one is refused.
const SchemaVersion = 2

// Names of the file and of the note about its holder, inside the data folder.
const (
	fileName   = "sunloop.db"
	holderName = "sunloop.holder"
)

var (
	metaBucket      = []byte("meta")
	telemetryBucket = []byte("telemetry")
	schemaKey       = []byte("schema")
	schemaSumKey    = []byte("schema-sum")

	// ownBuckets are those that every file has.
	ownBuckets = [][]byte{metaBucket, telemetryBucket, jobsBucket, dueBucket, runningBucket, uniqueBucket, deadBucket}
)

// Options are what a Store cannot know by itself.
type Options struct {
	// Now is the clock, for the stamps of jobs. nil means time.Now.
	Now func() time.Time
	// Disk is shared with the other stores in the folder; nil: the store's own.
	Disk *store.Disk
	// Ended is called after each transaction and each commit, that of a
	// group once; it may be nil.
	Ended func(store.TransactionEvent)
	// Upgrading is called while Open brings a file of an older schema up to this
	// one, with how much of it is done, in bytes of the file; nil: not called.
	Upgrading func(done, total int64)
}

// Store keeps all data except objects in a file. It is safe for
// concurrent use.
type Store struct {
	*telemetry.Store
	db      *mapped
	disk    *store.Disk
	writes  *group
	ended   func(store.TransactionEvent)
	now     func() time.Time
	ids     *idSource
	notify  chan struct{}
	loop    *localjobs.Loop
	holder  string // path of the note of who holds the file; empty: it is open to be read
	closing sync.Once
}

var (
	_ store.Records = (*Store)(nil)
	_ store.Queue   = (*Store)(nil)
)

// Open opens the data in folder dir, making both when they are not there. The
// error is store.ErrLocked when another process has it, store.ErrNewer when a
// newer version of Sunloop wrote it.
func Open(dir string, o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create data folder: %w", err)
	}
	if o.Disk == nil {
		o.Disk = new(store.Disk)
	}
	db, err := openFile(dir)
	if err != nil {
		return nil, err
	}
	// Remove the file of a killed compaction: the lock shows that none is
	// running.
	if err := os.Remove(filepath.Join(dir, compactName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("open data in %s: %w", dir, err), db.close())
	}
	if db.schema != 0 && db.schema < SchemaVersion {
		if db, err = upgrade(dir, db, o.Upgrading); err != nil {
			return nil, fmt.Errorf("open data in %s: %w", dir, err)
		}
	}
	s := &Store{
		db:     db,
		disk:   o.Disk,
		writes: &group{db: db, disk: o.Disk, now: o.Now, ended: o.Ended},
		ended:  o.Ended,
		now:    o.Now,
		ids:    newIDSource(),
		notify: make(chan struct{}, 1),
		holder: filepath.Join(dir, holderName),
	}
	s.loop = localjobs.New(s, o.Now)
	s.Store = telemetry.New(&sites{store: s}, telemetry.Options{Now: o.Now, PartBlocks: readBlocks})
	if err := s.prepare(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("open data in %s: %w", dir, err), db.close())
	}
	return s, nil
}

// prepare brings the schema up to date and leaves word of who holds the file.
func (s *Store) prepare(dir string) error {
	err := s.db.update(func(r root) error {
		for _, name := range ownBuckets {
			if _, err := r.tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return putSchema(r.tx.Bucket(metaBucket))
	})
	if err != nil {
		return err
	}
	// A new file is safe only when its name is too.
	if err := store.SyncFolder(dir); err != nil {
		return err
	}
	note, err := json.Marshal(holderNote{os.Getpid(), filepath.Base(os.Args[0]), s.now().UTC()})
	if err != nil {
		return err
	}
	return os.WriteFile(s.holder, note, 0o600)
}

// Leader runs fn at once: a file has one owner.
func (s *Store) Leader(ctx context.Context, _ string, fn func(ctx context.Context) error) error {
	return fn(ctx)
}

// Schema is the version of the layout on disk.
func (s *Store) Schema(ctx context.Context) (int, error) {
	var v int
	err := s.view(ctx, func(r root) error {
		meta := r.tx.Bucket(metaBucket)
		schema, err := schemaOf(meta.Get(schemaKey), meta.Get(schemaSumKey))
		v = int(schema)
		return err
	})
	return v, err
}

// Close waits for running transactions and releases the file.
func (s *Store) Close() error {
	var err error
	s.closing.Do(func() {
		// The note goes first: after Close it could be the next holder's.
		if s.holder != "" {
			if rm := os.Remove(s.holder); rm != nil && !errors.Is(rm, os.ErrNotExist) {
				err = rm
			}
		}
		err = errors.Join(err, s.db.close())
	})
	if err != nil {
		return fmt.Errorf("close data: %w", err)
	}
	return nil
}

// Backup writes a consistent copy of the current file to w and returns its size
// in bytes. Writers continue; the file may grow while a slow w is written to,
// so w should be a local file.
func (s *Store) Backup(ctx context.Context, w io.Writer) (int64, error) {
	var n int64
	err := s.view(ctx, func(r root) (err error) {
		n, err = r.tx.WriteTo(w)
		return err
	})
	if err != nil {
		return n, fmt.Errorf("back up data: %w", err)
	}
	return n, nil
}

// holderNote names the process that has the data folder open.
type holderNote struct {
	PID     int       `json:"pid"`
	Program string    `json:"program"`
	Since   time.Time `json:"since"`
}

// lockedError is ErrLocked with what the holder left as a note, if it did.
func lockedError(dir string) error {
	var note holderNote
	b, err := regularfile.Read(filepath.Join(dir, holderName))
	if err != nil || json.Unmarshal(b, &note) != nil || note.PID == 0 {
		return fmt.Errorf("%w: another process holds %s", store.ErrLocked, dir)
	}
	return fmt.Errorf("%w: %s (process %d) holds %s since %s",
		store.ErrLocked, strconv.Quote(note.Program), note.PID, dir, note.Since.Format(time.RFC3339))
}

// idSource makes ULIDs that ascend within a millisecond.
type idSource struct {
	mu      sync.Mutex
	entropy *ulid.MonotonicEntropy
}

func newIDSource() *idSource {
	return &idSource{entropy: ulid.Monotonic(rand.Reader, 0)}
}

func (s *idSource) next(prefix string, now time.Time) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, err := ulid.New(ulid.Timestamp(now), s.entropy)
	if err != nil {
		return "", fmt.Errorf("make an id: %w", err)
	}
	return prefix + id.String(), nil
}
