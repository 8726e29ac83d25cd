//go:build !gateway

// Package riverjobs is the queue of a database that replicas share: River's
// jobs, enqueued in the transaction of the records from which they follow, and
// run by any replica.
//
// River hands the jobs out and stores them. This package adds what the
// interface of store requires: a dead worker is detected by its row in
// sunloop.worker and its jobs go to another within the lease, not within
// River's hour; what a worker writes for a job commits only while it owns the
// job; the result of a run is decided by the pipeline and recorded here, in one
// transaction with what follows; and a job that is requested while one with the
// same unique key runs is kept in sunloop.job_again.
//
// Nothing depends on a session or on notifications: River polls, so that a
// pooler may be used. Due times given by callers are of their clocks; leases
// are evaluated by the database's clock only.
package riverjobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/postgres"
)

// schema is the schema of River's tables, next to the store's.
const schema = "sunloop"

// Storage is a database that stores all data except objects.
type Storage struct {
	*postgres.Store
	*Queue
}

// Open is [postgres.Open] with a queue in the same database.
func Open(ctx context.Context, url string, o postgres.Options) (*Storage, error) {
	q := new(Queue)
	o.Enqueue, o.Migrate = q.enqueue, q.migrate
	s, err := postgres.Open(ctx, url, o)
	if err != nil {
		return nil, err
	}
	if _, err := s.AdoptJobs(ctx, q.insertDead); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &Storage{s, q}, nil
}

// Queue is the jobs of a database. It is safe for concurrent use, by any number
// of processes.
type Queue struct {
	pool   *pgxpool.Pool
	insert *river.Client[pgx.Tx]
}

var (
	_ store.Queue     = (*Queue)(nil)
	_ store.Records   = (*Storage)(nil)
	_ store.Telemetry = (*Storage)(nil)
	_ store.Cluster   = (*Storage)(nil)
)

// migrate creates River's tables or upgrades them.
func (q *Queue) migrate(ctx context.Context, pool *pgxpool.Pool) error {
	q.pool = pool
	quiet := slog.New(slog.DiscardHandler)
	m, err := rivermigrate.New(newDriver(pool), &rivermigrate.Config{Schema: schema, Logger: quiet})
	if err != nil {
		return fmt.Errorf("read the migrations of jobs: %w", err)
	}
	is, err := tablesVersion(ctx, pool)
	if err != nil {
		return postgres.Fault("read the version of the tables of jobs", err)
	}
	all := m.AllVersions()
	if known := all[len(all)-1].Version; is > known {
		return fmt.Errorf("%w: jobs %d, this one knows up to %d", store.ErrNewer, is, known)
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return postgres.Fault("bring the tables of jobs up to date", err)
	}
	q.insert, err = river.NewClient(newDriver(pool), &river.Config{Schema: schema, Logger: quiet, Hooks: []rivertype.Hook{&available{}}})
	return err
}

// tablesVersion is that of River's tables; 0 where there are none.
func tablesVersion(ctx context.Context, pool *pgxpool.Pool) (v int, err error) {
	var there bool
	if err := pool.QueryRow(ctx, `SELECT to_regclass('sunloop.river_migration') IS NOT NULL`).Scan(&there); err != nil || !there {
		return 0, err
	}
	err = pool.QueryRow(ctx, `SELECT coalesce(max(version), 0)::integer FROM sunloop.river_migration`).Scan(&v)
	return v, err
}

// available makes a job wait in the one state that workers poll, whatever its
// time: River would hold it in another state, for its leader to move every 5 s.
type available struct{ river.HookDefaults }

// InsertBegin is called before a job is inserted.
func (*available) InsertBegin(_ context.Context, job *rivertype.JobInsertParams) error {
	job.State = rivertype.JobStateAvailable
	return nil
}

// args are what River keeps of a job.
type args struct {
	kind    string
	Unique  string          `json:"unique,omitempty" river:"unique"`
	Payload json.RawMessage `json:"payload,omitempty"`
	Origin  store.Origin    `json:"origin,omitzero"`
}

// Kind is the job's kind.
func (a args) Kind() string { return a.kind }

// unique makes only one job of a kind and key wait or run at a time.
var unique = river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable, rivertype.JobStateRunning, rivertype.JobStateScheduled,
}}

// enqueue inserts a job into the transaction of its cause. If a job with the
// same key waits or runs, River has locked its row, so that its end comes
// before this transaction or sees its effect.
func (q *Queue) enqueue(ctx context.Context, tx pgx.Tx, job store.Job) error {
	if job.Origin == (store.Origin{}) {
		job.Origin = store.OriginOf(ctx)
	}
	opts := river.InsertOpts{MaxAttempts: job.MaxAttempts, ScheduledAt: job.RunAt}
	if job.Unique != "" {
		opts.UniqueOpts = unique
	}
	in, err := q.insert.InsertTx(ctx, tx, args{job.Kind, job.Unique, job.Payload, job.Origin}, &opts)
	switch {
	case err != nil:
		return err
	case !in.UniqueSkippedAsDuplicate || job.SkipIfPending:
		return nil
	case in.Job.State == rivertype.JobStateRunning:
		return keep(ctx, tx, job)
	case job.RunAt.Before(in.Job.ScheduledAt):
		_, err = tx.Exec(ctx, `UPDATE sunloop.river_job SET scheduled_at = $2, state = 'available' WHERE id = $1`, in.Job.ID, job.RunAt)
	}
	return err
}

// insertDead inserts a dead job of a migration. It gets another id.
func (q *Queue) insertDead(ctx context.Context, tx pgx.Tx, d store.DeadJob) error {
	opts := river.InsertOpts{MaxAttempts: d.MaxAttempts, ScheduledAt: d.RunAt}
	if d.Unique != "" {
		opts.UniqueOpts = unique
	}
	a := args{d.Kind, d.Unique, d.Payload, d.Origin}
	in, err := q.insert.InsertTx(ctx, tx, a, &opts)
	if err == nil && in.UniqueSkippedAsDuplicate { // a living one has the key
		opts.UniqueOpts = river.UniqueOpts{}
		in, err = q.insert.InsertTx(ctx, tx, a, &opts)
	}
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE sunloop.river_job SET state = 'discarded', finalized_at = $2, attempt = $3, errors = ARRAY[$4::jsonb] WHERE id = $1`,
		in.Job.ID, d.DiedAt, d.Attempts, failure(d.DiedAt, d.Attempts, d.Cause))
	return err
}

// keep stores a job until the job with the same key has ended; one that
// is stored already is brought forward.
func keep(ctx context.Context, tx pgx.Tx, job store.Job) error {
	b, err := json.Marshal(job)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO sunloop.job_again AS a (key, kind, job, run_at) VALUES ($1, $2, $3::jsonb, $4)
		ON CONFLICT (key, kind) DO UPDATE SET run_at = least(a.run_at, excluded.run_at)`, job.Unique, job.Kind, string(b), job.RunAt)
	return err
}

// enqueueKept inserts jobs that a DELETE takes out of those that were kept.
func (q *Queue) enqueueKept(ctx context.Context, tx pgx.Tx, where string, args ...any) error {
	rows, err := tx.Query(ctx, `DELETE FROM sunloop.job_again a WHERE `+where+` RETURNING job::text, run_at`, args...)
	if err != nil {
		return err
	}
	type kept struct {
		Job   string
		RunAt time.Time
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[kept])
	if err != nil {
		return err
	}
	for _, k := range all {
		var job store.Job
		if err := json.Unmarshal([]byte(k.Job), &job); err != nil {
			return fmt.Errorf("read a job that was kept: %w", err)
		}
		job.RunAt = k.RunAt
		if err := q.enqueue(ctx, tx, job); err != nil {
			return err
		}
	}
	return nil
}

// notes are what this package keeps in a job's metadata.
type notes struct {
	Failures     int `json:"failures"`
	LostAttempts int `json:"lapses"`
}

// idPrefix is before River's number.
const idPrefix = "job_"

func idOf(number int64) string { return idPrefix + strconv.FormatInt(number, 10) }

func numberOf(id string) (int64, bool) {
	digits, ok := strings.CutPrefix(id, idPrefix)
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, ok && err == nil
}

// jobOf is a job as it was enqueued.
func jobOf(number int64, kind string, a args, runAt time.Time, maxAttempts int) store.Job {
	return store.Job{ID: idOf(number), Kind: kind, Unique: a.Unique, Payload: a.Payload, RunAt: runAt.UTC(), MaxAttempts: maxAttempts, Origin: a.Origin}
}

// claimed is a job that River has handed out.
func claimed(row *rivertype.JobRow, a args) (store.Claimed, error) {
	var n notes
	if err := json.Unmarshal(row.Metadata, &n); err != nil {
		return store.Claimed{}, fmt.Errorf("read the notes of job %d: %w", row.ID, err)
	}
	return store.Claimed{Job: jobOf(row.ID, row.Kind, a, row.ScheduledAt, row.MaxAttempts), Attempt: row.Attempt, Failures: n.Failures, LostAttempts: n.LostAttempts}, nil
}

// locking is a transaction that relies on the rows which it locks.
func (q *Queue) locking(ctx context.Context, fn func(tx pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, q.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, fn)
}
