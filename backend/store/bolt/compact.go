package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"

	"app.sunloop/backend/regularfile"
)

// compactName is the file that a compaction writes.
const compactName = fileName + ".compact"

// compactBatch is how much of it is one transaction, in bytes.
const compactBatch = 16 << 20

// compactFill is how full its pages are: as long as new rows come between the
// old ones, full pages would be split soon.
const compactFill = 0.9

// Compact rewrites the file of a data folder that no process has open without
// the pages that it has no more use for, and answers its sizes in bytes. The
// new file takes the old one's name when it is on the disk and holds the same,
// so that a kill leaves one of the two, whole. The error is store.ErrLocked
// when a process has the folder, store.ErrDamaged when a row is damaged.
func Compact(ctx context.Context, dir string) (before, after int64, err error) {
	path, part := filepath.Join(dir, fileName), filepath.Join(dir, compactName)
	if err := regularfile.Check(path); err != nil {
		return 0, 0, fmt.Errorf("compact the database: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, 0, fmt.Errorf("compact the database: %w", err)
	}
	old, err := Open(dir, Options{}) // which knows the schema, and has the lock
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, old.Close()) }()
	defer os.Remove(part)
	if err := rewrite(ctx, part, old.db, nil); err != nil {
		return 0, 0, fmt.Errorf("compact the database: %w", err)
	}
	made, err := os.Stat(part)
	if err == nil {
		err = replace(part, dir, old.db)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("compact the database: %w", err)
	}
	return info.Size(), made.Size(), nil
}

var errNotSame = errors.New("the compacted file differs from the old one; the old one is kept")

// sameFile verifies a rewritten file, and reads it and the old one side by side.
func sameFile(ctx context.Context, path string, old *mapped) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = verifyFile(ctx, f, true, func(err error) error { return err })
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockTimeout, ReadOnly: true})
	if err != nil {
		return err
	}
	made := &mapped{DB: db, sums: true}
	err = old.view(func(a root) error {
		return made.view(func(b root) error {
			return sameBuckets(ctx, a.tx.Cursor(), b.tx.Cursor(), a.bucket, b.bucket)
		})
	})
	return errors.Join(err, db.Close())
}

func sameBuckets(ctx context.Context, a, b *bbolt.Cursor, inA, inB func([]byte) *bucket) error {
	keyA, valueA := a.First()
	keyB, valueB := b.First()
	for keyA != nil || keyB != nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !bytes.Equal(keyA, keyB) || valueA != nil || valueB != nil {
			return errNotSame
		}
		innerA, innerB := inA(keyA), inB(keyB)
		if innerA == nil || innerB == nil {
			return errNotSame
		}
		if !bytes.Equal(innerA.name, metaBucket) {
			if err := sameRows(ctx, innerA, innerB); err != nil {
				return err
			}
		}
		keyA, valueA = a.Next()
		keyB, valueB = b.Next()
	}
	return nil
}

// sameRows compares two buckets and those in them.
func sameRows(ctx context.Context, a, b *bucket) error {
	ca, cb := a.in.Cursor(), b.in.Cursor()
	keyA, storedA := ca.First()
	keyB, storedB := cb.First()
	for n := 0; keyA != nil || keyB != nil; n++ {
		if n%scanCheck == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !bytes.Equal(keyA, keyB) || (storedA == nil) != (storedB == nil) {
			return errNotSame
		}
		if storedA == nil {
			if err := sameRows(ctx, a.inner(keyA), b.inner(keyB)); err != nil {
				return err
			}
		} else if !bytes.Equal(a.open(keyA, storedA), b.open(keyB, storedB)) {
			return errNotSame
		}
		keyA, storedA = ca.Next()
		keyB, storedB = cb.Next()
	}
	return nil
}
