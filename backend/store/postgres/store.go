//go:build !gateway

// Package postgres stores Sunloop's data in a PostgreSQL database, 15 or newer,
// so that several replicas of the service may share it. A [Store] is at once
// [store.Records] and [store.Telemetry]; jobs are enqueued in the transaction
// of the records from which they follow, by a function that is passed to Open.
//
// Nothing depends on the state of a session, so a pooler in transaction mode
// may be used: then default_query_exec_mode=exec in the URL keeps pgx from
// preparing statements.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/telemetry"
	"app.sunloop/internal/clock"
)

// Options are what a Store cannot know by itself.
type Options struct {
	// Now is the clock, for the site's open day and the times of jobs. nil means
	// time.Now.
	Now func() time.Time
	// Enqueue inserts a job into the transaction. The job has its Kind, its
	// RunAt and its MaxAttempts, and no ID. It may be called again for the same
	// job when the transaction is run again.
	Enqueue func(ctx context.Context, tx pgx.Tx, job store.Job) error
	// Migrate brings the queue's own tables up to date, after the store's and
	// under the same lock.
	Migrate func(ctx context.Context, pool *pgxpool.Pool) error
	// Lease is how long a leader that fell silent stays leader; 0 means 15 s.
	Lease time.Duration
	// Importing opens a database also during a migration into it: for the
	// migration itself.
	Importing bool
	// URLFile is a file that holds the URL, or empty. Its user, password
	// and certificates are read again for each new connection, as are
	// those of a password file (PGPASSFILE): a rotation needs no restart.
	URLFile string
	// Limit is how long the database may take for one answer; 0 means 30 s.
	// Migrations, backups and checks may take longer.
	Limit time.Duration
	// Log receives changes of the state of the connection; nil means none.
	Log *slog.Logger
}

// Store keeps all data except objects and jobs in a database. It is safe
// for concurrent use, by any number of processes.
type Store struct {
	*telemetry.Store
	pool    *pgxpool.Pool
	name    string // of the database, for sentences
	now     func() time.Time
	enqueue func(ctx context.Context, tx pgx.Tx, job store.Job) error
	lease   time.Duration
	turn    chan struct{} // held by a transaction that failed before
	again   atomic.Int64  // transactions that were run again
}

var (
	_ store.Records   = (*Store)(nil)
	_ store.Telemetry = (*Store)(nil)
	_ store.Cluster   = (*Store)(nil)
)

// readBlocks is how many blocks Read fetches at a time: a year has 92.
const readBlocks = 100

const (
	defaultLease    = 15 * time.Second
	defaultAttempts = 5
)

// newStore is a store on an open pool.
func newStore(pool *pgxpool.Pool, o Options) *Store {
	s := &Store{pool: pool, now: o.Now, enqueue: o.Enqueue, lease: o.Lease, turn: make(chan struct{}, 1)}
	if s.now == nil {
		s.now = time.Now
	}
	if s.lease == 0 {
		s.lease = defaultLease
	}
	s.name = pool.Config().ConnConfig.Database
	s.Store = telemetry.New(sites{s}, telemetry.Options{Now: s.now, PartBlocks: readBlocks})
	return s
}

// Pool is the store's connections, for the queue that shares its transactions.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Close waits for running transactions and closes all connections.
func (s *Store) Close() error {
	s.pool.Close()
	return nil
}

// Kinds of transactions.
var (
	// snapshot sees one state and never fails for what others do.
	snapshot = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	// serial is as if no other transaction ran meanwhile, or fails.
	serial = pgx.TxOptions{IsoLevel: pgx.Serializable}
	// locking relies on the rows that it locks.
	locking = pgx.TxOptions{IsoLevel: pgx.ReadCommitted}
)

// maxAttempts is how often a transaction is tried that others get in the way
// of, and maxPause how long it waits between two at most.
const (
	maxAttempts = 50
	maxPause    = 100 * time.Millisecond
)

// transact runs fn in a transaction and commits it. Where it failed because of
// another one, it is run again after a pause of random length; from the second
// time on one after the other, so that those which keep failing do not hinder
// each other.
func (s *Store) transact(ctx context.Context, o pgx.TxOptions, fn func(tx pgx.Tx) error) error {
	for attempt := 1; ; attempt++ {
		err := s.once(ctx, o, fn)
		if !retryable(err) {
			return err
		}
		if attempt == maxAttempts {
			return fmt.Errorf("gave up after %d attempts: %w", attempt, err)
		}
		s.again.Add(1)
		if attempt == 2 {
			select {
			case s.turn <- struct{}{}:
				defer func() { <-s.turn }()
			case <-ctx.Done():
				return fault("wait for other transactions", ctx.Err())
			}
		}
		pause := min(maxPause, time.Millisecond<<min(attempt, 10))
		if err := clock.Sleep(ctx, rand.N(pause)); err != nil { //nolint:gosec // spreads retries, no secret
			return fault("wait for other transactions", err)
		}
	}
}

// once runs fn in one transaction. Whatever ends fn without its returning nil
// rolls back.
func (s *Store) once(ctx context.Context, o pgx.TxOptions, fn func(tx pgx.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return fault("begin a transaction", err)
	}
	tx, err := s.pool.BeginTx(ctx, o)
	if refusesCredentials(err) && clock.Sleep(ctx, credentialPause) == nil {
		tx, err = s.pool.BeginTx(ctx, o)
	}
	if err != nil {
		return fault("begin a transaction", err)
	}
	committed := false
	defer func() {
		if !committed {
			// The caller's context may have ended; the connection is dropped when
			// this fails.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_ = tx.Rollback(ctx)
		}
	}()
	if err := fn(tx); err != nil {
		return err
	}
	if o.AccessMode != pgx.ReadOnly {
		if err := guard(ctx, tx); err != nil {
			return err
		}
	}
	committed = true // or ended: Commit closes it whatever comes
	err = tx.Commit(ctx)
	if o.AccessMode != pgx.ReadOnly && mayBeCommitted(err) {
		store.NoteChange(ctx)
	}
	return fault("commit", err)
}

// mayBeCommitted reports, from the result of a COMMIT, whether the transaction
// was or may have been committed: it was not if the database reports that, or
// if nothing was sent to it. A database that ends the session may have
// committed before.
func mayBeCommitted(err error) bool {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return true
	case errors.Is(err, pgx.ErrTxCommitRollback), errors.Is(err, pgx.ErrTxClosed):
		return false
	case errors.As(err, &pg):
		return strings.HasPrefix(pg.Code, shutdown) || strings.HasPrefix(pg.Code, connection) || pg.Code == completionUnknown
	}
	return !pgconn.SafeToRetry(err)
}
