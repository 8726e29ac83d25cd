package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"app.sunloop/backend/store"
)

// AdoptJobs hands the jobs that a migration has brought to the queue, once, by
// whichever replica comes first: those that wait as Enqueue of [Options] takes
// them, with all their attempts, and the dead to bury. It answers how many there
// were.
func (s *Store) AdoptJobs(ctx context.Context, bury func(ctx context.Context, tx pgx.Tx, dead store.DeadJob) error) (n int, err error) {
	err = s.transact(ctx, locking, func(tx pgx.Tx) error {
		n = 0
		if there, err := jobKind().there(ctx, tx); err != nil || !there {
			return err
		}
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrationLock)); err != nil {
			return fault("lock the schema", err)
		}
		if there, err := jobKind().there(ctx, tx); err != nil || !there {
			return err // another replica was first
		}
		jobs, err := moved[store.Job](ctx, tx, store.WaitingJobs)
		if err != nil {
			return err
		}
		for _, job := range jobs {
			job.ID = ""
			if err := s.enqueue(ctx, tx, job); err != nil {
				return fmt.Errorf("enqueue %s: %w", job.Kind, err)
			}
		}
		dead, err := moved[store.DeadJob](ctx, tx, store.DeadJobs)
		if err != nil {
			return err
		}
		for _, d := range dead {
			if err := bury(ctx, tx, d); err != nil {
				return fmt.Errorf("keep the dead job %s: %w", d.ID, err)
			}
		}
		n = len(jobs) + len(dead)
		_, err = tx.Exec(ctx, `DROP TABLE `+jobTable)
		return fault("drop the moved jobs", err)
	})
	if err != nil {
		return 0, fmt.Errorf("take the jobs that were moved: %w", err)
	}
	return n, nil
}

func jobKind() rawKind {
	k, _ := rawKindOf(store.JobRows)
	return k
}

// moved are the jobs of a state that a migration has brought.
func moved[T any](ctx context.Context, tx pgx.Tx, state string) ([]T, error) {
	rows, err := tx.Query(ctx, `SELECT value FROM `+jobTable+` WHERE state = $1 ORDER BY key`, state)
	if err != nil {
		return nil, fault("read the moved jobs", err)
	}
	values, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		return nil, fault("read the moved jobs", err)
	}
	jobs := make([]T, len(values))
	for i, b := range values {
		if err := json.Unmarshal(b, &jobs[i]); err != nil {
			return nil, fmt.Errorf("read a moved job: %w", err)
		}
	}
	return jobs, nil
}
