package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"golang.org/x/sync/errgroup"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/listener"
	"app.sunloop/backend/tracing"
)

// WatchFlags are how those who run the service look into it.
type WatchFlags struct {
	Metrics     string `placeholder:"ADDRESS" env:"SUNLOOP_METRICS" help:"Serve Prometheus metrics at this address [127.0.0.1:9464], with /metrics, /healthz and /readyz (disabled)."`
	Pprof       string `placeholder:"ADDRESS" env:"SUNLOOP_PPROF" help:"Serve profiles (pprof) at this address [127.0.0.1:6060]. A client that reaches it can slow the service and read its memory."`
	OTLP        string `name:"otlp" placeholder:"URL" env:"OTEL_EXPORTER_OTLP_ENDPOINT" help:"Send traces to this collector by OTLP over HTTP [http://127.0.0.1:4318]. The other OTEL_ variables apply as well."`
	LogRequests bool   `env:"SUNLOOP_LOG_REQUESTS" help:"Log each request at level info instead of debug."`
}

// watch are the sockets of metrics and profiles, or nil.
type watch struct {
	metrics, profile *listener.Listeners
	handler          http.Handler // of metrics; set before it is served
}

// check finds what is wrong with the flags before anything is opened.
func (f WatchFlags) check() error {
	for _, a := range []struct{ flag, address, example string }{{"--metrics", f.Metrics, "127.0.0.1:9464"}, {"--pprof", f.Pprof, "127.0.0.1:6060"}} {
		if a.address == "" {
			continue
		}
		if _, port, err := net.SplitHostPort(a.address); err != nil || !isPort(port) {
			return fmt.Errorf("%s: invalid address %[3]q; example: %[2]s", a.flag, a.example, a.address)
		}
	}
	if f.Metrics != "" && f.Metrics == f.Pprof && !anyPort(f.Metrics) {
		return errors.New("--metrics and --pprof want two addresses: who may read metrics may not see profiles")
	}
	return tracing.Check(f.OTLP)
}

func isPort(text string) bool {
	n, err := net.LookupPort("tcp", text)
	return text != "" && err == nil && n >= 0
}

// anyPort says that the system chooses the port.
func anyPort(address string) bool {
	_, port, err := net.SplitHostPort(address)
	return err == nil && port == "0"
}

// open opens the sockets, or none. Nothing is served yet.
func (f WatchFlags) open(ctx context.Context, log *slog.Logger, endDelay time.Duration) (*watch, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	w := new(watch)
	socket := func(flag, address string, h func() http.Handler) (*listener.Listeners, error) {
		if address == "" {
			return nil, nil
		}
		l, err := listener.Open(ctx, listener.Config{
			Addresses: []listener.Address{{Address: address}}, Handler: func([]api.Host) http.Handler { return h() }, Now: time.Now, Log: log,
			// No request has a credential here.
			Limits:      listener.Limits{Connections: watchConnections, Unauthenticated: watchConnections, Network: watchConnections, Drain: 2 * time.Second},
			HealthPaths: []string{api.PathHealth, api.PathReady}, EndDelay: endDelay,
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		return l, nil
	}
	var err error
	if w.metrics, err = socket("--metrics", f.Metrics, func() http.Handler { return w.handler }); err != nil {
		return nil, err
	}
	if w.profile, err = socket("--pprof", f.Pprof, profiles); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// watchConnections is how many connections each socket of metrics and profiles
// has at a time.
const watchConnections = 32

// close closes sockets that are not served.
func (w *watch) close() error {
	var err error
	for _, l := range []*listener.Listeners{w.metrics, w.profile} {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
	}
	return err
}

// run opens the service of cfg, counted, traced and logged as the flags say,
// and runs do with it.
func (f WatchFlags) run(ctx context.Context, cfg backend.Config, endDelay time.Duration, do func(context.Context, *backend.Service) error) error {
	w, err := f.open(ctx, cfg.Logger, endDelay)
	if err != nil {
		return err
	}
	cfg.Metrics, cfg.LogRequests = w.metrics != nil, f.LogRequests
	cfg.Tracer, err = tracing.Open(ctx, tracing.Config{Endpoint: f.OTLP, Version: version, Now: time.Now, Log: cfg.Logger})
	if err != nil {
		return errors.Join(err, w.close())
	}
	defer func() { //nolint:contextcheck // after the service has ended, and its context
		if err := cfg.Tracer.Close(); err != nil {
			cfg.Logger.Warn("end the traces", "error", err)
		}
	}()
	service, err := openFolder(cfg)
	if err != nil {
		return errors.Join(err, w.close())
	}
	return withService(ctx, service, func(ctx context.Context) error {
		return w.serveDuring(ctx, service, cfg.Logger, func(ctx context.Context) error { return do(ctx, service) })
	})
}

// serveDuring serves metrics and profiles while do runs.
func (w *watch) serveDuring(ctx context.Context, service *backend.Service, log *slog.Logger, do func(context.Context) error) error {
	w.handler = watched(service)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	for what, l := range map[string]*listener.Listeners{"metrics": w.metrics, "profiles": w.profile} {
		if l == nil {
			continue
		}
		address := l.Addresses()[0].Address
		log.Info("serving "+what, "address", address)
		if !loopback(address) {
			log.Warn(what+" served without authentication on an address that other machines can reach", "address", address)
		}
		group.Go(func() error {
			err := l.Serve(ctx)
			if ctx.Err() != nil {
				return nil // a profile that was cut short is no failure of the service
			}
			return err
		})
	}
	group.Go(func() error {
		defer cancel()
		return do(ctx)
	})
	return group.Wait()
}

// watched are metrics and health.
func watched(service *backend.Service) http.Handler {
	mux := http.NewServeMux()
	if h := service.Metrics(); h != nil {
		mux.Handle("GET /metrics", h)
	}
	mux.Handle(api.PathHealth, service.Handler())
	mux.Handle(api.PathReady, service.Handler())
	return mux
}

// profiles are those of net/http/pprof.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// loopback says that an address is reached from this machine alone.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}
