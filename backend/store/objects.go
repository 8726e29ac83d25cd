package store

import (
	"context"
	"io"
)

// Objects keeps whole files by key. A key is written once; what is
// acknowledged is on stable storage.
type Objects interface {
	// Put stores what r gives under key; ErrExists if there is one.
	Put(ctx context.Context, key string, r io.Reader) error
	// Open reads an object; ErrNotFound if there is none.
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	Delete(ctx context.Context, key string) error
	// URI is the key as clients see it, with the store's scheme.
	URI(key string) string
}
