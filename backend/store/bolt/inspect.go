package bolt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/telemetry"
)

// OpenReadOnly opens the data in dir to be read alone: nothing in the folder
// changes. The error is store.ErrLocked while a process has it open to write.
func OpenReadOnly(dir string) (*Store, error) {
	db, err := bbolt.Open(filepath.Join(dir, fileName), 0o600, &bbolt.Options{ReadOnly: true, Timeout: lockTimeout, FreelistType: bbolt.FreelistMapType})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, lockedError(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("open data in %s: %w", dir, err)
	}
	s := &Store{db: db, disk: new(store.Disk), writes: &group{db: db}, now: time.Now, notify: make(chan struct{}, 1), holder: filepath.Join(dir, holderName)}
	s.Archive = telemetry.New(&sites{store: s}, telemetry.Options{Now: s.now, PartBlocks: readBlocks})
	if err := s.whole(); err != nil {
		return nil, errors.Join(fmt.Errorf("open data in %s: %w", dir, err), db.Close())
	}
	return s, nil
}

// whole says whether the file is as long as it must be and of this layout. What
// lies beyond its end cannot be read without a fault of the machine.
func (s *Store) whole() (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("its pages cannot be read: %v", p)
		}
	}()
	return s.db.View(func(tx *bbolt.Tx) error {
		info, err := os.Stat(s.db.Path())
		if err != nil {
			return err
		}
		if info.Size() < tx.Size() {
			return fmt.Errorf("%s has %d bytes of %d: its end is missing", fileName, info.Size(), tx.Size())
		}
		meta := tx.Bucket(metaBucket)
		if meta == nil {
			return errors.New("there is no schema in it: it was never opened by a service")
		}
		if b := meta.Get(schemaKey); len(b) != 4 || binary.BigEndian.Uint32(b) > SchemaVersion {
			return fmt.Errorf("%w: its schema is %x, this one knows up to %d", store.ErrNewer, b, SchemaVersion)
		}
		for _, name := range [][]byte{telemetryBucket, jobsBucket, dueBucket, runningBucket, uniqueBucket, deadBucket} {
			if tx.Bucket(name) == nil {
				return fmt.Errorf("its part %q is missing", name)
			}
		}
		return nil
	})
}

// RecordBuckets are the names of all buckets of records.
func (s *Store) RecordBuckets(ctx context.Context) ([]string, error) {
	var names []string
	err := s.view(ctx, func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, _ *bbolt.Bucket) error {
			if own, ok := strings.CutPrefix(string(name), recordPrefix); ok {
				names = append(names, own)
			}
			return nil
		})
	})
	return names, err
}
