package logbuffer_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"app.sunloop/backend/logbuffer"
)

// TestRewrite writes a word in each place of an event that holds text.
func TestRewrite(t *testing.T) {
	var out bytes.Buffer
	kept := logbuffer.New(slog.NewTextHandler(&out, nil), slog.LevelInfo)
	log := slog.New(logbuffer.Rewrite(kept, func(s string) string { return strings.ReplaceAll(s, "secret", "hidden") }))
	log.With("a", "secret", slog.Group("g", "b", errors.New("secret 1"))).WithGroup("h").Error("a secret event",
		"c", []string{"x", "secret"}, "d", &url.URL{Host: "secret"}, "e", slog.GroupValue(slog.String("f", "secret")), "n", 7, "other", errors.New("other"))
	entries := kept.Entries("", 0, 10)
	if len(entries) != 1 {
		t.Fatalf("%d events are kept", len(entries))
	}
	for _, text := range []string{out.String(), entries[0].Message + entries[0].Details} {
		if strings.Contains(text, "secret") || strings.Count(text, "hidden") != 6 || !strings.Contains(text, "h.n=7") || !strings.Contains(text, "other=other") {
			t.Errorf("the event is %s", text)
		}
	}
}
