package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"runtime/debug"
	"slices"
	"strings"

	"app.sunloop/backend/api"
	"github.com/oklog/ulid/v2"
)

// outermost wraps what also the compression must not change.
func (s *server) outermost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		h := w.Header()
		id := q.Header.Get(api.HeaderRequestID)
		if !plainID(id) {
			id = "req_" + ulid.MustNew(ulid.Timestamp(s.Now()), ulid.DefaultEntropy()).String()
		}
		h[api.HeaderRequestID] = []string{id}
		h["X-Content-Type-Options"] = nosniff
		h["Api-Version"] = version
		if s.secure(q) {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		if s.cors(h, q) {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		s.observed(w, q, id, next)
	})
}

var (
	nosniff = []string{"nosniff"}
	version = []string{api.Version}
)

// guarded turns a panic into the contract's 500, or breaks the answer off
// when a part of it is sent already.
func (s *server) guarded(w http.ResponseWriter, q *http.Request) {
	g := &begunWriter{ResponseWriter: w}
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(p)
		}
		s.Log.Error("panic", "request_id", requestID(w), "method", q.Method, "path", q.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		if g.begun {
			panic(http.ErrAbortHandler)
		}
		s.refuse(g, q, api.ErrInternal)
	}()
	if !clean(q.URL.Path) {
		// ServeMux would redirect, in HTML.
		s.dispatch(g, q, nil)
		return
	}
	inner, ok := within(q)
	if enc := q.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") && !s.takesEncoded(inner) {
		s.refuse(g, q, errEncoded)
		return
	}
	if err := api.CheckVersion(q.Header.Get(api.HeaderVersion)); err != nil {
		s.refuse(g, q, err)
		return
	}
	if !ok {
		s.dispatch(g, q, nil)
		return
	}
	s.mux.ServeHTTP(g, inner)
}

// errEncoded refuses compressed bodies of routes that take none: a small one may be huge
// inside.
var errEncoded = &api.Error{Status: http.StatusUnsupportedMediaType, Message: "Unsupported content encoding"}

func clean(p string) bool {
	return p != "" && p[0] == '/' && (p == path.Clean(p) || strings.HasSuffix(p, "/") && p == path.Clean(p)+"/")
}

// begunWriter knows whether the header is sent, and what a refusal was.
type begunWriter struct {
	http.ResponseWriter
	begun   bool
	refusal *api.Error
	before  func(status int) // optional: is called once, before the status is sent
	audit   *auditEntry      // of a request whose route writes; nil for others
}

func (w *begunWriter) begin(status int) {
	if w.begun {
		return
	}
	w.begun = true
	if w.before != nil {
		w.before(status)
	}
}

func (w *begunWriter) WriteHeader(status int) {
	w.begin(status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *begunWriter) Write(p []byte) (int, error) {
	w.begin(http.StatusOK)
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController through.
func (w *begunWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func requestID(w http.ResponseWriter) string {
	if v := w.Header()[api.HeaderRequestID]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// plainID says whether a caller's request id may go into logs and answers.
func plainID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// cors writes the headers for an allowed origin, on errors too, and says
// whether the request was a preflight that is answered with them alone.
func (s *server) cors(h http.Header, q *http.Request) (preflight bool) {
	if len(s.CORSOrigins) == 0 {
		return false
	}
	h.Add("Vary", "Origin")
	origin := q.Header.Get("Origin")
	if origin == "" {
		return false
	}
	switch {
	case slices.Contains(s.CORSOrigins, origin):
		h.Set("Access-Control-Allow-Origin", origin)
	case slices.Contains(s.CORSOrigins, "*"):
		h.Set("Access-Control-Allow-Origin", "*")
	default:
		return false
	}
	h.Set("Access-Control-Expose-Headers", "ETag, Retry-After, RateLimit, RateLimit-Policy, X-Request-Id, API-Version, Deprecation, Sunset, Link")
	if q.Method != http.MethodOptions || q.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST")
	h.Set("Access-Control-Allow-Headers", "Authorization, X-Api-Key, Content-Type, If-None-Match, Idempotency-Key, X-Request-Id, API-Version")
	h.Set("Access-Control-Max-Age", "600")
	return true
}

// canceled is the error for a caller that has left, so that no response is
// read.
func canceled(ctx context.Context) bool { return ctx.Err() == context.Canceled }
