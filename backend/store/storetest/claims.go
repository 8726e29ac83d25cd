package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/localjobs"
)

const leased = time.Minute

// ClaimsStore is a store whose jobs are handed out by leases.
type ClaimsStore interface {
	QueueStore
	localjobs.Jobs
}

// Claims asserts what localjobs.Jobs promises.
func Claims(t *testing.T, open func(t *testing.T, now func() time.Time) ClaimsStore) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, q *claimsTest)
	}{
		{"order", queueOrder},
		{"lease", queueLease},
		{"retry and death", queueRetry},
		{"poison", queuePoison},
		{"release", queueRelease},
		{"clock put back", queueRewind},
		{"unique", queueUnique},
		{"unique while running", queueUniqueRunning},
		{"renew", queueRenew},
		{"notify", queueNotify},
		{"revive", queueRevive},
		{"competition", queueCompetition},
		{"stopped", queueStopped},
		{"spare", queueSpare},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := newClock()
			c.run(t, &claimsTest{t, open(t, clock.Now), clock})
		})
	}
}

// claimsTest has the steps of the tests as methods.
type claimsTest struct {
	t       *testing.T
	storage ClaimsStore
	clock   *clock
}

func (q *claimsTest) enqueue(jobs ...store.Job) {
	q.t.Helper()
	ok(q.t, q.storage.Update(q.t.Context(), func(tx store.Tx) error {
		for _, j := range jobs {
			if err := tx.Enqueue(j); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (q *claimsTest) claim(n int) []store.Claimed {
	q.t.Helper()
	claimed, err := q.storage.Claim(q.t.Context(), q.clock.Now(), leased, n)
	ok(q.t, err)
	return claimed
}

// claimKinds claims up to n and answers their kinds.
func (q *claimsTest) claimKinds(n int) []string {
	q.t.Helper()
	kinds := []string{}
	for _, c := range q.claim(n) {
		kinds = append(kinds, c.Kind)
	}
	return kinds
}

func (q *claimsTest) done(claimed ...store.Claimed) {
	q.t.Helper()
	for _, c := range claimed {
		ok(q.t, q.settle(c.ID, store.JobResult{}))
	}
}

func (q *claimsTest) settle(id string, v store.JobResult) error {
	return q.storage.Settle(q.t.Context(), id, v)
}

// failed is a run that is tried again at a time.
func failed(at time.Time, cause string) store.JobResult {
	return store.JobResult{Outcome: store.Failed, RunAt: at, Cause: cause}
}

func (q *claimsTest) wantCounts(waiting, running, dead int) {
	q.t.Helper()
	w, r, d, err := q.storage.Counts(q.t.Context())
	if err != nil || w != waiting || r != running || d != dead {
		q.t.Errorf("counts %d waiting, %d running, %d dead, %v; want %d, %d, %d", w, r, d, err, waiting, running, dead)
	}
}

func queueOrder(t *testing.T, q *claimsTest) {
	now := q.clock.Now()
	q.enqueue(
		store.Job{Kind: "later", RunAt: now.Add(time.Hour)},
		store.Job{Kind: "b", RunAt: now.Add(-time.Second), Payload: json.RawMessage(`{"x":1}`)},
		store.Job{Kind: "a", RunAt: now.Add(-time.Minute)},
		store.Job{Kind: "c"},
		store.Job{Kind: "d"},
	)
	got := q.claim(3)
	if len(got) != 3 || got[0].Kind != "a" || got[1].Kind != "b" || got[2].Kind != "c" {
		t.Fatalf("claimed %+v", got)
	}
	if b := got[1]; string(b.Payload) != `{"x":1}` || b.Attempt != 1 || b.ID == "" || b.MaxAttempts != 5 {
		t.Errorf("claimed %+v", b)
	}
	if diff := cmp.Diff([]string{"d"}, q.claimKinds(9)); diff != "" {
		t.Error(diff)
	}
	q.wantCounts(1, 4, 0)
	q.done(got...)
	q.wantCounts(1, 1, 0)
	for _, id := range []string{got[0].ID, "job_none"} {
		if err := q.settle(id, store.JobResult{}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s, which does not run, is done: %v", id, err)
		}
	}
	q.clock.advance(time.Hour)
	if diff := cmp.Diff([]string{"d", "later"}, q.claimKinds(9)); diff != "" {
		t.Errorf("after an hour: %s", diff)
	}
}

func queueLease(t *testing.T, q *claimsTest) {
	q.enqueue(store.Job{Kind: "k"})
	first := q.claim(1)
	q.clock.advance(leased - time.Second)
	if again := q.claim(1); len(again) != 0 {
		t.Fatalf("claimed inside the lease: %+v", again)
	}
	q.clock.advance(time.Second)
	second := q.claim(1)
	if len(second) != 1 || second[0].ID != first[0].ID || second[0].Attempt != 2 || second[0].LostAttempts != 1 {
		t.Fatalf("claimed %+v after the lease of %+v", second, first)
	}
	q.done(second...)
	q.wantCounts(0, 0, 0)
}

func queueRetry(t *testing.T, q *claimsTest) {
	q.enqueue(store.Job{Kind: "k", MaxAttempts: 2, Payload: json.RawMessage(`7`)})
	c := q.claim(1)[0]
	ok(t, q.settle(c.ID, failed(q.clock.Now().Add(time.Hour), "first")))
	q.wantCounts(1, 0, 0)
	if early := q.claim(1); len(early) != 0 {
		t.Fatalf("claimed before its time: %+v", early)
	}
	if err := q.settle(c.ID, failed(q.clock.Now(), "waits")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Retry of a job that does not run: %v", err)
	}
	q.clock.advance(time.Hour)
	c = q.claim(1)[0]
	if c.Attempt != 2 || c.Failures != 1 || c.LostAttempts != 0 {
		t.Errorf("claimed %+v", c)
	}
	ok(t, q.settle(c.ID, failed(q.clock.Now(), "second")))
	q.wantCounts(0, 0, 1)
	dead, err := q.storage.Dead(t.Context(), 10)
	ok(t, err)
	if len(dead) != 1 || dead[0].ID != c.ID || dead[0].Cause != "second" || dead[0].Attempts != 2 ||
		string(dead[0].Payload) != "7" || !dead[0].DiedAt.Equal(q.clock.Now()) {
		t.Errorf("dead: %+v", dead)
	}
}

// queuePoison is a job that kills its worker: it is handed out as spent until
// its subject was informed.
func queuePoison(t *testing.T, q *claimsTest) {
	q.enqueue(store.Job{Kind: "poison", MaxAttempts: 3})
	var last store.Claimed
	for i := range 5 {
		got := q.claim(1)
		if len(got) != 1 || got[0].Attempt != min(i+1, 4) || got[0].LostAttempts != i || got[0].AttemptsExhausted() != (i >= 3) {
			t.Fatalf("claim %d: %+v", i, got)
		}
		last = got[0]
		q.clock.advance(leased)
	}
	q.wantCounts(0, 1, 0)
	ok(t, q.settle(last.ID, failed(q.clock.Now(), "given up")))
	q.wantCounts(0, 0, 1)
	dead, err := q.storage.Dead(t.Context(), 1)
	if err != nil || len(dead) != 1 || dead[0].Attempts != 3 || dead[0].Cause != "given up" {
		t.Errorf("dead: %+v, %v", dead, err)
	}
}

// queueRelease is a start after a crash: what ran is due at once, before what
// came later, and the crash costs one attempt.
func queueRelease(t *testing.T, q *claimsTest) {
	q.enqueue(store.Job{Kind: "a"}, store.Job{Kind: "b", RunAt: q.clock.Now().Add(time.Hour)})
	for i := range 3 {
		got := q.claim(9)
		if len(got) != 1 || got[0].Kind != "a" || got[0].Attempt != i+1 || got[0].LostAttempts != i {
			t.Fatalf("after %d crashes: %+v", i, got)
		}
		ok(t, q.storage.Release(t.Context()))
		q.wantCounts(2, 0, 0)
	}
}

// queueRewind is a clock that is put back by an hour, and put right again: what
// waits is due no sooner and no later than it was to be, and leases last as long.
func queueRewind(t *testing.T, q *claimsTest) {
	q.enqueue(store.Job{Kind: "leased"})
	held := q.claim(1)
	q.enqueue(store.Job{Kind: "at once"}, store.Job{Kind: "soon", RunAt: q.clock.Now().Add(10 * time.Second)})
	q.clock.advance(-time.Hour)
	now := q.clock.Now()
	ok(t, q.storage.Rewind(t.Context(), now))
	ok(t, q.storage.Rewind(t.Context(), now)) // once is enough
	q.enqueue(store.Job{Kind: "tomorrow", RunAt: now.Add(24 * time.Hour)})
	ok(t, q.storage.Rewind(t.Context(), now)) // what came after the jump is as it is
	for _, step := range []struct {
		at   time.Duration
		want []string
	}{
		{0, []string{"at once"}}, {9 * time.Second, []string{}}, {10 * time.Second, []string{"soon"}},
		{leased - time.Second, []string{}}, {leased, []string{"leased", "at once"}}, {leased + 10*time.Second, []string{"soon"}},
	} {
		q.clock.advance(now.Add(step.at).Sub(q.clock.Now()))
		if diff := cmp.Diff(step.want, q.claimKinds(9)); diff != "" {
			t.Errorf("%s after the jump: %s", step.at, diff)
		}
	}
	ok(t, q.storage.Renew(t.Context(), held[0].ID, q.clock.Now()))
}

func queueUnique(t *testing.T, q *claimsTest) {
	later := q.clock.Now().Add(time.Hour)
	q.enqueue(store.Job{Kind: "k", Unique: "u", RunAt: later}, store.Job{Kind: "k", Unique: "u", RunAt: later.Add(1)},
		store.Job{Kind: "k", Unique: "v", RunAt: later}, store.Job{Kind: "other", Unique: "u", RunAt: later},
		store.Job{Kind: "k", RunAt: later}, store.Job{Kind: "k", RunAt: later})
	q.wantCounts(5, 0, 0)
	q.enqueue(store.Job{Kind: "k", Unique: "u"}) // sooner
	c := q.claim(9)
	if len(c) != 1 || c[0].Unique != "u" {
		t.Fatalf("claimed %+v", c)
	}
	q.done(c...)
	q.enqueue(store.Job{Kind: "k", Unique: "u"}) // free again
	if c := q.claim(9); len(c) != 1 {
		t.Errorf("claimed %+v", c)
	}
}

func queueUniqueRunning(t *testing.T, q *claimsTest) {
	for _, end := range []struct {
		name string
		end  func(c store.Claimed)
	}{
		{"done", func(c store.Claimed) { q.done(c) }},
		{"dead", func(c store.Claimed) { ok(t, q.settle(c.ID, failed(q.clock.Now(), "no"))) }},
	} {
		q.enqueue(store.Job{Kind: "k", Unique: "u", MaxAttempts: 1})
		c := q.claim(1)[0]
		later := q.clock.Now().Add(time.Hour)
		q.enqueue(store.Job{Kind: "k", Unique: "u", RunAt: later, Payload: json.RawMessage(`1`)},
			store.Job{Kind: "k", Unique: "u", RunAt: later.Add(-time.Minute), Payload: json.RawMessage(`2`)})
		if got := q.claim(9); len(got) != 0 {
			t.Fatalf("%s: two at a time: %+v", end.name, got)
		}
		end.end(c)
		w, r, _, err := q.storage.Counts(t.Context())
		if w != 1 || r != 0 || err != nil {
			t.Errorf("%s: %d wait, %d run, %v", end.name, w, r, err)
		}
		q.clock.advance(59 * time.Minute)
		got := q.claim(9)
		if len(got) != 1 || got[0].ID == c.ID || got[0].Attempt != 1 {
			t.Fatalf("%s: claimed %+v", end.name, got)
		}
		q.done(got...)
	}
}

func queueRenew(t *testing.T, q *claimsTest) {
	q.enqueue(store.Job{Kind: "k"})
	c := q.claim(1)[0]
	ok(t, q.storage.Renew(t.Context(), c.ID, q.clock.Now().Add(time.Hour)))
	q.clock.advance(59 * time.Minute)
	if got := q.claim(1); len(got) != 0 {
		t.Fatalf("claimed inside the longer lease: %+v", got)
	}
	q.clock.advance(time.Minute)
	if got := q.claim(1); len(got) != 1 {
		t.Fatal("not claimed after the longer lease")
	}
	q.done(c)
	if err := q.storage.Renew(t.Context(), c.ID, q.clock.Now()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Renew of a finished job: %v", err)
	}
}

func queueNotify(t *testing.T, q *claimsTest) {
	if _, waits, err := q.storage.Next(t.Context()); waits || err != nil {
		t.Errorf("an empty queue has a next job, %v", err)
	}
	at := q.clock.Now().Add(time.Hour)
	q.enqueue(store.Job{Kind: "k", RunAt: at})
	<-q.storage.Notify() // hangs where there is no word of it
	next, waits, err := q.storage.Next(t.Context())
	if !next.Equal(at) || !waits || err != nil {
		t.Errorf("next is %v, %v, %v", next, waits, err)
	}
	q.clock.advance(time.Hour)
	q.claim(1)
	next, waits, err = q.storage.Next(t.Context())
	if !next.Equal(at.Add(leased)) || !waits || err != nil {
		t.Errorf("next is %v, %v, %v; want the lease's end", next, waits, err)
	}
}

func queueRevive(t *testing.T, q *claimsTest) {
	q.enqueue(store.Job{Kind: "k", Unique: "u", MaxAttempts: 1})
	c := q.claim(1)[0]
	ok(t, q.settle(c.ID, failed(q.clock.Now(), "no")))
	if err := q.storage.RetryDead(t.Context(), "job_none", q.clock.Now()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Revive of nothing: %v", err)
	}
	q.enqueue(store.Job{Kind: "k", Unique: "u"})
	if err := q.storage.RetryDead(t.Context(), c.ID, q.clock.Now()); !errors.Is(err, store.ErrExists) {
		t.Errorf("Revive next to a job with its key: %v", err)
	}
	q.done(q.claim(1)...)
	ok(t, q.storage.RetryDead(t.Context(), c.ID, q.clock.Now()))
	q.wantCounts(1, 0, 0)
	if got := q.claim(1); len(got) != 1 || got[0].ID != c.ID || got[0].Attempt != 1 {
		t.Errorf("claimed %+v", got)
	}
}

// queueCompetition has several workers empty one queue: each job is claimed
// once, since no lease runs out.
func queueCompetition(t *testing.T, q *claimsTest) {
	const n = 200
	for i := range n {
		q.enqueue(store.Job{Kind: fmt.Sprintf("%03d", i)})
		if i%50 == 0 {
			q.clock.advance(time.Second)
		}
	}
	var mu sync.Mutex
	var kinds []string
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				got, err := q.storage.Claim(t.Context(), q.clock.Now(), leased, 7)
				if err != nil || len(got) == 0 {
					if err != nil {
						t.Error(err)
					}
					return
				}
				for _, c := range got {
					mu.Lock()
					kinds = append(kinds, c.Kind)
					mu.Unlock()
					if err := q.settle(c.ID, store.JobResult{}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	slices.Sort(kinds)
	if len(kinds) != n || len(slices.Compact(kinds)) != n {
		t.Errorf("%d claims of %d jobs", len(kinds), n)
	}
	q.wantCounts(0, 0, 0)
}

// queueStopped: a run that was stopped, or that found no room, is no failure,
// and the former costs no attempt.
func queueStopped(t *testing.T, q *claimsTest) {
	q.enqueue(store.Job{Kind: "k", MaxAttempts: 2})
	for i, step := range []struct {
		outcome store.JobOutcome
		attempt int
	}{{store.Stopped, 1}, {store.Stopped, 1}, {store.Again, 1}, {store.Stopped, 2}, {store.Again, 2}} {
		c := q.claim(1)
		if len(c) != 1 || c[0].Attempt != step.attempt || c[0].Failures != 0 || c[0].LostAttempts != 0 {
			t.Fatalf("run %d: %+v", i, c)
		}
		ok(t, q.settle(c[0].ID, store.JobResult{Outcome: step.outcome, RunAt: q.clock.Now(), Cause: "no room"}))
	}
	q.wantCounts(0, 0, 1)
}

// queueSpare: a spare job is added only if no job with its key waits or runs.
func queueSpare(t *testing.T, q *claimsTest) {
	later := q.clock.Now().Add(time.Hour)
	spare := store.Job{Kind: "k", Unique: "u", SkipIfPending: true}
	q.enqueue(store.Job{Kind: "k", Unique: "u", RunAt: later}, spare)
	if c := q.claim(1); len(c) != 0 {
		t.Fatalf("brought forward: %+v", c)
	}
	q.clock.advance(time.Hour)
	c := q.claim(1)
	q.enqueue(spare)
	q.done(c...)
	q.wantCounts(0, 0, 0)
	q.enqueue(spare)
	q.done(q.claim(1)...)
}
