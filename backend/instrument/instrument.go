// Package instrument observes the parts of a service by their hooks, and reports
// what they do as metrics, traces and log events.
package instrument

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
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
	"app.sunloop/backend/tracing"
	"app.sunloop/backend/webhook"
	"app.sunloop/engine/solar"
	"app.sunloop/engine/weather"
)

// Config configures Instruments.
type Config struct {
	Metrics     bool            // count, for [Instruments.Handler]
	Tracer      *tracing.Tracer // nil: no traces
	LogRequests bool            // log requests at info; otherwise at debug
	Log         slog.Handler    // of requests and jobs, which are not kept for /terminal/log
	Wall        func() time.Time
	Version     string // of the program
	Schema      int    // newest schema of the store that this version knows
	Sources     Sources
}

// Instruments reports what the parts of a service do, as metrics, traces and log
// events.
type Instruments struct {
	metrics  *metrics.Metrics // nil: nothing is counted
	tracer   *tracing.Tracer  // nil: nothing is traced
	log      *slog.Logger
	requests slog.Level // of a request's event
	wall     func() time.Time
	progress atomic.Int64 // Unix nanoseconds by the wall clock at which a job last began or ended
	consoles atomic.Int64 // open over SSH

	mailFailure atomic.Pointer[string] // why the mail server accepted no message last; nil: it did
}

// New returns Instruments.
func New(c Config) *Instruments {
	o := &Instruments{tracer: c.Tracer, wall: c.Wall, requests: slog.LevelDebug, log: slog.New(c.Log)}
	if c.LogRequests {
		o.requests = slog.LevelInfo
	}
	o.progress.Store(c.Wall().UnixNano())
	if c.Metrics {
		routes := []string{httpapi.UnknownRoute}
		for _, r := range api.Routes() {
			routes = append(routes, r.Name)
		}
		o.metrics = metrics.New(metrics.Config{Version: c.Version, Schema: c.Schema, Routes: routes, Kinds: sitedata.JobKinds(), Now: c.Wall, Sources: o.sources(c.Sources)})
	}
	return o
}

// Handler serves the metrics in Prometheus' formats; nil without metrics.
func (o *Instruments) Handler() http.Handler {
	if o.metrics == nil {
		return nil
	}
	return o.metrics.Handler()
}

// JobProgress returns when a job last began or ended.
func (o *Instruments) JobProgress() time.Time { return time.Unix(0, o.progress.Load()) }

// MailFailure returns why the mail server accepted no message last; empty if it
// did.
func (o *Instruments) MailFailure() string {
	if why := o.mailFailure.Load(); why != nil {
		return *why
	}
	return ""
}

// ConsoleOpened counts a console over SSH until closed is called.
func (o *Instruments) ConsoleOpened() (closed func()) {
	o.consoles.Add(1)
	return func() { o.consoles.Add(-1) }
}

// ConnectionDropped returns a function that counts the dropped connections of one of
// [metrics.ServerHTTP] and [metrics.ServerSSH].
func (o *Instruments) ConnectionDropped(server string) func(admission.Drop) {
	return func(d admission.Drop) { o.metrics.ConnectionDropped(server, d.Lane, d.Reason, d.Evicted) }
}

// SignIn counts a sign-in that was no request, by its method and status.
func (o *Instruments) SignIn(method string, status int, challenge bool) {
	o.metrics.SignIn(method, signInOutcome(status, challenge))
}

// Tracer returns the tracer; nil if nothing is traced.
func (o *Instruments) Tracer() *tracing.Tracer { return o.tracer }

// Origin returns the attributes of log events that are taken from the context.
func Origin(ctx context.Context) []slog.Attr {
	if id := store.OriginOf(ctx).RequestID; id != "" {
		return []slog.Attr{slog.String("request_id", id)}
	}
	return nil
}

// HTTP returns the hooks of requests.
func (o *Instruments) HTTP() httpapi.Observe {
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
			o.tracer.EndRequest(ctx, tracing.ServedRequest{Route: x.Route, Method: x.Method, RequestID: x.RequestID, Status: x.Status})
			o.logRequest(ctx, x)
		},
	}
}

func (o *Instruments) countRequest(x httpapi.Exchange) {
	if o.metrics == nil {
		return
	}
	r := metrics.Request{Route: x.Route, Method: x.Method, Status: x.Status, Took: x.Took, BytesIn: x.BytesIn, BytesOut: x.BytesOut}
	if x.Refusal != nil {
		r.Refused = x.Refusal.Status
	}
	o.metrics.RequestEnded(r)
	if method := signIns[x.Route]; method != "" {
		o.metrics.SignIn(method, signInOutcome(x.Status, x.Challenge))
	}
}

// signIns are the methods of the routes that sign in.
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

// logRequest logs one event. Health probes are frequent and logged at debug.
func (o *Instruments) logRequest(ctx context.Context, x httpapi.Exchange) {
	level := o.requests
	if x.Route == "health" || x.Route == "ready" {
		level = slog.LevelDebug
	}
	if !o.log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{slog.String("method", truncateMethod(x.Method)), slog.String("route", x.Route), slog.Int("status", x.Status),
		slog.Duration("duration", x.Took), slog.Int64("bytes_in", x.BytesIn), slog.Int64("bytes_out", x.BytesOut),
		slog.String("principal_id", x.PrincipalID), slog.String("address", x.Address)}
	if x.Aborted {
		attrs = append(attrs, slog.Bool("aborted", true))
	}
	o.log.LogAttrs(ctx, level, "request", attrs...)
}

// truncateMethod bounds what an unauthenticated client writes into the log.
func truncateMethod(method string) string { return method[:min(len(method), 16)] }

// Jobs returns the hooks of jobs.
func (o *Instruments) Jobs() sitedata.Hooks {
	return sitedata.Hooks{
		Job: o.job, Upload: o.metrics.Upload, Forecast: o.metrics.ForecastIssued, Detect: o.metrics.Detected, Train: o.metrics.Trained,
	}
}

func (o *Instruments) job(ctx context.Context, job store.Claimed) (context.Context, func(outcome string, cause error)) {
	begin := o.wall()
	o.progress.Store(begin.UnixNano())
	o.metrics.JobBegan(job.Kind)
	ctx, end := o.tracer.Begin(ctx, tracing.SpanStart{Name: "job " + job.Kind, ID: job.ID, RequestID: job.Origin.RequestID, Attempt: job.Attempt, Cause: job.Origin.Trace})
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

// Transactions returns the hook of the transactions of a file or a database; nil
// if nothing is counted or traced.
func (o *Instruments) Transactions(database bool) func(store.TransactionEvent) {
	if o.metrics == nil && o.tracer == nil {
		return nil
	}
	return func(t store.TransactionEvent) {
		// An error of the closure is no failure of the store.
		failed := (t.Kind == store.TransactionCommit || database) && t.Err != nil
		o.metrics.Transaction(t.Kind, t.Took, failed)
		o.tracer.Transaction(t.Context, t.Kind, t.Begin, t.Took, failed)
	}
}

// Webhook is the hook of attempts to deliver a webhook.
func (o *Instruments) Webhook(ctx context.Context, one webhook.Delivery) (context.Context, func(webhook.PostResult)) {
	begin := o.wall()
	ctx = store.WithOrigin(ctx, store.Origin{RequestID: one.RequestID})
	ctx, end := o.tracer.Begin(ctx, tracing.SpanStart{Name: "webhook", ID: one.ID, RequestID: one.RequestID, Attempt: one.Attempt, Cause: one.Trace, Outgoing: true})
	return ctx, func(out webhook.PostResult) {
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

// Notified counts an attempt to send a notification.
func (o *Instruments) Notified(channel, result string, took time.Duration) {
	o.metrics.Notified(channel, result, took)
}

// NotificationSuppressed counts a notification that is not sent.
func (o *Instruments) NotificationSuppressed(reason string) { o.metrics.NotificationSuppressed(reason) }

// recordMail records for readiness whether the mail server accepts messages. A
// server that rejects a single message does.
func (o *Instruments) recordMail(err error) {
	switch {
	case err == nil, errors.Is(err, mail.ErrRefused):
		o.mailFailure.Store(nil)
	case errors.Is(err, mail.ErrCredentials):
		o.mailFailure.Store(&mailCredentials)
	case !errors.Is(err, context.Canceled):
		o.mailFailure.Store(&mailUnreachable)
	}
}

// Reasons of a mail server that accepts no messages.
var (
	mailCredentials = "the mail server refuses the user or the password"
	mailUnreachable = "the mail server cannot be reached or takes no messages"
)

// Mailer returns a sender whose messages are counted.
func (o *Instruments) Mailer(s freemium.Sender) freemium.Sender { return countingMailer{s, o} }

type countingMailer struct {
	freemium.Sender
	of *Instruments
}

// Send sends a message and counts it.
func (l countingMailer) Send(ctx context.Context, m mail.Message) error {
	err := l.Sender.Send(ctx, m)
	l.of.recordMail(err)
	l.of.metrics.Message(err != nil)
	return err
}

// Weather returns a provider whose calls are counted and traced.
func (o *Instruments) Weather(p weather.Provider) weather.Provider {
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
	of *Instruments
}

func (w observedWeather) Forecast(ctx context.Context, loc solar.Location, issue time.Time, horizon, step time.Duration) (f weather.Forecast, err error) {
	w.of.weatherCall(ctx, "weather forecast", func(ctx context.Context) error {
		f, err = w.Provider.Forecast(ctx, loc, issue, horizon, step)
		return err
	})
	return f, err
}

// archive is implemented by providers that keep past weather.
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

func (o *Instruments) weatherCall(ctx context.Context, name string, call func(context.Context) error) {
	begin := o.wall()
	ctx, end := o.tracer.Call(ctx, name)
	err := call(ctx)
	o.metrics.WeatherCalled(o.wall().Sub(begin), err != nil)
	end(map[bool]string{true: "failed", false: "ok"}[err != nil], err != nil)
}
