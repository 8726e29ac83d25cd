package series

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var day0 = time.Date(2024, 6, 21, 0, 0, 0, 0, time.UTC)

func TestSeriesIndex(t *testing.T) {
	s := Series{day0, 15 * time.Minute, []float64{1, 2, 3}}
	for _, c := range []struct {
		after time.Duration
		want  float64
	}{{-1, nan}, {0, 1}, {15*time.Minute - 1, 1}, {15 * time.Minute, 2}, {44 * time.Minute, 3}, {45 * time.Minute, nan}} {
		if d := diff(c.want, s.At(day0.Add(c.after))); d != "" {
			t.Errorf("after %v: %s", c.after, d)
		}
	}
	if !s.End().Equal(day0.Add(45*time.Minute)) || !s.Time(2).Equal(day0.Add(30*time.Minute)) || s.Len() != 3 {
		t.Errorf("%v %v", s.Time(2), s.End())
	}
	var zero Series
	if !math.IsNaN(zero.At(day0)) || zero.Len() != 0 || zero.Gaps() != nil || zero.EnergyKWh() != 0 || zero.Slice(day0, day0).Len() != 0 {
		t.Error("the zero series is not empty")
	}
}

func TestSeriesSlice(t *testing.T) {
	s := Series{day0, time.Hour, []float64{0, 1, 2, 3, 4, 5}}
	rapid.Check(t, func(t *rapid.T) {
		from := day0.Add(time.Duration(rapid.Int64Range(-3, 9).Draw(t, "from hour"))*time.Hour + time.Duration(rapid.IntRange(0, 1).Draw(t, "and")))
		to := day0.Add(time.Duration(rapid.Int64Range(-3, 9).Draw(t, "to hour"))*time.Hour + time.Duration(rapid.IntRange(0, 1).Draw(t, "and")))
		got := s.Slice(from, to)
		var want []float64
		for i, v := range s.Values {
			if at := s.Time(i); !at.Before(from) && at.Before(to) {
				want = append(want, v)
			}
		}
		if d := diff(want, got.Values); d != "" {
			t.Fatalf("%v..%v: %s", from, to, d)
		}
		if got.Len() > 0 && !got.Start.Equal(day0.Add(time.Duration(got.Values[0])*time.Hour)) {
			t.Fatalf("starts at %v", got.Start)
		}
	})
	part := s.Slice(day0, day0.Add(2*time.Hour))
	part.Values = append(part.Values, 99)
	if s.Values[2] != 2 {
		t.Error("growing a slice wrote into the series")
	}
}

func TestInterval(t *testing.T) {
	for _, c := range []struct {
		times []int64
		want  time.Duration
	}{
		{nil, 0},
		{[]int64{5}, 0},
		{[]int64{0, 300}, 5 * time.Minute},
		{[]int64{0, 300, 600, 1500, 1800}, 5 * time.Minute},    // a gap
		{[]int64{0, 300, 1200}, 5 * time.Minute},               // a tie: the smaller
		{[]int64{0, 900, 1200, 2100, 2400}, 5 * time.Minute},   // a tie of two and two
		{[]int64{0, 900, 1800, 2100}, 15 * time.Minute},        // the commonest, not the least
		{[]int64{0, 3600, 7200, 7201, 10800, 14400}, 3600e9},   // a stray stamp
		{[]int64{-900, 0, 900, 1800, 87300}, 15 * time.Minute}, // a night left out
	} {
		if got := Interval(c.times); got != c.want {
			t.Errorf("%v: %v, want %v", c.times, got, c.want)
		}
	}
}

func TestResample(t *testing.T) {
	for _, c := range []struct {
		name       string
		times      []int64
		values     []float64
		step, hold time.Duration
		start      int64
		want       []float64
	}{
		{"nothing", nil, nil, time.Hour, 0, 0, nil},
		{"no step", []int64{0}, []float64{1}, 0, 0, 0, nil},
		{"quarters to hours", []int64{0, 900, 1800, 2700, 3600, 4500, 5400, 6300}, []float64{1, 2, 3, 4, 5, 6, 7, 8}, time.Hour, 0, 0, []float64{2.5, 6.5}},
		{"hours to quarters, the last one whole", []int64{0, 3600}, []float64{4, 8}, 15 * time.Minute, 0, 0, []float64{4, 4, 4, 4, 8, 8, 8, 8}},
		{"a missing quarter", []int64{0, 900, 1800, 2700}, []float64{1, nan, 3, 4}, time.Hour, 0, 0, []float64{8.0 / 3}},
		{"half missing is enough", []int64{0, 900, 1800, 2700}, []float64{1, nan, nan, 4}, time.Hour, 0, 0, []float64{2.5}},
		{"more than half is not", []int64{0, 900, 1800, 2700}, []float64{1, nan, nan, nan}, time.Hour, 0, 0, []float64{nan}},
		{"a gap is not bridged", []int64{0, 900, 9000, 9900}, []float64{1, 1, 3, 3}, 15 * time.Minute, 0, 0, []float64{1, 1, nan, nan, nan, nan, nan, nan, nan, nan, 3, 3}},
		{"a longer hold", []int64{0, 900, 4500}, []float64{1, 1, 3}, 15 * time.Minute, time.Hour, 0, []float64{1, 1, 1, 1, 1, 3}},
		{"a shorter hold", []int64{0, 900, 1800}, []float64{1, 1, 1}, 15 * time.Minute, 5 * time.Minute, 0, []float64{nan, nan, nan}},
		{"stamps off the grid", []int64{300, 1200, 2100, 3000}, []float64{1, 2, 3, 4}, 15 * time.Minute, 0, 0, []float64{1, (1*300 + 2*600) / 900.0, (2*300 + 3*600) / 900.0, (3*300 + 4*600) / 900.0}},
		{"before 1970", []int64{-900, 0}, []float64{1, 2}, time.Hour, 0, -3600, []float64{nan, nan}},
		{"one sample with a hold", []int64{0}, []float64{7}, 15 * time.Minute, 15 * time.Minute, 0, []float64{7}},
		{"one sample without", []int64{0}, []float64{7}, 15 * time.Minute, 0, 0, []float64{nan}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Resample(c.times, c.values, c.step, c.hold)
			if d := diff(c.want, got.Values); d != "" {
				t.Error(d)
			}
			if len(c.want) > 0 && (got.Start.Unix() != c.start || got.Step != c.step || got.Start.Location() != time.UTC) {
				t.Errorf("starts at %v in steps of %v", got.Start, got.Step)
			}
		})
	}
}

// TestResampleKeepsEnergy: if every time stamp has a value and the new step
// divides or is a multiple of the old, energy is preserved.
func TestResampleKeepsEnergy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		step := rapid.SampledFrom([]int64{60, 300, 900, 1800, 3600}).Draw(t, "step")
		to := rapid.SampledFrom([]int64{60, 300, 900, 1800, 3600}).Draw(t, "to")
		n := rapid.IntRange(2, 60).Draw(t, "n")
		per := max(1, int(to/step))
		n = (n + per - 1) / per * per // whole new intervals
		first := rapid.Int64Range(-100, 500000).Draw(t, "first") * max(to, step)
		times, values := make([]int64, n), make([]float64, n)
		var energy float64
		for i := range times {
			times[i] = first + int64(i)*step
			values[i] = rapid.Float64Range(0, 1000).Draw(t, "kW")
			energy += values[i] * float64(step) / 3600
		}
		got := Resample(times, values, time.Duration(to)*time.Second, 0)
		if n > 1 && math.Abs(got.EnergyKWh()-energy) > 1e-9*(energy+1) {
			t.Fatalf("%v kWh of %v", got.EnergyKWh(), energy)
		}
		if !got.End().Equal(time.Unix(first+int64(n)*step, 0)) {
			t.Fatalf("ends at %v", got.End())
		}
	})
}

// TestResampleStaysInRange: any stamps and any holes; every mean lies within
// the values, the grid covers the stamps, and only a last interval may come
// after them.
func TestResampleStaysInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SliceOfNDistinct(rapid.Int64Range(-5000, 50000), 1, 40, rapid.ID).Draw(t, "times")
		slices.Sort(times)
		values := make([]float64, len(times))
		for i := range values {
			values[i] = rapid.SampledFrom([]float64{nan, -1, 0, 2, 5}).Draw(t, "value")
		}
		step := time.Duration(rapid.Int64Range(1, 7200).Draw(t, "step")) * time.Second
		hold := time.Duration(rapid.Int64Range(0, 7200).Draw(t, "hold")) * time.Second
		got := Resample(times, values, step, hold)
		if got.Start.After(time.Unix(times[0], 0)) || !got.End().After(time.Unix(times[len(times)-1], 0)) {
			t.Fatalf("%v..%v does not cover the stamps", got.Start, got.End())
		}
		if got.Start.Unix()%int64(step/time.Second) != 0 {
			t.Fatalf("starts at %v in steps of %v", got.Start, step)
		}
		for _, v := range got.Values {
			if v < -1-1e-9 || v > 5+1e-9 {
				t.Fatalf("mean %v", v)
			}
		}
	})
}

// TestResampleKeepsGaps: the gaps of a logger that loses many samples are gaps of
// its usual step, although no samples next to them show it.
func TestResampleKeepsGaps(t *testing.T) {
	for name, c := range map[string]struct {
		minutes []int64
		gaps    int
	}{
		"two steps":  {[]int64{0, 15, 60}, 2},
		"three days": {[]int64{0, 15, 60, 90, 105, 165, 1440, 1455, 1500, 1530, 1545, 1605, 2880, 2895, 2940, 2970, 2985, 3045}, 186},
	} {
		var times []int64
		var values []float64
		for _, m := range c.minutes {
			times, values = append(times, m*60), append(values, 5)
		}
		missing := 0
		for _, g := range Resample(times, values, 15*time.Minute, 0).Gaps() {
			missing += int(g.Duration() / (15 * time.Minute))
		}
		if missing != c.gaps {
			t.Errorf("%s: %d intervals are missing, want %d", name, missing, c.gaps)
		}
	}
}

func TestGapsAndEnergy(t *testing.T) {
	s := Series{day0, 30 * time.Minute, []float64{nan, 2, nan, nan, 4, nan}}
	at := s.Time
	want := []Gap{{at(0), at(1)}, {at(2), at(4)}, {at(5), at(6)}}
	gaps := s.Gaps()
	if d := diff(want, gaps); d != "" {
		t.Error(d)
	}
	if gaps[1].Duration() != time.Hour {
		t.Errorf("a gap of %v", gaps[1].Duration())
	}
	if got := s.EnergyKWh(); got != 3 {
		t.Errorf("%v kWh", got)
	}
}

func BenchmarkResampleYear(b *testing.B) {
	times, values := make([]int64, 105120), make([]float64, 105120)
	for i := range times {
		times[i], values[i] = int64(i)*300, float64(i%288)
	}
	b.ReportAllocs()
	for b.Loop() {
		Resample(times, values, time.Hour, 0)
	}
}
