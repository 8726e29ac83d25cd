package logbuffer

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
)

// rewriter changes the text of events.
type rewriter struct {
	slog.Handler
	text func(string) string
}

// Rewrite returns a handler that passes events on to next with text applied to
// the message and to each value of an attribute that is text, an error, a list
// of texts or a [fmt.Stringer], also within groups.
func Rewrite(next slog.Handler, text func(string) string) slog.Handler {
	return rewriter{next, text}
}

// Handle passes an event on.
func (w rewriter) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, w.text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(w.attribute(a))
		return true
	})
	return w.Handler.Handle(ctx, out)
}

// WithAttrs returns a handler whose events also have the attributes.
func (w rewriter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return rewriter{w.Handler.WithAttrs(w.attributes(attrs)), w.text}
}

// WithGroup returns a handler that puts the name before the names of attributes.
func (w rewriter) WithGroup(name string) slog.Handler {
	return rewriter{w.Handler.WithGroup(name), w.text}
}

func (w rewriter) attributes(list []slog.Attr) []slog.Attr {
	out := slices.Clone(list)
	for i, a := range out {
		out[i] = w.attribute(a)
	}
	return out
}

func (w rewriter) attribute(a slog.Attr) slog.Attr {
	a.Value = a.Value.Resolve()
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(w.text(a.Value.String()))
	case slog.KindGroup:
		a.Value = slog.GroupValue(w.attributes(a.Value.Group())...)
	case slog.KindAny:
		switch v := a.Value.Any().(type) {
		case error, fmt.Stringer:
			// The value stays if nothing in it changes, as handlers may know its type.
			if was := fmt.Sprint(v); w.text(was) != was {
				a.Value = slog.StringValue(w.text(was))
			}
		case []string:
			out := slices.Clone(v)
			for i, one := range out {
				out[i] = w.text(one)
			}
			a.Value = slog.AnyValue(out)
		}
	}
	return a
}
