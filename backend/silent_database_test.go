package backend

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/store/pgtest"
)

// shortWait is the wait of requests in these tests.
const shortWait = 400 * time.Millisecond

// refusalOf is what a 503 says.
type refusalOf struct {
	Details struct {
		Reason  string `json:"reason"`
		Outcome string `json:"outcome"`
	} `json:"details"`
}

func wantSilent(t *testing.T, what string, w *httptest.ResponseRecorder, outcome string) {
	t.Helper()
	var r refusalOf
	if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if w.Code != http.StatusServiceUnavailable || r.Details.Reason != "the database does not answer in time" || r.Details.Outcome != outcome || w.Header().Get("Retry-After") == "" {
		t.Errorf("%s: HTTP %d, Retry-After %q, %s", what, w.Code, w.Header().Get("Retry-After"), w.Body)
	}
}

// The outcomes, as the answers have them.
const (
	outcomeNone       = "Nothing was stored. Repeat the request later."
	outcomePossible   = "The change may have been stored. Check before you repeat the request."
	outcomeIdempotent = "The change may have been stored. Repeat the request with the same Idempotency-Key: it is carried out at most once."
)

const (
	listSites = `{"action":"list"}`
	makeKey   = `{"action":"create","name":%q,"role_id":"role_analyst","customer_ids":["c"]}`
)

// TestFrozenDatabase: while the database is frozen a read and a write are
// answered by 503, which ends their wait, and nothing was stored; when it
// continues, requests are served again without a restart.
func TestFrozenDatabase(t *testing.T) {
	server := pgtest.Start(t, pgtest.Options{})
	h := open(t, Config{DataDir: t.TempDir(), Now: time.Now, Store: server.Database(t), Wait: shortWait, DatabaseLimit: time.Second})
	if w := h.ask("POST", api.PathSites, h.key, listSites); w.Code != http.StatusOK {
		t.Fatalf("HTTP %d %s", w.Code, w.Body)
	}
	thaw := server.Freeze(t)
	wantSilent(t, "a read", h.ask("POST", api.PathSites, h.key, listSites), "")
	wantSilent(t, "a write", h.ask("POST", api.PathKeys, h.key, fmt.Sprintf(makeKey, "frozen")), outcomeNone)
	wantSilent(t, "a write with a key", h.ask("POST", api.PathKeys, h.key, fmt.Sprintf(makeKey, "frozen"), "Idempotency-Key", "k"), outcomeNone)
	if w := h.ask("GET", api.PathReady, "", ""); w.Code != http.StatusServiceUnavailable {
		t.Errorf("readyz: HTTP %d %s", w.Code, w.Body)
	}
	thaw()
	waitFor(t, "a write after the database continued", func() bool {
		return h.ask("POST", api.PathKeys, h.key, fmt.Sprintf(makeKey, "thawed")).Code == http.StatusOK
	})
	if n := keysNamed(t, h, "frozen"); n != 0 {
		t.Errorf("%d keys were made by requests that said that nothing was stored", n)
	}
}

// keysNamed counts the API keys of a name.
func keysNamed(t *testing.T, h *instance, name string) (n int) {
	t.Helper()
	list, _, err := h.service.Auth().As(api.Unlimited("test")).Keys(t.Context(), auth.KeyFilter{}, api.Page{})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range list {
		if k.Name == name {
			n++
		}
	}
	return n
}

// line is a proxy between a service and its database that can lose the answer to
// a COMMIT.
type line struct {
	target string
	mu     sync.Mutex
	mark   string // of the transaction whose answer is lost; empty: none
	lost   chan struct{}
	conns  []net.Conn
}

// newLine puts a proxy before the server of a database's URL, and returns the
// URL by way of the proxy.
func newLine(t *testing.T, database string) (*line, string) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &line{target: u.Host}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", p.target)
			if err != nil {
				c.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, c, s)
			p.mu.Unlock()
			silent := make(chan struct{})
			all.Go(func() { p.questions(s, c, silent) })
			all.Go(func() { p.answers(c, s, silent) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		for _, c := range p.conns {
			c.Close()
		}
		p.mu.Unlock()
		all.Wait()
	})
	u.Host = l.Addr().String()
	return p, u.String()
}

// lose loses the answer to the COMMIT of the next transaction that writes the
// mark. The returned channel is closed when that has reached the server.
func (p *line) lose(mark string) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mark, p.lost = mark, make(chan struct{})
	return p.lost
}

// questions passes on what the client says. After the COMMIT whose answer is to
// be lost it closes silent.
func (p *line) questions(server, client net.Conn, silent chan struct{}) {
	defer server.Close()
	buf := make([]byte, 64<<10)
	marked := false
	for {
		n, err := client.Read(buf)
		text := string(buf[:n])
		p.mu.Lock()
		if p.mark != "" && strings.Contains(text, p.mark) {
			marked = true
		}
		if marked && strings.Contains(text, "commit") {
			close(silent)
			close(p.lost)
			p.mark, marked = "", false
		}
		p.mu.Unlock()
		if _, failed := server.Write(buf[:n]); err != nil || failed != nil {
			return
		}
	}
}

// answers passes on what the server says, until silent is closed.
func (p *line) answers(client, server net.Conn, silent chan struct{}) {
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		select {
		case <-silent:
			if err == nil {
				continue
			}
		default:
			if _, failed := client.Write(buf[:n]); failed == nil && err == nil {
				continue
			}
		}
		client.Close()
		return
	}
}

// TestLostCommit: the network swallows the answer to a COMMIT. The answer to the
// request says that the change may have been stored, which it was; with an
// Idempotency-Key the repetition says so and makes no second one.
func TestLostCommit(t *testing.T) {
	p, database := newLine(t, pgtest.Database(t))
	h := open(t, Config{DataDir: t.TempDir(), Now: time.Now, Store: database, Wait: shortWait, DatabaseLimit: time.Second})
	for _, c := range []struct {
		name, outcome string
		headers       []string
		again         int
	}{
		{"lost-plain", outcomePossible, nil, 0},
		{"lost-with-key", outcomeIdempotent, []string{"Idempotency-Key", "k"}, http.StatusConflict},
	} {
		lost := p.lose(c.name)
		w := h.ask("POST", api.PathKeys, h.key, fmt.Sprintf(makeKey, c.name), c.headers...)
		<-lost
		wantSilent(t, c.name, w, c.outcome)
		if c.again != 0 {
			w := h.ask("POST", api.PathKeys, h.key, fmt.Sprintf(makeKey, c.name), c.headers...)
			if w.Code != c.again || !strings.Contains(w.Body.String(), "was carried out, but its answer was lost") {
				t.Errorf("%s again: HTTP %d %s", c.name, w.Code, w.Body)
			}
		}
		if n := keysNamed(t, h, c.name); n != 1 {
			t.Errorf("%s: %d keys were made", c.name, n)
		}
	}
}
