package resilience

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
)

// jumpy is a service in this process whose wall clock is put forward and back.
// Its times have no monotonic part, as those that are stored have none.
type jumpy struct {
	ahead   atomic.Int64
	service *backend.Service
	root    *client.Client
}

func (j *jumpy) now() time.Time        { return time.Now().Round(0).Add(time.Duration(j.ahead.Load())) }
func (j *jumpy) jump(to time.Duration) { j.ahead.Store(int64(to)) }
func (j *jumpy) as(c string) *client.Client {
	return client.New(client.Options{Transport: client.InProcess(j.service.Handler()), Credential: c})
}

func newJumpy(t *testing.T, lifetime time.Duration, keyRate int) *jumpy {
	t.Helper()
	j := &jumpy{}
	var err error
	j.service, err = backend.New(backend.Config{
		DataDir: t.TempDir(), Now: time.Now, Wall: j.now, WebhookAllow: []string{"127.0.0.1"}, TokenLifetime: lifetime, KeyRate: keyRate, Tick: 10 * time.Millisecond,
		Settle: time.Millisecond, TrainingDays: 1000, Argon: &argon2id.Params{Memory: 1024, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32},
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- j.service.Run(context.Background()) }()
	t.Cleanup(func() {
		if err := errors.Join(j.service.Close(), <-ended); err != nil {
			t.Error(err)
		}
	})
	key, _, err := j.service.Auth().CreateKey(t.Context(), auth.NewKey{Name: "root", Role: api.RoleAdmin, Customers: []string{api.Every}})
	if err != nil {
		t.Fatal(err)
	}
	j.root = j.as(key)
	return j
}

// A token ends when the time has ended, also by a jump, and a clock that is put
// back never gives it more life than it was issued for.
func TestTokenOverClockJumps(t *testing.T) {
	j := newJumpy(t, 30*time.Minute, 0)
	newUser(t, j.root, "acme", api.RoleAnalyst, "grace", goodPassword)
	person := j.as("")
	if _, err := person.Login(t.Context(), "grace", goodPassword); err != nil {
		t.Fatal(err)
	}
	ask := func() int {
		_, err := person.Sites(t.Context(), api.ListQuery{CustomerID: "acme"})
		status, other := refusal(err)
		if other != nil {
			t.Fatal(other)
		}
		return status
	}
	for _, c := range []struct {
		to   time.Duration
		want int
	}{{0, 200}, {29 * time.Minute, 200}, {31 * time.Minute, 401}, {time.Hour, 401}} {
		j.jump(c.to)
		if got := ask(); got != c.want {
			t.Errorf("a token of 30 minutes after %s answers %d, not %d", c.to, got, c.want)
		}
	}
}

// A clock that is set back by an hour locks no user out: neither one who
// used up the rate nor one who mistyped a password.
func TestClockJumpBackLocksNoUserOut(t *testing.T) {
	j := newJumpy(t, 24*time.Hour, 0)
	newUser(t, j.root, "acme", api.RoleAnalyst, "grace", goodPassword)
	key := j.as(newKey(t, j.root, "acme", api.RoleAnalyst))
	statuses := map[int]int{}
	for range api.RequestsPerMinute + 1 {
		_, err := key.Sites(t.Context(), api.ListQuery{CustomerID: "acme"})
		status, other := refusal(err)
		if other != nil {
			t.Fatal(other)
		}
		statuses[status]++
	}
	if statuses[200] != api.RequestsPerMinute || statuses[429] != 1 {
		t.Fatalf("a minute's requests were answered %v", statuses)
	}
	person := j.as("")
	for range 8 {
		if _, err := person.Login(t.Context(), "grace", "wrong"); err == nil {
			t.Fatal("a wrong password opens")
		}
	}
	j.jump(-time.Hour)
	if _, err := key.Sites(t.Context(), api.ListQuery{CustomerID: "acme"}); err != nil {
		t.Errorf("an hour back, the key is answered %v", err)
	}
	// The wait for the next attempt continues, and is over after a minute at most.
	if _, err := person.Login(t.Context(), "grace", goodPassword); err == nil {
		t.Error("the wait after wrong passwords is gone")
	}
	j.jump(-time.Hour + 61*time.Second)
	if _, err := person.Login(t.Context(), "grace", goodPassword); err != nil {
		t.Errorf("after the longest wait: %v", err)
	}
}

// Files are imported and webhooks go out, whichever way the clock jumps.
func TestWorkGoesOnOverClockJumps(t *testing.T) {
	j := newJumpy(t, 24*time.Hour, 1_000_000)
	place := newReceiver()
	place.polite = true
	defer place.Close()
	newSite(t, j.root, tenant, plants[0], plants[0]+"-1")
	w := &crowd{book: newBook(), place: place, counts: map[string]int{}}
	c := visitor{Client: j.root}
	for i, to := range []time.Duration{0, time.Hour, -time.Hour, 0} {
		j.jump(to)
		w.counts["file"], w.counts["order"] = i*2*len(plants), i*len(plants) // always of the first site and unit
		if err := errors.Join(w.upload(t.Context(), c), w.order(t.Context(), c)); err != nil {
			t.Fatalf("the clock at %s: %v", to, err)
		}
		w.drain(t, c)
		if err := w.book.check(t.Context(), []visitor{c}, rand.New(rand.NewPCG(0, 0)), true); err != nil {
			t.Errorf("the clock at %s: %v", to, err)
		}
	}
}
