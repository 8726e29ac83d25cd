//go:build !gateway

package migrate

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/backend/store/objects"
	"app.sunloop/backend/store/pgtest"
	"app.sunloop/backend/store/storetest"
)

// BenchmarkMove migrates installations of sites of 100 units with a year of 5
// min each, for each site 20,000 records of 500 bytes and 100 objects of 300
// kB, into a database and a folder that both sync, and compares them. It
// prints what each step copies and compares in a second, and the most memory
// that was in use while it ran. With -short it is one small site.
func BenchmarkMove(b *testing.B) {
	if testing.Short() {
		b.Run("units=10", func(b *testing.B) { benchmarkMove(b, 1, 10, 30, 100, 2) })
		return
	}
	for _, sites := range []int{1, 10} {
		b.Run(fmt.Sprintf("units=%d", sites*100), func(b *testing.B) { benchmarkMove(b, sites, 100, 365, 20_000, 100) })
	}
}

// benchmarkMove moves sites, each with so many units over so many days, records
// and objects.
func benchmarkMove(b *testing.B, sites, units, days, records, files int) {
	dir := b.TempDir()
	must(b, os.WriteFile(filepath.Join(dir, keyFile), make([]byte, 32), 0o600))
	s, err := bolt.Open(dir, bolt.Options{Now: func() time.Time { return storetest.FleetEnd }})
	must(b, err)
	o, err := objects.OpenFolder(filepath.Join(dir, objectsFolder), nil)
	must(b, err)
	for site := range sites {
		must(b, s.Append(b.Context(), store.SiteKey{ID: fmt.Sprintf("site-%d", site), Zone: time.UTC}, storetest.Fleet(units, days)))
		must(b, s.Update(b.Context(), func(tx store.Tx) error {
			for i := range records {
				if err := tx.Put("findings", store.Key("acme", fmt.Sprintf("%d-%d", site, i)), bytes.Repeat([]byte{byte(i)}, 500)); err != nil {
					return err
				}
			}
			return nil
		}))
		for i := range files {
			must(b, o.Put(b.Context(), objects.Key("historical", fmt.Sprint(site), fmt.Sprint(i)), bytes.NewReader(make([]byte, 300_000))))
		}
	}
	must(b, o.Close())
	must(b, s.Close())
	server := pgtest.Start(b, pgtest.Options{FSync: true})
	steps := map[string]Step{}
	var most uint64
	runtime.GC()
	for b.Loop() {
		report, err := Run(b.Context(), Options{From: dir, To: server.Database(b), Objects: b.TempDir(), Now: time.Now, Progress: func(Progress) {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
		}})
		must(b, err)
		if len(report.Differences) > 0 {
			b.Fatal(report.Differences)
		}
		for _, is := range report.Steps {
			sum := steps[is.Name]
			sum.Rows, sum.Bytes = sum.Rows+is.Rows, sum.Bytes+is.Bytes
			sum.CopySeconds, sum.VerifySeconds = sum.CopySeconds+is.CopySeconds, sum.VerifySeconds+is.VerifySeconds
			steps[is.Name] = sum
		}
	}
	for name, s := range steps {
		if name != Jobs {
			b.ReportMetric(float64(s.Rows)/s.CopySeconds, name+"-rows/s")
			b.ReportMetric(float64(s.Bytes)/1e6/s.CopySeconds, name+"-MB/s")
			b.ReportMetric(float64(s.Bytes)/1e6/s.VerifySeconds, name+"-compared-MB/s")
		}
	}
	b.ReportMetric(float64(most)/(1<<20), "MiB-in-use")
}
