package energy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"app.sunloop/engine/series"
)

const (
	minute = 60
	hour   = 3600
)

var nan = math.NaN()

// even is n stamps with a step from a time on.
func even(from, step int64, n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = from + int64(i)*step
	}
	return out
}

func fill(n int, v float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func sum(in Input) Sum {
	if in.End == 0 {
		in.End = day
	}
	return new(Integrator).Sum(in)
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6 {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestConstantPower: 10 kW is 240 kWh a day, whatever the steps.
func TestConstantPower(t *testing.T) {
	irregular := func(seed uint64, longest int64) []int64 {
		r := rand.New(rand.NewPCG(seed, 0))
		times := []int64{0}
		for {
			next := times[len(times)-1] + 17 + r.Int64N(longest)
			if next > day-15*minute {
				return append(times, day-10*minute)
			}
			times = append(times, next)
		}
	}
	cases := map[string][]int64{
		"5 minutes":                         even(0, 5*minute, 288),
		"hours":                             even(0, hour, 24),
		"one a day":                         {0},
		"change of value, up to 20 minutes": irregular(1, 20*minute),
		"change of value, up to 90 minutes": irregular(2, 90*minute),
	}
	for k := range 24 {
		at := int64(k) * hour
		cases[fmt.Sprintf("15 then 5 minutes at %d h", k)] = append(even(0, 15*minute, 4*k), even(at, 5*minute, 288-12*k)...)
		cases[fmt.Sprintf("5 then 15 minutes at %d h", k)] = append(even(0, 5*minute, 12*k), even(at, 15*minute, 96-4*k)...)
	}
	for name, times := range cases {
		near(t, name, sum(Input{Times: times, PowerKW: fill(len(times), 10), UsualS: day}).ProductionKWh, 240)
	}
}

// TestHistoryThenLive: the demo day whose counters agree on 3,346 kWh, of
// which the commonest step of the day made 2,785.
func TestHistoryThenLive(t *testing.T) {
	power := func(at int64) float64 { return max(math.Sin(math.Pi*(float64(at)/hour-6)/12), 0) }
	var true1 float64
	for at := int64(0); at < day; at += 300 {
		true1 += power(at+150) * 300 / hour
	}
	scale := 3346 / true1
	var times []int64
	var kW []float64
	mean := func(at, step int64) {
		var v float64
		for k := at; k < at+step; k += 300 {
			v += power(k+150) * scale * 300 / float64(step)
		}
		times, kW = append(times, at), append(kW, v)
	}
	for at := int64(0); at < 12*hour; at += 900 {
		mean(at, 900)
	}
	for at := int64(12 * hour); at < day; at += 300 {
		mean(at, 300)
	}
	near(t, "production", sum(Input{Times: times, PowerKW: kW, UsualS: 300}).ProductionKWh, 3346)
}

// TestGap: a sample before a gap covers one step; a counter that ran fills it.
func TestGap(t *testing.T) {
	times := append(even(0, 5*minute, 120), even(12*hour, 5*minute, 144)...) // 2 h are missing
	power := fill(len(times), 10)
	near(t, "power alone", sum(Input{Times: times, PowerKW: power}).ProductionKWh, 220)
	counter := make([]float64, len(times))
	for i, at := range times {
		counter[i] = 5000 + 10*float64(at)/hour
	}
	s := sum(Input{Times: times, PowerKW: power, CounterKWh: counter})
	near(t, "with a counter", s.ProductionKWh, 240)
	if s.Source() != Counter {
		t.Errorf("source %v", s.Source())
	}
	// The same by a counter of the day.
	for i, at := range times {
		counter[i] = 10 * float64(at) / hour
	}
	near(t, "with a day counter", sum(Input{Times: times, PowerKW: power, DayCounterKWh: counter}).ProductionKWh, 240)
}

// TestIntervalEnergy: the meter's energy counts, not the power that was read now
// and then.
func TestIntervalEnergy(t *testing.T) {
	times := even(0, hour, 24)
	s := sum(Input{Times: times, PowerKW: fill(24, 7.75), EnergyKWh: fill(24, 10.5)})
	near(t, "production", s.ProductionKWh, 252)
	near(t, "by power", s.ComparedKWh, 186)
	if d, ok := s.Difference(); !ok || math.Abs(d-66./186) > 1e-9 {
		t.Errorf("difference %v, %v", d, ok)
	}
	// Power is missing half of the day.
	power := fill(24, 10.5)
	for i := range 12 {
		power[i] = nan
	}
	near(t, "half of the power", sum(Input{Times: times, PowerKW: power, EnergyKWh: fill(24, 10.5)}).ProductionKWh, 252)
	// Energy in Wh is refused.
	near(t, "Wh", sum(Input{Times: times, PowerKW: fill(24, 10), EnergyKWh: fill(24, 10000)}).ProductionKWh, 240)
}

// TestConsumption: power by night is consumption and reduces no production.
func TestConsumption(t *testing.T) {
	times := even(0, hour, 24)
	power := fill(24, 5)
	for i := range 6 {
		power[i] = -0.5
	}
	s := sum(Input{Times: times, PowerKW: power})
	near(t, "production", s.ProductionKWh, 90)
	near(t, "consumption", s.ConsumptionKWh, 3)
}

// TestCounterFaults: a register that rolls over, one that is replaced, one
// with a wrong unit and one that is stuck.
func TestCounterFaults(t *testing.T) {
	times := even(0, hour, 24)
	power := fill(24, 10)
	counter := func(f func(i int) float64) Input {
		values := make([]float64, 24)
		for i := range values {
			values[i] = f(i)
		}
		return Input{Times: times, PowerKW: power, CounterKWh: values}
	}
	for name, c := range map[string]struct {
		in     Input
		source Source
	}{
		"even":      {counter(func(i int) float64 { return 100 + 10*float64(i) }), Counter},
		"rollover":  {counter(func(i int) float64 { return math.Mod(65500+10*float64(i), 65536) }), Counter},
		"replaced":  {counter(func(i int) float64 { return 10 * float64((i+12)%24) }), Counter},
		"glitch":    {counter(func(i int) float64 { return (5000 + 10*float64(i)) * float64(min(i%7, 1)) }), Power},
		"one zero":  {counter(func(i int) float64 { return (5000 + 10*float64(i)) * min(math.Abs(float64(i-7)), 1) }), Counter},
		"Wh":        {counter(func(i int) float64 { return 10000 * float64(i) }), Power},
		"stuck":     {counter(func(int) float64 { return 4711 }), Power},
		"too small": {counter(func(i int) float64 { return 5 * float64(i) }), Power},
	} {
		s := sum(c.in)
		near(t, name, s.ProductionKWh, 240)
		if s.Source() != c.source {
			t.Errorf("%s: source %v, want %v", name, s.Source(), c.source)
		}
	}
}

// TestCorrection: an hour that a meter states later replaces the twelve samples
// of that hour (once 230 kWh for 120), and finer data that arrive later replace it.
func TestCorrection(t *testing.T) {
	fine := series.Frame{Times: even(0, 5*minute, 12)}
	fine.Set(series.PowerKW, fill(12, 110))
	fine.Set(series.TemperatureC, fill(12, 20))
	for name, coarse := range map[string]series.Frame{
		"energy over power": {Times: []int64{0}, Columns: []series.Column{{Quantity: series.PowerKW, Values: []float64{120}}, {Quantity: series.EnergyKWh, Values: []float64{120}}}},
		"stated":            {Times: []int64{0}, Columns: []series.Column{{Quantity: series.PowerKW, Values: []float64{120}}, {Quantity: series.CoveredS, Values: []float64{hour}}}},
		"even hours":        {Times: []int64{0, hour, 2 * hour}, Columns: []series.Column{{Quantity: series.PowerKW, Values: []float64{120, 0, 0}}}},
	} {
		merged := Merge(fine, coarse)
		near(t, name, sum(FrameInput(merged, 0, day, 300)).ProductionKWh, 120)
		if v := merged.Values(series.TemperatureC); v[5] != 20 {
			t.Errorf("%s: the weather is lost: %v", name, v)
		}
		if again := Merge(merged, coarse); math.Abs(sum(FrameInput(again, 0, day, 300)).ProductionKWh-120) > 1e-9 {
			t.Errorf("%s: not the same again", name)
		}
		if name != "even hours" {
			near(t, name+", then fine again", sum(FrameInput(Merge(merged, fine), 0, day, 300)).ProductionKWh, 110)
		}
	}
	// Samples of the same step, and two that are far apart, replace nothing.
	apart := series.Frame{Times: []int64{0, 45 * minute}}
	apart.Set(series.PowerKW, []float64{110, 110})
	near(t, "two apart", sum(FrameInput(Merge(fine, apart), 0, day, 300)).ProductionKWh, 110)
}

// TestHold: a logger that writes changes, on a raster of 5 minutes: 240 kWh a day.
func TestHold(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	f := series.Frame{}
	var power []float64
	var want float64
	for at := int64(0); at < 2*day; {
		v := 10 + float64(len(power)%2)
		hold := 300 * (1 + r.Int64N(6))
		f.Times, power = append(f.Times, at), append(power, v)
		if at < day {
			want += v * float64(min(hold, day-at)) / hour
		}
		at += hold
	}
	f.Set(series.PowerKW, power)
	out, held := Hold(f, func(at int64) int64 { return (at/day + 1) * day })
	if !held {
		t.Fatal("not recognised")
	}
	near(t, "first day", sum(FrameInput(out.Slice(0, day), 0, day, 300)).ProductionKWh, want)
	regular := series.Frame{Times: even(0, 300, 288)}
	regular.Set(series.PowerKW, fill(288, 1))
	if _, held := Hold(regular, nil); held {
		t.Error("even steps are taken for changes")
	}
}

// TestBridge: what a counter gained between two days is shared out to both.
func TestBridge(t *testing.T) {
	g := &Integrator{}
	of := func(from, to, start int64) Sum {
		times := even(from, hour, int((to-from)/hour))
		counter := make([]float64, len(times))
		for i, at := range times {
			counter[i] = 70 + 10*float64(at)/hour
		}
		return g.Sum(Input{Times: times, PowerKW: fill(len(times), 10), CounterKWh: counter, Start: start, End: start + day})
	}
	a, b := of(0, 15*hour, 0), of(day+10*hour, 2*day, day)
	kW, ok := Bridge(a.Edge, b.Edge, 10)
	if !ok {
		t.Fatal("no bridge")
	}
	a.Close(kW, day)
	b.Open(kW, day)
	near(t, "first day", a.ProductionKWh, 240)
	near(t, "second day", b.ProductionKWh, 240)
	near(t, "by the counter", a.CounterKWh+b.CounterKWh, 470) // the last hour is by power
}

// TestMonotone: as samples arrive, the energy of the day so far does not fall.
func TestMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		step := rapid.SampledFrom([]int64{60, 300, 900, 3600}).Draw(t, "step")
		then := rapid.SampledFrom([]int64{60, 300, 900, 3600}).Draw(t, "then")
		at := rapid.Int64Range(1, 60).Draw(t, "switch")
		var times []int64
		var power []float64
		g, last := &Integrator{}, 0.0
		now, since := int64(0), 0
		for i := range int64(80) {
			times = append(times, now)
			power = append(power, rapid.Float64Range(-1, 50).Draw(t, "kW"))
			s := g.Sum(Input{Times: times, PowerKW: power, End: 30 * day, Now: now, UsualS: step})
			if s.ProductionKWh < last-1e-9 {
				t.Fatalf("%d: %v after %v", i, s.ProductionKWh, last)
			}
			last = s.ProductionKWh
			if i < at {
				now += step
			} else {
				now += then
			}
			if since++; i == at {
				since = 0
			}
			if since > 6 && rapid.IntRange(0, 10).Draw(t, "gap") == 0 {
				now += step * rapid.Int64Range(1, 9).Draw(t, "missing")
				since = 0
			}
		}
	})
}

// TestSplit: the samples of any part of a span, read with four more on each
// side, have the intervals that they have in the whole.
func TestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := []int64{0}
		for range 60 {
			times = append(times, times[len(times)-1]+rapid.SampledFrom([]int64{60, 300, 300, 300, 900, 900, 900, 1234, 7200}).Draw(t, "step"))
		}
		whole := series.Intervals(nil, series.Span{Times: times})
		from := rapid.IntRange(0, 59).Draw(t, "from")
		to := rapid.IntRange(from+1, 60).Draw(t, "to")
		lo, hi := max(from-4, 0), min(to+5, len(times))
		part := series.Intervals(nil, series.Span{Times: times[lo:hi]})
		for i := from; i < to; i++ {
			if part[i-lo] != whole[i] {
				t.Fatalf("sample %d covers %d s in a part, %d in the whole", i, part[i-lo], whole[i])
			}
		}
	})
}

// TestSamples: samples add up to the sum of their day.
func TestSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "samples")
		times, at := make([]int64, n), int64(0)
		column := func(label string) []float64 {
			out := make([]float64, n)
			for i := range out {
				if out[i] = rapid.Float64Range(-1, 50).Draw(t, label); rapid.IntRange(0, 5).Draw(t, "missing") == 0 {
					out[i] = nan
				}
			}
			return out
		}
		for i := range times {
			times[i] = at
			at += rapid.SampledFrom([]int64{60, 300, 300, 300, 900}).Draw(t, "step")
		}
		in := Input{Times: times, PowerKW: column("kW"), EnergyKWh: column("kWh"), End: day}
		g := &Integrator{}
		samples, s := g.Samples(nil, in)
		if again := g.Sum(in); again != s {
			t.Fatalf("%+v, and %+v", s, again)
		}
		var net float64
		for _, one := range samples {
			if !math.IsNaN(one.KWh) {
				net += one.KWh
			}
		}
		if math.Abs(net-(s.ProductionKWh-s.ConsumptionKWh)) > 1e-6 {
			t.Fatalf("samples %v, sum %+v", net, s)
		}
	})
}

func BenchmarkSum(b *testing.B) {
	times := even(0, 5*minute, 288)
	in := Input{Times: times, PowerKW: fill(288, 10), End: day}
	g := &Integrator{}
	b.Run("power", func(b *testing.B) {
		for b.Loop() {
			g.Sum(in)
		}
	})
	counter := make([]float64, 288)
	for i := range counter {
		counter[i] = float64(i)
	}
	in.CounterKWh = counter
	b.Run("counter", func(b *testing.B) {
		for b.Loop() {
			g.Sum(in)
		}
	})
}

// TestEnergyOfGaps: interval energy that a logger added up while it could not report
// is of the gap and of its interval; it counts once, on any part of the time.
func TestEnergyOfGaps(t *testing.T) {
	const step = 600
	in := Input{Start: 0, End: day}
	for at := int64(8 * hour); at < 18*hour; at += step {
		if at >= 15*hour && at < 16*hour {
			continue
		}
		kWh := 2.0
		if at == 16*hour {
			kWh = 13 // of an hour without samples and of its interval
		}
		in.Times, in.PowerKW, in.EnergyKWh, in.StepS = append(in.Times, at), append(in.PowerKW, 12), append(in.EnergyKWh, kWh), append(in.StepS, step)
	}
	g := &Integrator{}
	each, s := g.Samples(nil, in)
	near(t, "the day", s.ProductionKWh, 9*6*2-2+13)
	near(t, "by interval energy", s.IntervalKWh, s.ProductionKWh)
	near(t, "the difference", s.DifferenceKWh, 0)
	parts, hours := 0.0, map[int64]float64{}
	for from := int64(0); from < day; from += hour {
		for i, one := range each {
			hours[from/hour] += one.Within(in.Times[i], from, from+hour)
		}
		parts += hours[from/hour]
	}
	near(t, "the hours of the day", parts, s.ProductionKWh)
	near(t, "the hour of the gap", hours[15], 11)
	near(t, "the hour after it", hours[16], 12)
	// More than the gap can have is an error of the logger.
	for i, at := range in.Times {
		if at == 16*hour {
			in.EnergyKWh[i] = 40
		}
	}
	s = g.Sum(in)
	near(t, "a day with an impossible value", s.ProductionKWh, 9*6*2)
	// Without a gap before it, too.
	in.EnergyKWh[10] = 13
	s = g.Sum(in)
	near(t, "a day with two impossible values", s.ProductionKWh, 9*6*2)
}

// TestEnergyOfGapOverMidnight: what a logger added up over a gap that began on the day
// before is of the day of its sample, also if it is more than the part of the gap in that
// day can have, but not more than 12 hours can have.
func TestEnergyOfGapOverMidnight(t *testing.T) {
	const step = 600
	sum := func(first int64, kWh float64) ([]Sample, Sum) {
		in := Input{Start: 0, End: day}
		for at := first; at < 10*hour; at += step {
			in.Times, in.PowerKW, in.EnergyKWh, in.StepS = append(in.Times, at), append(in.PowerKW, 12), append(in.EnergyKWh, 2), append(in.StepS, step)
		}
		in.EnergyKWh[0] = kWh
		g := &Integrator{}
		return g.Samples(nil, in)
	}
	each, s := sum(5*hour, 9*12+2) // since 20:00
	near(t, "the day", s.ProductionKWh, 5*12+9*12)
	near(t, "the gap in the day", each[0].Within(5*hour, 0, 5*hour), 9*12)
	_, s = sum(5*hour, 300)
	near(t, "a day with an impossible value", s.ProductionKWh, 5*12)
	_, s = sum(0, 9*12)
	near(t, "a day that begins with an impossible value", s.ProductionKWh, 10*12)
	_, s = sum(step, 9*12)
	near(t, "a gap as short as a sample", s.ProductionKWh, 10*12-2)
}
