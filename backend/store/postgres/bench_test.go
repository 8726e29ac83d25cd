//go:build !gateway

package postgres

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/backend/store/pgtest"
	"app.sunloop/backend/store/storetest"
	"app.sunloop/engine/series"
)

// stores are the two stores of the data, both of which wait for the disk.
type stores struct{ file, database storetest.Store }

func openStores(b *testing.B) stores {
	b.Helper()
	file, err := bolt.Open(b.TempDir(), bolt.Options{Now: fixed})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { file.Close() })
	database, err := Open(b.Context(), pgtest.Start(b, pgtest.Options{FSync: true}).Database(b), Options{Now: fixed})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { database.Close() })
	return stores{file, database}
}

// compare runs fn on both stores by turns, so that others on the machine disturb
// both alike, and reports the medians: the database's as ns/op, the file's, and
// how many times as long the database takes.
func (h stores) compare(b *testing.B, name string, fn func(b *testing.B, storage storetest.Store)) {
	b.Run(name, func(b *testing.B) {
		var file, database []time.Duration
		for b.Loop() {
			began := time.Now()
			fn(b, h.file)
			file = append(file, time.Since(began))
			began = time.Now()
			fn(b, h.database)
			database = append(database, time.Since(began))
		}
		f, d := median(file), median(database)
		b.ReportMetric(float64(d.Nanoseconds()), "ns/op")
		b.ReportMetric(float64(f.Nanoseconds()), "file-ns/op")
		b.ReportMetric(float64(d)/float64(f), "x-file")
	})
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkStores compares the stores: a fleet of 100 units loaded, a unit's
// year, the fleet's days, a live step, and a record with its read.
func BenchmarkStores(b *testing.B) {
	units, days := 100, 365
	if testing.Short() {
		units, days = 10, 60
	}
	h := openStores(b)
	fleet := storetest.Fleet(units, days)
	loads := 0
	h.compare(b, "ingest", func(b *testing.B, storage storetest.Store) {
		loads++
		site := store.SiteKey{ID: fmt.Sprintf("site_%026d", loads), Zone: time.UTC}
		if err := storage.Append(b.Context(), site, fleet); err != nil {
			b.Fatal(err)
		}
	})
	site := store.SiteKey{ID: "site_01JZ0000000000000000000000", Zone: time.UTC}
	for _, storage := range []storetest.Store{h.file, h.database} {
		if err := storage.Append(b.Context(), site, fleet); err != nil {
			b.Fatal(err)
		}
	}
	start := storetest.FleetEnd.AddDate(0, 0, -days)
	h.compare(b, "unit year", func(b *testing.B, storage storetest.Store) {
		n := 0
		for f, err := range storage.Read(b.Context(), site.ID, storetest.FleetUnit(units/2), start, storetest.FleetEnd, series.PowerKW) {
			if err != nil {
				b.Fatal(err)
			}
			n += f.Len()
		}
		if n != days*288 {
			b.Fatalf("%d samples", n)
		}
	})
	h.compare(b, "unit day", func(b *testing.B, storage storetest.Store) {
		f, err := store.Collect(storage.Read(b.Context(), site.ID, storetest.FleetUnit(units/2), start, start.AddDate(0, 0, 1)))
		if err != nil || f.Len() != 288 {
			b.Fatal(f.Len(), err)
		}
	})
	h.compare(b, "site year daily", func(b *testing.B, storage storetest.Store) {
		if sums, err := storage.Daily(b.Context(), site.ID, start, storetest.FleetEnd); err != nil || len(sums) != units*days {
			b.Fatal(len(sums), err)
		}
	})
	step := 0
	h.compare(b, "live step", func(b *testing.B, storage storetest.Store) {
		step++ // each store has every second one
		if err := storage.Append(b.Context(), site, storetest.FleetStep(units, step/2%140)); err != nil {
			b.Fatal(err)
		}
	})
	h.compare(b, "record", func(b *testing.B, storage storetest.Store) {
		err := storage.Update(b.Context(), func(tx store.Tx) error { return tx.Put("orders", store.Key("customer", "order"), make([]byte, 300)) })
		if err != nil {
			b.Fatal(err)
		}
	})
	h.compare(b, "get", func(b *testing.B, storage storetest.Store) {
		err := storage.View(b.Context(), func(tx store.Tx) error {
			_, err := tx.Get("orders", store.Key("customer", "order"))
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkGrowth is how costs grow with units and sites.
func BenchmarkGrowth(b *testing.B) {
	storetest.SelectScale(b, "postgres")
	server := pgtest.Start(b, pgtest.Options{FSync: true})
	s, err := Open(b.Context(), server.Database(b), Options{Now: fixed})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	storetest.Scale(b, storetest.Growth{Sizes: storetest.ScaleSizes(b), Server: server.CPU}, s, func() {
		if _, err := s.Seal(b.Context()); err != nil {
			b.Fatal(err)
		}
	})
}
