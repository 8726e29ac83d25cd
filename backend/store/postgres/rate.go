package postgres

import (
	"context"
	"time"
)

// Allow counts a request of key at now if fewer than limit were counted in the
// window before it, exactly, and by all replicas together. left is how many more
// fit now; reset is how long until one more does.
func (s *Store) Allow(ctx context.Context, key string, limit int, window time.Duration, now time.Time) (ok bool, left int, reset time.Duration, err error) {
	if limit <= 0 {
		return false, 0, window, nil
	}
	start := now.Add(-window).UnixNano()
	var count int
	var oldest int64
	err = s.pool.QueryRow(ctx, `INSERT INTO sunloop.rate AS r (key, stamps, taken) VALUES ($1::text, ARRAY[$2::bigint], true)
		ON CONFLICT (key) DO UPDATE SET (stamps, taken) = (
			SELECT CASE WHEN n < $4::bigint THEN kept || $2::bigint ELSE kept END, n < $4::bigint
			FROM (SELECT coalesce(array_agg(s ORDER BY s), '{}') AS kept, count(*) AS n FROM unnest(r.stamps) AS s WHERE s > $3::bigint) AS k)
		RETURNING taken, cardinality(stamps), (SELECT min(s) FROM unnest(stamps) AS s)`,
		key, now.UnixNano(), start, int64(limit)).Scan(&ok, &count, &oldest)
	if err != nil {
		return false, 0, 0, fault("count a request", err)
	}
	return ok, max(0, limit-count), time.Duration(oldest - start), nil
}

// ForgetRates drops what was counted of keys that have counted nothing since a
// time, and answers how many these were.
func (s *Store) ForgetRates(ctx context.Context, since time.Time) (int64, error) {
	tag, err := s.pool.Exec(ctx, `DELETE FROM sunloop.rate WHERE NOT EXISTS (SELECT FROM unnest(stamps) AS s WHERE s > $1)`, since.UnixNano())
	return tag.RowsAffected(), fault("forget requests", err)
}
