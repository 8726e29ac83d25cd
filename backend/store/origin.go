package store

import "context"

// Origin is the request that caused work. It goes with the context of a
// transaction into the jobs that are enqueued in it, and from a job's context
// into those that follow from it.
type Origin struct {
	RequestID string `json:"request_id,omitempty" limit:"id cut"`
	Trace     string `json:"trace,omitempty" limit:"name cut"` // traceparent of W3C; empty: it is not traced
}

type originKey struct{}

// WithOrigin is ctx for work that o caused.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf is what caused the work of ctx; zero when no request did.
func OriginOf(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return o
}
