package objects

import (
	"context"
	"errors"
	"fmt"
	"io"

	"gocloud.dev/blob"
)

// Usage is how many objects there are and their size in all. It looks at each.
func (s *Store) Usage(ctx context.Context) (n int, bytes int64, err error) {
	all := s.bucket.List(&blob.ListOptions{})
	for {
		o, err := all.Next(ctx)
		if errors.Is(err, io.EOF) {
			return n, bytes, nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return n, bytes, fmt.Errorf("count the objects: %w", err)
		}
		n++
		bytes += o.Size
	}
}
