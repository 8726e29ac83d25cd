package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"app.sunloop/backend"
	"app.sunloop/backend/health"
	"app.sunloop/backend/mail"
	"app.sunloop/backend/openmeteo"
	"app.sunloop/backend/store"
)

// ServiceFlags configure the service, embedded or headless.
type ServiceFlags struct {
	MFA           bool          `name:"mfa" default:"true" negatable:"" help:"Require an authenticator as second factor."`
	TokenLifetime time.Duration `default:"24h" placeholder:"DURATION" help:"Lifetime of a user's token (${default})."`
	SigningKeyAge time.Duration `default:"2160h" placeholder:"DURATION" help:"Rotation interval of the signing key (${default}; 0 disables automatic rotation)."`

	TrainingDays int `default:"180" help:"Days of data before training starts."`
	Workers      int `default:"2" help:"Number of jobs that run at a time."`

	Weather        string `default:"offline" enum:"offline,open-meteo" env:"SUNLOOP_WEATHER" help:"Source of weather forecasts: ${enum}. Offline is the climate of the location."`
	WeatherURL     string `placeholder:"URL" env:"SUNLOOP_WEATHER_URL" help:"URL of another Open-Meteo server."`
	WeatherArchive string `placeholder:"URL" env:"SUNLOOP_WEATHER_ARCHIVE" help:"URL of another Open-Meteo archive server."`
	WeatherKey     string `placeholder:"KEY" env:"SUNLOOP_WEATHER_KEY" help:"API key of a commercial Open-Meteo server."`

	SMTP             string `name:"smtp" placeholder:"URL" env:"SUNLOOP_SMTP" help:"Mail server for verification codes: smtp://user@host:587 requires STARTTLS, smtps:// uses TLS from the first byte; ?tls=opportunistic or ?tls=plain require less. Without one, messages are written to the outbox folder of the data folder."`
	SMTPPassword     string `name:"smtp-password" placeholder:"PASSWORD" env:"SUNLOOP_SMTP_PASSWORD" help:"Password of the mail server."`
	SMTPPasswordFile string `name:"smtp-password-file" placeholder:"FILE" env:"SUNLOOP_SMTP_PASSWORD_FILE" help:"File with the password of the mail server; read for each message, so that a rotation needs no restart." type:"path"`
	MailFrom         string `placeholder:"ADDRESS" env:"SUNLOOP_MAIL_FROM" help:"Sender of messages, for example \"Sunloop <forecasts@example.org>\"; required with --smtp."`

	WorkFlags
	Parts string `placeholder:"FILE" env:"SUNLOOP_PARTS" help:"Parts catalogue in TOML, instead of the built-in one." type:"path"`

	OutsideFlags
}

// OutsideFlags are what the service may reach outside, of the service and the demo.
type OutsideFlags struct {
	PublicURL    string   `name:"public-url" placeholder:"URL" env:"SUNLOOP_PUBLIC_URL" help:"Address of the service for people, for the links of notifications, for example https://ops.example.com."`
	WebhookAllow []string `placeholder:"HOST" env:"SUNLOOP_WEBHOOK_ALLOW" help:"Host, host:port, address or network [10.1.0.0/16] to which webhooks may be sent although it is private or without encryption: for labs."`

	MaxUpload int64 `name:"max-upload" default:"2048" placeholder:"MB" env:"SUNLOOP_MAX_UPLOAD" help:"Size in MB of the largest file that is taken in parts (${default})."`

	ImportFrom []string `placeholder:"URL" env:"SUNLOOP_IMPORT_FROM" help:"Location whose files an upload may name by s3_path [s3://bucket/exports, file:///srv/gateway]; {customer_id} in it is replaced by the caller's customer."`
}

// config is the service's configuration over the data folder.
func (f ServiceFlags) config(g *Globals, log *slog.Logger, now func() time.Time) (backend.Config, error) {
	cfg := g.embedded()
	cfg.Now, cfg.Logger = now, log
	if f.PublicURL != "" {
		u, err := url.Parse(f.PublicURL)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			return cfg, fmt.Errorf("--public-url: invalid URL %q; example: https://ops.example.com", f.PublicURL)
		}
		cfg.PublicURL = strings.TrimRight(f.PublicURL, "/")
	}
	cfg.RequireMFA, cfg.TrainingDays, cfg.Workers, cfg.ImportFrom, cfg.PartsFile, cfg.WebhookAllow = f.MFA, f.TrainingDays, f.Workers, f.ImportFrom, f.Parts, f.WebhookAllow
	cfg.TokenLifetime, cfg.SigningKeyAge, cfg.Providers = f.TokenLifetime, f.SigningKeyAge, g.file.Providers
	cfg.LargestUpload = f.MaxUpload << 20
	switch {
	case f.MaxUpload < 10 || f.MaxUpload > 1<<20:
		return cfg, fmt.Errorf("--max-upload: invalid value %d; from 10 to %d (in MB)", f.MaxUpload, 1<<20)
	case f.TokenLifetime < time.Minute:
		return cfg, fmt.Errorf("--token-lifetime is a minute or more, not %s", f.TokenLifetime)
	case f.SigningKeyAge < 0:
		return cfg, fmt.Errorf("--signing-key-age is 0 or more, not %s", f.SigningKeyAge)
	case f.SigningKeyAge == 0:
		cfg.SigningKeyAge = -1 // never
	}
	if err := f.WorkFlags.apply(&cfg); err != nil {
		return cfg, err
	}
	if f.Weather == "open-meteo" {
		client, err := openmeteo.New(openmeteo.Config{ForecastURL: f.WeatherURL, ArchiveURL: f.WeatherArchive, APIKey: f.WeatherKey, Now: time.Now})
		if err != nil {
			return cfg, err
		}
		cfg.Weather = client
	}
	if f.SMTP != "" {
		if f.SMTPPassword != "" && f.SMTPPasswordFile != "" {
			return cfg, errors.New("--smtp-password-file: the password is also given by --smtp-password; give one of them")
		}
		server, err := mail.ParseServer(f.SMTP, f.SMTPPassword, f.MailFrom)
		if err != nil {
			return cfg, err
		}
		server.PasswordFile = f.SMTPPasswordFile
		cfg.SMTP = &server
	}
	return cfg, nil
}

// openFolder opens the service of a data folder, or says in a sentence why it
// could not.
//
//nolint:contextcheck // a Service lives until Close, and not as long as a context
func openFolder(cfg backend.Config) (*backend.Service, error) {
	service, err := backend.New(cfg)
	switch {
	case errors.Is(err, store.ErrLocked):
		return nil, fmt.Errorf("%w; reach that one with --remote (console, import, status), stop it first, or give another --data", err)
	case err != nil && cfg.Store != "":
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("open the data folder %s: %w", cfg.DataDir, err)
	}
	return service, nil
}

// ServeCmd is the service without a console.
type ServeCmd struct {
	ServiceFlags
	ListenFlags
	WatchFlags
	SSH       string   `name:"ssh" placeholder:"ADDRESS" env:"SUNLOOP_SSH" help:"Also serve the console over SSH at this address, for example :2222 (see sunloop ssh --help)."`
	SSHLimits SSHFlags `embed:"" prefix:"ssh-"`

	SourcesFlags

	Heartbeat string `placeholder:"URL" env:"SUNLOOP_HEARTBEAT" help:"URL of a watchdog that is called each minute while the service is healthy: all parts ready, detection up to date."`

	CORS []string `placeholder:"ORIGIN" env:"SUNLOOP_CORS" help:"Origins whose pages may call the API."`

	LambdaAdapter bool `name:"lambda-adapter" env:"SUNLOOP_LAMBDA_ADAPTER" help:"Also answer invocations of AWS Lambda, for clients that call the API through functions."`
}

// Run serves until ctx ends, then lets requests finish.
func (c *ServeCmd) Run(ctx context.Context, g *Globals, std streams) error {
	if _, err := c.ListenFlags.check(); err != nil {
		return err
	}
	if err := c.SSHLimits.check("--ssh-"); err != nil {
		return err
	}
	if err := c.SourcesFlags.check(g); err != nil {
		return err
	}
	log := g.headlessLog(std.err)
	cfg, err := c.config(g, log, time.Now)
	if err != nil {
		return err
	}
	if c.Heartbeat != "" {
		if err := health.CheckHeartbeat(c.Heartbeat); err != nil {
			return fmt.Errorf("--heartbeat: %w", err)
		}
	}
	cfg.CORSOrigins, cfg.Await, cfg.Heartbeat = c.CORS, true, c.Heartbeat
	cfg.LambdaAdapter = c.LambdaAdapter
	// To the process's log alone: administrators read the journal of the service.
	cfg.SetupToken = func(token, file string) {
		log.Warn("no user exists; the first administrator needs the setup token", "setup_token", token, "file", file)
	}
	g.warnOfReplica(log, c.SMTP)
	if cfg.TrustedProxies, err = c.proxies(); err != nil {
		return err
	}
	return c.WatchFlags.run(ctx, cfg, c.EndDelay, func(ctx context.Context, service *backend.Service) error {
		return c.SourcesFlags.during(ctx, g, service, log, func(ctx context.Context) error { return c.all(ctx, g, service, log) })
	})
}

// all serves the API, and the console over SSH where that is asked for.
func (c *ServeCmd) all(ctx context.Context, g *Globals, service *backend.Service, log *slog.Logger) error {
	group, ctx := errgroup.WithContext(ctx)
	if c.SSH != "" {
		consoles, err := openSSH(ctx, g, c.SSH, c.SSHLimits, service, log)
		if err != nil {
			return err
		}
		group.Go(func() error { return consoles(ctx) })
	}
	group.Go(func() error { return c.http(ctx, g, service, log) })
	return group.Wait()
}

// http serves the API until ctx ends, then lets requests finish.
func (c *ServeCmd) http(ctx context.Context, g *Globals, service *backend.Service, log *slog.Logger) error {
	return c.serve(ctx, service, g.Data, log, func(r reached) {
		words := []any{"address", r.Address, "data", g.Data, "version", version}
		if g.Store != "" {
			words = append(words, "store", withoutPassword(g.Store))
		}
		if len(r.Hosts) > 0 {
			words = append(words, "hosts", strings.Join(r.Hosts, ","))
		}
		if r.Fingerprint != "" {
			words = append(words, "tls_fingerprint", r.Fingerprint)
		}
		log.Info("serving", words...)
	})
}
