package s3test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
)

// Fault is what a [Proxy] does with a request.
type Fault func(w http.ResponseWriter, r *http.Request, server http.Handler)

// Lose makes the server process the request and cuts the connection before the
// response.
func Lose(_ http.ResponseWriter, r *http.Request, server http.Handler) {
	server.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// Hang takes the request and never answers.
func Hang(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	_, _ = io.Copy(io.Discard, r.Body) // only then is the client's going away seen
	<-r.Context().Done()
}

// Refuse answers with an error of S3, of which the server does not hear.
func Refuse(status int, code string) Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/xml")
		w.Header().Set("X-Amz-Request-Id", "canary-request")
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>canary message</Message><RequestId>canary-request</RequestId><HostId>canary-host</HostId></Error>", code)
	}
}

// Cut lets n bytes of the answer's body pass and then cuts the line.
func Cut(n int) Fault {
	return func(w http.ResponseWriter, r *http.Request, server http.Handler) {
		server.ServeHTTP(&cutter{ResponseWriter: w, left: n}, r)
	}
}

type cutter struct {
	http.ResponseWriter
	left int
}

func (c *cutter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p[:min(len(p), c.left)])
	if c.left -= n; c.left == 0 {
		if f, ok := c.ResponseWriter.(http.Flusher); ok {
			f.Flush()
		}
		panic(http.ErrAbortHandler)
	}
	return n, err
}

// Proxy is between a client and the server of a bucket.
type Proxy struct {
	URI string // of the bucket, by way of the proxy

	mu     sync.Mutex
	choose func(r *http.Request) Fault
	seen   []string
}

// NewProxy puts a proxy before the server of a bucket until the test ends.
func NewProxy(t testing.TB, uri string) *Proxy {
	t.Helper()
	target, err := url.Parse(parsed(t, uri).Query().Get("endpoint"))
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{}
	transport := &http.Transport{}
	server := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // it is signed
		},
		Transport:    transport,
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.seen = append(p.seen, r.Method+" "+r.URL.RequestURI())
		var fault Fault
		if p.choose != nil {
			fault = p.choose(r)
		}
		p.mu.Unlock()
		if fault == nil {
			server.ServeHTTP(w, r)
			return
		}
		fault(w, r, server)
	}))
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
		transport.CloseIdleConnections()
	})
	p.URI = URI(BucketOf(t, uri), front.URL)
	return p
}

// Choose sets the function that decides about each request from now on; a nil
// Fault passes it. choose is called for one request at a time.
func (p *Proxy) Choose(choose func(r *http.Request) Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.choose = choose
}

// Seen are the requests since the last call, each as "METHOD path?query".
func (p *Proxy) Seen() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := p.seen
	p.seen = nil
	return seen
}
