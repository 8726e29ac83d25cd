package backend

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alexedwards/argon2id"

	"app.sunloop/backend/api"
	"app.sunloop/backend/audit"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/domain/maintenance"
	"app.sunloop/backend/freemium"
	"app.sunloop/backend/httpapi"
	"app.sunloop/backend/logbuffer"
	"app.sunloop/backend/mail"
	"app.sunloop/backend/ops"
	"app.sunloop/backend/partner"
	"app.sunloop/backend/pipeline"
	"app.sunloop/backend/pipeline/forecasting"
	"app.sunloop/backend/pipeline/snapshot"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/backend/store/objects"
	"app.sunloop/backend/store/postgres"
	"app.sunloop/backend/tracing"
	"app.sunloop/backend/webhook"
	"app.sunloop/engine/weather"
)

// Config is what a Service is made from. DataDir and Now must be there; a zero
// value of the rest takes its default.
type Config struct {
	DataDir string
	// Now is the plant's clock: what telemetry is compared with. A simulation
	// may run it fast.
	Now func() time.Time
	// Wall is the real clock, for tokens, one-time codes, rates, leases and
	// retries; nil: Now.
	Wall    func() time.Time
	Weather weather.Provider // nil: the climate alone
	Logger  *slog.Logger     // nil: nothing is logged but for what /terminal/log keeps
	Version string           // of the program, for metrics and the manifests of backups

	// ImportFrom are the places outside of the service's own store whose files
	// an upload may name by URL; see [objects.Allow]. None: only its own.
	ImportFrom []string

	// Store is the URL of the database that replicas share, as in
	// postgres://user@host/sunloop; empty: a file in the data folder, for this
	// process alone.
	Store string
	// StoreFile is a file that holds the URL in the place of Store, which New then
	// fills in. User and password in it are read again for each new connection.
	StoreFile string
	// Await lets New succeed although the database cannot be opened yet: the
	// service answers that it is not ready, and opens it by itself in
	// [Service.Run]. See [Service.Waiting].
	Await bool
	// Objects is where whole files are kept: a bucket, which replicas share, as in
	// s3://bucket/prefix, or a folder, which is one process's; empty: a folder of
	// the data folder.
	Objects string
	// New allows an empty service in a data folder that has files of a former one,
	// but no database; see [ErrRemains].
	New bool
	// KeyFile is what seals secrets, equal on all replicas; empty: sunloop.key in
	// the data folder.
	KeyFile string

	// Rates turn the costs of bills of materials into sites' currencies, and
	// what partner snapshots say into ZAR, where they are known.
	Rates ops.Rates

	// PartsFile is a parts catalogue of one's own; empty: the program's.
	PartsFile string
	// CrewHours are those in which work is planned; zero: [maintenance.DefaultHours].
	CrewHours maintenance.Hours
	// OrderLimits are how long orders may take, by priority or for emergencies,
	// in place of [maintenance.DefaultLimits].
	OrderLimits map[string]maintenance.Limits
	// WebhookAllow are hosts, addresses and networks that webhooks may be sent
	// to although they are private or without encryption.
	WebhookAllow []string

	TrainingDays  int           // days of data before training starts; 180
	Workers       int           // jobs at a time; 2
	HorizonHours  int           // of stored forecasts; 48
	ForecastEvery time.Duration // by the plant's clock; 1 h
	DetectEvery   time.Duration // by the plant's clock; 15 min
	Settle        time.Duration // by the wall, between two forecasts or detections of a site; 5 s
	Tick          time.Duration // by the wall, how often the planner looks; 1 s
	Lease         time.Duration // of jobs, by the wall; 30 s

	// SMTP is the server that letters go out through; nil: into files of the
	// folder "outbox" in the data folder.
	SMTP *mail.Server

	// SetupToken is called by Run with the one-time token that makes the first
	// administrator over HTTP, and the file that holds it, if there is no user;
	// nil: there is neither token nor file.
	SetupToken func(token, file string)

	RequireMFA  bool
	Argon       *argon2id.Params // nil: auth's default; tests take cheap ones
	CORSOrigins []string
	// TrustedProxies are the networks of proxies whose X-Forwarded-For and
	// X-Forwarded-Proto are believed.
	TrustedProxies []netip.Prefix
	// Wait is how long a request may wait for database and bucket in all; 0 means
	// [httpapi.DefaultWait].
	Wait time.Duration
	// DatabaseLimit is how long the database may take for one answer to other work;
	// 0 means 30 s.
	DatabaseLimit time.Duration
	KeyRate       int // accepted requests a minute, key and API; the contract's 60
	UserRate      int // the same of a signed-in person; the contract's 600

	Metrics     bool            // count, for [Service.Metrics]
	Tracer      *tracing.Tracer // nil: nothing is traced; the caller closes it
	LogRequests bool            // at info; otherwise at debug

	TokenLifetime time.Duration   // of users' tokens; the contract's 24 h
	SigningKeyAge time.Duration   // at which the key of tokens is rotated; auth's default, negative: never
	Providers     []auth.Provider // whose tokens people sign in with
}

// Service is the whole backend over one data folder, or one replica of it over a
// database.
type Service struct {
	cfg         Config
	store       home
	file        *bolt.Store     // the home, where it is a file
	database    *postgres.Store // the home, where it is a database
	disk        *store.Disk
	userMade    chan struct{} // a user was created
	spool       string        // the folder of files that come in
	keyFile     string
	objects     *objects.Store
	outside     *objects.Elsewhere
	auth        *auth.Service
	trail       *audit.Trail
	ops         *ops.Service
	maintenance *maintenance.Service
	webhooks    *webhook.Deliverer
	pipeline    *pipeline.Pipeline
	freemium    *freemium.Service
	handler     http.Handler // what is served: an answer that it is not yet, and then the next
	served      http.Handler
	log         *slog.Logger
	logs        *logbuffer.Buffer
	dir         string // of the data
	version     string
	wall        func() time.Time
	backing     sync.Mutex // held while a backup is made
	observer    *observer
	space       func() (free, size uint64, err error) // of the disk
	unavailable map[string]api.Time                   // when each unavailable capability was found so; guarded by mu
	unready     string                                // in the words of the log, when readiness was last asked for; guarded by mu

	stop    context.Context // ends with Close
	cancel  context.CancelFunc
	mu      sync.Mutex // of the moment between Run and Close
	running sync.WaitGroup
	ending  atomic.Bool
	closing sync.Once

	open    atomic.Bool            // the home and all parts over it are there
	waiting atomic.Pointer[string] // why they are not, in words for strangers
}

// New opens the data folder, making it where there is none, or the database. The
// error is [store.ErrLocked] when another process has the folder.
func New(cfg Config) (*Service, error) {
	if cfg.DataDir == "" || cfg.Now == nil {
		return nil, errors.New("backend: a data folder and a clock are needed")
	}
	if cfg.Wall == nil {
		cfg.Wall = cfg.Now
	}
	if cfg.StoreFile != "" {
		var err error
		if cfg.Store, err = postgres.ReadURL(cfg.StoreFile); err != nil {
			return nil, err
		}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	plain := logbuffer.Carry(cfg.Logger.Handler(), originOf)
	kept := logbuffer.New(cfg.Logger.Handler(), slog.LevelInfo)
	cfg.Logger = slog.New(logbuffer.Carry(kept, originOf))
	s := &Service{cfg: cfg, userMade: make(chan struct{}, 1), disk: new(store.Disk), dir: cfg.DataDir, keyFile: keyFileOf(cfg), log: cfg.Logger, logs: kept, version: cfg.Version, wall: cfg.Wall, space: func() (free, size uint64, err error) { return diskSpace(cfg.DataDir) }}
	s.observer = s.newObserver(cfg, plain)
	s.stop, s.cancel = context.WithCancel(context.Background())
	if cfg.Store != "" {
		if err := s.openReplica(cfg); err != nil {
			return nil, err
		}
		s.warnOfModes()
		return s, nil
	}
	if err := s.openFile(cfg); err != nil {
		return nil, err
	}
	err := s.openObjects(cfg)
	if err == nil {
		err = s.compose(context.Background(), cfg)
	}
	if err != nil {
		return nil, errors.Join(err, s.closeAll())
	}
	s.handler = s.served
	s.open.Store(true)
	s.warnOfModes()
	return s, nil
}

// compose makes the parts over the open store.
func (s *Service) compose(ctx context.Context, cfg Config) error {
	var err error
	if s.outside, err = objects.Allow(cfg.ImportFrom...); err != nil {
		return err
	}
	key, err := s.keyOf(ctx)
	if err != nil {
		return err
	}
	s.auth, err = auth.New(ctx, auth.Options{Records: s.store, Key: key, Now: cfg.Wall, RequireMFA: cfg.RequireMFA,
		TokenLifetime: cfg.TokenLifetime, SigningKeyAge: cfg.SigningKeyAge, Providers: cfg.Providers, Argon: cfg.Argon, Shared: s.replica(),
		HasSites: ops.HasSites,
		OnUser: func() {
			select {
			case s.userMade <- struct{}{}:
			default:
			}
		}})
	if err != nil {
		return fmt.Errorf("open the accounts: %w", err)
	}
	s.trail = audit.New(s.store, cfg.Wall)
	s.ops = ops.New(s.store, s.store, cfg.Now)
	snapshots, err := partner.New(partner.Config{Records: s.store, Ops: s.ops, Now: cfg.Now, Rates: cfg.Rates})
	if err != nil {
		return err
	}
	if err := s.newMaintenance(cfg, key, snapshots); err != nil {
		return err
	}
	snapshots.Schedules = s.maintenance // each needs the other
	s.pipeline, err = pipeline.New(pipeline.Config{
		Records: s.store, Telemetry: s.store, Queue: s.store, Cluster: s.store, Objects: s.objects, Elsewhere: s.outside, Ops: s.ops, Partner: snapshots, Weather: s.observer.sky(cfg.Weather), Hooks: s.observer.jobs(), Repairs: s.maintenance,
		Now: cfg.Now, Wall: cfg.Wall, Logger: cfg.Logger, Workers: cfg.Workers, TrainingDays: cfg.TrainingDays, HorizonHours: cfg.HorizonHours,
		ForecastEvery: cfg.ForecastEvery, DetectEvery: cfg.DetectEvery, Settle: cfg.Settle, Tick: cfg.Tick, Lease: cfg.Lease,
		Exclusive: !s.replica(), // a file has one owner at a time
	})
	if err != nil {
		return err
	}
	sender, err := post(cfg)
	if err != nil {
		return err
	}
	sender = letters{sender, s.observer}
	s.freemium, err = freemium.New(freemium.Options{Records: s.store, Key: key[:], Mail: sender, Now: cfg.Wall, Log: cfg.Logger})
	if err != nil {
		return err
	}
	if err := s.makeSpool(cfg); err != nil {
		return err
	}
	s.served = httpapi.New(httpapi.Deps{
		Auth: s.auth, Sites: s.ops, Assets: s.ops, Uploads: s.pipeline.Imports, Forecasts: forecastRequests{s.pipeline.Forecasts, s.pipeline.Snapshots}, Findings: s.ops, Detector: s.pipeline.Detections, Diagnoser: s.pipeline.Detections, Issues: s.ops, Alerts: s.ops,
		Models: s.pipeline.Training, Interpolations: s.pipeline.Gaps, Summaries: s.ops, KPIs: s.ops, Nowcasts: s.ops, Snapshots: snapshots, Freemium: s.freemium, Telemetry: s.store, Audit: s.trail, Journal: s.logs, Records: s.store, Now: cfg.Wall, Ready: s.ready, Uploadable: s.uploadable, Disk: s.disk, Log: cfg.Logger, Observe: s.observer.http(),
		SpoolDir: s.spool, CORSOrigins: cfg.CORSOrigins, TrustedProxies: cfg.TrustedProxies, KeyRate: cfg.KeyRate, UserRate: cfg.UserRate, Wait: cfg.Wait,
		Schedules: s.maintenance, BOMs: s.maintenance, Orders: s.maintenance, Tracking: s.maintenance, Limiter: s.limiter(), Shared: s.replica(),
	})
	return nil
}

// forecastRequests answers all requests for forecasts.
type forecastRequests struct {
	*forecasting.Forecaster
	*snapshot.Builder
}

// newMaintenance opens maintenance over the open store, with what delivers its
// webhooks.
func (s *Service) newMaintenance(cfg Config, key auth.Key, plans maintenance.Plans) error {
	catalogue, err := maintenance.LoadCatalogue(cfg.PartsFile)
	if err != nil {
		return err
	}
	guard, err := webhook.NewGuard(cfg.WebhookAllow...)
	if err != nil {
		return fmt.Errorf("places that webhooks may be sent to: %w", err)
	}
	s.maintenance, err = maintenance.New(maintenance.Config{Records: s.store, Ops: s.ops, Now: cfg.Now, Wall: cfg.Wall, Plans: plans, Catalogue: catalogue, Rates: cfg.Rates, Crew: cfg.CrewHours, Limits: cfg.OrderLimits, Guard: guard, Sealer: key})
	poster := webhook.NewPoster(guard, cfg.Wall)
	poster.Wrap(s.observer.tracer.Transport)
	s.webhooks = &webhook.Deliverer{Outbox: s.maintenance, Poster: poster, Now: cfg.Wall, Log: cfg.Logger, Around: s.observer.post}
	return err
}

// outboxFrom is the sender of letters that nobody sends.
const outboxFrom = "Sunloop <sunloop@localhost.localdomain>"

// post is where letters go.
func post(cfg Config) (freemium.Sender, error) {
	if cfg.SMTP != nil {
		return mail.NewSMTP(*cfg.SMTP)
	}
	return mail.OpenOutbox(filepath.Join(cfg.DataDir, outboxFolder), outboxFrom)
}

// Handler serves every host's paths.
func (s *Service) Handler() http.Handler { return s.handler }

// HandlerAt serves the paths of some hosts (none: all) under a prefix such as
// /sunloop (empty: none), and the health paths.
func (s *Service) HandlerAt(prefix string, hosts ...api.Host) http.Handler {
	return httpapi.View(s.handler, prefix, hosts...)
}

// EndReadiness lets the service say from now on that it is not ready, so that
// whoever spreads requests over replicas leaves it out.
func (s *Service) EndReadiness() { s.ending.Store(true) }

// Auth keeps users and API keys, for the command line beside the data folder.
func (s *Service) Auth() *auth.Service { return s.auth }

// Trail is who changed what, for the command line beside the data folder.
func (s *Service) Trail() *audit.Trail { return s.trail }

// NoteSignIn leaves the record of a sign-in that came by no request, with its
// answer or refusal; what it answers is the refusal, or why there is no record.
func (s *Service) NoteSignIn(ctx context.Context, action, address string, answer api.LoginResponse, refusal error) error {
	r := api.AuditRecord{Address: address, Route: "login", Action: action, Status: http.StatusOK}
	var e *api.Error
	switch {
	case errors.As(refusal, &e):
		r.Status, r.Error = e.Status, e.Message
		if id := auth.SubjectOf(refusal); id != "" {
			r.TargetIDs = map[string]string{"user_id": id}
		}
	case refusal != nil:
		return refusal
	case answer.Account != nil:
		r.Actor, r.ActorID, r.CustomerIDs = answer.Account.Username, answer.Account.UserID, answer.Account.CustomerIDs
	}
	s.observer.metrics.SignIn("ssh_key", signInOutcome(r.Status, answer.Token == ""))
	return errors.Join(refusal, s.trail.Append(context.WithoutCancel(ctx), r))
}

// Freemium are the forecasts without an account, for the command line beside
// the data folder.
func (s *Service) Freemium() *freemium.Service { return s.freemium }

// Ops is the domain, for the command line beside the data folder.
func (s *Service) Ops() *ops.Service { return s.ops }

// sweepEvery is how often sign-ins and codes that have expired are dropped.
const sweepEvery = time.Hour

// Run works on the jobs and keeps the timers until ctx ends or the Service is
// closed, then waits for all that it started.
func (s *Service) Run(ctx context.Context) error {
	if !s.begin() {
		return nil // it was closed before it began
	}
	defer s.running.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.stop, cancel)()
	if err := s.await(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	var sweeping sync.WaitGroup
	defer sweeping.Wait()
	sweeping.Go(func() { s.sweep(ctx) })
	sweeping.Go(func() { s.webhooks.Run(ctx) })
	if s.cfg.SetupToken != nil {
		sweeping.Go(func() { s.offerSetup(ctx) })
	}
	if !s.replica() { // a database is copied beside its replicas, not by one of them
		sweeping.Go(func() { s.operate(ctx) })
	}
	defer cancel()
	return s.workOn(ctx)
}

// begin counts a Run, unless Close has begun.
func (s *Service) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop.Err() != nil {
		return false
	}
	s.running.Add(1)
	return true
}

// sweep drops what has expired, on one replica at a time, until ctx ends.
func (s *Service) sweep(ctx context.Context) {
	err := s.store.Leader(ctx, "sweep", func(ctx context.Context) error {
		tick := time.NewTicker(sweepEvery)
		defer tick.Stop()
		for {
			err := errors.Join(s.auth.Sweep(ctx), s.trail.Sweep(ctx), s.freemium.Sweep(ctx), s.maintenance.Sweep(ctx))
			if s.database != nil {
				_, forgot := s.database.ForgetRates(ctx, httpapi.RateWindow)
				err = errors.Join(err, forgot)
			}
			if err != nil && ctx.Err() == nil {
				s.log.Warn("drop what has expired", "error", err)
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
		}
	})
	if err != nil && ctx.Err() == nil {
		s.log.Warn("drop what has expired", "error", err)
	}
}

// closeAll closes what holds files or connections.
func (s *Service) closeAll() error {
	var err error
	if s.objects != nil {
		err = s.objects.Close()
	}
	return errors.Join(err, s.closeHome())
}

// closeHome is closeAll but for the objects.
func (s *Service) closeHome() error {
	var err error
	if s.outside != nil {
		err = s.outside.Close()
	}
	if s.replica() && s.spool != "" {
		err = errors.Join(err, os.RemoveAll(s.spool))
	}
	if s.store != nil {
		err = errors.Join(err, s.store.Close())
	}
	return err
}

// Close ends Run, waits for it, and closes the data folder. Requests that are
// being served must have ended.
func (s *Service) Close() error {
	var err error
	s.closing.Do(func() {
		s.mu.Lock()
		s.cancel()
		s.mu.Unlock()
		s.running.Wait()
		err = s.closeAll()
	})
	return err
}
