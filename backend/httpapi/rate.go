package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
)

// window is the span in which accepted requests are counted.
const window = time.Minute

// Limiter counts accepted requests.
type Limiter interface {
	// Allow counts a request of key if fewer than limit were counted in the
	// window before it. left is how many more fit now; reset is how long until
	// one more does.
	Allow(ctx context.Context, key string, limit int, window time.Duration) (ok bool, left int, reset time.Duration, err error)
}

// RateWindow is the span in which accepted requests are counted: a [Limiter]
// may forget a key that counted none within it.
const RateWindow = window

// rates is the [Limiter] of a service that has no replicas: it counts exactly,
// by the stamps of the last requests, for each caller and API.
type rates struct {
	now   func() time.Time
	mu    sync.Mutex
	rings map[string]*ring
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

// Allow counts a request if it fits. The limit of a key never changes.
func (r *rates) Allow(_ context.Context, k string, limit int, window time.Duration) (ok bool, left int, reset time.Duration, err error) {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.rings[k]
	if g == nil {
		if r.rings == nil {
			r.rings = map[string]*ring{}
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
	return ok, limit - g.count, time.Duration(g.oldest() - start), nil
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

// rate counts a request of the caller on the API, and reports in headers what
// is left. Seconds are rounded up, so that waiting them is enough.
func (s *server) rate(ctx context.Context, w http.ResponseWriter, who auth.Principal, host api.Host) error {
	limit, name := s.KeyRate, "key"
	switch {
	case who.Kind == auth.KindUser:
		limit, name = s.UserRate, "user"
	case who.Rate.Class == api.RateNone:
		return nil
	case who.Rate.Class == api.RateCustom:
		limit = who.Rate.Minutes
	}
	ok, left, reset, err := s.Limiter.Allow(ctx, string(host)+" "+who.ID, limit, window)
	if err != nil {
		return err
	}
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
