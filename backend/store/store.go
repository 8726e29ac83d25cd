// Package store declares the storage that Sunloop requires, in interfaces
// small enough for an embedded file and for a database server:
//
//   - [Records]: transactions over ordered keys in named buckets, with jobs
//     enqueued in the same transaction. [Table] puts typed records on it.
//   - [Telemetry]: what units reported, as compressed day blocks.
//   - [Queue]: the jobs, run by workers at least once.
//   - [Objects]: whole files by key, written once.
//   - [Cluster]: what replicas that share storage agree on.
//
// Every key leads with customer or site, ids are ULIDs made by the service, and
// nothing refers across customers, so that storage may be split by them.
package store

import (
	"context"
	"errors"
	"io"
	"iter"
)

// Errors that callers branch on.
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("exists already")
	// ErrLocked: another process holds the data folder.
	ErrLocked = errors.New("data folder is in use")
	// ErrReadOnly: a writer of [Tx] was called inside View.
	ErrReadOnly = errors.New("transaction is read-only")
	// ErrUnavailable: the store is unreachable, or does not let the service
	// work. It may recover, or need an operator.
	ErrUnavailable = errors.New("the store is not available")
	// ErrNewer: the data was written by a newer version of Sunloop.
	ErrNewer = errors.New("data is of a newer version of Sunloop")
	// ErrDamaged: stored data is not what was written. None of it is returned.
	ErrDamaged = errors.New("stored data is damaged")
)

// Causes of the end of a job's context, other than a stop.
var (
	// ErrCancelled: [Queue.Cancel] was asked for it.
	ErrCancelled = errors.New("cancelled")
	// ErrLost: the job is in the hands of another worker, or may soon be.
	ErrLost = errors.New("the job is no longer this worker's")
)

// Records runs transactions. The closure may be run again from its start, so
// it must have no effect but through tx. An error rolls everything back and is
// returned as it is. A closure must not start another transaction, nor call
// Telemetry or Queue: it could wait for itself. Update runs what [WithCommitHook] has
// put into ctx as part of the transaction.
type Records interface {
	View(ctx context.Context, fn func(tx Tx) error) error
	Update(ctx context.Context, fn func(tx Tx) error) error
	// Together calls do for 0 to n-1 in goroutines, and joins their errors. Each gets a
	// ctx for its calls of View and of the reads of Telemetry. A database makes those
	// of all in as few queries as one of them makes, and over one committed state; do may
	// be called again for an i. Memory of what they read is needed for all of them.
	Together(ctx context.Context, n int, do func(ctx context.Context, i int) error) error
}

// Tx is a transaction over ordered keys. Slices that it hands out are valid
// only inside the transaction and must not be changed; slices that it is given
// are copied. Keys are not empty. In a View the three writers answer
// ErrReadOnly.
type Tx interface {
	// Get returns ErrNotFound for an absent key.
	Get(bucket string, key []byte) ([]byte, error)
	// Prefetch announces keys that will be read by Get, so that a database reads them at once.
	// ReadsAhead reports whether it has an effect, as it has not in a file and in an Update.
	Prefetch(bucket string, keys [][]byte) error
	ReadsAhead() bool
	Put(bucket string, key, value []byte) error
	// Delete of an absent key is no error.
	Delete(bucket string, key []byte) error
	// Scan yields from <= key < to in ascending order, or in descending order
	// when reverse. A nil to means no upper bound. An error ends the sequence.
	// The bucket may be written to while it is scanned.
	Scan(bucket string, from, to []byte, reverse bool) iter.Seq2[Entry, error]
	// Enqueue adds a job when the transaction commits. Of two jobs with one
	// Kind and Unique key, one at a time waits or runs: while the first waits
	// the second is not added, but brings its RunAt forward; while the first
	// runs the second is kept until that has ended, since what it is about may
	// have come too late for the first.
	Enqueue(job Job) error
}

// Entry is a key and its value inside a Scan.
type Entry struct{ Key, Value []byte }

// Reason returns why a storage is not available, as a text for
// unauthenticated clients; empty for an error that does not wrap
// [ErrUnavailable].
func Reason(err error) string {
	if !errors.Is(err, ErrUnavailable) {
		return ""
	}
	var named interface{ Reason() string }
	if errors.As(err, &named) {
		return named.Reason()
	}
	return ErrUnavailable.Error()
}

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
