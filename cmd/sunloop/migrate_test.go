package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/backend/store/objects"
	"app.sunloop/backend/store/pgtest"
	"app.sunloop/backend/store/postgres"
	"app.sunloop/backend/store/s3test"
	"app.sunloop/backend/store/storetest"
	"app.sunloop/internal/longtest"
)

// servers are those that scripts share, started by the first that has need of
// them.
type servers struct {
	database func() *pgtest.Server
	bucket   func() *s3test.Server
}

func newServers(t *testing.T) servers {
	return servers{
		sync.OnceValue(func() *pgtest.Server { return pgtest.Start(t, pgtest.Options{}) }),
		sync.OnceValue(func() *s3test.Server { return s3test.Start(t) }),
	}
}

// place NAME makes an empty database or bucket, whose URL is then in the
// variable NAME.
func (s servers) place(url func() string) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: database NAME, bucket NAME")
		}
		ts.Setenv(args[0], url())
		ts.Setenv("AWS_ACCESS_KEY_ID", s3test.AccessKey)
		ts.Setenv("AWS_SECRET_ACCESS_KEY", s3test.SecretKey)
	}
}

// installed says whether the servers of a script can be run.
func installed(condition string) (bool, error) {
	switch condition {
	case "postgres":
		return pgtest.Installed(), nil
	case "s3":
		return s3test.Installed(), nil
	case "long":
		return longtest.Enabled(), nil
	}
	return false, fmt.Errorf("there is no condition %q", condition)
}

// movesEnv is how often TestKilledMigration kills.
const movesEnv = "SUNLOOP_TEST_MOVES"

// movedFolder is a data folder of such a size that a move takes many
// transactions.
func movedFolder(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	now := func() time.Time { return storetest.FleetEnd.Add(time.Hour) }
	s, err := bolt.Open(dir, bolt.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	for part := range 9 {
		err = errors.Join(err, s.Update(t.Context(), func(tx store.Tx) error {
			for i := range 10_000 {
				if err := tx.Put(fmt.Sprintf("bucket-%d", part/3), store.Key("acme", fmt.Sprint(part, i)), bytes.Repeat([]byte("value"), i%50)); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	for _, site := range []string{"North", "South"} {
		key := store.SiteKey{ID: site, Zone: time.UTC}
		err = errors.Join(err, s.Append(t.Context(), key, storetest.Fleet(20, 200)), s.Append(t.Context(), key, storetest.FleetStep(20, 0)))
	}
	o, opened := objects.OpenFolder(filepath.Join(dir, "objects"), nil)
	if err = errors.Join(err, s.Close(), opened); err != nil {
		t.Fatal(err)
	}
	for i := range 600 {
		err = errors.Join(err, o.Put(t.Context(), fmt.Sprintf("historical/%d/%d.csv", i%7, i), bytes.NewReader(bytes.Repeat([]byte{byte(i)}, i*20))))
	}
	if err := errors.Join(err, o.Close(), os.WriteFile(filepath.Join(dir, "sunloop.key"), bytes.Repeat([]byte("k"), 32), 0o600)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// rowsOf is all that a home holds, and what a folder of objects does.
func rowsOf(t *testing.T, home store.Raw, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	sets, err := home.RowSets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range sets {
		for row, err := range home.Rows(t.Context(), set) {
			if err != nil {
				t.Fatal(err)
			}
			all[set.Kind+"\x00"+set.Name+"\x00"+string(row.Key)] = string(row.Value)
		}
	}
	err = filepath.WalkDir(folder, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		rel, relErr := filepath.Rel(folder, name)
		all["object\x00"+rel] = string(b)
		return errors.Join(err, relErr)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestKilledMigration kills the command at any moment, again and again, until it
// has come to its end: then the target holds what the folder does, and before
// that no service opens it.
func TestKilledMigration(t *testing.T) {
	longtest.Mark(t)
	kills := 4
	if n, err := strconv.Atoi(os.Getenv(movesEnv)); err == nil {
		kills = n
	}
	server := pgtest.Start(t, pgtest.Options{FSync: true})
	dir := movedFolder(t)
	file, err := bolt.OpenReadOnly(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := rowsOf(t, file, filepath.Join(dir, "objects"))
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	took := 2 * time.Second // a run that is not killed
	for killed := 0; killed < kills; {
		url, place := server.Database(t), filepath.Join(t.TempDir(), "objects")
		runs := 0
		for ended := false; !ended; runs++ {
			begin := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rng.Int64N(int64(took))))
			if runs > 4 {
				ctx, cancel = context.WithCancel(t.Context())
			}
			cmd := exec.CommandContext(ctx, "sunloop", "admin", "migrate", "--from", dir, "--to", url, "--objects", place)
			out, err := cmd.CombinedOutput()
			cancel()
			switch {
			case err == nil:
				ended = true
				if runs == 0 {
					took = time.Since(begin)
				}
			case ctx.Err() != nil && !cmd.ProcessState.Exited():
				killed++
				stopped(t, server, url)
			default:
				t.Fatalf("run %d: %v\n%s", runs+1, err, out)
			}
		}
		db, err := postgres.Open(t.Context(), url, postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := rowsOf(t, db, place)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(want, got) {
			var lost []string
			for _, key := range slices.Sorted(maps.Keys(want)) {
				if got[key] != want[key] {
					lost = append(lost, key)
				}
			}
			t.Fatalf("after %d runs %d rows are not %d; the first that differ: %q", runs, len(got), len(want), lost[:min(len(lost), 5)])
		}
		t.Logf("%d runs, %d killed so far", runs, killed)
	}
}

// stopped: a half moved database is opened by no service, unless none of it, or
// all, was written.
func stopped(t *testing.T, server *pgtest.Server, url string) {
	t.Helper()
	db, err := postgres.Open(t.Context(), url, postgres.Options{})
	if err == nil {
		sets, listed := db.RowSets(t.Context())
		if err := errors.Join(listed, db.Close()); err != nil {
			t.Fatal(err)
		}
		if n := 3 + 2*len(store.SiteKinds()); len(sets) != 0 && len(sets) != n { // buckets, and two sites
			t.Fatalf("a service opens a database with %d sets of rows", len(sets))
		}
		return
	}
	if !errors.Is(err, postgres.ErrImporting) {
		t.Fatal(err)
	}
}
