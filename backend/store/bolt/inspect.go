package bolt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/telemetry"
)

// OpenReadOnly opens the data in dir read-only: nothing in the folder changes,
// and its file system may be read-only. The error is store.ErrLocked while a
// process has it open to write, store.ErrDamaged if its structure is damaged.
// now is the clock that sums of the running day end at; nil means time.Now.
func OpenReadOnly(dir string, now func() time.Time) (*Store, error) {
	if now == nil {
		now = time.Now
	}
	db, err := mapFile(dir, bbolt.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	s := &Store{db: db, disk: new(store.Disk), writes: &group{db: db}, now: now, notify: make(chan struct{}, 1)}
	s.Store = telemetry.New(&sites{store: s}, telemetry.Options{Now: s.now, PartBlocks: readBlocks})
	return s, nil
}

// VerifyFolder reads all pages of the database in dir, without mapping them,
// and reports what is wrong with its structure and its rows. It ends whatever
// is in the file. The error is store.ErrLocked while a process has it open to
// write.
func VerifyFolder(ctx context.Context, dir string, report func(error)) error {
	f, err := openLocked(dir)
	if err != nil {
		return err
	}
	faults := 0
	err = verifyFile(ctx, f, true, func(err error) error {
		report(err)
		if faults++; faults == maxFaults {
			return errStop
		}
		return nil
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// Checksums reports whether the values in the file carry checksums, which they
// do from schema 2 on.
func (s *Store) Checksums() bool { return s.db.sums }

// RecordBuckets are the names of all buckets of records.
func (s *Store) RecordBuckets(ctx context.Context) ([]string, error) {
	var names []string
	err := s.view(ctx, func(r root) error {
		return r.tx.ForEach(func(name []byte, _ *bbolt.Bucket) error {
			if own, ok := strings.CutPrefix(string(name), recordPrefix); ok {
				names = append(names, own)
			}
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list the buckets: %w", err)
	}
	return names, nil
}
