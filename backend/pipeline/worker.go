package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"app.sunloop/backend/store"
)

// permanent is an error that another attempt cannot mend.
type permanent struct{ error }

func (e permanent) Unwrap() error { return e.error }

// work claims jobs and runs up to Workers of them at a time until ctx ends.
func (p *Pipeline) work(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	ended := make(chan struct{}, p.Workers)
	busy := 0
	// What an exclusive owner finds leased at its start was a dead process's.
	ahead := time.Duration(0)
	if p.Exclusive {
		ahead = p.Lease + time.Second
	}
	for {
		if busy < p.Workers {
			jobs, err := p.Queue.Claim(ctx, p.Wall().Add(ahead), p.Lease, p.Workers-busy)
			if err != nil && ctx.Err() == nil {
				p.Logger.Error("claim jobs", "error", err)
			}
			for _, job := range jobs {
				busy++
				running.Go(func() {
					p.run(ctx, job)
					ended <- struct{}{}
				})
			}
			if len(jobs) == 0 {
				ahead = 0
			}
			if len(jobs) > 0 && busy < p.Workers {
				continue
			}
		}
		if !p.wait(ctx, ended, &busy) {
			return
		}
	}
}

// wait returns when there may be something to do; false when ctx has ended.
func (p *Pipeline) wait(ctx context.Context, ended <-chan struct{}, busy *int) bool {
	pause := p.Tick
	if at, ok, err := p.Queue.Next(ctx); err == nil && ok && *busy < p.Workers {
		pause = min(max(at.Sub(p.Wall()), time.Millisecond), p.Tick)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-ended:
		*busy--
	case <-p.Queue.Notify():
	case <-timer.C:
	}
	return true
}

// run runs one job and settles it: done, again later, or dead.
func (p *Pipeline) run(ctx context.Context, job store.Claimed) {
	log := p.Logger.With("job", job.ID, "kind", job.Kind, "attempt", job.Attempt)
	err := p.handle(ctx, job)
	// Settling outlives a stop: the store is closed only after Run returns.
	settle := context.WithoutCancel(ctx)
	var final permanent
	switch {
	case err == nil:
		err = p.Queue.Done(settle, job.ID)
	case ctx.Err() != nil:
		// Stopped, not failed: the next start takes it up at once.
		err = p.Queue.Retry(settle, job.ID, p.Wall(), "the service stopped")
	case errors.As(err, &final) || job.Attempt >= job.MaxAttempts:
		log.Error("job failed for good", "error", err)
		if h := p.handlers[job.Kind]; h.failed != nil {
			if err := h.failed(settle, job, err); err != nil {
				log.Error("tell of a failed job", "error", err)
			}
		}
		if final.error != nil {
			err = p.Queue.Done(settle, job.ID)
		} else {
			err = p.Queue.Retry(settle, job.ID, p.Wall(), err.Error()) // past its attempts: a dead letter
		}
	default:
		log.Warn("job failed, it will be tried again", "error", err)
		err = p.Queue.Retry(settle, job.ID, p.Wall().Add(backoff(job.Attempt)), err.Error())
	}
	if err != nil {
		log.Error("settle a job", "error", err)
	}
}

// backoff grows from 1 s by doubling to 5 min, with a fifth of jitter so that
// jobs which failed together do not come back together.
func backoff(attempt int) time.Duration {
	d := min(time.Second<<min(attempt-1, 10), 5*time.Minute)
	return d + time.Duration(rand.Float64()*0.2*float64(d))
}

// handle runs the job's handler under a renewed lease. A panic is an error.
func (p *Pipeline) handle(ctx context.Context, job store.Claimed) (err error) {
	h, ok := p.handlers[job.Kind]
	if !ok {
		return permanent{fmt.Errorf("no handler for jobs of kind %q", job.Kind)}
	}
	ctx, cancel := context.WithCancel(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() { p.renew(ctx, cancel, job) })
	defer renewing.Wait()
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return h.run(ctx, job)
}

// renew keeps the lease while the job runs. A lease that is lost ends the job:
// another worker has it.
func (p *Pipeline) renew(ctx context.Context, cancel context.CancelFunc, job store.Claimed) {
	tick := time.NewTicker(p.Lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := p.Queue.Renew(ctx, job.ID, p.Wall().Add(p.Lease))
		if errors.Is(err, store.ErrNotFound) {
			p.Logger.Warn("lost the lease of a job", "job", job.ID, "kind", job.Kind)
			cancel()
			return
		}
		if err != nil && ctx.Err() == nil {
			p.Logger.Warn("renew a lease", "job", job.ID, "error", err)
		}
	}
}
