//go:build !gateway

package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"app.sunloop/backend/store"
)

// SQLSTATE codes that are answered in particular ways.
const (
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	completionUnknown    = "40003"
	readOnlyTransaction  = "25006"
	noSuchDatabase       = "3D000"
	noPrivilege          = "42501"
	diskFull             = "53100"
	statementTaken       = "42P05"
	statementUnknown     = "26000"
	authorization        = "28" // a class
	connection           = "08" // a class
	resources            = "53" // a class
	shutdown             = "57P"
)

// databaseError is an error of the database, with a text that names no host, user
// or password: its text may reach clients. What it wraps is for errors.As.
type databaseError struct {
	what, text string
	err        error
}

func (e *databaseError) Error() string { return e.what + ": " + e.text }
func (e *databaseError) Unwrap() error { return e.err }

// Reason is what went wrong, without what was being done.
func (e *databaseError) Reason() string { return e.text }

// Is reports a database without space as [store.ErrDiskFull], and one that is
// unreachable, or refuses sign-in or writes, as [store.ErrUnavailable].
func (e *databaseError) Is(target error) bool {
	switch target {
	case store.ErrDiskFull:
		var pg *pgconn.PgError
		return errors.As(e.err, &pg) && pg.Code == diskFull
	case store.ErrUnavailable:
		return unavailable(e.err)
	}
	return false
}

// unavailable reports whether an error concerns the database as a whole, and
// not a single query.
func unavailable(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return lost(err)
	}
	for _, class := range []string{authorization, connection, resources, shutdown, noSuchDatabase, noPrivilege, readOnlyTransaction, statementTaken, statementUnknown} {
		if strings.HasPrefix(pg.Code, class) {
			return pg.Code != diskFull
		}
	}
	return false
}

// fault wraps an error of pgx with what was being done; nil for nil. A deadline
// that passed is a database that does not answer in time.
func fault(what string, err error) error {
	if err == nil {
		return nil
	}
	var own *databaseError
	if errors.As(err, &own) {
		return fmt.Errorf("%s: %w", what, err)
	}
	return &databaseError{what, plain(err), err}
}

// Fault is an error of pgx with the operation, and a text that names no host,
// user or password; nil for nil. It is for the queue that shares the database.
func Fault(what string, err error) error { return fault(what, err) }

// silent is the reason of a deadline that passed.
const silent = "the database does not answer in time"

// plain returns what went wrong without naming the location.
func plain(err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return silent
	}
	if errors.Is(err, pgx.ErrTxCommitRollback) {
		return "the transaction had failed before"
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		if lost(err) {
			return "the database cannot be reached"
		}
		return "the database's answer cannot be read, or the question not be asked"
	}
	switch {
	case strings.HasPrefix(pg.Code, authorization):
		return "the database refuses the user or the password"
	case pg.Code == noSuchDatabase:
		return "there is no such database"
	case pg.Code == readOnlyTransaction:
		return "the database is read-only"
	case pg.Code == noPrivilege:
		return "the database's user may not do this"
	case pg.Code == statementTaken, pg.Code == statementUnknown:
		return "the database is behind a pooler: its URL must say default_query_exec_mode=exec"
	case pg.Code == diskFull:
		return "the database's disk is full"
	case strings.HasPrefix(pg.Code, resources):
		return "the database has no room for another connection or query"
	case strings.HasPrefix(pg.Code, connection), strings.HasPrefix(pg.Code, shutdown):
		return "the database is going down or starting"
	}
	return fmt.Sprintf("the database answers %q (%s)", pg.Message, pg.Code)
}

// lost reports whether the connection is lost.
func lost(err error) bool {
	var network net.Error
	for _, closed := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, puddle.ErrClosedPool, pgconn.ErrConnClosed} {
		if errors.Is(err, closed) {
			return true
		}
	}
	// A connection that broke before returns an untyped error, which shows
	// that nothing was sent.
	return errors.As(err, &network) || errors.As(err, new(*pgconn.ConnectError)) || pgconn.SafeToRetry(err)
}

// ofDatabase reports whether an error is the database's, or that of the
// connection to it.
func ofDatabase(err error) bool { return errors.As(err, new(*pgconn.PgError)) || lost(err) }

// retryable reports whether a transaction failed because of another one.
func retryable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == serializationFailure || pg.Code == deadlockDetected)
}
