package pipeline

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/domain"

	"app.sunloop/backend/api"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/backend/store/objects"
	"app.sunloop/engine/series"
	"app.sunloop/internal/longtest"
)

// crashDir has a copy of the test program work on a data folder until it
// is killed; crashFile is what it uploads.
const (
	crashDir  = "SUNLOOP_TEST_CRASH_DIR"
	crashFile = "SUNLOOP_TEST_CRASH_FILE"
	crashAt   = "SUNLOOP_TEST_CRASH_AT" // kills it once it has put an object whose key has this part
)

// dying is a store of objects whose process is killed when it has put one.
type dying struct {
	store.Objects
	at string
}

func (d dying) Put(ctx context.Context, key string, r io.Reader) error {
	err := d.Objects.Put(ctx, key, r)
	if err == nil && d.at != "" && strings.Contains(key, d.at) {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		if err != nil {
			return err
		}
		select {}
	}
	return err
}

// TestCrashChild is the program that is killed. It prints the id of its upload
// when that is acknowledged, and "idle" when all uploads have ended.
func TestCrashChild(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		t.Skip("it runs for the tests that kill")
	}
	db, err := bolt.Open(dir, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := objects.OpenFolder(filepath.Join(dir, "objects"), nil)
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return day0 }
	p, err := New(Config{Records: db, Telemetry: db, Queue: db, Objects: dying{files, os.Getenv(crashAt)}, Domain: domain.New(db, db, now), Now: now, Wall: time.Now,
		TrainingDays: 60, Quiet: time.Millisecond, Tick: 5 * time.Millisecond, Exclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := p.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	file, err := os.Open(os.Getenv(crashFile))
	if err != nil {
		t.Fatal(err)
	}
	ack, err := p.Imports.Upload(ctx, admin, request(api.UploadTrain), file)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("ack", ack.UploadID)
	for {
		u, err := p.Imports.Find(ctx, admin, ack.UploadID)
		if err != nil {
			t.Fatal(err)
		}
		if u.Ended() {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	fmt.Println("idle")
	cancel()
	<-ended
	if err := errors.Join(file.Close(), files.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// child runs until it is idle, or is killed after so long; it answers the id
// that it acknowledged, if it came to that.
func child(t *testing.T, dir, file string, life time.Duration) (id string, idle bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestCrashChild$")
	cmd.Env = append(os.Environ(), crashDir+"="+dir, crashFile+"="+file)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if life > 0 {
		timer := time.AfterFunc(life, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		switch word, rest, _ := strings.Cut(lines.Text(), " "); word {
		case "ack":
			id = rest
		case "idle":
			idle = true
		}
	}
	if err := cmd.Wait(); err != nil && life == 0 {
		t.Fatalf("the last run failed: %v", err)
	}
	return id, idle
}

func TestKilledAnywhereNothingIsLost(t *testing.T) {
	longtest.Mark(t)
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "pv.csv")
	s := fleet(70, 3)
	body := csvOf(t, s, day0.AddDate(0, 0, -70), day0, 15*time.Minute)
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatal(err)
	}
	// Lives of growing length, so that it is killed in each of its stages; how
	// fast the machine is decides which.
	var acknowledged string
	kills := 0
	for life := 20 * time.Millisecond; life < 3*time.Second; life *= 2 {
		id, idle := child(t, dir, file, life)
		if id != "" && acknowledged != "" && id != acknowledged {
			t.Fatalf("the same bytes were acknowledged as %s, now as %s", acknowledged, id)
		}
		if id != "" {
			acknowledged = id
		}
		if idle {
			break
		}
		kills++
	}
	id, _ := child(t, dir, file, 0)
	if acknowledged != "" && id != acknowledged {
		t.Errorf("acknowledged as %s, at last %s", acknowledged, id)
	}
	t.Logf("killed %d times", kills)

	p := &plant{t: t, dir: dir, clock: day0}
	p.open()
	t.Cleanup(p.close)
	u, err := p.Find(t.Context(), admin, id)
	if err != nil || u.ProcessingStatus != api.UploadCompleted && u.ProcessingStatus != api.UploadWithWarnings || u.Error != "" {
		t.Fatalf("ended as %+v, %v", u, err)
	}
	list, _, err := p.Uploads(t.Context(), admin, api.ListQuery{})
	if err != nil || len(list) != 1 {
		t.Errorf("%d uploads, %v", len(list), err)
	}
	for id, want := range s.Frames(day0.AddDate(0, 0, -70), day0, 15*time.Minute) {
		got, err := store.Collect(p.Telemetry.Read(t.Context(), "South", id, day0.AddDate(0, 0, -80), day0.AddDate(0, 0, 1), series.PowerKW))
		if err != nil || got.Len() != want.Len() {
			t.Errorf("%s: %d stamps of %d, %v", id, got.Len(), want.Len(), err)
		}
	}
	if g, err := p.Generate(t.Context(), admin, api.ForecastQuery{CustomerID: "acme"}); err != nil || len(g.Forecasts) != 48 {
		t.Errorf("forecast: %v", err)
	}
	// The last life may have ended between taking a job over and running it.
	p.start()
	p.await("every job to end", func() bool {
		_, running, dead, err := p.db.Counts(t.Context())
		if err != nil || dead != 0 {
			t.Fatalf("%d jobs are dead, %v", dead, err)
		}
		return running == 0
	})
	models, _, err := p.Domain.Models.Models(t.Context(), admin, api.ListQuery{})
	if err != nil || len(models) == 0 {
		t.Fatalf("models %v, %v", models, err)
	}
	// Of the objects, only the file and the models' parts are there.
	named := map[string]bool{u.S3Path: true}
	for _, m := range models {
		a := m.ArtifactLocations
		named[a.Model], named[a.Encoders], named[a.Config] = true, true, true
	}
	for _, name := range p.leftovers() {
		key, err := filepath.Rel(filepath.Join(dir, "objects"), name)
		if err != nil {
			t.Fatal(err)
		}
		if !named[p.Objects.URI(filepath.ToSlash(key))] {
			t.Errorf("left behind: %s", key)
		}
	}
}

// TestKilledBeforeARecordNamesTheObject: an object that was put, and that no
// record names, is dropped by the next start, and its work is done again.
func TestKilledBeforeARecordNamesTheObject(t *testing.T) {
	longtest.Mark(t)
	file := filepath.Join(t.TempDir(), "pv.csv")
	body := csvOf(t, fleet(70, 3), day0.AddDate(0, 0, -70), day0, time.Hour)
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at   string
		left int // objects that no record names
	}{{api.UploadTrain + "/", 1}, {"/model", 1}, {"/encoders", 2}, {"/config", 3}} {
		t.Run(c.at, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv(crashAt, c.at)
			if _, idle := child(t, dir, file, time.Hour); idle {
				t.Fatal("it was not killed")
			}
			p := &plant{t: t, dir: dir, clock: day0, tune: quickTraining}
			p.open()
			t.Cleanup(p.close)
			if unnamed, announced := p.unnamed(); len(unnamed) != c.left || len(announced) < c.left {
				t.Fatalf("killed, it left %v, announced are %v", unnamed, announced)
			}
			id := p.upload(request(api.UploadTrain), body)
			p.start()
			if u := p.ended1(id); u.Error != "" {
				t.Errorf("ended as %+v", u)
			}
			p.await("every job to end", func() bool {
				_, running, dead, err := p.db.Counts(t.Context())
				return err == nil && running == 0 && dead == 0
			})
			p.halt()
			if unnamed, announced := p.unnamed(); len(unnamed)+len(announced) > 0 {
				t.Errorf("it left %v, announced are %v", unnamed, announced)
			}
			if models, _, err := p.Domain.Models.Models(t.Context(), admin, api.ListQuery{}); err != nil || len(models) == 0 {
				t.Errorf("models %v, %v", models, err)
			}
		})
	}
}

// unnamed are the keys of the objects that no record names, and those that are
// announced.
func (p *plant) unnamed() (keys, announced []string) {
	p.t.Helper()
	named := map[string]bool{}
	err := p.Records.View(p.t.Context(), func(tx store.Tx) error {
		all, err := domain.ObjectRefs(tx)
		for _, n := range all {
			for _, key := range n.Keys {
				named[key] = true
			}
			if key, ok := objects.KeyOf(n.URI); ok {
				named[key] = true
			}
		}
		announced = nil
		return errors.Join(err, sitedata.Announced(tx, func(key string) { announced = append(announced, key) }))
	})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, name := range p.leftovers() {
		key, err := filepath.Rel(filepath.Join(p.dir, "objects"), name)
		if err != nil {
			p.t.Fatal(err)
		}
		if key = filepath.ToSlash(key); !named[key] {
			keys = append(keys, key)
		}
	}
	return keys, announced
}

func TestStopInTheMiddleGoesOnLater(t *testing.T) {
	p := newPlant(t, day0, quickTraining)
	s := fleet(70, 2)
	body := csvOf(t, s, day0.AddDate(0, 0, -70), day0, time.Hour)
	id := p.upload(request(api.UploadTrain), body)
	for range 3 {
		p.start()
		p.await("some progress", func() bool {
			_, running, _, err := p.db.Counts(t.Context())
			u, _ := p.Find(t.Context(), admin, id)
			return err != nil || running > 0 || u.Ended()
		})
		p.halt()
		p.reopen()
	}
	p.start()
	if u := p.ended1(id); u.Error != "" || u.RowsStored == 0 || u.Progress != 1 {
		t.Errorf("ended as %+v", u)
	}
	if again := p.upload(request(api.UploadTrain), body); again != id {
		t.Errorf("the same bytes are %s, were %s", again, id)
	}
	models, _, err := p.Domain.Models.Models(t.Context(), admin, api.ListQuery{})
	if err != nil || len(models) != 1 {
		t.Errorf("%d models, %v", len(models), err)
	}
}
