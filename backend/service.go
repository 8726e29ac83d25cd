package backend

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alexedwards/argon2id"

	"app.sunloop/backend/admin"
	"app.sunloop/backend/admission"
	"app.sunloop/backend/api"
	"app.sunloop/backend/audit"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/check"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/domain/maintenance"
	"app.sunloop/backend/domain/notification"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/freemium"
	"app.sunloop/backend/health"
	"app.sunloop/backend/httpapi"
	"app.sunloop/backend/instrument"
	"app.sunloop/backend/lambda"
	"app.sunloop/backend/logbuffer"
	"app.sunloop/backend/mail"
	"app.sunloop/backend/notify"
	"app.sunloop/backend/pipeline/importer"
	"app.sunloop/backend/pipeline/livedata"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/backend/store/objects"
	"app.sunloop/backend/store/postgres"
	"app.sunloop/backend/tracing"
	"app.sunloop/engine/weather"
)

// Config configures a Service. DataDir and Now are required; a zero value of the
// other fields takes its default.
type Config struct {
	DataDir string
	// Now is the plant's clock: what telemetry is compared with. A simulation
	// may run it fast.
	Now func() time.Time
	// Wall is the real clock, for tokens, one-time codes, rates, leases and
	// retries; nil: Now.
	Wall    func() time.Time
	Weather weather.Provider // nil: climatology only
	Logger  *slog.Logger     // nil: events are only kept for /terminal/log
	Version string           // of the program, for metrics and the manifests of backups

	// ImportFrom are the external sources whose files an upload may name by URL;
	// see [objects.Allow].
	ImportFrom []string

	// Store is the URL of the database that replicas share, as in
	// postgres://user@host/sunloop; empty: a file in the data folder, for this
	// process only.
	Store string
	// StoreFile is a file with the URL, which New reads into Store. User and
	// password in it are read again for each new connection.
	StoreFile string
	// Await lets New succeed if the database cannot be opened yet: the service is
	// not ready, and [Service.Run] opens the database. See [Service.Waiting].
	Await bool
	// Objects is where files are stored: a bucket, which replicas share, as in
	// s3://bucket/prefix, or a folder of one process; empty: a folder in the data
	// folder.
	Objects string
	// New allows an empty service in a data folder that has files of a service, but
	// no database; see [check.ErrRemains].
	New bool
	// KeyFile holds the key that encrypts secrets, equal on all replicas; empty:
	// sunloop.key in the data folder.
	KeyFile string

	// Rates convert the costs of bills of materials to the currencies of sites, and
	// partner snapshots to ZAR, as far as they are known.
	Rates site.Rates

	// PartsFile is a parts catalogue; empty: the program's.
	PartsFile string
	// CrewHours are those in which work is planned; zero: [maintenance.DefaultHours].
	CrewHours maintenance.Hours
	// OrderLimits are how long orders may take, by priority or for emergencies,
	// in place of [maintenance.DefaultLimits].
	OrderLimits map[string]maintenance.Limits
	// WebhookAllow are hosts, addresses and networks to which webhooks may be sent
	// although they are private or not encrypted.
	WebhookAllow []string
	// Heartbeat is a URL that is called each minute while the service is well: its
	// parts are ready and detection is not behind. Empty: none.
	Heartbeat string

	// PublicURL is the address of the service for people, such as
	// https://sunloop.example.com, for links in messages; empty: messages have none.
	PublicURL string
	// NotifySender sends notifications in place of the channels; nil: the channels.
	NotifySender notify.Sender

	// LargestUpload is the size of the largest file that is taken in parts, in bytes;
	// 0: [api.DefaultLargeUpload].
	LargestUpload int64

	// HoldJobs reports whether jobs other than imports and changes of sites wait; nil:
	// they never do. A command that imports many files, or a file in many pieces,
	// holds the jobs that read all that is stored.
	HoldJobs func() bool

	TrainingDays  int           // days of data before training starts; 180
	Workers       int           // jobs at a time; 2
	HorizonHours  int           // of stored forecasts; 48
	ForecastEvery time.Duration // by the plant's clock; 1 h
	DetectEvery   time.Duration // by the plant's clock; 15 min
	Settle        time.Duration // by the wall, between two forecasts or detections of a site; 5 s
	Quiet         time.Duration // by the wall, from the last upload of a site to its training; 1 s
	Tick          time.Duration // by the wall, interval of the planner; 1 s
	Lease         time.Duration // of jobs, by the wall; 30 s

	// SMTP is the server that messages are sent through; nil: they are written to
	// the folder "outbox" in the data folder.
	SMTP *mail.Server

	// SetupToken is called by Run, if there is no user, with the one-time token that
	// creates the first administrator over HTTP, and the file that holds it; nil:
	// there is neither token nor file.
	SetupToken func(token, file string)

	RequireMFA  bool
	Argon       *argon2id.Params // nil: auth's default; tests take cheap ones
	CORSOrigins []string

	// LambdaAdapter lets clients that invoke functions of AWS Lambda use the API; see
	// package lambda.
	LambdaAdapter bool
	// TrustedProxies are the networks of proxies whose X-Forwarded-For and
	// X-Forwarded-Proto are trusted.
	TrustedProxies []netip.Prefix
	// Wait is the total time that a request may wait for database and bucket; 0 means
	// [httpapi.DefaultWait].
	Wait time.Duration
	// DatabaseLimit is the time that the database may take for one call of other work;
	// 0 means 30 s.
	DatabaseLimit time.Duration
	KeyRate       int // accepted requests a minute, key and API; the contract's 60
	UserRate      int // the same of a signed-in person; the contract's 600

	Metrics     bool            // count, for [Service.Metrics]
	Tracer      *tracing.Tracer // nil: no traces; the caller closes it
	LogRequests bool            // at info; otherwise at debug

	TokenLifetime time.Duration   // of users' tokens; the contract's 24 h
	SigningKeyAge time.Duration   // rotation interval of the key of tokens; auth's default, negative: never
	Providers     []auth.Provider // identity providers for sign-in
}

// Paths returns where the installation keeps its data.
func (c Config) Paths() check.Paths {
	return check.Paths{DataDir: c.DataDir, Store: c.Store, Objects: c.Objects, KeyFile: c.KeyFile}
}

// Service is the backend over one data folder, or one replica over a database.
type Service struct {
	cfg         Config
	instruments *instrument.Instruments
	health      *health.Checker
	logs        *logbuffer.Buffer
	log         *slog.Logger
	disk        *store.Disk
	objects     *objects.Store
	userCreated chan struct{} // receives an element when a user is created
	reads       atomic.Pointer[httpapi.Sources]

	opened atomic.Pointer[opened] // nil until the database is open
	reason atomic.Pointer[string] // why it is not open, without secrets
	closed http.Handler           // serves until then; nil if New has opened everything

	stop    context.Context // ends with Close
	cancel  context.CancelFunc
	mu      sync.Mutex // between Run and Close
	running sync.WaitGroup
	closing sync.Once
}

// opened is the open storage of a service with all parts over it.
type opened struct {
	*storage
	*parts
}

// New opens the data folder, creating it if it is missing, or the database. The
// error is [store.ErrLocked] if another process has the folder.
func New(cfg Config) (*Service, error) {
	if cfg.DataDir == "" || cfg.Now == nil {
		return nil, errors.New("backend: a data folder and a clock are required")
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
	plain := logbuffer.Carry(logbuffer.Rewrite(cfg.Logger.Handler(), api.HideSiteKeysInText), instrument.Origin)
	logs := logbuffer.New(cfg.Logger.Handler(), slog.LevelInfo)
	cfg.Logger = slog.New(logbuffer.Carry(logbuffer.Rewrite(logs, api.HideSiteKeysInText), instrument.Origin))
	s := &Service{cfg: cfg, log: cfg.Logger, logs: logs, disk: new(store.Disk), userCreated: make(chan struct{}, 1)}
	s.stop, s.cancel = context.WithCancel(context.Background())
	s.instruments = instrument.New(instrument.Config{Metrics: cfg.Metrics, Tracer: cfg.Tracer, LogRequests: cfg.LogRequests, Log: plain, Wall: cfg.Wall,
		Version: cfg.Version, Schema: newestSchema(cfg), Sources: s.sources()})
	if err := s.start(); err != nil {
		s.cancel()
		return nil, err
	}
	warnOfModes(cfg)
	return s, nil
}

// start opens the objects and the records. A database that cannot be opened yet is
// left to Run, if the configuration allows it.
func (s *Service) start() error {
	if s.replica() {
		if err := prepareReplica(s.cfg); err != nil {
			return err
		}
	} else if !s.cfg.New {
		if err := check.RejectRemains(s.cfg.DataDir); err != nil {
			return err
		}
	}
	var file *bolt.Store
	if !s.replica() {
		var err error
		if file, err = openFile(s.cfg, s.disk, s.instruments); err != nil {
			return err
		}
	}
	var err error
	if s.objects, err = openObjects(s.cfg, s.disk); err != nil {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
		return err
	}
	s.health = s.newHealth()
	if file != nil {
		err = s.open(context.Background(), fileStorage{file})
	} else {
		err = s.startReplica()
	}
	if err != nil {
		return errors.Join(err, s.objects.Close())
	}
	return nil
}

// open makes the storage and all parts over open records, which it closes if it
// fails.
func (s *Service) open(ctx context.Context, r records) error {
	st, err := newStorage(s.cfg, r, s.objects)
	if err != nil {
		return errors.Join(err, r.Close())
	}
	p, err := compose(ctx, s.cfg, st, dependencies{instruments: s.instruments, health: s.health, logs: s.logs, disk: s.disk, userCreated: s.userCreated, devices: s.devices})
	if err != nil {
		return errors.Join(err, st.Close())
	}
	s.opened.Store(&opened{st, p})
	return nil
}

// replica reports whether the records are in a database, which other processes
// may serve too.
func (s *Service) replica() bool { return s.cfg.Store != "" }

func (s *Service) newHealth() *health.Checker {
	p := s.cfg.Paths()
	return health.New(health.Config{DataDir: p.DataDir, KeyFile: p.Key(), Disk: s.disk, Objects: s.objects, Bucket: p.Bucket(), Shared: p.Shared(),
		Mail: s.cfg.SMTP != nil, Wall: s.cfg.Wall, Log: s.log, JobProgress: s.instruments.JobProgress, MailFailure: s.instruments.MailFailure,
		Open: func() (health.Records, string, string) {
			if o := s.opened.Load(); o != nil {
				return o.records, o.spool, ""
			}
			return nil, "", s.waitingFor()
		}})
}

// sources returns what a scrape of the metrics reads.
func (s *Service) sources() instrument.Sources {
	outbox := filepath.Join(s.cfg.DataDir, check.OutboxFolder)
	if s.cfg.SMTP != nil {
		outbox = ""
	}
	return instrument.Sources{DataDir: s.cfg.DataDir, Outbox: outbox, Now: s.cfg.Now,
		Readiness: func(ctx context.Context) map[string]string { return s.health.Readiness(ctx) },
		Open: func() *instrument.Open {
			o := s.opened.Load()
			if o == nil {
				return nil
			}
			return &instrument.Open{Store: o.records, Objects: o.objects, Sites: o.pipeline, Findings: o.domain.Findings, Webhooks: o.maintenance, Notifications: o.notify, Events: o.events, LastBackup: o.admin.LastBackup}
		}}
}

// Handler serves every host's paths.
func (s *Service) Handler() http.Handler {
	if s.closed == nil {
		return s.opened.Load().handler
	}
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if o := s.opened.Load(); o != nil {
			o.handler.ServeHTTP(w, q)
			return
		}
		s.closed.ServeHTTP(w, q)
	})
}

// HandlerAt serves the paths of some hosts (none: all) under a prefix such as
// /sunloop (empty: none), and the health paths.
func (s *Service) HandlerAt(prefix string, hosts ...api.Host) http.Handler {
	h := httpapi.View(s.Handler(), prefix, hosts...)
	if s.cfg.LambdaAdapter && (len(hosts) == 0 || slices.Contains(hosts, api.HostMain)) {
		h = lambda.New(h, prefix)
	}
	return h
}

// Metrics serves the metrics in Prometheus' formats; nil unless [Config.Metrics].
func (s *Service) Metrics() http.Handler { return s.instruments.Handler() }

// ConsoleOpened counts a console over SSH until closed is called.
func (s *Service) ConsoleOpened() (closed func()) { return s.instruments.ConsoleOpened() }

// ConnectionDropped returns a function that counts the dropped connections of one of
// [metrics.ServerHTTP] and [metrics.ServerSSH].
func (s *Service) ConnectionDropped(server string) func(admission.Drop) {
	return s.instruments.ConnectionDropped(server)
}

// EndReadiness reports the service as not ready from now on, so that a load
// balancer sends no more requests.
func (s *Service) EndReadiness() {
	s.health.End()
	if o := s.opened.Load(); o != nil {
		o.streams.End()
	}
}

// Waiting returns why the service cannot work yet, as the error of a request; nil
// once it can. Until then only its health paths are served, and the parts below
// are nil.
func (s *Service) Waiting() error {
	if s.opened.Load() != nil {
		return nil
	}
	return httpapi.Unavailable(s.waitingFor())
}

func (s *Service) waitingFor() string {
	if why := s.reason.Load(); why != nil {
		return *why
	}
	return "the database is being opened"
}

// part returns a part of an open service; the zero value while it is not open.
func part[T any](s *Service, of func(*opened) T) (v T) {
	if o := s.opened.Load(); o != nil {
		v = of(o)
	}
	return v
}

// Auth manages users and API keys.
func (s *Service) Auth() *auth.Service {
	return part(s, func(o *opened) *auth.Service { return o.auth })
}

// Trail is the audit trail.
func (s *Service) Trail() *audit.Trail {
	return part(s, func(o *opened) *audit.Trail { return o.trail })
}

// Notifications plans and sends notifications of alarms.
func (s *Service) Notifications() *notification.Service {
	return part(s, func(o *opened) *notification.Service { return o.notify })
}

// Freemium makes forecasts without an account.
func (s *Service) Freemium() *freemium.Service {
	return part(s, func(o *opened) *freemium.Service { return o.freemium })
}

// Domain has the records of sites.
func (s *Service) Domain() *domain.Services {
	return part(s, func(o *opened) *domain.Services { return o.domain })
}

// Live stores the samples of devices that this process reads.
func (s *Service) Live() *livedata.Live {
	return part(s, func(o *opened) *livedata.Live { return o.pipeline.Live })
}

// Deliveries takes in the files that sources of a site have.
func (s *Service) Deliveries(customerID, siteID string) *importer.Deliveries {
	return part(s, func(o *opened) *importer.Deliveries {
		return &importer.Deliveries{Importer: o.pipeline.Imports, CustomerID: customerID, SiteID: siteID}
	})
}

// SetSources says what reads devices in this process, for consoles and the API; nil:
// nothing does.
func (s *Service) SetSources(r httpapi.Sources) {
	if r == nil {
		s.reads.Store(nil)
		return
	}
	s.reads.Store(&r)
}

// devices is what reads devices in this process.
func (s *Service) devices() httpapi.Sources {
	if r := s.reads.Load(); r != nil {
		return *r
	}
	return nil
}

// Admin carries out administrative requests.
func (s *Service) Admin() *admin.Server {
	return part(s, func(o *opened) *admin.Server { return o.admin })
}

// RecordSignIn records a sign-in that was no request, with its response or its
// error. It returns that error, or why it could not be recorded.
func (s *Service) RecordSignIn(ctx context.Context, action, address string, answer api.LoginResponse, refusal error) error {
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
	s.instruments.SignIn("ssh_key", r.Status, answer.Token == "")
	return errors.Join(refusal, s.Trail().Append(context.WithoutCancel(ctx), r))
}

// Close ends Run, waits for it, and closes the storage. Requests that are being
// served must have ended.
func (s *Service) Close() error {
	var err error
	s.closing.Do(func() {
		s.mu.Lock()
		s.cancel()
		s.mu.Unlock()
		s.running.Wait()
		err = s.objects.Close()
		if o := s.opened.Load(); o != nil {
			err = errors.Join(err, o.Close())
		}
	})
	return err
}
