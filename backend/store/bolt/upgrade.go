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

// rewriting writes the rows of a file into a new one, with checksums, whichever
// the old one has. It is what a compaction and an upgrade of the schema are.
type rewriting struct {
	ctx      context.Context
	to       *bbolt.DB
	tx       *bbolt.Tx
	pending  int // bytes of the transaction
	done     int64
	progress func(done int64)
}

// rewrite writes a file with the contents of another, and reads it back.
func rewrite(ctx context.Context, path string, from *mapped, progress func(done int64)) (err error) {
	options := bbolt.Options{Timeout: lockTimeout, FreelistType: bbolt.FreelistMapType, NoSync: true}
	w := &rewriting{ctx: ctx, progress: progress}
	if w.to, err = bbolt.Open(path, 0o600, &options); err != nil {
		return err
	}
	w.to.AllocSize = growBytes
	err = from.view(w.all)
	if err = errors.Join(err, w.to.Sync(), w.to.Close()); err != nil {
		return err
	}
	return sameFile(ctx, path, from)
}

func (w *rewriting) all(r root) error {
	if err := w.begin(); err != nil {
		return err
	}
	defer func() {
		if w.tx != nil {
			_ = w.tx.Rollback() // of what failed; after a commit it has no effect
		}
	}()
	err := r.tx.ForEach(func(name []byte, b *bbolt.Bucket) error {
		return w.bucket(r.of(b, 0, name), [][]byte{bytes.Clone(name)})
	})
	if err == nil {
		err = w.putSchema()
	}
	if err != nil {
		return err
	}
	return w.tx.Commit()
}

func (w *rewriting) begin() (err error) {
	w.tx, err = w.to.Begin(true)
	return err
}

// target returns the new bucket of a path, and creates it if needed.
func (w *rewriting) target(path [][]byte) (*bbolt.Bucket, error) {
	b, err := w.tx.CreateBucketIfNotExists(path[0])
	for _, name := range path[1:] {
		if err != nil {
			break
		}
		b, err = b.CreateBucketIfNotExists(name)
	}
	if err == nil {
		b.FillPercent = compactFill
	}
	return b, err
}

// bucket copies a bucket and those in it.
func (w *rewriting) bucket(b *bucket, path [][]byte) error {
	to, err := w.target(path)
	if err != nil {
		return err
	}
	if len(path) == 1 && bytes.Equal(path[0], metaBucket) {
		return nil // written at the end
	}
	c := b.in.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if v == nil {
			if err := w.bucket(b.inner(k), append(path[:len(path):len(path)], bytes.Clone(k))); err != nil {
				return err
			}
			// The transaction may be another since.
			if to, err = w.target(path); err != nil {
				return err
			}
			continue
		}
		if err := to.Put(k, sealValue(b.seed, k, b.open(k, v))); err != nil {
			return err
		}
		if w.pending += len(k) + len(v); w.pending < compactBatch {
			continue
		}
		if err := w.next(); err != nil {
			return err
		}
		if to, err = w.target(path); err != nil {
			return err
		}
	}
	return nil
}

// next commits what was copied and continues in another transaction.
func (w *rewriting) next() error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	w.done += int64(w.pending)
	w.pending = 0
	if w.progress != nil {
		w.progress(w.done)
	}
	if err := w.tx.Commit(); err != nil {
		return err
	}
	return w.begin()
}

func (w *rewriting) putSchema() error {
	b, err := w.target([][]byte{metaBucket})
	if err != nil {
		return err
	}
	return putSchema(b)
}

// upgrade converts a file to this schema and opens it again. The new file is
// written next to the old one, which keeps its name until the new one is
// complete and on the disk: an interrupted upgrade starts again at the next
// Open.
//
//nolint:contextcheck // an upgrade that has begun is completed
func upgrade(dir string, old *mapped, progress func(done, total int64)) (*mapped, error) {
	info, err := old.file.Stat()
	if err != nil {
		return nil, errors.Join(err, old.close())
	}
	part := filepath.Join(dir, compactName)
	defer os.Remove(part)
	report := func(done int64) {
		if progress != nil {
			progress(done, info.Size())
		}
	}
	report(0)
	if err := rewrite(context.Background(), part, old, report); err != nil {
		return nil, errors.Join(fmt.Errorf("upgrade data to schema %d: %w", SchemaVersion, err), old.close())
	}
	if err := replace(part, dir, old); err != nil {
		return nil, errors.Join(fmt.Errorf("upgrade data to schema %d: %w", SchemaVersion, err), old.close())
	}
	if err := old.close(); err != nil {
		return nil, err
	}
	report(info.Size())
	return openFile(dir)
}

// replace gives a finished file the name of the database's.
func replace(part, dir string, old *mapped) error {
	if runtime.GOOS == "windows" { // where a file that is open keeps its name
		if err := old.close(); err != nil {
			return err
		}
	}
	return errors.Join(os.Rename(part, filepath.Join(dir, fileName)), store.SyncFolder(dir))
}
