package httpapi

import (
	"io"
	"net/http"
	"time"

	"app.sunloop/backend/api"
)

// strangerBody is the time limit of the body of a request without a valid
// credential.
const strangerBody = 30 * time.Second

// timed gives each body strangerBody in all, which dispatch lifts for the holder
// of a valid credential: see [server.trust].
func (s *server) timed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Body != nil && q.Body != http.NoBody {
			// The clock of sockets, not the service's. A writer without deadlines, as
			// in one process, has no slow line either.
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.StrangerBody))
		}
		next.ServeHTTP(w, q)
	})
}

// trust lifts the limit of time of a body whose sender is known; what bounds how
// slowly it may come stays.
func trust(w http.ResponseWriter, q *http.Request) {
	if q.Body != nil && q.Body != http.NoBody {
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
}

// excess is by how much a body of a known length may be larger than the largest
// form and is still read to its end, so that its client can read the refusal.
const excess = 1 << 20

// heard reads what next leaves unread of a body, up to api.MaxFormBytes in all.
// Closed while the client still sends, its connection would be reset and the
// answer lost on the way. A body that says it is longer is not waited for, nor
// one that its client holds back until it is asked to go on. HTTP/2 ends a
// request without that.
func heard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Body == nil || q.Body == http.NoBody || q.ContentLength > api.MaxFormBytes+excess || q.ProtoMajor > 1 {
			next.ServeHTTP(w, q)
			return
		}
		b := &countedBody{q.Body, new(int64)}
		q.Body = b
		next.ServeHTTP(w, q)
		if *b.n == 0 && q.Header.Get("Expect") != "" {
			return
		}
		_, _ = io.CopyN(io.Discard, b, max(api.MaxFormBytes, q.ContentLength)-*b.n) // a client that breaks off wants no answer
	})
}
