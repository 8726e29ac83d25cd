//go:build !gateway

package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Check reads all telemetry and returns what is wrong with it, and with the
// tables' indexes if the database has the extension amcheck. Writers continue
// meanwhile.
func (s *Store) Check(ctx context.Context) []error {
	var faults []error
	report := func(err error) { faults = append(faults, err) }
	if err := s.checkIndexes(ctx, report); err != nil {
		report(err)
	}
	storage := sites{s}
	ids, err := storage.Sites(ctx)
	if err != nil {
		report(err)
	}
	for _, id := range ids {
		err := s.transact(ctx, snapshot, func(tx pgx.Tx) error {
			in := &site{ctx: ctx, reads: direct{tx}, tx: tx, id: id}
			if err := in.load(); err != nil {
				return err
			}
			return s.Store.Check(id, in, report)
		})
		if err != nil {
			report(fmt.Errorf("site %s: %w", id, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return faults
}

// checkIndexes holds each index against its table, one at a time.
func (s *Store) checkIndexes(ctx context.Context, report func(error)) error {
	ctx = long(ctx)
	rows, err := s.pool.Query(ctx, `SELECT quote_ident(x.nspname) || '.bt_index_check', i.indexrelid::regclass::text
		FROM pg_extension e JOIN pg_namespace x ON x.oid = e.extnamespace
		CROSS JOIN pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE e.extname = 'amcheck' AND n.nspname = 'sunloop' AND c.relkind = 'i' ORDER BY 2`)
	if err != nil {
		return fault("list the indexes", err)
	}
	type index struct{ Check, Name string }
	indexes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[index])
	if err != nil {
		return fault("list the indexes", err)
	}
	for _, x := range indexes {
		if _, err := s.pool.Exec(ctx, `SELECT `+x.Check+`($1::text::regclass, true)`, x.Name); err != nil {
			report(fault("check index "+x.Name, err))
		}
	}
	return nil
}
