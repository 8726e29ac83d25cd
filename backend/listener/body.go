package listener

import (
	"errors"
	"io"
	"net/http"
	"time"

	"app.sunloop/backend/admission"
)

// pace bounds how slowly a body may come. A body has a credit of time, grace
// at most; waiting spends it, and each byte earns what the floor allows for
// it. So a stall longer than grace ends a request, and so does a stream that
// stays below the floor; one above it may take as long as it is.
type pace struct {
	grace          time.Duration
	bytesPerSecond int
	write          time.Duration // for the answer, from the last byte of the body on
	now            func() time.Time
}

// wrap gives the bodies of requests to h their deadlines.
func (p pace) wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Body != nil && q.Body != http.NoBody {
			b := &pacedBody{ReadCloser: q.Body, pace: p, control: http.NewResponseController(w), credit: p.grace, last: p.now(), conn: admission.From(q.Context())}
			defer b.received()
			// Also for what the handler leaves unread: the server reads it
			// before it takes the connection's next request.
			b.deadline(b.last)
			q.Body = b
			w = &pacedWriter{ResponseWriter: w, body: b}
		}
		h.ServeHTTP(w, q)
	})
}

type pacedBody struct {
	io.ReadCloser
	pace
	control *http.ResponseController
	credit  time.Duration
	last    time.Time // up to which credit is spent
	until   time.Time // the handler's own limit; zero: none
	ended   bool
	conn    *admission.Conn // nil: none
	reading func()          // reports that the body is read; nil: it is not being read
}

// received reports that the server does not wait for the body any more.
func (b *pacedBody) received() {
	if b.reading != nil {
		b.reading()
		b.reading = nil
	}
}

// deadline ends reading when the credit is spent, or earlier if the handler has
// set a limit. A writer without deadlines, as in one process, has no slow line
// either.
func (b *pacedBody) deadline(now time.Time) {
	d := now.Add(b.credit)
	if !b.until.IsZero() && b.until.Before(d) {
		d = b.until
	}
	_ = b.control.SetReadDeadline(d)
}

// pacedWriter is the writer of a request with a minimum body rate. A handler
// that sets a read deadline limits the total time of the body; the rate still
// applies within it.
type pacedWriter struct {
	http.ResponseWriter
	body *pacedBody
}

// SetReadDeadline limits how long the body may take in all; the zero time lifts
// that limit. It is called by the goroutine that reads the body. After the end of
// the body it does nothing.
func (w *pacedWriter) SetReadDeadline(t time.Time) error {
	if !w.body.ended {
		w.body.until = t
		w.body.deadline(w.body.now())
	}
	return nil
}

// Unwrap lets http.ResponseController through.
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Read reads within the credit.
func (b *pacedBody) Read(p []byte) (int, error) {
	if b.ended {
		return b.ReadCloser.Read(p)
	}
	if b.reading == nil && b.conn != nil {
		b.reading = b.conn.Receive()
	}
	// What passed since the last read is the handler's time, not the client's.
	b.last = b.now()
	b.deadline(b.last)
	n, err := b.ReadCloser.Read(p)
	now := b.now()
	earned := time.Duration(n) * time.Second / time.Duration(b.bytesPerSecond)
	b.credit = min(b.grace, b.credit-now.Sub(b.last)+earned)
	b.last = now
	if err != nil {
		b.ended = true
		b.received()
		// The answer has its own time: a long upload must not use it up.
		_ = b.control.SetWriteDeadline(now.Add(b.write))
		if errors.Is(err, io.EOF) {
			// A deadline in the work that follows would end the request.
			_ = b.control.SetReadDeadline(time.Time{})
		}
	}
	return n, err
}
