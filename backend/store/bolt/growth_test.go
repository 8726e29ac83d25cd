package bolt

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/storetest"
	"app.sunloop/engine/series"
)

// sizes are the numbers of units over which costs are watched.
var sizes = []int{10, 100, 1000}

// live is a fleet with an open day.
type live struct {
	store  *Store
	frames []store.AssetFrame
	day    time.Time // the open one
	steps  int
}

func newLive(b *testing.B, units, days int) *live {
	return &live{loaded(b, units, days), make([]store.AssetFrame, units), series.Midnight(fixed(), time.UTC), 0}
}

// step reports for the next 5 minutes; after a day it begins again, as no day
// may end here.
func (l *live) step(b *testing.B) {
	l.frames = storetest.FleetStep(len(l.frames), l.steps%288)
	l.steps++
	if err := l.store.Append(b.Context(), benchSite, l.frames); err != nil {
		b.Fatal(err)
	}
}

// disk writes what a step of 100 units writes, eight pages and one, each made
// durable.
type disk struct{ file *os.File }

const diskPages = 8

func newDisk(b *testing.B) disk {
	f, err := os.Create(filepath.Join(b.TempDir(), "pages"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	d := disk{f}
	d.step(b) // room on the disk is made once
	return d
}

func (d disk) step(b *testing.B) {
	page := make([]byte, os.Getpagesize())
	for i := range diskPages {
		if _, err := d.file.WriteAt(page, int64(1+i)*int64(len(page))); err != nil {
			b.Fatal(err)
		}
	}
	if err := syncData(d.file); err != nil {
		b.Fatal(err)
	}
	if _, err := d.file.WriteAt(page, 0); err != nil {
		b.Fatal(err)
	}
	if err := syncData(d.file); err != nil {
		b.Fatal(err)
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkLive is one durable step of all units, and reads of the open day.
// Alternating with the steps the disk itself is measured: disk-µs is its median
// time for the same pages and waits, x-disk the step's median over that.
func BenchmarkLive(b *testing.B) {
	for _, units := range sizes {
		l := newLive(b, units, 2)
		d := newDisk(b)
		b.Run(fmt.Sprintf("step/%d", units), func(b *testing.B) {
			before := l.store.db.Stats()
			var steps, disks []time.Duration
			var cpu time.Duration
			for b.Loop() {
				used, began := storetest.ProcessCPU(), time.Now()
				l.step(b)
				steps = append(steps, time.Since(began))
				cpu += storetest.ProcessCPU() - used
				began = time.Now()
				d.step(b)
				disks = append(disks, time.Since(began))
			}
			after := l.store.db.Stats()
			step, disk := median(steps), median(disks)
			b.ReportMetric(float64(step.Nanoseconds()), "ns/op")
			b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N), "cpu-ns/op")
			b.ReportMetric(float64(after.TxStats.GetPageCount()-before.TxStats.GetPageCount())/float64(b.N), "pages/op")
			b.ReportMetric(float64(disk.Microseconds()), "disk-µs")
			b.ReportMetric(float64(step)/float64(disk), "x-disk")
		})
		for l.steps < 288 {
			l.step(b)
		}
		from, to := l.day, l.day.AddDate(0, 0, 1)
		b.Run(fmt.Sprintf("unit today/%d", units), func(b *testing.B) {
			defer serviceHeap()()
			measure(b, func() {
				f, err := store.Collect(l.store.Read(b.Context(), benchSite.ID, l.frames[units/2].AssetID, from, to, series.PowerKW))
				if err != nil || f.Len() != 288 {
					b.Fatal(f.Len(), err)
				}
			})
		})
		b.Run(fmt.Sprintf("site today's sums/%d", units), func(b *testing.B) {
			defer serviceHeap()()
			measure(b, func() {
				if sums, err := l.store.Daily(b.Context(), benchSite.ID, from, to); err != nil || len(sums) != units {
					b.Fatal(len(sums), err)
				}
			})
		})
	}
}

// BenchmarkGrowth is how costs grow with units and sites.
func BenchmarkGrowth(b *testing.B) {
	storetest.SelectScale(b, "file")
	s, err := Open(b.TempDir(), Options{Now: afterFleet})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	storetest.Scale(b, storetest.Growth{Sizes: storetest.ScaleSizes(b)}, s, func() {
		if _, err := s.Seal(b.Context()); err != nil {
			b.Fatal(err)
		}
	})
}
