package energy

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"app.sunloop/engine/series"
)

// midnights returns the function of the next midnight in a zone.
func midnights(t *testing.T, name string) func(int64) int64 {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return func(at int64) int64 { return series.NextMidnight(time.Unix(at, 0), zone).Unix() }
}

// byDays is the sum of the days of a frame.
func byDays(f series.Frame, next func(int64) int64) (kWh float64) {
	var g Integrator
	for f.Len() > 0 {
		end := next(f.Times[0])
		kWh += g.Sum(FrameInput(f.Slice(math.MinInt64, end), f.Times[0], end, 0)).ProductionKWh
		f = f.Slice(end, math.MaxInt64)
	}
	return kWh
}

// TestSplitDays: hours of UTC at Lord Howe Island, whose midnights are at half
// past in winter.
func TestSplitDays(t *testing.T) {
	next := midnights(t, "Australia/Lord_Howe")
	start := time.Date(2026, 4, 3, 13, 0, 0, 0, time.UTC).Unix()
	f := StateStep(frame(10, even(start, hour, 96)...))
	near(t, "days of hours", byDays(SplitDays(f, next), next), 960)
	f.Set(series.EnergyKWh, fill(96, 10))
	whole := SplitDays(f, next)
	near(t, "days of hours with energy", byDays(whole, next), 960)
	if whole.Len() != 98 {
		t.Errorf("%d samples, want one more for each of two midnights at half past", whole.Len())
	}
	for name, f := range map[string]series.Frame{
		"on a midnight": StateStep(frame(10, even(start, hour, 24)...)),
		"no power":      StateStep(frame(0, even(start, hour, 72)...)),
		"no step":       frame(10, even(start, hour, 72)...),
	} {
		if got := SplitDays(f, next); got.Len() != f.Len() {
			t.Errorf("%s: %d samples, want %d", name, got.Len(), f.Len())
		}
	}
	berlin := midnights(t, "Europe/Berlin") // the day of 23 hours is within the sample
	long := series.Frame{Times: []int64{time.Date(2026, 3, 28, 22, 30, 0, 0, time.UTC).Unix()}}
	long.Set(series.PowerKW, []float64{10})
	long.Set(series.EnergyKWh, []float64{240})
	long.Set(series.CoveredS, []float64{day})
	three := SplitDays(long, berlin)
	near(t, "two midnights", byDays(three, berlin), 240)
	for i, want := range []float64{5, 230, 5} {
		near(t, "a part of the energy", three.Values(series.EnergyKWh)[i], want)
	}
}

// TestSplitDaysDrawn: for drawn steps and zones the days sum to the whole,
// dividing twice changes nothing, and a site that moves keeps its energy.
func TestSplitDaysDrawn(t *testing.T) {
	names := []string{"Australia/Lord_Howe", "Asia/Kathmandu", "America/St_Johns", "Pacific/Chatham", "Europe/Berlin"}
	zones := map[string]func(int64) int64{}
	for _, name := range names {
		zones[name] = midnights(t, name)
	}
	rapid.Check(t, func(r *rapid.T) {
		step := rapid.SampledFrom([]int64{300, 600, 1200, 1800, hour, 3 * hour}).Draw(r, "step")
		n := rapid.IntRange(3, 100).Draw(r, "n")
		start := time.Date(2026, 4, 3, 13, 0, 0, 0, time.UTC).Unix() + 60*rapid.Int64Range(0, 100).Draw(r, "start")
		f := series.Frame{Times: even(start, step, n)}
		power := make([]float64, n)
		want := 0.0
		for i := range power {
			power[i] = float64(rapid.IntRange(0, 5).Draw(r, "kW"))
			want += power[i] * float64(step) / hour
		}
		f.Set(series.PowerKW, power)
		if rapid.Bool().Draw(r, "energy") {
			kWh := make([]float64, n)
			for i := range kWh {
				kWh[i] = power[i] * float64(step) / hour
			}
			f.Set(series.EnergyKWh, kWh)
		}
		f = StateStep(f)
		first, second := rapid.SampledFrom(names).Draw(r, "zone"), rapid.SampledFrom(names).Draw(r, "moved to")
		split := SplitDays(f, zones[first])
		if got := byDays(split, zones[first]); math.Abs(got-want) > 1e-6 {
			r.Fatalf("days sum to %v kWh, want %v", got, want)
		}
		if again := SplitDays(split, zones[first]); again.Len() != split.Len() {
			r.Fatalf("divided again: %d samples of %d", again.Len(), split.Len())
		}
		joined := JoinDays(split)
		if joined.Len() != f.Len() {
			r.Fatalf("joined: %d samples of %d", joined.Len(), f.Len())
		}
		if got := byDays(SplitDays(joined, zones[second]), zones[second]); math.Abs(got-want) > 1e-6 {
			r.Fatalf("after a move days sum to %v kWh, want %v", got, want)
		}
		if got := byDays(Merge(split, split), zones[first]); math.Abs(got-want) > 1e-6 {
			r.Fatalf("stored twice, days sum to %v kWh, want %v", got, want)
		}
	})
}
