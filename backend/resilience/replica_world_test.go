//go:build !windows

package resilience

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/backend/servetest"
	"app.sunloop/backend/store/pgtest"
	"app.sunloop/backend/store/s3test"
	"app.sunloop/internal/clock"
)

// replicas is how many processes serve one store.
const replicas = 3

// cluster is a service of several replicas behind a proxy, over a primary
// database with a synchronous standby, and a bucket.
type cluster struct {
	t        *testing.T // the test, or the part of it that runs
	primary  *pgtest.Server
	standby  *pgtest.Server
	database string         // its name
	pooler   *pgtest.Pooler // nil: the replicas know both servers
	bucket   *s3test.Server
	line     *s3test.Proxy // on which the replicas reach the bucket

	shared []string // flags that all replicas and administrators have in common
	root   string   // a key that opens everything
	askers []string // the like, of those who ask and check
	front  *balancer

	mu   sync.Mutex
	dirs []string             // the replicas' own folders
	live []*servetest.Process // by replica
	all  []*servetest.Process // that were ever started
}

// openCluster starts the servers and the replicas, over a bucket that is there.
// By way of a pooler the replicas do not know where the database is.
func openCluster(t *testing.T, bucket *s3test.Server, uri string, pooled bool) *cluster {
	t.Helper()
	c := &cluster{t: t, primary: pgtest.Start(t, pgtest.Options{}), bucket: bucket, line: s3test.NewProxy(t, uri), front: newBalancer(t), live: make([]*servetest.Process, replicas)}
	c.standby = c.primary.Standby(t)
	u, err := url.Parse(c.primary.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	c.database = strings.TrimPrefix(u.Path, "/")
	store, q := "", u.Query()
	if pooled {
		c.pooler = pgtest.Pool(t, u.String(), 20)
		store = c.pooler.URL + "&default_query_exec_mode=exec"
	} else {
		q.Set("target_session_attrs", "read-write")
		u.Host += "," + net.JoinHostPort("127.0.0.1", strconv.Itoa(c.standby.Port))
		u.RawQuery = q.Encode()
		store = u.String()
	}
	c.shared = []string{"--store", store, "--objects", c.line.URI, "--key-file", filepath.Join(t.TempDir(), "sunloop.key")}
	for i := range replicas {
		c.dirs = append(c.dirs, filepath.Join(t.TempDir(), fmt.Sprint("replica-", i)))
	}
	c.root, _, _ = strings.Cut(servetest.Admin(t, c.dirs[0], "", slices.Concat([]string{"key", "create", "root", "--role", "role_admin", "--customers", "*"}, c.shared)...), "\n")
	t.Cleanup(func() {
		for _, p := range c.live {
			if p != nil {
				p.Kill()
			}
		}
	})
	for i := range replicas {
		c.start(i)
	}
	c.await(replicas)
	return c
}

// part runs a part of the test, which leaves all replicas ready. If it fails so
// that it cannot continue, the next one cannot start.
func (c *cluster) part(name string, f func(t *testing.T)) {
	whole, ended := c.t, true
	whole.Run(name, func(t *testing.T) {
		c.t, ended = t, false
		f(t)
		c.await(replicas)
		ended = true
	})
	if c.t = whole; !ended {
		whole.FailNow()
	}
}

// start starts a replica on its folder and waits until it is ready.
func (c *cluster) start(i int, flags ...string) {
	c.t.Helper()
	p, err := servetest.Launch(c.dirs[i], slices.Concat(c.shared, killFlags, flags)...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.mu.Lock()
	c.live[i], c.all = p, append(c.all, p)
	c.mu.Unlock()
	if err := p.Wait(); err != nil {
		c.t.Fatal(err)
	}
	if err := c.front.add(p.URL); err != nil {
		c.t.Fatal(err)
	}
}

// replica is the process that serves, or did.
func (c *cluster) replica(i int) *servetest.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.live[i]
}

// kill ends a replica at once; the balancer finds out by itself.
func (c *cluster) kill(i int) {
	c.t.Helper()
	p := c.replica(i)
	p.Kill()
	c.gone(p)
}

// gone forgets a replica whose process has ended.
func (c *cluster) gone(p *servetest.Process) {
	c.t.Helper()
	c.front.remove(p.URL)
	if strings.Contains(p.Log(), "panic") {
		c.t.Errorf("a replica panicked:\n%s", p.Log())
	}
}

// await waits until the balancer sends requests to n replicas.
func (c *cluster) await(n int) {
	c.t.Helper()
	for late := time.Now().Add(2 * servetest.ReadyWithin); c.front.readyDoors() != n; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(late) {
			c.t.Fatalf("%d replicas of %d are ready:\n%s", c.front.readyDoors(), n, c.logs())
		}
	}
}

// logs are what the replicas said last.
func (c *cluster) logs() string {
	var b strings.Builder
	for i := range replicas {
		lines := strings.Split(c.replica(i).Log(), "\n")
		fmt.Fprintf(&b, "replica %d:\n%s\n", i, strings.Join(lines[max(0, len(lines)-20):], "\n"))
	}
	return b.String()
}

// stillRun says which replicas ended of their own accord.
func (c *cluster) stillRun() {
	c.t.Helper()
	for i := range replicas {
		p := c.replica(i)
		select {
		case <-p.Ended:
			c.t.Errorf("replica %d ended (%s):\n%s", i, p.Cmd.ProcessState, p.Log())
		default:
		}
	}
}

// logged says that a replica logged the audit record of a request, which it
// could not store.
func (c *cluster) logged(requestID string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.all, func(p *servetest.Process) bool {
		for line := range strings.Lines(p.Log()) {
			if strings.Contains(line, "append to the audit trail") && strings.Contains(line, requestID) {
				return true
			}
		}
		return false
	})
}

// check verifies the store and the bucket, with all replicas stopped.
func (c *cluster) check() {
	c.t.Helper()
	for i := range replicas {
		c.kill(i)
	}
	if out, err := servetest.Command(c.dirs[0], slices.Concat([]string{"admin", "check"}, c.shared)...).CombinedOutput(); err != nil {
		c.t.Errorf("sunloop admin check: %v\n%s", err, out)
	}
}

// at is a client of one replica, or of the proxy, that waits for Retry-After.
// It uses its keys by turns, as each has its rate.
func at(url string, keys ...string) visitor {
	v := visitorAt(url, keys[0])
	v.options.MaxRetryWait = 3 * time.Minute
	v.options.Transport = &byTurns{RoundTripper: v.options.Transport, keys: keys}
	v.Client = client.New(v.options)
	return v
}

// byTurns asks with one key after the other where the first is meant.
type byTurns struct {
	http.RoundTripper
	keys []string
	n    atomic.Int64
}

func (b *byTurns) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.Header.Get("Authorization") == "Bearer "+b.keys[0] {
		q = q.Clone(q.Context())
		q.Header.Set("Authorization", "Bearer "+b.keys[int(b.n.Add(1))%len(b.keys)])
	}
	return b.RoundTripper.RoundTrip(q)
}

// issuedAt is the time that a forecast's id is of.
func issuedAt(t *testing.T, id string) time.Time {
	t.Helper()
	u, err := ulid.ParseStrict(strings.TrimPrefix(id, "fc_"))
	if err != nil {
		t.Fatalf("the id of a forecast, %s: %v", id, err)
	}
	return ulid.Time(u.Time())
}

// fromEnv is a number that a make target sets, n without it.
func fromEnv(t *testing.T, name string, n int) int {
	text := os.Getenv(name)
	if text == "" {
		return n
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// press lets the crowd work by way of a proxy until ctx ends. A client
// continues after a failed request: another replica takes the next one. Keys
// are used by turns, as each has its rate; pieces of stock are one caller's.
func (w *crowd) press(ctx context.Context, url string, keys []string) (stopped chan struct{}) {
	var all sync.WaitGroup
	for i, job := range w.jobs() {
		clients := map[string]visitor{}
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				key, pause := keys[(i+n*len(w.jobs()))%len(keys)], 20*time.Millisecond
				switch {
				case i == 4:
					key, pause = keys[i], time.Second
				case i >= 7: // expensive operations
					pause = time.Second
				}
				if _, ok := clients[key]; !ok {
					clients[key] = visitorAt(url, key)
				}
				one, cancel := context.WithTimeout(ctx, servetest.ReadyWithin)
				if err := job(one, clients[key]); err != nil {
					pause = 100 * time.Millisecond
				}
				cancel()
				_ = clock.Sleep(ctx, pause) // ctx ends the loop
			}
			for _, c := range clients {
				c.Close()
			}
		})
	}
	stopped = make(chan struct{})
	go func() { all.Wait(); close(stopped) }()
	return stopped
}

// crowd makes the sites, and keys for its clients and for those who check.
func (c *cluster) crowd(place *receiver) (w *crowd, keys []string) {
	c.t.Helper()
	w = &crowd{book: newBook(), place: place, dirs: c.dirs, counts: map[string]int{}}
	first, rest := w.fill(c.t, c.front.URL, c.root, 110)
	c.askers = rest[60:]
	return w, append(first, rest[:60]...)
}

// readBack holds each replica by itself to all that was acknowledged.
func (c *cluster) readBack(w *crowd) {
	c.t.Helper()
	for i := range replicas {
		var clients []visitor
		for some := range slices.Chunk(c.askers, 5) {
			v := at(c.replica(i).URL, some...)
			defer v.Close()
			clients = append(clients, v)
		}
		if err := w.book.checkAll(c.t.Context(), clients); err != nil {
			c.t.Errorf("replica %d: %v", i, err)
		}
	}
}

// effects counts what jobs did: each once, however often one was begun.
func (c *cluster) effects(w *crowd, v visitor) {
	t, ctx := c.t, c.t.Context()
	t.Helper()
	q := api.ListQuery{CustomerID: tenant, Page: api.Page{Limit: api.MaxLimit}}
	orders := map[string]int{}
	for first := true; first || q.Cursor != ""; first = false {
		list, err := v.Orders(ctx, q, api.OrderRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Orders {
			if orders[o.BOMID]++; orders[o.BOMID] > 1 {
				t.Errorf("bill %s, whose order was asked for under one Idempotency-Key, has %d", o.BOMID, orders[o.BOMID])
			}
		}
		q.Cursor = list.NextCursor
	}
	imported := 0
	for first := true; first || q.Cursor != ""; first = false {
		list, err := v.Uploads(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range list.Uploads {
			if u.Kind == api.UploadTrain && strings.HasPrefix(u.ProcessingStatus, api.UploadCompleted) {
				imported++
			}
		}
		q.Cursor = list.NextCursor
	}
	trained := 0
	artefacts, versions := map[string]string{}, map[string]bool{}
	for first := true; first || q.Cursor != ""; first = false {
		list, err := v.Models(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list.ModelMetrics {
			if m.ModelType == api.ModelForecasting {
				trained++
			}
			what := fmt.Sprintf("%s %s %s", m.SiteID, m.ModelType, m.ModelVersion)
			if versions[what] {
				t.Errorf("model %s is there twice", what)
			}
			versions[what] = true
			// The same data give the same artefact, whose key has its hash.
			if other := artefacts[m.ArtifactLocations.Model]; other != "" {
				t.Errorf("models %s and %s were registered of the same data", what, other)
			}
			artefacts[m.ArtifactLocations.Model] = what
		}
		q.Cursor = list.NextCursor
	}
	issues := map[string]bool{}
	for first := true; first || q.Cursor != ""; first = false {
		list, err := v.StoredForecasts(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list.ForecastResults {
			// By the millisecond in the id: a training and the hourly job may both
			// issue within a second.
			issue := f.SiteID + " " + f.GeneratedAt.String() + " " + issuedAt(t, f.ForecastID).String()
			if issues[issue] {
				t.Errorf("the forecast of %s is there twice", issue)
			}
			issues[issue] = true
		}
		q.Cursor = list.NextCursor
	}
	reported := map[string]int{}
	activities, err := v.Activities(ctx, api.ListQuery{CustomerID: tenant})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range activities.Activities {
		reported[a.Title]++
	}
	// More than a list holds are not all reported, but none twice.
	whole := len(activities.Activities) < api.MaxLimit
	if reported["File imported"] > imported || reported["Model trained"] > trained || whole && (reported["File imported"] < imported || reported["Model trained"] < trained) {
		t.Errorf("%d files were imported, %d models trained; of these %d and %d were reported", imported, trained, reported["File imported"], reported["Model trained"])
	}
	t.Logf("effects: %d orders, %d files imported, %d models, %d forecasts; reported: %v", len(orders), imported, len(versions), len(issues), reported)
}
