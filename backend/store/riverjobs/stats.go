//go:build !gateway

package riverjobs

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/postgres"
)

// JobStats counts the jobs by kind as of now.
func (q *Queue) JobStats(ctx context.Context, now time.Time) (map[string]store.KindStats, error) {
	rows, err := q.pool.Query(ctx, `SELECT kind, count(*) FILTER (WHERE state IN ('available', 'pending', 'retryable', 'scheduled')),
		count(*) FILTER (WHERE state = 'running'), count(*) FILTER (WHERE state IN ('cancelled', 'discarded')),
		min(scheduled_at) FILTER (WHERE state IN ('available', 'pending', 'retryable', 'scheduled') AND scheduled_at <= $1)
		FROM sunloop.river_job WHERE state <> 'completed' GROUP BY kind`, now)
	if err != nil {
		return nil, postgres.Fault("count the jobs", err)
	}
	kinds := map[string]store.KindStats{}
	var kind string
	var s store.KindStats
	var oldest *time.Time
	_, err = pgx.ForEachRow(rows, []any{&kind, &s.Waiting, &s.Running, &s.Dead, &oldest}, func() error {
		s.Oldest = time.Time{}
		if oldest != nil {
			s.Oldest = oldest.UTC()
		}
		kinds[kind] = s
		return nil
	})
	return kinds, postgres.Fault("count the jobs", err)
}
