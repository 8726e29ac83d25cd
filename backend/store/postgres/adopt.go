//go:build !gateway

package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"app.sunloop/backend/store"
)

// AdoptJobs passes the jobs of a migration to the queue, once, by the first
// replica that starts: the dead ones to insertDead, and then the waiting ones, with all
// their attempts, to Enqueue of [Options]. It returns how many there were.
func (s *Store) AdoptJobs(ctx context.Context, insertDead func(ctx context.Context, tx pgx.Tx, dead store.DeadJob) error) (n int, err error) {
	err = s.transact(ctx, locking, func(tx pgx.Tx) error {
		n = 0
		if there, err := jobKind().exists(ctx, tx); err != nil || !there {
			return err
		}
		dead, err := moved[store.DeadJob](ctx, tx, store.DeadJobs)
		if err != nil {
			return err
		}
		for _, d := range dead {
			if err := insertDead(ctx, tx, d); err != nil {
				return fmt.Errorf("keep the dead job %s: %w", d.ID, err)
			}
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
		n = len(jobs) + len(dead)
		return nil
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

// moved takes the jobs of a state that a migration has brought. Of two that do
// one waits for the other, and finds none.
func moved[T any](ctx context.Context, tx pgx.Tx, state string) ([]T, error) {
	rows, err := tx.Query(ctx, `WITH taken AS (DELETE FROM `+jobTable+` WHERE state = $1 RETURNING key, value) SELECT value FROM taken ORDER BY key`, state)
	if err != nil {
		return nil, fault("take the moved jobs", err)
	}
	values, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		return nil, fault("take the moved jobs", err)
	}
	jobs := make([]T, len(values))
	for i, b := range values {
		if err := json.Unmarshal(b, &jobs[i]); err != nil {
			return nil, fmt.Errorf("read a moved job: %w", err)
		}
	}
	return jobs, nil
}
