package resilience

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// receiver takes webhooks as bad receivers do: it answers some at once, some
// late, refuses some, and never answers some. Each id is taken in the end.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	arrived map[string]int
	polite  bool // it answers all at once
}

func newReceiver() *receiver {
	r := &receiver{arrived: map[string]int{}}
	r.Server = httptest.NewServer(http.HandlerFunc(r.take))
	return r
}

func (r *receiver) take(w http.ResponseWriter, q *http.Request) {
	if _, err := io.Copy(io.Discard, q.Body); err != nil {
		return // the sender was killed: nothing has arrived
	}
	id := q.Header.Get("webhook-id")
	r.mu.Lock()
	r.arrived[id]++
	first, all := r.arrived[id] == 1, len(r.arrived)
	r.mu.Unlock()
	if !first || r.polite {
		return
	}
	switch all % 10 {
	case 3:
		w.WriteHeader(http.StatusInternalServerError)
	case 6:
		time.Sleep(200 * time.Millisecond)
	case 9:
		select { // until the sender gives up or dies
		case <-q.Context().Done():
		case <-time.After(3 * time.Second):
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
}

// seen is how often each id came.
func (r *receiver) seen() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.arrived)
}
