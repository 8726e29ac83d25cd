//go:build !gateway

package migrate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/backend/store/objects"
	"app.sunloop/backend/store/postgres"
	"app.sunloop/backend/store/s3test"
)

// TestSame: whatever a folder holds, the target answers the same afterwards, and
// the folder is as it was.
func TestSame(t *testing.T) {
	for seed := range uint64(3) {
		h := newInstallation(t, seed)
		h.fill()
		before := h.folder()
		report := h.move()
		if diff := cmp.Diff(before, h.folder()); diff != "" {
			t.Fatalf("the source has changed: %s", diff)
		}
		h.same()
		if report.Resumed || report.Complete {
			t.Errorf("the first run says %+v", report)
		}
		for _, s := range report.Steps {
			if s.CopiedRows != s.Rows || s.CopiedBytes != s.Bytes {
				t.Errorf("%s: %d rows of %d bytes, of which %d of %d were copied", s.Name, s.Rows, s.Bytes, s.CopiedRows, s.CopiedBytes)
			}
		}
		// Once more it only compares.
		again := h.move()
		if !again.Complete || again.Steps[0].CopiedRows != 0 {
			t.Errorf("a second run says %+v", again)
		}
		if diff := cmp.Diff(report.Records, again.Records); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(report.Telemetry, again.Telemetry); diff != "" {
			t.Error(diff)
		}
	}
}

// broken ends a run at its n-th word of progress.
func (h *installation) broken(n int) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	defer cancel()
	o := h.options()
	o.Progress = func(Progress) {
		if n--; n <= 0 {
			cancel()
		}
	}
	if _, err := Run(ctx, o); err == nil {
		h.t.Fatal("it came to its end before it was broken off")
	}
}

// small makes batches of few rows, so that a small deployment has many.
func small(t *testing.T) {
	was := batchRows
	batchRows = 50
	t.Cleanup(func() { batchRows = was })
}

// TestResumed continues after an interrupted run, and copies nothing twice.
func TestResumed(t *testing.T) {
	small(t)
	h := newInstallation(t, 7)
	h.fill()
	for n := range 4 {
		h.broken(n + 2)
	}
	if _, err := postgres.Open(t.Context(), h.url, postgres.Options{Now: fixed}); !errors.Is(err, postgres.ErrImporting) || strings.Contains(err.Error(), "\n") {
		t.Fatalf("a service opens what is half moved: %v", err)
	}
	report := h.move()
	if !report.Resumed {
		t.Error("it says that it started again")
	}
	if s := report.Steps[0]; s.CopiedRows >= s.Rows {
		t.Errorf("%d rows of %d were copied again", s.CopiedRows, s.Rows)
	}
	h.same()
}

// TestChangedBetween: what a service has changed, added and deleted between two
// runs is in the target after the second.
func TestChangedBetween(t *testing.T) {
	small(t)
	for n := range 3 {
		h := newInstallation(t, uint64(20+n))
		h.fill()
		h.put("kept/a", []byte("an object"))
		h.put("gone/b", []byte("an object that is deleted"))
		h.write(func(s *bolt.Store) {
			must(t, s.Update(t.Context(), func(tx store.Tx) error {
				for i := range 200 {
					if err := tx.Put("aaa", store.Key(fmt.Sprint(i)), []byte("first")); err != nil {
						return err
					}
				}
				return tx.Put("aab", store.Key("gone"), []byte("with its bucket"))
			}))
		})
		h.broken(1 + 4*n)
		h.write(func(s *bolt.Store) {
			must(t, s.Update(t.Context(), func(tx store.Tx) error {
				return errors.Join(tx.Put("aaa", store.Key("0"), []byte("second")), tx.Delete("aaa", store.Key("11")), tx.Put("aaa", store.Key("zz"), nil),
					tx.Delete("aab", store.Key("gone")), tx.Put("new", store.Key("n"), []byte("bucket")))
			}))
			h.append(s, "site-0")
			h.append(s, "site-new")
		})
		must(t, os.Remove(filepath.Join(h.dir, "objects/gone/b")))
		h.put("new/c", []byte("an object that is new"))
		h.move()
		h.same()
	}
}

// TestRefused: a target that holds something else is refused in a sentence, and
// stays as it is.
func TestRefused(t *testing.T) {
	h := newInstallation(t, 3)
	h.fill()
	says := func(want string) {
		t.Helper()
		if err := h.refused(); !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q does not say %q in one line", err, want)
		}
	}
	// A database that already has data.
	h.target(`INSERT INTO sunloop.kv (bucket, shard, key, value) VALUES ('users', 'a', 'b', 'c')`)
	says("target is not empty")
	h.target(`DELETE FROM sunloop.kv`, `INSERT INTO sunloop.site (site, layout, roster) VALUES ('s', '', '')`)
	says("target is not empty")
	h.target(`DELETE FROM sunloop.site`, `INSERT INTO sunloop.leader (name, holder, until) VALUES ('sweeps', 'x', clock_timestamp() + interval '1 hour')`)
	says("a service is running on it")
	h.target(`DELETE FROM sunloop.leader`)

	// Objects of another program.
	must(t, os.MkdirAll(h.objects, 0o700))
	foreign := filepath.Join(h.objects, "foreign")
	must(t, os.WriteFile(foreign, []byte("mine"), 0o600))
	says(`has "foreign"`)
	if s, err := postgres.Open(t.Context(), h.url, postgres.Options{Now: fixed}); err != nil {
		t.Errorf("a refused migration closes the database: %v", err)
	} else {
		must(t, s.Close())
	}
	must(t, os.Remove(foreign))

	// Half a migration of another folder, and of other objects.
	small(t)
	h.broken(3)
	other := newInstallation(t, 4)
	other.fill()
	other.url, other.objects = h.url, h.objects
	if err := other.refused(); !strings.Contains(err.Error(), "a migration of another data folder") {
		t.Error(err)
	}
	place := h.objects
	h.objects = filepath.Join(t.TempDir(), "elsewhere")
	says("its migration began with --objects")
	h.objects = place
	must(t, os.WriteFile(foreign, []byte("mine"), 0o600))
	says(`the storage of objects has "foreign"`)
	if b, err := os.ReadFile(foreign); err != nil || string(b) != "mine" {
		t.Errorf("the foreign object is %q, %v", b, err)
	}
	must(t, os.Remove(foreign))
	h.move()
	h.same()

	// Places that are none.
	h.objects = filepath.Join(h.dir, "objects")
	says("is in the data folder")
	h.objects = ""
	h.dir = t.TempDir()
	says("no sunloop.key in")
}

// TestHeld: a folder that a service has is refused with who holds it, and no
// service gets it while it is moved.
func TestHeld(t *testing.T) {
	h := newInstallation(t, 5)
	h.fill()
	h.write(func(*bolt.Store) {
		if err := h.refused(); !errors.Is(err, store.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
			t.Error(err)
		}
	})
	o := h.options()
	tried := false
	o.Progress = func(Progress) {
		if !tried {
			tried = true
			if s, err := bolt.Open(h.dir, bolt.Options{}); !errors.Is(err, store.ErrLocked) {
				t.Errorf("a service opens the folder: %v, %v", s, err)
			}
		}
	}
	if _, err := Run(t.Context(), o); err != nil || !tried {
		t.Fatal(err, tried)
	}
	h.same()
}

// TestOvertaken: of two concurrent runs the later continues, and the former
// ends.
func TestOvertaken(t *testing.T) {
	small(t)
	h := newInstallation(t, 6)
	h.fill()
	o := h.options()
	began := false
	o.Progress = func(Progress) {
		if !began {
			began = true
			h.move()
		}
	}
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "another run of the migration") {
		t.Errorf("the former run answers %v", err)
	}
	h.same()
}

// TestVerifyOnly finds a row and an object that are not what the source has, and
// names them.
func TestVerifyOnly(t *testing.T) {
	h := newInstallation(t, 9)
	h.fill()
	h.write(func(s *bolt.Store) {
		must(t, s.Update(t.Context(), func(tx store.Tx) error { return tx.Put("users", store.Key("ana", "1"), []byte("a value")) }))
		h.append(s, "Berlin")
	})
	h.put("historical/a.csv", []byte("time,kW"))
	h.put("historical/b.csv", []byte("time,kW"))
	h.put("historical/c.csv", []byte("time,kW"))
	h.move()
	verify := func() []string {
		t.Helper()
		o := h.options()
		o.VerifyOnly = true
		report, err := Run(t.Context(), o)
		must(t, err)
		return report.Differences
	}
	if found := verify(); len(found) > 0 {
		t.Fatalf("a whole target: %q", found)
	}
	o, err := objects.OpenFolder(h.objects, nil)
	must(t, err)
	must(t, o.Put(t.Context(), "more/d", strings.NewReader("d")))
	must(t, o.Delete(t.Context(), "historical/b.csv"))
	must(t, o.Close())
	must(t, os.WriteFile(filepath.Join(h.objects, "historical/a.csv"), []byte("time,kw"), 0o600))
	must(t, os.WriteFile(filepath.Join(h.objects, "historical/c.csv"), []byte("time,kW and more"), 0o600))
	h.target(
		`UPDATE sunloop.kv SET value = set_byte(value, 0, 98) WHERE bucket = 'users'`,
		`INSERT INTO sunloop.kv (bucket, shard, key, value) VALUES ('users', 'x', '', '')`,
		`DELETE FROM sunloop.daysum WHERE site = 'Berlin' AND (ref, start) = (SELECT ref, start FROM sunloop.daysum WHERE site = 'Berlin' ORDER BY ref, start LIMIT 1)`,
		`UPDATE sunloop.block SET value = set_byte(value, 5, get_byte(value, 5) # 1) WHERE site = 'Berlin' AND (ref, start) = (SELECT ref, start FROM sunloop.block WHERE site = 'Berlin' ORDER BY ref, start LIMIT 1)`,
		`UPDATE sunloop.site SET roster = roster || '\x00' WHERE site = 'Berlin'`,
		`UPDATE sunloop.asset SET ref = ref + 100 WHERE site = 'Berlin' AND ref = 0`,
		`INSERT INTO sunloop.tail (site, ref, start, value) VALUES ('nowhere', 0, 0, '')`,
	)
	found := verify()
	slices.Sort(found)
	for i, want := range []string{
		"assets of site Berlin: \"inverter-", "blocks of site Berlin: that of asset 0 from 20", "bucket users: \"x\" is in the target alone",
		"bucket users: [\"ana\" \"1\"] has another value in the target", "object historical/a.csv: its checksum is another in the target", "object historical/b.csv: it is missing in the target",
		"object historical/c.csv: it has 16 bytes in the target, not 7", "object more/d: it is in the target alone", "site of site Berlin: \"Berlin\" has another value in the target",
		"sums of site Berlin: that of asset 0 from 20", "tail of site nowhere: the row of 1970-01-01T00:00:00Z is in the target alone",
	} {
		if i >= len(found) || !strings.HasPrefix(found[i], want) {
			t.Errorf("difference %d of %q is not %q…", i, found, want)
		}
	}
	if len(found) != 11 {
		t.Errorf("%d differences: %q", len(found), found)
	}
}

// TestDamagedMeanwhile: a target that does not hold what was written to it is
// found at the end, and no service opens it.
func TestDamagedMeanwhile(t *testing.T) {
	small(t)
	h := newInstallation(t, 11)
	h.fill()
	h.write(func(s *bolt.Store) {
		must(t, s.Update(t.Context(), func(tx store.Tx) error {
			for i := range 300 {
				if err := tx.Put("aaa", store.Key(fmt.Sprint(i)), []byte("first")); err != nil {
					return err
				}
			}
			return nil
		}))
	})
	h.broken(4)
	h.target(`DELETE FROM sunloop.kv WHERE bucket = 'aaa' AND key = '' AND shard = '\x300001'`)
	report, err := Run(t.Context(), h.options())
	must(t, err)
	if len(report.Differences) != 1 || report.Differences[0] != `bucket aaa: ["0"] is missing in the target` {
		t.Errorf("found %q", report.Differences)
	}
	if _, err := postgres.Open(t.Context(), h.url, postgres.Options{Now: fixed}); !errors.Is(err, postgres.ErrImporting) {
		t.Errorf("a service opens it: %v", err)
	}
}

// TestNotAnObject: what lies among the objects and is none is named.
func TestNotAnObject(t *testing.T) {
	h := newInstallation(t, 12)
	h.put("a/b", []byte("x"))
	must(t, os.WriteFile(filepath.Join(h.dir, objectsFolder, "a", "c.0123456789abcdef.tmp"), []byte("half"), 0o600))
	h.move()
	h.same()
	h = newInstallation(t, 13)
	h.put("a/b", []byte("x"))
	must(t, os.WriteFile(filepath.Join(h.dir, objectsFolder, "a", ".hidden"), nil, 0o600))
	if err := h.refused(); !strings.Contains(err.Error(), `it has "a/.hidden", which is not an object of the service`) {
		t.Error(err)
	}
}

// TestObjectsStay: without a target for objects they are not copied.
func TestObjectsStay(t *testing.T) {
	h := newInstallation(t, 14)
	h.fill()
	h.objects = ""
	report := h.move()
	if len(report.Steps) != 3 {
		t.Errorf("steps %+v", report.Steps)
	}
	h.objects = filepath.Join(h.dir, objectsFolder)
	h.same()
}

// queued is a job as TestJobs's queue has it.
type queued struct {
	Kind, Unique, Payload, Request string
	RunAt                          time.Time
	MaxAttempts                    int
}

// TestJobs: what waits, runs or is dead in the folder is taken by the queue of
// the database, once, whichever replica opens it first.
func TestJobs(t *testing.T) {
	h := newInstallation(t, 18)
	h.fill()
	file, err := bolt.OpenReadOnly(h.dir, fixed)
	must(t, err)
	wantDead, err := file.Dead(t.Context(), 1000)
	must(t, err)
	waiting, running, _, err := file.Counts(t.Context())
	must(t, err)
	must(t, file.Close())
	report := h.move()
	if s := report.Steps[2]; s.Name != Jobs || s.Rows != int64(waiting+running+1+len(wantDead)) || s.CopiedRows != s.Rows {
		t.Errorf("%d wait, %d run, %d are dead: %+v", waiting, running, len(wantDead), s)
	}

	var mu sync.Mutex
	failed := false
	var jobs []queued
	var dead []store.DeadJob
	open := func() *postgres.Store {
		s, err := postgres.Open(t.Context(), h.url, postgres.Options{Now: fixed, Enqueue: func(_ context.Context, _ pgx.Tx, job store.Job) error {
			mu.Lock()
			defer mu.Unlock()
			if job.ID != "" {
				t.Errorf("a job comes with the id %s", job.ID)
			}
			jobs = append(jobs, queued{job.Kind, job.Unique, string(job.Payload), job.Origin.RequestID, job.RunAt, job.MaxAttempts})
			return nil
		}})
		must(t, err)
		return s
	}
	bury := func(_ context.Context, _ pgx.Tx, d store.DeadJob) error {
		mu.Lock()
		defer mu.Unlock()
		if !failed { // a queue that cannot take them loses none
			failed = true
			jobs = nil
			return errors.New("not yet")
		}
		dead = append(dead, d)
		return nil
	}
	first := open()
	if _, err := first.AdoptJobs(t.Context(), bury); err == nil {
		t.Error("a queue that refuses is not reported")
	}
	var g errgroup.Group
	taken := make([]int, 3)
	for i := range taken {
		s := first
		if i > 0 {
			s = open()
		}
		g.Go(func() (err error) {
			taken[i], err = s.AdoptJobs(t.Context(), bury)
			return errors.Join(err, s.Close())
		})
	}
	must(t, g.Wait())
	slices.Sort(taken)
	if diff := cmp.Diff([]int{0, 0, int(report.Steps[2].Rows)}, taken); diff != "" {
		t.Error(diff)
	}
	slices.Reverse(dead)
	if diff := cmp.Diff(wantDead, dead); diff != "" {
		t.Errorf("dead (-folder +queue):\n%s", diff)
	}
	count := map[string]int{}
	for _, j := range jobs {
		count[j.Kind]++
		if j.Request != "req_1" || j.MaxAttempts == 0 {
			t.Errorf("%+v lost something", j)
		}
	}
	if diff := cmp.Diff(map[string]int{"detect": 3, "forecast": waiting - 1, "ingest": 1}, count); diff != "" {
		t.Error(diff)
	}
	want := queued{"detect", "runs", `{"site":"South"}`, "req_1", fixed(), 5}
	again := want
	again.RunAt = fixed().Add(time.Hour)
	for _, w := range []queued{want, again, {"forecast", "4", "", "req_1", fixed().Add(4 * time.Second), 1}} {
		if !slices.Contains(jobs, w) {
			t.Errorf("%+v is not among %+v", w, jobs)
		}
	}
	// Then there are none, and a comparison lists those that the folder
	// has.
	o := h.options()
	o.VerifyOnly = true
	report, err = Run(t.Context(), o)
	must(t, err)
	if len(report.Differences) == 0 || !strings.HasPrefix(report.Differences[0], "dead jobs: ") {
		t.Errorf("found %q", report.Differences)
	}
}

// TestBucket moves the objects into a bucket, in several runs.
func TestBucket(t *testing.T) {
	small(t)
	h := newInstallation(t, 16)
	h.objects = s3test.Bucket(t) + "&x=y"
	if err := h.refused(); !strings.Contains(err.Error(), `unknown parameter "x"`) {
		t.Error(err)
	}
	h.objects = strings.TrimSuffix(h.objects, "&x=y")
	h.fill()
	for i := range 30 {
		h.put(fmt.Sprintf("nowcast/%d", i), []byte("an object"))
	}
	h.move()
	h.same()

	// A second installation does not take the same bucket; the first one takes it in two runs.
	second := newInstallation(t, 17)
	second.fill()
	for i := range 30 {
		second.put(fmt.Sprintf("nowcast/%d", i), []byte("another object"))
	}
	second.objects = h.objects
	if err := second.refused(); !strings.Contains(err.Error(), "the storage of objects has") {
		t.Error(err)
	}
	second.objects = s3test.Bucket(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := second.options()
	o.Progress = func(p Progress) {
		if p.Step == Objects && p.Rows == 20 {
			cancel()
		}
	}
	if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	report := second.move()
	if s := report.Steps[3]; s.CopiedRows == 0 || s.CopiedRows > s.Rows-20 {
		t.Errorf("%d of %d objects were put in the second run", s.CopiedRows, s.Rows)
	}
	second.same()
	h.same()
}

// TestSteps: steps report the time they took.
func TestSteps(t *testing.T) {
	h := newInstallation(t, 15)
	h.fill()
	o := h.options()
	at := fixed()
	o.Now = func() time.Time { at = at.Add(time.Second); return at }
	report, err := Run(t.Context(), o)
	must(t, err)
	for i, name := range []string{Records, Telemetry, Jobs, Objects} {
		if s := report.Steps[i]; s.Name != name || s.CopySeconds <= 0 || s.VerifySeconds <= 0 {
			t.Errorf("step %+v", s)
		}
	}
}
