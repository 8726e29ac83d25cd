//go:build !gateway

package riverjobs

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/postgres"
)

// How River works and what it keeps.
const (
	fetchEvery    = 200 * time.Millisecond
	fetchCooldown = 10 * time.Millisecond
	keepDone      = time.Hour
	keepDead      = 90 * 24 * time.Hour
	// rescueAfter keeps River from taking over jobs by their run time:
	// their workers' rows decide instead.
	rescueAfter = 10 * 365 * 24 * time.Hour
	// forgetAfter is when the row of a dead worker goes, in PostgreSQL's words.
	forgetAfter = "1 hour"
)

// worker is the jobs that run in one call of Work.
type worker struct {
	*Queue
	store.Worker
	id string // that River notes with the jobs which it hands out

	mu      sync.Mutex
	running map[*held]bool
}

// held is a job of this worker: River's data of the hand-out distinguish this
// run from others.
type held struct {
	worker  *worker
	number  int64
	since   time.Time // by the database's clock
	cancel  context.CancelCauseFunc
	outside context.Context // ends with Work
}

// Work runs due jobs until ctx ends. It waits for a database that is unavailable.
func (q *Queue) Work(ctx context.Context, w store.Worker) error {
	if w.Logger == nil {
		w.Logger = slog.New(slog.DiscardHandler)
	}
	k := &worker{Queue: q, Worker: w, id: rand.Text(), running: map[*held]bool{}}
	// The worker lives until its last job is settled.
	living, die := context.WithCancel(context.WithoutCancel(ctx))
	var life sync.WaitGroup
	defer k.leave(ctx)
	defer life.Wait()
	defer die()
	for began, logged := false, false; ; {
		client, err := k.client()
		if err != nil {
			return fmt.Errorf("work on jobs: %w", err)
		}
		err = k.beat(ctx)
		if err == nil && !began {
			began = true
			life.Go(func() { k.live(living) })
			life.Go(func() { k.look(living) })
		}
		if err == nil {
			if err = client.Start(ctx); err == nil {
				<-client.Stopped()
				return nil
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		if !logged { // log an outage of the database once
			logged = true
			w.Logger.ErrorContext(ctx, "begin to work on jobs", "error", postgres.Fault("start", err))
		}
		select {
		case <-time.After(w.Lease / 6):
		case <-ctx.Done():
			return nil
		}
	}
}

// client is River's side of the worker.
func (k *worker) client() (*river.Client[pgx.Tx], error) {
	workers := river.NewWorkers()
	for _, kind := range k.Kinds {
		river.AddWorkerArgs(workers, args{kind: kind}, runner{worker: k})
	}
	return river.NewClient(newDriver(k.pool), &river.Config{
		ID: k.id, Schema: schema, Logger: riverLogger(k.Logger), Workers: workers, FetchOnlyKnownKinds: true,
		Queues:   map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: k.Workers}},
		PollOnly: true, FetchPollInterval: fetchEvery, FetchCooldown: fetchCooldown,
		JobTimeout: -1, RescueStuckJobsAfter: rescueAfter,
		CompletedJobRetentionPeriod: keepDone, CancelledJobRetentionPeriod: keepDead, DiscardedJobRetentionPeriod: keepDead,
		// Indexes are left to autovacuum: to rebuild them takes an owner's rights,
		// and a rebuild that is cut off leaves a broken one behind.
		ReindexerIndexNames: []string{},
	})
}

// live renews the worker's row. Where it cannot for long, the jobs end before
// another worker may take them over.
func (k *worker) live(ctx context.Context) {
	expiry := k.expiry()
	defer func() { expiry.Stop() }()
	tick := time.NewTicker(k.Lease / 6)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		next := k.expiry() // the time starts before the question, so it ends before the lease
		if err := k.beat(ctx); err != nil {
			next.Stop()
			continue
		}
		expiry.Stop()
		expiry = next
	}
}

// expiry ends all jobs well before the lease does.
func (k *worker) expiry() *time.Timer {
	return time.AfterFunc(k.Lease*2/3, func() {
		for _, h := range k.held() {
			h.cancel(store.ErrLost)
		}
	})
}

func (k *worker) held() []*held {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := make([]*held, 0, len(k.running))
	for h := range k.running {
		all = append(all, h)
	}
	return all
}

// beat renews the worker's row, and gives up early if the database does not
// respond.
func (k *worker) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, k.Lease/6)
	defer cancel()
	_, err := k.pool.Exec(ctx, `INSERT INTO sunloop.worker (id, until) VALUES ($1, clock_timestamp() + $2::bigint * interval '1 microsecond')
		ON CONFLICT (id) DO UPDATE SET until = excluded.until`, k.id, k.Lease.Microseconds())
	return postgres.Fault("say that the worker lives", err)
}

// leave lets others take over at once what could not be settled.
func (k *worker) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), k.Lease/6)
	defer cancel()
	// Where it fails, the lease runs out.
	_, _ = k.pool.Exec(ctx, `DELETE FROM sunloop.worker WHERE id = $1`, k.id)
}

// look does the periodic work that belongs to no run of a job.
func (k *worker) look(ctx context.Context) {
	away := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(k.Tick):
		}
		err := k.once(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !away:
			k.Logger.WarnContext(ctx, "look after the jobs", "error", err)
		case err == nil && away:
			k.Logger.InfoContext(ctx, "the jobs are looked after again")
		}
		away = err != nil
	}
}

func (k *worker) once(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, k.Lease)
	defer cancel()
	for _, do := range []struct {
		what string
		fn   func(context.Context) error
	}{{"look after the jobs that run", k.endOthers}, {"take over jobs", k.takeOver}, {"take up jobs that were kept", k.takeUp}} {
		if err := do.fn(ctx); err != nil {
			return postgres.Fault(do.what, err)
		}
	}
	return nil
}

// endOthers ends the contexts of jobs that are cancelled or no longer this
// worker's.
func (k *worker) endOthers(ctx context.Context) error {
	held := k.held()
	if len(held) == 0 {
		return nil
	}
	rows, err := k.pool.Query(ctx, `SELECT id, attempted_at, metadata ? 'cancelled' FROM sunloop.river_job
		WHERE state = 'running' AND attempted_by[array_upper(attempted_by, 1)] = $1`, k.id)
	if err != nil {
		return err
	}
	type state struct {
		Number    int64
		Since     time.Time
		Cancelled bool
	}
	mine, err := pgx.CollectRows(rows, pgx.RowToStructByPos[state])
	if err != nil {
		return err
	}
	for _, h := range held {
		cause := store.ErrLost // or it has been settled meanwhile: then it is not received
		for _, s := range mine {
			switch {
			case s.Number != h.number || !s.Since.Equal(h.since):
			case s.Cancelled:
				cause = store.ErrCancelled
			default:
				cause = nil
			}
		}
		if cause != nil {
			h.cancel(cause)
		}
	}
	return nil
}

// takeOver lets the jobs of dead workers wait again. After the last attempt it
// is for the next run to give up a job.
func (k *worker) takeOver(ctx context.Context) error {
	tag, err := k.pool.Exec(ctx, `UPDATE sunloop.river_job j SET state = 'available', attempt = least(attempt, max_attempts), scheduled_at = least(scheduled_at, now()),
		metadata = metadata - 'cancelled' || jsonb_build_object('lapses', coalesce((metadata->>'lapses')::integer, 0) + 1)
		WHERE state = 'running' AND NOT EXISTS (
			SELECT FROM sunloop.worker w WHERE w.id = j.attempted_by[array_upper(j.attempted_by, 1)] AND w.until > clock_timestamp())`)
	if err != nil {
		return err
	}
	if n := tag.RowsAffected(); n > 0 {
		k.Logger.WarnContext(ctx, "jobs of a worker that died are taken over", "jobs", n)
	}
	_, err = k.pool.Exec(ctx, `DELETE FROM sunloop.worker WHERE until < clock_timestamp() - $1::text::interval`, forgetAfter)
	return err
}

// takeUp inserts the jobs that were kept for the end of one which ended without
// a worker's doing, as by an operator's hand.
func (k *worker) takeUp(ctx context.Context) error {
	var kept bool
	if err := k.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM sunloop.job_again)`).Scan(&kept); err != nil || !kept {
		return err
	}
	return k.locking(ctx, func(tx pgx.Tx) error {
		return k.enqueueKept(ctx, tx, `NOT EXISTS (SELECT FROM sunloop.river_job j WHERE j.kind = a.kind AND j.args->>'unique' = a.key
			AND j.state IN ('available', 'pending', 'retryable', 'running', 'scheduled'))`)
	})
}
