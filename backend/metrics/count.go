package metrics

import (
	"time"
)

// Request is one that has ended.
type Request struct {
	Route, Method     string
	Status            int // 0: the connection broke before there was one
	Refused           int // status of the refusal; 0: it was not refused
	Took              time.Duration
	BytesIn, BytesOut int64
}

var (
	methods  = wordsOf("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
	outcomes = wordsOf("done", "cancelled", "stopped", "retried", "failed", "accepted", "repeated", "refused", "imported",
		"ok", "challenge", "limited", "delivered", "gone", "given_up", "cut", "sent")
	uploadKinds      = wordsOf("historical", "nowcast")
	ways             = wordsOf("password", "totp", "exchange", "ssh_key")
	transactionKinds = wordsOf("read", "write", "commit")
	servers          = wordsOf(ServerHTTP, ServerSSH)
	lanes            = wordsOf("unauthenticated", "idle", "overflow", "queue")
	dropReasons      = wordsOf("network_share", "unauthenticated_share", "full", "timeout")
	channels         = wordsOf("email", "webhook", "alertmanager", "ntfy", "slack", "teams", "telegram", "matrix", "pagerduty", "opsgenie", "gotify", "pushover", "sms")
	results          = wordsOf("delivered", "failed", "dead")
	silences         = wordsOf("shelved", "suppressed", "maintenance", "chattering", "threshold", "duplicate", "no_address", "ended", "recipient")
	classes          = [...]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx"}
)

// reasons of refusals by their status.
var reasons = map[int]string{
	400: "invalid", 401: "unauthorized", 403: "forbidden", 404: "not_found", 405: "method", 408: "too_slow", 409: "conflict",
	413: "too_large", 415: "encoding", 422: "invalid", 429: "rate_limit", 500: "internal", 503: "unavailable",
}

// RequestBegan counts a request that is being served.
func (m *Metrics) RequestBegan() {
	if m != nil {
		m.inFlight.Inc()
	}
}

// RequestEnded counts one that was.
func (m *Metrics) RequestEnded(r Request) {
	if m == nil {
		return
	}
	m.inFlight.Dec()
	route, method, class := m.routes.or(r.Route), methods.or(r.Method), classes[0]
	if i := r.Status / 100; i > 0 && i < len(classes) {
		class = classes[i]
	}
	m.requests.WithLabelValues(route, method, class).Inc()
	m.requestTime.WithLabelValues(route, method).Observe(r.Took.Seconds())
	if r.BytesIn > 0 {
		m.requestBytes.WithLabelValues(route).Add(float64(r.BytesIn))
	}
	if r.BytesOut > 0 {
		m.responseBytes.WithLabelValues(route).Add(float64(r.BytesOut))
	}
	if r.Refused != 0 {
		reason := reasons[r.Refused]
		if reason == "" {
			reason = other
		}
		m.refusals.WithLabelValues(reason).Inc()
	}
}

// SignIn counts a sign-in.
func (m *Metrics) SignIn(way, outcome string) {
	if m == nil {
		return
	}
	m.signIns.WithLabelValues(ways.or(way), outcomes.or(outcome)).Inc()
}

// Servers of connections.
const (
	ServerHTTP = "http"
	ServerSSH  = "ssh"
)

// ConnectionDropped counts a connection that was evicted, or refused.
func (m *Metrics) ConnectionDropped(server, lane, reason string, evicted bool) {
	if m == nil {
		return
	}
	counters := m.refused
	if evicted {
		counters = m.evicted
	}
	counters.WithLabelValues(servers.or(server), lanes.or(lane), dropReasons.or(reason)).Inc()
}

// JobBegan counts an attempt.
func (m *Metrics) JobBegan(kind string) {
	if m != nil {
		m.attempts.WithLabelValues(m.kinds.or(kind)).Inc()
	}
}

// JobEnded counts how it went.
func (m *Metrics) JobEnded(kind, outcome string, took time.Duration) {
	if m == nil {
		return
	}
	kind = m.kinds.or(kind)
	m.jobs.WithLabelValues(kind, outcomes.or(outcome)).Inc()
	m.jobTime.WithLabelValues(kind).Observe(took.Seconds())
}

// Upload counts a file by its outcome.
func (m *Metrics) Upload(kind, outcome string) {
	if m == nil {
		return
	}
	m.uploads.WithLabelValues(uploadKinds.or(kind), outcomes.or(outcome)).Inc()
}

// Trained counts a model, and keeps its skill.
func (m *Metrics) Trained(skill float64) {
	if m == nil {
		return
	}
	m.train.Inc()
	m.skill.WithLabelValues().Set(skill)
}

// ForecastIssued counts a forecast.
func (m *Metrics) ForecastIssued() {
	if m != nil {
		m.forecasts.Inc()
	}
}

// Detected counts a run of the detector.
func (m *Metrics) Detected() {
	if m != nil {
		m.detections.Inc()
	}
}

// Transaction counts one of the store's.
func (m *Metrics) Transaction(kind string, took time.Duration, failed bool) {
	if m == nil {
		return
	}
	kind = transactionKinds.or(kind)
	m.transactions.WithLabelValues(kind, okOr(failed)).Inc()
	m.transactionTime.WithLabelValues(kind).Observe(took.Seconds())
}

// WebhookPosted counts an attempt.
func (m *Metrics) WebhookPosted(outcome string, took time.Duration) {
	if m == nil {
		return
	}
	m.posts.WithLabelValues(outcomes.or(outcome)).Inc()
	m.postTime.Observe(took.Seconds())
}

// Message counts an e-mail message.
func (m *Metrics) Message(failed bool) {
	if m == nil {
		return
	}
	outcome := "sent"
	if failed {
		outcome = "failed"
	}
	m.messages.WithLabelValues(outcome).Inc()
	m.letters.WithLabelValues(outcome).Inc()
}

// Notified counts an attempt to send a notification.
func (m *Metrics) Notified(channel, result string, took time.Duration) {
	if m == nil {
		return
	}
	channel = channels.or(channel)
	m.notified.WithLabelValues(channel, results.or(result)).Inc()
	m.notifyTime.WithLabelValues(channel).Observe(took.Seconds())
}

// NotificationSuppressed counts a notification that is not sent.
func (m *Metrics) NotificationSuppressed(reason string) {
	if m != nil {
		m.silenced.WithLabelValues(silences.or(reason)).Inc()
	}
}

// WeatherCalled counts a call to the weather provider.
func (m *Metrics) WeatherCalled(took time.Duration, failed bool) {
	if m == nil {
		return
	}
	m.weather.WithLabelValues(okOr(failed)).Inc()
	m.weatherTime.Observe(took.Seconds())
}

func okOr(failed bool) string {
	if failed {
		return "failed"
	}
	return "ok"
}
