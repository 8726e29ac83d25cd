package objects

import (
	"context"
	"errors"
	"fmt"
)

// ErrNotCounted is the usage of a bucket with too many objects to list. The
// bucket's operator knows its size.
var ErrNotCounted = errors.New("the bucket of the objects has too many to count")

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
