//go:build !gateway

package migrate

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/backend/store/objects"
	"app.sunloop/backend/store/pgtest"
	"app.sunloop/backend/store/postgres"
	"app.sunloop/backend/store/s3test"
	"app.sunloop/engine/series"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(s3test.Main(pgtest.Main(m))) }

// fixed is the clock of all stores.
func fixed() time.Time { return time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC) }

// must fails the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// installation is a data folder, and a target for its migration.
type installation struct {
	t       testing.TB
	dir     string
	url     string
	objects string
	rng     *rand.Rand
}

// newInstallation is an empty installation with a key.
func newInstallation(t testing.TB, seed uint64) *installation {
	t.Helper()
	h := &installation{t: t, dir: t.TempDir(), url: pgtest.Database(t), objects: filepath.Join(t.TempDir(), "objects"), rng: rand.New(rand.NewPCG(seed, 1))}
	must(t, os.WriteFile(filepath.Join(h.dir, keyFile), h.bytes(32), 0o600))
	h.write(func(*bolt.Store) {})
	return h
}

func (h *installation) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(h.rng.Uint32())
	}
	return b
}

// write changes the folder as a service does, which then ends.
func (h *installation) write(change func(s *bolt.Store)) {
	h.t.Helper()
	s, err := bolt.Open(h.dir, bolt.Options{Now: fixed})
	must(h.t, err)
	change(s)
	must(h.t, s.Close())
}

// fill puts things of every kind into the folder, at random.
func (h *installation) fill() {
	h.t.Helper()
	h.write(func(s *bolt.Store) {
		must(h.t, s.Update(h.t.Context(), func(tx store.Tx) error {
			for b := range 1 + h.rng.IntN(6) {
				for range h.rng.IntN(400) {
					key := h.key()
					if err := tx.Put(fmt.Sprintf("bucket-%d/of", b), key, h.bytes(h.rng.IntN(300))); err != nil {
						return err
					}
				}
			}
			if err := tx.Put("deleted", []byte("k"), []byte("v")); err != nil {
				return err
			}
			return tx.Delete("deleted", []byte("k")) // a bucket without records
		}))
		for site := range 1 + h.rng.IntN(3) {
			h.append(s, fmt.Sprintf("site-%d", site))
		}
		h.enqueue(s)
	})
	for range h.rng.IntN(20) {
		h.put(objects.Key("historical", fmt.Sprint(h.rng.IntN(5)), fmt.Sprint(h.rng.Uint64())), h.bytes(h.rng.IntN(5000)))
	}
}

// key is one of the store's, or any bytes.
func (h *installation) key() []byte {
	if h.rng.IntN(8) == 0 {
		return h.bytes(1 + h.rng.IntN(30))
	}
	parts := make([]string, 1+h.rng.IntN(3))
	for i := range parts {
		parts[i] = string(h.bytes(h.rng.IntN(12)))
	}
	return store.Key(parts...)
}

// enqueue leaves jobs that wait, run, wait for the end of one that runs, and are
// dead.
func (h *installation) enqueue(s *bolt.Store) {
	h.t.Helper()
	ctx := store.WithOrigin(h.t.Context(), store.Origin{RequestID: "req_1"})
	add := func(jobs ...store.Job) {
		h.t.Helper()
		must(h.t, s.Update(ctx, func(tx store.Tx) error {
			for _, job := range jobs {
				if err := tx.Enqueue(job); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	claim := func(n int) []store.Claimed {
		h.t.Helper()
		claimed, err := s.Claim(ctx, fixed(), time.Minute, n)
		must(h.t, err)
		if len(claimed) != n {
			h.t.Fatalf("%d jobs of %d are claimed", len(claimed), n)
		}
		return claimed
	}
	for i := range 3 {
		add(store.Job{Kind: "train", Unique: fmt.Sprint("dead-", i), Payload: []byte(`{"site":"North"}`)})
	}
	for _, job := range claim(3) {
		must(h.t, s.Settle(ctx, job.ID, store.JobResult{Outcome: store.Dead, Cause: "no data"}))
	}
	add(store.Job{Kind: "detect", Unique: "runs", Payload: []byte(`{"site":"South"}`)}, store.Job{Kind: "detect", Unique: "runs too"})
	claim(2)
	add(store.Job{Kind: "detect", Unique: "runs", Payload: []byte(`{"site":"South"}`), RunAt: fixed().Add(time.Hour)})
	for i := range 5 + h.rng.IntN(100) {
		add(store.Job{Kind: "forecast", Unique: fmt.Sprint(i), RunAt: fixed().Add(time.Duration(i) * time.Second), MaxAttempts: 1 + i%4})
	}
	add(store.Job{Kind: "ingest"})
}

// append adds telemetry of some assets: old days, and the open one.
func (h *installation) append(s *bolt.Store, site string) {
	h.t.Helper()
	zone, err := time.LoadLocation([]string{"UTC", "Europe/Berlin", "America/Havana"}[len(site)%3])
	must(h.t, err)
	for range 1 + h.rng.IntN(4) {
		var frames []store.AssetFrame
		for range 1 + h.rng.IntN(5) {
			f := series.Frame{}
			start := fixed().Add(-time.Duration(h.rng.IntN(90*24)) * time.Hour)
			var kW, degrees []float64
			for at := start; !at.After(fixed()) && len(f.Times) < 3000; at = at.Add(time.Duration(5+5*h.rng.IntN(4)) * time.Minute) {
				f.Times = append(f.Times, at.Unix())
				kW, degrees = append(kW, math.Floor(h.rng.Float64()*1000)/10), append(degrees, h.rng.NormFloat64())
				if h.rng.IntN(9) == 0 {
					degrees[len(degrees)-1] = series.Missing()
				}
			}
			f.Set(series.PowerKW, kW)
			if h.rng.IntN(2) == 0 {
				f.Set(series.TemperatureC, degrees)
			}
			frames = append(frames, store.AssetFrame{AssetID: fmt.Sprintf("inverter-%d", h.rng.IntN(7)), Frame: f})
		}
		must(h.t, s.Append(h.t.Context(), store.SiteKey{ID: site, Zone: zone}, frames))
	}
}

// put writes an object of the folder.
func (h *installation) put(key string, b []byte) {
	h.t.Helper()
	o, err := objects.OpenFolder(filepath.Join(h.dir, objectsFolder), nil)
	must(h.t, err)
	must(h.t, o.Put(h.t.Context(), key, bytes.NewReader(b)))
	must(h.t, o.Close())
}

func (h *installation) options() Options {
	return Options{From: h.dir, To: h.url, Objects: h.objects, Now: time.Now}
}

// move migrates the installation, which must end without a difference.
func (h *installation) move() *Report {
	h.t.Helper()
	report, err := Run(h.t.Context(), h.options())
	must(h.t, err)
	if len(report.Differences) > 0 {
		h.t.Fatalf("it differs: %q", report.Differences)
	}
	return report
}

// refused migrates the installation, which must be refused.
func (h *installation) refused() error {
	h.t.Helper()
	report, err := Run(h.t.Context(), h.options())
	if err == nil {
		h.t.Fatalf("moved: %+v", report)
	}
	return err
}

// folder is what the data folder holds, by name.
func (h *installation) folder() map[string]string {
	files := map[string]string{}
	must(h.t, filepath.WalkDir(h.dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		files[name] = string(b)
		return err
	}))
	return files
}

// asked is everything that storage answers through the interfaces of package store.
type asked struct {
	Records   map[string]string
	Frames    map[string]series.Frame
	Daily     map[string][]store.DaySum
	Latest    map[string][]store.AssetFrame
	Periods   map[string][2]time.Time
	Objects   map[string]string
	Jobs      map[string]string
	Recompute map[string][]store.DaySum
}

type storage interface {
	store.Records
	store.Telemetry
	store.Raw
	Recompute(ctx context.Context, siteID string, from, to time.Time, assetIDs ...string) ([]store.DaySum, error)
}

// ask reads storage and objects completely, by the buckets and sites of the
// source.
func (h *installation) ask(db storage, o *objects.Store, sets []store.RowSet) asked {
	t, ctx := h.t, h.t.Context()
	t.Helper()
	a := asked{map[string]string{}, map[string]series.Frame{}, map[string][]store.DaySum{}, map[string][]store.AssetFrame{}, map[string][2]time.Time{}, map[string]string{}, map[string]string{}, map[string][]store.DaySum{}}
	from, to := fixed().AddDate(-1, 0, 0), fixed().AddDate(1, 0, 0)
	for _, set := range sets {
		switch set.Kind {
		case store.RecordRows:
			must(t, db.View(ctx, func(tx store.Tx) error {
				for e, err := range tx.Scan(set.Name, nil, nil, false) {
					if err != nil {
						return err
					}
					a.Records[set.Name+"\x00"+string(e.Key)] = string(e.Value)
				}
				return nil
			}))
		case store.JobRows:
			for e, err := range db.Rows(ctx, set) {
				must(t, err)
				a.Jobs[set.Name+"\x00"+string(e.Key)] = string(e.Value)
			}
		case store.SiteRows:
			var err error
			a.Daily[set.Name], err = db.Daily(ctx, set.Name, from, to)
			must(t, err)
			a.Recompute[set.Name], err = db.Recompute(ctx, set.Name, from, to)
			must(t, err)
			a.Latest[set.Name], err = db.Latest(ctx, set.Name)
			must(t, err)
			for _, asset := range a.Latest[set.Name] {
				name := set.Name + "\x00" + asset.AssetID
				a.Frames[name], err = store.Collect(db.Read(ctx, set.Name, asset.AssetID, from, to))
				must(t, err)
				first, last, _, err := db.Period(ctx, set.Name, asset.AssetID)
				must(t, err)
				a.Periods[name] = [2]time.Time{first, last}
			}
		}
	}
	for listed, err := range o.List(ctx) {
		must(t, err)
		r, err := o.Open(ctx, listed.Key)
		must(t, err)
		b, err := io.ReadAll(r)
		must(t, err)
		must(t, r.Close())
		a.Objects[listed.Key] = string(b)
	}
	return a
}

// same fails unless source and target answer the same.
func (h *installation) same() {
	t := h.t
	t.Helper()
	file, err := bolt.OpenReadOnly(h.dir, fixed)
	must(t, err)
	defer file.Close()
	sets, err := file.RowSets(t.Context())
	must(t, err)
	database, err := postgres.Open(t.Context(), h.url, postgres.Options{Now: fixed})
	must(t, err)
	defer database.Close()
	there, err := objects.OpenFolder(filepath.Join(h.dir, objectsFolder), nil)
	must(t, err)
	defer there.Close()
	here, err := objects.Open(t.Context(), h.objects, nil, nil)
	must(t, err)
	defer here.Close()
	want, got := h.ask(file, there, sets), h.ask(database, here, sets)
	if diff := cmp.Diff(want, got, cmp.Comparer(sameFloat)); diff != "" {
		t.Fatalf("the target answers other than the source (-source +target):\n%s", diff)
	}
	if faults := database.Check(t.Context()); len(faults) > 0 {
		t.Errorf("check of the target: %v", faults)
	}
	moved, err := database.RowSets(t.Context())
	must(t, err)
	for _, set := range moved {
		if !slices.Contains(sets, set) {
			t.Errorf("the target has %v, which is not in the source", set)
		}
	}
}

// sameFloat reports whether two floats have the same bits.
func sameFloat(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// target runs statements on the target.
func (h *installation) target(statements ...string) {
	h.t.Helper()
	s, err := postgres.Open(h.t.Context(), h.url, postgres.Options{Now: fixed, Importing: true})
	must(h.t, err)
	defer s.Close()
	for _, sql := range statements {
		tag, err := s.Pool().Exec(h.t.Context(), sql)
		must(h.t, err)
		if tag.Update() && tag.RowsAffected() == 0 {
			h.t.Fatalf("%s: nothing was changed", sql)
		}
	}
}
