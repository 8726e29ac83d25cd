package resilience

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/servetest"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/backend/store/pgtest"
	"app.sunloop/backend/store/postgres"
	"app.sunloop/backend/store/s3test"
	"app.sunloop/engine/series"
	"app.sunloop/internal/clock"
)

// The installation of BenchmarkReplicas: sites of so many units with a
// month of telemetry by 5 minutes. An upload is an hour of a site.
const (
	ratedSites, ratedUnits = 10, 10
	ratedDays              = 30
	ratedRows              = ratedUnits * 12
	ratedAtOnce            = 16 // running requests
)

// storedWithin is how long the storing of an upload may take.
const storedWithin = 2 * time.Minute

// idleFor is how long an idle service is measured.
const idleFor = 10 * time.Second

// rated is a service of equal processes, over a database and a bucket or, as
// one process, over the file.
type rated struct {
	processes []*servetest.Process
	server    *pgtest.Server // nil: the file
	keys      []string
	next      atomic.Int64 // key to be used, as each has its rate
	end       time.Time    // of the telemetry
}

// openRated starts n processes over a database, or one over the file where n
// is 0. Each key may ask 60 times a minute.
func openRated(b *testing.B, n, keys int) *rated {
	b.Helper()
	r := &rated{end: time.Now().UTC().Truncate(24 * time.Hour)}
	cfg := backend.Config{DataDir: filepath.Join(b.TempDir(), "data"), Now: time.Now}
	var flags []string
	var telemetry interface {
		store.Telemetry
		io.Closer
	}
	var err error
	if n > 0 {
		r.server = pgtest.Start(b, pgtest.Options{FSync: true})
		cfg.Store, cfg.Objects, cfg.KeyFile = r.server.Database(b), s3test.Start(b).Bucket(b), filepath.Join(b.TempDir(), "sunloop.key")
		flags = []string{"--store", cfg.Store, "--objects", cfg.Objects, "--key-file", cfg.KeyFile}
	}
	service, err := backend.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	for i := range keys {
		plain, _, err := service.Auth().CreateKey(b.Context(), auth.NewKey{Name: fmt.Sprint("rate ", i), Customers: []string{fleetCustomer}})
		if err != nil {
			b.Fatal(err)
		}
		r.keys = append(r.keys, plain)
	}
	for i := range ratedSites {
		if _, err := service.Domain().Sites.SetSite(b.Context(), api.Unlimited("test"), api.Site{SiteID: fleetSite(i), CustomerID: fleetCustomer, Timezone: "UTC", CapacityKW: 100 * ratedUnits}); err != nil {
			b.Fatal(err)
		}
		for u := range ratedUnits {
			id := ratedUnit(i, u)
			if _, err := service.Domain().Sites.AddAsset(b.Context(), api.Unlimited("test"), api.Asset{AssetID: id, SiteID: fleetSite(i), Name: id, Type: "inverter", CapacityKW: 100, Location: "roof"}); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := service.Close(); err != nil {
		b.Fatal(err)
	}
	if n > 0 {
		telemetry, err = postgres.Open(b.Context(), cfg.Store, postgres.Options{})
	} else {
		telemetry, err = bolt.Open(cfg.DataDir, bolt.Options{})
	}
	if err != nil {
		b.Fatal(err)
	}
	for i := range ratedSites {
		if err := telemetry.Append(b.Context(), store.SiteKey{ID: fleetSite(i), Zone: time.UTC}, r.history(i)); err != nil {
			b.Fatal(err)
		}
	}
	if err := telemetry.Close(); err != nil {
		b.Fatal(err)
	}
	for i := range max(1, n) {
		dir := cfg.DataDir
		if n > 0 {
			dir = filepath.Join(b.TempDir(), fmt.Sprint("replica-", i))
		}
		r.processes = append(r.processes, servetest.Start(b, dir, flags...))
	}
	return r
}

func ratedUnit(site, unit int) string { return fmt.Sprintf("INV-%03d-%03d", site, unit) }

// history is a site's telemetry.
func (r *rated) history(site int) []store.AssetFrame {
	frames := make([]store.AssetFrame, ratedUnits)
	for u := range frames {
		f := series.Frame{Times: make([]int64, ratedDays*stepsPerDay)}
		power := make([]float64, len(f.Times))
		for i := range power {
			f.Times[i], power[i] = r.end.AddDate(0, 0, -ratedDays).Unix()+int64(i)*stepSeconds, powerKW(u, i)
		}
		f.Set(series.PowerKW, power)
		frames[u] = store.AssetFrame{AssetID: ratedUnit(site, u), Frame: f}
	}
	return frames
}

// key is the next one's turn.
func (r *rated) key() string { return r.keys[int(r.next.Add(1))%len(r.keys)] }

// spent is the processor time of the service's processes, and that of the
// database's server since used was made.
func (r *rated) spent(b *testing.B, used func() time.Duration) (processes, server time.Duration) {
	for _, p := range r.processes {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Cmd.Process.Pid))
		if err != nil {
			b.Fatal(err)
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		for _, ticks := range fields[11:13] { // utime and stime, in hundredths of a second
			n, err := strconv.Atoi(ticks)
			if err != nil {
				b.Fatal(err)
			}
			processes += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return processes, used()
}

// cost is what n of something took.
type cost struct {
	n                     int
	wall                  time.Duration
	took                  []time.Duration // each of them
	processes, serverTime time.Duration
}

// measure does something n times, so many at once, the i-th at process i.
func (r *rated) measure(b *testing.B, n, atOnce int, do func(p *servetest.Process) error) cost {
	used := func() time.Duration { return 0 }
	if r.server != nil {
		used = r.server.CPU()
	}
	before, _ := r.spent(b, used)
	c := cost{n: n, took: make([]time.Duration, n)}
	began := time.Now()
	var all sync.WaitGroup
	var next atomic.Int64
	for range atOnce {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				at := time.Now()
				if err := do(r.processes[i%len(r.processes)]); err != nil {
					b.Error(err)
					return
				}
				c.took[i] = time.Since(at)
			}
		})
	}
	all.Wait()
	c.wall = time.Since(began)
	c.processes, c.serverTime = r.spent(b, used)
	c.processes -= before
	return c
}

// get asks for a path until all of its answer is there.
func (r *rated) get(path string, q string) func(p *servetest.Process) error {
	caller := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: ratedAtOnce}}
	return func(p *servetest.Process) error {
		request, err := http.NewRequest(http.MethodGet, p.URL+path+"?"+q, nil)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+r.key())
		answer, err := caller.Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		size, err := io.Copy(io.Discard, answer.Body)
		if err == nil && (answer.StatusCode != http.StatusOK || size < 500) {
			err = fmt.Errorf("%s: %s, %d bytes", path, answer.Status, size)
		}
		return err
	}
}

// upload sends the next hour of a site and waits until it is stored.
func (r *rated) upload(b *testing.B, n int) func(p *servetest.Process) error {
	var next atomic.Int64
	next.Store(int64(n))
	return func(p *servetest.Process) error {
		ctx, cancel := context.WithTimeout(b.Context(), storedWithin)
		defer cancel()
		i := int(next.Add(1)) - 1
		site, from := i%ratedSites, r.end.AddDate(0, 0, -ratedDays).Add(-time.Duration(1+i/ratedSites)*time.Hour)
		var csv strings.Builder
		csv.WriteString("timestamp,asset_id,power_kw\n")
		for s := range 12 {
			for u := range ratedUnits {
				fmt.Fprintf(&csv, "%s,%s,%.1f\n", from.Add(time.Duration(s)*5*time.Minute).Format(time.RFC3339), ratedUnit(site, u), powerKW(u, s))
			}
		}
		c := p.Client(r.key())
		defer c.Close()
		ack, err := c.UploadNowcast(ctx, api.UploadRequest{CustomerID: fleetCustomer, SiteID: fleetSite(site), Region: "eu", Location: "48.2,16.4", Timezone: "UTC"}, strings.NewReader(csv.String()), nil)
		for err == nil {
			var u *api.Upload
			looking := p.Client(r.key())
			u, err = looking.Upload(ctx, ack.UploadID)
			looking.Close()
			if err == nil && u.Ended() {
				if u.RowsStored != ratedRows {
					err = fmt.Errorf("upload %s is %s with %d rows: %s", u.UploadID, u.ProcessingStatus, u.RowsStored, u.Error)
				}
				break
			}
			if err == nil {
				err = clock.Sleep(ctx, 100*time.Millisecond)
			}
		}
		return err
	}
}

// report logs a cost with its subject.
func (c cost) report(b *testing.B, what string) {
	slices.Sort(c.took)
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(c.n) }
	b.ReportMetric(float64(c.n)/c.wall.Seconds(), what+"/s")
	b.ReportMetric(each(c.processes+c.serverTime), "cpu-µs/"+what)
	b.ReportMetric(each(c.serverTime), "server-µs/"+what)
	b.ReportMetric(float64(c.took[len(c.took)/2].Microseconds()), "median-µs/"+what)
}

// BenchmarkReplicas measures the cost of requests to a service of one, two and
// three replicas over a database and a bucket, compared with one over the file:
// reads one after the other and many at once, uploads from their start until they
// are stored, and idling. All of it, and the caller, share the machine's cores.
func BenchmarkReplicas(b *testing.B) {
	reads, uploads := 1500, 100
	if testing.Short() {
		reads, uploads = 100, 10
	}
	for n, name := range []string{"file", "one replica", "two replicas", "three replicas"} {
		b.Run(name, func(b *testing.B) {
			r := openRated(b, n, 200)
			day := "asset_id=" + ratedUnit(3, 4) + "&site_id=" + fleetSite(3) + "&start=" + r.end.AddDate(0, 0, -9).Format(time.RFC3339) + "&end=" + r.end.AddDate(0, 0, -8).Format(time.RFC3339)
			newest, unit := r.get(api.PathLatest, "site_id="+fleetSite(2)), r.get(api.PathInverter, day)
			for _, warm := range []func(*servetest.Process) error{newest, unit} {
				r.measure(b, 200, 4, warm)
			}
			sent := 0
			for b.Loop() {
				r.measure(b, reads, 1, newest).report(b, "newest")
				r.measure(b, reads, 1, unit).report(b, "day")
				r.measure(b, reads, ratedAtOnce, newest).report(b, "newest-at-once")
				r.measure(b, reads, ratedAtOnce, unit).report(b, "day-at-once")
				c := r.measure(b, uploads, ratedAtOnce, r.upload(b, sent))
				sent += uploads
				c.report(b, "upload")
				b.ReportMetric(float64(uploads*ratedRows)/c.wall.Seconds(), "rows/s")
				c = r.measure(b, 1, 1, func(*servetest.Process) error { return clock.Sleep(b.Context(), idleFor) })
				b.ReportMetric(1000*(c.processes+c.serverTime).Seconds()/c.wall.Seconds(), "idle-cpu-ms/s")
				b.ReportMetric(1000*c.serverTime.Seconds()/c.wall.Seconds(), "idle-server-ms/s")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
