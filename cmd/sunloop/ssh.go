//go:build !windows

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/alecthomas/kong"
	gossh "golang.org/x/crypto/ssh"

	"app.sunloop/backend"
	"app.sunloop/backend/admission"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
	"app.sunloop/backend/metrics"
	"app.sunloop/tui"
	"app.sunloop/tui/sshd"
)

// SSHCmd serves the console over SSH.
type SSHCmd struct {
	Listen      string `placeholder:"ADDRESS" default:"127.0.0.1:2222" env:"SUNLOOP_SSH" help:"Address to listen on (${default})."`
	Fingerprint bool   `help:"Print the fingerprint of the host key and exit."`
	SSHFlags
	LookFlags
	ServiceFlags
	SourcesFlags
	RemoteFlags
	WatchFlags
}

// Run serves until ctx ends.
func (c *SSHCmd) Run(ctx context.Context, k *kong.Context, g *Globals, std streams) error {
	g.command, g.given = "ssh", givenFlags(k)
	if err := c.SSHFlags.check("--"); err != nil {
		return err
	}
	if c.Fingerprint {
		return showHostKey(g.Data, std)
	}
	if err := c.SourcesFlags.checkFor(g, c.Remote); err != nil {
		return err
	}
	log := g.headlessLog(std.err)
	if c.Remote != "" && (c.Metrics != "" || c.Pprof != "") {
		return errors.New("--metrics and --pprof show a service of this process; with --remote it is elsewhere")
	}
	if c.Remote != "" {
		return c.remote(ctx, g, log)
	}
	cfg, err := c.config(g, log, time.Now)
	if err != nil {
		return err
	}
	cfg.Await = true
	g.warnOfReplica(log, c.SMTP)
	return c.WatchFlags.run(ctx, cfg, 0, func(ctx context.Context, service *backend.Service) error {
		serve, err := consolesOf(service, g, c.LookFlags, log).open(ctx, c.Listen, c.SSHFlags)
		if err != nil {
			return err
		}
		warnOfNoUser(ctx, service, log)
		return c.SourcesFlags.during(ctx, g, service, log, serve)
	})
}

// warnOfNoUser logs how to create the first user of a service that has none: over SSH no one
// can sign in to create one. A database that is not reached yet is not asked again.
func warnOfNoUser(ctx context.Context, service *backend.Service, log *slog.Logger) {
	users, _, err := service.Auth().As(api.Unlimited(commandLine)).Users(ctx, auth.UserFilter{}, api.Page{Limit: 1})
	if err == nil && len(users) == 0 {
		log.Warn("no user exists, and SSH cannot create one; stop this service and run: sunloop admin user add NAME --role role_admin --customers '*'")
	}
}

// remote serves consoles of a service elsewhere, which checks passwords and
// codes; keys it does not know.
func (c *SSHCmd) remote(ctx context.Context, g *Globals, log *slog.Logger) error {
	if c.Token != "" {
		return errOnePerson
	}
	u, err := checkRemote(c.Remote)
	if err != nil {
		return err
	}
	o, err := c.clientOptions()
	if err != nil {
		return err
	}
	shared := http.DefaultTransport.(*http.Transport).Clone()
	shared.TLSClientConfig, o.TLS = o.TLS, nil
	defer shared.CloseIdleConnections()
	consoles := &consoles{globals: g, look: c.LookFlags, log: log, source: u.Host, client: func(address string) *client.Client {
		o := o
		o.Transport = onBehalf{shared, address}
		return client.New(o)
	}}
	serve, err := consoles.open(ctx, c.Listen, c.SSHFlags)
	if err != nil {
		return err
	}
	return serve(ctx)
}

// onBehalf sends the address of the client to the remote service, which counts where this
// machine is one of its trusted proxies.
type onBehalf struct {
	http.RoundTripper
	address string
}

func (t onBehalf) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Forwarded-For", hostOf(t.address))
	return t.RoundTripper.RoundTrip(r)
}

// hostOf is an address without its port.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}

// openSSH serves the consoles of a service in addition to HTTP.
func openSSH(ctx context.Context, g *Globals, address string, flags SSHFlags, service *backend.Service, log *slog.Logger) (func(context.Context) error, error) {
	look, err := defaultLook(g)
	if err != nil {
		return nil, err
	}
	return consolesOf(service, g, look, log).open(ctx, address, flags)
}

// defaultLook is how the console looks for a command without flags for it.
func defaultLook(g *Globals) (look LookFlags, err error) {
	err = kong.ApplyDefaults(&look, kong.Resolvers(kong.ResolverFunc(g.file.Resolve)))
	return look, err
}

// consoles are what is served over SSH.
type consoles struct {
	globals *Globals
	look    LookFlags
	log     *slog.Logger
	source  string
	client  func(address string) *client.Client
	keys    sshd.Keys
	opened  func() (closed func()) // counts; nil: not counted
	dropped func(admission.Drop)   // counts; nil: nothing does
}

// consolesOf are those of a service in this process.
func consolesOf(service *backend.Service, g *Globals, look LookFlags, log *slog.Logger) *consoles {
	host, err := os.Hostname()
	if err != nil {
		host = "embedded"
	}
	return &consoles{globals: g, look: look, log: log, source: host, keys: keysOfUsers{service}, opened: service.ConsoleOpened, dropped: service.ConnectionDropped(metrics.ServerSSH), client: func(address string) *client.Client {
		return client.New(client.Options{Transport: client.InProcessFrom(service.Handler(), address), Now: time.Now})
	}}
}

// open listens; the function serves until its context ends.
func (c *consoles) open(ctx context.Context, address string, flags SSHFlags) (func(context.Context) error, error) {
	if _, err := c.look.look(c.globals, func(string) string { return "" }, true); err != nil {
		return nil, err // now, not at the first sign-in
	}
	key, _, err := hostKey(c.globals.Data)
	if err != nil {
		return nil, err
	}
	server, err := sshd.New(sshd.Config{
		HostKey: key, Client: c.client, Keys: c.keys, Console: c.show, Log: c.log, Dropped: c.dropped,
		Limits: sshd.Limits{UserSessions: flags.UserSessions, Sessions: flags.Sessions, Idle: cmp.Or(flags.Idle, -1), SignIn: flags.SignInTime},
	})
	if err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for SSH: %w", err)
	}
	c.log.Info("serving the console over SSH", "address", l.Addr().String(), "host_key", gossh.FingerprintSHA256(key.PublicKey()))
	return func(ctx context.Context) error { return server.Serve(ctx, l) }, nil
}

// show is one person's console.
func (c *consoles) show(ctx context.Context, s *sshd.Session) error {
	if c.opened != nil {
		defer c.opened()()
	}
	o, err := c.look.look(c.globals, s.Getenv, true)
	if err != nil {
		return err
	}
	// The person reads of the own console alone.
	lines := &tail{keep: 1000}
	own := slog.NewTextHandler(lines, &slog.HandlerOptions{Level: c.globals.level()})
	o.Log = slog.New(slog.NewMultiHandler(c.log.With("user", s.User, "address", s.Address).Handler(), own))
	o.LogLines = lines.Lines
	o.Client, o.User, o.Source, o.Remote = s.Client, s.Login.User, c.source, true
	if s.Login.Token == "" {
		o.Challenge = s.Login
	}
	o.In, o.Out, o.Sizes, o.Getenv = s.In, s.Out, s.Sizes, s.Getenv
	return tui.Run(ctx, o)
}

// keysOfUsers are the public keys that the users of a service have.
type keysOfUsers struct{ service *backend.Service }

// Has says whether a user who may sign in has the key.
func (k keysOfUsers) Has(ctx context.Context, username string, key []byte) (bool, error) {
	if err := k.service.Waiting(); err != nil {
		return false, err
	}
	return k.service.Auth().HasSSHKey(ctx, username, key)
}

// Login signs in the holder of the key, and leaves its record in the audit
// trail, also of a refusal.
func (k keysOfUsers) Login(ctx context.Context, username string, key []byte, address string) (api.LoginResponse, error) {
	if err := k.service.Waiting(); err != nil {
		return api.LoginResponse{}, err
	}
	r, err := k.service.Auth().LoginByKey(ctx, username, key, hostOf(address))
	return r, k.service.RecordSignIn(ctx, api.ActionSSHKey, hostOf(address), r, err)
}
