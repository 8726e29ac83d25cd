package ingest

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"app.sunloop/engine/realdata"
)

// year returns a file of 300 000 records and 10 MB: time, power, temperature.
func year() []byte {
	var b bytes.Buffer
	b.WriteString("timestamp,AC power (kW),temperature (C)\n")
	at := time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 300_000 {
		day := math.Max(0, math.Sin(float64(i%288)/288*2*math.Pi-math.Pi/2))
		fmt.Fprintf(&b, "%s,%.3f,%.1f\n", at.Format("2006-01-02 15:04:05"), 48.7*day, 12+9*day)
		at = at.Add(5 * time.Minute)
	}
	return b.Bytes()
}

// semicolonYear returns the same with semicolons and decimal commas.
func semicolonYear() []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(year(), []byte(","), []byte(";")), []byte("."), []byte(","))
}

// BenchmarkRead imports on one core. ratio-to-encoding/csv is the time that
// encoding/csv needs for the same bytes, without examining a cell, over the
// time of Read; both alternate, so that a busy machine slows both.
// peak-heap-MiB is the heap of the process, including the given bytes.
func BenchmarkRead(b *testing.B) {
	for _, f := range []struct {
		name, zone string
		delim      rune
		capacityKW float64
		records    int
		text       func() []byte
	}{
		{"power", "Europe/Berlin", ',', 50, 300_000, year},
		{"semicolon", "Europe/Berlin", ';', 50, 300_000, semicolonYear},
		{"wide", "Europe/Madrid", ',', 18, 104_549, func() []byte { return unpacked(b, realdata.Path(b, "data/upm-madrid/upm_5min_2014.csv.gz")) }},
	} {
		b.Run(f.name, func(b *testing.B) {
			text := f.text()
			zone, err := time.LoadLocation(f.zone)
			if err != nil {
				b.Fatal(err)
			}
			run := func() {
				res, err := Read(bytes.NewReader(text), Options{Zone: zone, CapacityKW: f.capacityKW})
				if err != nil {
					b.Fatal(err)
				}
				if res.Rows.Read != f.records {
					b.Fatal(res.Rows)
				}
			}
			peak := peakHeap(run)
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			var alone, own time.Duration
			for b.Loop() {
				b.StopTimer()
				start := time.Now()
				csvAlone(b, text, f.delim)
				alone += time.Since(start)
				b.StartTimer()
				start = time.Now()
				run()
				own += time.Since(start)
			}
			b.ReportMetric(float64(alone)/float64(own), "ratio-to-encoding/csv")
			b.ReportMetric(float64(peak)/(1<<20), "peak-heap-MiB")
		})
	}
}

// csvAlone is what Read is compared with.
func csvAlone(b *testing.B, text []byte, delim rune) {
	r := csv.NewReader(bytes.NewReader(text))
	r.Comma, r.ReuseRecord = delim, true
	for {
		if _, err := r.Read(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			b.Fatal(err)
		}
	}
}

// peakHeap returns the largest heap seen while f runs, dead objects included.
func peakHeap(f func()) uint64 {
	runtime.GC()
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		tick := time.NewTicker(100 * time.Microsecond)
		defer tick.Stop()
		largest := uint64(0)
		for {
			metrics.Read(sample)
			largest = max(largest, sample[0].Value.Uint64())
			select {
			case <-tick.C:
			case <-stop:
				peak <- largest
				return
			}
		}
	}()
	f()
	close(stop)
	return <-peak
}

// BenchmarkParseStamp reads one time.
func BenchmarkParseStamp(b *testing.B) {
	cell := []byte("2021-06-15 12:35:00")
	for b.Loop() {
		if _, ok := parseStamp(cell); !ok {
			b.Fatal("not a time")
		}
	}
}

// BenchmarkParseNumber reads one number.
func BenchmarkParseNumber(b *testing.B) {
	cell := []byte("1234.567")
	for b.Loop() {
		if _, _, ok := parseNumber(cell, plainStyle); !ok {
			b.Fatal("not a number")
		}
	}
}
