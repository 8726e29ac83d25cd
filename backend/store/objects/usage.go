package objects

import (
	"context"
	"errors"
	"fmt"
	"io"

	"gocloud.dev/blob"
)

// ErrNotCounted is the usage of a bucket with too many objects to look at each.
// What keeps the bucket knows its size.
var ErrNotCounted = errors.New("the bucket of the objects has too many to count")

// Usage is how many objects there are and their size in all. It looks at each,
// unless the store has seen a bucket with too many.
func (s *Store) Usage(ctx context.Context) (n int, bytes int64, err error) {
	if s.remote != nil && s.remote.uncounted.Load() {
		return 0, 0, ErrNotCounted
	}
	all := s.bucket.List(&blob.ListOptions{})
	for {
		if s.remote != nil && n == s.remote.limits.count {
			s.remote.uncounted.Store(true)
			return 0, 0, ErrNotCounted
		}
		o, err := all.Next(ctx)
		if errors.Is(err, io.EOF) {
			return n, bytes, nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil && s.remote != nil {
			err = s.remote.fault(ctx, listing, "", err)
		}
		if err != nil {
			return n, bytes, fmt.Errorf("count the objects: %w", err)
		}
		n++
		bytes += o.Size
	}
}
