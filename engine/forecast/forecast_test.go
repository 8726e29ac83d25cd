package forecast

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
	"app.sunloop/engine/weather"
)

var (
	testSite  = Site{ID: "roof", Location: solar.Location{LatitudeDeg: 45, LongitudeDeg: 9, AltitudeM: 120}, CapacityKW: 50}
	testStart = time.Date(2024, 2, 1, 0, 0, 0, 0, time.UTC)
)

const testDays = 120

type trained struct {
	model   *Model
	report  Report
	history History
}

var trainOnce = sync.OnceValues(func() (trained, error) {
	h := synthetic(testSite, testStart, testDays, time.Hour, 7)
	m, r, err := Train(context.Background(), testSite, h, Options{Workers: 2})
	return trained{m, r, h}, err
})

// trainedOnce is one model with weather that the tests share.
func trainedOnce(t testing.TB) trained {
	x, err := trainOnce()
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// cloudy returns a weather forecast of the synthetic sky.
func cloudy(h History, from time.Time, horizon time.Duration) weather.Forecast {
	f := weather.Forecast{IssuedAt: from, Start: from.Truncate(time.Hour), Step: time.Hour, Source: "test"}
	for t := f.Start; t.Before(from.Add(horizon)); t = t.Add(time.Hour) {
		c := weather.Unknown()
		c.GHI, c.TemperatureC = h.Weather[0].Series.At(t), 15
		f.Conditions = append(f.Conditions, c)
	}
	return f
}

// checkPoints asserts what every forecast promises.
func checkPoints(t interface{ Fatalf(string, ...any) }, site Site, points []Point) {
	checkBands(t, site, points)
	for i, p := range points {
		high := math.Inf(-1) // the sun's highest sine in the interval
		for k := time.Duration(0); k <= p.Step; k += p.Step / 8 {
			high = max(high, sineElevation(solar.At(p.Time.Add(k), site.Location)))
		}
		if high < nightSine && p.P90KW > 0 {
			t.Fatalf("point %d: power at night: %+v", i, p)
		}
	}
}

// checkBands asserts what also a site whose clock is wrong promises.
func checkBands(t interface{ Fatalf(string, ...any) }, site Site, points []Point) {
	for i, p := range points {
		for _, v := range []float64{p.P10KW, p.P50KW, p.P90KW, p.ClearSkyKW} {
			if math.IsNaN(v) || v < 0 || v > site.CapacityKW {
				t.Fatalf("point %d: %+v", i, p)
			}
		}
		if p.P10KW > p.P50KW || p.P50KW > p.P90KW {
			t.Fatalf("point %d: quantiles cross: %+v", i, p)
		}
		if i > 0 && !p.Time.Equal(points[i-1].Time.Add(p.Step)) {
			t.Fatalf("point %d does not follow: %v after %v", i, p.Time, points[i-1].Time)
		}
	}
}

func TestForecastInvariants(t *testing.T) {
	x := trainedOnce(t)
	offline := weather.Offline{}
	rapid.Check(t, func(rt *rapid.T) {
		issue := testStart.Add(time.Duration(rapid.IntRange(0, (testDays+40)*24*60).Draw(rt, "minute")) * time.Minute)
		horizon := time.Duration(rapid.IntRange(1, 720).Draw(rt, "hours")) * time.Hour
		if rapid.Bool().Draw(rt, "short") {
			horizon = min(horizon, 48*time.Hour)
		}
		var recent series.Series
		if rapid.Bool().Draw(rt, "recent") {
			recent = series.Series{Start: issue.Truncate(time.Hour).Add(-48 * time.Hour), Step: time.Hour}
			for range 60 { // reaches beyond the issue: that must not be looked at
				recent.Values = append(recent.Values, rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), -5, 0, 20, 1e9}).Draw(rt, "power"))
			}
		}
		var wx weather.Forecast
		switch rapid.IntRange(0, 2).Draw(rt, "weather") {
		case 1:
			var err error
			if wx, err = offline.Forecast(context.Background(), testSite.Location, issue, horizon, time.Hour); err != nil {
				rt.Fatal(err)
			}
		case 2:
			wx = cloudy(x.history, issue, horizon/2) // half of it is unknown
		}
		points, err := x.model.Forecast(issue, recent, wx, horizon)
		if err != nil {
			rt.Fatal(err)
		}
		if len(points) != int(horizon/time.Hour) || points[0].Time.Before(issue) || points[0].Time.Sub(issue) >= time.Hour {
			rt.Fatalf("%d points from %v for %v from %v", len(points), points[0].Time, horizon, issue)
		}
		checkPoints(rt, testSite, points)
	})
}

func TestForecastUsesNothingAfterItsIssue(t *testing.T) {
	x := trainedOnce(t)
	issue := testStart.AddDate(0, 0, 100).Add(11 * time.Hour)
	recent := x.history.Power.Slice(testStart, issue.Add(24*time.Hour))
	want, err := x.model.Forecast(issue, recent, weather.Forecast{}, 48*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	spoiled := series.Series{Start: recent.Start, Step: recent.Step, Values: slices.Clone(recent.Values)}
	for i := range spoiled.Values {
		if !spoiled.Time(i).Before(issue) {
			spoiled.Values[i] = 33
		}
	}
	got, err := x.model.Forecast(issue, spoiled, weather.Forecast{}, 48*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if want[i].P10KW != got[i].P10KW || want[i].P50KW != got[i].P50KW {
			t.Fatalf("point %d changed with what came later: %+v, %+v", i, want[i], got[i])
		}
	}
}

// A forecast at noon uses the morning: it is lower after an overcast morning
// than after a clear one.
func TestNoonKnowsTheMorning(t *testing.T) {
	x := trainedOnce(t)
	issue := testStart.AddDate(0, 0, testDays-1).Add(11 * time.Hour)
	energy := func(share float64) (sum float64) {
		recent := series.Series{Start: issue.Add(-8 * time.Hour), Step: time.Hour}
		for i := range 8 {
			recent.Values = append(recent.Values, share*x.model.ClearSkyKW(recent.Time(i).Add(30*time.Minute)))
		}
		points, err := x.model.Forecast(issue, recent, weather.Forecast{}, 6*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range points {
			sum += p.P50KW
		}
		return sum
	}
	if dark, bright := energy(0.15), energy(1); dark >= bright {
		t.Fatalf("%.1f kWh after a dark morning, %.1f after a bright one", dark, bright)
	}
}

// On the synthetic site a cloud forecast improves the result much.
func TestWeatherIsUsed(t *testing.T) {
	x := trainedOnce(t)
	longer := synthetic(testSite, testStart, testDays+20, time.Hour, 7)
	var with, without, n float64
	for d := range 18 {
		issue := testStart.AddDate(0, 0, testDays+d)
		recent := longer.Power.Slice(testStart, issue)
		for k, wx := range []weather.Forecast{{}, cloudy(longer, issue, 24*time.Hour)} {
			points, err := x.model.Forecast(issue, recent, wx, 24*time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range points {
				e := math.Abs(p.P50KW - longer.Power.At(p.Time))
				if k == 0 {
					without += e
					n++
				} else {
					with += e
				}
			}
		}
	}
	t.Logf("MAE %.2f kW without, %.2f kW with weather", without/n, with/n)
	if with > 0.8*without {
		t.Errorf("MAE %.2f kW with weather, %.2f without", with/n, without/n)
	}
}

// A model that never saw weather in training is pulled by a forecast of clouds.
func TestWeatherPullsAModelWithoutIt(t *testing.T) {
	h := synthetic(testSite, testStart, 20, time.Hour, 3)
	m, _, err := ColdStart(t.Context(), testSite, History{Power: h.Power}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	issue := h.Power.End()
	energy := func(share float64) (sum float64) {
		wx, err := weather.Offline{}.Forecast(context.Background(), testSite.Location, issue, 24*time.Hour, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		wx.Source = "test"
		for i := range wx.Conditions {
			c := &wx.Conditions[i]
			c.GHI, c.DNI, c.DHI = c.GHI*share, math.NaN(), math.NaN()
		}
		points, err := m.Forecast(issue, h.Power, wx, 24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		checkPoints(t, testSite, points)
		for _, p := range points {
			sum += p.P50KW
		}
		return sum
	}
	if dark, bright := energy(0.2), energy(1); dark > 0.7*bright {
		t.Fatalf("%.0f kWh under clouds, %.0f without", dark, bright)
	}
}

func TestTrainingIsDeterministic(t *testing.T) {
	h := synthetic(testSite, testStart, 75, time.Hour, 5)
	columns := h.Weather
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	seen := map[string]bool{}
	for _, h.Weather = range [][]weather.Column{nil, columns} {
		var want string
		for _, c := range []struct {
			procs, workers int
			plain          bool
		}{{1, 1, false}, {2, 2, false}, {4, 3, true}, {4, 4, false}} {
			runtime.GOMAXPROCS(c.procs)
			m, _, err := Train(context.Background(), testSite, h, Options{Seed: 9, Workers: c.workers, Origins: 1, plain: c.plain})
			if err != nil {
				t.Fatal(err)
			}
			a, err := Encode(m)
			if err != nil {
				t.Fatal(err)
			}
			if want == "" {
				want = a.Hash()
			} else if a.Hash() != want {
				t.Errorf("%d columns of weather, GOMAXPROCS %d, %d workers, plain kernel %v: another model", len(h.Weather), c.procs, c.workers, c.plain)
			}
		}
		seen[want] = true
	}
	if len(seen) != 2 {
		t.Error("the weather changes nothing")
	}
}

func TestReportIsTrue(t *testing.T) {
	x := trainedOnce(t)
	r := x.report
	if !r.From.Equal(testStart) || !r.To.Equal(testStart.AddDate(0, 0, testDays)) || r.Days != testDays || r.Step != time.Hour || r.TrainingPoints < 1000 {
		t.Errorf("window %v..%v, %d days, step %v, %d points", r.From, r.To, r.Days, r.Step, r.TrainingPoints)
	}
	sum := 0.0
	for _, w := range r.Weights {
		sum += w
	}
	if len(r.Weights) != len(r.Members) || math.Abs(sum-1) > 1e-9 || len(r.Backtest.Rows) != 3 {
		t.Errorf("weights %v of %v, %d origins", r.Weights, r.Members, len(r.Backtest.Rows))
	}
	s := r.Score
	if s.N < 300 || !(s.NMAE > 0 && s.NMAE < 0.2) || !(s.NRMSE >= s.NMAE) || !(s.Coverage80 > 0.6 && s.Coverage80 < 0.95) || !(s.Skill > 0) || !(s.MAPEPercent > 0) || !(r.Accuracy() > 0.8 && r.Accuracy() < 1) {
		t.Errorf("score %+v", s)
	}
	n := r.Neural
	if n.Optimizer != "adam" || len(n.Layers) != 2 || n.BestEpoch < 1 || n.BestEpoch > n.Epochs || !(n.TrainLoss > 0) || !(n.ValidationLoss > 0) {
		t.Errorf("neural %+v", n)
	}
	if r.Trees.Rounds < 50 || !(r.TrainRMSEKW > 0 && r.TrainRMSEKW < s.RMSEKW*1.5) {
		t.Errorf("trees %+v, training RMSE %g kW", r.Trees, r.TrainRMSEKW)
	}
	if len(r.References) != 2 || !(r.References[1].Pinball > s.Pinball) {
		t.Errorf("references %+v for a pinball of %g", r.References, s.Pinball)
	}
}

// Whatever the history, it is used or refused with a reason.
func TestBadHistories(t *testing.T) {
	base := synthetic(testSite, testStart, 110, time.Hour, 11).Power
	with := func(change func(i int, v float64) float64) series.Series {
		s := series.Series{Start: base.Start, Step: base.Step, Values: slices.Clone(base.Values)}
		for i, v := range s.Values {
			s.Values[i] = change(i, v)
		}
		return s
	}
	for _, c := range []struct {
		name     string
		power    series.Series
		capacity float64
		refused  string // part of the reason; "" is trained
	}{
		{"constant", with(func(int, float64) float64 { return 7 }), 50, "110 days are left out, with power as high by night as by day"},
		{"constant by day", with(func(_ int, v float64) float64 { return min(v*1e9, 7) }), 50, ""},
		{"zeros", with(func(int, float64) float64 { return 0 }), 50, "training needs 60"},
		{"missing", with(func(int, float64) float64 { return math.NaN() }), 50, "training needs 60"},
		{"one month", base.Slice(base.Start, base.Start.AddDate(0, 1, 0)), 50, "29 days with power"},
		{"40 % gaps", with(func(i int, v float64) float64 {
			if splitmix(uint64(i/30))%10 < 4 {
				return math.NaN()
			}
			return v
		}), 50, ""},
		{"capacity ten times too small", base, 5, "times the capacity"},
		{"capacity ten times too large", base, 500, ""},
		{"power above capacity", with(func(_ int, v float64) float64 { return v * 1.2 }), 50, ""},
		{"spikes", with(func(i int, v float64) float64 {
			if i%2000 == 12 {
				return 1e7
			}
			return v
		}), 50, ""},
		{"infinities", with(func(i int, v float64) float64 {
			if i%500 == 11 {
				return math.Inf(1)
			}
			return v
		}), 50, ""},
		{"no capacity", base, 0, "capacity"},
		{"steps of two hours", series.Series{Start: base.Start, Step: 2 * time.Hour, Values: base.Values}, 50, "at most an hour"},
	} {
		site := testSite
		site.CapacityKW = c.capacity
		m, rep, err := Train(context.Background(), site, History{Power: c.power}, Options{Workers: 2, Origins: -1})
		if c.refused != "" {
			if !errors.Is(err, ErrUnfit) || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		points, err := m.Forecast(c.power.End(), c.power, weather.Forecast{}, 48*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range points {
			if math.IsNaN(p.P50KW) || p.P90KW > c.capacity || p.P10KW < 0 {
				t.Fatalf("%s: %+v", c.name, p)
			}
		}
		if c.capacity == 500 && len(rep.Notes) == 0 {
			t.Errorf("%s: nothing noted", c.name)
		}
	}
}

func TestCancelAndArguments(t *testing.T) {
	h := synthetic(testSite, testStart, 70, time.Hour, 1)
	ctx, cancel := context.WithCancel(context.Background())
	stages := 0
	_, _, err := Train(ctx, testSite, h, Options{Workers: 2, Progress: func(string, float64) {
		if stages++; stages == 2 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for _, q := range [][]float64{{0.1, 0.9}, {0.5}, {0.9, 0.5, 0.1}, {0, 0.1, 0.5, 0.9, 1}} {
		if _, _, err := Train(context.Background(), testSite, h, Options{Quantiles: q}); err == nil {
			t.Errorf("quantiles %v: no error", q)
		}
	}
	m := trainedOnce(t).model
	for name, f := range map[string]func() error{
		"no horizon": func() error { _, err := m.Forecast(testStart, series.Series{}, weather.Forecast{}, 0); return err },
		"too long": func() error {
			_, err := m.Forecast(testStart, series.Series{}, weather.Forecast{}, 721*time.Hour)
			return err
		},
		"no issue": func() error {
			_, err := m.Forecast(time.Time{}, series.Series{}, weather.Forecast{}, time.Hour)
			return err
		},
	} {
		if f() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Actuals that keep falling below the band widen it downwards.
func TestObserveWidens(t *testing.T) {
	h := synthetic(testSite, testStart, 80, time.Hour, 13)
	m, _, err := Train(context.Background(), testSite, History{Power: h.Power}, Options{Workers: 2, Origins: 1})
	if err != nil {
		t.Fatal(err)
	}
	issue := h.Power.End()
	width := func() (sum float64) {
		points, err := m.Forecast(issue, series.Series{}, weather.Forecast{}, 24*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range points {
			sum += p.P50KW - p.P10KW
		}
		return sum
	}
	before := width()
	dead := series.Series{Start: issue, Step: time.Hour, Values: make([]float64, 24)}
	for range 20 {
		if n, err := m.Observe(issue, series.Series{}, weather.Forecast{}, 24*time.Hour, dead); err != nil || n < 8 {
			t.Fatalf("%d intervals, %v", n, err)
		}
	}
	if after := width(); after <= before {
		t.Fatalf("P50-P10 sums to %.1f kW after dead days, %.1f before", after, before)
	}
}

func TestQuarterHoursAndHours(t *testing.T) {
	h := synthetic(testSite, testStart, 70, 15*time.Minute, 2)
	m, rep, err := Train(context.Background(), testSite, History{Power: h.Power}, Options{Workers: 2, Origins: 1, Quantiles: []float64{0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95}})
	if err != nil {
		t.Fatal(err)
	}
	if rep.Step != 15*time.Minute || m.Step() != rep.Step {
		t.Fatalf("step %v", rep.Step)
	}
	issue := h.Power.End().Add(7 * time.Minute)
	points, err := m.Forecast(issue, h.Power, weather.Forecast{}, 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	checkPoints(t, testSite, points)
	if len(points) != 96 || points[0].Time.Minute() != 15 {
		t.Fatalf("%d points from %v", len(points), points[0].Time)
	}
	hoursOf := Hourly(points)
	var fine, coarse float64
	for _, p := range points {
		fine += p.P50KW / 4
	}
	for _, p := range hoursOf {
		coarse += p.P50KW
	}
	if len(hoursOf) < 24 || math.Abs(fine-coarse) > 0.02*fine {
		t.Errorf("%d hours of %.1f kWh from quarters of %.1f kWh", len(hoursOf), coarse, fine)
	}
	times, rows, err := m.ForecastQuantiles(issue, h.Power, weather.Forecast{}, 24*time.Hour)
	if err != nil || len(times) != 96 || len(rows[50]) != 7 {
		t.Fatalf("%d times, %v", len(times), err)
	}
	for i, r := range rows {
		if !slices.IsSorted(r) || r[1] != points[i].P10KW || r[3] != points[i].P50KW {
			t.Fatalf("row %d: %v next to %+v", i, r, points[i])
		}
	}
}
