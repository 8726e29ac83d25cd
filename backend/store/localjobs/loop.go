// Package localjobs runs the jobs of a queue with leases, such as the embedded
// one: a loop claims due jobs, renews the leases of running ones, and records
// the results of ended ones.
package localjobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"app.sunloop/backend/store"
)

// Jobs are a queue's jobs. A lease that runs out gives its job to the next who
// claims; in its last attempt it is handed out with its attempts exhausted.
type Jobs interface {
	// Claim takes up to n due jobs, oldest RunAt first, and leases them until
	// now+lease. A job begins an attempt by it, up to one past its MaxAttempts.
	Claim(ctx context.Context, now time.Time, lease time.Duration, n int) ([]store.Claimed, error)
	// Settle ends a run of a job; ErrNotFound if it does not run.
	Settle(ctx context.Context, id string, v store.JobResult) error
	// Renew lengthens a lease; ErrNotFound if the job does not run.
	Renew(ctx context.Context, id string, until time.Time) error
	// Release returns all running jobs to the queue, due at once: for the start of a queue's
	// only owner, whose former process has died. It is a lapse, no attempt.
	Release(ctx context.Context) error
	// Rewind is for a clock that was put back to now: what has waited or been
	// leased since a time that is after now does so since now, for as long as it
	// was to.
	Rewind(ctx context.Context, now time.Time) error
	// Notify receives after jobs were enqueued or released. It is a hint that
	// may be late or missing: a worker waits for it or for Next, whichever
	// comes first.
	Notify() <-chan struct{}
	// Next is when the next waiting job is due or the next lease runs out; ok
	// is false when nothing waits or runs.
	Next(ctx context.Context) (at time.Time, ok bool, err error)
}

// Loop is the workers of a queue in this process.
type Loop struct {
	jobs Jobs
	now  func() time.Time

	mu      sync.Mutex
	running map[string]context.CancelCauseFunc // by kind and unique key
}

// New is a Loop over jobs, by the clock that their times are of.
func New(jobs Jobs, now func() time.Time) *Loop {
	return &Loop{jobs: jobs, now: now, running: map[string]context.CancelCauseFunc{}}
}

// Cancel ends the context of a job that runs.
func (l *Loop) Cancel(kind, unique string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if cancel := l.running[name(kind, unique)]; cancel != nil {
		cancel(store.ErrCancelled)
	}
}

func name(kind, unique string) string { return kind + " " + unique }

// Work claims jobs and runs up to w.Workers of them at a time until ctx ends.
func (l *Loop) Work(ctx context.Context, w store.Worker) error {
	if w.Logger == nil {
		w.Logger = slog.New(slog.DiscardHandler)
	}
	now, err := l.begin(ctx, w)
	if err != nil {
		if ctx.Err() != nil {
			return nil // stopped before it began
		}
		return fmt.Errorf("take over jobs: %w", err)
	}
	var running sync.WaitGroup
	defer running.Wait()
	p := &pool{Loop: l, Worker: w, mine: map[string]bool{}, ended: make(chan string, w.Workers), looked: now}
	for {
		p.followClock(ctx)
		if len(p.mine) < w.Workers {
			jobs, err := l.jobs.Claim(ctx, p.looked, w.Lease, w.Workers-len(p.mine))
			if err != nil && ctx.Err() == nil {
				w.Logger.Error("claim jobs", "error", err)
			}
			for _, job := range jobs {
				p.mine[job.ID] = true
				running.Go(func() {
					p.run(ctx, job)
					p.ended <- job.ID
				})
			}
			if len(jobs) > 0 && len(p.mine) < w.Workers {
				continue
			}
		}
		if !p.wait(ctx) {
			return nil
		}
	}
}

// begin follows the clock, and lets an exclusive owner's start run at once what
// a dead process had leased. While the store is not available, as with a full disk, it
// tries again each w.Tick. It returns the time that it followed.
func (l *Loop) begin(ctx context.Context, w store.Worker) (time.Time, error) {
	for logged := false; ; logged = true {
		now := l.now().Round(0)
		err := l.jobs.Rewind(ctx, now)
		if err == nil && w.Exclusive {
			err = l.jobs.Release(ctx)
		}
		if !errors.Is(err, store.ErrUnavailable) {
			return now, err
		}
		if !logged {
			w.Logger.Error("take over jobs", "error", err)
		}
		select {
		case <-ctx.Done():
			return now, ctx.Err()
		case <-time.After(w.Tick):
		}
	}
}

// pool is a loop at work.
type pool struct {
	*Loop
	store.Worker
	mine   map[string]bool // ids of the jobs that run
	ended  chan string
	looked time.Time // at the clock, without its monotonic part, which no jump shows
}

// followClock handles jumps of the clock. A jump forward, or suspension of the
// machine, ends leases whose jobs still run: these must not be claimed a second
// time. After a jump backward jobs must not wait for the old time.
func (p *pool) followClock(ctx context.Context) {
	now := p.now().Round(0)
	if now.Before(p.looked) {
		if err := p.jobs.Rewind(ctx, now); err != nil && ctx.Err() == nil {
			p.Logger.Error("follow the clock back", "error", err)
			return // again at the next look
		}
	}
	if now.Sub(p.looked) > p.Lease/3 {
		for id := range p.mine {
			if err := p.jobs.Renew(ctx, id, now.Add(p.Lease)); err != nil && ctx.Err() == nil {
				p.Logger.Warn("renew a lease", "job", id, "error", err)
			}
		}
	}
	p.looked = now
}

// wait returns when there may be something to do; false when ctx has ended.
func (p *pool) wait(ctx context.Context) bool {
	pause := p.Tick
	if at, ok, err := p.jobs.Next(ctx); err == nil && ok && len(p.mine) < p.Workers {
		pause = min(max(at.Sub(p.now()), time.Millisecond), p.Tick)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case id := <-p.ended:
		delete(p.mine, id)
	case <-p.jobs.Notify():
	case <-timer.C:
	}
	return true
}

// run runs one job under a renewed lease and settles it.
func (p *pool) run(ctx context.Context, job store.Claimed) {
	run, cancel := context.WithCancelCause(store.WithOrigin(ctx, job.Origin))
	p.started(job, cancel)
	var renewing sync.WaitGroup
	renewing.Go(func() { p.renew(run, cancel, job) })
	verdict := p.Run(run, job)
	lost := errors.Is(context.Cause(run), store.ErrLost)
	cancel(nil)
	renewing.Wait()
	p.over(job)
	if lost {
		return
	}
	// Settling outlives a stop: the store is closed only after Work returns.
	if err := p.jobs.Settle(context.WithoutCancel(run), job.ID, verdict); err != nil {
		p.Logger.ErrorContext(run, "settle a job", "job", job.ID, "kind", job.Kind, "error", err)
	}
}

// started remembers how to cancel a job that runs.
func (p *pool) started(job store.Claimed, cancel context.CancelCauseFunc) {
	if job.Unique == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running[name(job.Kind, job.Unique)] = cancel
}

func (p *pool) over(job store.Claimed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.running, name(job.Kind, job.Unique))
}

// renew keeps the lease while the job runs. A lease that is lost ends the job:
// another worker has it.
func (p *pool) renew(ctx context.Context, cancel context.CancelCauseFunc, job store.Claimed) {
	tick := time.NewTicker(p.Lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := p.jobs.Renew(ctx, job.ID, p.now().Add(p.Lease))
		if errors.Is(err, store.ErrNotFound) {
			p.Logger.WarnContext(ctx, "lost the lease of a job", "job", job.ID, "kind", job.Kind)
			cancel(store.ErrLost)
			return
		}
		if err != nil && ctx.Err() == nil {
			p.Logger.WarnContext(ctx, "renew a lease", "job", job.ID, "error", err)
		}
	}
}
