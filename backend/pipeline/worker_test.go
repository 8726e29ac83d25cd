package pipeline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
)

func (p *plant) enqueue(kind string) {
	p.t.Helper()
	if err := p.Records.Update(p.t.Context(), func(tx store.Tx) error { return tx.Enqueue(store.Job{Kind: kind, RunAt: p.Wall()}) }); err != nil {
		p.t.Fatal(err)
	}
}

func (p *plant) counts() (waiting, running, dead int) {
	p.t.Helper()
	waiting, running, dead, err := p.db.Counts(context.Background())
	if err != nil {
		p.t.Fatal(err)
	}
	return waiting, running, dead
}

// drained reports that no job waits or runs, except for the hourly one.
func (p *plant) drained() bool {
	waiting, running, _ := p.counts()
	return waiting+running == 0
}

func TestFailedJobsAreReported(t *testing.T) {
	p := newPlant(t, day0, nil)
	var panics, reported atomic.Int32
	p.handlers["panicking"] = handler{
		run: func(context.Context, store.Claimed) error {
			panics.Add(1)
			panic("out of order")
		},
		failed: func(context.Context, store.Claimed, error) error { reported.Add(1); return nil },
	}
	p.handlers["hopeless"] = handler{
		run:    func(context.Context, store.Claimed) error { return sitedata.NewPermanent(errors.New("no use")) },
		failed: func(context.Context, store.Claimed, error) error { reported.Add(1); return nil },
	}
	p.start()
	p.enqueue("hopeless")
	p.enqueue("unheard of")
	p.await("the hopeless", func() bool { return reported.Load() == 1 && p.drained() })
	p.enqueue("panicking")
	p.await("a panic", func() bool { return panics.Load() == 1 })
	p.await("its retry to wait", func() bool { waiting, _, _ := p.counts(); return waiting == 1 || panics.Load() > 1 })
}

func TestDeadJobAfterItsAttempts(t *testing.T) {
	p := newPlant(t, day0, nil)
	p.handlers["doomed"] = handler{run: func(context.Context, store.Claimed) error { return errors.New("again") }}
	if err := p.Records.Update(t.Context(), func(tx store.Tx) error {
		return tx.Enqueue(store.Job{Kind: "doomed", RunAt: p.Wall(), MaxAttempts: 1})
	}); err != nil {
		t.Fatal(err)
	}
	p.takeOverNothing()
	p.start()
	p.await("the dead job", func() bool { _, _, dead := p.counts(); return dead == 1 })
	dead, err := p.db.Dead(t.Context(), 10)
	if err != nil || len(dead) != 1 || dead[0].Kind != "doomed" {
		t.Errorf("dead jobs %v, %v", dead, err)
	}
}

// TestUnreportedFailureIsReportedLater: a job that failed for good runs again if its end
// cannot be reported, as long as its attempts last, and so does one that is
// lost.
func TestUnreportedFailureIsReportedLater(t *testing.T) {
	p := newPlant(t, day0, nil)
	unclassified := errors.New("the store is unavailable")
	p.handlers["hopeless"] = handler{failed: func(context.Context, store.Claimed, error) error { return unclassified }}
	job := store.Claimed{Job: store.Job{Kind: "hopeless", MaxAttempts: 3}, Attempt: 2}
	final := sitedata.NewPermanent(errors.New("no use"))
	if v, outcome := p.finish(t.Context(), job, final); v.Outcome != store.Failed || !v.RunAt.After(p.Wall()) || outcome != JobRetried {
		t.Errorf("unclassified: %+v, %s", v, outcome)
	}
	if v, _ := p.finish(t.Context(), job, fmt.Errorf("store: %w", store.ErrLost)); v.Outcome != store.Stopped {
		t.Errorf("lost: %+v", v)
	}
	job.Attempt = 3
	if v, outcome := p.finish(t.Context(), job, final); v.Outcome != store.Dead || v.Cause != "no use" || outcome != JobFailed {
		t.Errorf("unclassified at last: %+v, %s", v, outcome)
	}
	unclassified, job.Attempt = nil, 2
	if v, outcome := p.finish(t.Context(), job, final); v.Outcome != store.Done || outcome != JobFailed {
		t.Errorf("reported: %+v, %s", v, outcome)
	}
}

// TestUnavailableStoreFailsNoJob: if a disk is full, or the store unavailable,
// jobs wait beyond the failures after which others are dead.
func TestUnavailableStoreFailsNoJob(t *testing.T) {
	for name, cause := range map[string]error{
		"a full disk":          &os.PathError{Op: "write", Path: "db", Err: syscall.ENOSPC},
		"an unavailable store": store.ErrUnavailable,
	} {
		t.Run(name, func(t *testing.T) { failsNoJob(t, fmt.Errorf("store: %w", cause)) })
	}
}

func failsNoJob(t *testing.T, cause error) {
	p := newPlant(t, day0, nil)
	reported := 0
	p.handlers["storing"] = handler{failed: func(context.Context, store.Claimed, error) error { reported++; return nil }}
	err := p.Records.Update(t.Context(), func(tx store.Tx) error {
		return tx.Enqueue(store.Job{Kind: "storing", RunAt: p.Wall(), MaxAttempts: p.NewJob(sitedata.JobIngest, sitedata.Payload{}).MaxAttempts})
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 * maxFailures {
		jobs, err := p.db.Claim(t.Context(), p.Wall().Add(time.Hour), time.Minute, 1)
		if err != nil || len(jobs) != 1 {
			t.Fatalf("claimed %v, %v", jobs, err)
		}
		verdict, outcome := p.failJob(t.Context(), jobs[0], cause)
		if outcome != JobRetried {
			t.Fatal(outcome)
		}
		if err := p.db.Settle(t.Context(), jobs[0].ID, verdict); err != nil {
			t.Fatal(err)
		}
	}
	if waiting, _, dead := p.counts(); waiting != 1 || dead != 0 || reported != 0 {
		t.Errorf("%d wait, %d are dead, reported %d times", waiting, dead, reported)
	}
}

// A job whose last attempt ended without a result is reported as failed; one
// that is stopped in its last attempt is not.
func TestExhaustedJobIsReported(t *testing.T) {
	p := newPlant(t, day0, nil)
	reported := make(chan error, 2)
	p.handlers["cut off"] = handler{
		run:    func(context.Context, store.Claimed) error { t.Error("it ran"); return nil },
		failed: func(_ context.Context, _ store.Claimed, cause error) error { reported <- cause; return nil },
	}
	if err := p.Records.Update(t.Context(), func(tx store.Tx) error {
		return tx.Enqueue(store.Job{Kind: "cut off", RunAt: p.Wall(), MaxAttempts: 1})
	}); err != nil {
		t.Fatal(err)
	}
	if jobs, err := p.db.Claim(t.Context(), p.Wall(), time.Hour, 1); err != nil || len(jobs) != 1 { // by one who dies
		t.Fatal(jobs, err)
	}
	p.start()
	if cause := <-reported; !strings.Contains(cause.Error(), "the service ended 1 time") {
		t.Errorf("reported: %v", cause)
	}
	p.await("the dead job", func() bool { _, running, dead := p.counts(); return dead == 1 && running == 0 })
	p.halt()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	last := store.Claimed{Job: store.Job{ID: "job_none", Kind: "cut off", MaxAttempts: 1}, Attempt: 1}
	if v, outcome := p.finish(ctx, last, context.Canceled); outcome != JobStopped || v.Outcome != store.Stopped || len(reported) != 0 {
		t.Errorf("stopped in its last attempt: %s, %+v, reported %d times", outcome, v, len(reported))
	}
}

// A clock that jumps an hour forward and back neither runs a job twice at a
// time nor lets one wait for the hour, nor runs one before its time.
func TestJobsOverClockJumps(t *testing.T) {
	var ahead, looks atomic.Int64
	p := newPlant(t, day0, func(c *Config) { c.Lease, c.Tick = 10*time.Minute, 5*time.Millisecond })
	p.wall = func() time.Time {
		looks.Add(1)
		return time.Now().Round(0).Add(time.Duration(ahead.Load()))
	}
	p.reopen()
	var long atomic.Int32
	leave := make(chan struct{})
	p.handlers["long"] = handler{run: func(context.Context, store.Claimed) error { long.Add(1); <-leave; return nil }}
	var early atomic.Int32
	ran := make(chan struct{}, 8)
	p.handlers["short"] = handler{run: func(_ context.Context, j store.Claimed) error {
		if p.Wall().Before(j.RunAt) {
			early.Add(1)
		}
		ran <- struct{}{}
		return nil
	}}
	p.start()
	p.enqueue("long")
	p.await("the long job", func() bool { return long.Load() == 1 })
	for _, to := range []time.Duration{time.Hour, 0, -time.Hour, 0} {
		// One that waits until just after the jump.
		if err := p.Records.Update(t.Context(), func(tx store.Tx) error {
			return tx.Enqueue(store.Job{Kind: "short", RunAt: p.Wall().Add(300 * time.Millisecond)})
		}); err != nil {
			t.Fatal(err)
		}
		ahead.Store(int64(to))
		<-ran
		seen := looks.Load() // a jump there and back between two looks at the clock is none
		p.await("two hundred looks at the clock", func() bool { return looks.Load() >= seen+200 })
	}
	close(leave)
	p.await("the end of all", p.drained)
	if n := long.Load(); n != 1 || early.Load() != 0 {
		t.Errorf("the long job ran %d times, %d jobs before their time", n, early.Load())
	}
}

// takeOverNothing lets the jobs keep all their attempts.
func (p *plant) takeOverNothing() { p.Exclusive = false }

func TestStopWaitsForItsJobsAndGivesThemBack(t *testing.T) {
	p := newPlant(t, day0, func(c *Config) { c.Lease, c.Tick = 30*time.Millisecond, time.Hour }) // nothing is planned meanwhile
	begun, left := make(chan struct{}), make(chan struct{})
	p.handlers["long"] = handler{run: func(ctx context.Context, _ store.Claimed) error {
		close(begun)
		<-ctx.Done()
		close(left)
		return ctx.Err()
	}}
	p.start()
	p.enqueue("long")
	<-begun
	p.halt()
	select {
	case <-left:
	default:
		t.Error("Run returned before its job")
	}
	if waiting, running, dead := p.counts(); waiting != 1 || running != 0 || dead != 0 {
		t.Errorf("%d wait, %d run, %d are dead", waiting, running, dead)
	}
}

func TestBackoffGrows(t *testing.T) {
	for n := 1; n < 40; n++ {
		d := backoff(n)
		if low := min(time.Second<<min(n-1, 10), 5*time.Minute); d < low || d > low*6/5 {
			t.Errorf("after %d failures it waits %v", n, d)
		}
	}
}
