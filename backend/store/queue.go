package store

import (
	"context"
	"log/slog"
	"time"
)

// Job is work to be done at least once after RunAt.
type Job struct {
	ID          string // set by the store
	Kind        string
	Unique      string    // optional: one at a time of this kind and key waits or runs
	Payload     []byte    // JSON
	RunAt       time.Time // the zero time means at once
	MaxAttempts int       // 0 means 5
	// Origin is set by the store, where it is empty, from the context of the
	// transaction.
	Origin Origin `json:",omitzero"`
	// SkipIfPending means that the job is not needed if a job with the same Unique
	// key waits or runs: that one is unchanged.
	SkipIfPending bool `json:"-"`
}

// Claimed is a job that a worker runs.
type Claimed struct {
	Job
	Attempt      int // 1 at the first
	Failures     int // how many of the attempts before ended in [Failed]
	LostAttempts int // how many attempts ended without a result because the worker died
}

// AttemptsExhausted means that all attempts were used, the last without a reported result:
// the job must not run but be given up, after its subject was informed.
func (c Claimed) AttemptsExhausted() bool { return c.Attempt > c.MaxAttempts }

// Queue is the worker's side of the jobs. A worker that dies loses nothing: its
// jobs go to the next one. A job becomes dead only by a [JobResult]: one whose
// worker dies in its last attempt is handed out with its attempts exhausted until
// it is given up.
type Queue interface {
	// Work runs due jobs, the oldest RunAt first, until ctx ends and the running
	// ones, whose contexts end with it, are settled. The error is nil unless it
	// cannot begin.
	Work(ctx context.Context, w Worker) error
	// Cancel ends the context of a job that runs, whichever worker has it, with
	// the cause ErrCancelled. Where none of that kind and Unique key runs, it
	// does nothing.
	Cancel(ctx context.Context, kind, unique string) error
	// Counts are how many jobs wait, run and are dead.
	Counts(ctx context.Context) (waiting, running, dead int, err error)
	// Next is when the next waiting job is due or a dead worker's job is taken
	// over; ok is false when nothing waits or runs.
	Next(ctx context.Context) (at time.Time, ok bool, err error)
	// Dead are up to limit dead jobs, the latest first.
	Dead(ctx context.Context, limit int) ([]DeadJob, error)
	// RetryDead puts a dead job back to run at runAt with all its attempts;
	// ErrNotFound if it is not among the dead, ErrExists if another of its
	// Unique key waits or runs.
	RetryDead(ctx context.Context, id string, runAt time.Time) error
}

// Worker is how jobs are run. All but Logger must be there.
type Worker struct {
	// Kinds are those that Run knows. A queue that workers of several
	// versions share does not hand out the others.
	Kinds   []string
	Workers int           // jobs at a time
	Lease   time.Duration // after the death of a worker, another takes its jobs over
	Tick    time.Duration // the longest time between two looks for due jobs
	// Exclusive means that there is no other worker: jobs that run at start
	// belong to a dead one and are taken over at once.
	Exclusive bool
	// Run runs a job and returns its result. Its context ends with that of
	// Work, or with one of the causes [ErrCancelled] and [ErrLost]. The
	// result after ErrLost has no effect.
	Run    func(ctx context.Context, job Claimed) JobResult
	Logger *slog.Logger // nil: nothing is logged
}

// JobResult is the result of a run of a job.
type JobResult struct {
	Outcome JobOutcome
	RunAt   time.Time // of Again, Failed and Stopped: not before then
	Cause   string    // of all but Done
}

// JobOutcome is what becomes of a job after a run.
type JobOutcome int

// Outcomes of a run. After the last attempt, Again and Failed mean Dead.
const (
	Done    JobOutcome = iota // the job is gone
	Again                     // it runs again, for an external cause
	Failed                    // it runs again, and Failures counts one more
	Stopped                   // it runs again, and the attempt does not count
	Dead                      // it is a dead job
)

// IsDead reports whether a job is dead after the given attempt.
func (v JobResult) IsDead(job Job, attempt int) bool {
	return v.Outcome == Dead || (v.Outcome == Again || v.Outcome == Failed) && attempt >= job.MaxAttempts
}

// DeadJob is a job that was given up.
type DeadJob struct {
	Job
	Attempts int
	Cause    string
	DiedAt   time.Time
}

// KindStats are the jobs of one kind.
type KindStats struct {
	Waiting, Running, Dead int
	// Oldest is when the waiting job that is due longest was due; zero: none is
	// due by now.
	Oldest time.Time
}

// Origin is the request that caused work. It goes with the context of a
// transaction into the jobs that are enqueued in it, and from a job's context
// into those that follow from it.
type Origin struct {
	RequestID string `json:"request_id,omitempty" limit:"id cut"`
	Trace     string `json:"trace,omitempty" limit:"name cut"` // traceparent of W3C; empty: it is not traced
}

type originKey struct{}

// WithOrigin is ctx for work that o caused.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf is what caused the work of ctx; zero when no request did.
func OriginOf(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return o
}

// Cluster is what the replicas of a service that share storage agree on.
type Cluster interface {
	// Leader waits until this caller is the only leader of the name among
	// all replicas and runs fn, whose context ends when leadership may be
	// lost; Leader then waits for its next turn. It returns fn's result if
	// fn returns for another reason, or when ctx has ended. A store with
	// one owner runs fn at once.
	Leader(ctx context.Context, name string, fn func(ctx context.Context) error) error
}
