package bolt

import (
	"context"
	"errors"
	"fmt"

	"app.sunloop/backend/store"
)

// Check reads the whole file and returns what is wrong with it: its pages, the
// checksums of its rows, the blocks and day sums of the telemetry, and the
// queue's lists. Writers continue meanwhile. It always ends.
func (s *Store) Check(ctx context.Context) []error {
	var faults []error
	report := func(err error) { faults = append(faults, err) }
	for _, look := range []func(r root) error{
		func(r root) error { return s.checkPages(ctx, r, report) },
		func(r root) error { checkQueue(queueIn(r), report); return nil },
		func(r root) error {
			return r.tx.Bucket(telemetryBucket).ForEachBucket(func(id []byte) error {
				if err := ctx.Err(); err != nil {
					return err
				}
				return guarded(func() error { return s.Store.Check(string(id), siteIn(r, string(id)), report) })
			})
		},
	} {
		if err := s.view(ctx, look); err != nil {
			report(err)
		}
	}
	return faults
}

// checkPages verifies the pages of a transaction. They are read from the file,
// where none that the transaction refers to changes while it is open.
func (s *Store) checkPages(ctx context.Context, r root, report func(error)) error {
	f, faults := s.db.file, 0
	v := &verify{ctx: ctx, file: f, rows: true, report: func(err error) error {
		report(err)
		if faults++; faults == maxFaults {
			return errStop
		}
		return nil
	}}
	v.meta = fileMeta{pageSize: int64(s.db.Info().PageSize), root: uint64(r.tx.Cursor().Bucket().Root()), high: uint64(r.tx.Size()) / uint64(s.db.Info().PageSize)} //nolint:gosec // sizes and ids of an open transaction
	err := v.tree()
	// The list of free pages is known of the newest state only.
	if m, unread := readMetas(f); err == nil && unread == nil && m.txid == uint64(r.tx.ID()) { //nolint:gosec // sizes and ids of an open transaction
		v.meta = m
		err = v.free()
	}
	if errors.Is(err, errStop) {
		err = nil
	}
	return err
}

// checkQueue finds jobs that are in no list, and entries of lists without one.
func checkQueue(q queue, report func(error)) {
	placed := 0
	for _, b := range []*bucket{q.due, q.running} {
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
