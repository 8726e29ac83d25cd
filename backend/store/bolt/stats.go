package bolt

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"app.sunloop/backend/store"
)

// Stats are figures of the file since it was opened.
type Stats struct {
	SizeBytes     int64
	FreeBytes     int64         // within the file: pages that new data will take
	FreePages     int           // the same in pages
	OpenReads     int           // read transactions that are open
	Writes        int64         // times that pages went to the disk
	WriteDuration time.Duration // in all, of pages and their sync
}

// Stats reads the figures.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	b := s.db.Stats()
	out := Stats{
		FreeBytes: int64(b.FreeAlloc), FreePages: b.FreePageN, OpenReads: b.OpenTxN,
		Writes: b.TxStats.GetWrite(), WriteDuration: b.TxStats.GetWriteTime(),
	}
	if err := ctx.Err(); err != nil {
		return out, err
	}
	err := s.db.view(func(r root) error {
		out.SizeBytes = r.tx.Size()
		return nil
	})
	return out, err
}

// mostCounted bounds how many jobs of a state are looked at: a count is no
// reason to hold a transaction for long.
const mostCounted = 20_000

// JobStats counts the jobs by kind as of now. Of more than 20 000 in a state,
// those that are due first are counted.
func (s *Store) JobStats(ctx context.Context, now time.Time) (map[string]store.KindStats, error) {
	kinds := map[string]store.KindStats{}
	err := s.view(ctx, func(r root) error { return queueIn(r).count(ctx, now, kinds) })
	if err != nil {
		return nil, fmt.Errorf("count the jobs: %w", err)
	}
	return kinds, nil
}

// count adds the queue's jobs to kinds.
func (q queue) count(ctx context.Context, now time.Time, kinds map[string]store.KindStats) error {
	add := func(kind string, change func(*store.KindStats)) {
		s := kinds[kind]
		change(&s)
		kinds[kind] = s
	}
	err := firstOf(ctx, q.due, func(k, _ []byte) error {
		at, id := splitTimeKey(k)
		kind, err := q.kindOf(id)
		add(kind, func(s *store.KindStats) {
			if s.Waiting++; s.Oldest.IsZero() && !at.After(now) {
				s.Oldest = at
			}
		})
		return err
	})
	if err != nil {
		return err
	}
	err = firstOf(ctx, q.running, func(k, _ []byte) error {
		_, id := splitTimeKey(k)
		kind, err := q.kindOf(id)
		add(kind, func(s *store.KindStats) { s.Running++ })
		return err
	})
	if err != nil {
		return err
	}
	return firstOf(ctx, q.dead, func(_, v []byte) error {
		var d struct{ Kind string }
		err := json.Unmarshal(v, &d)
		add(d.Kind, func(s *store.KindStats) { s.Dead++ })
		return err
	})
}

// kindOf is the kind of a job that waits or runs.
func (q queue) kindOf(id string) (string, error) {
	var j struct {
		Job struct{ Kind string } `json:"job"`
	}
	err := json.Unmarshal(q.jobs.Get([]byte(id)), &j)
	return j.Job.Kind, err
}

// firstOf sees the entries of a bucket, up to a bound.
func firstOf(ctx context.Context, b *bucket, see func(key, value []byte) error) error {
	n := 0
	c := b.Cursor()
	for k, v := c.First(); k != nil && n < mostCounted; k, v = c.Next() {
		if n++; n%scanCheck == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := see(k, v); err != nil {
			return err
		}
	}
	return nil
}
