//go:build !gateway

package backend

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/client"
	"app.sunloop/backend/migrate"
	"app.sunloop/backend/store/pgtest"
	"app.sunloop/backend/store/postgres"
)

// TestMigratedFolder moves the filled folder into a database and a place for
// objects: a service over these answers what one over the folder does, and its
// key and its person come in. A service does not open an incomplete migration.
func TestMigratedFolder(t *testing.T) {
	data, was := unpackFolder(t, 1)
	cfg := lookConfig(t.TempDir())
	cfg.Store, cfg.Objects = pgtest.Database(t), filepath.Join(t.TempDir(), "objects")
	cfg.KeyFile = filepath.Join(data, "sunloop.key")

	ctx, cancel := context.WithCancel(t.Context())
	o := migrate.Options{From: data, To: cfg.Store, Objects: cfg.Objects, Now: time.Now, Progress: func(p migrate.Progress) {
		if p.Step == migrate.Objects {
			cancel()
		}
	}}
	if _, err := migrate.Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if s, err := New(cfg); !errors.Is(err, postgres.ErrImporting) {
		t.Errorf("a service opened an incomplete migration: %v, %v", s, err)
	}
	o.Progress = nil
	report, err := migrate.Run(t.Context(), o)
	if err != nil || len(report.Differences) > 0 {
		t.Fatal(report, err)
	}

	moved := lookAt(t, cfg, was.Keys)
	got := answers(t, moved)
	for name, want := range was.Answers {
		for _, what := range lost(name, want, got[name]) {
			t.Error(what)
		}
	}
	if diff := cmp.Diff(answers(t, look(t, data, was.Keys)), got); diff != "" {
		t.Errorf("the folder and the database answer differently (-folder +database):\n%s", diff)
	}
	person := client.New(client.Options{Transport: client.InProcess(moved.service.Handler()), Now: time.Now})
	defer person.Close()
	begun, err := person.Login(t.Context(), filledUser, filledPassword)
	if err != nil {
		t.Fatal(err)
	}
	if in, err := person.VerifyMFA(t.Context(), begun.MFAToken, was.Keys.Recovery); err != nil || in.Token == "" {
		t.Errorf("its person does not come in: %v", err)
	}
}
