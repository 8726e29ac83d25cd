package pipeline

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/pipeline/detection"
	"app.sunloop/backend/pipeline/forecasting"
	"app.sunloop/backend/pipeline/gapfill"
	"app.sunloop/backend/pipeline/importer"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/pipeline/snapshot"
	"app.sunloop/backend/pipeline/training"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/backend/store/objects"
	"app.sunloop/backend/store/pgtest"
	"app.sunloop/engine/simulate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

// plant is a Pipeline over a data folder that can be closed and opened again.
type plant struct {
	parts
	t     testing.TB
	dir   string
	db    *bolt.Store
	files *objects.Store
	mu    sync.Mutex
	clock time.Time
	wall  func() time.Time // time.Now
	stop  context.CancelFunc
	ended chan struct{}
	tune  func(*Config)
}

// parts are a Pipeline and what it consists of, so that tests call all by one name.
type parts struct {
	*Pipeline
	*sitedata.Data
	*importer.Importer
	*forecasting.Forecaster
	*detection.Detector
	*training.Trainer
	*snapshot.Builder
	*gapfill.Filler
}

func partsOf(p *Pipeline) parts {
	return parts{p, p.Data, p.Imports, p.Forecasts, p.Detections, p.Training, p.Snapshots, p.Gaps}
}

var admin = api.Unlimited("test")

func newPlant(t testing.TB, now time.Time, tune func(*Config)) *plant {
	t.Helper()
	p := &plant{t: t, dir: t.TempDir(), clock: now, tune: tune}
	p.open()
	t.Cleanup(p.close)
	return p
}

func (p *plant) now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.clock
}

func (p *plant) pass(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clock = p.clock.Add(d)
}

func (p *plant) open() {
	p.t.Helper()
	if p.wall == nil {
		p.wall = time.Now
	}
	var err error
	if p.db, err = bolt.Open(p.dir, bolt.Options{Now: p.wall}); err != nil {
		p.t.Fatal(err)
	}
	if p.files, err = objects.OpenFolder(filepath.Join(p.dir, "objects"), nil); err != nil {
		p.t.Fatal(err)
	}
	c := Config{Records: p.db, Telemetry: p.db, Queue: p.db, Objects: p.files, Domain: domain.New(p.db, p.db, p.now), Now: p.now, Wall: p.wall,
		Tick: 10 * time.Millisecond, Settle: time.Millisecond, Quiet: 20 * time.Millisecond, Exclusive: true, Logger: slog.New(slog.NewTextHandler(logTo{p.t}, nil))}
	if p.tune != nil {
		p.tune(&c)
	}
	made, err := New(c)
	if err != nil {
		p.t.Fatal(err)
	}
	p.parts = partsOf(made)
}

// logTo sends warnings to the test's log; the lines before the test ends only.
type logTo struct{ t testing.TB }

func (l logTo) Write(b []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

// start lets the pipeline work in the background.
func (p *plant) start() {
	ctx, cancel := context.WithCancel(context.Background())
	p.stop, p.ended = cancel, make(chan struct{})
	go func() {
		defer close(p.ended)
		if err := p.Run(ctx); err != nil {
			p.t.Error(err)
		}
	}()
}

func (p *plant) halt() {
	if p.stop != nil {
		p.stop()
		<-p.ended
		p.stop = nil
	}
}

func (p *plant) close() {
	p.halt()
	if err := errors.Join(p.files.Close(), p.db.Close()); err != nil {
		p.t.Error(err)
	}
}

func (p *plant) reopen() {
	p.close()
	p.open()
}

// await polls until the condition holds.
func (p *plant) await(what string, done func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("waited in vain for %s", what)
		}
	}
}

func (p *plant) ended1(id string) api.Upload {
	p.t.Helper()
	var u api.Upload
	p.await("upload "+id, func() bool {
		var err error
		if u, err = p.Find(p.t.Context(), admin, id); err != nil {
			p.t.Fatal(err)
		}
		return u.Ended()
	})
	return u
}

func (p *plant) upload(req api.UploadRequest, body []byte) string {
	p.t.Helper()
	ack, err := p.Upload(p.t.Context(), admin, req, bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	return ack.UploadID
}

// importNow uploads a file and runs its import, and the training that follows
// one of history, without the workers: gap filling, which takes longest, does
// not follow.
func (p *plant) importNow(req api.UploadRequest, body []byte) {
	p.t.Helper()
	p.Quiet = time.Nanosecond
	id := p.upload(req, body)
	err := p.Importer.RunJob(p.t.Context(), store.Claimed{Job: p.NewJob(sitedata.JobIngest, sitedata.Payload{UploadID: id})})
	if err == nil && req.Kind == api.UploadTrain {
		err = p.Trainer.RunJob(p.t.Context(), store.Claimed{Job: p.NewJob(sitedata.JobTrain, sitedata.Payload{SiteID: req.SiteID})})
	}
	if err != nil {
		p.t.Fatal(err)
	}
	if u, err := p.Find(p.t.Context(), admin, id); err != nil || !u.Ended() || u.Error != "" {
		p.t.Fatalf("imported as %+v, %v", u, err)
	}
}

func request(kind string) api.UploadRequest {
	return api.UploadRequest{CustomerID: "acme", SiteID: "South", Region: "eu", Location: "47,15", Kind: kind, Filename: "pv.csv"}
}

// day0 is the end of the simulated history in these tests.
var day0 = time.Date(2026, 6, 15, 10, 0, 0, 0, time.UTC)

// fleet is a clean simulated site of n units from days before day0 on.
func fleet(days, n int) *simulate.Site {
	return simulate.Clean(1, day0.AddDate(0, 0, -days), n).Sites[0]
}

func csvOf(t testing.TB, s *simulate.Site, from, to time.Time, step time.Duration, assets ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.WriteCSV(&b, from, to, step, assets...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func isRefusal(err error, status int) bool {
	var e *api.Error
	return errors.As(err, &e) && e.Status == status
}
