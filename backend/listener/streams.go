package listener

import (
	"encoding/json"
	"net"
	"net/http"

	"app.sunloop/backend/admission"
	"app.sunloop/backend/api"
	"app.sunloop/backend/limit"
)

// Memory of the requests that run concurrently on connections of HTTP/2 without an
// accepted credential. The first request of such a connection is bounded by the
// number of connections, as with HTTP/1.1; each further one takes its header and
// streamBytes of one budget, of which a network (/24, /64) takes at most a quarter.
const (
	streamsBytes = 4 << 20
	streamsShare = 4
	streamBytes  = 12 << 10 // goroutine, request, response and buffers of a stream
)

// limitStreams refuses concurrent requests of unauthenticated connections that are
// above the budget: a client could otherwise hold maxStreams headers and goroutines
// for each connection.
func (ls *Listeners) limitStreams(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		c := admission.From(q.Context())
		if c == nil || q.ProtoMajor < 2 || !c.IsAdditional() {
			h.ServeHTTP(w, q)
			return
		}
		host, _, err := net.SplitHostPort(q.RemoteAddr)
		if err != nil {
			host = q.RemoteAddr
		}
		_, share := limit.WithShare(q.Context(), &ls.streams)
		share.SetCaller(admission.Network(host))
		if share.Take(headerBytes(q)+streamBytes) != nil {
			unavailable(w, "too many concurrent requests without an accepted credential: repeat the request later")
			return
		}
		defer share.Release()
		h.ServeHTTP(w, q)
	})
}

// headerBytes returns the size of a request's header as HTTP/2 counts it: names,
// values and 32 bytes for each field.
func headerBytes(q *http.Request) int {
	n := len(q.Method) + len(q.RequestURI) + len(q.Host)
	for name, values := range q.Header {
		for _, v := range values {
			n += len(name) + len(v) + 32
		}
	}
	return n
}

// unavailable responds 503 with a reason and asks for a repetition after a second.
func unavailable(w http.ResponseWriter, reason string) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Retry-After", "1")
	e := api.ErrUnavailable.With("reason", reason)
	w.WriteHeader(e.Status)
	_ = json.NewEncoder(w).Encode(e.Body("", ""))
}
