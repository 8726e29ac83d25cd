//go:build !gateway

package riverjobs

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/pgtest"
	"app.sunloop/backend/store/postgres"
	"app.sunloop/backend/store/storetest"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(childEnv); url != "" {
		workUntilKilled(url)
	}
	goleak.VerifyTestMain(pgtest.Main(m))
}

func openURL(t testing.TB, url string) *Storage {
	t.Helper()
	h, err := Open(t.Context(), url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func TestConformance(t *testing.T) {
	for name, through := range map[string]func(t *testing.T, url string) string{
		"direct": func(_ *testing.T, url string) string { return url },
		"pooled": func(t *testing.T, url string) string {
			return pgtest.Pooled(t, url, 4) + "&default_query_exec_mode=exec"
		},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Queue(t, func(t *testing.T) (replica func() storetest.QueueStore) {
				url := through(t, pgtest.Database(t))
				return func() storetest.QueueStore { return openURL(t, url) }
			})
		})
	}
}

func enqueue(t *testing.T, h *Storage, job store.Job) {
	t.Helper()
	if err := h.Update(t.Context(), func(tx store.Tx) error { return tx.Enqueue(job) }); err != nil {
		t.Fatal(err)
	}
}

// work lets the store run jobs of the kind "job" until stop is called.
func work(t *testing.T, h *Storage, w store.Worker) (stop func()) {
	t.Helper()
	w.Kinds, w.Tick = []string{"job"}, 50*time.Millisecond
	if w.Workers == 0 {
		w.Workers = 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := h.Work(ctx, w); err != nil || ctx.Err() == nil {
			t.Errorf("it does not work any more: %v", err)
		}
	}()
	stop = func() {
		cancel()
		<-ended
	}
	t.Cleanup(stop)
	return stop
}

// wait polls until the condition holds.
func wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func waitCounts(t *testing.T, h *Storage, want [3]int) {
	t.Helper()
	wait(t, "the counts", func() bool {
		w, r, d, err := h.Counts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return [3]int{w, r, d} == want
	})
}

// TestNewerTables: tables that a newer River created are rejected.
func TestNewerTables(t *testing.T) {
	url := pgtest.Database(t)
	h := openURL(t, url)
	if _, err := h.Pool().Exec(t.Context(), `INSERT INTO sunloop.river_migration (line, version) VALUES ('main', 999)`); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), url, postgres.Options{}); !errors.Is(err, store.ErrNewer) || !strings.Contains(err.Error(), "jobs 999") {
		t.Errorf("opened with %v", err)
	}
}

// TestOtherKinds: jobs that a newer version enqueued wait for a worker that
// knows them.
func TestOtherKinds(t *testing.T) {
	h := openURL(t, pgtest.Database(t))
	enqueue(t, h, store.Job{Kind: "unheard of"})
	enqueue(t, h, store.Job{Kind: "job"})
	ran := make(chan string, 2)
	work(t, h, store.Worker{Lease: ownLease, Run: func(_ context.Context, c store.Claimed) store.JobResult {
		ran <- c.Kind
		return store.JobResult{}
	}})
	if kind := <-ran; kind != "job" {
		t.Errorf("ran %q", kind)
	}
	waitCounts(t, h, [3]int{1, 0, 0})
}

// TestKeptAfterAnOperator: a deferred job is enqueued also if the one before
// was ended by hand, and the run that continued has no effect.
func TestKeptAfterAnOperator(t *testing.T) {
	h := openURL(t, pgtest.Database(t))
	causes, ran := make(chan error, 1), make(chan store.Claimed, 2)
	work(t, h, store.Worker{Lease: ownLease, Run: func(ctx context.Context, c store.Claimed) store.JobResult {
		if ran <- c; c.MaxAttempts == 1 {
			<-ctx.Done()
			causes <- context.Cause(ctx)
		}
		return store.JobResult{}
	}})
	enqueue(t, h, store.Job{Kind: "job", Unique: "u", MaxAttempts: 1})
	<-ran
	enqueue(t, h, store.Job{Kind: "job", Unique: "u", MaxAttempts: 2})
	if _, err := h.Pool().Exec(t.Context(), `UPDATE sunloop.river_job SET state = 'cancelled', finalized_at = now()`); err != nil {
		t.Fatal(err)
	}
	if cause := <-causes; !errors.Is(cause, store.ErrLost) {
		t.Errorf("ended for %v", cause)
	}
	if c := <-ran; c.MaxAttempts != 2 {
		t.Errorf("then ran %+v", c)
	}
	waitCounts(t, h, [3]int{0, 0, 1})
}

// TestAdopted: jobs that a migration brought are run, or revived.
func TestAdopted(t *testing.T) {
	url := pgtest.Database(t)
	pool := openURL(t, url).Pool()
	at := time.Now().AddDate(0, 0, -7).Truncate(time.Second).UTC() // dead jobs of three months ago are deleted
	job := store.Job{ID: "job_old", Kind: "job", Unique: "u", Payload: []byte(`{"x":1}`), RunAt: at, MaxAttempts: 3}
	_, err := pool.Exec(t.Context(), `CREATE TABLE sunloop.move_job (state text COLLATE "C", key bytea, value bytea NOT NULL, PRIMARY KEY (state, key))`)
	for state, value := range map[string]any{store.WaitingJobs: job, store.DeadJobs: store.DeadJob{Job: job, Attempts: 3, Cause: "no use", DiedAt: at}} {
		b, _ := json.Marshal(value) // of types that are their own
		if err == nil {
			_, err = pool.Exec(t.Context(), `INSERT INTO sunloop.move_job VALUES ($1, 'k', $2)`, state, b)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	h := openURL(t, url)
	openURL(t, url) // finds none
	waitCounts(t, h, [3]int{1, 0, 1})
	dead, err := h.Dead(t.Context(), 9)
	if err != nil || len(dead) != 1 || dead[0].Cause != "no use" || dead[0].Attempts != 3 || !dead[0].DiedAt.Equal(at) {
		t.Fatalf("dead: %+v, %v", dead, err)
	}
	if err := h.RetryDead(t.Context(), dead[0].ID, at); !errors.Is(err, store.ErrExists) {
		t.Errorf("revived next to a job with its key: %v", err)
	}
	begun, verdict := runs(t, h)
	for _, dying := range []int{1, 0} {
		if c := <-begun; c.Unique != "u" || c.MaxAttempts != 3 || c.Attempt != 1 || !c.RunAt.Equal(at) {
			t.Errorf("ran %+v", c)
		}
		verdict <- store.JobResult{}
		waitCounts(t, h, [3]int{0, 0, dying})
		if dying == 0 {
			break
		}
		if err := h.RetryDead(t.Context(), dead[0].ID, at); err != nil {
			t.Error(err)
		}
	}
}
