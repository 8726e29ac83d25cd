package bolt

import (
	"context"
	"fmt"

	"go.etcd.io/bbolt"

	"app.sunloop/backend/store"
)

// Check reads the whole file and answers what is wrong with it: its pages, the
// blocks and day sums of the telemetry, and the queue's lists. Writers go on
// meanwhile.
func (s *Store) Check(ctx context.Context) []error {
	var faults []error
	report := func(err error) { faults = append(faults, err) }
	err := s.view(ctx, func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			report(err)
		}
		checkQueue(queueIn(tx), report)
		telemetry := tx.Bucket(telemetryBucket)
		return telemetry.ForEachBucket(func(id []byte) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return s.Archive.Check(string(id), siteIn(tx, string(id)), report)
		})
	})
	if err != nil {
		report(err)
	}
	return faults
}

// checkQueue finds jobs that are in no list, and entries of lists without one.
func checkQueue(q queue, report func(error)) {
	placed := 0
	for _, b := range []*bbolt.Bucket{q.due, q.running} {
		c := b.Cursor()
		for k, _ := c.First(); k != nil; k, _ = c.Next() {
			_, id := splitTimeKey(k)
			if _, err := q.get(id); err != nil {
				report(err)
			}
			placed++
		}
	}
	if jobs := count(q.jobs); jobs != placed {
		report(fmt.Errorf("%d jobs, of which %d wait or run", jobs, placed))
	}
	c := q.unique.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if _, err := q.get(string(v)); err != nil {
			report(fmt.Errorf("unique key %q: %w", store.Parts(k), err))
		}
	}
}
