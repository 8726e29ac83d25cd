package pipeline

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// TestSpell has a failure told once, and its end.
func TestSpell(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(slog.NewTextHandler(&b, nil))
	away := errors.New("away")
	var s spell
	for _, err := range []error{nil, away, away, away, nil, nil, away} {
		s.note(t.Context(), log, "plan", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s.note(ended, log, "plan", nil)
	if said := b.String(); strings.Count(said, "msg=plan error=away") != 2 || strings.Count(said, "it goes on") != 1 {
		t.Error(said)
	}
}
