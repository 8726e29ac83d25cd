// Package store says what Sunloop needs of a home for its data, in interfaces
// small enough for an embedded file and for a database server:
//
//   - [Records]: transactions over ordered keys in named buckets, with jobs
//     enqueued in the same transaction. [Table] puts typed records on it.
//   - [Telemetry]: what units reported, as compressed day blocks.
//   - [Queue]: the jobs, claimed with a lease, at least once.
//   - [Objects]: whole files by key, written once.
//   - [Cluster]: what replicas over one home agree on.
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
	// ErrReadOnly: a writer of [Tx] was called inside View.
	ErrReadOnly = errors.New("transaction is read-only")
	// ErrUnavailable: the home cannot be reached, or does not let the service
	// work. It may by itself, or once somebody has mended it.
	ErrUnavailable = errors.New("the store is not available")
	// ErrNewer: the data was written by a newer version of Sunloop.
	ErrNewer = errors.New("data is of a newer version of Sunloop")
)

// Records runs transactions. The closure may be run again from its start, so
// it must have no effect but through tx. An error rolls everything back and is
// returned as it is. A closure must not start another transaction, nor call
// Telemetry or Queue: it could wait for itself. Update runs what [InCommit] has
// put into ctx as part of the transaction.
type Records interface {
	View(ctx context.Context, fn func(tx Tx) error) error
	Update(ctx context.Context, fn func(tx Tx) error) error
}

// Tx is a transaction over ordered keys. Slices that it hands out are valid
// only inside the transaction and must not be changed; slices that it is given
// are copied. Keys are not empty. In a View the three writers answer
// ErrReadOnly.
type Tx interface {
	// Get answers ErrNotFound for an absent key.
	Get(bucket string, key []byte) ([]byte, error)
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

// Job is work to be done at least once after RunAt.
type Job struct {
	ID          string // set by the store: job_<ULID>
	Kind        string
	Unique      string    // optional: one at a time of this kind and key waits or runs
	Payload     []byte    // JSON
	RunAt       time.Time // the zero time means at once
	MaxAttempts int       // 0 means 5
	// Origin is set by the store, where it is empty, from the context of the
	// transaction.
	Origin Origin `json:",omitzero"`
}

// Claimed is a job in a worker's hands until LeaseUntil.
type Claimed struct {
	Job
	Attempt    int // 1 at the first
	Lapses     int // how many attempts ended without a word: by a lease that ran out, or by Release
	LeaseUntil time.Time
}

// Spent says that all attempts were made, the last without a word of its end:
// the job is not to run but to be given up, by Retry, once what it was about is
// told.
func (c Claimed) Spent() bool { return c.Attempt > c.MaxAttempts }

// Queue is the worker's side of the jobs. A lease that runs out gives the job
// to the next worker, so a killed process loses nothing. No job dies but by
// Retry: one whose lease runs out in its last attempt is handed out as Spent,
// again and again until it is given up.
type Queue interface {
	// Claim takes up to n due jobs, oldest RunAt first, and leases them until
	// now+lease. A job begins an attempt by it, up to one past its MaxAttempts.
	Claim(ctx context.Context, now time.Time, lease time.Duration, n int) ([]Claimed, error)
	// Done removes finished jobs. An id that is not there is no error.
	Done(ctx context.Context, ids ...string) error
	// Retry gives a running job back to run at runAt; past its MaxAttempts it
	// goes to the dead letters with the cause. ErrNotFound if it is not running.
	Retry(ctx context.Context, id string, runAt time.Time, cause string) error
	// Renew lengthens a lease; ErrNotFound if the job is not running.
	Renew(ctx context.Context, id string, until time.Time) error
	// Release gives back all that run, due at once: for the start of a queue's
	// only owner, whose former process has died. It is a lapse, no attempt.
	Release(ctx context.Context) error
	// Rewind is for a clock that was put back to now: what has waited or been
	// leased since a time that is after now does so since now, for as long as it
	// was to.
	Rewind(ctx context.Context, now time.Time) error
	// Counts are how many jobs wait, run and are dead.
	Counts(ctx context.Context) (waiting, running, dead int, err error)
	// Notify receives after jobs were enqueued or given back. It is a hint that
	// may be late or missing: a worker waits for it or for Next, whichever
	// comes first.
	Notify() <-chan struct{}
	// Next is when the next waiting job is due or the next lease runs out; ok
	// is false when nothing waits or runs.
	Next(ctx context.Context) (at time.Time, ok bool, err error)
	// Dead are up to limit dead letters, the latest first.
	Dead(ctx context.Context, limit int) ([]DeadJob, error)
	// Revive puts a dead job back to run at runAt with all its attempts;
	// ErrNotFound if it is not among the dead, ErrExists if another of its
	// Unique key waits or runs.
	Revive(ctx context.Context, id string, runAt time.Time) error
}

// DeadJob is a job that failed in its last attempt.
type DeadJob struct {
	Job
	Attempts int
	Cause    string
	DiedAt   time.Time
}
