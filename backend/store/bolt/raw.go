package bolt

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/telemetry"
)

var _ store.Raw = (*Store)(nil)

// RowSets are the jobs, the buckets of records, and what each site has.
func (s *Store) RowSets(ctx context.Context) ([]store.RowSet, error) {
	buckets, err := s.RecordBuckets(ctx)
	if err != nil {
		return nil, err
	}
	ids, err := (&sites{store: s}).Sites(ctx)
	if err != nil {
		return nil, err
	}
	sets := []store.RowSet{{Kind: store.JobRows, Name: store.WaitingJobs}, {Kind: store.JobRows, Name: store.DeadJobs}}
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
		err := s.view(ctx, func(r root) error {
			var rows iter.Seq2[store.Entry, error]
			switch {
			case set.Kind == store.RecordRows:
				rows = (&records{ctx: ctx, root: r, store: s}).Scan(set.Name, nil, nil, false)
			case set == store.RowSet{Kind: store.JobRows, Name: store.WaitingJobs}:
				rows = queueIn(r).waiting()
			case set == store.RowSet{Kind: store.JobRows, Name: store.DeadJobs}:
				rows = entries(r.bucket(deadBucket))
			default:
				rows = telemetry.RowsOf(siteIn(r, set.Name), set.Name, set.Kind)
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

// waiting yields the jobs that wait or run, each with the one that waits for its
// end behind it.
func (q queue) waiting() iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range entries(q.jobs) {
			var j *jobRecord
			if err == nil {
				j, err = q.get(string(e.Key))
			}
			if err != nil {
				yield(store.Entry{}, err)
				return
			}
			for i, job := range []*store.Job{&j.Job, j.Next} {
				if job == nil {
					continue
				}
				key := slices.Concat(e.Key, make([]byte, i))
				b, err := json.Marshal(job)
				if !yield(store.Entry{Key: key, Value: b}, err) || err != nil {
					return
				}
			}
		}
	}
}

// entries yields a bucket.
func entries(b *bucket) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		c := b.Cursor()
		for k, v := c.First(); k != nil && yield(store.Entry{Key: k, Value: v}, nil); k, v = c.Next() {
		}
	}
}
