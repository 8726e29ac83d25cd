package pipeline

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestPlannerRests(t *testing.T) {
	for _, c := range []struct{ tick, took, want time.Duration }{
		{time.Second, 10 * time.Millisecond, time.Second},
		{time.Second, 2 * time.Second, 18 * time.Second},
		{time.Second, time.Minute, maxPause},
		{time.Second, 48 * time.Hour, maxPause}, // a clock that was put forward
		{time.Second, -48 * time.Hour, time.Second},
		{time.Minute, time.Hour, time.Minute},
	} {
		if got := pauseAfter(c.tick, c.took); got != c.want {
			t.Errorf("after %v with a tick of %v it rests %v, want %v", c.took, c.tick, got, c.want)
		}
	}
}

// TestSpell: a failure is logged once, and its end.
func TestErrorStreak(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(slog.NewTextHandler(&b, nil))
	away := errors.New("away")
	var s errorStreak
	for _, err := range []error{nil, away, away, away, nil, nil, away} {
		s.report(t.Context(), log, "enqueue", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s.report(ended, log, "enqueue", nil)
	if said := b.String(); strings.Count(said, "msg=enqueue error=away") != 2 || strings.Count(said, "msg=recovered") != 1 {
		t.Error(said)
	}
}
