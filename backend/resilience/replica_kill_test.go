//go:build !windows

package resilience

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/servetest"
	"app.sunloop/backend/store/s3test"
	"app.sunloop/internal/longtest"
)

// replicaKills is the variable for how often a replica is killed; where it is
// set, also the long parts are run.
const replicaKills = "SUNLOOP_TEST_REPLICA_KILLS"

// Three replicas over one database and one bucket are one service: to those
// who call it, also while some of them are killed, stopped, restarted, and
// parted from database and bucket.
func TestReplicas(t *testing.T) {
	longtest.Mark(t)
	kills := fromEnv(t, replicaKills, 4)
	for _, part := range []struct {
		name   string
		pooled bool
		long   bool // waits for leases and polls: for make replicas alone
		run    func(c *cluster, w *crowd, keys []string)
	}{
		{"killed", false, false, func(c *cluster, w *crowd, keys []string) {
			c.part("shared rate", c.sharedRate)
			c.part("revoked key", c.revokedKey)
			c.part("one-time code", c.oneTimeCode)
			c.part("orders are linearizable", c.linearizable)
			c.part("rolling restart", func(t *testing.T) { c.rollingRestart(t, keys) })
			c.part("kills", func(t *testing.T) { c.killed(t, w, keys, kills) })
		}},
		{"parted", false, true, func(c *cluster, w *crowd, keys []string) {
			c.part("console", func(t *testing.T) { c.polled(t, kills/4) })
			c.part("stopped for a while", func(t *testing.T) { c.stopped(t, kills/4) })
			c.part("bucket away and full", func(t *testing.T) { c.bucketAway(t, w, keys) })
		}},
		{"failover, several hosts", false, true, (*cluster).failover},
		{"failover, pgbouncer", true, false, (*cluster).failover},
	} {
		if part.long && os.Getenv(replicaKills) == "" {
			continue
		}
		bucket := s3test.Start(t) // with the environment for all parts
		uri := bucket.Bucket(t)
		t.Run(part.name, func(t *testing.T) {
			t.Parallel() // it waits more than it works
			c := openCluster(t, bucket, uri, part.pooled)
			place := newReceiver()
			defer place.Close()
			w, keys := c.crowd(place)
			part.run(c, w, keys)
			c.askers = append(c.askers, keys...) // not used by others any more
			c.settle(w)
			w.report(t, "in all")
		})
	}
}

// settle waits until no job waits any more, and checks everything that
// was ever acknowledged: at each replica, and with all replicas stopped.
func (c *cluster) settle(w *crowd) {
	c.t.Helper()
	v := at(c.front.URL, c.askers...)
	defer v.Close()
	w.drain(c.t, v)
	c.readBack(w)
	w.countStock(c.t, v)
	c.effects(w, v)
	c.check()
}

// goesOn waits until something was acknowledged that was asked for after a
// time, and answers how long that took.
func (c *cluster) goesOn(w *crowd, after time.Time, kinds ...string) time.Duration {
	c.t.Helper()
	for late := time.Now().Add(2 * servetest.ReadyWithin); !w.book.since(after, kinds...); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(late) {
			c.t.Fatalf("no write %v was acknowledged for %s:\n%s", kinds, 2*servetest.ReadyWithin, c.logs())
		}
	}
	return time.Since(after)
}

// killed kills replicas under load, one or two at a time, and starts them
// again.
func (c *cluster) killed(t *testing.T, w *crowd, keys []string, kills int) {
	seed := uint64(time.Now().UnixNano())
	dice := rand.New(rand.NewPCG(seed, 0))
	ctx, cancel := context.WithCancel(t.Context())
	stopped := w.press(ctx, c.front.URL, keys)
	begun := time.Now()
	var longest time.Duration
	n := 0
	for n < kills {
		time.Sleep(time.Duration(200+dice.IntN(1800)) * time.Millisecond)
		victims := []int{dice.IntN(replicas)}
		if dice.IntN(3) == 0 {
			victims = append(victims, (victims[0]+1)%replicas)
		}
		at := time.Now()
		for _, i := range victims {
			c.kill(i)
			n++
		}
		longest = max(longest, c.goesOn(w, at))
		for _, i := range victims {
			if dice.IntN(3) == 0 { // while it starts
				p, err := servetest.Launch(c.dirs[i], append(c.shared, killFlags...)...)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Duration(dice.IntN(400)) * time.Millisecond)
				p.Kill()
				n++
			}
			c.start(i)
		}
	}
	c.goesOn(w, begun, "sign-in")
	c.goesOn(w, time.Now())
	cancel()
	<-stopped
	t.Logf("%d kills in %s, at the longest %s until a write was acknowledged that came after one", n,
		time.Since(begun).Round(time.Second), longest.Round(time.Millisecond))
}

// linearizable has eight clients move and read orders by way of the proxy while
// replicas are killed.
func (c *cluster) linearizable(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	root := at(c.front.URL, c.askers...)
	defer root.Close()
	r := record(t, root, 6)
	keys := make([]string, 8)
	for i := range keys {
		keys[i] = newKey(t, root.Client, tenant, api.RoleOperator)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*servetest.ReadyWithin)
	defer cancel()
	var asked atomic.Int64
	var clients sync.WaitGroup
	for i, key := range keys {
		clients.Go(func() {
			v := visitorAt(c.front.URL, key)
			defer v.Close()
			r.ask(ctx, v.Client, i, rand.New(rand.NewPCG(seed, uint64(i))), func(n int, _ answered) bool {
				asked.Add(1)
				return n == 44 // of the sixty that a key may ask in a minute
			})
		})
	}
	const all = 8 * 45
	for kill := range 2 {
		for asked.Load() < all*int64(kill+1)/4 {
			time.Sleep(time.Millisecond)
		}
		c.kill(kill)
		c.start(kill)
	}
	clients.Wait()
	r.check(t)
}

// rollingRestart restarts one replica after the other while requests come
// without pause: none of them fails.
func (c *cluster) rollingRestart(t *testing.T, keys []string) {
	for i := range replicas { // one that a balancer sees going
		c.kill(i)
		c.start(i, "--end-delay", "3s")
	}
	c.await(replicas)
	const goers = 8
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var answered, uploads, slowed atomic.Int64
	var wait sync.WaitGroup
	for n := range goers {
		wait.Go(func() {
			g := &goer{url: c.front.URL, http: http.Client{Transport: &http.Transport{}}}
			defer g.http.CloseIdleConnections()
			for i := n; ctx.Err() == nil; i++ {
				g.key = keys[(n+i*goers)%len(keys)]
				method, path, kind, body := http.MethodGet, api.PathLatest+"?site_id="+plants[0], "", ""
				if i%10 == 0 {
					method, path, kind, body = http.MethodPost, api.PathUploadNowcast, formType, strings.ReplaceAll(uploadForm(fmt.Sprint("rolling-", n)), fleetCustomer, "rolling")
				}
				// The request outlives the end of the load.
				status, answer, _, err := g.ask(t.Context(), method, path, kind, strings.NewReader(body))
				switch {
				case err == nil && status == http.StatusTooManyRequests:
					slowed.Add(1)
				case err != nil || status != http.StatusOK:
					t.Errorf("request %d of %d: %d %s, %v", i, n, status, answer, err)
					return
				case method == http.MethodPost:
					uploads.Add(1)
				}
				answered.Add(1)
				time.Sleep(100 * time.Millisecond)
			}
		})
	}
	for i := range replicas {
		for before := answered.Load(); answered.Load() < before+50 && !t.Failed(); {
			time.Sleep(10 * time.Millisecond)
		}
		p := c.replica(i)
		if status, err := p.Stop(); status != 0 || err != nil {
			t.Errorf("replica %d ended with %d, %v:\n%s", i, status, err, p.Log())
		}
		c.gone(p)
		c.start(i)
		c.await(replicas)
	}
	cancel()
	wait.Wait()
	t.Logf("%d responses, %d of them to uploads, %d of them with Retry-After; %d requests were sent to another replica, since the first had closed its port",
		answered.Load(), uploads.Load(), slowed.Load(), c.front.passedOn.Load())
	if uploads.Load() == 0 || slowed.Load() > answered.Load()/2 {
		t.Error("there was no load")
	}
}
