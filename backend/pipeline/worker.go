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
	ended := make(chan string, p.Workers)
	mine := map[string]bool{} // ids of the jobs that run
	looked := p.Wall().Round(0)
	for {
		// A clock that was put forward, or a machine that slept, has ended leases
		// whose jobs go on: they must not be claimed beside themselves.
		now := p.Wall().Round(0)
		if now.Sub(looked) > p.Lease/3 {
			for id := range mine {
				if err := p.Queue.Renew(ctx, id, now.Add(p.Lease)); err != nil && ctx.Err() == nil {
					p.Logger.Warn("renew a lease", "job", id, "error", err)
				}
			}
		}
		looked = now
		if len(mine) < p.Workers {
			jobs, err := p.Queue.Claim(ctx, now, p.Lease, p.Workers-len(mine))
			if err != nil && ctx.Err() == nil {
				p.Logger.Error("claim jobs", "error", err)
			}
			for _, job := range jobs {
				mine[job.ID] = true
				running.Go(func() {
					p.run(ctx, job)
					ended <- job.ID
				})
			}
			if len(jobs) > 0 && len(mine) < p.Workers {
				continue
			}
		}
		if !p.wait(ctx, ended, mine) {
			return
		}
	}
}

// takeOver lets an exclusive owner's start run at once what a dead process had
// leased.
func (p *Pipeline) takeOver(ctx context.Context) error {
	if err := p.Queue.Rewind(ctx, p.Wall()); err != nil || !p.Exclusive {
		return err
	}
	return p.Queue.Release(ctx)
}

// wait returns when there may be something to do; false when ctx has ended.
func (p *Pipeline) wait(ctx context.Context, ended <-chan string, mine map[string]bool) bool {
	pause := p.Tick
	if at, ok, err := p.Queue.Next(ctx); err == nil && ok && len(mine) < p.Workers {
		pause = min(max(at.Sub(p.Wall()), time.Millisecond), p.Tick)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case id := <-ended:
		delete(mine, id)
	case <-p.Queue.Notify():
	case <-timer.C:
	}
	return true
}

// run runs one job and settles it.
func (p *Pipeline) run(ctx context.Context, job store.Claimed) {
	ctx, ended := p.Observe.begun(store.WithOrigin(ctx, job.Origin), job)
	cause := poisonous(job)
	if cause == nil {
		cause = p.handle(ctx, job)
	}
	outcome, err := p.conclude(ctx, job, cause)
	ended(outcome, cause)
	if err != nil {
		p.Logger.ErrorContext(ctx, "settle a job", "job", job.ID, "kind", job.Kind, "error", err)
	}
}

// conclude ends a run of a job: done, again later, or dead. The outcome is one
// of the Job constants.
func (p *Pipeline) conclude(ctx context.Context, job store.Claimed, cause error) (outcome string, err error) {
	// Settling outlives a stop: the store is closed only after Run returns.
	settle := context.WithoutCancel(ctx)
	switch {
	case cause == nil || errors.Is(cause, errCancelled):
		p.forgive(job.ID)
		if outcome = JobDone; cause != nil {
			outcome = JobCancelled
		}
		return outcome, p.Queue.Done(settle, job.ID)
	case ctx.Err() != nil && job.Attempt < job.MaxAttempts:
		// Stopped, not failed: the next start takes it up at once.
		return JobStopped, p.Queue.Retry(settle, job.ID, p.Wall(), "the service stopped")
	}
	return p.mishap(settle, job, cause)
}

// mishap gives a failed job back, or gives it up: then what it was about is
// told, and the job ends or, past its attempts, becomes a dead letter.
func (p *Pipeline) mishap(ctx context.Context, job store.Claimed, cause error) (outcome string, err error) {
	log := p.Logger.With("job", job.ID, "kind", job.Kind, "attempt", job.Attempt, "error", cause)
	spent := job.Attempt >= job.MaxAttempts
	// A full disk is no fault of the job: what was acknowledged waits for room
	// as long as its attempts last.
	if store.NoRoom(cause) && !spent {
		log.ErrorContext(ctx, "a job waits for room on the disk")
		return JobRetried, p.Queue.Retry(ctx, job.ID, p.Wall().Add(backoff(job.Attempt)), cause.Error())
	}
	n := p.failures(job.ID)
	var final permanent
	if !errors.As(cause, &final) && n < maxFailures && !spent {
		log.WarnContext(ctx, "job failed, it will be tried again")
		return JobRetried, p.Queue.Retry(ctx, job.ID, p.Wall().Add(backoff(n)), cause.Error())
	}
	log.ErrorContext(ctx, "job failed for good")
	p.forgive(job.ID)
	var told error
	if h := p.handlers[job.Kind]; h.failed != nil {
		told = h.failed(ctx, job, cause)
	}
	if spent {
		return JobFailed, errors.Join(told, p.Queue.Retry(ctx, job.ID, p.Wall(), cause.Error()))
	}
	return JobFailed, errors.Join(told, p.Queue.Done(ctx, job.ID))
}

// maxLapses is how often the service may end while a job runs before that is
// taken to be the job's doing: one file must not keep it from staying up.
const maxLapses = 10

// poisonous says why a job is not run any more; nil when it is.
func poisonous(job store.Claimed) error {
	if !job.Spent() && job.Lapses < maxLapses {
		return nil
	}
	return permanent{fmt.Errorf("the service ended %d times while it worked on this, and does not try again", job.Lapses)}
}

// maxFailures is how often a handler may fail before its job is given up.
// Attempts count also stops and crashes, for which no handler is to blame.
const maxFailures = 5

// failures counts another failure of a job.
func (p *Pipeline) failures(jobID string) int {
	p.asked.Lock()
	defer p.asked.Unlock()
	p.failed[jobID]++
	return p.failed[jobID]
}

// forgive forgets a job's failures.
func (p *Pipeline) forgive(jobID string) {
	p.asked.Lock()
	defer p.asked.Unlock()
	delete(p.failed, jobID)
}

// backoff grows from 1 s by doubling to 5 min, with a fifth of jitter so that
// jobs which failed together do not come back together.
func backoff(failures int) time.Duration {
	d := min(time.Second<<min(failures-1, 10), 5*time.Minute)
	return d + time.Duration(rand.Float64()*0.2*float64(d))
}

// handle runs the job's handler under a renewed lease. A panic is an error.
func (p *Pipeline) handle(ctx context.Context, job store.Claimed) (err error) {
	h, ok := p.handlers[job.Kind]
	if !ok {
		return permanent{fmt.Errorf("no handler for jobs of kind %q", job.Kind)}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	p.started(job.Job, cancel)
	defer p.ended(job.Job)
	var renewing sync.WaitGroup
	renewing.Go(func() { p.renew(ctx, func() { cancel(nil) }, job) })
	defer renewing.Wait()
	defer cancel(nil)
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	err = h.run(ctx, job)
	if err != nil && errors.Is(context.Cause(ctx), errCancelled) {
		p.Logger.InfoContext(ctx, "a job was cancelled", "job", job.ID, "kind", job.Kind, "error", err)
		return errCancelled
	}
	return err
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
			p.Logger.WarnContext(ctx, "lost the lease of a job", "job", job.ID, "kind", job.Kind)
			cancel()
			return
		}
		if err != nil && ctx.Err() == nil {
			p.Logger.WarnContext(ctx, "renew a lease", "job", job.ID, "error", err)
		}
	}
}
