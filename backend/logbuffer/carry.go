package logbuffer

import (
	"context"
	"log/slog"
)

// carrier adds the attributes of the context to each event.
type carrier struct {
	slog.Handler
	of func(context.Context) []slog.Attr
}

// Carry hands events on to next with the attributes that their context has.
func Carry(next slog.Handler, of func(context.Context) []slog.Attr) slog.Handler {
	return carrier{next, of}
}

// Handle hands an event on.
func (c carrier) Handle(ctx context.Context, r slog.Record) error {
	if more := c.of(ctx); len(more) > 0 {
		r = r.Clone()
		r.AddAttrs(more...)
	}
	return c.Handler.Handle(ctx, r)
}

// WithAttrs is a handler whose events have the attributes too.
func (c carrier) WithAttrs(attrs []slog.Attr) slog.Handler {
	return carrier{c.Handler.WithAttrs(attrs), c.of}
}

// WithGroup is a handler that puts the name before those of attributes.
func (c carrier) WithGroup(name string) slog.Handler {
	return carrier{c.Handler.WithGroup(name), c.of}
}
