//go:build gateway

package tracing

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// errMissing is the error of a configured collector in a build without traces.
var errMissing = errors.New("--otlp: this build of Sunloop (gateway) has no traces; use the full build, or remove the setting")

// Tracer makes no spans in this build; it is always nil.
type Tracer struct{}

// Check returns an error if an endpoint is configured.
func Check(endpoint string) error {
	if endpoint != "" {
		return errMissing
	}
	return nil
}

// Open returns nil, or an error if an endpoint is configured.
func Open(_ context.Context, c Config) (*Tracer, error) { return nil, Check(c.Endpoint) }

// Close does nothing.
func (*Tracer) Close() error { return nil }

// Request returns ctx.
func (*Tracer) Request(ctx context.Context, _ http.Header) context.Context { return ctx }

// EndRequest does nothing.
func (*Tracer) EndRequest(context.Context, ServedRequest) {}

// Begin returns ctx and a function that does nothing.
func (*Tracer) Begin(ctx context.Context, _ SpanStart) (context.Context, func(outcome string, failed bool)) {
	return ctx, func(string, bool) {}
}

// Call returns ctx and a function that does nothing.
func (*Tracer) Call(ctx context.Context, _ string) (context.Context, func(outcome string, failed bool)) {
	return ctx, func(string, bool) {}
}

// Transaction does nothing.
func (*Tracer) Transaction(context.Context, string, time.Time, time.Duration, bool) {}

// Parent returns an empty string.
func (*Tracer) Parent(context.Context) string { return "" }

// Transport returns next.
func (*Tracer) Transport(next http.RoundTripper) http.RoundTripper { return next }
