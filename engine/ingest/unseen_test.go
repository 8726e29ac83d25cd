package ingest_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"app.sunloop/engine/ingest"
	"app.sunloop/engine/series"
)

// The generator's seeds: those below reportFrom are for development; the others
// are drawn for reports only.
const (
	shortDraws = 400
	reportFrom = 1_000_000
)

// TestUnseenExports draws exports from a grammar that is independent of the
// importer's words and compares each import with the truth.
// SUNLOOP_TEST_EXPORTS=N draws N, SUNLOOP_TEST_EXPORTS_FROM=SEED sets the first
// seed, SUNLOOP_TEST_EXPORTS_DIR=DIR keeps the files that were read wrong.
func TestUnseenExports(t *testing.T) {
	draws, from := number("SUNLOOP_TEST_EXPORTS", shortDraws), number("SUNLOOP_TEST_EXPORTS_FROM", reportFrom)
	var right, refused, warned, silent int
	seen, failed := map[string]int{}, map[string]int{}
	for seed := from; seed < from+draws; seed++ {
		e := generate(uint64(seed))
		for _, f := range e.features {
			seen[f]++
		}
		res, err := ingest.Read(bytes.NewReader(e.text), e.options)
		var problem string
		switch {
		case err != nil:
			problem = "refused: " + err.Error()
			refused++
		default:
			problem = e.difference(res)
			switch {
			case problem == "":
				right++
				continue
			case len(res.Warnings) > 0:
				warned++
				problem = "with a warning: " + problem
			default:
				silent++
				problem = "SILENT: " + problem
			}
		}
		for _, f := range e.features {
			failed[f]++
		}
		if testing.Verbose() {
			t.Logf("seed %d: %s [%s]", seed, problem, strings.Join(e.features, " "))
		}
		if dir := os.Getenv("SUNLOOP_TEST_EXPORTS_DIR"); dir != "" {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.csv", seed)), e.text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	share := func(n int) float64 { return 100 * float64(n) / float64(draws) }
	t.Logf("%d exports: %.2f %% read right, %.2f %% refused, %.2f %% wrong with a warning, %.2f %% wrong without one", draws, share(right), share(refused), share(warned), share(silent))
	if testing.Verbose() {
		worst := slices.SortedFunc(maps.Keys(failed), func(a, b string) int {
			return cmp.Compare(float64(failed[b])/float64(seen[b]), float64(failed[a])/float64(seen[a]))
		})
		for _, f := range worst[:min(40, len(worst))] {
			t.Logf("%-32s %d of %d wrong", f, failed[f], seen[f])
		}
	}
	if share(right) < 99 || share(silent) > max(0.1, 100/float64(draws)) {
		t.Errorf("read right %.2f %%, want 99; wrong without a word %.2f %%, want at most 0.1", share(right), share(silent))
	}
}

func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// difference describes what an import got wrong, "" if nothing.
func (e *export) difference(res *ingest.Result) string {
	if len(res.Assets) != len(e.units) {
		names := make([]string, len(res.Assets))
		for i, a := range res.Assets {
			names[i] = a.Name
		}
		return fmt.Sprintf("%d units %q, want %d", len(names), names, len(e.units))
	}
	used := map[int]bool{}
	for _, u := range e.units {
		at := slices.IndexFunc(res.Assets, func(a ingest.Asset) bool { return len(u.names) == 0 || namedLike(a.Name, u.names) })
		if len(e.units) == 1 {
			at = 0
		}
		if at < 0 || used[at] {
			names := make([]string, len(res.Assets))
			for i, a := range res.Assets {
				names[i] = a.Name
			}
			return fmt.Sprintf("no unit is called %q, but %q", u.names, names)
		}
		used[at] = true
		if p := e.unitDifference(u, res.Assets[at].Frame); p != "" {
			return fmt.Sprintf("unit %q: %s", u.names, p)
		}
	}
	return ""
}

// namedLike reports whether an asset's name is, or holds whole, one of a unit's names.
func namedLike(name string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		i := strings.Index(name, n)
		return i >= 0 && (i+len(n) == len(name) || name[i+len(n)] < '0' || name[i+len(n)] > '9')
	})
}

// unitDifference compares a unit's frame with the truth: sample by sample, or for counters by energy and its centre in time.
func (e *export) unitDifference(u exportUnit, f series.Frame) string {
	got := map[int64]float64{}
	power := f.Values(series.PowerKW)
	for i, at := range f.Times {
		if power != nil && !math.IsNaN(power[i]) {
			got[at] = power[i]
		}
	}
	if e.exact {
		wrong, missing, more := 0, 0, len(got)
		first := ""
		for i, at := range u.times {
			v, ok := got[at]
			switch {
			case math.IsNaN(u.kW[i]):
				if ok {
					wrong++
				}
				continue
			case !ok:
				missing++
			default:
				more--
				if math.Abs(v-u.kW[i]) > u.quant+1e-6*math.Abs(u.kW[i]) {
					if wrong++; first == "" {
						first = fmt.Sprintf("%g kW at %d, want %g", v, at, u.kW[i])
					}
				}
			}
		}
		if wrong+missing+more > 1 {
			return fmt.Sprintf("%d values wrong, %d missing, %d at other times of %d; %s", wrong, missing, more, len(u.times), first)
		}
		return ""
	}
	hours := float64(e.step) / 3600
	var want, have, wantAt, haveAt float64
	for i, at := range u.times[1:] {
		want += u.kW[i+1] * hours
		wantAt += u.kW[i+1] * hours * float64(at-u.times[0])
	}
	before := u.times[0]
	for _, at := range slices.Sorted(maps.Keys(got)) {
		v := got[at] * float64(at-before) / 3600
		have += v
		haveAt += v * float64(at-u.times[0])
		before = at
	}
	if math.Abs(have-want) > 0.03*want+3*u.quant*hours {
		return fmt.Sprintf("%.4g kWh, want %.4g", have, want)
	}
	if want > 0 && math.Abs(haveAt/have-wantAt/want) > 2*float64(e.step) {
		return fmt.Sprintf("energy is %.0f s off in time", haveAt/have-wantAt/want)
	}
	return ""
}
