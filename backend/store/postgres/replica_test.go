//go:build !gateway

package postgres

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/pgtest"
	"app.sunloop/engine/series"
)

// twoStores are two replicas on one database.
func twoStores(t *testing.T, o Options) [2]*Store {
	t.Helper()
	url := pgtest.Database(t)
	var stores [2]*Store
	for i := range stores {
		s, err := Open(t.Context(), url, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		stores[i] = s
	}
	return stores
}

// TestAllow: of 120 requests that two replicas are sent at once, 60 are
// accepted, and one more when the first is a window old.
func TestAllow(t *testing.T) {
	stores := twoStores(t, Options{})
	const limit, window = 60, time.Minute
	var accepted atomic.Int64
	var wg sync.WaitGroup
	for i := range 2 * limit {
		wg.Go(func() {
			ok, left, reset, err := stores[i%2].Allow(t.Context(), "key", limit, window)
			if err != nil || left < 0 || left >= limit || reset <= 0 || reset > window {
				t.Errorf("left %d, reset %v, %v", left, reset, err)
			}
			if ok {
				accepted.Add(1)
			}
		})
	}
	wg.Wait()
	if n := accepted.Load(); n != limit {
		t.Errorf("%d accepted of %d", n, 2*limit)
	}
	if ok, left, _, err := stores[0].Allow(t.Context(), "other", limit, window); !ok || left != limit-1 || err != nil {
		t.Errorf("another key: %v, %d left, %v", ok, left, err)
	}
	if n, err := stores[0].PruneRates(t.Context(), window); n != 0 || err != nil {
		t.Errorf("forgot %d keys that count, %v", n, err)
	}
	if n, err := stores[0].PruneRates(t.Context(), 0); n != 2 || err != nil {
		t.Errorf("forgot %d keys, %v", n, err)
	}
}

// TestAllowClockBack: time stamps in the future exclude no caller.
func TestAllowClockBack(t *testing.T) {
	s := openTest(t, fixed)
	now := fixed().UnixNano()
	for _, c := range []struct {
		at   time.Duration
		ok   bool
		left int
	}{{time.Hour, true, 1}, {time.Hour, true, 0}, {time.Hour, false, 0}, {0, true, 1}, {0, true, 0}, {time.Second, false, 0}} {
		at := now + c.at.Nanoseconds()
		ok, left, reset, err := s.allow(t.Context(), "key", 2, time.Minute, &at)
		if ok != c.ok || left != c.left || reset <= 0 || reset > time.Minute || err != nil {
			t.Errorf("at %v: %v, %d left, %v, %v", c.at, ok, left, reset, err)
		}
	}
}

// TestAllowIsExact holds it to its definition: a request is accepted when fewer
// than limit were accepted in the window before it.
func TestAllowIsExact(t *testing.T) {
	s := openTest(t, fixed)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		if round++; round > 15 {
			return
		}
		limit := rapid.IntRange(1, 5).Draw(rt, "limit")
		now := fixed()
		var accepted []time.Time
		for range rapid.IntRange(1, 25).Draw(rt, "requests") {
			now = now.Add(time.Duration(rapid.IntRange(1, 40).Draw(rt, "seconds")) * time.Second)
			recent := 0
			for _, at := range accepted {
				if at.After(now.Add(-time.Minute)) {
					recent++
				}
			}
			at := now.UnixNano()
			ok, left, reset, err := s.allow(context.Background(), fmt.Sprint("round ", round), limit, time.Minute, &at)
			if err != nil || ok != (recent < limit) {
				rt.Fatalf("%d of %d in the window: %v, %v", recent, limit, ok, err)
			}
			if ok {
				accepted = append(accepted, now)
				recent++
			}
			if wait := accepted[len(accepted)-recent].Add(time.Minute).Sub(now); left != limit-recent || reset != wait {
				rt.Fatalf("left %d, reset %v; want %d, %v", left, reset, limit-recent, wait)
			}
		}
	})
}

// TestLeader: replicas lead in turn, one at a time; the result of fn ends it.
func TestLeader(t *testing.T) {
	t.Parallel() // it waits, mostly
	stores := twoStores(t, Options{Lease: killedLease})
	var leading, turns atomic.Int64
	done := errors.New("done")
	var wg sync.WaitGroup
	for _, s := range stores {
		for range 2 {
			wg.Go(func() {
				err := s.Leader(t.Context(), "one", func(context.Context) error {
					if n := leading.Add(1); n != 1 {
						t.Errorf("%d leaders at once", n)
					}
					turns.Add(1)
					time.Sleep(20 * time.Millisecond)
					leading.Add(-1)
					return done
				})
				if !errors.Is(err, done) {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if turns.Load() != 4 {
		t.Errorf("%d turns of 4", turns.Load())
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := stores[0].Leader(ctx, "one", func(ctx context.Context) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled leader: %v", err)
	}
}

// TestLeaderLost: a leader whose lease was taken gets a cancelled context, and
// leads again later.
func TestLeaderLost(t *testing.T) {
	t.Parallel() // it waits, mostly
	s := twoStores(t, Options{Lease: killedLease})[0]
	turns := 0
	err := s.Leader(t.Context(), "one", func(ctx context.Context) error {
		if turns++; turns == 2 {
			return nil
		}
		if _, err := s.pool.Exec(ctx, `UPDATE sunloop.leader SET holder = 'another', until = clock_timestamp() + interval '1 h'`); err != nil {
			t.Error(err)
		}
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), errLost) {
			t.Errorf("ended for %v", context.Cause(ctx))
		}
		if _, err := s.pool.Exec(t.Context(), `UPDATE sunloop.leader SET until = clock_timestamp()`); err != nil {
			t.Error(err)
		}
		return ctx.Err()
	})
	if err != nil || turns != 2 {
		t.Errorf("%d turns, %v", turns, err)
	}
}

// leaderEnv makes the test binary lead on the database that it names.
const leaderEnv = "SUNLOOP_TEST_POSTGRES_LEADER"

// killedLease is long enough for a busy machine to renew it in time.
const killedLease = 12 * time.Second

func leadUntilKilled(url string) {
	s, err := Open(context.Background(), url, Options{Lease: killedLease})
	if err != nil {
		panic(err)
	}
	panic(s.Leader(context.Background(), "one", func(context.Context) error {
		os.Stdout.WriteString("leading\n")
		select {}
	}))
}

// TestLeaderKilled: another replica takes over from a process that was killed.
func TestLeaderKilled(t *testing.T) {
	t.Parallel() // it waits, mostly
	url := pgtest.Database(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(exe, "-test.run=^$")
	child.Env = append(os.Environ(), leaderEnv+"="+url)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), url, Options{Lease: killedLease})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if !bufio.NewScanner(out).Scan() {
		t.Fatal("the other process does not lead")
	}
	killed := make(chan struct{})
	led := make(chan error, 1)
	go func() {
		led <- s.Leader(t.Context(), "one", func(context.Context) error {
			select {
			case <-killed:
				return nil
			default:
				return errors.New("leads while another does")
			}
		})
	}()
	// The lease is renewed some times before the process dies.
	renewed, until := 0, ""
	for renewed < 3 {
		var now string
		if err := s.pool.QueryRow(t.Context(), `SELECT until::text FROM sunloop.leader`).Scan(&now); err != nil {
			t.Fatal(err)
		}
		if now != until {
			renewed, until = renewed+1, now
		}
		time.Sleep(50 * time.Millisecond)
	}
	select {
	case err := <-led:
		t.Fatal(err)
	default:
	}
	close(killed)
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // killed
	if err := <-led; err != nil {
		t.Error(err)
	}
}

// TestReplicasAppend: loggers of one site report to two replicas, over midnight.
func TestReplicasAppend(t *testing.T) {
	clock := func() time.Time { return fixed().Add(14 * time.Hour) }
	stores := twoStores(t, Options{Now: clock})
	site := store.SiteKey{ID: "site", Zone: time.UTC}
	start := fixed().Add(11 * time.Hour)
	const loggers, steps = 6, 24
	var wg sync.WaitGroup
	for l := range loggers {
		wg.Go(func() {
			for i := range steps {
				f := series.Frame{Times: []int64{start.Add(time.Duration(i) * 5 * time.Minute).Unix()}}
				f.Set(series.PowerKW, []float64{float64(l + i)})
				if err := stores[(l+i)%2].Append(t.Context(), site, []store.AssetFrame{{AssetID: fmt.Sprint("unit ", l), Frame: f}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for l := range loggers {
		f, err := store.Collect(stores[0].Read(t.Context(), "site", fmt.Sprint("unit ", l), fixed(), clock()))
		if err != nil || f.Len() != steps {
			t.Fatalf("unit %d has %d samples of %d, %v", l, f.Len(), steps, err)
		}
		for i, kW := range f.Values(series.PowerKW) {
			if kW != float64(l+i) {
				t.Errorf("unit %d at %d: %v", l, i, kW)
			}
		}
	}
	if faults := stores[1].Check(t.Context()); len(faults) > 0 {
		t.Error(faults)
	}
}

// TestReplicasSerial: what two transactions decide on each other's keys, on two
// replicas, is as if one came first: at least one of two stays on duty.
func TestReplicasSerial(t *testing.T) {
	stores := twoStores(t, Options{})
	duty := func(tx store.Tx) (on int, err error) {
		for _, err := range tx.Scan("duty", nil, nil, false) {
			if err != nil {
				return 0, err
			}
			on++
		}
		return on, nil
	}
	for round := range 10 {
		err := stores[0].Update(t.Context(), func(tx store.Tx) error {
			return errors.Join(tx.Put("duty", store.Key("a"), nil), tx.Put("duty", store.Key("b"), nil))
		})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for i, who := range []string{"a", "b"} {
			wg.Go(func() {
				err := stores[i].Update(t.Context(), func(tx store.Tx) error {
					on, err := duty(tx)
					if err != nil || on < 2 {
						return err
					}
					return tx.Delete("duty", store.Key(who))
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		err = stores[0].View(t.Context(), func(tx store.Tx) error {
			if on, err := duty(tx); err != nil || on != 1 {
				return fmt.Errorf("round %d: %d on duty, %w", round, on, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestEnqueueRefused: what the queue answers comes back as it is, and undoes the
// transaction.
func TestEnqueueRefused(t *testing.T) {
	refused := errors.New("no such kind")
	s, err := Open(t.Context(), pgtest.Database(t), Options{Enqueue: func(_ context.Context, _ pgx.Tx, job store.Job) error {
		if job.RunAt.IsZero() || job.MaxAttempts == 0 {
			t.Errorf("job %+v", job)
		}
		return refused
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.Update(t.Context(), func(tx store.Tx) error {
		return errors.Join(tx.Put("b", []byte("k"), nil), tx.Enqueue(store.Job{Kind: "odd"}))
	})
	if !errors.Is(err, refused) || !strings.Contains(err.Error(), "odd") {
		t.Errorf("refused with %v", err)
	}
	err = s.View(t.Context(), func(tx store.Tx) error {
		_, err := tx.Get("b", []byte("k"))
		return err
	})
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the record is there: %v", err)
	}
}
