package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/engine/ingest"
	"app.sunloop/engine/plausible"
)

// TestPieces: a file that is read in pieces gives the rows and the sum of the whole.
func TestPieces(t *testing.T) {
	var b strings.Builder
	b.WriteString("Plant: North\nTime;INV 1 Power (kW);INV 2 Power (kW);Note\n")
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 5000 {
		h := float64(i%96)/4 - 12
		fmt.Fprintf(&b, "%s;%.3f;%.3f;\"a\nb\"\n", at.Add(time.Duration(i)*15*time.Minute).Format(time.DateTime), max(0, 10-h*h/3), max(0, 8-h*h/4))
	}
	path := filepath.Join(t.TempDir(), "big.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	whole, err := ingest.Read(strings.NewReader(b.String()), ingest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := ingest.Summarize(whole, nil)
	for _, stdin := range []bool{false, true} {
		s := source{path: path, name: "big.csv", whole: 30_000, piece: 25_000}
		var progress bytes.Buffer
		std := streams{err: &progress}
		if stdin {
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			s.path, std.in = "-", f
		}
		read, err := (&InspectCmd{}).read(s, std, ingest.Options{}, plausible.Site{})
		if err != nil {
			t.Fatal(err)
		}
		got := read.summary
		if got.Rows != want.Rows || got.Counts.Read != want.Counts.Read || fmt.Sprintf("%.3f", got.SumPowerKW) != fmt.Sprintf("%.3f", want.SumPowerKW) ||
			*got.First != *want.First || *got.Last != *want.Last || !slices.Equal(got.Assets, want.Assets) {
			t.Errorf("in pieces %+v, as a whole %+v", got, want)
		}
		if n := strings.Count(progress.String(), "\n"); n < 5 {
			t.Errorf("%d pieces: %s", n, &progress)
		}
	}
}

func TestExpandFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.csv", "a.csv.gz", ".hidden", "sub/c.txt"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for arg, want := range map[string][]string{
		dir:                           {"a.csv", "b.csv", "c.txt"},
		filepath.Join(dir, "*.csv"):   {"b.csv"},
		"-":                           {"stdin.csv"},
		filepath.Join(dir, "*.xml"):   nil,
		filepath.Join(dir, "no file"): {"no file"}, // an error when it is read
	} {
		list, err := expandFiles([]string{arg})
		var got []string
		for _, s := range list {
			got = append(got, s.name)
		}
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%s: %q, %v", arg, got, err)
		}
	}
}

func TestNegativeValues(t *testing.T) {
	got := joinNegative([]string{"inspect", "x.csv", "--location", "-18.12,178.45", "--json", "-", "--tz", "-v", "--", "--location", "-1"})
	if want := []string{"inspect", "x.csv", "--location=-18.12,178.45", "--json", "-", "--tz", "-v", "--", "--location", "-1"}; !slices.Equal(got, want) {
		t.Errorf("arguments %q, want %q", got, want)
	}
}

// TestFirstDayOfInspect asserts that text and JSON have the first day with production, of
// all units, also where their times differ.
func TestFirstDayOfInspect(t *testing.T) {
	path := filepath.Join(t.TempDir(), "day.csv")
	text := "time,unit,power_kw\n2026-06-01 22:00,A,0\n2026-06-02 08:00,A,1\n2026-06-02 08:15,A,2\n2026-06-02 08:30,A,3\n2026-06-02 08:15,B,3\n2026-06-02 08:30,B,4\n2026-06-02 08:45,B,4\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if err := (&InspectCmd{Files: []string{path}, JSON: true}).Run(streams{out: &out, err: &errs}); err != nil {
		t.Fatal(err, errs.String())
	}
	var got struct {
		Day *ingest.Day `json:"first_day"`
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Day == nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	var power []float64
	for _, p := range got.Day.Points {
		power = append(power, p.PowerKW)
	}
	if want := []float64{1, 5, 7, 4}; got.Day.Day != "2026-06-02" || got.Day.StepMinutes != 15 || !slices.Equal(power, want) || got.Day.Points[0].Start.Hour() != 8 {
		t.Errorf("first day %+v, want powers %v from 08:00", got.Day, want)
	}
	out.Reset()
	if err := (&InspectCmd{Files: []string{path}}).Run(streams{out: &out, err: &errs}); err != nil || !strings.Contains(out.String(), "kW on the first day, 2026-06-02, of 4.25 kWh") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// TestGzipIsRecognisedByContent opens files whose names do not fit.
func TestGzipIsRecognisedByContent(t *testing.T) {
	const text = "time,power_kw\n2026-06-01T10:00:00Z,4\n"
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"packed.csv": packed.String(), "packed.csv.gz": packed.String(), "plain.csv.gz": text} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if data, _, err := readFile(path); err != nil || string(data) != text {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if _, _, err := readFile(t.TempDir()); err == nil || !strings.HasSuffix(err.Error(), "is a folder, not a file") {
		t.Errorf("a folder: %v", err)
	}
}
