//go:build !gateway

package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"app.sunloop/backend/store"
)

// readyTime is how long the database may take to report that it is ready.
const readyTime = 3 * time.Second

// Ready is why the database cannot be worked with now; nil when it can. The
// error wraps [store.ErrUnavailable] unless ctx ended.
func (s *Store) Ready(ctx context.Context) error {
	asked, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	var readOnly, weak bool
	err := s.pool.QueryRow(asked, `SELECT `+isReadOnly+`, `+mayNotWrite).Scan(&readOnly, &weak)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fault("ask the database", err)
	case readOnly:
		return &databaseError{"ask the database", "the database is read-only", store.ErrUnavailable}
	case weak:
		return &databaseError{"ask the database", "the database's user may not write to it", store.ErrUnavailable}
	}
	return nil
}

// isReadOnly is SQL that reports whether nothing can be written.
const isReadOnly = `pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean`

// mayNotWrite is SQL that reports whether the user lacks the permission to
// write; if there are no tables yet, the permission to create them.
const mayNotWrite = `NOT coalesce(has_table_privilege(to_regclass('sunloop.kv'), 'INSERT'), true)`

// SchemaVersion is the newest layout of tables that this package knows.
func SchemaVersion() int {
	files, _ := fs.Glob(migrations, "migrations/*.sql") // the pattern is good
	newest := 0
	for _, name := range files {
		number, _, _ := strings.Cut(path.Base(name), "_")
		if n, err := strconv.Atoi(number); err == nil {
			newest = max(newest, n)
		}
	}
	return newest
}

// errNothing is a database without Sunloop's tables.
var errNothing = errors.New("it has no tables of Sunloop; a replica creates them when it starts")

// OpenWithoutMigration is Open for a read-only caller: a database without Sunloop's
// tables, or with older ones, is an error and is not changed.
func OpenWithoutMigration(ctx context.Context, url string, o Options) (*Store, error) {
	pool, what, err := dial(ctx, url, o)
	if err != nil {
		return nil, err
	}
	s := newStore(pool, o)
	if err := s.isCurrent(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("%s: %w", what, opening(err))
	}
	return s, nil
}

func (s *Store) isCurrent(ctx context.Context) error {
	switch ours, err := holdsOurs(ctx, s.pool); {
	case err != nil:
		return err
	case !ours:
		return errNothing
	}
	is, err := s.Schema(ctx)
	switch {
	case err != nil:
		return err
	case is > SchemaVersion():
		return fmt.Errorf("%w: schema %d, this one knows up to %d", store.ErrNewer, is, SchemaVersion())
	case is < SchemaVersion():
		return fmt.Errorf("its tables are of schema %d, and this version works with %d: a replica that starts brings them up to it", is, SchemaVersion())
	}
	return moving(ctx, s.pool)
}

// RecordBuckets are the names of all buckets that have records.
func (s *Store) RecordBuckets(ctx context.Context) ([]string, error) {
	sets, err := s.RowSets(ctx)
	var names []string
	for _, set := range sets {
		if set.Kind == store.RecordRows {
			names = append(names, set.Name)
		}
	}
	return names, err
}

// Stats are figures of the store's connections since it was opened, and the
// size of its tables.
type Stats struct {
	SizeBytes      int64 // of the tables of the schema, with their indexes
	Connections    int   // open
	Busy           int   // of these in use
	MaxConnections int   // that may be open
	Waits          int64 // times that all were busy and one was waited for
	WaitDuration   time.Duration
	Retries        int64 // transactions that were run again, as another got in the way
}

// Stats reads the figures.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	p := s.pool.Stat()
	out := Stats{
		Connections: int(p.TotalConns()), Busy: int(p.AcquiredConns()), MaxConnections: int(p.MaxConns()),
		Waits: p.EmptyAcquireCount(), WaitDuration: p.EmptyAcquireWaitTime(), Retries: s.again.Load(),
	}
	err := s.pool.QueryRow(ctx, `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = 'sunloop' AND c.relkind = 'r'`).Scan(&out.SizeBytes)
	return out, fault("measure the tables", err)
}

// CheckURL returns what is wrong with a database's URL, without repeating it
// because it may hold a password; nil if it is valid.
func CheckURL(url string) error {
	if _, err := pgxpool.ParseConfig(url); err != nil || !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return errURL
	}
	return nil
}

var errURL = errors.New("invalid database URL; example: postgres://user@host:5432/database")
