// Package listener serves a handler on sockets: several listeners, each with
// all hosts' paths or some; TLS with a self-signed certificate or one from
// files that may change; limits on connections and on slow clients; and a
// shutdown that lets requests finish.
package listener

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"app.sunloop/backend/admission"
	"app.sunloop/backend/api"
	"app.sunloop/backend/limit"
)

// Limits are what a client may take of the service's time and connections.
// Zero values take the default that is named.
type Limits struct {
	Connections        int           // open at a time, over all listeners; 4096
	Unauthenticated    int           // of these, without an accepted credential; default: see admission.Limits
	Network            int           // of these, of one network; default: see admission.Limits
	HeaderBytes        int           // of a request; HTTP/2 adds 320 bytes and counts 32 for each field besides name and value; 16 KiB
	Header             time.Duration // for the handshake of TLS, and for a header; 5 s
	BodyGrace          time.Duration // how long a body may stall; 30 s
	BodyBytesPerSecond int           // below which a body stalls; 1 KiB
	Write              time.Duration // for an answer; 5 min
	Idle               time.Duration // between two requests; 2 min
	Drain              time.Duration // for running requests at the end; 15 s
}

// Defaults are the limits with the zero values filled in.
func (l Limits) Defaults() Limits {
	set := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	set(&l.Header, 5*time.Second)
	set(&l.BodyGrace, 30*time.Second)
	set(&l.Write, 5*time.Minute)
	set(&l.Idle, 2*time.Minute)
	set(&l.Drain, 15*time.Second)
	if l.Connections == 0 {
		l.Connections = 4096
	}
	if l.HeaderBytes == 0 {
		l.HeaderBytes = 16 << 10
	}
	if l.BodyBytesPerSecond == 0 {
		l.BodyBytesPerSecond = 1 << 10
	}
	return l
}

// Config configures the listeners.
type Config struct {
	Addresses []Address
	// Handler serves the paths of hosts; none are all.
	Handler      func(hosts []api.Host) http.Handler
	Certificates *Certificates // nil: no TLS
	Limits       Limits
	// TrustedProxies are networks whose connections carry the requests of many
	// clients: no share of a network applies to them.
	TrustedProxies []netip.Prefix
	// HealthPaths are answered also when all connections are in use.
	HealthPaths []string
	// Dropped is called for each connection that is evicted or refused, and for each
	// request that is refused for want of a place. It returns at once. Nil: nothing.
	Dropped func(admission.Drop)
	Now     func() time.Time
	Log     *slog.Logger // nil: silent

	// Ending is called once when shutdown begins, EndDelay before the
	// listeners close, so that a load balancer that polls readiness stops
	// sending requests while the service still responds. It may be nil.
	Ending   func()
	EndDelay time.Duration
}

// Listeners are open sockets, served by [Listeners.Serve].
type Listeners struct {
	cfg     Config
	sockets []net.Listener
	open    *admission.Table
	streams limit.Budget // of concurrent requests without a credential
	ending  atomic.Bool
}

// Open opens all sockets of cfg, or none.
func Open(ctx context.Context, cfg Config) (*Listeners, error) {
	if len(cfg.Addresses) == 0 || cfg.Handler == nil || cfg.Now == nil {
		return nil, errors.New("listen: addresses, a handler and a clock are needed")
	}
	cfg.Limits = cfg.Limits.Defaults()
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	ls := &Listeners{cfg: cfg, streams: limit.Budget{Max: streamsBytes, Each: streamsBytes / streamsShare}, open: admission.New(admission.Limits{
		Connections: cfg.Limits.Connections, Unauthenticated: cfg.Limits.Unauthenticated, Network: cfg.Limits.Network,
	}, cfg.TrustedProxies, cfg.Now)}
	ls.open.Report(cfg.Dropped)
	for _, a := range cfg.Addresses {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.Address)
		if err != nil {
			return nil, errors.Join(err, ls.Close()) // it says what it is about
		}
		ls.sockets = append(ls.sockets, l)
	}
	return ls, nil
}

// Addresses are those that were asked for, each with the port it has got.
func (ls *Listeners) Addresses() []Address {
	all := make([]Address, len(ls.sockets))
	for i, l := range ls.sockets {
		all[i] = Address{Hosts: ls.cfg.Addresses[i].Hosts, Address: l.Addr().String()}
	}
	return all
}

// Close closes the sockets of listeners that are not served.
func (ls *Listeners) Close() error {
	var err error
	for _, l := range ls.sockets {
		err = errors.Join(err, l.Close())
	}
	return err
}

// Serve serves until ctx ends or a listener fails, then lets the running
// requests finish and closes everything.
func (ls *Listeners) Serve(ctx context.Context) error {
	servers := make([]*http.Server, len(ls.sockets))
	ended := make(chan error, len(ls.sockets))
	for i, l := range ls.sockets {
		servers[i] = ls.server(ls.cfg.Addresses[i].Hosts)
		l = &boundedListener{l, ls.open}
		go func() {
			if servers[i].TLSConfig != nil {
				ended <- servers[i].ServeTLS(l, "", "")
				return
			}
			ended <- servers[i].Serve(l)
		}()
	}
	var failed error
	running := len(servers)
	select {
	case err := <-ended:
		running--
		failed = fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	ls.announceEnd(failed != nil)
	err := errors.Join(failed, ls.drain(ctx, servers))
	for range running {
		if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, fmt.Errorf("serve: %w", e))
		}
	}
	return err
}

// announceEnd announces the shutdown and waits for the delay, except after a
// failure of the service.
func (ls *Listeners) announceEnd(failed bool) {
	ls.ending.Store(true)
	if ls.cfg.Ending != nil {
		ls.cfg.Ending()
	}
	if !failed && ls.cfg.EndDelay > 0 {
		time.Sleep(ls.cfg.EndDelay)
	}
}

// drain closes the listeners at once and waits for active requests.
func (ls *Listeners) drain(ctx context.Context, servers []*http.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ls.cfg.Limits.Drain)
	defer cancel()
	errs := make([]error, len(servers))
	var wait sync.WaitGroup
	for i, s := range servers {
		wait.Go(func() {
			if err := s.Shutdown(ctx); err != nil {
				errs[i] = errors.Join(fmt.Errorf("drain: %w", err), s.Close())
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// lastAnswers asks clients to use another connection once shutdown has begun,
// and while others wait for a place, because an open connection would be closed
// when its next request is on the way. It does the same for a chunked request.
func (ls *Listeners) lastAnswers(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		// A Content-Length next to chunked encoding is dropped before
		// we see it: a proxy that used it would read the following
		// bytes as another request than we do.
		a := &lastAnswer{ResponseWriter: w, ls: ls, last: len(q.TransferEncoding) > 0 && q.ProtoMajor == 1, conn: admission.From(q.Context())}
		defer a.end()
		h.ServeHTTP(a, q)
	})
}

// lastAnswer decides when the header is sent, as much may happen before.
type lastAnswer struct {
	http.ResponseWriter
	ls      *Listeners
	last    bool // in any case
	decided bool
	conn    *admission.Conn // nil: none
	sent    func()          // reports that the answer is sent; nil: it has not begun
}

func (w *lastAnswer) decide() {
	if w.decided {
		return
	}
	w.decided = true
	if w.last || w.ls.ending.Load() || w.ls.open.Crowded() {
		w.Header().Set("Connection", "close")
	}
	if w.conn != nil {
		w.sent = w.conn.Send()
	}
}

// end is called after the handler.
func (w *lastAnswer) end() {
	if w.sent != nil {
		w.sent()
	}
}

func (w *lastAnswer) WriteHeader(status int) {
	w.decide()
	w.ResponseWriter.WriteHeader(status)
}

func (w *lastAnswer) Write(p []byte) (int, error) {
	w.decide()
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController through.
func (w *lastAnswer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// server is the server of one listener. It has no time-out for whole
// requests: header and body have their own.
func (ls *Listeners) server(hosts []api.Host) *http.Server {
	limits := ls.cfg.Limits
	bodies := pace{grace: limits.BodyGrace, bytesPerSecond: limits.BodyBytesPerSecond, write: limits.Write, now: ls.cfg.Now}
	s := &http.Server{
		Handler:           ls.placed(ls.limitStreams(ls.lastAnswers(bodies.wrap(ls.cfg.Handler(hosts))))),
		ReadHeaderTimeout: limits.Header, WriteTimeout: limits.Write, IdleTimeout: limits.Idle, MaxHeaderBytes: limits.HeaderBytes,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerConnection: receiveBuffer, MaxReceiveBufferPerStream: receiveBuffer,
			MaxReadFrameSize: readFrame, MaxDecoderHeaderTableSize: headerTable, MaxEncoderHeaderTableSize: headerTable,
		},
		ConnState: connState,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			if b, _ := boundedOf(conn); b != nil {
				return b.place.With(ctx)
			}
			return ctx
		},
		// Errors of unauthenticated clients on a socket are not logged.
		ErrorLog: slog.NewLogLogger(ls.cfg.Log.Handler(), slog.LevelDebug),
	}
	if c := ls.cfg.Certificates; c != nil {
		s.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, CipherSuites: cipherSuites, GetCertificate: c.get}
	}
	return s
}

// Bounds of a connection of HTTP/2. A client may fill the receive buffer before it
// shows a credential. With the default limits a quarter of 4096 connections is
// unauthenticated, whose buffers then take 64 MiB together.
const (
	maxStreams    = 32
	receiveBuffer = 64 << 10 // of a connection, and of one of its streams; the least that HTTP/2 has
	readFrame     = 16 << 10
	headerTable   = 4 << 10 // of HPACK
)

// cipherSuites are those of TLS 1.2: forward secrecy and authenticated
// encryption, neither CBC nor SHA-1. Those of TLS 1.3 all are such.
var cipherSuites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}
