//go:build !gateway

package riverjobs

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"
)

// driver is River's way to the database, without notifications, which need a
// session and a lock that all commits share, and without its own settling of
// jobs that have run.
type driver struct{ *riverpgxv5.Driver }

func newDriver(pool *pgxpool.Pool) driver { return driver{riverpgxv5.New(pool)} }

// SupportsListener reports that there is no listener.
func (driver) SupportsListener() bool { return false }

// SupportsListenNotify reports that there are no notifications.
func (driver) SupportsListenNotify() bool { return false }

// GetExecutor returns River's access to the database.
func (d driver) GetExecutor() riverdriver.Executor { return executor{d.Driver.GetExecutor()} }

type executor struct{ riverdriver.Executor }

// JobSetStateIfRunningMany is what River settles jobs by some time after they
// have run. Those that ended well were settled by their worker; some may run
// again by now, and they must not be ended. The others are jobs that no worker
// was given, as their rows could not be read.
func (e executor) JobSetStateIfRunningMany(ctx context.Context, p *riverdriver.JobSetStateIfRunningManyParams) ([]*rivertype.JobRow, error) {
	rest := riverdriver.JobSetStateIfRunningManyParams{Schema: p.Schema, Now: p.Now}
	for i, state := range p.State {
		if state == rivertype.JobStateCompleted {
			continue
		}
		rest.ID, rest.Attempt, rest.ErrData = append(rest.ID, p.ID[i]), append(rest.Attempt, p.Attempt[i]), append(rest.ErrData, p.ErrData[i])
		rest.FinalizedAt, rest.ScheduledAt = append(rest.FinalizedAt, p.FinalizedAt[i]), append(rest.ScheduledAt, p.ScheduledAt[i])
		rest.MetadataDoMerge, rest.MetadataUpdates = append(rest.MetadataDoMerge, p.MetadataDoMerge[i]), append(rest.MetadataUpdates, p.MetadataUpdates[i])
		rest.State = append(rest.State, state)
	}
	if len(rest.ID) == 0 {
		return nil, nil
	}
	return e.Executor.JobSetStateIfRunningMany(ctx, &rest)
}

// quietFor is how long a message of River is not logged again: while the
// database is unavailable, it repeats several times a second.
const quietFor = time.Minute

// logTo is where River logs: what it reports of itself at debug, and what goes
// wrong once in a while.
type logTo struct {
	slog.Handler
	said *said
}

// said is when messages were last logged.
type said struct {
	mu sync.Mutex
	at map[string]time.Time
}

func riverLogger(to *slog.Logger) *slog.Logger {
	return slog.New(logTo{to.Handler(), &said{at: map[string]time.Time{}}})
}

// Enabled reports whether a level is logged.
func (l logTo) Enabled(ctx context.Context, level slog.Level) bool {
	if level < slog.LevelWarn {
		level = slog.LevelDebug
	}
	return l.Handler.Enabled(ctx, level)
}

// Handle logs a record of River's.
func (l logTo) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		r.Level = slog.LevelDebug
	} else if !l.said.again(r.Message, r.Time) {
		return nil
	}
	r.Message = "jobs: " + r.Message
	return l.Handler.Handle(ctx, r)
}

// WithAttrs is the handler with attributes.
func (l logTo) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logTo{l.Handler.WithAttrs(attrs), l.said}
}

// WithGroup is the handler with a group.
func (l logTo) WithGroup(name string) slog.Handler { return logTo{l.Handler.WithGroup(name), l.said} }

func (s *said) again(message string, at time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, there := s.at[message]; there && at.Sub(last) < quietFor {
		return false
	}
	s.at[message] = at
	return true
}
