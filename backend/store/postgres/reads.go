//go:build !gateway

package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/telemetry"
)

// reads are the queries of transactions: of one that has a connection ([direct]), and of
// those that are read together ([batchReader]).
type reads interface {
	// value returns the value at a key, nil without one.
	value(ctx context.Context, bucket string, key []byte) ([]byte, error)
	// values returns the values at keys, nil for those without one.
	values(ctx context.Context, bucket string, keys [][]byte) ([][]byte, error)
	// page returns up to n entries of a range.
	page(ctx context.Context, r keyRange, n int) ([]store.Entry, error)
	// site returns a site's row; nil without one.
	site(ctx context.Context, id string) (layout, roster []byte, err error)
	// assets returns the named assets of a site that there are, or all, by id.
	assets(ctx context.Context, site string, ids []string) ([]telemetry.Asset, error)
	// places returns a value for each place, nil for those without one.
	places(ctx context.Context, site string, p telemetry.Section, refs []int32, starts []int64) ([][]byte, error)
	// overlapping returns up to n values of each ref: the last one that starts at or
	// before its since, and those behind it that start before to.
	overlapping(ctx context.Context, site string, p telemetry.Section, refs []int32, sinces []int64, to int64, n int) ([]telemetry.Cell, error)
	// ordered returns up to n values from a place to before another.
	ordered(ctx context.Context, site string, p telemetry.Section, from, to telemetry.Location, n int) ([]telemetry.Cell, error)
}

// keyRange is a range of keys of a bucket; a nil to has no upper bound.
type keyRange struct {
	bucket   string
	from, to []byte
	reverse  bool
}

// shard returns the shard that the whole range lies in, and the bounds of the keys within
// it; end is nil for all that follow. ok is false for a range over several shards.
func (r keyRange) shard() (shard, begin, end []byte, ok bool) {
	shard, begin = shardOf(r.from)
	if r.to == nil || !isShard(shard) {
		return nil, nil, nil, false
	}
	toShard, toRest := shardOf(r.to)
	switch {
	case string(toShard) == string(shard):
		return shard, begin, toRest, true
	case string(r.to) == string(store.After(shard)):
		return shard, begin, nil, true
	}
	return nil, nil, nil, false
}

// isShard reports whether the first part of a key is complete.
func isShard(b []byte) bool {
	return len(b) >= 2 && b[len(b)-2] == 0 && b[len(b)-1] == 1
}

// direct are the reads of a transaction with a connection.
type direct struct{ tx pgx.Tx }

func (d direct) value(ctx context.Context, bucket string, key []byte) (value []byte, err error) {
	shard, rest := shardOf(key)
	err = d.tx.QueryRow(ctx, `SELECT value FROM sunloop.kv WHERE bucket = $1 AND shard = $2 AND key = $3`, bucket, shard, rest).Scan(&value)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return value, err
}

func (d direct) values(ctx context.Context, bucket string, keys [][]byte) ([][]byte, error) {
	w := wantedValues{}
	w.add(bucket, keys)
	return w.read(ctx, d.tx)
}

// wantedValues are the keys of a query for many values.
type wantedValues struct {
	buckets      []string
	shards, keys [][]byte
}

func (w *wantedValues) add(bucket string, keys [][]byte) {
	for _, key := range keys {
		shard, rest := shardOf(key)
		w.buckets, w.shards, w.keys = append(w.buckets, bucket), append(w.shards, shard), append(w.keys, rest)
	}
}

// read returns the values in the order of the keys.
func (w *wantedValues) read(ctx context.Context, tx pgx.Tx) ([][]byte, error) {
	rows, err := tx.Query(ctx, `SELECT w.n::integer, c.value FROM unnest($1::text[], $2::bytea[], $3::bytea[]) WITH ORDINALITY AS w (bucket, shard, key, n)
		CROSS JOIN LATERAL (SELECT value FROM sunloop.kv t WHERE t.bucket = w.bucket COLLATE "C" AND t.shard = w.shard AND t.key = w.key LIMIT 1) c`, w.buckets, w.shards, w.keys)
	if err != nil {
		return nil, err
	}
	values := make([][]byte, len(w.keys))
	var n int
	var value []byte
	_, err = pgx.ForEachRow(rows, []any{&n, &value}, func() error {
		values[n-1] = value // made for each row
		return nil
	})
	return values, err
}

// page reads only one shard for a range within it: a distributed database has that in one
// place.
func (d direct) page(ctx context.Context, r keyRange, n int) ([]store.Entry, error) {
	sql, args := `SELECT shard, key, value FROM sunloop.kv WHERE bucket = $1`, []any{r.bucket}
	arg := func(b []byte) string {
		args = append(args, b)
		return fmt.Sprintf("$%d", len(args))
	}
	if shard, begin, end, within := r.shard(); within {
		sql += ` AND shard = ` + arg(shard) + ` AND key >= ` + arg(begin)
		if end != nil {
			sql += ` AND key < ` + arg(end)
		}
	} else {
		shard, begin := shardOf(r.from)
		sql += ` AND (shard, key) >= (` + arg(shard) + `, ` + arg(begin) + `)`
		if r.to != nil {
			shard, end := shardOf(r.to)
			sql += ` AND (shard, key) < (` + arg(shard) + `, ` + arg(end) + `)`
		}
	}
	if r.reverse {
		sql += ` ORDER BY shard DESC, key DESC`
	} else {
		sql += ` ORDER BY shard, key`
	}
	rows, err := d.tx.Query(ctx, fmt.Sprintf("%s LIMIT %d", sql, n), args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (e store.Entry, err error) {
		var key []byte
		err = row.Scan(&e.Key, &key, &e.Value)
		e.Key = append(e.Key, key...)
		return e, err
	})
}

func (d direct) site(ctx context.Context, id string) (layout, roster []byte, err error) {
	err = d.tx.QueryRow(ctx, siteRow, id).Scan(&layout, &roster)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil, nil
	}
	return layout, roster, err
}

func (d direct) assets(ctx context.Context, site string, ids []string) ([]telemetry.Asset, error) {
	sql, args := `SELECT asset, ref FROM sunloop.asset WHERE site = $1`, []any{site}
	if len(ids) > 0 {
		sql, args = sql+` AND asset = ANY($2::text[])`, append(args, ids)
	}
	rows, err := d.tx.Query(ctx, sql+` ORDER BY asset`, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (a telemetry.Asset, err error) {
		err = row.Scan(&a.ID, &a.Ref)
		return a, err
	})
}

func (d direct) places(ctx context.Context, site string, p telemetry.Section, refs []int32, starts []int64) ([][]byte, error) {
	values := make([][]byte, len(refs))
	rows, err := d.tx.Query(ctx, `SELECT p.n::integer, c.value FROM unnest($2::integer[], $3::bigint[]) WITH ORDINALITY AS p (ref, start, n)
		CROSS JOIN LATERAL (SELECT value FROM sunloop.`+tables[p]+` t WHERE t.site = $1 AND t.ref = p.ref AND t.start = p.start LIMIT 1) c`, site, refs, starts)
	if err != nil {
		return nil, err
	}
	var n int
	var value []byte
	_, err = pgx.ForEachRow(rows, []any{&n, &value}, func() error {
		values[n-1] = value // made for each row
		return nil
	})
	return values, err
}

func (d direct) overlapping(ctx context.Context, site string, p telemetry.Section, refs []int32, sinces []int64, to int64, n int) ([]telemetry.Cell, error) {
	sql := `SELECT r.ref, c.start, c.value FROM unnest($2::integer[], $3::bigint[]) WITH ORDINALITY AS r (ref, since, n)
		CROSS JOIN LATERAL (SELECT start, value FROM sunloop.` + tables[p] + ` t WHERE t.site = $1 AND t.ref = r.ref AND t.start < $4
			AND t.start >= coalesce((SELECT max(start) FROM sunloop.` + tables[p] + ` b WHERE b.site = $1 AND b.ref = r.ref AND b.start <= r.since), r.since)
			ORDER BY t.start LIMIT $5) c
		ORDER BY r.n, c.start LIMIT $5`
	return d.cells(ctx, sql, site, refs, sinces, to, n)
}

func (d direct) ordered(ctx context.Context, site string, p telemetry.Section, from, to telemetry.Location, n int) ([]telemetry.Cell, error) {
	sql := `SELECT ref, start, value FROM sunloop.` + tables[p] + `
		WHERE site = $1 AND (ref, start) >= ($2, $3) AND (ref, start) < ($4, $5) ORDER BY ref, start LIMIT $6`
	return d.cells(ctx, sql, site, int32(from.Ref), from.Start, int32(to.Ref), to.Start, n) //nolint:gosec // numbers of units
}

// cells are a query's.
func (d direct) cells(ctx context.Context, sql string, args ...any) ([]telemetry.Cell, error) {
	rows, err := d.tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (c telemetry.Cell, err error) {
		err = row.Scan(&c.Ref, &c.Start, &c.Value)
		return c, err
	})
}
