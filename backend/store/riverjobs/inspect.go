//go:build !gateway

package riverjobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/riverqueue/river/rivertype"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/postgres"
)

// Cancel marks a running job; its worker sees that at its next check.
func (q *Queue) Cancel(ctx context.Context, kind, unique string) error {
	_, err := q.pool.Exec(ctx, `UPDATE sunloop.river_job SET metadata = metadata || '{"cancelled": true}'
		WHERE state = 'running' AND kind = $1 AND args->>'unique' = $2`, kind, unique)
	return postgres.Fault("cancel a job", err)
}

// Counts are the numbers of jobs in each state.
func (q *Queue) Counts(ctx context.Context) (waiting, running, dead int, err error) {
	err = q.pool.QueryRow(ctx, `SELECT count(*) FILTER (WHERE state IN ('available', 'pending', 'retryable', 'scheduled')),
		count(*) FILTER (WHERE state = 'running'), count(*) FILTER (WHERE state IN ('cancelled', 'discarded'))
		FROM sunloop.river_job WHERE state <> 'completed'`).Scan(&waiting, &running, &dead)
	return waiting, running, dead, postgres.Fault("count jobs", err)
}

// Next is when there will be something to run.
func (q *Queue) Next(ctx context.Context) (at time.Time, ok bool, err error) {
	var next *time.Time
	err = q.pool.QueryRow(ctx, `SELECT least(
		(SELECT min(scheduled_at) FROM sunloop.river_job WHERE state IN ('available', 'pending', 'retryable', 'scheduled')),
		(SELECT min(coalesce(w.until, now())) FROM sunloop.river_job j
			LEFT JOIN sunloop.worker w ON w.id = j.attempted_by[array_upper(j.attempted_by, 1)] WHERE j.state = 'running'))`).Scan(&next)
	if err != nil || next == nil {
		return time.Time{}, false, postgres.Fault("look for the next job", err)
	}
	return next.UTC(), true, nil
}

// Dead are the dead jobs, the latest first.
func (q *Queue) Dead(ctx context.Context, limit int) ([]store.DeadJob, error) {
	dead, err := q.dead(ctx, limit)
	return dead, postgres.Fault("list dead jobs", err)
}

func (q *Queue) dead(ctx context.Context, limit int) ([]store.DeadJob, error) {
	rows, err := q.pool.Query(ctx, `SELECT id, kind, args::text, scheduled_at, max_attempts, attempt, finalized_at,
		coalesce(errors[array_upper(errors, 1)]->>'error', state::text)
		FROM sunloop.river_job WHERE state IN ('cancelled', 'discarded') ORDER BY finalized_at DESC, id DESC LIMIT $1`, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (d store.DeadJob, err error) {
		var number int64
		var kind, encoded string
		var runAt time.Time
		var maxAttempts int
		if err := row.Scan(&number, &kind, &encoded, &runAt, &maxAttempts, &d.Attempts, &d.DiedAt, &d.Cause); err != nil {
			return d, err
		}
		var a args
		if err := json.Unmarshal([]byte(encoded), &a); err != nil {
			return d, fmt.Errorf("read dead job %d: %w", number, err)
		}
		d.Job, d.DiedAt = jobOf(number, kind, a, runAt, maxAttempts), d.DiedAt.UTC()
		return d, nil
	})
}

// uniqueViolation is the SQLSTATE of a second row of a unique key.
const uniqueViolation = "23505"

// RetryDead puts a dead job back.
func (q *Queue) RetryDead(ctx context.Context, id string, runAt time.Time) error {
	number, ok := numberOf(id)
	if !ok {
		return fmt.Errorf("dead job %s: %w", id, store.ErrNotFound)
	}
	tag, err := q.pool.Exec(ctx, `UPDATE sunloop.river_job SET state = $3::text::sunloop.river_job_state, finalized_at = NULL, attempt = 0, scheduled_at = $2,
		errors = NULL, metadata = metadata - '{failures, lapses, cancelled}'::text[]
		WHERE id = $1 AND state IN ('cancelled', 'discarded')`, number, runAt, string(rivertype.JobStateAvailable))
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && pg.Code == uniqueViolation:
		return fmt.Errorf("another job of the key of %s: %w", id, store.ErrExists)
	case err != nil:
		return postgres.Fault("revive a job", err)
	case tag.RowsAffected() == 0:
		return fmt.Errorf("dead job %s: %w", id, store.ErrNotFound)
	}
	return nil
}
