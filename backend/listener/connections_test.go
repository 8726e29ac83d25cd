package listener

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/admission"
)

// kept is a connection whose request was answered and that stays open.
type kept struct {
	net.Conn
	in *bufio.Reader
}

// ask sends one request over the connection and reads the response.
func (k kept) ask(t *testing.T, path string) (*http.Response, string) {
	t.Helper()
	if _, err := io.WriteString(k, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(k.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

// gone reports whether the server has closed the connection. If should is set
// it waits for that.
func (k kept) gone(t *testing.T, should bool) bool {
	t.Helper()
	wait := 20 * time.Millisecond
	if should {
		wait = 20 * time.Second
	}
	if err := k.SetReadDeadline(time.Now().Add(wait)); err != nil {
		t.Fatal(err)
	}
	_, err := k.in.Peek(1)
	_ = k.SetReadDeadline(time.Now().Add(2 * time.Minute))
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

// rests waits until n authenticated connections are between two requests.
func (s *served) rests(n int) {
	for s.open.Stats().Idle != n {
		time.Sleep(time.Millisecond)
	}
}

// TestIdleConnectionsMakeRoom fills every place with authenticated connections
// that are idle, one that is being served and one that is in the middle of its
// next header: newer ones take the place of those that were idle longest, and of
// no other.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	for _, protocol := range []string{"plain", "TLS"} {
		t.Run(protocol, func(t *testing.T) {
			const most = 10
			begun, finish := make(chan struct{}), make(chan struct{})
			cfg := Config{Limits: Limits{Connections: most}, Handler: all(func(w http.ResponseWriter, q *http.Request) {
				admission.Authenticated(q.Context())
				if q.URL.Path == "/long" {
					close(begun)
					<-finish
				}
				fmt.Fprint(w, "done")
			})}
			if protocol == "TLS" {
				own, err := SelfSigned(t.TempDir(), "", nil, nil, time.Now, nil)
				if err != nil {
					t.Fatal(err)
				}
				cfg.Certificates = own
			}
			s := serve(t, cfg)
			open := func() kept {
				c := s.dial("")
				if cfg.Certificates != nil {
					c = tls.Client(c, &tls.Config{InsecureSkipVerify: true})
				}
				return kept{c, bufio.NewReader(c)}
			}
			served, halfway := open(), open()
			if _, err := io.WriteString(served, "GET /long HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			<-begun
			halfway.ask(t, "/")
			if _, err := io.WriteString(halfway, "GET / HT"); err != nil {
				t.Fatal(err)
			}
			var idle []kept
			for range 5 * most {
				k := open()
				if _, body := k.ask(t, "/"); body != "done" {
					t.Fatalf("answer %q", body)
				}
				idle = append(idle, k)
				s.rests(min(len(idle), most-2)) // the answer comes before the server calls it idle
			}
			for i, k := range idle {
				if should := i < len(idle)-(most-2); k.gone(t, should) != should {
					t.Errorf("connection %d of %d: gone is %t", i+1, len(idle), !should)
				}
			}
			// The youngest are good for another request, the two that worked were not touched.
			last := idle[len(idle)-1]
			if _, body := last.ask(t, "/"); body != "done" {
				t.Errorf("answer %q", body)
			}
			close(finish)
			if resp, err := http.ReadResponse(served.in, nil); err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("the one that was served: %v", err)
			}
			if _, err := io.WriteString(halfway, "TP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			if resp, err := http.ReadResponse(halfway.in, nil); err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("the one in its header: %v", err)
			}
		})
	}
}

// TestBusyServerClosesAfterResponse: while others wait, an answer ends its
// connection, so that its client does not send the next request into one that
// is about to be closed.
func TestBusyServerClosesAfterResponse(t *testing.T) {
	begun, finish := make(chan struct{}), make(chan struct{})
	s := serve(t, Config{Limits: Limits{Connections: 1}, Handler: all(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/long" {
			close(begun)
			<-finish
		}
		w.WriteHeader(http.StatusNoContent)
	})})
	c := s.dial("GET /long HTTP/1.1\r\nHost: x\r\n\r\n")
	<-begun
	next := s.dial("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	for !s.open.Crowded() {
		time.Sleep(time.Millisecond)
	}
	close(finish)
	if sent := closed(t, c); !strings.Contains(sent, "\r\nConnection: close\r\n") {
		t.Errorf("the one that was served: %q", sent)
	}
	if sent := closed(t, next); !strings.HasPrefix(sent, "HTTP/1.1 204 ") {
		t.Errorf("the one that waited: %q", sent)
	}
}

// TestHTTP2ConnectionsMakeRoom is of connections with many requests: one with
// a running request stays, one without is idle.
func TestHTTP2ConnectionsMakeRoom(t *testing.T) {
	const most = 4
	own, err := SelfSigned(t.TempDir(), "", nil, nil, time.Now, nil)
	if err != nil {
		t.Fatal(err)
	}
	begun, finish := make(chan struct{}), make(chan struct{})
	s := serve(t, Config{Certificates: own, Limits: Limits{Connections: most}, Handler: all(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/long" {
			close(begun)
			<-finish
		}
		fmt.Fprint(w, q.Proto)
	})})
	client := func() *http.Client {
		tr := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		t.Cleanup(tr.CloseIdleConnections)
		return &http.Client{Transport: tr, Timeout: 2 * time.Minute}
	}
	url := "https://" + s.Addresses()[0].Address
	long := make(chan string, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		q, _ := http.NewRequestWithContext(ctx, http.MethodGet, url+"/long", nil)
		resp, err := client().Do(q)
		if err != nil {
			long <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		long <- string(b)
	}()
	<-begun
	for range 5 * most {
		if body := get(t, client(), url); body != "HTTP/2.0" {
			t.Fatalf("answer %q", body)
		}
	}
	close(finish)
	if body := <-long; body != "HTTP/2.0" {
		t.Errorf("the one that was served: %q", body)
	}
}

// TestSlowHeadersMakeRoom takes every slot with incomplete headers: if
// no connection is idle, the oldest of these is evicted before its timeout.
func TestSlowHeadersMakeRoom(t *testing.T) {
	s := serve(t, Config{Handler: all(reader), Limits: Limits{Connections: 3, Header: 2 * time.Second}})
	first := s.dial("GET / HTTP/1.1\r\nHost: ")
	for s.opened() < 1 {
		time.Sleep(time.Millisecond)
	}
	s.dial("GET / HTTP/1.1\r\nHost: ")
	s.dial("")
	if sent := closed(t, s.dial("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")); !strings.HasPrefix(sent, "HTTP/1.1 200 ") {
		t.Errorf("a good client behind them: %q", sent)
	}
	closed(t, first)
}

func (s *served) opened() int { return s.open.Stats().Open }
