package resilience

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/servetest"
)

// lookEvery is how often the balancer asks each replica whether it is ready,
// and lookFor how long it waits for the answer.
const (
	lookEvery = 100 * time.Millisecond
	lookFor   = 5 * time.Second
)

// balancer is the proxy before the replicas: each request goes to the next of
// those that are ready. A request that could not be sent goes to another one;
// one that was sent never does, and its caller finds the line cut.
type balancer struct {
	*httptest.Server
	transport *http.Transport
	passedOn  atomic.Int64 // requests that another replica got, since the first refused the connection

	mu    sync.Mutex
	doors []*door
	next  int
}

// door is a replica as the balancer sees it.
type door struct {
	to    *url.URL
	ready bool
	stop  context.CancelFunc
}

var errNoneReady = errors.New("no replica is ready")

func newBalancer(t testing.TB) *balancer {
	t.Helper()
	b := &balancer{transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	b.Server = httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
			r.SetXForwarded()
			r.Out.URL.Scheme = "http"
		},
		Transport: b,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if !errors.Is(err, errNoneReady) {
				panic(http.ErrAbortHandler) // the line is cut
			}
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		},
	})
	t.Cleanup(func() {
		b.CloseClientConnections()
		b.Close()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, d := range b.doors {
			d.stop()
		}
		b.transport.CloseIdleConnections()
	})
	return b
}

// add lets the balancer send requests to a replica once it is ready, until it
// is removed.
func (b *balancer) add(base string) error {
	to, err := url.Parse(base)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	d := &door{to: to, stop: cancel}
	b.mu.Lock()
	b.doors = append(b.doors, d)
	b.mu.Unlock()
	go b.look(ctx, d)
	return nil
}

func (b *balancer) remove(base string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.doors = slices.DeleteFunc(b.doors, func(d *door) bool {
		if d.to.String() != base {
			return false
		}
		d.stop()
		return true
	})
}

// look asks a replica whether it is ready until ctx ends.
func (b *balancer) look(ctx context.Context, d *door) {
	asker := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		ready := isReady(ctx, asker, d.to)
		b.mu.Lock()
		d.ready = ready
		b.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
		}
	}
}

func isReady(ctx context.Context, asker *http.Client, to *url.URL) bool {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, to.JoinPath(api.PathReady).String(), nil)
	if err != nil {
		return false
	}
	resp, err := asker.Do(q)
	if err != nil {
		return false
	}
	_ = resp.Body.Close() // only the status counts
	return resp.StatusCode == http.StatusOK
}

// readyDoors is how many replicas take requests.
func (b *balancer) readyDoors() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range b.doors {
		if d.ready {
			n++
		}
	}
	return n
}

// choose is the next replica that is ready, none of those tried.
func (b *balancer) choose(tried []*door) *door {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.doors {
		b.next++
		if d := b.doors[b.next%len(b.doors)]; d.ready && !slices.Contains(tried, d) {
			return d
		}
	}
	return nil
}

// RoundTrip sends a request to the first replica that takes the connection.
func (b *balancer) RoundTrip(q *http.Request) (*http.Response, error) {
	var tried []*door
	for {
		d := b.choose(tried)
		if d == nil {
			return nil, errNoneReady
		}
		out := q.Clone(q.Context())
		out.URL.Host = d.to.Host
		if q.Body != nil && q.Body != http.NoBody {
			out.Body = io.NopCloser(q.Body) // another replica may read it yet
		}
		resp, err := b.transport.RoundTrip(out)
		if err == nil || !neverSent(err) {
			return resp, err
		}
		b.mu.Lock()
		d.ready = false // until it says otherwise
		b.mu.Unlock()
		b.passedOn.Add(1)
		tried = append(tried, d)
	}
}

// neverSent says that there was no connection for a request.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// TestBalancer: requests go by turns to those that are ready; one that was
// taken and not answered is not sent a second time.
func TestBalancer(t *testing.T) {
	b := newBalancer(t)
	var ready [3]atomic.Bool
	var asked [3]atomic.Int64
	var servers []*httptest.Server
	for i := range ready {
		ready[i].Store(true)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == api.PathReady && !ready[i].Load():
				w.WriteHeader(http.StatusServiceUnavailable)
			case r.URL.Path == api.PathReady:
			case r.URL.Path == "/cut":
				asked[i].Add(1)
				panic(http.ErrAbortHandler)
			default:
				asked[i].Add(1)
				if who := r.Header.Get("X-Forwarded-For"); who != "203.0.113.9, 127.0.0.1" {
					t.Errorf("forwarded for %q", who)
				}
				_, _ = io.Copy(w, r.Body) // to memory
			}
		}))
		defer s.Close()
		servers = append(servers, s)
		if err := b.add(s.URL); err != nil {
			t.Fatal(err)
		}
	}
	until := func(n int) {
		t.Helper()
		for late := time.Now().Add(servetest.ReadyWithin); b.readyDoors() != n; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(late) {
				t.Fatalf("%d of %d are ready", b.readyDoors(), n)
			}
		}
	}
	visitor := &http.Client{Transport: forwarded{&http.Transport{}, "203.0.113.9"}}
	defer visitor.CloseIdleConnections()
	send := func(path string) error {
		resp, err := visitor.Post(b.URL+path, "text/plain", strings.NewReader("a body"))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		echo, err := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		if string(echo) != "a body" {
			t.Errorf("of a body came %q", echo)
		}
		return err
	}
	counts := func() (n [3]int64) {
		for i := range n {
			n[i] = asked[i].Swap(0)
		}
		return n
	}
	until(3)
	for range 6 {
		if err := send("/"); err != nil {
			t.Error(err)
		}
	}
	if n := counts(); n != [3]int64{2, 2, 2} {
		t.Errorf("six requests went %v", n)
	}
	ready[1].Store(false)
	until(2)
	for range 6 {
		if err := send("/"); err != nil {
			t.Error(err)
		}
	}
	if n := counts(); n != [3]int64{3, 0, 3} {
		t.Errorf("with one that is not ready six requests went %v", n)
	}
	if err := send("/cut"); err == nil {
		t.Error("a request that was taken and not answered was answered")
	}
	if n := counts(); n[0]+n[2] != 1 {
		t.Errorf("it was sent %v", n)
	}
	servers[0].CloseClientConnections()
	servers[0].Close()
	for range 3 { // whether the balancer knows yet or not
		if err := send("/"); err != nil {
			t.Error(err)
		}
	}
	if n := counts(); n != [3]int64{0, 0, 3} {
		t.Errorf("with one that is gone three requests went %v", n)
	}
	ready[2].Store(false)
	until(0)
	if err := send("/"); err == nil || err.Error() != "503 Service Unavailable" {
		t.Errorf("with none it answers %v", err)
	}
}
