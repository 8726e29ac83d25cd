package httpapi

import (
	"context"
	"errors"
	"iter"
	"math"
	"testing"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/engine/energy"
	"app.sunloop/engine/series"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// kept is telemetry in memory, cut into frames of so many stamps.
type kept struct {
	store.Telemetry
	frame series.Frame
	part  int
	fail  error
}

func (k kept) Read(_ context.Context, _, _ string, from, to time.Time, _ ...series.Quantity) iter.Seq2[series.Frame, error] {
	return func(yield func(series.Frame, error) bool) {
		f := k.frame.Slice(from.Unix(), to.Unix())
		for i := 0; i < f.Len(); i += k.part {
			end := min(i+k.part, f.Len())
			if !yield(f.Slice(f.Times[i], f.Times[end-1]+1), nil) {
				return
			}
		}
		if k.fail != nil {
			yield(series.Frame{}, k.fail)
		}
	}
}

func take(t interface{ Fatal(...any) }, k kept, from, to, step int64) (list []sample) {
	err := samples(context.Background(), k, span{siteID: "s", assetID: "a", from: from, to: to, step: step}, func(s *sample) bool {
		list = append(list, *s)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

type point struct {
	At         int64
	Power, KWh float64
}

func points(list []sample) (out []point) {
	for _, s := range list {
		out = append(out, point{s.at, s.powerKW, s.energyKWh})
	}
	return out
}

func every(interval int64, power ...float64) series.Frame {
	var f series.Frame
	for i := range power {
		f.Times = append(f.Times, int64(i)*interval)
	}
	f.Set(series.PowerKW, power)
	return f
}

func TestSamples(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name     string
		frame    series.Frame
		from, to int64
		step     int64
		want     []point
	}{
		{"as measured: energy of its interval", every(300, 12, 24, 36), 0, 900, 0, []point{{0, 12, 1}, {300, 24, 2}, {600, 36, 3}}},
		{"a part has the same energies", every(300, 12, 24, 36), 300, 600, 0, []point{{300, 24, 2}}},
		{"no power, no record", every(300, 12, nan, 36), 0, 900, 0, []point{{0, 12, 1}, {600, 36, 3}}},
		{"a sample before a gap covers one step", series.Frame{Times: []int64{0, 300, 600, 3600}, Columns: []series.Column{{Quantity: series.PowerKW, Values: []float64{12, 12, 12, 12}}}},
			0, 4000, 0, []point{{0, 12, 1}, {300, 12, 1}, {600, 12, 1}, {3600, 12, 1}}},
		{"means of a quarter of an hour", every(300, 12, 24, 36, 0, 0, 12), 0, 1800, 900, []point{{0, 24, 6}, {900, 4, 1}}},
		{"whole steps alone", every(300, 12, 24, 36, 0, 0, 12), 300, 1500, 900, []point{{900, 4, 1}}},
		{"measured as seldom as asked: as it is", every(900, 12, 24), 0, 1800, 900, []point{{0, 12, 3}, {900, 24, 6}}},
		{"measured more seldom than asked: as it is", every(3600, 12, 24), 0, 7200, 900, []point{{0, 12, 12}, {3600, 24, 24}}},
		{"one sample alone", every(300, 12), 0, 300, 0, []point{{0, 12, 0}}},
		{"nothing", series.Frame{}, 0, 300, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, part := range []int{1, 2, 1000} {
				if part == 1 && c.step > 0 {
					continue // one stamp a frame shows no interval
				}
				got := points(take(t, kept{frame: c.frame, part: part}, c.from, c.to, c.step))
				if part == 1 {
					continue
				}
				if d := cmp.Diff(c.want, got); d != "" {
					t.Errorf("frames of %d: %s", part, d)
				}
			}
		})
	}
}

func TestOwnEnergyAndStatesWin(t *testing.T) {
	f := every(300, 12, 12, 12)
	f.Set(series.EnergyKWh, []float64{0.9, math.NaN(), 0.8})
	f.Set(series.InverterState, []float64{4, 7, 4})
	f.Set(series.ErrorCode, []float64{0, 31, 0})
	f.Set(series.EnergyCounterKWh, []float64{100, 101, 102})
	f.Set(series.IrradianceWM2, []float64{500, math.NaN(), 700})
	got := take(t, kept{frame: f, part: 10}, 0, 900, 900)
	if len(got) != 1 {
		t.Fatalf("%d records", len(got))
	}
	s := got[0]
	// 1 and 1 by the counter, 0.8 by the interval energy after its last reading.
	if s.energyKWh != 2.8 || s.source != energy.Counter || s.state != 4 || s.errorCode != 31 || s.optional[8] != 102 || s.optional[4] != 600 || s.optional[0] == s.optional[0] {
		t.Errorf("mean %+v", s)
	}
}

// TestRangesAgree: a record has the same energy in each range that it is read in,
// across a change of the step and gaps, and the records of a day have its energy.
func TestRangesAgree(t *testing.T) {
	const day = 86400
	var f series.Frame
	for at := int64(0); at < 2*day; at += 300 {
		switch {
		case at < day+40000 && at%900 != 0, at > day+50000 && at < day+60000, at%(7*3600) == 0 && at > day+40000:
			continue // a history of 15 minutes, and what is missing
		}
		f.Times = append(f.Times, at)
	}
	power := make([]float64, f.Len())
	for i := range power {
		power[i] = 10 + float64(i%7)
	}
	f.Set(series.PowerKW, power)
	k := kept{frame: f, part: 100}
	want := map[int64]float64{}
	sum := 0.0
	for _, s := range take(t, k, 0, 2*day, 0) {
		want[s.at] = s.energyKWh
		if s.at >= day {
			sum += s.energyKWh
		}
	}
	day2 := new(energy.Integrator).Sum(energy.FrameInput(f.Slice(day, 2*day), day, 2*day, 0))
	if math.Abs(sum-day2.ProductionKWh) > 1e-3 {
		t.Errorf("records of the day %v, the day %v", sum, day2.ProductionKWh)
	}
	rapid.Check(t, func(r *rapid.T) {
		from := rapid.Int64Range(0, 2*day-1).Draw(r, "from")
		to := rapid.Int64Range(from+1, 2*day).Draw(r, "to")
		for _, s := range take(r, k, from, to, 0) {
			if s.energyKWh != want[s.at] {
				r.Fatalf("record of %d has %v kWh in %d..%d, and %v in all", s.at, s.energyKWh, from, to, want[s.at])
			}
		}
	})
}

// TestMeansKeepEnergy: whatever the steps, the energies sum to those measured.
func TestMeansKeepEnergy(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(24, 400).Draw(r, "n")
		power := make([]float64, n)
		for i := range power {
			power[i] = float64(rapid.IntRange(0, 5000).Draw(r, "w")) / 100
		}
		f := every(300, power...)
		end := (int64(n)*300 + 3599) / 3600 * 3600
		total := func(step int64, part int) (sum float64) {
			for _, s := range take(r, kept{frame: f, part: part}, 0, end, step) {
				sum += s.energyKWh
			}
			return sum
		}
		want := total(0, 1000)
		for _, step := range []int64{900, 3600} {
			if got := total(step, rapid.IntRange(2, 50).Draw(r, "part")); math.Abs(got-want) > 1e-3 {
				r.Errorf("step %d: %v kWh, measured %v", step, got, want)
			}
		}
	})
}

// TestEnergyOfAGap: what a logger added up over a gap is in the hours of the gap, in
// each range, and the record as measured has it as its file states.
func TestEnergyOfAGap(t *testing.T) {
	const step, hour = 600, 3600
	var f series.Frame
	var power, kWh, steps []float64
	for at := int64(8 * hour); at < 18*hour; at += step {
		if at > 14*hour+1200 && at < 16*hour {
			continue
		}
		energy := 2.0
		if at == 16*hour {
			energy = 20 // of 90 minutes without samples and of its interval
		}
		f.Times, power, kWh, steps = append(f.Times, at), append(power, 12), append(kWh, energy), append(steps, step)
	}
	f.Set(series.PowerKW, power)
	f.Set(series.EnergyKWh, kWh)
	f.Set(series.StepS, steps)
	k := kept{frame: f, part: 10}
	of := func(from, to, step int64) (sum float64, by map[int64]float64) {
		by = map[int64]float64{}
		for _, s := range take(t, k, from, to, step) {
			sum += s.energyKWh
			by[s.at] = s.energyKWh
		}
		return sum, by
	}
	want := 50*2.0 + 20
	all, measured := of(0, 24*hour, 0)
	hours, each := of(0, 24*hour, hour)
	first, _ := of(0, 15*hour, hour)
	second, _ := of(15*hour, 24*hour, hour)
	// A third of the gap is in the hour at 14; that at 15 has no record.
	if math.Abs(all-want) > 1e-3 || math.Abs(hours-want) > 1e-3 || math.Abs(first+second-want) > 1e-3 || measured[16*hour] != 20 || math.Abs(each[14*hour]-12) > 1e-3 || math.Abs(each[16*hour]-24) > 1e-3 {
		t.Errorf("%v as measured with %v, by hours %v with %v, in parts %v and %v, want %v", all, measured[16*hour], hours, each, first, second, want)
	}
}

func TestSamplesStopAndFail(t *testing.T) {
	n := 0
	err := samples(context.Background(), kept{frame: every(300, 1, 2, 3, 4), part: 2}, span{siteID: "s", assetID: "a", to: 1200}, func(*sample) bool { n++; return n < 2 })
	if err != nil || n != 2 {
		t.Errorf("%d samples, %v", n, err)
	}
	broken := errors.New("disk on fire")
	err = samples(context.Background(), kept{frame: every(300, 1), part: 2, fail: broken}, span{siteID: "s", assetID: "a", to: 1200}, func(*sample) bool { return true })
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}
