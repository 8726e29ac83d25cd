package bolt

import (
	"context"
	"iter"

	"go.etcd.io/bbolt"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/telemetry"
)

var _ store.Raw = (*Store)(nil)

// RowSets are the buckets of records, and what each site has.
func (s *Store) RowSets(ctx context.Context) ([]store.RowSet, error) {
	buckets, err := s.RecordBuckets(ctx)
	if err != nil {
		return nil, err
	}
	ids, err := (&sites{store: s}).Sites(ctx)
	if err != nil {
		return nil, err
	}
	var sets []store.RowSet
	for _, name := range buckets {
		sets = append(sets, store.RowSet{Kind: store.RecordRows, Name: name})
	}
	for _, id := range ids {
		for _, kind := range store.SiteKinds() {
			sets = append(sets, store.RowSet{Kind: kind, Name: id})
		}
	}
	return sets, nil
}

// Rows are those of a set.
func (s *Store) Rows(ctx context.Context, set store.RowSet) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		ended := false
		err := s.view(ctx, func(tx *bbolt.Tx) error {
			rows := telemetry.RowsOf(siteIn(tx, set.Name), set.Name, set.Kind)
			if set.Kind == store.RecordRows {
				rows = (&records{ctx: ctx, tx: tx, store: s}).Scan(set.Name, nil, nil, false)
			}
			for row, err := range rows {
				if err == nil {
					err = ctx.Err()
				}
				if err != nil {
					return err
				}
				if ended = !yield(row, nil); ended {
					return nil
				}
			}
			return nil
		})
		if err != nil && !ended {
			yield(store.Entry{}, err)
		}
	}
}
