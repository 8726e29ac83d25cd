package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"strings"

	"gocloud.dev/blob"
)

// ObjectInfo is an object as a list shows it.
type ObjectInfo struct {
	Key  string
	Size int64 // bytes
}

// List yields all objects, ascending by key; of a bucket also keys that are no
// object of the store, except those written by [Store.Ready].
func (s *Store) List(ctx context.Context) iter.Seq2[ObjectInfo, error] {
	return func(yield func(ObjectInfo, error) bool) {
		all := s.bucket.List(&blob.ListOptions{})
		for {
			o, err := s.next(ctx, all)
			if err == io.EOF { //nolint:errorlint // the same
				return
			}
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(ObjectInfo{}, fmt.Errorf("list objects: %w", err))
				return
			}
			if s.remote != nil && strings.HasPrefix(o.Key, trials) {
				continue
			}
			if !yield(ObjectInfo{o.Key, o.Size}, nil) {
				return
			}
		}
	}
}

// next is the next object of a list. A bucket that stalls ends it.
func (s *Store) next(ctx context.Context, all *blob.ListIterator) (*blob.ListObject, error) {
	if s.remote == nil {
		return all.Next(ctx)
	}
	o, err := within(ctx, s.remote.limits.call, all.Next)
	if err == io.EOF { //nolint:errorlint // a line that breaks is an error that wraps it
		return nil, io.EOF
	}
	return o, s.remote.fault(ctx, listing, "", err)
}

// ListFolder yields the objects in a folder that no store has open. It changes
// nothing, and yields none if there is no folder. Partial files of a killed
// process are skipped, and anything else that is no object is an error.
func ListFolder(ctx context.Context, dir string) iter.Seq2[ObjectInfo, error] {
	return func(yield func(ObjectInfo, error) bool) {
		err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) && name == "." {
				return fs.SkipAll
			}
			if err == nil {
				err = ctx.Err()
			}
			if err != nil || d.IsDir() || temporary.MatchString(name) {
				return err
			}
			if !d.Type().IsRegular() || check(name) != nil {
				return fmt.Errorf("it has %q, which is not an object of the service; move it elsewhere", name)
			}
			info, err := d.Info()
			if err == nil && !yield(ObjectInfo{name, info.Size()}, nil) {
				return fs.SkipAll
			}
			return err
		})
		if err != nil {
			yield(ObjectInfo{}, fmt.Errorf("list objects of %s: %w", dir, err))
		}
	}
}

// ErrNotCounted is the usage of a bucket with too many objects to list. The
// bucket's operator knows its size.
var ErrNotCounted = errors.New("the bucket has too many objects to count")

// Usage returns the number of objects and their total size. It lists all,
// unless the store has found that the bucket has too many.
func (s *Store) Usage(ctx context.Context) (n int, bytes int64, err error) {
	if s.remote != nil && s.remote.uncounted.Load() {
		return 0, 0, ErrNotCounted
	}
	for o, err := range s.List(ctx) {
		if err != nil {
			return n, bytes, fmt.Errorf("count the objects: %w", err)
		}
		if s.remote != nil && n == s.remote.limits.count {
			s.remote.uncounted.Store(true)
			return 0, 0, ErrNotCounted
		}
		n++
		bytes += o.Size
	}
	return n, bytes, nil
}
