package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"go.etcd.io/bbolt"

	"app.sunloop/backend/store"
)

// compactName is the file that a compaction writes.
const compactName = fileName + ".compact"

// compactBatch is how much of it is one transaction, in bytes.
const compactBatch = 16 << 20

// Compact rewrites the file of a data folder that no process has open without
// the pages that it has no more use for, and answers its sizes in bytes. The
// new file takes the old one's name when it is on the disk and holds the same,
// so that a kill leaves one of the two, whole. The error is store.ErrLocked
// when a process has the folder.
func Compact(ctx context.Context, dir string) (before, after int64, err error) {
	path, part := filepath.Join(dir, fileName), filepath.Join(dir, compactName)
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
	if err := rewrite(ctx, part, old.db); err != nil {
		return 0, 0, fmt.Errorf("compact the database: %w", err)
	}
	made, err := os.Stat(part)
	if err != nil {
		return 0, 0, fmt.Errorf("compact the database: %w", err)
	}
	if runtime.GOOS == "windows" { // where a file that is open keeps its name
		if err := old.Close(); err != nil {
			return 0, 0, err
		}
	}
	if err := errors.Join(os.Rename(part, path), store.SyncFolder(dir)); err != nil {
		return 0, 0, fmt.Errorf("compact the database: %w", err)
	}
	return info.Size(), made.Size(), nil
}

// rewrite makes a file with what is in a database, and reads it back.
func rewrite(ctx context.Context, path string, from *bbolt.DB) error {
	options := bbolt.Options{Timeout: lockTimeout, FreelistType: bbolt.FreelistMapType, NoSync: true}
	to, err := bbolt.Open(path, 0o600, &options)
	if err != nil {
		return err
	}
	to.AllocSize = growBytes
	err = bbolt.Compact(to, from, compactBatch)
	if err = errors.Join(err, to.Sync(), to.Close()); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if to, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockTimeout, ReadOnly: true}); err != nil {
		return err
	}
	return errors.Join(same(ctx, from, to), to.Close())
}

var errNotSame = errors.New("the new file does not hold what the old one does; the old one stays")

// same reads both databases whole and side by side.
func same(ctx context.Context, a, b *bbolt.DB) error {
	return a.View(func(ta *bbolt.Tx) error {
		return b.View(func(tb *bbolt.Tx) error {
			for err := range tb.Check() {
				return err
			}
			return sameBuckets(ctx, ta.Cursor(), tb.Cursor(), ta.Bucket, tb.Bucket)
		})
	})
}

func sameBuckets(ctx context.Context, a, b *bbolt.Cursor, inA, inB func([]byte) *bbolt.Bucket) error {
	keyA, valueA := a.First()
	keyB, valueB := b.First()
	for keyA != nil || keyB != nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !bytes.Equal(keyA, keyB) || (valueA == nil) != (valueB == nil) || !bytes.Equal(valueA, valueB) {
			return errNotSame
		}
		if valueA == nil {
			innerA, innerB := inA(keyA), inB(keyB)
			if innerA.Sequence() != innerB.Sequence() {
				return errNotSame
			}
			if err := sameBuckets(ctx, innerA.Cursor(), innerB.Cursor(), innerA.Bucket, innerB.Bucket); err != nil {
				return err
			}
		}
		keyA, valueA = a.Next()
		keyB, valueB = b.Next()
	}
	return nil
}
