package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/store"
	"app.sunloop/backend/stream"
)

// Streams passes changes to those who follow them.
type Streams interface {
	// Follow adds a follower; leave must be called when it leaves.
	Follow(accept func(*stream.Event) bool) (f *stream.Follower, leave func())
	// Missed returns the events since one; ok is false if they are not all known.
	Missed(ctx context.Context, id string, accept func(*stream.Event) bool) (missed []*stream.Event, ok bool, err error)
	// Position returns the id of events that happen now.
	Position() string
	// Ended is closed when the service is ending.
	Ended() <-chan struct{}
}

func (s *server) streamHandlers() {
	handleStream(s, api.FollowChanges, s.follow)
}

const (
	// heartbeat is the interval at which a stream without events sends a comment, and at
	// which the credential is checked.
	heartbeat = 15 * time.Second
	// slowReader is how long a write to a stream may take.
	slowReader = 30 * time.Second
)

// openStreams counts the streams of the process by caller.
type openStreams struct {
	mu  sync.Mutex
	all int
	of  map[string]int
}

func (o *openStreams) take(caller string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all >= api.MaxStreams || o.of[caller] >= api.MaxCallStreams {
		e := *api.ErrTooManyStreams
		e.RetryAfter = int(time.Minute / time.Second)
		return &e
	}
	if o.of == nil {
		o.of = map[string]int{}
	}
	o.all++
	o.of[caller]++
	return nil
}

func (o *openStreams) release(caller string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all--
	if o.of[caller]--; o.of[caller] == 0 {
		delete(o.of, caller)
	}
}

// following is the response of a stream, which lasts.
type following func(w http.ResponseWriter, q *http.Request)

// rights are what a stream may show, which may change while it lasts.
type rights struct {
	scope    atomic.Pointer[api.Scope]
	kinds    []string
	customer string
	sites    []api.Site // that the query names; nil: all
}

func (r *rights) accept(e *stream.Event) bool {
	return slices.Contains(r.kinds, e.Kind) && (r.customer == "" || r.customer == e.CustomerID) && r.scope.Load().Allows(e.CustomerID, e.SiteID) &&
		(r.sites == nil || slices.ContainsFunc(r.sites, func(s api.Site) bool { return s.SiteID == e.SiteID }))
}

// renew takes the present rights of the caller; it reports whether they cover the stream.
func (r *rights) renew(p auth.Principal) bool {
	scope := p.Scope()
	r.scope.Store(&scope)
	if !p.May(api.PermissionRead) || r.customer != "" && !scope.CanCustomer(r.customer) {
		return false
	}
	return !slices.ContainsFunc(r.sites, func(s api.Site) bool { return !scope.Allows(s.CustomerID, s.SiteID) })
}

func (s *server) follow(ctx context.Context, c *caller, q *api.StreamQuery) (any, error) {
	r := &rights{kinds: q.Selected(), customer: q.CustomerID}
	r.scope.Store(&c.scope)
	for _, id := range q.Sites() {
		site, err := s.siteOf(ctx, c.scope, target{siteID: &id, customerID: q.CustomerID})
		if errors.Is(err, api.ErrAmbiguousSite) {
			err = api.MissingParameter("customer_id").With("reason", "several customers have a site of this id: name the customer")
		}
		if err != nil {
			return nil, err
		}
		r.sites = append(r.sites, site)
	}
	last := c.request.Header.Get(api.HeaderLastEventID)
	if q.Follow == "false" {
		start, err := s.missed(ctx, last, r)
		if err != nil {
			return nil, err
		}
		return typed{mediaType: api.MediaEvents, write: func(b *body) error { b.buf = append(b.buf, start...); return nil }}, nil
	}
	if err := s.streams.take(c.ID); err != nil {
		return nil, err
	}
	// What changes from here on is queued, so that nothing falls between the events that
	// were missed and those that follow.
	f, leave := s.Streams.Follow(r.accept)
	start, err := s.missed(ctx, last, r)
	if err != nil {
		leave()
		s.streams.release(c.ID)
		return nil, err
	}
	return following(func(w http.ResponseWriter, q *http.Request) {
		defer s.streams.release(c.ID)
		defer leave()
		s.stream(w, q, c.credential, r, f, start)
	}), nil
}

// missed returns what a stream begins with: the events since the last one that the client
// has, or the word that it has to read again.
func (s *server) missed(ctx context.Context, last string, r *rights) ([]byte, error) {
	start := []byte("retry: 2000\n\n")
	if last == "" {
		return start, nil
	}
	list, ok, err := s.Streams.Missed(ctx, last, r.accept)
	if err != nil {
		return nil, err
	}
	if !ok {
		return append(start, s.reload()...), nil
	}
	for _, e := range list {
		start = append(start, e.Frame...)
	}
	return start, nil
}

func (s *server) reload() []byte {
	return stream.Frame(s.Streams.Position(), api.StreamReload, []byte("{}"))
}

// stream writes a stream until the client leaves, its rights end or the service does.
func (s *server) stream(w http.ResponseWriter, q *http.Request, credential string, r *rights, f *stream.Follower, buf []byte) {
	h := w.Header()
	h["Content-Type"] = []string{api.MediaEvents}
	h["Cache-Control"] = cacheNever
	h["X-Accel-Buffering"] = []string{"no"} // of a proxy
	h[gzhttp.HeaderNoCompression] = []string{"1"}
	control := http.NewResponseController(w)
	write := func(b []byte) bool {
		_ = control.SetWriteDeadline(time.Now().Add(slowReader)) // a recorder of a test has none
		_, err := w.Write(b)
		return err == nil && control.Flush() == nil
	}
	if !write(buf) {
		return
	}
	beat := time.NewTicker(s.Heartbeat)
	defer beat.Stop()
	for {
		buf = buf[:0]
		select {
		case <-q.Context().Done():
			return
		case <-s.Streams.Ended():
			write([]byte(": the service is ending\n\n"))
			return
		case e := <-f.C:
			buf = append(buf, e.Frame...)
			for more := true; more && len(buf) < flowBytes; {
				select {
				case e := <-f.C:
					buf = append(buf, e.Frame...)
				default:
					more = false
				}
			}
		case <-beat.C:
			if reason := s.ended(q.Context(), credential, r); reason != "" {
				data, _ := json.Marshal(map[string]string{"reason": reason})
				write(stream.Frame(s.Streams.Position(), api.StreamEnd, data))
				return
			}
			buf = append(buf, ":\n\n"...)
		}
		if f.Lost() {
			buf = append(buf, s.reload()...)
		}
		if !write(buf) {
			return
		}
		if cap(buf) > 2*flowBytes {
			buf = nil
		}
	}
}

// ended returns why the credential does not allow the stream any more, empty if it does.
// While the store is unavailable nothing is known, and nothing is streamed.
func (s *server) ended(ctx context.Context, credential string, r *rights) string {
	p, err := s.Auth.Authenticate(store.WithBudget(ctx, s.Wait, s.Wait/waitReserve), credential)
	var refusal *api.Error
	switch {
	case errors.As(err, &refusal):
		return refusal.Message
	case err == nil && !r.renew(p):
		return api.ErrForbidden.Message
	}
	return ""
}
