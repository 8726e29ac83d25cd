//go:build !gateway

package riverjobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/postgres"
)

// runner is what River calls with the jobs that it hands out.
type runner struct {
	river.WorkerDefaults[args]
	worker *worker
}

// Timeout is unlimited: a job may run as long as it needs.
func (runner) Timeout(*river.Job[args]) time.Duration { return -1 }

// Work runs a job and settles it. River always gets success.
func (r runner) Work(ctx context.Context, job *river.Job[args]) error {
	c, err := claimed(job.JobRow, job.Args)
	if err != nil {
		return err
	}
	r.worker.run(ctx, c, job.JobRow)
	return nil
}

func (k *worker) run(ctx context.Context, c store.Claimed, row *rivertype.JobRow) {
	run, cancel := context.WithCancelCause(store.WithOrigin(ctx, c.Origin))
	defer cancel(nil)
	h := &held{worker: k, number: row.ID, since: *row.AttemptedAt, cancel: cancel, outside: ctx}
	k.hold(h)
	defer k.drop(h)
	v := k.Run(postgres.Guarded(run, h.guard), c)
	if errors.Is(context.Cause(run), store.ErrLost) {
		// It may still belong to this worker, and then no other would
		// give it back.
		v = store.JobResult{Outcome: store.Stopped, Cause: store.ErrLost.Error()}
	}
	h.settle(context.WithoutCancel(ctx), c, v)
}

func (k *worker) hold(h *held) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running[h] = true
}

func (k *worker) drop(h *held) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.running, h)
}

// mine is the condition of a row of river_job that the job is in these hands.
const mine = `id = $1 AND attempted_at = $2 AND attempted_by[array_upper(attempted_by, 1)] = $3 AND state = 'running'`

// guard rolls back a transaction of a job that this worker no longer owns. The
// lock prevents a takeover of the job before the transaction has ended.
func (h *held) guard(ctx context.Context, tx pgx.Tx) error {
	var there bool
	err := tx.QueryRow(ctx, `SELECT true FROM sunloop.river_job WHERE `+mine+` FOR SHARE`, h.number, h.since, h.worker.id).Scan(&there)
	if errors.Is(err, pgx.ErrNoRows) {
		h.cancel(store.ErrLost)
		return store.ErrLost
	}
	return postgres.Fault("look whose the job is", err)
}

// Pauses between tries to settle a job, and how many of them a stop waits for.
const (
	firstPause = 50 * time.Millisecond
	maxPause   = 2 * time.Second
	lastTries  = 6
)

// settle ends the run. It waits for a database that is unavailable, unless the worker
// stops: then the job is taken over.
func (h *held) settle(ctx context.Context, c store.Claimed, v store.JobResult) {
	log := h.worker.Logger.With("job", c.ID, "kind", c.Kind)
	stopping := 0
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := h.settleOnce(ctx, c, v)
		switch {
		case err == nil:
			return
		case errors.Is(err, store.ErrLost):
			log.DebugContext(ctx, "the end of a run had no effect", "error", err)
			return
		case pause == firstPause:
			log.ErrorContext(ctx, "settle a job", "error", postgres.Fault("settle", err))
		}
		if h.outside.Err() != nil {
			stopping++
		}
		if stopping == lastTries {
			return
		}
		select {
		case <-time.After(pause):
		case <-h.stopped(stopping):
		}
	}
}

// stopped interrupts a pause by the worker's stop, once.
func (h *held) stopped(stopping int) <-chan struct{} {
	if stopping > 0 {
		return nil
	}
	return h.outside.Done()
}

func (h *held) settleOnce(ctx context.Context, c store.Claimed, v store.JobResult) error {
	ctx, cancel := context.WithTimeout(ctx, h.worker.Lease/3)
	defer cancel()
	ends := v.Outcome == store.Done || v.IsDead(c.Job, c.Attempt)
	if !ends || c.Unique == "" {
		tag, err := h.worker.pool.Exec(ctx, settleSQL(c, v), h.settleArgs(c, v)...)
		if err == nil && tag.RowsAffected() == 0 {
			err = store.ErrLost
		}
		return err
	}
	return h.worker.locking(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, settleSQL(c, v), h.settleArgs(c, v)...)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return store.ErrLost
		}
		// A separate statement: it sees what was stored while the first
		// one waited for the row.
		return h.worker.enqueueKept(ctx, tx, `key = $1 AND kind = $2`, c.Unique, c.Kind)
	})
}

// settleSQL sets what becomes of the row; its arguments are settleArgs.
func settleSQL(c store.Claimed, v store.JobResult) string {
	set := ""
	switch {
	case v.Outcome == store.Done:
		set = `state = 'completed', finalized_at = now()`
	case v.IsDead(c.Job, c.Attempt):
		set = `state = 'discarded', finalized_at = now(), attempt = least(attempt, max_attempts), errors = array_append(errors, $4::jsonb)`
	case v.Outcome == store.Stopped:
		set = `state = 'available', scheduled_at = coalesce($4::timestamptz, now()), attempt = attempt - 1`
	default:
		set = `state = 'available', scheduled_at = coalesce($4::timestamptz, now()), errors = array_append(errors, $5::jsonb)`
	}
	noted := `metadata - 'cancelled'`
	if v.Outcome == store.Failed {
		noted += ` || jsonb_build_object('failures', coalesce((metadata->>'failures')::integer, 0) + 1)`
	}
	return `UPDATE sunloop.river_job SET ` + set + `, metadata = ` + noted + ` WHERE ` + mine
}

func (h *held) settleArgs(c store.Claimed, v store.JobResult) []any {
	out := []any{h.number, h.since, h.worker.id}
	var at *time.Time
	if !v.RunAt.IsZero() {
		at = &v.RunAt
	}
	switch {
	case v.Outcome == store.Done:
		return out
	case v.IsDead(c.Job, c.Attempt):
		return append(out, failure(h.since, c.Attempt, v.Cause))
	case v.Outcome == store.Stopped:
		return append(out, at)
	}
	return append(out, at, failure(h.since, c.Attempt, v.Cause))
}

// longestCause is how much of a cause is kept: a panic's has the stack.
const longestCause = 8 << 10

// failure is what River keeps of an attempt that did not go well.
func failure(at time.Time, attempt int, cause string) string {
	cause = cmp.Or(cause, "no cause was given")
	cause = cause[:min(len(cause), longestCause)]
	cause = strings.ToValidUTF8(strings.ReplaceAll(cause, "\x00", ""), "")
	b, err := json.Marshal(rivertype.AttemptError{At: at, Attempt: attempt, Error: cause})
	if err != nil {
		panic(err) // a time, a number and a text
	}
	return string(b)
}
