//go:build !gateway

package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"app.sunloop/backend/store"
)

// Errors of a move into a database. ErrImporting is Open's as well.
var (
	ErrImporting = errors.New("migration is incomplete; rerun `sunloop admin migrate` or recreate the database")
	ErrOccupied  = errors.New("target is not empty; nothing was written")
	errOvertook  = errors.New("another run of the migration has started and replaces this one")
)

// Tables of a migration. The first remains after it has ended, to record the
// source, and the last, from which the queue takes its jobs.
const (
	moveTable   = "sunloop.move"
	markTable   = "sunloop.move_mark"
	objectTable = "sunloop.move_object"
	jobTable    = "sunloop.move_job"
)

// Import is a copy of a store into the database. Until End no service
// opens it.
type Import struct {
	store *Store
	run   string
	// First reports that no run came before, Ended that a former one has
	// reached End: then there is nothing to write.
	First, Ended bool
}

// Checkpoint states how far a set of rows was copied.
type Checkpoint struct {
	Last        []byte // the key of the last row
	Rows, Bytes int64  // up to it, itself included
	Sum         []byte // of these rows, by the copying process
}

// moving refuses a database into which a migration is half done.
func moving(ctx context.Context, pool *pgxpool.Pool) error {
	var there, half bool
	err := pool.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, moveTable).Scan(&there)
	if err == nil && there {
		err = pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM `+moveTable+` WHERE NOT ended)`).Scan(&half)
	}
	if err == nil && half {
		return ErrImporting
	}
	return fault("look for a migration", err)
}

// BeginImport begins to copy a source to the empty database, for which vacant
// must report that the place of its objects is empty as well, or continues a
// former run of the same source to the same place. The error is ErrOccupied if
// there is anything else.
func (s *Store) BeginImport(ctx context.Context, source, objects string, vacant func() error) (*Import, error) {
	m := &Import{store: s, run: rand.Text()}
	err := s.transact(ctx, locking, func(tx pgx.Tx) error {
		m.First, m.Ended = false, false
		// No service opens the database meanwhile.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrationLock)); err != nil {
			return fault("lock the schema", err)
		}
		var there bool
		if err := tx.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, moveTable).Scan(&there); err != nil {
			return fault("look for a migration", err)
		}
		if !there {
			if err := vacant(); err != nil {
				return err
			}
			m.First = true
			return s.firstMove(ctx, tx, source, objects, m.run)
		}
		var ofSource, ofObjects string
		err := tx.QueryRow(ctx, `UPDATE `+moveTable+` SET run = $1 RETURNING source, objects, ended`, m.run).Scan(&ofSource, &ofObjects, &m.Ended)
		switch {
		case err != nil:
			return fault("continue the migration", err)
		case ofSource != source:
			return errors.New("it has a migration of another data folder; nothing was written")
		case ofObjects != objects:
			return fmt.Errorf("its migration began with --objects %q, not %q: nothing was written", ofObjects, objects)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// firstMove creates the tables of a migration.
func (s *Store) firstMove(ctx context.Context, tx pgx.Tx, source, objects, run string) error {
	for _, k := range rawKinds {
		if there, err := k.exists(ctx, tx); err != nil {
			return err
		} else if !there {
			continue
		}
		var filled bool
		if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM sunloop.`+k.table+`)`).Scan(&filled); err != nil {
			return fault("look at "+k.table, err)
		}
		if filled {
			return ErrOccupied
		}
	}
	var led bool
	if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM sunloop.leader WHERE until > clock_timestamp())`).Scan(&led); err != nil {
		return fault("look for services", err)
	}
	if led {
		return errors.New("a service is running on it; nothing was written")
	}
	for _, sql := range []string{
		`CREATE TABLE ` + moveTable + ` (source text NOT NULL, objects text NOT NULL, run text NOT NULL, ended boolean NOT NULL DEFAULT false)`,
		`CREATE TABLE ` + markTable + ` (kind text, name text COLLATE "C", last bytea NOT NULL, rows bigint NOT NULL, bytes bigint NOT NULL, sum bytea NOT NULL,
			PRIMARY KEY (kind, name))`,
		`CREATE TABLE ` + objectTable + ` (key text COLLATE "C" PRIMARY KEY)`,
		`CREATE TABLE ` + jobTable + ` (state text COLLATE "C", key bytea, value bytea NOT NULL, PRIMARY KEY (state, key))`,
	} {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return fault("make the tables of the migration", err)
		}
	}
	_, err := tx.Exec(ctx, `INSERT INTO `+moveTable+` (source, objects, run) VALUES ($1, $2, $3)`, source, objects, run)
	return fault("begin the migration", err)
}

// write runs fn in a transaction, unless another run has begun or the move has
// ended.
func (m *Import) write(ctx context.Context, fn func(tx pgx.Tx) error) error {
	return m.store.transact(ctx, locking, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE `+moveTable+` SET run = run WHERE run = $1 AND NOT ended`, m.run)
		if err != nil {
			return fault("continue the migration", err)
		}
		if tag.RowsAffected() == 0 {
			return errOvertook
		}
		return fn(tx)
	})
}

// Checkpoints are those of all sets of which rows were copied.
func (m *Import) Checkpoints(ctx context.Context) (map[store.RowSet]Checkpoint, error) {
	marks := map[store.RowSet]Checkpoint{}
	rows, err := m.store.pool.Query(ctx, `SELECT kind, name, last, rows, bytes, sum FROM `+markTable)
	if err != nil {
		return nil, fault("read the marks", err)
	}
	var set store.RowSet
	var last, sum []byte
	var n, bytes int64
	_, err = pgx.ForEachRow(rows, []any{&set.Kind, &set.Name, &last, &n, &bytes, &sum}, func() error {
		marks[set] = Checkpoint{last, n, bytes, sum}
		return nil
	})
	return marks, fault("read the marks", err)
}

// Batch is rows to be put into the database in one transaction, and how far
// their sets have come by them.
type Batch struct {
	tables map[string][][]any // by kind
	marks  map[store.RowSet]Checkpoint
	bytes  int
	rows   int
}

// maxKey is the longest key of a record that an index takes however little it
// can be compressed, in bytes, its bucket's name included.
const maxKey = 2600

// Add adds a copy of a row.
func (b *Batch) Add(set store.RowSet, row store.Entry) error {
	if b.tables == nil {
		b.tables, b.marks = map[string][][]any{}, map[store.RowSet]Checkpoint{}
	}
	columns, err := columnsOf(set, row)
	if err != nil {
		return fmt.Errorf("%s of %q: %w", set.Kind, set.Name, err)
	}
	b.tables[set.Kind] = append(b.tables[set.Kind], columns)
	b.bytes += len(row.Key) + len(row.Value)
	b.rows++
	return nil
}

// Checkpoint records how far a set has been copied, in the transaction of the last
// rows.
func (b *Batch) Checkpoint(set store.RowSet, mark Checkpoint) { b.marks[set] = mark }

// columnsOf is a row as its table has it.
func columnsOf(set store.RowSet, row store.Entry) ([]any, error) {
	if !utf8.ValidString(set.Name) || strings.Contains(set.Name, "\x00") {
		return nil, errors.New("the name is not valid text and cannot be stored in a database")
	}
	columns := []any{set.Name}
	switch set.Kind {
	case store.JobRows:
		return append(columns, append([]byte{}, row.Key...), append([]byte{}, row.Value...)), nil
	case store.RecordRows:
		if n := len(set.Name) + len(row.Key); n > maxKey {
			return nil, fmt.Errorf("the key %.40q… of %d bytes is too long for a database", row.Key, len(row.Key))
		}
		shard, key := shardOf(append([]byte{}, row.Key...))
		return append(columns, shard, key, append([]byte{}, row.Value...)), nil
	case store.SiteRows:
		layout, roster, err := store.SplitSiteValue(append([]byte{}, row.Value...))
		return append(columns, layout, roster), err
	case store.AssetRows:
		ref, err := store.SplitAssetValue(row.Value)
		if err != nil || ref > math.MaxInt32 {
			return nil, cmp.Or(err, errRef)
		}
		return append(columns, string(row.Key), int32(ref)), nil
	}
	ref, start, err := store.SplitCellKey(row.Key)
	if err != nil || ref > math.MaxInt32 {
		return nil, cmp.Or(err, errRef)
	}
	return append(columns, int32(ref), start, append([]byte{}, row.Value...)), nil
}

// errRef is of a row of a damaged store: a site has fewer assets.
var errRef = errors.New("the number of an asset is too large")

// Size is the rows' number and their bytes.
func (b *Batch) Size() (rows, bytes int) { return b.rows, b.bytes }

// Put writes the batch, all of it or nothing, and empties it.
func (m *Import) Put(ctx context.Context, b *Batch) error {
	if b.rows == 0 {
		return nil
	}
	err := m.write(ctx, func(tx pgx.Tx) error {
		for _, k := range rawKinds {
			if len(b.tables[k.kind]) == 0 {
				continue
			}
			_, err := tx.CopyFrom(ctx, pgx.Identifier{"sunloop", k.table}, append([]string{k.name}, k.columns...), pgx.CopyFromRows(b.tables[k.kind]))
			if err != nil {
				return fault("load "+k.table, err)
			}
		}
		var marks pgx.Batch
		for set, mark := range b.marks {
			marks.Queue(`INSERT INTO `+markTable+` (kind, name, last, rows, bytes, sum) VALUES ($1, $2, $3, $4, $5, $6)
				ON CONFLICT (kind, name) DO UPDATE SET last = excluded.last, rows = excluded.rows, bytes = excluded.bytes, sum = excluded.sum`,
				set.Kind, set.Name, mark.Last, mark.Rows, mark.Bytes, mark.Sum)
		}
		return fault("write the marks", tx.SendBatch(ctx, &marks).Close())
	})
	if err == nil {
		*b = Batch{}
	}
	return err
}

// Clear removes what was copied of a set, and its mark.
func (m *Import) Clear(ctx context.Context, set store.RowSet) error {
	k, err := rawKindOf(set.Kind)
	if err != nil {
		return err
	}
	return m.write(ctx, func(tx pgx.Tx) error {
		var b pgx.Batch
		b.Queue(`DELETE FROM sunloop.`+k.table+` WHERE `+k.name+` = $1`, set.Name)
		b.Queue(`DELETE FROM `+markTable+` WHERE kind = $1 AND name = $2`, set.Kind, set.Name)
		return fault("clear "+k.table, tx.SendBatch(ctx, &b).Close())
	})
}

// Announce records keys of objects before they are written: what is found under
// them belongs to the migration.
func (m *Import) Announce(ctx context.Context, keys []string) error {
	return m.write(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO `+objectTable+` (key) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING`, keys)
		return fault("announce objects", err)
	})
}

// UnexpectedKeys returns those of the keys that were not announced.
func (m *Import) UnexpectedKeys(ctx context.Context, keys []string) ([]string, error) {
	rows, err := m.store.pool.Query(ctx, `SELECT key FROM unnest($1::text[]) AS k (key) WHERE NOT EXISTS (SELECT FROM `+objectTable+` o WHERE o.key = k.key)`, keys)
	if err != nil {
		return nil, fault("look for objects", err)
	}
	foreign, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return foreign, fault("look for objects", err)
}

// End lets services open the database.
func (m *Import) End(ctx context.Context) error {
	err := m.write(ctx, func(tx pgx.Tx) error {
		for _, sql := range []string{`UPDATE ` + moveTable + ` SET ended = true`, `DROP TABLE ` + markTable, `DROP TABLE ` + objectTable} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return fault("end the migration", err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	m.Ended = true
	for _, k := range rawKinds { // what is asked for first shall be planned well
		if _, err := m.store.pool.Exec(ctx, `ANALYZE sunloop.`+k.table); err != nil {
			return fault("look at what "+k.table+" holds", err)
		}
	}
	return nil
}
