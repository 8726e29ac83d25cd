//go:build gateway

// Package postgres is a placeholder in the build for small gateways: a database
// cannot be opened.
package postgres

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"time"

	"app.sunloop/backend/store"
)

// errMissing is the error of a configured database in a build without
// PostgreSQL.
var errMissing = errors.New("--store: this build of Sunloop (gateway) has no PostgreSQL; use the full build, or a data folder")

// ErrImporting is the error of a database with an incomplete migration.
var ErrImporting = errors.New("open database: migration is incomplete")

// Options are those of the full build that callers set.
type Options struct {
	Now     func() time.Time
	URLFile string
	Limit   time.Duration
	Log     *slog.Logger
}

// Store is never created in this build. Its methods exist for the compiler.
type Store struct {
	store.Records
	store.Telemetry
	store.Cluster
}

// Stats are the figures of a database.
type Stats struct {
	SizeBytes                         int64
	Connections, Busy, MaxConnections int
	Waits                             int64
	WaitDuration                      time.Duration
	Retries                           int64
}

// OpenWithoutMigration returns an error.
func OpenWithoutMigration(context.Context, string, Options) (*Store, error) { return nil, errMissing }

// Open returns an error.
func Open(context.Context, string, Options) (*Store, error) { return nil, errMissing }

// ReadURL returns an error.
func ReadURL(string) (string, error) { return "", errMissing }

// CheckURL returns an error.
func CheckURL(string) error { return errMissing }

// SchemaVersion returns 0: no database is known.
func SchemaVersion() int { return 0 }

// Allow returns an error.
func (*Store) Allow(context.Context, string, int, time.Duration) (ok bool, left int, reset time.Duration, err error) {
	return false, 0, 0, errMissing
}

// PruneRates returns an error.
func (*Store) PruneRates(context.Context, time.Duration) (int64, error) { return 0, errMissing }

// Check returns an error.
func (*Store) Check(context.Context) []error { return []error{errMissing} }

// Schema returns an error.
func (*Store) Schema(context.Context) (int, error) { return 0, errMissing }

// RecordBuckets returns an error.
func (*Store) RecordBuckets(context.Context) ([]string, error) { return nil, errMissing }

// Ready returns an error.
func (*Store) Ready(context.Context) error { return errMissing }

// Stats returns an error.
func (*Store) Stats(context.Context) (Stats, error) { return Stats{}, errMissing }

// Backup returns an error.
func (*Store) Backup(context.Context, io.Writer) (int64, error) { return 0, errMissing }

// Restore returns an error.
func (*Store) Restore(context.Context, io.Reader) error { return errMissing }

// RowSets returns an error.
func (*Store) RowSets(context.Context) ([]store.RowSet, error) { return nil, errMissing }

// Rows yields an error.
func (*Store) Rows(context.Context, store.RowSet) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) { yield(store.Entry{}, errMissing) }
}

// Close does nothing.
func (*Store) Close() error { return nil }
