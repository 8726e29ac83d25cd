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

// Listed is an object as a list shows it.
type Listed struct {
	Key  string
	Size int64 // bytes
}

// List yields what there is, ascending by key; of a bucket also what is no object
// of the store, but for what [Store.Ready] wrote.
func (s *Store) List(ctx context.Context) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		all := s.bucket.List(&blob.ListOptions{})
		for {
			o, err := all.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil {
				err = ctx.Err()
			} else if s.remote != nil {
				err = s.remote.fault(ctx, listing, "", err)
			}
			if err != nil {
				yield(Listed{}, fmt.Errorf("list objects: %w", err))
				return
			}
			if s.remote != nil && strings.HasPrefix(o.Key, trials) {
				continue
			}
			if !yield(Listed{o.Key, o.Size}, nil) {
				return
			}
		}
	}
}

// ListFolder yields the objects in a folder that no store has open, in which it
// changes nothing; none where there is no folder. What a killed process was
// writing is left out, and anything else that is no object is an error.
func ListFolder(ctx context.Context, dir string) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
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
				return fmt.Errorf("%q in it is no object of the service: move it elsewhere", name)
			}
			info, err := d.Info()
			if err == nil && !yield(Listed{name, info.Size()}, nil) {
				return fs.SkipAll
			}
			return err
		})
		if err != nil {
			yield(Listed{}, fmt.Errorf("list objects of %s: %w", dir, err))
		}
	}
}
