package compat

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
	"app.sunloop/backend/feed"
	"app.sunloop/backend/listener"
	"app.sunloop/engine/simulate"
)

// What the examples of the clients ask for.
const (
	customer       = "customer123"
	secondCustomer = "demo-customer"
	site           = "Sibaya"
	asset          = "INV-1000000054495190"
	device         = "TERM-1000000054495190"
	username       = "ana"
	password       = "correct horse battery staple"
)

// now is the plants' time: half a year and some days after telemetry begins,
// so that a model is trained, on a morning in Sibaya.
var now = time.Date(2026, 4, 15, 8, 0, 0, 0, time.UTC)

// world is the service that all tests share, on separate listeners.
type world struct {
	dir      string
	provider *provider // of people who sign in elsewhere
	events   *receiver // of changes of orders
	service  *backend.Service
	fleet    *simulate.Fleet
	key      string // opens everything
	url      string // all hosts
	hosts    map[api.Host]string
	roots    *x509.CertPool
	http     *http.Client
}

var shared *world

func TestMain(m *testing.M) {
	status, err := withWorld(func(w *world) int {
		shared = w
		return m.Run()
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "compat:", err)
		status = 1
	}
	os.Exit(status)
}

// bodyGrace is how long a body may stall here: long enough for a busy machine,
// short enough to wait for.
const bodyGrace = 2 * time.Second

// withWorld runs f with a service that has the demo's history and its models.
func withWorld(f func(*world) int) (status int, err error) {
	dir, err := os.MkdirTemp("", "sunloop-compat-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w := &world{dir: dir}
	if w.provider, err = newProvider(); err != nil {
		return 1, err
	}
	defer w.provider.Close()
	w.events = newReceiver()
	defer w.events.Close()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	if err := os.MkdirAll(w.exports(), 0o700); err != nil {
		return 1, err
	}
	w.service, err = backend.New(backend.Config{
		DataDir: dir, Now: func() time.Time { return now }, Wall: time.Now, Logger: log, RequireMFA: true,
		Argon: &argon2id.Params{Memory: 1024, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32},
		Providers: []auth.Provider{{
			Name: "company", Issuer: w.provider.URL, ClientID: clientID, Provision: &auth.Provision{Role: api.RoleAnalyst, Customers: []string{customer}},
		}},
		WebhookAllow: []string{strings.TrimPrefix(w.events.URL, "http://")}, Tick: 10 * time.Millisecond, Settle: time.Millisecond, Quiet: 20 * time.Millisecond, KeyRate: 1_000_000, CORSOrigins: []string{browserOrigin}, LambdaAdapter: true,
		ImportFrom: []string{"file://" + w.exports()},
	})
	if err != nil {
		return 1, err
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- w.service.Run(ctx) }()
	listeners, err := w.open(ctx, log)
	if err != nil {
		stop()
		return 1, errors.Join(err, <-ended, w.service.Close())
	}
	go func() { ended <- listeners.Serve(ctx) }()
	if err = w.fill(ctx); err == nil {
		status = f(w)
	}
	w.http.CloseIdleConnections()
	stop()
	for range 2 {
		if e := <-ended; !errors.Is(e, context.Canceled) {
			err = errors.Join(err, e)
		}
	}
	return status, errors.Join(err, w.service.Close())
}

// exports is the folder whose files an upload may name, in the folder in which the
// examples of the documents run.
func (w *world) exports() string { return filepath.Join(w.dir, "docs", "exports") }

// open listens with TLS: once for all hosts, and once for each.
func (w *world) open(ctx context.Context, log *slog.Logger) (*listener.Listeners, error) {
	texts := []string{"127.0.0.1:0"}
	for _, h := range api.Hosts() {
		texts = append(texts, string(h)+"=127.0.0.1:0")
	}
	addresses, err := listener.ParseAddresses(texts...)
	if err != nil {
		return nil, err
	}
	certificates, err := listener.SelfSigned(filepath.Join(w.dir, "tls"), "", addresses, nil, time.Now, log)
	if err != nil {
		return nil, err
	}
	listeners, err := listener.Open(ctx, listener.Config{
		Addresses: addresses, Certificates: certificates, Now: time.Now, Log: log, Limits: listener.Limits{BodyGrace: bodyGrace},
		Handler: func(hosts []api.Host) http.Handler { return w.service.HandlerAt("", hosts...) },
	})
	if err != nil {
		return nil, err
	}
	w.hosts = map[api.Host]string{}
	for _, a := range listeners.Addresses() {
		if len(a.Hosts) == 0 {
			w.url = "https://" + a.Address
			continue
		}
		w.hosts[a.Hosts[0]] = "https://" + a.Address
	}
	certificate, err := os.ReadFile(filepath.Join(w.dir, "tls", "certificate.pem"))
	if err != nil {
		return nil, errors.Join(err, listeners.Close())
	}
	w.roots = x509.NewCertPool()
	w.roots.AppendCertsFromPEM(certificate)
	w.http = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: w.roots}, ForceAttemptHTTP2: true}}
	return listeners, nil
}

// fill plays the demo's past to the service, and waits until all of it is
// imported, trained and forecast.
func (w *world) fill(ctx context.Context) error {
	var err error
	w.key, _, err = w.service.Auth().CreateKey(ctx, auth.NewKey{Name: "test", Role: api.RoleAdmin, Customers: []string{api.Every}})
	if err != nil {
		return err
	}
	cl := client.New(client.Options{BaseURL: w.url, Credential: w.key, TLS: &tls.Config{RootCAs: w.roots}})
	defer cl.Close()
	w.fleet = simulate.Demo(1, feed.FirstDay, now)
	play := feed.Player{Client: cl, Fleet: w.fleet, Clock: feed.NewClock(now, 1, time.Now), History: 20 * 24 * time.Hour, HistoryStep: 15 * time.Minute}
	if err := errors.Join(play.Register(ctx), play.UploadHistory(ctx)); err != nil {
		return err
	}
	for {
		open := false
		list, err := cl.Uploads(ctx, api.ListQuery{Page: api.Page{Limit: api.MaxLimit}})
		if err != nil {
			return err
		}
		for _, u := range list.Uploads {
			open = open || !u.Ended()
			if u.Error != "" {
				return fmt.Errorf("upload %s: %s", u.Filename, u.Error)
			}
		}
		if !open {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
}
