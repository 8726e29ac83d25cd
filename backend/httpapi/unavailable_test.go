package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/httpapi"
	"app.sunloop/backend/store"
)

// away is a store that cannot be reached.
type away struct{ store.Records }

func (away) Update(context.Context, func(store.Tx) error) error {
	return fmt.Errorf("begin a transaction: %w", gone{})
}

type gone struct{}

func (gone) Error() string        { return "dial tcp 10.0.0.1:5432: connect: connection refused" }
func (gone) Is(target error) bool { return target == store.ErrUnavailable }
func (gone) Reason() string       { return "the database cannot be reached" }

func wantUnavailable(t *testing.T, r *httptest.ResponseRecorder, reason string) {
	t.Helper()
	if r.Code != http.StatusServiceUnavailable || r.Header().Get("Retry-After") != "5" || !strings.Contains(r.Body.String(), `"reason":"`+reason+`"`) {
		t.Errorf("HTTP %d, Retry-After %q, %s", r.Code, r.Header().Get("Retry-After"), r.Body)
	}
	if strings.Contains(r.Body.String(), "10.0.0.1") {
		t.Errorf("it names the host: %s", r.Body)
	}
}

// TestStoreUnavailable: a store that cannot be reached is a 503 with its reason, and
// with nothing of what the driver said.
func TestStoreUnavailable(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.Records = away{d.Records} })
	r := w.as("admin", http.MethodPost, api.PathKeys, `{"action":"create","name":"pump","role_id":"role_analyst","customer_ids":["customer123"]}`, "Idempotency-Key", "k")
	wantUnavailable(t, r, "the database cannot be reached")
}

// TestClosed: a service without storage answers its health paths alone.
func TestClosed(t *testing.T) {
	open := false
	h := httpapi.New(httpapi.Deps{Now: time.Now, Ready: func(context.Context, string) (api.Readiness, error) { return api.Readiness{}, api.ErrUnavailable }, Closed: func() error {
		if open {
			return nil
		}
		return httpapi.Unavailable("the database is being opened")
	}})
	ask := func(method, path string) *httptest.ResponseRecorder {
		q := httptest.NewRequest(method, path, strings.NewReader(`{}`))
		q.Header.Set("Authorization", "Bearer x")
		r := httptest.NewRecorder()
		h.ServeHTTP(r, q)
		return r
	}
	for _, route := range api.Routes() {
		r := ask(route.Method, strings.ReplaceAll(route.Path, "{id}", "x"))
		switch route.Name {
		case "health":
			if r.Code != http.StatusOK {
				t.Errorf("%s: HTTP %d", route.Name, r.Code)
			}
		case "ready":
			if r.Code != http.StatusServiceUnavailable {
				t.Errorf("%s: HTTP %d", route.Name, r.Code)
			}
		default:
			t.Run(route.Name, func(t *testing.T) { wantUnavailable(t, r, "the database is being opened") })
		}
	}
	if open = true; ask(http.MethodGet, api.PathHealth).Code != http.StatusOK {
		t.Error("it does not open")
	}
}

// halting is the records of a service that stops before an Update until it may
// continue.
type halting struct {
	store.Records
	left         int
	halted, goOn chan struct{}
}

func (h *halting) Update(ctx context.Context, fn func(store.Tx) error) error {
	if h.left--; h.left == -1 {
		close(h.halted)
		<-h.goOn
	}
	return h.Records.Update(ctx, fn)
}

// TestEqualElsewhere: of equal creates at two services over the same records, the
// later one waits while the former has made its change and not answered yet, and
// gets its answer.
func TestEqualElsewhere(t *testing.T) {
	slow := &halting{left: 1, halted: make(chan struct{}), goOn: make(chan struct{})} // the key is taken, the answer not kept
	w := newWorld(t, func(d *httpapiDeps) { d.Shared, slow.Records = true, d.Records })
	ask := func(h http.Handler) *httptest.ResponseRecorder {
		q := httptest.NewRequest(http.MethodPost, api.PathKeys, strings.NewReader(`{"action":"create","name":"pump","role_id":"role_analyst","customer_ids":["customer123"]}`))
		for name, value := range map[string]string{"Authorization": "Bearer " + w.keys["admin"], "Content-Type": "application/json", "Idempotency-Key": "k"} {
			q.Header.Set(name, value)
		}
		r := httptest.NewRecorder()
		h.ServeHTTP(r, q)
		return r
	}
	former := w.deps
	former.Records = slow
	first, second := make(chan *httptest.ResponseRecorder, 1), make(chan *httptest.ResponseRecorder, 1)
	go func() { first <- ask(httpapi.New(former)) }()
	<-slow.halted
	go func() { second <- ask(httpapi.New(w.deps)) }()
	select {
	case r := <-second:
		t.Errorf("it did not wait: HTTP %d %s", r.Code, r.Body)
		second <- r
	case <-time.After(100 * time.Millisecond):
	}
	close(slow.goOn)
	a, b := <-first, <-second
	if a.Code != http.StatusOK || b.Code != http.StatusOK || a.Body.String() != b.Body.String() {
		t.Errorf("HTTP %d %s\nand HTTP %d %s", a.Code, a.Body, b.Code, b.Body)
	}
}
