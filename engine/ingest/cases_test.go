package ingest

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/engine/realdata"
)

// now is the day of the upload in all tests.
var now = time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)

// sidecar is what a correct import of a case gives.
type sidecar struct {
	Accept          bool     `json:"accept"`
	ErrorKind       Kind     `json:"error_kind"`
	Timezone        string   `json:"timezone"`
	CapacityKW      float64  `json:"capacity_kw"`
	ValueKind       string   `json:"value_kind"`
	UnitSource      string   `json:"unit_source"`
	IntervalMinutes int      `json:"interval_minutes"`
	Assets          []string `json:"assets"`
	Rows            int      `json:"rows"`
	First           *Sample  `json:"first"`
	Last            *Sample  `json:"last"`
	SumPowerKW      float64  `json:"sum_power_kw"`
	Manufacturer    *string  `json:"manufacturer"`
}

// answer is the part of a summary that a sidecar file describes.
type answer struct {
	Accept          bool
	ErrorKind       Kind
	ValueKind, Unit string
	IntervalMinutes int
	Assets          []string
	Rows            int
	First, Last     Sample
	Manufacturer    string
}

// near are the tolerances that the cases set for power.
var near = cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 0.001 })

func TestCases(t *testing.T) {
	var files []string
	for _, folder := range []string{"cases/csv", "cases/csv-2"} {
		found, err := filepath.Glob(filepath.Join(realdata.Path(t, folder), "*.csv"))
		if err != nil || len(found) == 0 {
			t.Fatalf("no cases in %s: %v", folder, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".csv"), func(t *testing.T) {
			var want sidecar
			text, err := os.ReadFile(strings.TrimSuffix(file, ".csv") + ".json")
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			zone, err := time.LoadLocation(want.Timezone)
			if err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			res, err := Read(f, Options{Zone: zone, CapacityKW: want.CapacityKW, Now: now})
			var refusal *Refusal
			if err != nil && !errors.As(err, &refusal) {
				t.Fatal(err)
			}
			got := Summarize(res, err)
			if diff := cmp.Diff(wanted(want), answered(got), near); diff != "" {
				t.Errorf("want -, got +:\n%s\n%s %v", diff, got.Error, got.Decisions)
			}
			if math.Abs(got.SumPowerKW-want.SumPowerKW) > 0.01 {
				t.Errorf("sum of power %.4f, want %.4f", got.SumPowerKW, want.SumPowerKW)
			}
			if want.Accept && res != nil {
				checkFrames(t, res)
			}
		})
	}
}

func wanted(s sidecar) answer {
	a := answer{Accept: s.Accept, ErrorKind: s.ErrorKind, ValueKind: s.ValueKind, Unit: s.UnitSource,
		IntervalMinutes: s.IntervalMinutes, Assets: slices.Clone(s.Assets), Rows: s.Rows}
	if s.First != nil {
		a.First, a.Last = *s.First, *s.Last
	}
	if s.Manufacturer != nil {
		a.Manufacturer = *s.Manufacturer
	}
	return a
}

func answered(s Summary) answer {
	a := answer{Accept: s.Accept, ErrorKind: s.ErrorKind, ValueKind: s.ValueKind, Unit: s.UnitSource,
		IntervalMinutes: s.IntervalMinutes, Assets: s.Assets, Rows: s.Rows}
	if !s.Accept {
		a.Assets = nil
	}
	if s.First != nil {
		a.First, a.Last = *s.First, *s.Last
	}
	if s.Manufacturer != nil {
		a.Manufacturer = *s.Manufacturer
	}
	return a
}

// checkFrames asserts what holds for every result.
func checkFrames(t *testing.T, res *Result) {
	t.Helper()
	if len(res.Assets) == 0 || len(res.Decisions) == 0 {
		t.Errorf("%d assets, %d decisions", len(res.Assets), len(res.Decisions))
	}
	for _, a := range res.Assets {
		if err := a.Frame.Check(); err != nil {
			t.Errorf("asset %q: %v", a.Name, err)
		}
	}
}
