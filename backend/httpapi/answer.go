package httpapi

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"

	"github.com/zeebo/xxh3"

	"app.sunloop/backend/api"
	"app.sunloop/backend/limit"
	"app.sunloop/backend/store"
)

// streamed writes a body that may be large, in pieces.
type streamed func(b *body) error

// streamedArray is an object with one array. write appends the array, and
// returns the number of its elements; it appends nothing for none.
func streamedArray(name string, write func(b *body) (int, error)) streamed {
	return func(b *body) error {
		b.buf = append(b.buf, `{"`+name+`":`...)
		n, err := write(b)
		if err != nil {
			return err
		}
		if n == 0 {
			b.buf = append(b.buf, "[]"...)
		}
		b.buf = append(b.buf, "}\n"...)
		return nil
	}
}

// streamedArrays is an object of arrays by key. write appends the prefix and
// the array of a key, and returns the number of its elements; it appends nothing
// for none.
func streamedArrays(name string, keys []string, write func(b *body, key string, prefix []byte) (int, error)) streamed {
	return func(b *body) error {
		b.buf = append(b.buf, `{"`+name+`":{`...)
		first := true
		for _, key := range keys {
			var prefix []byte
			if !first {
				prefix = append(prefix, ',')
			}
			n, err := write(b, key, append(appendString(prefix, key), ':'))
			if err != nil {
				return err
			}
			first = first && n == 0
		}
		b.buf = append(b.buf, "}}\n"...)
		return nil
	}
}

// wholeBytes is the size up to which a streamed body is held, so that it has
// a tag and a length; beyond it goes out as it is made, by flowBytes. All answers
// in flight have answersBytes together, counted as values and as JSON. A streamed
// body flows at once when heldBytes are used up, so that clients which read slowly
// cannot take the memory; another answer is then refused with 503 when
// answersBytes are used up, unless it has no more than smallBytes.
const (
	wholeBytes   = 4 << 20
	flowBytes    = 64 << 10
	heldBytes    = 32 << 20
	answersBytes = 96 << 20
	answersShare = 4 // the part of it that the requests of one caller take together
	smallBytes   = 64 << 10
)

// body takes the bytes of an answer.
type body struct {
	w       http.ResponseWriter
	buf     []byte
	parts   [][]byte // before buf, of a plain body that is held
	size    int      // bytes of the parts
	flowing bool
	held    *limit.Budget // by all answers
	own     int64         // of it
	plain   bool          // no JSON: it has no keys of sites
}

// visible returns bytes of the body behind its parts as clients may see them.
func (b *body) visible() []byte {
	if b.plain {
		return b.buf
	}
	return api.HideSiteKeys(b.buf)
}

// pass is called between parts of a body: it sends what is too much to hold.
func (b *body) pass() error {
	if len(b.buf) < flowBytes {
		return nil
	}
	if !b.flowing && b.size+len(b.buf) < wholeBytes && b.hold() {
		if b.plain { // not copied again as the body grows
			b.parts, b.size = append(b.parts, b.buf), b.size+len(b.buf)
			b.buf = newPart()
		}
		return nil
	}
	if !b.flowing {
		b.flowing = true
		b.w.WriteHeader(http.StatusOK)
	}
	for _, part := range append(b.parts, b.visible()) {
		if _, err := b.w.Write(part); err != nil {
			return err
		}
	}
	b.releaseParts()
	b.buf = b.buf[:0]
	if cap(b.buf) > keepBytes {
		b.buf = nil
	}
	b.let()
	return nil
}

// partBytes is the room of a new part of a plain body.
const partBytes = 4 * flowBytes

// parts are buffers of plain bodies.
var parts = sync.Pool{New: func() any { return new(make([]byte, 0, partBytes)) }}

func newPart() []byte { return *parts.Get().(*[]byte) }

// releaseParts gives the buffers of the parts back.
func (b *body) releaseParts() {
	for _, part := range b.parts {
		if cap(part) <= keepBytes {
			parts.Put(new(part[:0]))
		}
	}
	b.parts, b.size = nil, 0
}

// hold counts the memory of the body; false when there is no room for it.
func (b *body) hold() bool {
	more := int64(cap(b.buf)) - b.own
	for _, part := range b.parts {
		more += int64(cap(part))
	}
	if !b.held.Take(more, heldBytes) {
		return false
	}
	b.own += more
	return true
}

// let releases what was held.
func (b *body) let() {
	b.held.Take(-b.own, 0)
	b.own = 0
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// keepBytes is the largest buffer that goes back into the pool.
const keepBytes = 1 << 20

func release(b *bytes.Buffer) {
	if b.Cap() <= keepBytes {
		b.Reset()
		buffers.Put(b)
	}
}

var (
	typeJSON       = []string{"application/json"}
	cacheReads     = []string{"private, no-cache"}
	cacheNever     = []string{"no-store"}
	answerInternal = []byte(`{"success":false,"status":"error","error":"Internal error","code":"internal_error"}`)
)

// answer writes a result: a value as JSON, or a streamed body. Reads carry a
// strong tag over the body and may be answered by 304.
func (s *server) answer(w http.ResponseWriter, q *http.Request, op *api.Operation, result any) {
	h := w.Header()
	h["Content-Type"] = typeJSON
	h["Cache-Control"] = cacheNever
	if op.Cacheable {
		h["Cache-Control"] = cacheReads
	}
	if op.MaxAge > 0 {
		h["Cache-Control"] = []string{"private, max-age=" + strconv.Itoa(op.MaxAge)}
	}
	buf := buffers.Get().(*bytes.Buffer)
	defer func() { release(buf) }()
	plain := false
	if t, ok := result.(typed); ok {
		h["Content-Type"] = []string{t.mediaType}
		result, plain = t.write, true
	}
	if write, ok := result.(streamed); ok {
		b := &body{w: w, buf: buf.AvailableBuffer(), held: &s.answers, plain: plain}
		if plain {
			b.buf = newPart()
		}
		defer func() {
			if plain {
				b.parts = append(b.parts, b.buf)
			}
			b.releaseParts()
			b.let()
		}()
		err := write(b)
		switch {
		case err != nil && b.flowing:
			// The status is sent: only a broken response shows the caller that it failed.
			if !canceled(q.Context()) {
				s.Log.Error("response interrupted", "request_id", requestID(w), "path", q.URL.Path, "error", err.Error())
			}
			panic(http.ErrAbortHandler)
		case err != nil:
			s.refuse(w, q, err)
			return
		case b.flowing:
			_, _ = w.Write(b.visible())
			return
		}
		if plain {
			s.sendWhole(w, q, op.Cacheable, append(b.parts, b.buf)...)
			return
		}
		buf = bytes.NewBuffer(b.visible())
	} else {
		if share := limit.ShareOf(q.Context()); share != nil {
			// What was changed is answered, whatever it takes.
			if err := share.Cover(2 * limit.Size(result)); err != nil && (op.Cacheable || op.ReadOnly) {
				s.refuse(w, q, err)
				return
			}
		}
		if err := encode(buf, result); err != nil {
			s.refuse(w, q, err)
			return
		}
	}
	s.send(w, q, op.Cacheable, buf.Bytes(), plain)
}

// send writes a whole body, or the 304 in its place.
func (s *server) send(w http.ResponseWriter, q *http.Request, tagged bool, b []byte, plain bool) {
	if !plain {
		b = api.HideSiteKeys(b)
	}
	s.sendWhole(w, q, tagged, b)
}

// sendWhole writes the parts of a whole body, or the 304 in their place.
func (s *server) sendWhole(w http.ResponseWriter, q *http.Request, tagged bool, parts ...[]byte) {
	h := w.Header()
	if tagged {
		tag := tagOf(parts)
		h["Etag"] = []string{tag}
		if match, ok := matching(q.Header.Values("If-None-Match"), tag); ok {
			h["Etag"] = []string{match}
			delete(h, "Content-Type")
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	size := 0
	for _, b := range parts {
		size += len(b)
	}
	h["Content-Length"] = []string{strconv.Itoa(size)}
	w.WriteHeader(http.StatusOK)
	for _, b := range parts {
		if _, err := w.Write(b); err != nil { //nolint:gosec // G705: the body is declared as what it is and sent with nosniff
			return
		}
	}
}

func encode(buf *bytes.Buffer, v any) error {
	e := json.NewEncoder(buf)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// tagOf is a strong entity tag over the identity bytes. It only distinguishes a
// caller's own responses, so a cryptographic hash is not needed: it took a
// third of the time of a day's records.
func tagOf(parts [][]byte) string {
	var sum [16]byte
	if len(parts) == 1 {
		sum = xxh3.Hash128(parts[0]).Bytes()
	} else {
		h := xxh3.New()
		for _, b := range parts {
			_, _ = h.Write(b) // never fails
		}
		sum = h.Sum128().Bytes()
	}
	var text [2 + 2*16]byte
	text[0], text[len(text)-1] = '"', '"'
	hex.Encode(text[1:], sum[:])
	return string(text[:])
}

// failure is an error that is no refusal, with the words that its route has
// for it.
type failure struct {
	error
	words *api.Error
}

func (f failure) Unwrap() error { return f.error }

// failed gives an unexpected error of a route the message that the route has for
// it.
func failed(route *api.Route, err error) error {
	if err == nil || route.Failure == nil {
		return err
	}
	return failure{err, route.Failure}
}

// diskRefusal is the refusal of what a disk did not take.
func diskRefusal(err error) *api.Error {
	if errors.Is(err, store.ErrDiskFailed) {
		return api.ErrDiskFailed
	}
	return api.ErrNoRoom
}

// retryAfter is how many seconds a caller waits who came while the service has
// no store.
const retryAfter = 5

// Unavailable is an error for what the service's store cannot do now, with a
// reason for unauthenticated readers.
func Unavailable(why string) *api.Error {
	e := api.ErrUnavailable.With("reason", why)
	e.RetryAfter = retryAfter
	return e
}

// noteDisk lets readiness know of want of room that no store has seen, such as the
// spool's. What a store has seen is [store.ErrDiskFull], and may be of a database
// or a bucket.
func (s *server) noteDisk(err error) {
	if s.Disk != nil && store.IsNoSpace(err) && !errors.Is(err, store.ErrDiskFull) && s.Disk.Full() == nil {
		_ = s.Disk.MarkFull(err)
	}
}

// aboveLimit refuses what would take a record above a limit of its fields: a text
// with 400, a list that is full with 409.
func aboveLimit(e *limit.Error) *api.Error {
	if e.Unit == limit.Items {
		return api.LimitReached("%s is full: %s", e.Path, e.Reason()).With("field", e.Path)
	}
	return api.InvalidField(e.Path, e.Reason())
}

// refuse writes an error in the contract's one shape. It is the only place
// where an error becomes a status.
func (s *server) refuse(w http.ResponseWriter, q *http.Request, err error) {
	var refusal *api.Error
	if !errors.As(err, &refusal) {
		refusal = api.ErrInternal
		var over *limit.Error
		var f failure
		if errors.As(err, &f) {
			refusal = f.words
		}
		switch {
		case errors.Is(err, limit.ErrBudget):
			refusal = Unavailable("the responses being sent use all memory reserved for them; retry later, or request a shorter list")
		case errors.As(err, &over):
			refusal = aboveLimit(over)
		case errors.Is(err, context.Canceled) && canceled(q.Context()):
			refusal = api.ErrUnavailable // it is not read any more
		case errors.Is(err, store.ErrUnavailable):
			refusal = Unavailable(store.Reason(err))
			s.Log.Error("request failed", "request_id", requestID(w), "method", q.Method, "path", q.URL.Path, "error", err.Error())
		case errors.Is(err, context.DeadlineExceeded):
			refusal = Unavailable("the service did not finish in time")
			fallthrough
		case errors.Is(err, store.ErrDiskFailed), store.IsNoSpace(err):
			if refusal.Status != http.StatusServiceUnavailable {
				refusal = diskRefusal(err)
			}
			s.noteDisk(err)
			fallthrough
		default:
			s.Log.Error("request failed", "request_id", requestID(w), "method", q.Method, "path", q.URL.Path, "error", err.Error())
		}
	}
	if b, ok := w.(*begunWriter); ok {
		refusal = b.withOutcome(refusal, err)
		b.refusal = refusal
	}
	annotateExchange(q.Context(), func(x *Exchange) { x.Refusal = refusal })
	h := w.Header()
	for _, name := range []string{"Content-Length", "Etag"} {
		delete(h, name)
	}
	h["Content-Type"] = typeJSON
	h["Cache-Control"] = cacheNever
	if refusal.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(refusal.RetryAfter))
	}
	if refusal.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	buf := buffers.Get().(*bytes.Buffer)
	defer release(buf)
	err = encode(buf, refusal.Body(viewOf(q.Context()).prefix, requestID(w)))
	b := buf.Bytes()
	if err != nil {
		b = answerInternal
	}
	w.WriteHeader(refusal.Status)
	_, _ = w.Write(api.HideSiteKeys(b))
}
