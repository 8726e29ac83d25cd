package backend

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"app.sunloop/backend/admission"
	"app.sunloop/backend/api"
	"app.sunloop/backend/freemium"
	"app.sunloop/backend/httpapi"
	"app.sunloop/backend/mail"
	"app.sunloop/backend/metrics"
	"app.sunloop/backend/pipeline"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/objects"
	"app.sunloop/backend/tracing"
	"app.sunloop/backend/webhook"
	"app.sunloop/engine/solar"
	"app.sunloop/engine/weather"
)

// observer tells metrics, traces and log what the parts do.
type observer struct {
	metrics  *metrics.Metrics // nil: nothing is counted
	tracer   *tracing.Tracer  // nil: nothing is traced
	log      *slog.Logger     // of requests and jobs; not kept for /terminal/log, which they would fill
	requests slog.Level       // of a request's line
	wall     func() time.Time
	progress atomic.Int64 // Unix nanoseconds by the wall at which a job last began or ended
	consoles atomic.Int64 // open over SSH

	mailFailure atomic.Pointer[string] // why the mail server took no message last; nil: it did
}

// originOf are the attributes that a context gives to events of the log.
func originOf(ctx context.Context) []slog.Attr {
	if id := store.OriginOf(ctx).RequestID; id != "" {
		return []slog.Attr{slog.String("request_id", id)}
	}
	return nil
}

// http are the hooks of requests.
func (o *observer) http() httpapi.Observe {
	return httpapi.Observe{
		Begin: func(ctx context.Context, q *http.Request) context.Context {
			o.metrics.RequestBegan()
			if o.tracer == nil || q.URL.Path == api.PathHealth || q.URL.Path == api.PathReady {
				return ctx
			}
			ctx = o.tracer.Request(ctx, q.Header)
			return store.WithOrigin(ctx, store.Origin{Trace: o.tracer.Parent(ctx)})
		},
		Ended: func(ctx context.Context, x httpapi.Exchange) {
			o.countRequest(x)
			o.tracer.EndRequest(ctx, tracing.Served{Route: x.Route, Method: x.Method, RequestID: x.RequestID, Status: x.Status})
			o.logRequest(ctx, x)
		},
	}
}

func (o *observer) countRequest(x httpapi.Exchange) {
	if o.metrics == nil {
		return
	}
	r := metrics.Request{Route: x.Route, Method: x.Method, Status: x.Status, Took: x.Took, BytesIn: x.BytesIn, BytesOut: x.BytesOut}
	if x.Refusal != nil {
		r.Refused = x.Refusal.Status
	}
	o.metrics.RequestEnded(r)
	if way := signIns[x.Route]; way != "" {
		o.metrics.SignIn(way, signInOutcome(x.Status, x.Challenge))
	}
}

// signIns are the ways of routes that sign in.
var signIns = map[string]string{"login": "password", "verify-mfa": "totp", "exchange": "exchange"}

func signInOutcome(status int, challenge bool) string {
	switch {
	case status < http.StatusMultipleChoices && status != 0 && challenge:
		return "challenge"
	case status < http.StatusMultipleChoices && status != 0:
		return "ok"
	case status == http.StatusTooManyRequests:
		return "limited"
	case status >= http.StatusInternalServerError || status == 0:
		return "failed"
	}
	return "refused"
}

// logRequest writes one line. Probes of health come often and say nothing.
func (o *observer) logRequest(ctx context.Context, x httpapi.Exchange) {
	level := o.requests
	if x.Route == "health" || x.Route == "ready" {
		level = slog.LevelDebug
	}
	if !o.log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{slog.String("method", brieflyMethod(x.Method)), slog.String("route", x.Route), slog.Int("status", x.Status),
		slog.Duration("duration", x.Took), slog.Int64("bytes_in", x.BytesIn), slog.Int64("bytes_out", x.BytesOut),
		slog.String("principal_id", x.PrincipalID), slog.String("address", x.Address)}
	if x.Aborted {
		attrs = append(attrs, slog.Bool("aborted", true))
	}
	o.log.LogAttrs(ctx, level, "request", attrs...)
}

// brieflyMethod bounds what a stranger writes into the log.
func brieflyMethod(method string) string { return method[:min(len(method), 16)] }

// jobs are the hooks of jobs.
func (o *observer) jobs() sitedata.Hooks {
	return sitedata.Hooks{
		Job: o.job, Upload: o.metrics.Upload, Forecast: o.metrics.ForecastIssued, Detect: o.metrics.Detected, Train: o.metrics.Trained,
	}
}

func (o *observer) job(ctx context.Context, job store.Claimed) (context.Context, func(outcome string, cause error)) {
	begin := o.wall()
	o.progress.Store(begin.UnixNano())
	o.metrics.JobBegan(job.Kind)
	ctx, end := o.tracer.Begin(ctx, tracing.Work{Name: "job " + job.Kind, ID: job.ID, RequestID: job.Origin.RequestID, Attempt: job.Attempt, Cause: job.Origin.Trace})
	if o.tracer != nil {
		ctx = store.WithOrigin(ctx, store.Origin{RequestID: job.Origin.RequestID, Trace: o.tracer.Parent(ctx)})
	}
	return ctx, func(outcome string, cause error) {
		now := o.wall()
		o.progress.Store(now.UnixNano())
		o.metrics.JobEnded(job.Kind, outcome, now.Sub(begin))
		end(outcome, outcome == pipeline.JobFailed || outcome == pipeline.JobRetried)
		o.log.LogAttrs(ctx, slog.LevelDebug, "job", slog.String("job", job.ID), slog.String("kind", job.Kind), slog.Int("attempt", job.Attempt),
			slog.String("outcome", outcome), slog.Duration("duration", now.Sub(begin)))
	}
}

// transactions is the hook of the store, a file's or a database's; nil when nobody
// wants to know.
func (o *observer) transactions(database bool) func(store.TransactionEvent) {
	if o.metrics == nil && o.tracer == nil {
		return nil
	}
	return func(t store.TransactionEvent) {
		// What a closure refuses is no failure of the store.
		failed := (t.Kind == store.TransactionCommit || database) && t.Err != nil
		o.metrics.Transaction(t.Kind, t.Took, failed)
		o.tracer.Transaction(t.Context, t.Kind, t.Begin, t.Took, failed)
	}
}

// post is the hook of attempts to post a webhook.
func (o *observer) post(ctx context.Context, one webhook.Delivery) (context.Context, func(webhook.Outcome)) {
	begin := o.wall()
	ctx = store.WithOrigin(ctx, store.Origin{RequestID: one.RequestID})
	ctx, end := o.tracer.Begin(ctx, tracing.Work{Name: "webhook", ID: one.ID, RequestID: one.RequestID, Attempt: one.Attempt, Cause: one.Trace, Outgoing: true})
	return ctx, func(out webhook.Outcome) {
		outcome := "delivered"
		switch {
		case out.Failure == "":
		case ctx.Err() != nil:
			outcome = "cut"
		case out.Gone:
			outcome = "gone"
		case out.Next.IsZero():
			outcome = "given_up"
		default:
			outcome = "failed"
		}
		took := o.wall().Sub(begin)
		o.metrics.WebhookPosted(outcome, took)
		end(outcome, out.Failure != "")
		o.log.LogAttrs(ctx, slog.LevelDebug, "webhook", slog.String("delivery_id", one.ID), slog.Int("attempt", one.Attempt), slog.String("outcome", outcome),
			slog.Int("status", out.Status), slog.Duration("duration", took))
	}
}

// noteMail records for readiness whether the mail server takes messages. One
// that refuses a single message does.
func (o *observer) noteMail(err error) {
	switch {
	case err == nil, errors.Is(err, mail.ErrRefused):
		o.mailFailure.Store(nil)
	case errors.Is(err, mail.ErrCredentials):
		o.mailFailure.Store(&mailRefuses)
	case !errors.Is(err, context.Canceled):
		o.mailFailure.Store(&mailSilent)
	}
}

// Reasons of a mail server that takes no messages.
var (
	mailRefuses = "the mail server refuses the user or the password"
	mailSilent  = "the mail server cannot be reached or takes no messages"
)

// letters counts letters.
type letters struct {
	freemium.Sender
	of *observer
}

// Send hands a letter in.
func (l letters) Send(ctx context.Context, m mail.Message) error {
	err := l.Sender.Send(ctx, m)
	l.of.noteMail(err)
	l.of.metrics.Letter(err != nil)
	return err
}

// sky is the weather provider under observation.
func (o *observer) sky(p weather.Provider) weather.Provider {
	if p == nil || o.metrics == nil && o.tracer == nil {
		return p
	}
	seen := observedWeather{p, o}
	if a, ok := p.(archive); ok {
		return observedArchive{seen, a}
	}
	return seen
}

type observedWeather struct {
	weather.Provider
	of *observer
}

func (w observedWeather) Forecast(ctx context.Context, loc solar.Location, issue time.Time, horizon, step time.Duration) (f weather.Forecast, err error) {
	w.of.weatherCall(ctx, "weather forecast", func(ctx context.Context) error {
		f, err = w.Provider.Forecast(ctx, loc, issue, horizon, step)
		return err
	})
	return f, err
}

// archive is what some providers have beside forecasts.
type archive interface {
	Archive(ctx context.Context, loc solar.Location, from, to time.Time) ([]weather.Column, error)
}

type observedArchive struct {
	observedWeather
	past archive
}

func (w observedArchive) Archive(ctx context.Context, loc solar.Location, from, to time.Time) (columns []weather.Column, err error) {
	w.of.weatherCall(ctx, "weather archive", func(ctx context.Context) error {
		columns, err = w.past.Archive(ctx, loc, from, to)
		return err
	})
	return columns, err
}

func (o *observer) weatherCall(ctx context.Context, name string, call func(context.Context) error) {
	begin := o.wall()
	ctx, end := o.tracer.Call(ctx, name)
	err := call(ctx)
	o.metrics.WeatherCalled(o.wall().Sub(begin), err != nil)
	end(map[bool]string{true: "failed", false: "ok"}[err != nil], err != nil)
}

// ConsoleOpened counts a console over SSH until what it answers is called.
func (s *Service) ConsoleOpened() (closed func()) {
	s.observer.consoles.Add(1)
	return func() { s.observer.consoles.Add(-1) }
}

// ConnectionDropped returns a function that counts the drops of one of
// [metrics.ServerHTTP] and [metrics.ServerSSH].
func (s *Service) ConnectionDropped(server string) func(admission.Drop) {
	return func(d admission.Drop) { s.observer.metrics.ConnectionDropped(server, d.Lane, d.Reason, d.Evicted) }
}

// Metrics serves what was counted, in Prometheus' formats; nil unless
// [Config.Metrics].
func (s *Service) Metrics() http.Handler {
	if s.observer.metrics == nil {
		return nil
	}
	return s.observer.metrics.Handler()
}

// newObserver is the observer of a service.
func (s *Service) newObserver(cfg Config, plain slog.Handler) *observer {
	o := &observer{tracer: cfg.Tracer, wall: cfg.Wall, requests: slog.LevelDebug, log: slog.New(plain)}
	if cfg.LogRequests {
		o.requests = slog.LevelInfo
	}
	o.progress.Store(cfg.Wall().UnixNano())
	if cfg.Metrics {
		routes := []string{httpapi.UnknownRoute}
		for _, r := range api.Routes() {
			routes = append(routes, r.Name)
		}
		o.metrics = metrics.New(metrics.Config{Version: cfg.Version, Schema: schemaOf(cfg), Routes: routes, Kinds: sitedata.JobKinds(), Now: cfg.Wall, Sources: s.sources(cfg)})
	}
	return o
}

// sources are what the metrics ask when somebody scrapes.
func (s *Service) sources(cfg Config) []metrics.Source {
	age := func(now, at time.Time) float64 {
		if at.IsZero() {
			return 0
		}
		return max(now.Sub(at).Seconds(), 0)
	}
	var usage objectUsage
	return s.whileOpen([]metrics.Source{
		{Part: "jobs", Ask: func(ctx context.Context, f *metrics.Facts) error {
			now := cfg.Wall()
			kinds, err := s.store.JobStats(ctx, now)
			if err != nil {
				return err
			}
			for _, kind := range sitedata.JobKinds() {
				k := kinds[kind]
				f.SetOf(metrics.JobsWaiting, kind, float64(k.Waiting))
				f.SetOf(metrics.JobsRunning, kind, float64(k.Running))
				f.SetOf(metrics.JobsDead, kind, float64(k.Dead))
				f.SetOf(metrics.JobsOldest, kind, age(now, k.Oldest))
			}
			return nil
		}},
		{Part: "store", Ask: func(ctx context.Context, f *metrics.Facts) error {
			return s.store.facts(ctx, f)
		}},
		{Part: "disk", Ask: func(_ context.Context, f *metrics.Facts) error {
			free, size, err := diskSpace(cfg.DataDir)
			if err != nil {
				return err
			}
			f.Set(metrics.DiskFree, float64(free))
			f.Set(metrics.DiskSize, float64(size))
			return nil
		}},
		{Part: "objects", Ask: func(ctx context.Context, f *metrics.Facts) error {
			n, bytes, err := usage.of(ctx, s.objects, cfg.Wall())
			if errors.Is(err, objects.ErrNotCounted) {
				return nil
			}
			if err != nil {
				return err
			}
			f.Set(metrics.Objects, float64(n))
			f.Set(metrics.ObjectBytes, float64(bytes))
			return nil
		}},
		{Part: "sites", Ask: func(ctx context.Context, f *metrics.Facts) error {
			st, err := s.pipeline.Status(ctx)
			if err != nil {
				return err
			}
			now := cfg.Now()
			f.Set(metrics.Sites, float64(st.Sites))
			f.Set(metrics.SitesTrained, float64(st.Trained))
			f.Set(metrics.ModelAge, age(now, st.OldestModel))
			f.Set(metrics.ForecastAge, age(now, st.OldestForecast))
			return nil
		}},
		{Part: "findings", Ask: func(ctx context.Context, f *metrics.Facts) error {
			open, err := s.ops.OpenFindings(ctx)
			if err != nil {
				return err
			}
			for _, severity := range []string{api.SeverityCritical, api.SeverityWarning, api.SeverityNormal} {
				f.SetOf(metrics.FindingsOpen, severity, float64(open[severity]))
			}
			return nil
		}},
		{Part: "webhooks", Ask: func(ctx context.Context, f *metrics.Facts) error {
			st, err := s.maintenance.Standing(ctx)
			if err != nil {
				return err
			}
			f.Set(metrics.HooksWaiting, float64(st.Waiting))
			f.Set(metrics.HooksOldest, age(cfg.Wall(), st.Oldest))
			f.Set(metrics.HooksDisabled, float64(st.Disabled))
			return nil
		}},
		{Part: "mail", Ask: func(_ context.Context, f *metrics.Facts) error {
			if cfg.SMTP != nil {
				return nil
			}
			kept, err := filepath.Glob(filepath.Join(cfg.DataDir, outboxFolder, "*.eml"))
			f.Set(metrics.MailWaiting, float64(len(kept)))
			return err
		}},
		{Part: "consoles", Ask: func(_ context.Context, f *metrics.Facts) error {
			f.Set(metrics.Consoles, float64(s.observer.consoles.Load()))
			return nil
		}},
		{Part: "backup", Ask: func(ctx context.Context, f *metrics.Facts) error {
			at, err := s.lastBackup(ctx)
			if err == nil && !at.IsZero() {
				f.Set(metrics.BackupAge, age(cfg.Wall(), at))
			}
			return err
		}},
		{Part: "ready", Ask: func(ctx context.Context, f *metrics.Facts) error {
			for part, why := range s.readiness(ctx) {
				f.SetOf(metrics.Ready, part, map[bool]float64{true: 1, false: 0}[why == ""])
			}
			return nil
		}},
	})
}

// whileOpen has sources that need the home say nothing while it is waited for.
func (s *Service) whileOpen(all []metrics.Source) []metrics.Source {
	for i, source := range all {
		switch source.Part {
		case "disk", "consoles", "mail", "ready":
			continue
		}
		all[i].Ask = func(ctx context.Context, f *metrics.Facts) error {
			if !s.open.Load() {
				return nil
			}
			return source.Ask(ctx, f)
		}
	}
	return all
}

// partsOf are the parts that are not ready, for the log.
func partsOf(bad map[string]string) string {
	var words []string
	for _, part := range readyParts {
		if why := bad[part]; why != "" {
			words = append(words, part+": "+why)
		}
	}
	return strings.Join(words, "; ")
}
