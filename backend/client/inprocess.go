package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"app.sunloop/backend/api"
)

// InProcess is a transport that calls h in a separate goroutine: the response
// streams, and the end of the request's context or of its body ends the
// handler's context too. The handler sees [api.InProcess] as remote address.
func InProcess(h http.Handler) http.RoundTripper { return InProcessFrom(h, api.InProcess) }

// InProcessFrom is InProcess for a remote user: the handler sees the
// address (host:port) as remote address.
func InProcessFrom(h http.Handler, address string) http.RoundTripper { return inProcess{h, address} }

type inProcess struct {
	handler http.Handler
	address string
}

// errLeft ends the writes of a handler when the response is not read any more.
var errLeft = errors.New("the caller has left")

// RoundTrip answers when the handler has written its header.
func (t inProcess) RoundTrip(out *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(out.Context())
	r := out.Clone(ctx)
	r.RemoteAddr = t.address
	r.RequestURI = r.URL.RequestURI()
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.1", 1, 1
	if r.Host == "" {
		r.Host = r.URL.Host
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	pr, pw := io.Pipe()
	w := &pipedWriter{header: http.Header{}, body: pw, started: make(chan struct{})}
	go func() {
		defer func() {
			var end error
			if p := recover(); p != nil {
				end = fmt.Errorf("handler panicked: %v", p)
			} else {
				// What a cancelled handler leaves off is no whole answer.
				end = out.Context().Err()
			}
			_ = r.Body.Close()
			w.finish(end)
			cancel()
		}()
		t.handler.ServeHTTP(w, r)
	}()
	select {
	case <-w.started:
	case <-out.Context().Done():
		cancel()
		_ = pr.CloseWithError(errLeft)
		return nil, out.Context().Err()
	}
	if w.failed != nil {
		_ = pr.Close()
		return nil, w.failed
	}
	stop := context.AfterFunc(out.Context(), func() { _ = pw.CloseWithError(out.Context().Err()) })
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)),
		StatusCode:    w.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        w.sent,
		Body:          &pipedBody{pr, stop, cancel},
		ContentLength: -1,
		Request:       out,
	}, nil
}

// pipedBody ends the handler when the reader closes early.
type pipedBody struct {
	*io.PipeReader
	stop   func() bool
	cancel context.CancelFunc
}

func (b *pipedBody) Close() error {
	b.stop()
	err := b.CloseWithError(errLeft)
	b.cancel()
	return err
}

// pipedWriter is the handler's side of an answer.
type pipedWriter struct {
	header  http.Header
	body    *io.PipeWriter
	once    sync.Once
	started chan struct{} // closed when status, sent and failed are set
	status  int
	sent    http.Header
	failed  error
}

func (w *pipedWriter) Header() http.Header { return w.header }

func (w *pipedWriter) WriteHeader(status int) {
	if status < http.StatusOK { // informational
		return
	}
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.started)
	})
}

func (w *pipedWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// Flush does nothing more: what is written is with the reader already.
func (w *pipedWriter) Flush() { w.WriteHeader(http.StatusOK) }

// finish ends the answer. If a handler fails before its header, there is
// no response; later, its body is truncated.
func (w *pipedWriter) finish(err error) {
	if err != nil {
		w.once.Do(func() {
			w.failed = err
			close(w.started)
		})
		_ = w.body.CloseWithError(err)
		return
	}
	w.WriteHeader(http.StatusOK)
	_ = w.body.Close()
}
