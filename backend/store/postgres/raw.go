//go:build !gateway

package postgres

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"app.sunloop/backend/store"
)

var _ store.Raw = (*Store)(nil)

// rawKind is where the rows of a kind lie: the column that names their set, the
// order of their keys, and the other columns.
type rawKind struct {
	kind, table, name, order string
	columns                  []string
}

var rawKinds = []rawKind{
	{store.JobRows, "move_job", "state", "key", []string{"key", "value"}},
	{store.RecordRows, "kv", "bucket", "shard, key", []string{"shard", "key", "value"}},
	{store.SiteRows, "site", "site", "site", []string{"layout", "roster"}},
	{store.AssetRows, "asset", "site", "asset", []string{"asset", "ref"}},
	{store.BlockRows, "block", "site", "ref, start", []string{"ref", "start", "value"}},
	{store.SumRows, "daysum", "site", "ref, start", []string{"ref", "start", "value"}},
	{store.TailRows, "tail", "site", "ref, start", []string{"ref", "start", "value"}},
}

func rawKindOf(kind string) (rawKind, error) {
	for _, k := range rawKinds {
		if k.kind == kind {
			return k, nil
		}
	}
	return rawKind{}, fmt.Errorf("there are no rows of the kind %q", kind)
}

// RowSets are those of which there is a row. Of jobs there are those that a
// migration has brought and no queue has taken.
func (s *Store) RowSets(ctx context.Context) ([]store.RowSet, error) {
	ctx = long(ctx)
	var sets []store.RowSet
	for _, k := range rawKinds {
		if there, err := k.exists(ctx, s.pool); err != nil {
			return nil, err
		} else if !there {
			continue
		}
		// From name to name by the index, past all rows in between.
		rows, err := s.pool.Query(ctx, fmt.Sprintf(`WITH RECURSIVE names AS (
			SELECT min(%[1]s) AS name FROM sunloop.%[2]s
			UNION ALL SELECT (SELECT min(%[1]s) FROM sunloop.%[2]s WHERE %[1]s > names.name) FROM names WHERE names.name IS NOT NULL
		) SELECT name FROM names WHERE name IS NOT NULL`, k.name, k.table))
		if err != nil {
			return nil, fault("list what is in "+k.table, err)
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return nil, fault("list what is in "+k.table, err)
		}
		for _, name := range names {
			sets = append(sets, store.RowSet{Kind: k.kind, Name: name})
		}
	}
	return sets, nil
}

// exists reports whether the kind's table exists.
func (k rawKind) exists(ctx context.Context, db querier) (there bool, err error) {
	if k.kind != store.JobRows {
		return true, nil
	}
	err = db.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, "sunloop."+k.table).Scan(&there)
	return there, fault("look for "+k.table, err)
}

// querier is a pool or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// sql selects the rows of a set, in the order of their keys.
func (k rawKind) sql() string {
	return fmt.Sprintf(`SELECT %s FROM sunloop.%s WHERE %s = $1 ORDER BY %s`, strings.Join(k.columns, ", "), k.table, k.name, k.order)
}

// Rows are those of a set. They come as they are read: what they take of memory
// does not grow with them.
func (s *Store) Rows(ctx context.Context, set store.RowSet) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		k, err := rawKindOf(set.Kind)
		there := false
		if err == nil {
			there, err = k.exists(ctx, s.pool)
		}
		if err != nil {
			yield(store.Entry{}, err)
			return
		}
		if !there {
			return
		}
		rows, err := s.pool.Query(long(ctx), k.sql(), set.Name)
		if err != nil {
			yield(store.Entry{}, fault("read "+k.table, err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			row, err := k.scan(rows, set.Name)
			if err != nil {
				yield(store.Entry{}, fault("read "+k.table, err))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(store.Entry{}, fault("read "+k.table, err))
		}
	}
}

// scan reads a row, whose value is the connection's memory.
func (k rawKind) scan(rows pgx.Rows, name string) (store.Entry, error) {
	var a, b, c pgtype.DriverBytes
	switch k.kind {
	case store.RecordRows:
		err := rows.Scan(&a, &b, &c)
		return store.Entry{Key: append(append(make([]byte, 0, len(a)+len(b)), a...), b...), Value: c}, err
	case store.JobRows:
		err := rows.Scan(&a, &b)
		return store.Entry{Key: append([]byte{}, a...), Value: b}, err
	case store.SiteRows:
		err := rows.Scan(&a, &b)
		return store.Entry{Key: []byte(name), Value: store.SiteValue(a, b)}, err
	case store.AssetRows:
		var asset string
		var ref int32
		err := rows.Scan(&asset, &ref)
		return store.Entry{Key: []byte(asset), Value: store.AssetValue(uint32(ref))}, err
	}
	var ref int32
	var start int64
	err := rows.Scan(&ref, &start, &c)
	return store.Entry{Key: store.CellKey(uint32(ref), start), Value: c}, err
}
