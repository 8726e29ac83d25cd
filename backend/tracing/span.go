//go:build !gateway

package tracing

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Request begins the span of a request, as a child of the caller's if the
// header has one.
func (t *Tracer) Request(ctx context.Context, h http.Header) context.Context {
	if t == nil {
		return ctx
	}
	ctx, _ = t.tracer.Start(t.context.Extract(ctx, propagation.HeaderCarrier(h)), "HTTP", trace.WithSpanKind(trace.SpanKindServer))
	return ctx
}

// EndRequest ends the span of ctx.
func (t *Tracer) EndRequest(ctx context.Context, s ServedRequest) {
	span := trace.SpanFromContext(ctx)
	if t == nil || !span.IsRecording() {
		return
	}
	span.SetName(s.Method + " " + s.Route)
	span.SetAttributes(attribute.String("http.request.method", s.Method), attribute.String("http.route", s.Route),
		attribute.Int("http.response.status_code", s.Status), attribute.String("sunloop.request_id", s.RequestID))
	if s.Status >= http.StatusInternalServerError || s.Status == 0 {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

// Begin begins a separate trace for work, linked with its cause. The
// function that it answers ends it.
func (t *Tracer) Begin(ctx context.Context, w SpanStart) (context.Context, func(outcome string, failed bool)) {
	if t == nil {
		return ctx, func(string, bool) {}
	}
	kind := trace.SpanKindInternal
	if w.Outgoing {
		kind = trace.SpanKindClient
	}
	options := []trace.SpanStartOption{trace.WithNewRoot(), trace.WithSpanKind(kind), trace.WithAttributes(
		attribute.String("sunloop.id", w.ID), attribute.Int("sunloop.attempt", w.Attempt), attribute.String("sunloop.request_id", w.RequestID))}
	cause := t.context.Extract(context.Background(), propagation.MapCarrier{"traceparent": w.Cause})
	if link := trace.SpanContextFromContext(cause); link.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: link}))
	}
	ctx, span := t.tracer.Start(ctx, w.Name, options...)
	return ctx, func(outcome string, failed bool) { end(span, outcome, failed) }
}

// Call begins the span of a call to somewhere else within the work of ctx.
func (t *Tracer) Call(ctx context.Context, name string) (context.Context, func(outcome string, failed bool)) {
	if t == nil {
		return ctx, func(string, bool) {}
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient))
	return ctx, func(outcome string, failed bool) { end(span, outcome, failed) }
}

func end(span trace.Span, outcome string, failed bool) {
	span.SetAttributes(attribute.String("sunloop.outcome", outcome))
	if failed {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

// slow is from how long on a transaction is worth a span.
const slow = 5 * time.Millisecond

// Transaction adds one of the store's, if it was slow, to the work of ctx.
func (t *Tracer) Transaction(ctx context.Context, kind string, begin time.Time, took time.Duration, failed bool) {
	if t == nil || took < slow || !trace.SpanFromContext(ctx).IsRecording() {
		return
	}
	_, span := t.tracer.Start(ctx, "store "+kind, trace.WithTimestamp(begin))
	if failed {
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(begin.Add(took)))
}

// Parent is the traceparent of the span of ctx; empty without one.
func (t *Tracer) Parent(ctx context.Context) string {
	if t == nil {
		return ""
	}
	carrier := propagation.MapCarrier{}
	t.context.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// Transport sends the trace context of a request to the called service.
func (t *Tracer) Transport(next http.RoundTripper) http.RoundTripper {
	if t == nil {
		return next
	}
	return transport{next, t.context}
}

type transport struct {
	http.RoundTripper
	context propagation.TraceContext
}

// RoundTrip calls with the header traceparent.
func (t transport) RoundTrip(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	t.context.Inject(q.Context(), propagation.HeaderCarrier(q.Header)) //nolint:contextcheck // of a clone of the request
	q.Header.Del("Tracestate")                                         // of the caller of this service: not for the endpoint
	return t.RoundTripper.RoundTrip(q)
}
