package webhook

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// What is posted verifies with the library of Standard Webhooks; a byte, an id
// or a time that was changed does not.
func TestUpstreamLibraryVerifies(t *testing.T) {
	d := delivery("")
	upstream, err := standardwebhooks.NewWebhook(d.Secrets[0])
	if err != nil {
		t.Fatal(err)
	}
	var body []byte
	var header http.Header
	place, _ := receiver(t, func(w http.ResponseWriter, q *http.Request) {
		body, _ = io.ReadAll(q.Body)
		header = q.Header.Clone()
		w.WriteHeader(http.StatusNoContent)
	})
	p := NewPoster(newGuard(t, nil, "127.0.0.1"), time.Now)
	defer p.Close()
	d.URL = place.URL
	if out := p.Post(t.Context(), d); out.Failure != "" || out.Status != 204 {
		t.Fatalf("%+v", out)
	}
	if !bytes.Equal(body, d.Body) || header.Get("Content-Type") != "application/json" || header.Get(HeaderID) != d.ID {
		t.Errorf("came in: %s %v", body, header)
	}
	if err := upstream.Verify(body, header); err != nil {
		t.Errorf("the library refuses: %v", err)
	}
	for what, change := range map[string]func(http.Header) []byte{
		"body":      func(http.Header) []byte { return append(bytes.Clone(body), ' ') },
		"id":        func(h http.Header) []byte { h.Set(HeaderID, "whd_2"); return body },
		"time":      func(h http.Header) []byte { h.Set(HeaderTimestamp, "1750000000"); return body },
		"signature": func(h http.Header) []byte { h.Set(HeaderSignature, "v1,AAAA"); return body },
	} {
		h := header.Clone()
		if err := upstream.VerifyIgnoringTimestamp(change(h), h); err == nil {
			t.Errorf("with another %s it verifies", what)
		}
	}
	other, _ := standardwebhooks.NewWebhook(NewSecret())
	if other.Verify(body, header) == nil {
		t.Error("with another secret it verifies")
	}
}

func TestOnly2xxReceives(t *testing.T) {
	p := NewPoster(newGuard(t, nil, "127.0.0.1"), testNow)
	defer p.Close()
	status, after := 0, ""
	place, _ := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		w.WriteHeader(status)
	})
	for _, c := range []struct {
		status int
		after  string
		good   bool
		gone   bool
		wait   time.Duration
	}{
		{200, "", true, false, 0}, {202, "", true, false, 0}, {204, "", true, false, 0}, {304, "", false, false, 0}, {400, "", false, false, 0},
		{410, "", false, true, 0}, {429, "120", false, false, 2 * time.Minute}, {503, testNow().Add(time.Hour).Format(http.TimeFormat), false, false, time.Hour},
		{503, "99999999999", false, false, maxRetryAfter}, {500, "-5", false, false, 0}, {500, "soon", false, false, 0},
	} {
		status, after = c.status, c.after
		out := p.Post(t.Context(), delivery(place.URL))
		if out.Status != c.status || (out.Failure == "") != c.good || out.Gone != c.gone || out.RetryAfter != c.wait {
			t.Errorf("%d %q: %+v", c.status, c.after, out)
		}
	}
}

func TestRetries(t *testing.T) {
	failed := PostResult{At: testNow(), Failure: "HTTP 500"}
	want := []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour}
	for i, d := range want {
		if got := next(i+1, failed, 0).Sub(testNow()); got != d {
			t.Errorf("after attempt %d the next comes in %s, want %s", i+1, got, d)
		}
		if got := next(i+1, failed, 0.999).Sub(testNow()); got <= d || got > d+d/10 {
			t.Errorf("after attempt %d the latest comes in %s, want up to a tenth more than %s", i+1, got, d)
		}
	}
	if got := next(Attempts, failed, 0); !got.IsZero() {
		t.Errorf("after the last attempt another comes at %s", got)
	}
	if got := next(1, PostResult{At: testNow()}, 0); !got.IsZero() {
		t.Errorf("what was received is sent again at %s", got)
	}
	if got := next(1, PostResult{At: testNow(), Failure: "x", Gone: true}, 0); !got.IsZero() {
		t.Errorf("a place that is gone is tried again at %s", got)
	}
	asked := failed
	asked.RetryAfter = time.Hour
	if got := next(1, asked, 0).Sub(testNow()); got != time.Hour {
		t.Errorf("asked to wait an hour, it comes in %s", got)
	}
	if got := next(4, asked, 0).Sub(testNow()); got != 2*time.Hour {
		t.Errorf("asked to wait an hour of two, it comes in %s", got)
	}
}

// memory is an outbox in memory.
type memory struct {
	mu    sync.Mutex
	list  []Delivery
	out   map[string]PostResult
	added chan struct{}
	all   chan struct{} // closed when all have an outcome
	want  int
}

func newMemory(list ...Delivery) *memory {
	return &memory{list: list, out: map[string]PostResult{}, added: make(chan struct{}, 1), all: make(chan struct{}), want: len(list)}
}

func (m *memory) Claim(_ context.Context, _ time.Time, _ time.Duration, n int) ([]Delivery, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n = min(n, len(m.list))
	part := m.list[:n]
	m.list = m.list[n:]
	return part, nil
}

func (m *memory) Delivered(_ context.Context, id string, out PostResult) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.out[id] = out; len(m.out) == m.want {
		close(m.all)
	}
	return nil
}

func (m *memory) NextDelivery(context.Context) (time.Time, bool, error) {
	return time.Time{}, false, nil
}
func (m *memory) Added() <-chan struct{} { return m.added }

// A place that never answers holds up none of the others.
func TestSlowSubscriberDelaysNoOthers(t *testing.T) {
	hold := make(chan struct{})
	slow, _ := receiver(t, func(_ http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		select {
		case <-hold:
		case <-q.Context().Done():
		}
	})
	defer close(hold)
	quick, reached := receiver(t, func(http.ResponseWriter, *http.Request) {})
	stuck := delivery(slow.URL)
	stuck.ID = "whd_0"
	box := newMemory(stuck)
	for _, id := range []string{"whd_1", "whd_2", "whd_3"} {
		d := delivery(quick.URL)
		d.ID = id
		box.list = append(box.list, d)
	}
	box.want = 3
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	d := Deliverer{Outbox: box, Poster: NewPoster(newGuard(t, nil, "127.0.0.1"), time.Now), Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	go func() {
		defer close(ended)
		d.Run(ctx)
	}()
	<-box.all
	cancel()
	<-ended
	if _, waiting := box.out["whd_0"]; waiting || reached.Load() != 3 {
		t.Errorf("%d were received, the stuck one has %+v", reached.Load(), box.out["whd_0"])
	}
}
