package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend/store"
)

// The queue's buckets. A job lives in jobs for as long as it waits or runs,
// and in exactly one of due and running.
var (
	jobsBucket    = []byte("jobs")    // id → jobRecord
	dueBucket     = []byte("due")     // RunAt ‖ id → nothing
	runningBucket = []byte("running") // lease end ‖ id → nothing
	uniqueBucket  = []byte("unique")  // kind, unique key → id
	deadBucket    = []byte("dead")    // time of death ‖ id → deadRecord
)

// defaultAttempts is what a job's MaxAttempts of 0 means.
const defaultAttempts = 5

// jobRecord is a job as it is stored.
type jobRecord struct {
	Job          store.Job  `json:"job"`
	Attempt      int        `json:"attempt,omitempty"`     // attempts begun
	Failures     int        `json:"failures,omitempty"`    // of these, how many failed
	LostAttempts int        `json:"lapses,omitempty"`      // of these, how many ended without a result
	Since        time.Time  `json:"since,omitzero"`        // when it was put among the due or running
	LeaseUntil   *time.Time `json:"lease_until,omitempty"` // while it runs
	Next         *store.Job `json:"next,omitempty"`        // asked for while this one runs
}

func (j *jobRecord) id() string { return j.Job.ID }

// timeKey sorts by time, then id.
func timeKey(t time.Time, id string) []byte {
	b := make([]byte, 8, 8+len(id))
	binary.BigEndian.PutUint64(b, uint64(t.UnixNano())^1<<63) // negative before positive
	return append(b, id...)
}

func splitTimeKey(k []byte) (t time.Time, id string) {
	return time.Unix(0, int64(binary.BigEndian.Uint64(k)^1<<63)).UTC(), string(k[8:])
}

// queue is the buckets inside a transaction.
type queue struct {
	jobs, due, running, unique, dead *bucket
	now                              time.Time // of a writer
}

func queueIn(r root) queue {
	return queue{jobs: r.bucket(jobsBucket), due: r.bucket(dueBucket), running: r.bucket(runningBucket), unique: r.bucket(uniqueBucket), dead: r.bucket(deadBucket)}
}

// at is the queue for a writer at a time.
func (q queue) at(now time.Time) queue {
	q.now = now.UTC()
	return q
}

func (q queue) get(id string) (*jobRecord, error) {
	b := q.jobs.Get([]byte(id))
	if b == nil {
		return nil, fmt.Errorf("job %s: %w", id, store.ErrNotFound)
	}
	j := new(jobRecord)
	if err := json.Unmarshal(b, j); err != nil {
		return nil, fmt.Errorf("read job %s: %w", id, err)
	}
	return j, nil
}

func (q queue) put(j *jobRecord) error {
	b, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("write job %s: %w", j.id(), err)
	}
	return q.jobs.Put([]byte(j.id()), b)
}

// wait puts a job among the due, in whichever state it was.
func (q queue) wait(j *jobRecord, runAt time.Time) error {
	if err := q.unplace(j); err != nil {
		return err
	}
	j.Job.RunAt, j.LeaseUntil, j.Since = runAt, nil, q.now
	return errors.Join(q.put(j), q.due.Put(timeKey(runAt, j.id()), nil))
}

// lease puts a job among the running.
func (q queue) lease(j *jobRecord, until time.Time) error {
	if err := q.unplace(j); err != nil {
		return err
	}
	j.LeaseUntil, j.Since = &until, q.now
	return errors.Join(q.put(j), q.running.Put(timeKey(until, j.id()), nil))
}

// unplace takes a job out of due or running.
func (q queue) unplace(j *jobRecord) error {
	if j.LeaseUntil != nil {
		return q.running.Delete(timeKey(*j.LeaseUntil, j.id()))
	}
	return q.due.Delete(timeKey(j.Job.RunAt, j.id()))
}

// remove ends a job and lets the one that waited for its end begin.
func (q queue) remove(j *jobRecord) error {
	err := errors.Join(q.unplace(j), q.jobs.Delete([]byte(j.id())))
	if j.Job.Unique != "" {
		err = errors.Join(err, q.unique.Delete(store.Key(j.Job.Kind, j.Job.Unique)))
	}
	if err == nil && j.Next != nil {
		err = q.add(*j.Next)
	}
	return err
}

// add stores a job that has its id and RunAt.
func (q queue) add(job store.Job) error {
	if job.Unique != "" {
		key := store.Key(job.Kind, job.Unique)
		if id := q.unique.Get(key); id != nil {
			return q.addTo(string(id), job)
		}
		if err := q.unique.Put(key, []byte(job.ID)); err != nil {
			return err
		}
	}
	return q.wait(&jobRecord{Job: job}, job.RunAt)
}

// addTo folds a job into the one that has its Unique key already.
func (q queue) addTo(id string, job store.Job) error {
	j, err := q.get(id)
	if err != nil {
		return err
	}
	switch {
	case job.SkipIfPending:
		return nil
	case j.LeaseUntil == nil && job.RunAt.Before(j.Job.RunAt):
		return q.wait(j, job.RunAt)
	case j.LeaseUntil == nil:
		return nil
	case j.Next == nil:
		j.Next = &job
	case job.RunAt.Before(j.Next.RunAt):
		j.Next.RunAt = job.RunAt
	}
	return q.put(j)
}

// markDead moves a job to the dead jobs.
func (q queue) markDead(j *jobRecord, cause string, now time.Time) error {
	b, err := json.Marshal(store.DeadJob{Job: j.Job, Attempts: min(j.Attempt, j.Job.MaxAttempts), Cause: cause, DiedAt: now})
	if err != nil {
		return fmt.Errorf("write dead job %s: %w", j.id(), err)
	}
	return errors.Join(q.remove(j), q.dead.Put(timeKey(now, j.id()), b))
}

// Enqueue adds a job to the transaction.
func (r *records) Enqueue(job store.Job) error {
	if !r.tx.Writable() {
		return store.ErrReadOnly
	}
	if job.Kind == "" {
		return errors.New("enqueue: job has no kind")
	}
	now := r.store.now()
	id, err := r.store.ids.next("job_", now)
	if err != nil {
		return err
	}
	job.ID = id
	if job.RunAt.IsZero() {
		job.RunAt = now
	}
	job.RunAt = job.RunAt.UTC()
	if job.MaxAttempts <= 0 {
		job.MaxAttempts = defaultAttempts
	}
	job.Payload = bytes.Clone(job.Payload)
	if job.Origin == (store.Origin{}) {
		job.Origin = store.OriginOf(r.ctx)
	}
	r.dirty, r.enqueued = true, true
	if err := queueIn(r.root).at(now).add(job); err != nil {
		return fmt.Errorf("enqueue %s: %w", job.Kind, err)
	}
	return nil
}

// Work runs due jobs.
func (s *Store) Work(ctx context.Context, w store.Worker) error { return s.loop.Work(ctx, w) }

// Cancel ends the context of a job that runs.
func (s *Store) Cancel(_ context.Context, kind, unique string) error {
	s.loop.Cancel(kind, unique)
	return nil
}

// Claim leases due jobs to the caller.
func (s *Store) Claim(ctx context.Context, now time.Time, lease time.Duration, n int) ([]store.Claimed, error) {
	// A read costs nothing; a commit costs the disk.
	if at, ok, err := s.Next(ctx); err != nil || !ok || at.After(now) {
		return nil, err
	}
	var claimed []store.Claimed
	err := s.queueUpdate(ctx, "claim jobs", func(q queue) error {
		claimed = claimed[:0]
		for _, id := range append(upTo(q.running, now, n), upTo(q.due, now, n)...) {
			if len(claimed) == n {
				break
			}
			j, err := q.get(id)
			if err != nil {
				return err
			}
			if j.LeaseUntil != nil {
				j.LostAttempts++
			}
			j.Attempt = min(j.Attempt, j.Job.MaxAttempts) + 1
			until := now.Add(lease).UTC()
			if err := q.lease(j, until); err != nil {
				return err
			}
			claimed = append(claimed, store.Claimed{Job: j.Job, Attempt: j.Attempt, Failures: j.Failures, LostAttempts: j.LostAttempts})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

// upTo are the ids of at most n entries whose time is not after now.
func upTo(b *bucket, now time.Time, n int) []string {
	var ids []string
	c := b.Cursor()
	for k, _ := c.First(); k != nil && len(ids) < n; k, _ = c.Next() {
		at, id := splitTimeKey(k)
		if at.After(now) {
			break
		}
		ids = append(ids, id)
	}
	return ids
}

// Settle ends a run of a job.
func (s *Store) Settle(ctx context.Context, id string, v store.JobResult) error {
	freed := false
	err := s.queueUpdate(ctx, "settle job", func(q queue) error {
		j, err := q.leased(id)
		if err != nil {
			return err
		}
		freed = v.Outcome != store.Done || j.Next != nil
		switch {
		case v.Outcome == store.Done:
			return q.remove(j)
		case v.IsDead(j.Job, j.Attempt):
			return q.markDead(j, v.Cause, q.now)
		case v.Outcome == store.Failed:
			j.Failures++
		case v.Outcome == store.Stopped:
			j.Attempt--
		}
		return q.wait(j, v.RunAt.UTC())
	})
	if err == nil && freed {
		s.wake()
	}
	return err
}

// Renew lengthens a lease.
func (s *Store) Renew(ctx context.Context, id string, until time.Time) error {
	return s.queueUpdate(ctx, "renew lease", func(q queue) error {
		j, err := q.leased(id)
		if err != nil {
			return err
		}
		return q.lease(j, until.UTC())
	})
}

// Release returns all running jobs to the queue.
func (s *Store) Release(ctx context.Context) error {
	err := s.queueUpdate(ctx, "take over jobs", func(q queue) error {
		for _, id := range after(q.running, time.Time{}) {
			j, err := q.get(id)
			if err != nil {
				return err
			}
			j.LostAttempts++
			at := j.Job.RunAt
			if at.After(q.now) {
				at = q.now
			}
			if err := q.wait(j, at); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		s.wake()
	}
	return err
}

// Rewind follows a clock that was put back.
func (s *Store) Rewind(ctx context.Context, now time.Time) error {
	err := s.queueUpdate(ctx, "follow the clock back", func(q queue) error {
		q = q.at(now)
		for _, id := range append(after(q.due, now), after(q.running, now)...) {
			j, err := q.get(id)
			if err != nil {
				return err
			}
			by := j.Since.Sub(now)
			if by <= 0 {
				continue
			}
			if j.Next != nil && j.Next.RunAt.After(now) {
				j.Next.RunAt = j.Next.RunAt.Add(-by)
			}
			if j.LeaseUntil != nil {
				err = q.lease(j, j.LeaseUntil.Add(-by))
			} else {
				err = q.wait(j, j.Job.RunAt.Add(-by))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		s.wake()
	}
	return err
}

// after are the ids of the entries whose time is after t.
func after(b *bucket, t time.Time) []string {
	var ids []string
	c := b.Cursor()
	from := timeKey(t, "\xff")
	if t.IsZero() {
		from = nil
	}
	for k, _ := c.Seek(from); k != nil; k, _ = c.Next() {
		_, id := splitTimeKey(k)
		ids = append(ids, id)
	}
	return ids
}

// leased is a job that runs; ErrNotFound for one that does not.
func (q queue) leased(id string) (*jobRecord, error) {
	j, err := q.get(id)
	if err == nil && j.LeaseUntil == nil {
		err = fmt.Errorf("job %s does not run: %w", id, store.ErrNotFound)
	}
	return j, err
}

// Counts are the numbers of jobs in each state.
func (s *Store) Counts(ctx context.Context) (waiting, running, dead int, err error) {
	err = s.view(ctx, func(r root) error {
		q := queueIn(r)
		waiting, running, dead = count(q.due), count(q.running), count(q.dead)
		return nil
	})
	return waiting, running, dead, err
}

func count(b *bucket) int {
	n := 0
	c := b.Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		n++
	}
	return n
}

// Notify receives when there may be work.
func (s *Store) Notify() <-chan struct{} { return s.notify }

func (s *Store) wake() {
	select {
	case s.notify <- struct{}{}:
	default: // a hint is waiting already
	}
}

// Next is when there will be something to claim.
func (s *Store) Next(ctx context.Context) (at time.Time, ok bool, err error) {
	err = s.view(ctx, func(r root) error {
		q := queueIn(r)
		for _, b := range []*bucket{q.due, q.running} {
			if k, _ := b.Cursor().First(); k != nil {
				if t, _ := splitTimeKey(k); !ok || t.Before(at) {
					at, ok = t, true
				}
			}
		}
		return nil
	})
	return at, ok, err
}

// Dead are the dead jobs, the latest first.
func (s *Store) Dead(ctx context.Context, limit int) ([]store.DeadJob, error) {
	var dead []store.DeadJob
	err := s.view(ctx, func(r root) error {
		c := r.bucket(deadBucket).Cursor()
		for k, v := c.Last(); k != nil && len(dead) < limit; k, v = c.Prev() {
			var d store.DeadJob
			if err := json.Unmarshal(v, &d); err != nil {
				return fmt.Errorf("read a dead job: %w", err)
			}
			dead = append(dead, d)
		}
		return nil
	})
	return dead, err
}

// RetryDead puts a dead job back.
func (s *Store) RetryDead(ctx context.Context, id string, runAt time.Time) error {
	err := s.queueUpdate(ctx, "revive job", func(q queue) error {
		c := q.dead.Cursor()
		for k, v := c.Last(); k != nil; k, v = c.Prev() {
			if _, at := splitTimeKey(k); at != id {
				continue
			}
			var d store.DeadJob
			if err := json.Unmarshal(v, &d); err != nil {
				return fmt.Errorf("read dead job %s: %w", id, err)
			}
			if d.Unique != "" && q.unique.Get(store.Key(d.Kind, d.Unique)) != nil {
				return fmt.Errorf("another job of kind %s and key %s: %w", d.Kind, d.Unique, store.ErrExists)
			}
			if err := q.dead.Delete(bytes.Clone(k)); err != nil {
				return err
			}
			d.RunAt = runAt.UTC()
			return q.add(d.Job)
		}
		return fmt.Errorf("dead job %s: %w", id, store.ErrNotFound)
	})
	if err == nil {
		s.wake()
	}
	return err
}

// queueUpdate runs fn over the queue in a transaction. What fn wrote before an
// error is undone.
func (s *Store) queueUpdate(ctx context.Context, what string, fn func(q queue) error) error {
	err := s.writes.update(ctx, func(r root) (bool, error) {
		return true, fn(queueIn(r).at(s.now()))
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
