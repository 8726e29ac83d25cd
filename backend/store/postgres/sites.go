//go:build !gateway

package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/jackc/pgx/v5"

	"app.sunloop/backend/store/telemetry"
)

// sites is telemetry.Storage in the database.
type sites struct{ store *Store }

var _ telemetry.Storage = sites{}

// Sites are the sites with telemetry.
func (h sites) Sites(ctx context.Context) ([]string, error) {
	rows, err := h.store.pool.Query(ctx, `SELECT site FROM sunloop.site ORDER BY site`)
	if err != nil {
		return nil, fault("list the sites", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return ids, fault("list the sites", err)
}

// View runs fn over one committed state.
func (h sites) View(ctx context.Context, id string, fn func(r telemetry.Reader) error) error {
	read := func(r reads) error {
		s := &site{ctx: ctx, reads: r, id: id}
		if err := s.load(); err != nil {
			return err
		}
		return fn(s)
	}
	if reader := batchReaderOf(ctx); reader != nil {
		return read(reader)
	}
	return h.store.transact(ctx, snapshot, func(tx pgx.Tx) error { return read(direct{tx}) })
}

// Change is one transaction that holds the lock of the site's row: changes of a
// site are serialised over all processes, whether alone or not, and readers are
// not blocked.
func (h sites) Change(ctx context.Context, id string, _ bool, fn func(c telemetry.Change) error) error {
	return h.store.transact(ctx, locking, func(tx pgx.Tx) error {
		s := &site{ctx: ctx, reads: direct{tx}, tx: tx, id: id}
		if err := s.lock(); err != nil {
			return err
		}
		return fn(change{s})
	})
}

// change is telemetry.Change within its one transaction.
type change struct{ site *site }

func (c change) View(fn func(r telemetry.Reader) error) error   { return fn(c.site) }
func (c change) Update(fn func(w telemetry.Writer) error) error { return fn(c.site) }

// site is a site in a transaction.
type site struct {
	ctx            context.Context
	reads          reads
	tx             pgx.Tx // of a change
	id             string
	layout, roster []byte
	fresh          bool // nothing was stored of it before this transaction
}

// tables are those of the parts.
var tables = [...]string{telemetry.Blocks: "block", telemetry.Sums: "daysum", telemetry.Tail: "tail"}

// cellsAtOnce is how many values are fetched at a time.
const cellsAtOnce = 4096

// copyFrom is from how many values on they are loaded by COPY.
const copyFrom = 256

// siteRow selects the row of a site.
const siteRow = `SELECT layout, roster FROM sunloop.site WHERE site = $1`

// lockIdle is for how long a change may make blocks while it holds the lock.
const lockIdle = "2min"

// load reads the site's row.
func (s *site) load() (err error) {
	s.layout, s.roster, err = s.reads.site(s.ctx, s.id)
	s.found()
	return fault("read the site", err)
}

// found notes whether the row that was read is one with telemetry.
func (s *site) found() {
	if s.fresh = len(s.layout) == 0; s.fresh {
		s.layout, s.roster = nil, nil
	}
}

// lock locks the site's row, which it creates if needed. The server ends the
// transaction of a process that stops in the middle, because others wait for
// the lock.
func (s *site) lock() error {
	if err := s.lockRow(); err != nil || !s.fresh {
		return err
	}
	_, err := s.tx.Exec(s.ctx, `INSERT INTO sunloop.site (site, layout, roster) VALUES ($1, '', '') ON CONFLICT (site) DO NOTHING`, s.id)
	if err != nil {
		return fault("make the site", err)
	}
	return s.lockRow()
}

func (s *site) lockRow() error {
	var b pgx.Batch
	b.Queue(`SET LOCAL idle_in_transaction_session_timeout = '` + lockIdle + `'`)
	b.Queue(siteRow+` FOR UPDATE`, s.id)
	answers := s.tx.SendBatch(s.ctx, &b)
	_, err := answers.Exec()
	if err == nil {
		s.layout, s.roster = nil, nil
		if err = answers.QueryRow().Scan(&s.layout, &s.roster); errors.Is(err, pgx.ErrNoRows) {
			err = nil
		}
		s.found()
	}
	if closed := answers.Close(); err == nil {
		err = closed
	}
	return fault("lock the site", err)
}

// Layout is what PutSite stored.
func (s *site) Layout() ([]byte, error) { return s.layout, nil }

// AssetIndex is what PutSite stored.
func (s *site) AssetIndex() ([]byte, error) { return s.roster, nil }

// Assets are the named assets that there are, or all, ascending by id.
func (s *site) Assets(ids ...string) ([]telemetry.Asset, error) {
	if s.fresh {
		return nil, nil
	}
	assets, err := s.reads.assets(s.ctx, s.id, ids)
	return assets, fault("list assets", err)
}

// locations are columns of refs and starts.
func locations(n int, at func(i int) telemetry.Location) (refs []int32, starts []int64) {
	refs, starts = make([]int32, n), make([]int64, n)
	for i := range n {
		p := at(i)
		refs[i], starts[i] = int32(p.Ref), p.Start
	}
	return refs, starts
}

// Get returns a value for each place.
func (s *site) Get(p telemetry.Section, at []telemetry.Location) ([][]byte, error) {
	if s.fresh || len(at) == 0 {
		return make([][]byte, len(at)), nil
	}
	refs, starts := locations(len(at), func(i int) telemetry.Location { return at[i] })
	values, err := s.reads.places(s.ctx, s.id, p, refs, starts)
	return values, fault("read "+tables[p], err)
}

// Overlapping yields the assets' values that may overlap from..to.
func (s *site) Overlapping(p telemetry.Section, refs []uint32, from, to int64, limit int) iter.Seq2[telemetry.Cell, error] {
	return func(yield func(telemetry.Cell, error) bool) {
		since, yielded := from, 0
		for len(refs) > 0 && !s.fresh {
			n := cellsAtOnce
			if limit > 0 {
				n = min(n, limit-yielded)
			}
			// The first asset continues where the part before ended, whose last value is repeated.
			again := since != from
			list, sinces := locations(len(refs), func(i int) telemetry.Location { return telemetry.Location{Ref: refs[i], Start: from} })
			sinces[0] = since
			if again {
				n++
			}
			cells, err := s.reads.overlapping(s.ctx, s.id, p, list, sinces, to, n)
			if err != nil {
				yield(telemetry.Cell{}, fault("read "+tables[p], err))
				return
			}
			for i, c := range cells {
				if i == 0 && again {
					continue
				}
				if !yield(c, nil) {
					return
				}
				yielded++
			}
			if len(cells) < n || yielded == limit {
				return
			}
			last := cells[len(cells)-1]
			for refs[0] != last.Ref {
				refs = refs[1:]
			}
			since = last.Start
		}
	}
}

// All yields a whole part, ascending.
func (s *site) All(p telemetry.Section) iter.Seq2[telemetry.Cell, error] {
	return s.ordered(p, telemetry.Location{Start: math.MinInt64}, telemetry.Location{Ref: math.MaxInt32, Start: math.MaxInt64})
}

// Rows yields the rows of from..to.
func (s *site) Rows(from, to int64) iter.Seq2[telemetry.Cell, error] {
	return s.ordered(telemetry.Tail, telemetry.Location{Start: from}, telemetry.Location{Start: to})
}

// ordered yields the values from a place to before another.
func (s *site) ordered(p telemetry.Section, from, to telemetry.Location) iter.Seq2[telemetry.Cell, error] {
	return func(yield func(telemetry.Cell, error) bool) {
		for at := from; !s.fresh; {
			cells, err := s.reads.ordered(s.ctx, s.id, p, at, to, cellsAtOnce)
			if err != nil {
				yield(telemetry.Cell{}, fault("read "+tables[p], err))
				return
			}
			for _, c := range cells {
				if !yield(c, nil) {
					return
				}
			}
			if len(cells) < cellsAtOnce {
				return
			}
			at = cells[len(cells)-1].Location
			at.Start++
		}
	}
}

// Clear removes all but the row that is locked.
func (s *site) Clear() error {
	var b pgx.Batch
	for _, table := range append([]string{"asset"}, tables[:]...) {
		b.Queue(`DELETE FROM sunloop.`+table+` WHERE site = $1`, s.id)
	}
	s.fresh, s.layout, s.roster = true, nil, nil
	return fault("clear the site", s.tx.SendBatch(s.ctx, &b).Close())
}

// Remove removes the site with its row.
func (s *site) Remove() error {
	if err := s.Clear(); err != nil {
		return err
	}
	_, err := s.tx.Exec(s.ctx, `DELETE FROM sunloop.site WHERE site = $1`, s.id)
	return fault("remove the site", err)
}

// PutSite stores the site's layout, roster and joined asset.
func (s *site) PutSite(layout, roster []byte, joined []telemetry.Asset) error {
	var b pgx.Batch
	b.Queue(`UPDATE sunloop.site SET layout = $2, roster = $3 WHERE site = $1`, s.id, layout, roster)
	if len(joined) > 0 {
		ids, refs := make([]string, len(joined)), make([]int32, len(joined))
		for i, a := range joined {
			ids[i], refs[i] = a.ID, int32(a.Ref)
		}
		b.Queue(`INSERT INTO sunloop.asset (site, asset, ref) SELECT $1, * FROM unnest($2::text[], $3::integer[])`, s.id, ids, refs)
	}
	s.layout, s.roster = layout, roster
	return fault("write the site", s.tx.SendBatch(s.ctx, &b).Close())
}

// Put stores cells, and removes those without a value. Many are loaded in bulk.
func (s *site) Put(p telemetry.Section, cells []telemetry.Cell) error {
	table := tables[p]
	var put []telemetry.Cell
	var gone []telemetry.Location
	bulk := len(cells) >= copyFrom
	for _, c := range cells {
		if c.Value != nil {
			put = append(put, c)
		}
		if (c.Value == nil || bulk) && !s.fresh {
			gone = append(gone, c.Location)
		}
	}
	if len(gone) > 0 {
		refs, starts := locations(len(gone), func(i int) telemetry.Location { return gone[i] })
		_, err := s.tx.Exec(s.ctx, `DELETE FROM sunloop.`+table+` t USING unnest($2::integer[], $3::bigint[]) AS p (ref, start)
			WHERE t.site = $1 AND t.ref = p.ref AND t.start = p.start`, s.id, refs, starts)
		if err != nil {
			return fault("replace values of "+table, err)
		}
	}
	if len(put) == 0 {
		return nil
	}
	if bulk {
		_, err := s.tx.CopyFrom(s.ctx, pgx.Identifier{"sunloop", table}, []string{"site", "ref", "start", "value"},
			pgx.CopyFromSlice(len(put), func(i int) ([]any, error) {
				return []any{s.id, int32(put[i].Ref), put[i].Start, put[i].Value}, nil
			}))
		return fault("load "+table, err)
	}
	refs, starts := locations(len(put), func(i int) telemetry.Location { return put[i].Location })
	values := make([][]byte, len(put))
	for i, c := range put {
		values[i] = c.Value
	}
	_, err := s.tx.Exec(s.ctx, fmt.Sprintf(`INSERT INTO sunloop.%s (site, ref, start, value) SELECT $1, * FROM unnest($2::integer[], $3::bigint[], $4::bytea[])
		ON CONFLICT (site, ref, start) DO UPDATE SET value = excluded.value`, table), s.id, refs, starts, values)
	return fault("write "+table, err)
}

// DropRows removes the rows before a stamp.
func (s *site) DropRows(before int64) error {
	_, err := s.tx.Exec(s.ctx, `DELETE FROM sunloop.tail WHERE site = $1 AND ref = 0 AND start < $2`, s.id, before)
	return fault("drop rows of tail", err)
}
