package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"app.sunloop/backend/store"
)

// permanent is an error that another attempt cannot mend.
type permanent struct{ error }

func (e permanent) Unwrap() error { return e.error }

// work lets the queue run jobs until ctx ends.
func (p *Pipeline) work(ctx context.Context) error {
	return p.Queue.Work(ctx, store.Worker{Kinds: slices.Sorted(maps.Keys(p.handlers)), Workers: p.Workers, Lease: p.Lease, Tick: p.Tick,
		Exclusive: p.Exclusive, Run: p.run, Logger: p.Logger})
}

// run runs one job and says what becomes of it.
func (p *Pipeline) run(ctx context.Context, job store.Claimed) store.Verdict {
	ctx, ended := p.Observe.begun(ctx, job)
	cause := poisonous(job)
	if cause == nil {
		cause = p.handle(ctx, job)
	}
	verdict, outcome := p.conclude(ctx, job, cause)
	ended(outcome, cause)
	return verdict
}

// conclude is what becomes of a job after a run that ended for a cause; nil: it
// went well. The outcome is one of the Job constants.
func (p *Pipeline) conclude(ctx context.Context, job store.Claimed, cause error) (v store.Verdict, outcome string) {
	switch {
	case cause == nil:
		return store.Verdict{}, JobDone
	case errors.Is(context.Cause(ctx), store.ErrCancelled):
		p.Logger.InfoContext(ctx, "a job was cancelled", "job", job.ID, "kind", job.Kind, "error", cause)
		return store.Verdict{}, JobCancelled
	case ctx.Err() != nil || errors.Is(cause, store.ErrLost):
		// Stopped, not failed: another worker or the next start takes it up at once.
		return store.Verdict{Outcome: store.Stopped, RunAt: p.Wall(), Cause: "the service stopped"}, JobStopped
	}
	return p.mishap(ctx, job, cause)
}

// mishap gives a failed job back, or gives it up: then what it was about is
// told, and the job ends or, past its attempts, becomes a dead letter.
func (p *Pipeline) mishap(ctx context.Context, job store.Claimed, cause error) (v store.Verdict, outcome string) {
	log := p.Logger.With("job", job.ID, "kind", job.Kind, "attempt", job.Attempt, "error", cause)
	spent := job.Attempt >= job.MaxAttempts
	// A full disk, or a database or bucket that is away, is no fault of the job:
	// what was acknowledged waits as long as its attempts last.
	if (store.NoRoom(cause) || errors.Is(cause, store.ErrUnavailable)) && !spent {
		log.ErrorContext(ctx, "a job waits for the store")
		return store.Verdict{Outcome: store.Again, RunAt: p.Wall().Add(backoff(job.Attempt)), Cause: cause.Error()}, JobRetried
	}
	n := job.Failures + 1
	var final permanent
	if !errors.As(cause, &final) && n < maxFailures && !spent {
		log.WarnContext(ctx, "job failed, it will be tried again")
		return store.Verdict{Outcome: store.Failed, RunAt: p.Wall().Add(backoff(n)), Cause: cause.Error()}, JobRetried
	}
	log.ErrorContext(ctx, "job failed for good")
	var untold error
	if h := p.handlers[job.Kind]; h.failed != nil {
		untold = h.failed(context.WithoutCancel(ctx), job, cause) // also while the service stops
	}
	if untold != nil {
		log.ErrorContext(ctx, "tell of a job that failed", "why", untold)
	}
	switch {
	case spent:
		return store.Verdict{Outcome: store.Dead, Cause: cause.Error()}, JobFailed
	case untold != nil:
		return store.Verdict{Outcome: store.Failed, RunAt: p.Wall().Add(backoff(n)), Cause: cause.Error()}, JobRetried
	}
	return store.Verdict{}, JobFailed
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

// backoff grows from 1 s by doubling to 5 min, with a fifth of jitter so that
// jobs which failed together do not come back together.
func backoff(failures int) time.Duration {
	d := min(time.Second<<min(failures-1, 10), 5*time.Minute)
	return d + time.Duration(rand.Float64()*0.2*float64(d))
}

// handle runs the job's handler. A panic is an error.
func (p *Pipeline) handle(ctx context.Context, job store.Claimed) (err error) {
	h, ok := p.handlers[job.Kind]
	if !ok {
		return permanent{fmt.Errorf("no handler for jobs of kind %q", job.Kind)}
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return h.run(ctx, job)
}
