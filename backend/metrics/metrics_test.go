package metrics

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

var update = flag.Bool("update", false, "rewrite the table of docs/observability.md")

// clock is advanced by the test.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// full are metrics of which each has been counted or asked.
func full(t *testing.T) (*Metrics, *clock, *error) {
	t.Helper()
	c := &clock{time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)}
	failing := new(error)
	asks := 0
	m := New(Config{Version: "1.2.3", Schema: 7, Routes: []string{"upload", "sites", "unknown"}, Kinds: []string{"train", "forecast"}, Now: c.now, Sources: []Source{
		{Part: "all", Ask: func(_ context.Context, f *Facts) error {
			asks++
			for _, one := range facts {
				if one.label == "" {
					f.Set(one.name, float64(asks))
				} else {
					f.SetOf(one.name, "word", float64(asks))
				}
			}
			return nil
		}},
		{Part: "weak", Ask: func(context.Context, *Facts) error { return *failing }},
	}})
	m.RequestBegan()
	m.RequestBegan()
	m.RequestEnded(Request{Route: "upload", Method: http.MethodPost, Status: 429, Refused: 429, Took: 30 * time.Millisecond, BytesIn: 5, BytesOut: 7})
	m.SignIn("password", "ok")
	m.ConnectionDropped(ServerHTTP, "unauthenticated", "network_share", true)
	m.ConnectionDropped(ServerSSH, "queue", "timeout", false)
	m.JobBegan("train")
	m.JobEnded("train", "done", time.Minute)
	m.Upload("historical", "accepted")
	m.Trained(0.25)
	m.ForecastIssued()
	m.Detected()
	m.Transaction("commit", time.Millisecond, true)
	m.WebhookPosted("delivered", time.Second)
	m.Message(false)
	m.Notified("ntfy", "dead", time.Second)
	m.NotificationSuppressed("shelved")
	m.WeatherCalled(time.Second, true)
	m.sourceErrors.WithLabelValues("none").Add(0)
	return m, c, failing
}

func TestNamesAndHelpsFollowTheConventions(t *testing.T) {
	m, _, _ := full(t)
	problems, err := testutil.GatherAndLint(m.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	shown, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range shown {
		if strings.HasPrefix(f.GetName(), namespace+"_") {
			names = append(names, f.GetName())
		}
	}
	for _, d := range m.Definitions() {
		if !slices.Contains(names, d.Name) {
			t.Errorf("%s is defined and never shown", d.Name)
		}
	}
	if len(names) != len(m.Definitions()) {
		t.Errorf("%d metrics are shown, %d defined", len(names), len(m.Definitions()))
	}
}

func TestCounts(t *testing.T) {
	m, _, _ := full(t)
	want := `
# HELP sunloop_http_requests_in_flight Requests in flight.
# TYPE sunloop_http_requests_in_flight gauge
sunloop_http_requests_in_flight 1
# HELP sunloop_http_requests_refused_total Requests that were refused, by reason.
# TYPE sunloop_http_requests_refused_total counter
sunloop_http_requests_refused_total{reason="rate_limit"} 1
# HELP sunloop_http_requests_total Requests that have ended, by route, method and class of the status; class none: the connection was lost before a response.
# TYPE sunloop_http_requests_total counter
sunloop_http_requests_total{class="4xx",method="POST",route="upload"} 1
# HELP sunloop_http_request_bytes_total Bytes of request bodies that were read.
# TYPE sunloop_http_request_bytes_total counter
sunloop_http_request_bytes_total{route="upload"} 5
# HELP sunloop_http_response_bytes_total Bytes of response bodies that were sent.
# TYPE sunloop_http_response_bytes_total counter
sunloop_http_response_bytes_total{route="upload"} 7
# HELP sunloop_connections_evicted_total Connections that were closed to make room for others, by server (http, ssh), the slot that they had (unauthenticated, idle, overflow, queue) and reason (network_share, unauthenticated_share, full).
# TYPE sunloop_connections_evicted_total counter
sunloop_connections_evicted_total{lane="unauthenticated",reason="network_share",server="http"} 1
# HELP sunloop_connections_refused_total Connections, and requests on connections without a slot, that were refused, by server (http, ssh), the slot that was missing (overflow, queue) and reason (full, timeout).
# TYPE sunloop_connections_refused_total counter
sunloop_connections_refused_total{lane="queue",reason="timeout",server="ssh"} 1
# HELP sunloop_job_runs_total Runs of jobs that have ended, by kind and outcome (done, cancelled, stopped, retried, failed).
# TYPE sunloop_job_runs_total counter
sunloop_job_runs_total{kind="train",outcome="done"} 1
# HELP sunloop_store_transactions_total Transactions by kind (read, write, commit: several writes may share one) and outcome (ok, failed).
# TYPE sunloop_store_transactions_total counter
sunloop_store_transactions_total{kind="commit",outcome="failed"} 1
# HELP sunloop_model_skill_ratio Skill of the newest trained model in its backtest: 1 is perfect, 0 as good as the reference; missing until one is trained.
# TYPE sunloop_model_skill_ratio gauge
sunloop_model_skill_ratio 0.25
`
	names := []string{}
	for line := range strings.Lines(want) {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			names = append(names, strings.Fields(name)[0])
		}
	}
	if err := testutil.GatherAndCompare(m.registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

// No client can create series: not by odd paths, methods, kinds or statuses.
func TestLabelsAreBounded(t *testing.T) {
	m, _, _ := full(t)
	play := func(seed uint64) int {
		r := rand.New(rand.NewPCG(seed, 1))
		odd := func(known ...string) string {
			if i := r.IntN(2 * len(known)); i < len(known) {
				return known[i]
			}
			return fmt.Sprintf("../%x\x00\n\"", r.Uint64())
		}
		for range 20_000 {
			m.RequestBegan()
			m.RequestEnded(Request{Route: odd("upload", "sites", "unknown"), Method: odd("GET", "POST", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"),
				Status: r.IntN(1200) - 100, Refused: r.IntN(600), Took: time.Second, BytesIn: 1, BytesOut: 1})
			m.SignIn(odd("password", "totp", "exchange", "ssh_key"), odd("ok", "refused", "limited", "failed", "challenge"))
			kind := odd("train", "forecast")
			m.JobBegan(kind)
			m.JobEnded(kind, odd("done", "failed", "retried", "stopped", "cancelled"), time.Second)
			m.Upload(odd("historical", "nowcast"), odd("accepted", "refused", "repeated", "imported", "failed"))
			m.Transaction(odd("read", "write", "commit"), time.Second, r.IntN(2) == 0)
			m.WebhookPosted(odd("delivered", "failed", "gone", "given_up", "cut"), time.Second)
			m.Notified(odd("email", "sms"), odd("delivered", "failed", "dead"), time.Second)
			m.NotificationSuppressed(odd("shelved", "chattering"))
		}
		n, err := testutil.GatherAndCount(m.registry)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	first, second := play(1), play(2)
	if second != first || first > 700 {
		t.Errorf("%d series after 20 000 odd requests, %d after as many more", first, second)
	}
}

func TestSourcesAreAskedSeldomAndMayFail(t *testing.T) {
	m, c, failing := full(t)
	read := func() string {
		t.Helper()
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		if w.Code != http.StatusOK {
			t.Fatalf("HTTP %d %s", w.Code, w.Body)
		}
		return w.Body.String()
	}
	first := read()
	for _, line := range []string{`sunloop_build_info{goversion="go1`, `schema="7",version="1.2.3"} 1`, "sunloop_sites 1\n", `sunloop_jobs_waiting{kind="word"} 1`, "go_goroutines ", "process_open_fds "} {
		if !strings.Contains(first, line) {
			t.Errorf("no %q", line)
		}
	}
	if c.at = c.at.Add(factsLife - time.Second); !strings.Contains(read(), "sunloop_sites 1\n") {
		t.Error("sources were asked again at once")
	}
	*failing = errors.New("broken")
	c.at = c.at.Add(time.Second)
	again := read()
	if !strings.Contains(again, "sunloop_sites 2\n") {
		t.Error("sources were not asked again, or one that failed took the others with it")
	}
	if last := read(); !strings.Contains(last, `sunloop_scrape_source_errors_total{part="weak"} 1`) {
		t.Error("a source that failed is not counted")
	}
}

// The zero pointer counts nothing and is no fault.
func TestNilIsSilent(*testing.T) {
	var m *Metrics
	m.RequestBegan()
	m.RequestEnded(Request{})
	m.SignIn("", "")
	m.JobBegan("")
	m.JobEnded("", "", 0)
	m.Upload("", "")
	m.Trained(0)
	m.ForecastIssued()
	m.Detected()
	m.Transaction("", 0, false)
	m.WebhookPosted("", 0)
	m.Message(false)
	m.Notified("", "", 0)
	m.NotificationSuppressed("")
	m.WeatherCalled(0, false)
}

// TestFormerNames: a renamed metric is exported under its former name too, with
// the same value.
func TestFormerNames(t *testing.T) {
	m, _, _ := full(t)
	shown, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, f := range shown {
		for _, one := range f.GetMetric() {
			values[f.GetName()] += fmt.Sprint(one.GetLabel(), one.GetCounter().GetValue(), one.GetGauge().GetValue(), " ")
		}
	}
	pairs := maps.Clone(former)
	pairs["mail_messages_total"] = "mail_letters_total"
	for now, old := range pairs {
		if v := values[namespace+"_"+now]; v == "" || v != values[namespace+"_"+old] {
			t.Errorf("%s is %q, %s is %q", now, v, old, values[namespace+"_"+old])
		}
	}
}

const docs = "../../docs/observability.md"

// The table of the documentation is generated from the metrics.
func TestDocumentationHasEachMetric(t *testing.T) {
	m, _, _ := full(t)
	var table bytes.Buffer
	fmt.Fprint(&table, "| metric | type | labels | what it is |\n|---|---|---|---|\n")
	for _, d := range m.Definitions() {
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", d.Name, d.Type, strings.Join(d.Labels, ", "), d.Help)
	}
	b, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), "<!-- metrics -->\n")
	old, after, closed := strings.Cut(rest, "<!-- /metrics -->")
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", docs)
	}
	if old == table.String() {
		return
	}
	if !*update {
		t.Fatalf("the table of %s is stale: go test ./backend/metrics -update", docs)
	}
	if err := os.WriteFile(docs, []byte(before+"<!-- metrics -->\n"+table.String()+"<!-- /metrics -->"+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Metrics used in alert rules exist.
func TestRulesNameMetricsThatExist(t *testing.T) {
	m, _, _ := full(t)
	b, err := os.ReadFile("../../docs/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, d := range m.Definitions() {
		known[d.Name] = true
		if d.Type == "histogram" {
			known[d.Name+"_bucket"], known[d.Name+"_sum"], known[d.Name+"_count"] = true, true, true
		}
	}
	n := 0
	for _, word := range strings.FieldsFunc(string(b), func(r rune) bool {
		return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}) {
		if strings.HasPrefix(word, namespace+"_") {
			if n++; !known[word] {
				t.Errorf("the rules ask for %s, which there is not", word)
			}
		}
	}
	if n < 10 {
		t.Errorf("the rules name %d metrics", n)
	}
}
