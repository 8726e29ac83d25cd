package bolt

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/storetest"
	"app.sunloop/engine/series"
)

// The fleet of the benchmarks: a year of 5-minute power; -short makes it small.
func benchFleet(b *testing.B) (units, days int) {
	if testing.Short() {
		return 10, 60
	}
	b.Helper()
	return 100, 365
}

var benchSite = store.SiteKey{ID: "site_01JZ0000000000000000000000", Zone: time.UTC}

// afterFleet is the clock of a store with a fleet after the fleet's last day.
func afterFleet() time.Time { return fixed() }

// loaded is a store with a fleet, all of it sealed.
func loaded(b *testing.B, units, days int) *Store {
	b.Helper()
	s, err := Open(b.TempDir(), Options{Now: afterFleet})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	if err := s.Append(context.Background(), benchSite, storetest.Fleet(units, days)); err != nil {
		b.Fatal(err)
	}
	if _, err := s.Seal(context.Background()); err != nil {
		b.Fatal(err)
	}
	return s
}

// measure runs fn again and again. In addition to elapsed time it reports
// processor time: on a shared machine only this one can be compared.
func measure(b *testing.B, fn func()) {
	b.Helper()
	b.ReportAllocs()
	start := storetest.ProcessCPU()
	for b.Loop() {
		fn()
	}
	b.ReportMetric(float64((storetest.ProcessCPU()-start).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

// serviceHeap allocates as much as the rest of a service, until the returned
// function is called: the heap's size determines how often the collector runs,
// and with the few megabytes of a benchmark it would run for nearly each read.
func serviceHeap() (free func()) {
	heap := make([]byte, 64<<20)
	runtime.GC()
	return func() { runtime.KeepAlive(heap) }
}

func BenchmarkIngest(b *testing.B) {
	units, days := benchFleet(b)
	frames := storetest.Fleet(units, days)
	points := units * days * 288
	var size int64
	for b.Loop() {
		b.StopTimer()
		dir, err := os.MkdirTemp(b.TempDir(), "")
		if err != nil {
			b.Fatal(err)
		}
		s, err := Open(dir, Options{Now: afterFleet})
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := s.Append(b.Context(), benchSite, frames); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if _, err := s.Seal(b.Context()); err != nil {
			b.Fatal(err)
		}
		info, err := os.Stat(s.db.Path())
		if err != nil {
			b.Fatal(err)
		}
		size = info.Size()
		s.Close()
		b.StartTimer()
	}
	b.ReportMetric(float64(points)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mpoints/s")
	b.ReportMetric(float64(size)/float64(points), "B/point")
}

func BenchmarkTelemetry(b *testing.B) {
	units, days := benchFleet(b)
	s := loaded(b, units, days)
	defer serviceHeap()()
	end := series.Midnight(fixed(), time.UTC)
	start := end.AddDate(0, 0, -days)
	asset := storetest.FleetUnit(units / 2)
	read := func(from, to time.Time, want int) func(b *testing.B) {
		return func(b *testing.B) {
			measure(b, func() {
				n := 0
				for f, err := range s.Read(b.Context(), benchSite.ID, asset, from, to, series.PowerKW) {
					if err != nil {
						b.Fatal(err)
					}
					n += f.Len()
				}
				if n != want {
					b.Fatalf("%d samples, want %d", n, want)
				}
			})
		}
	}
	b.Run("unit/year", read(start, end, days*288))
	for k := range 4 { // the days of one block
		day := start.AddDate(0, 0, 33+k)
		b.Run(fmt.Sprintf("unit/day/%d", k), read(day, day.AddDate(0, 0, 1), 288))
	}
	daily := func(sums func(context.Context, string, time.Time, time.Time, ...string) ([]store.DaySum, error), want int, ids ...string) func(b *testing.B) {
		return func(b *testing.B) {
			measure(b, func() {
				got, err := sums(b.Context(), benchSite.ID, start, end, ids...)
				if err != nil || len(got) != want {
					b.Fatalf("%d sums, want %d, %v", len(got), want, err)
				}
			})
		}
	}
	b.Run("unit/year daily", daily(s.Daily, days, asset))
	b.Run("site/year daily", daily(s.Daily, units*days))
	b.Run("site/year daily computed", daily(s.Recompute, units*days))
	b.Run("site/latest", func(b *testing.B) {
		measure(b, func() {
			if _, err := s.Latest(b.Context(), benchSite.ID); err != nil {
				b.Fatal(err)
			}
		})
	})
}

func BenchmarkUpdate(b *testing.B) {
	s, err := Open(b.TempDir(), Options{Now: fixed})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	put := func(tx store.Tx) error {
		if err := tx.Put("orders", []byte("key"), make([]byte, 300)); err != nil {
			return err
		}
		return tx.Enqueue(store.Job{Kind: "job"})
	}
	b.Run("record and job", func(b *testing.B) {
		for b.Loop() {
			if err := s.Update(b.Context(), put); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("record and job, 64 writers", func(b *testing.B) {
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := s.Update(b.Context(), put); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("get", func(b *testing.B) {
		for b.Loop() {
			err := s.View(b.Context(), func(tx store.Tx) error {
				_, err := tx.Get("orders", []byte("key"))
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
