package interpolate

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"app.sunloop/engine/forecast"
	"app.sunloop/engine/series"
)

// possible fails where a filling is not what can be.
func possible(t interface{ Fatalf(string, ...any) }, m *Model, f Filled) {
	for i, v := range f.KW {
		low, high := f.P10KW[i], f.P90KW[i]
		if !(low >= 0 && low <= v && v <= high && high <= m.site.CapacityKW) {
			t.Fatalf("step %d: %g in %g..%g of %g kW", i, v, low, high, m.site.CapacityKW)
		}
	}
}

// Whatever is missing, filled power is possible, night is zero, measured
// samples keep their bits, and a second run gives the same result.
func TestCompleteProperties(t *testing.T) {
	f := trainedOnce(t)
	light := f.model.sky.Over(f.power.Start, f.power.Step, f.power.Len(), 1)
	rapid.Check(t, func(t *rapid.T) {
		power := hidden(f.power, 0, 0)
		for range rapid.IntRange(1, 5).Draw(t, "gaps") {
			from := rapid.IntRange(0, power.Len()-1).Draw(t, "from")
			to := min(power.Len(), from+rapid.IntRange(1, 200).Draw(t, "steps"))
			for i := from; i < to; i++ {
				power.Values[i] = math.NaN()
			}
		}
		if rapid.Bool().Draw(t, "odd values") {
			power.Values[rapid.IntRange(0, power.Len()-1).Draw(t, "at")] = rapid.SampledFrom([]float64{-3, math.Inf(1), 1e9, math.Copysign(0, -1)}).Draw(t, "odd")
		}
		wx := f.wx
		if rapid.Bool().Draw(t, "no weather") {
			wx = Weather{}
		}
		r, err := f.model.Complete(context.Background(), power, wx, 2)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range power.Values {
			got := r.Power.Values[i]
			switch {
			case !math.IsNaN(v):
				if math.Float64bits(got) != math.Float64bits(v) {
					t.Fatalf("step %d was %g and is %g", i, v, got)
				}
			case !(got >= 0 && got <= testSite.CapacityKW):
				t.Fatalf("step %d is filled with %g", i, got)
			case light.Share[i] <= 0 && got != 0:
				t.Fatalf("step %d at night is filled with %g", i, got)
			}
		}
		for _, x := range r.Filled {
			possible(t, f.model, x)
			if len(wx.GHI.Values) == 0 && x.Sky == ByWeather {
				t.Fatalf("weather is claimed without data")
			}
		}
		again, err := f.model.Complete(context.Background(), power, wx, 1)
		if err != nil || !slices.EqualFunc(r.Power.Values, again.Power.Values, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }) {
			t.Fatalf("one worker fills differently from two (%v)", err)
		}
	})
}

func TestFillSaysWhatFilled(t *testing.T) {
	f := trainedOnce(t)
	noon := 24*30 + 11
	for _, c := range []struct {
		name     string
		from, to int
		class    Class
	}{
		{"an hour", noon, noon + 1, UpTo2h},
		{"an afternoon", noon, noon + 5, UpTo12h},
		{"two days", noon, noon + 48, Longer},
		{"at the beginning", 0, 24*2 + 11, Longer},
		{"at the end", f.power.Len() - 30, f.power.Len(), Longer},
		{"a month", 24 * 20, 24 * 50, Longer},
	} {
		power := hidden(f.power, c.from, c.to)
		got, err := f.model.Fill(power, series.Gap{From: power.Time(c.from), To: power.Time(c.to)}, f.wx)
		if err != nil {
			t.Fatal(err)
		}
		possible(t, f.model, got)
		choice := f.model.choices[1][classOf(map[Class]time.Duration{UpTo2h: time.Hour, UpTo12h: 5 * time.Hour, Longer: 99 * time.Hour}[c.class])]
		if got.Class != c.class || got.Method != methods[choice.method] || len(got.KW) != c.to-c.from {
			t.Errorf("%s: %s by %s, chosen is %s", c.name, got.Class, got.Method, methods[choice.method])
		}
		var wrong, sum float64
		for i, v := range got.KW {
			wrong += math.Abs(v - f.power.Values[c.from+i])
			sum += f.power.Values[c.from+i]
		}
		t.Logf("%-16s %-18s error %.1f %% of the energy", c.name, got.Method, 100*wrong/sum)
		if wrong > 0.45*sum {
			t.Errorf("%s: error of %.0f %%", c.name, 100*wrong/sum)
		}
		// What was measured in the gap is not looked at.
		same, err := f.model.Fill(f.power, series.Gap{From: power.Time(c.from), To: power.Time(c.to)}, f.wx)
		if err != nil || !cmp.Equal(same, got) {
			t.Errorf("%s: what lies in the gap is looked at (%v)", c.name, err)
		}
	}
}

// The network is not used for a gap in which no whole hour is missing, and is
// not named as its method.
func TestShortGapsAreNotTheNetworks(t *testing.T) {
	power, wx := synthetic(60, 15*time.Minute)
	m, _, err := Train(context.Background(), testSite, power, wx, Options{Workers: 2, updates: 4})
	if err != nil {
		t.Fatal(err)
	}
	for class := range m.choices[0] {
		for w := range m.choices {
			m.choices[w][class].method = isLSTM
		}
	}
	noon := 96*30 + 44
	for steps, want := range map[int]Method{1: methods[m.choices[1][0].plain], 4: AdaptiveLSTM, 30: AdaptiveLSTM} {
		got, err := m.Fill(hidden(power, noon, noon+steps), series.Gap{From: power.Time(noon), To: power.Time(noon + steps)}, wx)
		if err != nil {
			t.Fatal(err)
		}
		if got.Method != want {
			t.Errorf("%d steps filled by %s, not %s", steps, got.Method, want)
		}
		possible(t, m, got)
	}
}

func TestResultSums(t *testing.T) {
	f := trainedOnce(t)
	noon := 24*30 + 11
	power := hidden(hidden(f.power, noon, noon+3), noon+72, noon+73)
	r, err := f.model.Complete(context.Background(), hidden(power, 24*40, 24*40+2), f.wx, 2) // the last at night
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Statistics; s.TotalGaps != 2 || s.AverageMinutes != 120 || s.LargestMinutes != 180 || !(s.CoverageImprovementPercent > 0.2 && s.CoverageImprovementPercent < 1) {
		t.Errorf("statistics %+v", s)
	}
	if r.Expected.Samples != 4 || !(r.Expected.MAEKW > 0) || !(r.Expected.RMSEKW >= r.Expected.MAEKW) || !(r.Expected.NRMSEPercent > 0) || !(r.Expected.R2 < 1) {
		t.Errorf("expected %+v", r.Expected)
	}
	if !(r.MeanIrradianceWM2 > 50) || !math.IsNaN(r.MeanTemperatureC) || r.Method == "" {
		t.Errorf("irradiance %g, temperature %g, method %q", r.MeanIrradianceWM2, r.MeanTemperatureC, r.Method)
	}
	whole, err := f.model.Complete(context.Background(), f.power, f.wx, 1)
	if err != nil || whole.Statistics != (Statistics{}) || whole.Method != "" || whole.Expected.Samples != 0 {
		t.Errorf("nothing to fill: %+v %v", whole.Statistics, err)
	}
}

func TestEvaluate(t *testing.T) {
	f := trainedOnce(t)
	lengths, overall, err := f.model.Evaluate(context.Background(), f.power, f.wx, Evaluation{Gaps: 20, Workers: 2, From: testStart.AddDate(0, 0, 60)})
	if err != nil {
		t.Fatal(err)
	}
	if len(lengths) != 16 || overall.Samples == 0 || !(overall.R2 > 0.8) || !(overall.Coverage80 > 0.4) {
		t.Errorf("%d lengths, overall %+v", len(lengths), overall)
	}
	for _, l := range lengths {
		for _, m := range l.Methods {
			for name, v := range map[string]float64{"mae": m.MAEKW, "rmse": m.RMSEKW, "r2": m.R2, "nrmse": m.NRMSEPercent} {
				mustBeFinite(t, name, v)
			}
		}
	}
	if _, _, err := f.model.Evaluate(context.Background(), f.power, f.wx, Evaluation{From: f.power.End()}); !errors.Is(err, ErrUnfit) {
		t.Errorf("nothing to hide in: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	power, wx := synthetic(3, time.Hour)
	all := func(v float64) series.Series {
		s := hidden(power, 0, 0)
		for i := range s.Values {
			s.Values[i] = v
		}
		return s
	}
	lost := testSite
	lost.Location.LatitudeDeg = math.NaN()
	small := testSite
	small.CapacityKW = 0.5
	coarse := power
	coarse.Step = 2 * time.Hour
	yearly := Weather{GHI: series.Series{Step: 9000 * time.Hour, Values: []float64{1}}}
	for _, c := range []struct {
		name  string
		site  forecast.Site
		power series.Series
		wx    Weather
		words string
	}{
		{"nothing measured", testSite, all(math.NaN()), wx, "no power was measured"},
		{"empty", testSite, series.Series{Step: time.Hour}, wx, "no power was measured"},
		{"infinite", testSite, all(math.Inf(1)), wx, "no power was measured"},
		{"zero", testSite, all(0), wx, "no power above nothing"},
		{"below zero", testSite, all(-1), wx, "no power above nothing"},
		{"no place", lost, power, wx, "no place"},
		{"wrong capacity", small, power, wx, "times the capacity"},
		{"two hours", testSite, coarse, wx, "steps of 2h0m0s"},
		{"no step", testSite, series.Series{Values: []float64{1}}, wx, "steps of 0s"},
		{"weather of years", testSite, power, yearly, "irradiance in steps"},
	} {
		if _, _, err := Train(context.Background(), c.site, c.power, c.wx, Options{}); !errors.Is(err, ErrUnfit) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	m := trainedOnce(t).model
	gap := func(from, to int) series.Gap { return series.Gap{From: power.Time(from), To: power.Time(to)} }
	for name, f := range map[string]func() (Filled, error){
		"other steps":   func() (Filled, error) { return m.Fill(coarse, gap(4, 6), wx) },
		"outside":       func() (Filled, error) { return m.Fill(power, gap(100, 200), wx) },
		"backwards":     func() (Filled, error) { return m.Fill(power, gap(6, 4), wx) },
		"partly within": func() (Filled, error) { return m.Fill(power, gap(-3, 4), wx) },
		"empty series":  func() (Filled, error) { return m.Fill(series.Series{Step: time.Hour}, gap(0, 4), wx) },
	} {
		if _, err := f(); !errors.Is(err, ErrUnfit) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	long, wx := synthetic(60, time.Hour)
	if _, _, err := Train(ctx, testSite, long, wx, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Data too poor to learn from is filled by the simplest method that can.
func TestPoorData(t *testing.T) {
	month, wx := synthetic(30, time.Hour)
	constant := hidden(month, 0, 0)
	for i := range constant.Values {
		constant.Values[i] = 7
	}
	unknown := testSite
	unknown.CapacityKW = 0
	for _, c := range []struct {
		name  string
		site  forecast.Site
		power series.Series
		from  int
		to    int
	}{
		{"one day", testSite, month.Slice(testStart, testStart.Add(day)), 10, 14},
		{"one day, all but an hour", testSite, month.Slice(testStart, testStart.Add(day)), 0, 12},
		{"ten days", testSite, month.Slice(testStart, testStart.Add(10*day)), 24 * 5, 24 * 6},
		{"a month", testSite, month, 24*20 + 8, 24*20 + 9},
		{"constant", testSite, constant, 24*20 + 8, 24*20 + 12},
		{"capacity not known", unknown, month, 24*20 + 8, 24*22 + 12},
	} {
		m, rep, err := Train(context.Background(), c.site, hidden(c.power, c.from, c.to), wx, Options{Workers: 2})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if rep.Learned || len(rep.Notes) == 0 {
			t.Errorf("%s: learned %v, notes %q", c.name, rep.Learned, rep.Notes)
		}
		r, err := m.Complete(context.Background(), hidden(c.power, c.from, c.to), wx, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range r.Power.Values {
			if !(v >= 0 && v <= m.Site().CapacityKW) {
				t.Fatalf("%s: step %d is %g of %g kW", c.name, i, v, m.Site().CapacityKW)
			}
		}
		for _, f := range r.Filled {
			if f.Method == AdaptiveLSTM || f.Method == Trees {
				t.Errorf("%s: filled by %s", c.name, f.Method)
			}
		}
		t.Logf("%-24s %v %q", c.name, r.Methods, rep.Notes)
	}
}
