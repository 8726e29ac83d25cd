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

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/internal/display"
)

// Outcomes of a run of a job, for [sitedata.Hooks].
const (
	JobDone      = "done"
	JobCancelled = "cancelled" // by a person
	JobStopped   = "stopped"   // by the end of the service
	JobPostponed = "postponed" // while its site is being changed
	JobRetried   = "retried"   // failed, and will be retried
	JobFailed    = "failed"    // failed for the last time
)

// work runs the jobs of the queue until ctx ends.
func (p *Pipeline) work(ctx context.Context) error {
	c := p.config
	return c.Queue.Work(ctx, store.Worker{Kinds: slices.Sorted(maps.Keys(p.handlers)), Workers: c.Workers, Lease: c.Lease, Tick: c.Tick,
		Exclusive: c.Exclusive, Run: p.run, Logger: c.Logger})
}

// run runs one job and returns what the queue does with it.
func (p *Pipeline) run(ctx context.Context, job store.Claimed) store.JobResult {
	ctx, ended := p.Hooks.Job(ctx, job)
	cause := exhaustedReason(job)
	if cause == nil {
		cause = p.handle(ctx, job)
	}
	verdict, outcome := p.finish(ctx, job, cause)
	ended(outcome, cause)
	return verdict
}

// finish returns what the queue does with a job that ended with an error, or nil,
// and the outcome of the run.
func (p *Pipeline) finish(ctx context.Context, job store.Claimed, cause error) (v store.JobResult, outcome string) {
	var postponed sitedata.Postponed
	switch {
	case cause == nil:
		return store.JobResult{}, JobDone
	case errors.As(cause, &postponed):
		return store.JobResult{Outcome: store.Stopped, RunAt: p.Wall().Add(postponed.For), Cause: postponed.Why}, JobPostponed
	case errors.Is(context.Cause(ctx), store.ErrCancelled):
		p.Logger.InfoContext(ctx, "job cancelled", "job", job.ID, "kind", job.Kind, "error", cause)
		return store.JobResult{}, JobCancelled
	case ctx.Err() != nil || errors.Is(cause, store.ErrLost):
		// Not a failure: another worker or the next start runs it at once.
		return store.JobResult{Outcome: store.Stopped, RunAt: p.Wall(), Cause: "the service stopped"}, JobStopped
	}
	return p.failJob(ctx, job, cause)
}

// failJob returns a failed job to the queue for another attempt, or ends it: then
// the failure is recorded by its handler, and a job without attempts left is kept
// as dead.
func (p *Pipeline) failJob(ctx context.Context, job store.Claimed, cause error) (v store.JobResult, outcome string) {
	log := p.Logger.With("job", job.ID, "kind", job.Kind, "attempt", job.Attempt, "error", cause)
	spent := job.Attempt >= job.MaxAttempts
	// A full disk and an unavailable database or bucket are not the job's fault:
	// it waits as long as its attempts last.
	if (store.IsNoSpace(cause) || errors.Is(cause, store.ErrUnavailable)) && !spent {
		log.ErrorContext(ctx, "job postponed: store unavailable")
		return store.JobResult{Outcome: store.Again, RunAt: p.Wall().Add(backoff(job.Attempt)), Cause: cause.Error()}, JobRetried
	}
	n := job.Failures + 1
	var final sitedata.Permanent
	if !errors.As(cause, &final) && n < maxFailures && !spent {
		log.WarnContext(ctx, "job failed, will be retried")
		return store.JobResult{Outcome: store.Failed, RunAt: p.Wall().Add(backoff(n)), Cause: cause.Error()}, JobRetried
	}
	log.ErrorContext(ctx, "job failed")
	var unrecorded error
	if h := p.handlers[job.Kind]; h.failed != nil {
		unrecorded = h.failed(context.WithoutCancel(ctx), job, cause) // also while the service stops
	}
	if unrecorded != nil {
		log.ErrorContext(ctx, "record failure of job", "reason", unrecorded)
	}
	switch {
	case spent:
		return store.JobResult{Outcome: store.Dead, Cause: cause.Error()}, JobFailed
	case unrecorded != nil:
		return store.JobResult{Outcome: store.Failed, RunAt: p.Wall().Add(backoff(n)), Cause: cause.Error()}, JobRetried
	}
	return store.JobResult{}, JobFailed
}

// maxLostAttempts is how often the service may end during a job before the job
// is taken to be the cause: one file must not keep the service from running.
const maxLostAttempts = 10

// exhaustedReason returns why a job is not run again; nil if it is.
func exhaustedReason(job store.Claimed) error {
	if !job.AttemptsExhausted() && job.LostAttempts < maxLostAttempts {
		return nil
	}
	return sitedata.NewPermanent(fmt.Errorf("the service ended %s while it worked on this, and does not try again", display.CountOf(job.LostAttempts, "time", "times")))
}

// maxFailures is how often a handler may fail before its job ends. Attempts also
// count stops and crashes, which are not the handler's fault.
const maxFailures = 5

// backoff doubles from 1 s to 5 min. A fifth of jitter keeps jobs that failed
// together from running together again.
func backoff(failures int) time.Duration {
	d := min(time.Second<<min(failures-1, 10), 5*time.Minute)
	return d + time.Duration(rand.Float64()*0.2*float64(d)) //nolint:gosec // spreads retries, no secret
}

// handle runs the job's handler. A panic is returned as an error.
func (p *Pipeline) handle(ctx context.Context, job store.Claimed) (err error) {
	h, ok := p.handlers[job.Kind]
	if !ok {
		return sitedata.NewPermanent(fmt.Errorf("no handler for jobs of kind %q", job.Kind))
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	if p.config.Hold != nil && job.Kind != sitedata.JobIngest && job.Kind != sitedata.JobSite && p.config.Hold() {
		return sitedata.Postponed{For: holdPause, Why: "imports are not finished"}
	}
	if err := p.checkSuspended(ctx, job); err != nil {
		if errors.Is(err, errSiteSuspended) {
			return nil
		}
		return err
	}
	return h.run(ctx, job)
}

// errSiteSuspended says that a job is not run, as its site is archived or is being
// removed. The planner enqueues another when the site needs it.
var errSiteSuspended = errors.New("the site is suspended")

// holdPause is the pause before a job is tried again that waits for imports.
const holdPause = 2 * time.Second

// suspendedPause is the pause before a job is tried again whose site is being changed.
const suspendedPause = 2 * time.Second

// checkSuspended postpones a job whose site is being changed, and returns
// errSiteSuspended where it is archived or being removed.
func (p *Pipeline) checkSuspended(ctx context.Context, job store.Claimed) error {
	if len(job.Payload) == 0 {
		return nil
	}
	body, err := sitedata.ReadPayload(job)
	if err != nil || body.SiteID == "" || job.Kind == sitedata.JobSite {
		return err
	}
	var change *site.Change
	var archived bool
	err = p.Records.View(ctx, func(tx store.Tx) error {
		if change, err = site.RunningChange(tx, body.SiteID); err != nil || change != nil {
			return err
		}
		archived, err = site.IsArchived(tx, body.SiteID)
		return err
	})
	switch {
	case err != nil:
		return err
	case archived || change != nil && change.Kind == api.ChangeRemove:
		return errSiteSuspended
	case change != nil:
		return sitedata.Postponed{For: suspendedPause, Why: "site " + body.SiteID + " is being changed"}
	}
	return nil
}
