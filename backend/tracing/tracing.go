//go:build !gateway

package tracing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Tracer makes spans. Nil makes none.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	context  propagation.TraceContext
}

// Variables of the environment that OpenTelemetry names.
const (
	envTraces   = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	envDisabled = "OTEL_SDK_DISABLED"
	envExporter = "OTEL_TRACES_EXPORTER"
)

// Check finds what is wrong with an endpoint and the environment.
func Check(endpoint string) error {
	for name, text := range map[string]string{"--otlp": endpoint, envTraces: os.Getenv(envTraces)} {
		if u, err := url.Parse(text); text != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
			return fmt.Errorf("%s: invalid URL of a collector; example: http://127.0.0.1:4318", name)
		}
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if p := os.Getenv(name); p != "" && p != "http/protobuf" && on(endpoint) {
			return fmt.Errorf("%s is %q, but traces are sent by http/protobuf alone", name, p)
		}
	}
	return nil
}

// on says whether there is somewhere to send traces to.
func on(endpoint string) bool {
	return (endpoint != "" || os.Getenv(envTraces) != "") && !strings.EqualFold(os.Getenv(envDisabled), "true") && os.Getenv(envExporter) != "none"
}

// Open makes a Tracer; nil when no endpoint is configured. Nothing is sent
// yet, and a collector need not be there.
func Open(ctx context.Context, c Config) (*Tracer, error) {
	if err := Check(c.Endpoint); err != nil || !on(c.Endpoint) {
		return nil, err
	}
	var options []otlptracehttp.Option
	if os.Getenv(envTraces) == "" { // the more special one counts
		options = append(options, otlptracehttp.WithEndpointURL(strings.TrimRight(c.Endpoint, "/")+"/v1/traces"))
	}
	exporter, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("open the traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "sunloop"), attribute.String("service.version", c.Version)),
		resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("open the traces: %w", errors.Join(err, exporter.Shutdown(ctx)))
	}
	if c.Log != nil {
		otel.SetErrorHandler(&quiet{log: c.Log, now: c.Now})
	}
	// The batcher drops spans when its queue is full: it never blocks.
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return &Tracer{provider: p, tracer: p.Tracer("app.sunloop/backend")}, nil
}

// flushTime bounds how long the end waits for a collector.
const flushTime = 3 * time.Second

// Close sends what is left, within three seconds.
func (t *Tracer) Close() error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("send the last traces: %w", err)
	}
	return nil
}

// quiet logs that spans cannot be sent, at most once in five minutes.
type quiet struct {
	log *slog.Logger
	now func() time.Time
	mu  sync.Mutex
	at  time.Time
}

const quietFor = 5 * time.Minute

// Handle takes an error of the exporter.
func (q *quiet) Handle(err error) {
	q.mu.Lock()
	now := q.now()
	logged := !q.at.IsZero() && now.Sub(q.at) < quietFor
	if !logged {
		q.at = now
	}
	q.mu.Unlock()
	if !logged {
		q.log.Warn("traces cannot be sent", "error", redacted(err))
	}
}

// redacted returns an error without the parts of a URL other than its host.
func redacted(err error) string {
	var u *url.Error
	if !errors.As(err, &u) {
		return err.Error()
	}
	host := "the collector"
	if parsed, parseErr := url.Parse(u.URL); parseErr == nil {
		host = cmp.Or(parsed.Host, host)
	}
	return host + ": " + u.Err.Error()
}
