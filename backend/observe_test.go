package backend

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"app.sunloop/backend/api"
	"app.sunloop/backend/backup"
	"app.sunloop/backend/health"
	"app.sunloop/backend/mail"
	"app.sunloop/backend/store"
	"app.sunloop/backend/tracing"
)

// spans receives traces by OTLP over HTTP.
type spans struct {
	mu  sync.Mutex
	all []*trace.Span
	raw bytes.Buffer // as they came
}

func (s *spans) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	b, err := io.ReadAll(q.Body)
	var r collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(b, &r)
	}
	if err != nil || q.URL.Path != "/v1/traces" || q.Header.Get("Content-Type") != "application/x-protobuf" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw.Write(b)
	for _, of := range r.ResourceSpans {
		for _, in := range of.ScopeSpans {
			s.all = append(s.all, in.Spans...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// named are those of a name.
func (s *spans) named(name string) (found []*trace.Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.all {
		if one.Name == name {
			found = append(found, one)
		}
	}
	return found
}

// lines is a log in memory.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// of are the events of a message.
func (l *lines) of(t *testing.T, message string) (events []map[string]any) {
	t.Helper()
	for line := range strings.Lines(l.text()) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if e["msg"] == message {
			events = append(events, e)
		}
	}
	return events
}

// scraped are the service's metrics as text.
func scraped(t *testing.T, s *Service) string {
	t.Helper()
	w := httptest.NewRecorder()
	s.Metrics().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("HTTP %d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// amount is what a line of metrics says; -1 without the line.
func amount(t *testing.T, text, series string) float64 {
	t.Helper()
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, series+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	return -1
}

const (
	askedBy    = "4bf92f3577b34da6a3ce929d0e0e4736" // trace of the caller
	askedIn    = "00f067aa0ba902b7"                 // span of the caller
	hookSecret = "hook-secret-9d1f"
)

// One request is followed through metrics, log and traces to the jobs and
// webhooks that it causes, and no secret comes along.
func TestRequestIsObservable(t *testing.T) {
	got := &spans{}
	receiver := httptest.NewServer(got)
	defer receiver.Close()
	logged := &lines{}
	log := slog.New(slog.NewJSONHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	tracer, err := tracing.Open(t.Context(), tracing.Config{Endpoint: receiver.URL, Version: "1.2.3", Now: time.Now, Log: log})
	if err != nil || tracer == nil {
		t.Fatal(tracer, err)
	}
	place, calls := endpoint(t)
	h := open(t, Config{DataDir: t.TempDir(), Now: time.Now, WebhookAllow: []string{place.Listener.Addr().String()}, Logger: log, Metrics: true, Tracer: tracer, Version: "1.2.3"})
	order := worksite(t, h)
	sub, err := h.Subscribe(t.Context(), order, place.URL+"/"+hookSecret+"?token="+hookSecret)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method, path, id, body string) *httptest.ResponseRecorder {
		q := httptest.NewRequest(method, path, strings.NewReader(body))
		q.Header.Set("Authorization", "Bearer "+h.key)
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set(api.HeaderRequestID, id)
		q.Header.Set("Traceparent", "00-"+askedBy+"-"+askedIn+"-01")
		w := httptest.NewRecorder()
		h.service.Handler().ServeHTTP(w, q)
		return w
	}
	if w := ask(http.MethodPost, api.PathOrder, "req-move", `{"action":"complete","order_id":"`+order+`","completion_notes":"Fan replaced"}`); w.Code != http.StatusOK {
		t.Fatal(w.Body)
	}
	hook := <-calls
	ask(http.MethodGet, "/no/such/"+hookSecret+"?q="+hookSecret, "req-none", "")
	ask(http.MethodGet, api.PathHealth, "req-health", "")
	csv := "time,power_kw\n2026-01-01 10:00,1\n2026-01-01 10:15,2\n2026-01-01 10:30,3\n2026-01-01 10:45,3\n"
	ack, err := h.UploadTrain(t.Context(), api.UploadRequest{CustomerID: "acme", SiteID: "South", Region: "eu", Location: "47.07,15.44", Timezone: "UTC", CapacityKW: 50, Filename: "a.csv"}, strings.NewReader(csv), nil)
	if err != nil {
		t.Fatal(err)
	}
	h.follow(ack.UploadID)
	waitFor(t, "log after the webhook and the import", func() bool {
		m := scraped(t, h.service)
		return amount(t, m, `sunloop_webhook_posts_total{outcome="delivered"}`) == 1 && amount(t, m, `sunloop_job_runs_total{kind="ingest",outcome="done"}`) == 1
	})

	m := scraped(t, h.service)
	for series, want := range map[string]float64{
		`sunloop_http_requests_total{class="4xx",method="GET",route="unknown"}`: 1,
		`sunloop_http_requests_total{class="2xx",method="GET",route="health"}`:  1,
		`sunloop_http_requests_refused_total{reason="not_found"}`:               1,
		`sunloop_uploads_total{kind="historical",outcome="accepted"}`:           1,
		`sunloop_uploads_total{kind="historical",outcome="imported"}`:           1,
		`sunloop_ready{part="store"}`:                                           1,
		`sunloop_ready{part="disk"}`:                                            1,
		`sunloop_sites`:                                                         1,
		`sunloop_objects`:                                                       1,
	} {
		if v := amount(t, m, series); v != want {
			t.Errorf("%s is %v, not %v", series, v, want)
		}
	}
	for _, series := range []string{"sunloop_store_size_bytes", "sunloop_disk_free_bytes", "sunloop_disk_size_bytes", "sunloop_store_disk_writes_total", "sunloop_objects_size_bytes",
		`sunloop_store_transactions_total{kind="commit",outcome="ok"}`, `sunloop_http_request_bytes_total{route="upload-train"}`, `sunloop_http_response_bytes_total{route="order"}`} {
		if v := amount(t, m, series); v <= 0 {
			t.Errorf("%s is %v", series, v)
		}
	}
	if v := amount(t, m, "sunloop_http_requests_in_flight"); v != 0 {
		t.Errorf("%v requests are in flight", v)
	}

	requests := logged.of(t, "request")
	moved := slices.IndexFunc(requests, func(e map[string]any) bool { return e["request_id"] == "req-move" })
	if moved < 0 {
		t.Fatalf("no line of the request:\n%s", logged.text())
	}
	if e := requests[moved]; e["route"] != "order" || e["method"] != "POST" || e["status"] != 200.0 || e["principal_id"] == "" || e["address"] != "192.0.2.1" || e["level"] != "DEBUG" || e["bytes_out"].(float64) <= 0 {
		t.Errorf("the line is %v", e)
	}
	hooks := logged.of(t, "webhook")
	if len(hooks) != 1 || hooks[0]["request_id"] != "req-move" || hooks[0]["outcome"] != "delivered" {
		t.Errorf("the lines of webhooks are %v", hooks)
	}
	if jobs := logged.of(t, "job"); !slices.ContainsFunc(jobs, func(e map[string]any) bool {
		return e["kind"] == "ingest" && strings.HasPrefix(e["request_id"].(string), "req_")
	}) {
		t.Errorf("no line of the import with its request: %v", jobs)
	}
	for _, e := range h.service.logs.Entries("", 0, 1000) {
		if e.Message == "request" || e.Message == "job" {
			t.Errorf("%+v fills what /terminal/log keeps", e)
		}
	}

	if err := tracer.Close(); err != nil { // sends what is left
		t.Fatal(err)
	}
	move := got.named("POST order")
	i := slices.IndexFunc(move, func(s *trace.Span) bool { return hex.EncodeToString(s.ParentSpanId) == askedIn })
	if i < 0 || hex.EncodeToString(move[i].TraceId) != askedBy || move[i].Kind != trace.Span_SPAN_KIND_SERVER {
		t.Fatalf("the spans of moves are %v", move)
	}
	linked := func(name string, to []*trace.Span) *trace.Span {
		t.Helper()
		for _, s := range got.named(name) {
			for _, l := range s.Links {
				if slices.ContainsFunc(to, func(of *trace.Span) bool {
					return bytes.Equal(l.SpanId, of.SpanId) && bytes.Equal(l.TraceId, of.TraceId)
				}) {
					return s
				}
			}
		}
		t.Fatalf("no span %q is linked with what caused it: %v", name, got.named(name))
		return nil
	}
	posted := linked("webhook", move[i:i+1])
	if want := "00-" + hex.EncodeToString(posted.TraceId) + "-" + hex.EncodeToString(posted.SpanId) + "-01"; hook.header.Get("Traceparent") != want {
		t.Errorf("the endpoint received %q, not %q", hook.header.Get("Traceparent"), want)
	}
	linked("job ingest", got.named("POST upload-train"))
	if n := len(got.named("GET health")); n > 0 {
		t.Errorf("%d probes were traced", n)
	}
	if n := len(got.named("GET unknown")); n != 1 {
		t.Errorf("%d spans of an unknown path", n)
	}

	for name, text := range map[string]string{"metrics": m, "the log": logged.text(), "traces": got.raw.String()} {
		for what, secret := range map[string]string{"the key": h.key, "the webhook's secret": sub.Secret, "a path, query or callback": hookSecret, "a body": "Fan replaced"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s hold %s", name, what)
			}
		}
	}
}

// waitFor waits until something is so.
func waitFor(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// A collector that is not there stops and slows nothing.
func TestUnreachableCollectorIsHarmless(t *testing.T) {
	hang := make(chan struct{})
	dead := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer dead.Close()
	defer close(hang)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "4")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2")
	tracer, err := tracing.Open(t.Context(), tracing.Config{Endpoint: dead.URL, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	h := open(t, Config{DataDir: t.TempDir(), Now: time.Now, Tracer: tracer})
	for range 200 { // many times the queue
		if _, err := h.Sites(t.Context(), api.ListQuery{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := tracer.Close(); err != nil { // recovers although the server does not respond
		t.Errorf("closed with %v", err)
	}
}

func TestTracesRequireAnAddress(t *testing.T) {
	if tracer, err := tracing.Open(t.Context(), tracing.Config{}); tracer != nil || err != nil {
		t.Errorf("without an endpoint: %v, %v", tracer, err)
	}
	for _, endpoint := range []string{"127.0.0.1:4318", "grpc://collector:4317", "://"} {
		if _, err := tracing.Open(t.Context(), tracing.Config{Endpoint: endpoint}); err == nil || !strings.Contains(err.Error(), "--otlp: invalid URL of a collector") {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	if _, err := tracing.Open(t.Context(), tracing.Config{Endpoint: "http://127.0.0.1:1"}); err == nil || !strings.Contains(err.Error(), "OTEL_EXPORTER_OTLP_PROTOCOL") {
		t.Errorf("another protocol: %v", err)
	}
	t.Setenv("OTEL_SDK_DISABLED", "true")
	if tracer, err := tracing.Open(t.Context(), tracing.Config{Endpoint: "http://127.0.0.1:1"}); tracer != nil || err != nil {
		t.Errorf("switched off: %v, %v", tracer, err)
	}
}

// Readiness names each part that is not ready, and nothing of the machine.
func TestReadinessNamesItsParts(t *testing.T) {
	wall := time.Now()
	var mu sync.Mutex
	now := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return wall
	}
	dir := t.TempDir()
	logged := &lines{}
	s, err := New(Config{DataDir: dir, Now: now, Wall: now, Logger: slog.New(slog.NewJSONHandler(logged, nil)), Metrics: true}) // Run is not called: no worker takes jobs
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	ask := func(capability string) (int, api.Readiness, string) {
		t.Helper()
		return askReady(t, s, capability)
	}
	for _, capability := range append(api.CapabilityNames(), "") {
		if code, r, text := ask(capability); code != http.StatusOK || r.NotReady != nil {
			t.Fatalf("%s at the start HTTP %d, %s", capability, code, text)
		}
	}
	if code, _, text := ask("coffee"); code != http.StatusBadRequest || !strings.Contains(text, "reads, writes, uploads, jobs, mail") {
		t.Errorf("an unknown capability: HTTP %d %s", code, text)
	}
	s.health.Space = func() (uint64, uint64, error) { return health.MinFreeBytes - 1, 1 << 40, nil }
	if err := os.Remove(filepath.Join(dir, backup.Key)); err != nil {
		t.Fatal(err)
	}
	if err := s.opened.Load().records.Update(t.Context(), func(tx store.Tx) error { return tx.Enqueue(store.Job{Kind: "detect"}) }); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	wall = wall.Add(health.StuckAfter + time.Minute)
	mu.Unlock()
	began := now()
	for want, capabilities := range map[int][]string{
		http.StatusOK:                 {"", api.CapabilityReads, api.CapabilityMail},
		http.StatusServiceUnavailable: {api.CapabilityWrites, api.CapabilityUploads, api.CapabilityJobs},
	} {
		for _, capability := range capabilities {
			code, r, text := ask(capability)
			writes := r.Capabilities[api.CapabilityWrites]
			if code != want || len(r.NotReady) != 3 || r.Capabilities[api.CapabilityReads].Status != api.CapabilityOK {
				t.Errorf("%q without room: HTTP %d %s", capability, code, text)
			}
			if writes.Status != api.CapabilityUnavailable || writes.Reason != r.NotReady["disk"] || writes.Since == nil || !writes.Since.Equal(api.At(began).Time) {
				t.Errorf("%q: writes are %+v since %v", capability, writes, writes.Since)
			}
		}
	}
	mu.Lock()
	wall = wall.Add(time.Minute)
	mu.Unlock()
	if _, r, _ := ask(""); !r.Capabilities[api.CapabilityWrites].Since.Equal(api.At(began).Time) {
		t.Error("a capability that stays unavailable has another beginning")
	}
	s.EndReadiness()
	for range 3 {
		code, r, text := ask("")
		parts := r.NotReady
		if code != http.StatusServiceUnavailable || len(parts) != 4 || parts["disk"] == "" || parts["key"] == "" || parts["queue"] == "" || parts["service"] == "" {
			t.Fatalf("HTTP %d, %v", code, parts)
		}
		if strings.Contains(text, dir) {
			t.Errorf("an unauthenticated client reads %s", text)
		}
	}
	if n := len(logged.of(t, "not ready")); n != 2 {
		t.Errorf("it was logged %d times:\n%s", n, logged.text())
	}
	if m := scraped(t, s); amount(t, m, `sunloop_ready{part="disk"}`) != 0 || amount(t, m, `sunloop_ready{part="store"}`) != 1 {
		t.Error("the metrics say otherwise")
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, api.PathHealth, nil))
	if w.Code != http.StatusOK {
		t.Errorf("it lives, and says HTTP %d", w.Code)
	}
}

// askReady asks for readiness, and returns the state, which is the details of a
// 503.
func askReady(t *testing.T, s *Service, capability string) (int, api.Readiness, string) {
	t.Helper()
	path := api.PathReady
	if capability != "" {
		path += "?capability=" + capability
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	var body struct {
		api.Readiness
		Details api.Readiness `json:"details"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatal(err)
	}
	if w.Code != http.StatusOK {
		return w.Code, body.Details, w.Body.String()
	}
	return w.Code, body.Readiness, w.Body.String()
}

// A mail server that takes no messages is a capability that is unavailable, and
// takes away nothing else.
func TestReadinessOfMail(t *testing.T) {
	s, err := New(Config{DataDir: t.TempDir(), Now: time.Now, SMTP: &mail.Server{Host: "mail.example.org", TLS: mail.StartTLS, From: "a@example.org"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const unreachable = "the mail server cannot be reached or takes no messages"
	for _, c := range []struct {
		answer error
		want   string
	}{
		{fmt.Errorf("send: %w", mail.ErrCredentials), "the mail server refuses the user or the password"}, {errors.New("it is down"), unreachable}, {nil, ""},
		{errors.New("it is down"), unreachable}, {fmt.Errorf("send: %w", mail.ErrRefused), ""},
	} {
		_ = s.instruments.Mailer(sender{c.answer}).Send(t.Context(), mail.Message{})
		code, r, text := askReady(t, s, "")
		if got := r.Capabilities[api.CapabilityMail]; code != http.StatusOK || got.Reason != c.want || r.NotReady["mail"] != c.want {
			t.Errorf("after %v: HTTP %d %s", c.answer, code, text)
		}
	}
}

// sender is a mail server that may fail.
type sender struct{ err error }

func (s sender) Send(context.Context, mail.Message) error { return s.err }

func TestMessagesAreCounted(t *testing.T) {
	s, err := New(Config{DataDir: t.TempDir(), Now: time.Now, Metrics: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	failure := errors.New("it is down")
	for _, answer := range []error{nil, failure, failure} {
		if err := s.instruments.Mailer(sender{answer}).Send(t.Context(), mail.Message{}); !errors.Is(err, answer) {
			t.Errorf("sent with %v, not %v", err, answer)
		}
	}
	m := scraped(t, s)
	if amount(t, m, `sunloop_mail_messages_total{outcome="sent"}`) != 1 || amount(t, m, `sunloop_mail_messages_total{outcome="failed"}`) != 2 {
		t.Error("messages are miscounted")
	}
}
