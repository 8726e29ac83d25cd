// Package store says what Sunloop needs of a home for its data, in interfaces
// small enough for an embedded file and for a database server:
//
//   - [Records]: transactions over ordered keys in named buckets, with jobs
//     enqueued in the same transaction. [Table] puts typed records on it.
//   - [Telemetry]: what units reported, as compressed day blocks.
//   - [Queue]: the jobs, claimed with a lease, at least once.
//   - [Objects]: whole files by key, written once.
//
// Every key leads with customer or site, ids are ULIDs made by the service, and
// nothing refers across customers, so that a home may be split by them.
package store

import (
	"context"
	"errors"
	"iter"
	"time"
)

// Errors that callers branch on.
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("exists already")
	// ErrLocked: another process holds the data folder.
	ErrLocked = errors.New("data folder is in use")
)

// Records runs transactions. The closure may be run again from its start, so
// it must have no effect but through tx. An error rolls everything back and is
// returned as it is.
type Records interface {
	View(ctx context.Context, fn func(tx Tx) error) error
	Update(ctx context.Context, fn func(tx Tx) error) error
}

// Tx is a transaction over ordered keys. Slices that it hands out are valid
// only inside the transaction and must not be changed. In a View the three
// writers fail.
type Tx interface {
	// Get answers ErrNotFound for an absent key.
	Get(bucket string, key []byte) ([]byte, error)
	Put(bucket string, key, value []byte) error
	// Delete of an absent key is no error.
	Delete(bucket string, key []byte) error
	// Scan yields from <= key < to in ascending order, or in descending order
	// when reverse. A nil to means no upper bound. An error ends the sequence.
	Scan(bucket string, from, to []byte, reverse bool) iter.Seq2[Entry, error]
	// Enqueue adds a job when the transaction commits. A job whose Unique key
	// is waiting or running already is not added twice.
	Enqueue(job Job) error
}

// Entry is a key and its value inside a Scan.
type Entry struct{ Key, Value []byte }

// Job is work to be done at least once after RunAt.
type Job struct {
	ID          string // set by the store: job_<ULID>
	Kind        string
	Unique      string // optional: at most one waiting or running job of this kind and key
	Payload     []byte // JSON
	RunAt       time.Time
	MaxAttempts int // 0 means 5
}

// Claimed is a job in a worker's hands until LeaseUntil.
type Claimed struct {
	Job
	Attempt    int // 1 at the first
	LeaseUntil time.Time
}

// Queue is the worker's side of the jobs. A lease that runs out gives the job
// to the next worker, so a killed process loses nothing.
type Queue interface {
	// Claim takes up to n due jobs and leases them until now+lease.
	Claim(ctx context.Context, now time.Time, lease time.Duration, n int) ([]Claimed, error)
	// Done removes finished jobs.
	Done(ctx context.Context, ids ...string) error
	// Retry gives a job back to run at runAt; past its MaxAttempts it goes to
	// the dead letters with the cause.
	Retry(ctx context.Context, id string, runAt time.Time, cause string) error
	// Renew lengthens a lease.
	Renew(ctx context.Context, id string, until time.Time) error
	// Counts are how many jobs wait, run and are dead.
	Counts(ctx context.Context) (waiting, running, dead int, err error)
}
