package httpapi

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
)

// window is the span in which accepted requests are counted.
const window = time.Minute

// rates counts accepted requests exactly: the stamps of the last of them, for
// each caller and API. The zero value is ready.
type rates struct {
	mu    sync.Mutex
	rings map[rateKey]*ring
}

type rateKey struct {
	id   string
	host api.Host
}

// ring holds the stamps of the last accepted requests, as many as are
// allowed in a window.
type ring struct {
	stamps []int64 // Unix nanoseconds
	next   int     // where the next goes: the oldest, when full
	count  int
}

// maxIdleRings is how many rings are kept before the idle ones are dropped.
const maxIdleRings = 10_000

// take counts a request if it fits. left is how many more fit now; reset is
// how long until one more does.
func (r *rates) take(k rateKey, limit int, now time.Time) (ok bool, left int, reset time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.rings[k]
	if g == nil {
		if r.rings == nil {
			r.rings = map[rateKey]*ring{}
		}
		if len(r.rings) >= maxIdleRings {
			r.dropIdle(now)
		}
		g = &ring{stamps: make([]int64, limit)}
		r.rings[k] = g
	}
	start := now.Add(-window).UnixNano()
	// Stamps of the future are of before the clock was put back: they would
	// keep the caller out until it is there again.
	for g.count > 0 && (g.oldest() <= start || g.oldest() > now.UnixNano()) {
		g.count--
	}
	if ok = g.count < limit; ok {
		g.stamps[g.next] = now.UnixNano()
		g.next = (g.next + 1) % limit
		g.count++
	}
	return ok, limit - g.count, time.Duration(g.oldest() - start)
}

func (g *ring) oldest() int64 {
	n := len(g.stamps)
	return g.stamps[(g.next-g.count+n)%n]
}

func (r *rates) dropIdle(now time.Time) {
	start := now.Add(-window).UnixNano()
	for k, g := range r.rings {
		if newest := g.stamps[(g.next-1+len(g.stamps))%len(g.stamps)]; newest <= start || newest > now.UnixNano() {
			delete(r.rings, k)
		}
	}
}

// rate counts a request of the caller on the API, and tells in headers what
// is left. Seconds are rounded up, so that waiting them is enough.
func (s *server) rate(w http.ResponseWriter, who auth.Principal, host api.Host) error {
	limit, name := s.KeyRate, "key"
	if who.Kind == auth.KindUser {
		limit, name = s.UserRate, "user"
	}
	ok, left, reset := s.rates.take(rateKey{who.ID, host}, limit, s.Now())
	seconds := int((reset + time.Second - 1) / time.Second)
	h := w.Header()
	h[ratePolicy] = []string{`"` + name + `";q=` + strconv.Itoa(limit) + `;w=` + strconv.Itoa(int(window/time.Second))}
	h[rateLimit] = []string{`"` + name + `";r=` + strconv.Itoa(left) + `;t=` + strconv.Itoa(seconds)}
	if ok {
		return nil
	}
	e := *api.ErrTooManyRequests
	e.RetryAfter = seconds
	return &e
}

var (
	ratePolicy = http.CanonicalHeaderKey(api.HeaderRatePolicy)
	rateLimit  = http.CanonicalHeaderKey(api.HeaderRateLimit)
)
