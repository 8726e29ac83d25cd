package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/store"
)

// Queue asserts what store.Queue promises.
func Queue(t *testing.T, open OpenQueue) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, q *queueTest)
	}{
		{"order", workOrder},
		{"workers", workWorkers},
		{"retry", workRetry},
		{"death and revival", workDeath},
		{"unique while waiting", workUniqueWaiting},
		{"unique while running", workUniqueRunning},
		{"spare", workSpare},
		{"stop", workStop},
		{"cancel", workCancel},
		{"origin", workOrigin},
		{"competition", workCompetition},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // they wait, mostly
			replica := open(t)
			c.run(t, &queueTest{t, replica(), replica})
		})
	}
}

// queueTest has the steps of the tests as methods.
type queueTest struct {
	t       *testing.T
	storage QueueStore
	replica func() QueueStore
}

// kinds are those that the tests' workers know.
var kinds = []string{"first", "second", "third", "fourth", "job", "other", "follow"}

func (q *queueTest) enqueue(jobs ...store.Job) {
	q.t.Helper()
	ok(q.t, enqueueAll(q.t.Context(), q.storage, jobs...))
}

func enqueueAll(ctx context.Context, storage QueueStore, jobs ...store.Job) error {
	return storage.Update(ctx, func(tx store.Tx) error {
		for _, j := range jobs {
			if err := tx.Enqueue(j); err != nil {
				return err
			}
		}
		return nil
	})
}

// work lets a replica work until stop is called.
func (q *queueTest) work(storage QueueStore, workers int, run func(ctx context.Context, job store.Claimed) store.JobResult) (stop func()) {
	q.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		err := storage.Work(ctx, store.Worker{Kinds: kinds, Workers: workers, Lease: 5 * time.Minute, Tick: 100 * time.Millisecond, Run: run})
		if ctx.Err() == nil {
			q.t.Errorf("it does not work any more: %v", err)
		}
		ended <- err
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			q.t.Error(err)
		}
	})
	q.t.Cleanup(stop)
	return stop
}

// runs lets the queue work, one job at a time; each run is sent, and ends
// with the result that is sent back.
func (q *queueTest) runs(storage QueueStore) (begun <-chan store.Claimed, verdict chan<- store.JobResult, stop func()) {
	q.t.Helper()
	out, in := make(chan store.Claimed), make(chan store.JobResult)
	stop = q.work(storage, 1, func(ctx context.Context, job store.Claimed) store.JobResult {
		stopped := store.JobResult{Outcome: store.Stopped, RunAt: time.Now(), Cause: "stopped"}
		select {
		case out <- job:
		case <-ctx.Done():
			return stopped
		}
		select {
		case v := <-in:
			return v
		case <-ctx.Done():
			return stopped
		}
	})
	return out, in, stop
}

// wait polls until the condition holds.
func (q *queueTest) wait(what string, holds func() bool) {
	q.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			q.t.Fatalf("waited in vain for %s", what)
		}
	}
}

func (q *queueTest) counts() [3]int {
	q.t.Helper()
	w, r, d, err := q.storage.Counts(q.t.Context())
	ok(q.t, err)
	return [3]int{w, r, d}
}

func (q *queueTest) waitCounts(waiting, running, dead int) {
	q.t.Helper()
	want := [3]int{waiting, running, dead}
	var got [3]int
	q.wait(fmt.Sprintf("%v waiting, running and dead", want), func() bool { got = q.counts(); return got == want })
}

func workOrder(t *testing.T, q *queueTest) {
	if _, waits, err := q.storage.Next(t.Context()); waits || err != nil {
		t.Errorf("an empty queue has a next job, %v", err)
	}
	now := time.Now()
	q.enqueue(
		store.Job{Kind: "other", RunAt: now.Add(time.Hour)},
		store.Job{Kind: "second", RunAt: now.Add(-time.Second), Payload: json.RawMessage(`{"x":1}`)},
		store.Job{Kind: "first", RunAt: now.Add(-time.Minute)},
		store.Job{Kind: "third"},
	)
	q.enqueue(store.Job{Kind: "fourth", RunAt: time.Now().Add(50 * time.Millisecond), MaxAttempts: 7}) // later than the third, which is due when it is stored
	q.waitCounts(5, 0, 0)
	if next, waits, err := q.storage.Next(t.Context()); !waits || err != nil || next.Sub(now.Add(-time.Minute)).Abs() > time.Millisecond {
		t.Errorf("next is %v, %v, %v", next, waits, err)
	}
	begun, verdict, _ := q.runs(q.storage)
	ids := map[string]bool{}
	for _, want := range []string{"first", "second", "third", "fourth"} {
		c := <-begun
		ids[c.ID] = true
		attempts, payload := 5, ""
		switch want {
		case "fourth":
			attempts = 7
		case "second":
			payload = `{"x":1}`
		}
		if c.Kind != want || c.Attempt != 1 || c.MaxAttempts != attempts || c.Failures+c.LostAttempts != 0 || c.ID == "" || compact(c.Payload) != payload {
			t.Errorf("%+v, want kind %s", c, want)
		}
		verdict <- store.JobResult{}
	}
	q.waitCounts(1, 0, 0)
	if len(ids) != 4 {
		t.Errorf("ids %v", ids)
	}
	if next, waits, err := q.storage.Next(t.Context()); !waits || err != nil || next.Sub(now.Add(time.Hour)).Abs() > time.Millisecond {
		t.Errorf("at last next is %v, %v, %v", next, waits, err)
	}
}

// compact is JSON without spaces; a store may change these.
func compact(b []byte) string {
	var out bytes.Buffer
	if len(b) > 0 && json.Compact(&out, b) != nil {
		return "no JSON"
	}
	return out.String()
}

func workWorkers(t *testing.T, q *queueTest) {
	const workers, jobs = 3, 12
	for range jobs {
		q.enqueue(store.Job{Kind: "job"})
	}
	var running, most, ran atomic.Int64
	full := make(chan struct{})
	q.work(q.storage, workers, func(context.Context, store.Claimed) store.JobResult {
		n := running.Add(1)
		if most.Store(max(most.Load(), n)); ran.Add(1) == workers {
			close(full)
		}
		<-full // so many run at a time
		running.Add(-1)
		return store.JobResult{}
	})
	q.waitCounts(0, 0, 0)
	if most.Load() != workers || ran.Load() != jobs {
		t.Errorf("%d runs of %d, %d at a time", ran.Load(), jobs, most.Load())
	}
}

func workRetry(t *testing.T, q *queueTest) {
	q.enqueue(store.Job{Kind: "job", MaxAttempts: 4})
	begun, verdict, _ := q.runs(q.storage)
	for i, v := range []store.JobOutcome{store.Failed, store.Stopped, store.Again, store.Failed, store.Done} {
		c := <-begun
		now := time.Now()
		want := store.Claimed{Attempt: []int{1, 2, 2, 3, 4}[i], Failures: []int{0, 1, 1, 1, 2}[i]}
		if c.Attempt != want.Attempt || c.Failures != want.Failures || c.LostAttempts != 0 || c.AttemptsExhausted() || now.Before(c.RunAt) {
			t.Errorf("run %d at %v: %+v", i, now, c)
		}
		verdict <- store.JobResult{Outcome: v, RunAt: time.Now().Add(200 * time.Millisecond), Cause: "once more"}
	}
	q.waitCounts(0, 0, 0)
}

func workDeath(t *testing.T, q *queueTest) {
	job := store.Job{Kind: "job", Unique: "u", MaxAttempts: 2, Payload: json.RawMessage(`7`)}
	q.enqueue(job)
	begun, verdict, stop := q.runs(q.storage)
	first := <-begun
	verdict <- store.JobResult{Outcome: store.Failed, RunAt: time.Now(), Cause: "first"}
	<-begun
	verdict <- store.JobResult{Outcome: store.Failed, RunAt: time.Now(), Cause: "second"}
	q.waitCounts(0, 0, 1)
	dead, err := q.storage.Dead(t.Context(), 10)
	ok(t, err)
	if len(dead) != 1 || dead[0].ID != first.ID || dead[0].Cause != "second" || dead[0].Attempts != 2 || dead[0].Kind != "job" || dead[0].Unique != "u" ||
		string(dead[0].Payload) != "7" || time.Since(dead[0].DiedAt) > 5*time.Minute {
		t.Errorf("dead: %+v", dead)
	}
	// One that is given up at once is the latest.
	q.enqueue(store.Job{Kind: "other"})
	<-begun
	verdict <- store.JobResult{Outcome: store.Dead, Cause: "hopeless"}
	q.waitCounts(0, 0, 2)
	for n, want := range map[int][]string{1: {"hopeless"}, 9: {"hopeless", "second"}} {
		dead, err := q.storage.Dead(t.Context(), n)
		ok(t, err)
		var causes []string
		for _, d := range dead {
			causes = append(causes, d.Cause)
		}
		if diff := cmp.Diff(want, causes); diff != "" {
			t.Errorf("the latest %d: %s", n, diff)
		}
	}
	for _, id := range []string{"job_none", "12345678", ""} {
		if err := q.storage.RetryDead(t.Context(), id, time.Now()); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Revive of %q: %v", id, err)
		}
	}
	stop()
	q.enqueue(job)
	if err := q.storage.RetryDead(t.Context(), first.ID, time.Now()); !errors.Is(err, store.ErrExists) {
		t.Errorf("Revive next to a job with its key: %v", err)
	}
	begun, verdict, _ = q.runs(q.storage)
	twin := <-begun
	if err := q.storage.RetryDead(t.Context(), twin.ID, time.Now()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Revive of one that runs: %v", err)
	}
	verdict <- store.JobResult{}
	q.waitCounts(0, 0, 2)
	at := time.Now().Add(300 * time.Millisecond)
	ok(t, q.storage.RetryDead(t.Context(), first.ID, at))
	for i := range 2 {
		c := <-begun
		if c.ID != first.ID || c.Attempt != i+1 || c.Failures != i || time.Now().Before(at) {
			t.Errorf("revived: %+v", c)
		}
		verdict <- store.JobResult{Outcome: store.Failed, RunAt: time.Now(), Cause: "again"}
	}
	q.waitCounts(0, 0, 2)
}

func workUniqueWaiting(t *testing.T, q *queueTest) {
	later := time.Now().Add(time.Hour)
	q.enqueue(store.Job{Kind: "job", Unique: "u", RunAt: later}, store.Job{Kind: "job", Unique: "u", RunAt: later.Add(time.Second)},
		store.Job{Kind: "job", Unique: "v", RunAt: later}, store.Job{Kind: "other", Unique: "u", RunAt: later},
		store.Job{Kind: "job", RunAt: later}, store.Job{Kind: "job", RunAt: later})
	q.waitCounts(5, 0, 0)
	begun, verdict, _ := q.runs(q.storage)
	for range 2 {
		q.enqueue(store.Job{Kind: "job", Unique: "u"}) // sooner, and then free again
		c := <-begun
		if c.Kind != "job" || c.Unique != "u" {
			t.Errorf("%+v runs", c)
		}
		verdict <- store.JobResult{}
		q.waitCounts(4, 0, 0)
	}
	soon := time.Now().Add(300 * time.Millisecond)
	q.enqueue(store.Job{Kind: "job", Unique: "v", RunAt: soon})
	if c := <-begun; c.Unique != "v" || time.Now().Before(soon) {
		t.Errorf("%+v runs", c)
	}
	verdict <- store.JobResult{}
	q.waitCounts(3, 0, 0)
}

func workUniqueRunning(t *testing.T, q *queueTest) {
	other := q.replica()
	begun, verdict, _ := q.runs(q.storage)
	for _, end := range []struct {
		name  string
		v     store.JobOutcome
		tries int
	}{{"done", store.Done, 1}, {"dead", store.Dead, 1}, {"failed for the last time", store.Failed, 2}} {
		_, _, dead, err := q.storage.Counts(t.Context())
		ok(t, err)
		q.enqueue(store.Job{Kind: "job", Unique: "u", MaxAttempts: 2})
		c := <-begun
		at := time.Now().Add(200 * time.Millisecond)
		ok(t, enqueueAll(t.Context(), other, store.Job{Kind: "job", Unique: "u", RunAt: at.Add(time.Hour), MaxAttempts: 3}, store.Job{Kind: "job", Unique: "u", RunAt: at}))
		q.waitCounts(0, 1, dead)
		for range end.tries {
			if c.MaxAttempts != 2 {
				t.Errorf("%s: two at a time: %+v", end.name, c)
			}
			verdict <- store.JobResult{Outcome: end.v, RunAt: time.Now(), Cause: end.name}
			first := c.ID
			if c = <-begun; c.ID != first {
				break
			}
		}
		if c.MaxAttempts != 3 || c.Attempt != 1 || time.Now().Before(at) {
			t.Errorf("%s: then runs %+v", end.name, c)
		}
		verdict <- store.JobResult{}
		q.wait("the end", func() bool { n := q.counts(); return n[0]+n[1] == 0 })
	}
}

func workSpare(t *testing.T, q *queueTest) {
	spare := store.Job{Kind: "job", Unique: "u", SkipIfPending: true}
	q.enqueue(store.Job{Kind: "job", Unique: "u", RunAt: time.Now().Add(500 * time.Millisecond)}, spare)
	begun, verdict, _ := q.runs(q.storage)
	c := <-begun
	if time.Now().Before(c.RunAt) {
		t.Errorf("brought forward: %+v", c)
	}
	q.enqueue(spare)
	verdict <- store.JobResult{}
	q.waitCounts(0, 0, 0)
	q.enqueue(spare)
	<-begun
	verdict <- store.JobResult{}
	q.waitCounts(0, 0, 0)
}

// workStop: running jobs are released, and use up no attempt.
func workStop(t *testing.T, q *queueTest) {
	q.enqueue(store.Job{Kind: "job", MaxAttempts: 1})
	for i := range 3 {
		storage := q.replica()
		begun, _, stop := q.runs(storage)
		c := <-begun
		if c.Attempt != 1 || c.Failures != 0 || c.LostAttempts != 0 {
			t.Errorf("start %d: %+v", i, c)
		}
		stop()
		if n := q.counts(); n != [3]int{1, 0, 0} {
			t.Errorf("after stop %d: %v", i, n)
		}
	}
	begun, verdict, _ := q.runs(q.storage)
	<-begun
	verdict <- store.JobResult{}
	q.waitCounts(0, 0, 0)
}

// workCancel: a job is cancelled from another replica, and no other is.
func workCancel(t *testing.T, q *queueTest) {
	other := q.replica()
	causes := make(chan error, 8) // a job that runs too often must not block the end
	begun := make(chan struct{})
	q.work(q.storage, 2, func(ctx context.Context, _ store.Claimed) store.JobResult {
		select {
		case begun <- struct{}{}:
		case <-ctx.Done():
		}
		<-ctx.Done()
		select {
		case causes <- context.Cause(ctx):
		default:
		}
		if errors.Is(context.Cause(ctx), store.ErrCancelled) {
			return store.JobResult{}
		}
		return store.JobResult{Outcome: store.Stopped, RunAt: time.Now(), Cause: "stopped"}
	})
	ok(t, other.Cancel(t.Context(), "job", "u")) // nothing runs
	for round := range 2 {
		q.enqueue(store.Job{Kind: "job", Unique: "u"}, store.Job{Kind: "other", Unique: "u", SkipIfPending: true})
		for range 2 - round {
			<-begun
		}
		ok(t, other.Cancel(t.Context(), "job", "else"))
		ok(t, other.Cancel(t.Context(), "job", "u"))
		if err := <-causes; !errors.Is(err, store.ErrCancelled) {
			t.Errorf("ended for %v", err)
		}
		q.waitCounts(0, 1, 0)
	}
}

// workOrigin: what caused a transaction goes with its jobs, and on with theirs.
func workOrigin(t *testing.T, q *queueTest) {
	origin := store.Origin{RequestID: "req_1", Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	ok(t, enqueueAll(store.WithOrigin(t.Context(), origin), q.storage, store.Job{Kind: "job"}))
	got := make(chan store.Claimed, 2)
	q.work(q.storage, 1, func(ctx context.Context, job store.Claimed) store.JobResult {
		if of := store.OriginOf(ctx); of != job.Origin {
			t.Errorf("the context of %s is of %+v", job.Kind, of)
		}
		if job.Kind == "job" {
			if err := enqueueAll(ctx, q.storage, store.Job{Kind: "follow"}); err != nil {
				t.Error(err)
			}
		}
		got <- job
		return store.JobResult{}
	})
	for range 2 {
		if c := <-got; c.Origin != origin {
			t.Errorf("%s is of %+v", c.Kind, c.Origin)
		}
	}
}

// workCompetition has replicas empty one queue: each job runs once.
func workCompetition(t *testing.T, q *queueTest) {
	const n = 200
	var mu sync.Mutex
	runs := map[string]int{}
	for range 3 {
		q.work(q.replica(), 4, func(_ context.Context, job store.Claimed) store.JobResult {
			mu.Lock()
			defer mu.Unlock()
			runs[job.Unique]++
			return store.JobResult{}
		})
	}
	for i := range n {
		q.enqueue(store.Job{Kind: "job", Unique: fmt.Sprint(i)})
	}
	q.waitCounts(0, 0, 0)
	mu.Lock()
	defer mu.Unlock()
	for i := range n {
		if runs[fmt.Sprint(i)] != 1 {
			t.Errorf("job %d ran %d times", i, runs[fmt.Sprint(i)])
		}
	}
}
