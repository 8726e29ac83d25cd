package httpapi

import (
	"context"
	"io"
	"net/http"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// UnknownRoute is the name of what no route answers.
const UnknownRoute = "unknown"

// Exchange is a request with its result, for metrics, log and traces. It
// has nothing of path, query, body or credential.
type Exchange struct {
	Route       string // name of the route, or UnknownRoute
	Method      string // as the caller wrote it
	Status      int    // 0: the connection broke before there was one
	Aborted     bool   // the answer broke off
	Challenge   bool   // of a sign-in: it asks for a second factor
	Refusal     *api.Error
	Begin       time.Time
	Took        time.Duration
	BytesIn     int64 // of the body, as far as it was read
	BytesOut    int64 // of the body, as sent
	RequestID   string
	PrincipalID string // empty: not signed in
	Address     string // the caller's
}

// Observe is called for requests; nil functions are not called.
type Observe struct {
	// Begin is called at the start of a request, and returns the context to
	// serve it in.
	Begin func(ctx context.Context, q *http.Request) context.Context
	// Ended is called with the result, in that context.
	Ended func(ctx context.Context, e Exchange)
}

// exchange counts while a request is served.
type exchange struct {
	http.ResponseWriter
	Exchange
}

type exchangeKey struct{}

// observed serves a request and reports the exchange to Observe.
func (s *server) observed(w http.ResponseWriter, q *http.Request, id string, serve http.Handler) {
	ctx := q.Context()
	if s.Observe.Begin != nil {
		ctx = s.Observe.Begin(ctx, q)
	}
	o := store.OriginOf(ctx)
	o.RequestID = id
	ctx = store.WithOrigin(ctx, o)
	if s.Observe.Ended == nil {
		serve.ServeHTTP(w, q.WithContext(ctx))
		return
	}
	x := &exchange{ResponseWriter: w, Exchange: Exchange{Route: UnknownRoute, Method: q.Method, RequestID: id, Address: s.remote(q)}}
	ctx = context.WithValue(ctx, exchangeKey{}, x)
	q = q.WithContext(ctx)
	if q.Body != nil && q.Body != http.NoBody {
		q.Body = &countedBody{q.Body, &x.BytesIn}
	}
	x.Begin, x.Aborted = s.Now(), true
	defer func() {
		x.Took = s.Now().Sub(x.Begin)
		s.Observe.Ended(ctx, x.Exchange)
	}()
	serve.ServeHTTP(x, q)
	x.Aborted = false
}

// annotateExchange notes something about the exchange that a request is part of.
func annotateExchange(ctx context.Context, note func(x *Exchange)) {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		note(&x.Exchange)
	}
}

// WriteHeader notes the final status.
func (x *exchange) WriteHeader(status int) {
	if x.Status == 0 && status >= http.StatusOK {
		x.Status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write counts.
func (x *exchange) Write(p []byte) (int, error) {
	if x.Status == 0 {
		x.Status = http.StatusOK
	}
	n, err := x.ResponseWriter.Write(p)
	x.BytesOut += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController through.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// countedBody counts what is read of a body.
type countedBody struct {
	io.ReadCloser
	n *int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	*b.n += int64(n)
	return n, err
}
