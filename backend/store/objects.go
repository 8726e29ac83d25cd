package store

import (
	"context"
	"io"
)

// Objects stores whole files by key. A key is written once; acknowledged writes
// are on stable storage. Keys are parts of [A-Za-z0-9._-] joined by "/", as
// package objects builds them; any other key is an error.
type Objects interface {
	// Put stores what r gives under key, or nothing when r fails. ErrExists if
	// there is one already, before r is read; where another process was first
	// while this one wrote, after, so that another key takes another reader.
	Put(ctx context.Context, key string, r io.Reader) error
	// Open reads an object, or returns ErrNotFound.
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	// Delete of an absent object is no error.
	Delete(ctx context.Context, key string) error
	// URI returns the key as clients see it, with the store's scheme. It
	// does not reveal the store's location.
	URI(key string) string
	// Key is the inverse of URI; ok is false for what URI does not make.
	Key(uri string) (key string, ok bool)
}
