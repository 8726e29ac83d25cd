package logbuffer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"app.sunloop/backend/api"
)

func TestKeepsAndForwards(t *testing.T) {
	var out bytes.Buffer
	j := New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn}), slog.LevelInfo)
	log := slog.New(j).With("site", "Sibaya").WithGroup("job")
	log.Debug("too small")
	log.Info("trained", "kind", "train", "took", 3)
	log.Warn("failed", "error", errors.New("no such \"file\"\nanywhere"), "token", "eyJ", slog.Group("unit", "id", "INV-01"))
	got := j.Entries("", 0, 10)
	if len(got) != 2 {
		t.Fatalf("%d events: %+v", len(got), got)
	}
	if e := got[0]; e.Sequence != 2 || e.Level != api.LogWarn || e.Message != "failed" || e.Details != `site=Sibaya job.error="no such 'file'\nanywhere" job.token="(left out)" job.unit.id=INV-01` {
		t.Errorf("the newest is %+v", e)
	}
	if e := got[1]; e.Sequence != 1 || e.Level != api.LogInfo || e.Details != "site=Sibaya job.kind=train job.took=3" {
		t.Errorf("the first is %+v", e)
	}
	if text := out.String(); strings.Contains(text, "trained") || !strings.Contains(text, "failed") {
		t.Errorf("handed on: %s", text)
	}
	if got := j.Entries(api.LogWarn, 0, 10); len(got) != 1 {
		t.Errorf("warnings: %+v", got)
	}
}

// Pages join without a gap, however many events arrive.
func TestIsBounded(t *testing.T) {
	j := New(nil, slog.LevelInfo)
	log := slog.New(j)
	for i := range 3 * keep {
		log.Info(fmt.Sprint(i), "long", strings.Repeat("é", maxText))
	}
	var all []api.LogEntry
	for before := int64(0); ; {
		part := j.Entries("", before, 700)
		if len(part) == 0 {
			break
		}
		all = append(all, part...)
		before = part[len(part)-1].Sequence
	}
	if len(all) > keep || len(all) < keep*9/10 || all[0].Message != fmt.Sprint(3*keep-1) {
		t.Fatalf("%d events are kept, the newest is %s", len(all), all[0].Message)
	}
	for i, e := range all {
		if e.Sequence != int64(3*keep-i) || len(e.Details) > maxText+8 {
			t.Fatalf("event %d is %d of %d bytes", i, e.Sequence, len(e.Details))
		}
	}
	if !j.Enabled(context.Background(), slog.LevelInfo) || j.Enabled(context.Background(), slog.LevelDebug) {
		t.Error("the level is not held")
	}
}
