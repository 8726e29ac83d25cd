package listener

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParseAddresses(t *testing.T) {
	got, err := ParseAddresses("127.0.0.1:8080", "telemetry,alerts=:8443 main=[::1]:80", "partner,partner=plant.local:9000")
	want := []Address{
		{nil, "127.0.0.1:8080"},
		{[]api.Host{api.HostTelemetry, api.HostAlerts}, ":8443"},
		{[]api.Host{api.HostMain}, "[::1]:80"},
		{[]api.Host{api.HostPartner}, "plant.local:9000"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	for text, words := range map[string]string{
		"":                 "no listen address",
		"  ":               "no listen address",
		"8080":             `invalid listen address "8080"`,
		"localhost":        `invalid listen address "localhost"`,
		"localhost:":       `invalid listen address "localhost:"`,
		"::1:80":           `invalid listen address "::1:80"`,
		"telemetry=8080":   `invalid listen address "telemetry=8080"`,
		"telemetri=:8080":  `there is no host "telemetri"; there are main, telemetry, alerts, partner, auth, freemium`,
		"telemetry,=:8080": `there is no host ""`,
		"=:8080":           `there is no host ""`,
	} {
		if _, err := ParseAddresses(text); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// served are listeners that a test serves until its end.
type served struct {
	*Listeners
	t    *testing.T
	stop context.CancelFunc
	done chan error
}

// serve opens cfg's listeners, on a port of loopback where it names none.
func serve(t *testing.T, cfg Config) *served {
	t.Helper()
	cfg.Now = time.Now
	if cfg.Addresses == nil {
		cfg.Addresses = []Address{{Address: "127.0.0.1:0"}}
	}
	ctx, stop := context.WithCancel(context.Background())
	ls, err := Open(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &served{ls, t, stop, make(chan error, 1)}
	go func() { s.done <- ls.Serve(ctx) }()
	t.Cleanup(func() {
		if err := s.end(); err != nil {
			t.Errorf("at the end: %v", err)
		}
	})
	return s
}

// end stops serving, once, and waits for it.
func (s *served) end() error {
	s.stop()
	err, open := <-s.done
	if open {
		close(s.done)
	}
	return err
}

// dial opens a raw connection and writes text at once. Reads end after half a
// minute, so that a failing test ends.
func (s *served) dial(text string) net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", s.Addresses()[0].Address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	if err := c.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		s.t.Fatal(err)
	}
	if _, err := io.WriteString(c, text); err != nil {
		s.t.Fatal(err)
	}
	return c
}

// closed reports whether the peer has closed the connection, and returns what
// it sent before.
func closed(t *testing.T, c net.Conn) (sent string) {
	t.Helper()
	b, err := io.ReadAll(c)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the connection stays open after %q", b)
	}
	return string(b) // a reset closes it too
}

// reader returns the result of reading the body.
func reader(w http.ResponseWriter, q *http.Request) {
	b, err := io.ReadAll(q.Body)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.WriteHeader(http.StatusRequestTimeout)
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
	}
	fmt.Fprintf(w, "%d bytes", len(b))
}

func all(h http.HandlerFunc) func([]api.Host) http.Handler {
	return func([]api.Host) http.Handler { return h }
}

func TestEachListenerHasItsHosts(t *testing.T) {
	s := serve(t, Config{
		Addresses: []Address{{Address: "127.0.0.1:0"}, {Hosts: []api.Host{api.HostTelemetry, api.HostAlerts}, Address: "127.0.0.1:0"}},
		Handler: func(hosts []api.Host) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, hosts) })
		},
	})
	for i, want := range []string{"[]", "[telemetry alerts]"} {
		if body := get(t, http.DefaultClient, "http://"+s.Addresses()[i].Address); body != want {
			t.Errorf("listener %d serves %s", i, body)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

func get(t *testing.T, c *http.Client, url string) string {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAllSocketsOrNone(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	first, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := first.Addr().String()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), Config{Addresses: []Address{{Address: free}, {Address: taken.Addr().String()}}, Handler: all(reader), Now: time.Now})
	if err == nil || !strings.Contains(err.Error(), taken.Addr().String()) {
		t.Errorf("a port that is taken: %v", err)
	}
	again, err := net.Listen("tcp", free)
	if err != nil {
		t.Fatalf("the other socket is left open: %v", err)
	}
	_ = again.Close()
}

// quick are limits that a test can wait for.
var quick = Limits{Header: 200 * time.Millisecond, BodyGrace: 200 * time.Millisecond, BodyBytesPerSecond: 10_000, Idle: 200 * time.Millisecond, Connections: 50}

func TestSlowClientsLoseTheirConnection(t *testing.T) {
	s := serve(t, Config{Handler: all(reader), Limits: quick})
	for name, c := range map[string]struct{ text, answer string }{
		"nothing":                     {"", ""},
		"half a header":               {"POST / HTTP/1.1\r\nHost: x\r\nX-Slow: ", ""},
		"idle after an answer":        {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "200 OK"},
		"a body that never comes":     {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n", "408 Request Timeout"},
		"a body shorter than said":    {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc", "408 Request Timeout"},
		"a chunk that is not whole":   {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\na\r\nabc", "408 Request Timeout"},
		"chunks that have no end":     {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "408 Request Timeout"},
		"a header beyond its bound":   {"GET / HTTP/1.1\r\nHost: x\r\nX-Large: " + strings.Repeat("x", 40<<10) + "\r\n\r\n", "431 Request Header Fields Too Large"},
		"a body without an end in it": {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n" + strings.Repeat("x", 5000), "408 Request Timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			answer, _, _ := strings.Cut(closed(t, s.dial(c.text)), "\r\n")
			if c.answer == "" && answer != "" || !strings.Contains(answer, c.answer) {
				t.Errorf("answer %q", answer)
			}
		})
	}
}

// TestUnreadBodiesFreeTheConnection is of handlers that refuse a request
// before its body has come.
func TestUnreadBodiesFreeTheConnection(t *testing.T) {
	s := serve(t, Config{Handler: all(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }), Limits: quick})
	c := s.dial("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc")
	if sent := closed(t, c); !strings.HasPrefix(sent, "HTTP/1.1 401 ") {
		t.Errorf("answer %q", sent)
	}
}

// TestAHalfClosedBodyBrokeOff is of clients that close instead of waiting.
func TestAHalfClosedBodyBrokeOff(t *testing.T) {
	s := serve(t, Config{Handler: all(reader)}) // nothing here waits for a time-out
	c := s.dial("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if sent := closed(t, c); !strings.HasPrefix(sent, "HTTP/1.1 400 ") || !strings.HasSuffix(sent, "3 bytes") {
		t.Errorf("answer %q", sent)
	}
}

// TestASteadyBodyMayTakeLong sends for several times as long as a body may
// stall, above the floor, and is answered although the time for an answer is
// shorter than that.
func TestASteadyBodyMayTakeLong(t *testing.T) {
	limits := quick
	limits.BodyGrace, limits.Write = time.Second, 1500*time.Millisecond
	s := serve(t, Config{Handler: all(reader), Limits: limits})
	const part, parts = 2000, 30
	c := s.dial(fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", part*parts))
	for range parts {
		time.Sleep(100 * time.Millisecond) // 20 kB/s, twice the floor
		if _, err := io.WriteString(c, strings.Repeat("x", part)); err != nil {
			t.Fatal(err)
		}
	}
	if sent := closed(t, c); !strings.HasPrefix(sent, "HTTP/1.1 200 ") || !strings.HasSuffix(sent, "60000 bytes") {
		t.Errorf("answer %q", sent)
	}
}

// TestHandlerLimitsABody is of a handler that gives a body a time in all: it ends
// a body that comes steadily, unless the limit is lifted, and does not end the
// work after the body.
func TestHandlerLimitsABody(t *testing.T) {
	limits := quick
	limits.BodyGrace = 20 * time.Second
	for _, c := range []struct {
		name   string
		lifted bool
		parts  int
		answer string
	}{{"too long", false, 20, "408 Request Timeout"}, {"in time", false, 1, "200 OK"}, {"lifted", true, 20, "200 OK"}} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, Config{Limits: limits, Handler: all(func(w http.ResponseWriter, q *http.Request) {
				control := http.NewResponseController(w)
				if err := control.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
					t.Error(err)
				}
				if c.lifted {
					if err := control.SetReadDeadline(time.Time{}); err != nil {
						t.Error(err)
					}
				}
				answer := httptest.NewRecorder()
				reader(answer, q)
				if answer.Code == http.StatusOK {
					select {
					case <-q.Context().Done():
						return
					case <-time.After(1500 * time.Millisecond):
					}
				}
				w.WriteHeader(answer.Code)
			})})
			conn := s.dial(fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", 100*c.parts))
			go func() {
				for range c.parts {
					if _, err := io.WriteString(conn, strings.Repeat("x", 100)); err != nil {
						return
					}
					time.Sleep(100 * time.Millisecond)
				}
			}()
			answer, _, _ := strings.Cut(closed(t, conn), "\r\n")
			if !strings.Contains(answer, c.answer) {
				t.Errorf("answer %q", answer)
			}
		})
	}
}

// TestWorkAfterABodyHasItsTime is of a handler that works for longer than its
// client's body had: the body's deadline must not end the request.
func TestWorkAfterABodyHasItsTime(t *testing.T) {
	s := serve(t, Config{Limits: quick, Handler: all(func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.ReadAll(q.Body)
		select {
		case <-q.Context().Done():
		case <-time.After(3 * quick.BodyGrace):
			fmt.Fprint(w, "done")
		}
	})})
	c := s.dial("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc")
	if sent := closed(t, c); !strings.HasSuffix(sent, "done") {
		t.Errorf("answer %q", sent)
	}
}

// TestHalfOpenHeadersDoNotBlockOthers takes every slot and half as many more:
// the next client comes in when the first have run out of time.
func TestHalfOpenHeadersDoNotBlockOthers(t *testing.T) {
	limits := quick
	limits.Connections = 20
	s := serve(t, Config{Handler: all(reader), Limits: limits})
	var silent []net.Conn
	for range 30 {
		silent = append(silent, s.dial("GET / HTTP/1.1\r\nHost: "))
	}
	if sent := closed(t, s.dial("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")); !strings.HasPrefix(sent, "HTTP/1.1 200 ") {
		t.Errorf("a good client behind them: %q", sent)
	}
	for _, c := range silent {
		closed(t, c)
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	limits := quick
	limits.Connections, limits.Idle = 3, time.Minute
	var mu sync.Mutex
	open, most := map[string]bool{}, 0
	hold := make(chan struct{})
	s := serve(t, Config{
		Addresses: []Address{{Address: "127.0.0.1:0"}, {Address: "127.0.0.1:0"}}, Limits: limits,
		Handler: all(func(w http.ResponseWriter, q *http.Request) {
			mu.Lock()
			open[q.RemoteAddr] = true
			most = max(most, len(open))
			mu.Unlock()
			<-hold
			mu.Lock()
			delete(open, q.RemoteAddr)
			mu.Unlock()
			_, _ = io.WriteString(w, "done")
		}),
	})
	var wait sync.WaitGroup
	answers := make([]string, 12)
	for i := range answers {
		c, err := net.Dial("tcp", s.Addresses()[i%2].Address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		wait.Go(func() {
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			b, _ := io.ReadAll(c)
			answers[i] = string(b)
		})
	}
	for begun := 0; begun < 3; time.Sleep(time.Millisecond) {
		mu.Lock()
		begun = len(open)
		mu.Unlock()
	}
	close(hold)
	wait.Wait()
	if most != 3 {
		t.Errorf("%d requests at once on 3 connections", most)
	}
	if slices.ContainsFunc(answers, func(a string) bool { return !strings.HasSuffix(a, "done") }) {
		t.Errorf("answers %q", answers)
	}
}

// TestTheEnd: shutdown is announced first, requests are still served, then
// active requests finish, and no new ones are accepted.
func TestTheEnd(t *testing.T) {
	begun, finish, ending := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s := serve(t, Config{
		Ending: func() { close(ending) }, EndDelay: time.Second,
		Handler: all(func(w http.ResponseWriter, q *http.Request) {
			if q.URL.Path == "/long" {
				close(begun)
				<-finish
			}
			fmt.Fprint(w, "done")
		}),
	})
	long := s.dial("GET /long HTTP/1.1\r\nHost: x\r\n\r\n")
	<-begun
	s.stop()
	<-ending
	if sent := closed(t, s.dial("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")); !strings.HasSuffix(sent, "done") {
		t.Errorf("between the word and the end: %q", sent)
	}
	for { // until the socket is closed
		c, err := net.Dial("tcp", s.Addresses()[0].Address)
		if err != nil {
			break
		}
		_ = c.Close()
		time.Sleep(10 * time.Millisecond)
	}
	close(finish)
	resp, err := http.ReadResponse(bufio.NewReader(long), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "done" {
		t.Errorf("the running request: %q, %v", body, err)
	}
	if err := s.end(); err != nil {
		t.Error(err)
	}
}

// TestShutdownFinishesRequests sends requests continuously, over persistent
// connections, while the service shuts down: each request that was accepted
// gets a response.
func TestShutdownFinishesRequests(t *testing.T) {
	ending := make(chan struct{})
	s := serve(t, Config{
		Ending: func() { close(ending) }, EndDelay: time.Second,
		Handler: all(func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(2 * time.Millisecond)
			fmt.Fprint(w, "done")
		}),
	})
	var wait sync.WaitGroup
	var answered, reused atomic.Int64
	for range 8 {
		wait.Go(func() {
			for {
				c, err := net.Dial("tcp", s.Addresses()[0].Address)
				if err != nil {
					return // the door is closed
				}
				in := bufio.NewReader(c)
				for first := true; ; first = false {
					_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
					var resp *http.Response
					if err == nil {
						resp, err = http.ReadResponse(in, nil)
					}
					if err != nil && first {
						_ = c.Close()
						return // the system accepted it, and it was not read any more
					}
					if err != nil {
						t.Errorf("a request on a connection that was kept: %v", err)
						_ = c.Close()
						return
					}
					_, _ = io.Copy(io.Discard, resp.Body)
					answered.Add(1)
					if !first {
						reused.Add(1)
					}
					if resp.Close {
						break
					}
				}
				_ = c.Close()
			}
		})
	}
	for answered.Load() < 200 {
		time.Sleep(time.Millisecond)
	}
	s.stop()
	<-ending
	wait.Wait()
	if err := s.end(); err != nil {
		t.Error(err)
	}
	if reused.Load() == 0 {
		t.Error("no connection was kept")
	}
}

// TestShutdownClosesUnfinishedRequests is of requests that take longer than the end
// may.
func TestShutdownClosesUnfinishedRequests(t *testing.T) {
	begun := make(chan struct{})
	s := serve(t, Config{Limits: Limits{Drain: 50 * time.Millisecond}, Handler: all(func(_ http.ResponseWriter, q *http.Request) {
		close(begun)
		<-q.Context().Done()
	})})
	c := s.dial("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	<-begun
	if err := s.end(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ended with %v", err)
	}
	closed(t, c)
}
