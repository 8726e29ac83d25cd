//go:build !gateway

package backend

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"app.sunloop/backend/backup"
	"app.sunloop/backend/check"
	"app.sunloop/backend/client"
	"app.sunloop/backend/migrate"
	"app.sunloop/backend/store/bolt"
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
	if diff := gocmp.Diff(answers(t, look(t, data, was.Keys)), got); diff != "" {
		t.Errorf("the folder and the database answer differently (-folder +database):\n%s", diff)
	}
	signsIn(t, moved, was.Keys)
}

// signsIn signs in the person of a filled folder, with a password and a recovery
// code.
func signsIn(t *testing.T, h *instance, keys filled) {
	t.Helper()
	person := client.New(client.Options{Transport: client.InProcess(h.service.Handler()), Now: time.Now})
	defer person.Close()
	begun, err := person.Login(t.Context(), filledUser, filledPassword)
	if err != nil {
		t.Fatal(err)
	}
	if in, err := person.VerifyMFA(t.Context(), begun.MFAToken, keys.Recovery); err != nil || in.Token == "" {
		t.Errorf("the person of the folder cannot sign in: %v", err)
	}
}

// In the archive of a database, next to its key, the folder of its objects and
// what it answered.
const keptDatabase = "database.sql"

// TestUpgradeDatabase restores the dump of a database of each schema version that
// there has been, made by a build of that time: the present build opens it, answers
// what that build answered and finds no fault, before and after; its key and its
// person are accepted. With -update-folder the dump of a version without one is written.
func TestUpgradeDatabase(t *testing.T) {
	for version := 2; version <= postgres.SchemaVersion(); version++ { // no release had version 1
		t.Run(fmt.Sprintf("schema %d", version), func(t *testing.T) {
			archive := filepath.Join("testdata", fmt.Sprintf("database-%d.tar.gz", version))
			if _, err := os.Stat(archive); *updateFolder && errors.Is(err, os.ErrNotExist) {
				keepDatabase(t, archive)
			}
			dir := t.TempDir()
			unpack(t, archive, dir)
			read := func(name string) []byte {
				b, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
			var was kept
			if err := json.Unmarshal(read(keptAnswers), &was); err != nil {
				t.Fatal(err)
			}
			data := filepath.Join(dir, "data")
			if err := os.Mkdir(data, 0o700); err != nil {
				t.Fatal(err)
			}
			cfg := lookConfig(data)
			cfg.Store, cfg.Objects, cfg.KeyFile = pgtest.Database(t), filepath.Join(dir, "objects"), filepath.Join(dir, backup.Key)
			pgtest.Restore(t, cfg.Store, read(keptDatabase))
			whole := func() {
				t.Helper()
				c, err := check.Replica(t.Context(), cfg.Paths(), time.Now)
				if err != nil || len(c.Faults) > 0 || c.Records < 100 || c.Objects < 5 {
					t.Errorf("the check finds %+v, %v", c, err)
				}
			}
			whole()
			h := lookAt(t, cfg, was.Keys)
			got := answers(t, h)
			orderActivities(was.Answers)
			orderActivities(got)
			for name, want := range was.Answers {
				for _, what := range lost(name, want, got[name]) {
					t.Error(what)
				}
			}
			signsIn(t, h, was.Keys)
			if err := h.service.Close(); err != nil {
				t.Error(err)
			}
			whole()
		})
	}
}

// orderActivities gives activities of the same time one order: builds differ in
// it.
func orderActivities(answers map[string]any) {
	list := answers["activities"].(map[string]any)["activities"].([]any)
	slices.SortFunc(list, func(a, b any) int {
		x, y := a.(map[string]any), b.(map[string]any)
		return cmp.Or(strings.Compare(y["timestamp"].(string), x["timestamp"].(string)), strings.Compare(fmt.Sprint(x), fmt.Sprint(y)))
	})
}

// keepDatabase moves the newest filled folder into a database, which a service
// opens once, and writes its archive.
func keepDatabase(t *testing.T, archive string) {
	t.Helper()
	data, was := unpackFolder(t, bolt.SchemaVersion)
	dir := t.TempDir()
	cfg := lookConfig(t.TempDir())
	cfg.Store, cfg.Objects, cfg.KeyFile = pgtest.Database(t), filepath.Join(dir, "objects"), filepath.Join(data, backup.Key)
	if _, err := migrate.Run(t.Context(), migrate.Options{From: data, To: cfg.Store, Objects: cfg.Objects, Now: time.Now}); err != nil {
		t.Fatal(err)
	}
	h := lookAt(t, cfg, was.Keys)
	was.Answers = answers(t, h)
	if err := h.service.Close(); err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(was)
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(cfg.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{keptAnswers: written, backup.Key: key, keptDatabase: pgtest.Dump(t, cfg.Store)} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pack(t, archive, dir)
}
