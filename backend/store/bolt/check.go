package bolt

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/block"
)

var errTail = errors.New("the tail begins before the open day")

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
			site, err := siteIn(tx, string(id))
			if err != nil {
				report(err)
				return nil
			}
			s.checkSite(site, func(err error) { report(fmt.Errorf("site %s: %w", id, err)) })
			return nil
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

func (s *Store) checkSite(site *site, report func(error)) {
	zone, err := s.siteZone(site)
	if err != nil {
		report(err)
		return
	}
	known, err := site.roster()
	if err != nil {
		report(err)
		return
	}
	cal := calendar{zone: zone}
	sumsBucket := site.bucket.Bucket(sumsName)
	c := site.bucket.Bucket(blocksName).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		ref, start := splitBlockKey(k)
		if int(ref) >= len(known) {
			report(fmt.Errorf("a block of asset %d of %d", ref, len(known)))
			continue
		}
		f, err := block.Decode(v)
		if err != nil {
			report(fmt.Errorf("asset %s: %w", known[ref].id, err))
			continue
		}
		run := cal.at(start)
		if n := f.Len(); n == 0 || start != run.start || f.Times[0] < run.start || f.Times[n-1] >= min(run.end, site.meta.open) {
			report(fmt.Errorf("asset %s: the block of %d has samples of other days", known[ref].id, start))
		}
		month := monthSums(sumsBucket.Get(blockKey(ref, run.month)))
		want := len(sums(f, run.days, run.end, known[ref].step)) * daySumSize
		if len(month)%daySumSize != 0 || len(month.between(run.start, run.end)) != want {
			report(fmt.Errorf("asset %s: the sums of %d are not of its block", known[ref].id, start))
		}
	}
	if _, err := site.tailBefore(known, maxStamp); err != nil {
		report(err)
	}
	if k, _ := site.bucket.Bucket(tailName).Cursor().First(); k != nil && splitStampKey(k) < site.meta.open {
		report(errTail)
	}
}
