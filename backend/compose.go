package backend

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"slices"

	"app.sunloop/backend/admin"
	"app.sunloop/backend/api"
	"app.sunloop/backend/audit"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/check"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/domain/maintenance"
	"app.sunloop/backend/domain/notification"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/report"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/domain/subscription"
	"app.sunloop/backend/freemium"
	"app.sunloop/backend/health"
	"app.sunloop/backend/httpapi"
	"app.sunloop/backend/instrument"
	"app.sunloop/backend/logbuffer"
	"app.sunloop/backend/mail"
	"app.sunloop/backend/notify"
	"app.sunloop/backend/notify/channel"
	"app.sunloop/backend/partner"
	"app.sunloop/backend/pipeline"
	"app.sunloop/backend/pipeline/forecasting"
	"app.sunloop/backend/pipeline/snapshot"
	"app.sunloop/backend/store"
	"app.sunloop/backend/stream"
	"app.sunloop/backend/webhook"
)

// dependencies are what the parts share besides the storage.
type dependencies struct {
	instruments *instrument.Instruments
	health      *health.Checker
	logs        *logbuffer.Buffer
	disk        *store.Disk
	userCreated chan<- struct{}
	devices     func() httpapi.Sources // what reads devices in this process
}

// parts are all parts of a service over an open storage.
type parts struct {
	auth        *auth.Service
	trail       *audit.Trail
	domain      *domain.Services
	maintenance *maintenance.Service
	webhooks    *webhook.Deliverer
	events      *subscription.Service
	eventHooks  *webhook.Deliverer
	notify      *notification.Service
	reports     *report.Service
	pipeline    *pipeline.Pipeline
	freemium    *freemium.Service
	changes     *stream.Log
	streams     *stream.Hub
	admin       *admin.Server
	handler     http.Handler
}

// compose makes the parts over the storage. It starts nothing.
func compose(ctx context.Context, cfg Config, st *storage, d dependencies) (*parts, error) {
	key, err := openKey(ctx, cfg, st.records)
	if err != nil {
		return nil, err
	}
	p := new(parts)
	p.auth, err = auth.New(ctx, auth.Options{Records: st.records, Key: key, Now: cfg.Wall, RequireMFA: cfg.RequireMFA,
		TokenLifetime: cfg.TokenLifetime, SigningKeyAge: cfg.SigningKeyAge, Providers: cfg.Providers, Argon: cfg.Argon, Shared: st.shared(),
		HasSites: site.HasSites,
		OnUser: func() {
			select {
			case d.userCreated <- struct{}{}:
			default:
			}
		}})
	if err != nil {
		return nil, fmt.Errorf("open accounts: %w", err)
	}
	p.trail = audit.New(st.records, cfg.Wall)
	// Each needs the other: the domain writes through the log, which asks it for the
	// customer of a site.
	p.changes = stream.Watch(st.records, st.records, cfg.Wall, func(tx store.Tx, siteID string) (string, error) {
		found, err := p.domain.Sites.SiteIn(tx, api.Unlimited("stream"), siteID)
		return found.CustomerID, err
	}, cfg.Logger)
	p.streams = stream.NewHub(p.changes, cfg.Logger)
	p.domain = domain.New(p.changes, p.changes, cfg.Now)
	snapshots, err := partner.New(partner.Config{Records: st.records, Domain: p.domain, Now: cfg.Now, Rates: cfg.Rates})
	if err != nil {
		return nil, err
	}
	if err := p.composeMaintenance(cfg, st, d, key, snapshots); err != nil {
		return nil, err
	}
	snapshots.Schedules = p.maintenance // each needs the other
	if err := p.composeSubscriptions(cfg, st, d, key); err != nil {
		return nil, err
	}
	mailer, err := newMailer(cfg)
	if err != nil {
		return nil, err
	}
	mailer = d.instruments.Mailer(mailer)
	if err := p.composeNotifications(cfg, st, d, key, mailer); err != nil {
		return nil, err
	}
	p.composeReports(cfg, st)
	p.pipeline, err = pipeline.New(pipeline.Config{
		Records: p.changes, Telemetry: p.changes, Queue: st.records, Cluster: st.records, Objects: st.objects, ImportSource: st.external,
		Domain: p.domain, Partner: snapshots, Repairs: p.maintenance, SiteRecords: slices.Concat(maintenance.SiteRecords(), notification.SiteRecords(), subscription.SiteRecords(), record.OfSites(stream.SiteRecords()...)), Access: p.auth, RenameAsset: maintenance.RenameAsset, Weather: d.instruments.Weather(cfg.Weather), Hooks: d.instruments.Jobs(),
		Now: cfg.Now, Wall: cfg.Wall, Logger: cfg.Logger, Workers: cfg.Workers, TrainingDays: cfg.TrainingDays, HorizonHours: cfg.HorizonHours,
		ForecastEvery: cfg.ForecastEvery, DetectEvery: cfg.DetectEvery, Settle: cfg.Settle, Quiet: cfg.Quiet, Tick: cfg.Tick, Lease: cfg.Lease,
		Hold:        cfg.HoldJobs,
		Exclusive:   !st.shared(), // a file has one owner at a time
		LargestFile: cfg.LargestUpload, Free: func() (int64, bool) {
			free, _, err := d.health.Space()
			return int64(min(free, math.MaxInt64)), err == nil && !cfg.Paths().Bucket()
		},
	})
	if err != nil {
		return nil, err
	}
	p.freemium, err = freemium.New(freemium.Options{Records: st.records, Key: key[:], Mail: mailer, Now: cfg.Wall, Log: cfg.Logger})
	if err != nil {
		return nil, err
	}
	p.admin = &admin.Server{Paths: cfg.Paths(), Spool: st.spool, Version: cfg.Version, Store: st.records, Objects: st.objects, Trail: p.trail, Wall: cfg.Wall, Log: cfg.Logger, SitesNamed: p.domain.Sites.SitesNamed}
	p.handler = p.newHandler(cfg, st, d, snapshots)
	return p, nil
}

// newHandler returns the handler of all paths.
func (p *parts) newHandler(cfg Config, st *storage, d dependencies, snapshots *partner.Service) http.Handler {
	return httpapi.New(httpapi.Deps{
		Records: st.records, Telemetry: p.changes, Streams: p.streams, Collectors: p.pipeline.Live, Sources: d.devices, Disk: d.disk, SpoolDir: st.spool, Shared: st.shared(), Limiter: st.limiter(),
		Auth: p.auth, Audit: p.trail, Freemium: p.freemium, Journal: d.logs,
		Sites: p.domain.Sites, SiteChanges: p.pipeline.Changes, Assets: p.domain.Sites, Activities: p.domain.Sites, Findings: p.domain.Findings, Issues: p.domain.Issues, Alerts: p.domain.Alerts,
		Summaries: p.domain.KPIs, KPIs: p.domain.KPIs, Availability: p.domain.Availability, Shifts: p.domain.Shifts, Nowcasts: p.domain.KPIs, Snapshots: snapshots,
		Uploads: p.pipeline.Imports, Forecasts: forecastRequests{p.pipeline.Forecasts, p.pipeline.Snapshots}, Detector: p.pipeline.Detections,
		Diagnoser: p.pipeline.Detections, Models: p.pipeline.Training, Runs: p.pipeline, Interpolations: p.pipeline.Gaps,
		Schedules: p.maintenance, BOMs: p.maintenance, Orders: p.maintenance, Tracking: p.maintenance, Subscriptions: p.events, Notifications: p.notify,
		Ready: d.health.Ready, Uploadable: d.health.Uploadable, Observe: d.instruments.HTTP(),
		CORSOrigins: cfg.CORSOrigins, TrustedProxies: cfg.TrustedProxies, KeyRate: cfg.KeyRate, UserRate: cfg.UserRate, Wait: cfg.Wait,
		Now: cfg.Wall, Log: cfg.Logger,
	})
}

// forecastRequests answers all requests for forecasts.
type forecastRequests struct {
	*forecasting.Forecaster
	*snapshot.Builder
}

// composeMaintenance makes work management, and what delivers its webhooks.
func (p *parts) composeMaintenance(cfg Config, st *storage, d dependencies, key auth.Key, plans maintenance.Plans) error {
	catalogue, err := maintenance.LoadCatalogue(cfg.PartsFile)
	if err != nil {
		return err
	}
	guard, err := webhook.NewGuard(cfg.WebhookAllow...)
	if err != nil {
		return fmt.Errorf("places that webhooks may be sent to: %w", err)
	}
	p.maintenance, err = maintenance.New(maintenance.Config{Records: p.changes, Domain: p.domain, Now: cfg.Now, Wall: cfg.Wall, Plans: plans, Catalogue: catalogue,
		Rates: cfg.Rates, Crew: cfg.CrewHours, Limits: cfg.OrderLimits, Guard: guard, Sealer: key})
	poster := webhook.NewPoster(guard, cfg.Wall)
	poster.Wrap(d.instruments.Tracer().Transport)
	p.webhooks = &webhook.Deliverer{Outbox: p.maintenance, Poster: poster, Now: cfg.Wall, Log: cfg.Logger, Around: d.instruments.Webhook}
	return err
}

// composeSubscriptions makes what writes events of changes, and what posts them.
func (p *parts) composeSubscriptions(cfg Config, st *storage, d dependencies, key auth.Key) error {
	guard, err := webhook.NewGuard(cfg.WebhookAllow...)
	if err != nil {
		return fmt.Errorf("URLs that events may be sent to: %w", err)
	}
	poster := webhook.NewPoster(guard, cfg.Wall)
	poster.Wrap(d.instruments.Tracer().Transport)
	p.events, err = subscription.New(subscription.Config{Records: st.records, Wall: cfg.Wall, Guard: guard, Poster: poster, Sealer: key,
		Owner: func(tx store.Tx, scope api.Scope, siteID string) (string, error) {
			found, err := p.domain.Sites.SiteIn(tx, scope, siteID)
			return found.CustomerID, err
		},
		Single: func(tx store.Tx, siteID string) (bool, error) {
			units, err := p.domain.Sites.AssetsInTx(tx, siteID)
			return len(units) == 1, err
		}})
	if err != nil {
		return err
	}
	p.changes.Watcher = p.events
	p.eventHooks = &webhook.Deliverer{Outbox: p.events, Poster: poster, Now: cfg.Wall, Log: cfg.Logger, Around: d.instruments.Webhook}
	return nil
}

// composeNotifications makes what plans and sends notifications.
func (p *parts) composeNotifications(cfg Config, st *storage, d dependencies, key auth.Key, mailer freemium.Sender) error {
	var sender notify.Sender = cfg.NotifySender
	var checker notification.Checker
	if sender == nil {
		guard, err := webhook.NewGuard(cfg.WebhookAllow...)
		if err != nil {
			return fmt.Errorf("places that notifications may be sent to: %w", err)
		}
		channels := channel.New(channel.Config{Guard: guard, Mailer: mailer, Now: cfg.Wall, Chart: p.dayChart(cfg), Wrap: d.instruments.Tracer().Transport})
		sender, checker = channels, channels
	}
	var err error
	p.notify, err = notification.New(notification.Config{Records: p.changes, Cluster: st.records, Domain: p.domain, Wall: cfg.Wall, Sender: sender, Checker: checker, Observer: d.instruments, Sealer: key, Key: key[:],
		PublicURL: cfg.PublicURL, Shared: st.shared(), Log: cfg.Logger})
	return err
}

// outboxFrom is the sender of messages in the outbox.
const outboxFrom = "Sunloop <sunloop@localhost.localdomain>"

// newMailer returns what sends messages.
func newMailer(cfg Config) (freemium.Sender, error) {
	if cfg.SMTP != nil {
		return mail.NewSMTP(*cfg.SMTP)
	}
	return mail.OpenOutbox(filepath.Join(cfg.DataDir, check.OutboxFolder), outboxFrom)
}

// openKey returns the key that encrypts secrets, which all replicas have.
func openKey(ctx context.Context, cfg Config, r records) (auth.Key, error) {
	if cfg.Store == "" {
		return auth.FolderKey(ctx, r, cfg.Paths().Key())
	}
	return auth.SharedKey(ctx, r, cfg.Paths().Key())
}
