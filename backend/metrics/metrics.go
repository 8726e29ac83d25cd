// Package metrics counts the service's operations and exports them to
// Prometheus. It is the only package that imports Prometheus: other packages
// call its methods through small hooks, or provide values as a [Source] on each
// scrape.
//
// A label has one of a fixed set of values; all others are "other". Arbitrary
// paths and methods, and any number of customers, sites and keys, therefore do
// not increase the number of series.
package metrics

import (
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Config of the metrics.
type Config struct {
	Version string
	Schema  int // of the data on disk
	// Routes and Kinds of jobs are the words of these labels.
	Routes, Kinds []string
	Now           func() time.Time // the real clock
	Sources       []Source
}

// Metrics are all that is counted. Methods are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	table    []Definition
	routes   words
	kinds    words

	inFlight                     prometheus.Gauge
	requests, refusals           *prometheus.CounterVec
	requestTime                  *prometheus.HistogramVec
	requestBytes, responseBytes  *prometheus.CounterVec
	signIns                      *prometheus.CounterVec
	evicted, refused             *prometheus.CounterVec
	jobs                         *prometheus.CounterVec
	attempts                     *prometheus.CounterVec
	jobTime                      *prometheus.HistogramVec
	uploads                      *prometheus.CounterVec
	forecasts, detections, train prometheus.Counter
	skill                        *prometheus.GaugeVec
	transactions                 *prometheus.CounterVec
	transactionTime              *prometheus.HistogramVec
	posts                        *prometheus.CounterVec
	postTime                     prometheus.Histogram
	messages, letters            *prometheus.CounterVec // letters: the deprecated name
	notified, silenced           *prometheus.CounterVec
	notifyTime                   *prometheus.HistogramVec
	weather                      *prometheus.CounterVec
	weatherTime                  prometheus.Histogram
	sourceErrors                 *prometheus.CounterVec
}

// Definition is a metric as the documentation has it.
type Definition struct {
	Name, Type, Help string
	Labels           []string
}

// Buckets, in seconds.
var (
	requestBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	jobBuckets     = []float64{.01, .05, .25, 1, 5, 15, 60, 300, 900, 3600}
	storeBuckets   = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5}
	callBuckets    = []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 15, 30}
)

// New returns metrics with their own registry.
func New(c Config) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), routes: wordsOf(c.Routes...), kinds: wordsOf(c.Kinds...)}
	m.inFlight = m.gauge("http_requests_in_flight", "Requests in flight.")
	m.requests = m.counters("http_requests_total", "Requests that have ended, by route, method and class of the status; class none: the connection was lost before a response.", "route", "method", "class")
	m.requestTime = m.histograms("http_request_duration_seconds", "Time to serve a request.", requestBuckets, "route", "method")
	m.requestBytes = m.counters("http_request_bytes_total", "Bytes of request bodies that were read.", "route")
	m.responseBytes = m.counters("http_response_bytes_total", "Bytes of response bodies that were sent.", "route")
	m.refusals = m.counters("http_requests_refused_total", "Requests that were refused, by reason.", "reason")
	m.signIns = m.counters("sign_ins_total", "Sign-ins by their way (password, totp, exchange, ssh_key) and outcome (ok, challenge, refused, limited, failed).", "way", "outcome")
	m.evicted = m.counters("connections_evicted_total", "Connections that were closed to make room for others, by server (http, ssh), the slot that they had (unauthenticated, idle, overflow, queue) and reason (network_share, unauthenticated_share, full).", "server", "lane", "reason")
	m.refused = m.counters("connections_refused_total", "Connections, and requests on connections without a slot, that were refused, by server (http, ssh), the slot that was missing (overflow, queue) and reason (full, timeout).", "server", "lane", "reason")

	m.jobs = m.counters("job_runs_total", "Runs of jobs that have ended, by kind and outcome (done, cancelled, stopped, retried, failed).", "kind", "outcome")
	m.attempts = m.counters("job_attempts_total", "Runs of jobs that were started.", "kind")
	m.jobTime = m.histograms("job_duration_seconds", "Time of a run of a job.", jobBuckets, "kind")
	m.uploads = m.counters("uploads_total", "Files by kind (historical, nowcast) and outcome (accepted, repeated, refused; then imported or failed).", "kind", "outcome")
	m.train = m.counter("models_trained_total", "Models that were trained and registered.")
	m.skill = m.gauges("model_skill_ratio", "Skill of the newest trained model in its backtest: 1 is perfect, 0 as good as the reference; missing until one is trained.")
	m.forecasts = m.counter("forecasts_issued_total", "Forecasts that were issued and stored.")
	m.detections = m.counter("detection_runs_total", "Runs of the detector that were recorded.")

	m.transactions = m.counters("store_transactions_total", "Transactions by kind (read, write, commit: several writes may share one) and outcome (ok, failed).", "kind", "outcome")
	m.transactionTime = m.histograms("store_transaction_duration_seconds", "Time of a transaction; of a commit, including the disk.", storeBuckets, "kind")
	m.posts = m.counters("webhook_posts_total", "Attempts to post a webhook, by outcome (delivered, failed: to be retried, gone: the endpoint returned 410, given_up: after the last attempt, cut: interrupted by the shutdown).", "outcome")
	m.postTime = m.histogram("webhook_post_duration_seconds", "Time of an attempt to post a webhook.", callBuckets)
	m.messages = m.counters("mail_messages_total", "E-mail messages by outcome (sent, failed).", "outcome")
	m.letters = m.counters("mail_letters_total", deprecated("mail_messages_total"), "outcome")
	m.notified = m.counters("notifications_total", "Attempts to send a notification, by channel and result (delivered, failed: to be retried, dead: after a permanent error or the last attempt).", "channel", "result")
	m.notifyTime = m.histograms("notification_send_duration_seconds", "Time of an attempt to send a notification, by channel.", callBuckets, "channel")
	m.silenced = m.counters("notifications_suppressed_total", "Notifications that were not sent, by reason (shelved, suppressed, maintenance, chattering, threshold, duplicate, no_address, ended, recipient).", "reason")
	m.weather = m.counters("weather_calls_total", "Calls to the weather provider by outcome (ok, failed).", "outcome")
	m.weatherTime = m.histogram("weather_call_duration_seconds", "Time of a call to the weather provider.", callBuckets)
	m.sourceErrors = m.counters("scrape_source_errors_total", "Parts without data in a scrape; their metrics are missing from it.", "part")

	build := m.gauges("build_info", "Always 1, with the version of the program, of its data schema, and of Go.", "version", "schema", "goversion")
	build.WithLabelValues(c.Version, strconv.Itoa(c.Schema), runtime.Version()).Set(1)
	m.sources(c.Sources, c.Now)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler serves the metrics in Prometheus' formats.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry, MaxRequestsInFlight: 3, Timeout: 10 * time.Second, EnableOpenMetrics: true})
}

// Definitions are the metrics of Sunloop, in the order of their names.
func (m *Metrics) Definitions() []Definition {
	return slices.SortedFunc(slices.Values(m.table), func(a, b Definition) int { return strings.Compare(a.Name, b.Name) })
}
