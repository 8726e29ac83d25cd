// Package tracing sends traces of what the service does to a collector, by
// OTLP over HTTP. It is the one package that knows OpenTelemetry. A nil
// [Tracer] traces nothing and costs nothing.
//
// Spans carry names of routes and kinds of jobs, statuses and ids that the
// service made; never a path, a query, a body, a header, a URL or the text of
// an error.
package tracing

import (
	"log/slog"
	"time"
)

// Config says where traces go. The standard OTEL_ variables of the environment
// count: of the endpoint, its headers and certificates, of sampling, batches
// and resource.
type Config struct {
	// Endpoint is the base URL of a collector, as in http://127.0.0.1:4318;
	// empty: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, or no traces.
	Endpoint string
	Version  string           // of the program
	Now      func() time.Time // the real clock
	Log      *slog.Logger     // of spans that cannot be sent
}

// ServedRequest is the result of a request.
type ServedRequest struct {
	Route, Method, RequestID string
	Status                   int
}

// SpanStart is something that is done later than what caused it.
type SpanStart struct {
	Name, ID, RequestID string
	Attempt             int
	Cause               string // traceparent of what caused it
	Outgoing            bool   // it is a call to somewhere else
}
