package listener

import (
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"sync/atomic"

	"app.sunloop/backend/admission"
)

// boundedListener accepts connections that its table admits. It never waits for
// a place: a connection that the table refuses is closed, so that the next one
// is seen.
type boundedListener struct {
	net.Listener
	table *admission.Table
}

// Accept returns the next connection that has a place.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		b := &bounded{Conn: conn}
		b.place = l.table.Admit(conn.RemoteAddr(), func() { _ = conn.Close() })
		if b.place != nil {
			return b, nil
		}
		_ = conn.Close()
	}
}

// bounded is a connection with a place in the table.
type bounded struct {
	net.Conn
	place *admission.Conn
	heard atomic.Bool // bytes came since the last write
	rests atomic.Bool // between two requests: the next byte begins one
}

// boundedOf returns the connection below TLS, nil for one of another listener.
func boundedOf(conn net.Conn) (b *bounded, http2 bool) {
	if t, ok := conn.(*tls.Conn); ok {
		http2 = t.ConnectionState().NegotiatedProtocol == "h2"
		conn = t.NetConn()
	}
	b, _ = conn.(*bounded)
	return b, http2
}

// connState follows a connection between requests, for [http.Server.ConnState].
func connState(conn net.Conn, s http.ConnState) {
	if s != http.StateIdle {
		return
	}
	b, http2 := boundedOf(conn)
	if b == nil {
		return
	}
	b.place.SetIdle()
	switch {
	case http2: // other bytes than those of requests come, too
	case b.heard.Load(): // the next request has begun
		b.place.SetActive()
	default:
		b.rests.Store(true)
	}
}

// Read reports the first byte of a request: the server reports a request only
// when its header is complete.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	if n > 0 {
		b.heard.Store(true)
		if b.rests.Load() && b.rests.CompareAndSwap(true, false) {
			b.place.SetActive()
		}
	}
	return n, err
}

// Write notes that what came was answered.
func (b *bounded) Write(p []byte) (int, error) {
	b.heard.Store(false)
	return b.Conn.Write(p)
}

// CloseWrite lets the server end an answer so that a client which still sends
// can read it.
func (b *bounded) CloseWrite() error {
	if half, ok := b.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close gives the place back.
func (b *bounded) Close() error {
	err := b.Conn.Close()
	b.place.Release()
	return err
}

// placed serves requests whose connections have an ordinary place, waits for
// one if necessary, and serves health checks without one. It asks clients to
// close connections in overflow places after the response.
func (ls *Listeners) placed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		c := admission.From(q.Context())
		if c == nil {
			h.ServeHTTP(w, q)
			return
		}
		defer c.Begin(q.ProtoMajor > 1)()
		if c.InOverflow() && !slices.Contains(ls.cfg.HealthPaths, q.URL.Path) {
			if c.Promote(q.Context()) != nil {
				full(w)
				return
			}
		}
		h.ServeHTTP(w, q)
	})
}

// full responds to a request for which there is no place.
func full(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	unavailable(w, "all connections of the service are in use")
}
