package ingest

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"testing"
	"time"
)

// year is a file of 300 000 records and 10 MB: time, power, temperature.
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

// BenchmarkRead imports 10 MB with 300 000 records.
func BenchmarkRead(b *testing.B) {
	text := year()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		res, err := Read(bytes.NewReader(text), Options{Zone: berlin, CapacityKW: 50})
		if err != nil {
			b.Fatal(err)
		}
		if res.Rows.Read != 300_000 {
			b.Fatal(res.Rows)
		}
	}
}

// BenchmarkReadSemicolon imports the same with decimal commas and dotted dates.
func BenchmarkReadSemicolon(b *testing.B) {
	text := bytes.ReplaceAll(bytes.ReplaceAll(year(), []byte(","), []byte(";")), []byte("."), []byte(","))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(bytes.NewReader(text), Options{CapacityKW: 50}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCSVAlone is encoding/csv over the same bytes without looking at a
// cell, to compare with.
func BenchmarkCSVAlone(b *testing.B) {
	text := year()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		r := csv.NewReader(bytes.NewReader(text))
		r.ReuseRecord = true
		for {
			if _, err := r.Read(); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
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
