package httpapi

import (
	"io"
	"net/http"
	"time"

	"app.sunloop/backend/api"
)

// unauthenticatedBody is the time limit of the body of a request without a valid
// credential.
const unauthenticatedBody = 30 * time.Second

// limitBodyTime gives each body unauthenticatedBody in all. Dispatch lifts the limit
// for the holder of a valid credential: see liftBodyTime.
func (s *server) limitBodyTime(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Body != nil && q.Body != http.NoBody {
			// Sockets have the real clock, not the service's. An in-process writer has
			// no deadlines, and no slow client either.
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.UnauthenticatedBody))
		}
		next.ServeHTTP(w, q)
	})
}

// liftBodyTime removes the time limit of the body of an authenticated request. The
// minimum rate of the listener remains.
func liftBodyTime(w http.ResponseWriter, q *http.Request) {
	if q.Body != nil && q.Body != http.NoBody {
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
}

// drainExcess is by how much a body of a known length may be larger than the largest
// form and is still read to its end, so that its client can read the error.
const drainExcess = 1 << 20

// drainBody reads what next leaves unread of a body, up to api.MaxFormBytes in all.
// If the connection were closed while the client still sends, it would be reset and
// the response lost. A body whose declared length is above that is not read, nor one
// that the client holds back until the server asks for it. HTTP/2 ends a request
// without closing its connection.
func drainBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Body == nil || q.Body == http.NoBody || q.ContentLength > api.MaxFormBytes+drainExcess || q.ProtoMajor > 1 {
			next.ServeHTTP(w, q)
			return
		}
		b := &countedBody{q.Body, new(int64)}
		q.Body = b
		next.ServeHTTP(w, q)
		if *b.n == 0 && q.Header.Get("Expect") != "" {
			return
		}
		_, _ = io.CopyN(io.Discard, b, max(api.MaxFormBytes, q.ContentLength)-*b.n) // a client that disconnects reads no response
	})
}
