// Package logbuffer keeps the newest events that the service logged, in memory,
// for administrators to read over the API.
package logbuffer

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"app.sunloop/backend/api"
)

// keep is how many events are kept, and maxText how many bytes of the words of
// one.
const keep, maxText = 2000, 4 << 10

// Buffer is a [slog.Handler] that keeps events and hands them on.
type Buffer struct {
	next   slog.Handler
	level  slog.Leveler
	ring   *ring
	prefix string // of the names of attributes: the groups that are open
	with   []string
}

// ring holds the events of all handlers derived from one.
type ring struct {
	mu      sync.Mutex
	entries []api.LogEntry // oldest first
	last    int64
}

// New returns a handler that keeps events at or above a level, and passes on
// those that next accepts; next may be nil.
func New(next slog.Handler, level slog.Leveler) *Buffer {
	if next == nil {
		next = slog.DiscardHandler
	}
	return &Buffer{next: next, level: level, ring: &ring{}}
}

// Enabled reports whether an event of the level is kept or passed on.
func (b *Buffer) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= b.level.Level() || b.next.Enabled(ctx, l)
}

// Handle keeps an event and hands it on.
func (b *Buffer) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= b.level.Level() {
		details := slices.Clone(b.with)
		r.Attrs(func(a slog.Attr) bool {
			details = attribute(details, b.prefix, a)
			return true
		})
		b.ring.add(api.LogEntry{Timestamp: api.At(r.Time), Level: nameOf(r.Level), Message: brief(r.Message), Details: brief(strings.Join(details, " "))})
	}
	if !b.next.Enabled(ctx, r.Level) {
		return nil
	}
	return b.next.Handle(ctx, r)
}

// WithAttrs is a handler whose events have the attributes too.
func (b *Buffer) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *b
	c.next, c.with = b.next.WithAttrs(attrs), slices.Clone(b.with)
	for _, a := range attrs {
		c.with = attribute(c.with, b.prefix, a)
	}
	return &c
}

// WithGroup is a handler that puts the name before those of attributes.
func (b *Buffer) WithGroup(name string) slog.Handler {
	c := *b
	c.next = b.next.WithGroup(name)
	if name != "" {
		c.prefix = b.prefix + name + "."
	}
	return &c
}

// Entries are those of a level and above (empty: all), newest first, that came
// before a sequence (0: all), at most limit of them.
func (b *Buffer) Entries(level string, before int64, limit int) []api.LogEntry {
	least := slices.Index(api.LogLevels(), level)
	b.ring.mu.Lock()
	defer b.ring.mu.Unlock()
	var out []api.LogEntry
	for _, e := range slices.Backward(b.ring.entries) {
		if len(out) == limit {
			break
		}
		if (before == 0 || e.Sequence < before) && slices.Index(api.LogLevels(), e.Level) >= least {
			out = append(out, e)
		}
	}
	return out
}

func (r *ring) add(e api.LogEntry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	e.Sequence = r.last
	if len(r.entries) == keep {
		r.entries = slices.Delete(r.entries, 0, keep/10) // seldom, and then some
	}
	r.entries = append(r.entries, e)
}

// secret lists parts of names whose values are never kept.
var secret = []string{"password", "secret", "token", "credential", "authorization", "api_key"}

// attribute adds name=value to details, for a group one for each of its
// attributes.
func attribute(details []string, prefix string, a slog.Attr) []string {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, inner := range v.Group() {
			details = attribute(details, prefix, inner)
		}
		return details
	}
	if a.Equal(slog.Attr{}) {
		return details
	}
	text := v.String()
	name := strings.ToLower(a.Key)
	if slices.ContainsFunc(secret, func(s string) bool { return strings.HasSuffix(name, s) }) {
		text = "(left out)"
	}
	if strings.ContainsAny(text, " \t\n\"=") {
		text = `"` + strings.NewReplacer("\n", `\n`, "\t", " ", `"`, `'`).Replace(text) + `"`
	}
	return append(details, prefix+a.Key+"="+text)
}

// brief truncates a stored text.
func brief(text string) string {
	if len(text) <= maxText {
		return text
	}
	n := maxText
	for !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + " …"
}

// nameOf is the level of the contract that holds one.
func nameOf(l slog.Level) string {
	switch {
	case l < slog.LevelInfo:
		return api.LogDebug
	case l < slog.LevelWarn:
		return api.LogInfo
	case l < slog.LevelError:
		return api.LogWarn
	}
	return api.LogError
}

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
