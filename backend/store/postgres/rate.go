//go:build !gateway

package postgres

import (
	"context"
	"time"

	"app.sunloop/internal/clock"
	"github.com/jackc/pgx/v5"
)

// Allow counts a request of key if fewer than limit were counted in the window
// before it, exactly, and over all replicas, by the database's clock only. left
// is how many more are allowed now; reset is the time until one more is.
func (s *Store) Allow(ctx context.Context, key string, limit int, window time.Duration) (ok bool, left int, reset time.Duration, err error) {
	return s.allow(ctx, key, limit, window, nil)
}

// allow is Allow at a time in Unix nanoseconds; nil: now. The time is asked for
// where the key's row is locked, so that it never runs behind a stamp. Stamps
// from the future are of before the clock was put back, or of a primary whose
// place another took: they would keep the caller out until it is there again.
func (s *Store) allow(ctx context.Context, key string, limit int, window time.Duration, at *int64) (ok bool, left int, reset time.Duration, err error) {
	if limit <= 0 {
		return false, 0, window, nil
	}
	const now = `coalesce($2::bigint, (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint)`
	var count int
	var oldest, asked int64
	row := func() pgx.Row {
		return s.pool.QueryRow(ctx, `INSERT INTO sunloop.rate AS r (key, stamps, taken) VALUES ($1::text, ARRAY[`+now+`], true)
		ON CONFLICT (key) DO UPDATE SET (stamps, taken) = (
			SELECT CASE WHEN n < $4::bigint THEN kept || t ELSE kept END, n < $4::bigint
			FROM (SELECT t, coalesce(array_agg(s ORDER BY s) FILTER (WHERE s > t - $3::bigint AND s <= t), '{}') AS kept,
					count(*) FILTER (WHERE s > t - $3::bigint AND s <= t) AS n
				FROM (SELECT `+now+` AS t) AS c LEFT JOIN unnest(r.stamps) AS s ON true GROUP BY t) AS k)
		RETURNING taken, cardinality(stamps), (SELECT min(s) FROM unnest(stamps) AS s), `+now,
			key, at, window.Nanoseconds(), int64(limit))
	}
	err = row().Scan(&ok, &count, &oldest, &asked)
	if refusesCredentials(err) && clock.Sleep(ctx, credentialPause) == nil {
		err = row().Scan(&ok, &count, &oldest, &asked)
	}
	if err != nil {
		return false, 0, 0, fault("count a request", err)
	}
	return ok, max(0, limit-count), time.Duration(oldest-asked) + window, nil
}

// PruneRates drops what was counted of keys that have counted nothing within a
// window before now, and returns how many these were.
func (s *Store) PruneRates(ctx context.Context, window time.Duration) (int64, error) {
	tag, err := s.pool.Exec(ctx, `DELETE FROM sunloop.rate WHERE NOT EXISTS (
		SELECT FROM unnest(stamps) AS s WHERE s > (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint - $1::bigint)`, window.Nanoseconds())
	return tag.RowsAffected(), fault("forget requests", err)
}
