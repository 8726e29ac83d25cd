//go:build !gateway

package postgres

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"app.sunloop/backend/store"
)

// How long the database may take for one answer, or the pool for a connection.
// In a request it is less: see [store.WithBudget].
const (
	defaultLimit = 30 * time.Second
	// longLimit is for statements that read or write whole tables: migrations,
	// backups and checks.
	longLimit = 15 * time.Minute
)

type longKey struct{}

// long returns a context for statements that may take longLimit.
func long(ctx context.Context) context.Context { return context.WithValue(ctx, longKey{}, true) }

// limiter is a tracer of pgx that bounds all waiting for the database: each
// statement, batch and COPY, and each wait for a connection of the pool. pgx
// uses the context that a tracer returns, so no caller can forget it. A
// statement that is not answered in time closes its connection.
type limiter struct {
	limit time.Duration
	log   *slog.Logger

	mu       sync.Mutex
	refused  bool      // the last new connection was refused for its credentials
	accepted time.Time // when the database last accepted a connection
}

type doneKey struct{}

type connectKey struct{} // when the connection was begun

func (l *limiter) start(ctx context.Context) context.Context {
	limit := l.limit
	if ctx.Value(longKey{}) != nil {
		limit = longLimit
	}
	bound, done := store.Bound(ctx, store.Database, limit)
	return context.WithValue(bound, doneKey{}, done)
}

// end ends what start began. ctx is the context that start returned.
func (l *limiter) end(ctx context.Context) {
	if done, _ := ctx.Value(doneKey{}).(func()); done != nil {
		done()
	}
}

// TraceQueryStart begins a statement.
func (l *limiter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return l.start(ctx)
}

// TraceQueryEnd ends a statement, when its rows are closed.
func (l *limiter) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	l.end(ctx)
}

// TraceBatchStart begins a batch.
func (l *limiter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return l.start(ctx)
}

// TraceBatchQuery does nothing.
func (l *limiter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd ends a batch.
func (l *limiter) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) {
	l.end(ctx)
}

// TraceCopyFromStart begins a COPY.
func (l *limiter) TraceCopyFromStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceCopyFromStartData) context.Context {
	return l.start(ctx)
}

// TraceCopyFromEnd ends a COPY.
func (l *limiter) TraceCopyFromEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceCopyFromEndData) {
	l.end(ctx)
}

// TraceAcquireStart begins a wait for a connection of the pool.
func (l *limiter) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	return l.start(ctx)
}

// TraceAcquireEnd ends a wait for a connection of the pool.
func (l *limiter) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireEndData) {
	l.end(ctx)
}

// TraceConnectStart notes the time. The connect_timeout of the URL bounds the
// connection.
func (l *limiter) TraceConnectStart(ctx context.Context, _ pgx.TraceConnectStartData) context.Context {
	return context.WithValue(ctx, connectKey{}, time.Now())
}

// TraceConnectEnd logs when the database begins and ceases to refuse the
// credentials of new connections. A refusal of a connection that began before
// another one was accepted is of former credentials.
func (l *limiter) TraceConnectEnd(ctx context.Context, data pgx.TraceConnectEndData) {
	refused := refusesCredentials(data.Err)
	if !refused && data.Err != nil {
		return
	}
	begun, _ := ctx.Value(connectKey{}).(time.Time)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !refused {
		l.accepted = time.Now()
	} else if begun.Before(l.accepted) {
		return
	}
	if l.refused == refused {
		return
	}
	l.refused = refused
	if refused {
		l.log.WarnContext(ctx, "database credentials refused; they are read again for each new connection")
	} else {
		l.log.InfoContext(ctx, "database credentials accepted")
	}
}
