package ingest

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"app.sunloop/engine/realdata"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestDamaged damages the import cases: bytes and lines are changed, dropped
// and doubled. In every case Read returns, with frames in order.
func TestDamaged(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(realdata.Path(t, "cases/csv"), "*.csv"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var texts [][]byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	rapid.Check(t, func(r *rapid.T) {
		text := slices.Clone(rapid.SampledFrom(texts).Draw(r, "file"))
		for range rapid.IntRange(1, 6).Draw(r, "damages") {
			at := rapid.IntRange(0, len(text)-1).Draw(r, "at")
			switch rapid.SampledFrom([]string{"byte", "cut", "drop line", "double line"}).Draw(r, "damage") {
			case "byte":
				text[at] = rapid.SampledFrom([]byte(",;.-\"\n\t 019:/\x00\xff")).Draw(r, "byte")
			case "cut":
				text = text[:max(1, at)]
			case "drop line":
				if end := bytes.IndexByte(text[at:], '\n'); end >= 0 && len(text) > end+1 {
					text = slices.Delete(text, at, at+end+1)
				}
			case "double line":
				if end := bytes.IndexByte(text[at:], '\n'); end >= 0 {
					text = slices.Insert(text, at, slices.Clone(text[at:at+end+1])...)
				}
			}
			if len(text) == 0 {
				return
			}
		}
		res, err := Read(bytes.NewReader(text), Options{Now: now, CapacityKW: 10})
		var refusal *Refusal
		switch {
		case errors.As(err, &refusal):
		case err != nil:
			r.Fatal(err)
		default:
			for _, a := range res.Assets {
				if err := a.Frame.Check(); err != nil {
					r.Fatal(err)
				}
			}
		}
	})
}

// What Read may take of the heap: so much for any file, and so much a byte.
const (
	fixedBytes = 4 << 20
	bytesAByte = 512
)

// FuzzRead asserts for any bytes: no panic, an answer or a reason, frames in
// order, every record accounted for, memory in proportion to the file, and the
// same answer twice.
func FuzzRead(f *testing.F) {
	seeds := []string{
		"timestamp,power_kw\n2024-06-15T04:00:00Z,5.7\n2024-06-15T04:15:00Z,7.2\n",
		"sep=;\nVersion CSV1|Tool SE|Delimiter semicolon|Decimalpoint comma\n\n;SN: 20019;SN: 20019\n;Total yield;Power\n;Counter;Analog\ndd/MM/yyyy HH:mm;kWh;kW\n03/07/2024 11:00;9120,349;2,769\n03/07/2024 11:05;9120,4\n",
		"#Datum;Uhrzeit;INV;Pac;DaySum\n14.06.24;12:00:00;2;6945;30932\n14.06.24;12:00:00;1;8011;35261\n",
		"time,power (kW)\n\"2024-06-15 04:00,\"\"5.7\n",
		"Giorno;00:00-01:00;01:00-02:00\n14/09/2024;0,000;0,1\n",
		"device,parameter,unit,time,value\nA,power,W,2024-06-01 10:00,1000\n",
		"Time,Current power\n2024-05-04 07:00,475 W\n2024-05-04 07:20,1.1 kW\n",
		"Date,Production (kW)\n45458.25,0.718\n45458.26,1.026\n",
		"\xff\xfeD\x00a\x00t\x00e\x00\t\x00k\x00W\x00",
		"0,()",                                 // a unit of nothing
		"time,\uff9e kW\n2024-06-01 10:00,1\n", // a word that is a mark alone
		"Year,Month,Day,Hour,Power kW\n2024,6,1,10,1\n",
	}
	for _, seed := range seeds {
		f.Add([]byte(seed), 10.0)
		_, _ = Read(bytes.NewReader([]byte(seed)), Options{Now: now}) // builds the tables that are built once
	}
	f.Fuzz(func(t *testing.T, text []byte, capacity float64) {
		o := Options{Now: now, CapacityKW: capacity, MaxBytes: 1 << 20}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		res, err := Read(bytes.NewReader(text), o)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > fixedBytes+bytesAByte*uint64(len(text)) {
			t.Fatalf("%d bytes took %d of the heap", len(text), took)
		}
		var r *Refusal
		if errors.As(err, &r) {
			if r.Message == "" || r.Kind == "" {
				t.Fatalf("refused without a reason: %+v", r)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		checkFrames(t, res)
		again, err := Read(bytes.NewReader(text), o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(Summarize(res, nil), Summarize(again, nil), cmpopts.EquateNaNs()); diff != "" {
			t.Fatalf("two readings differ:\n%s", diff)
		}
	})
}
