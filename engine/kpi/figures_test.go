package kpi

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"app.sunloop/engine/series"
)

var day = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

func TestReferenceYield(t *testing.T) {
	whole := ReferenceYield(hourly(500, 1000, -3), nil)
	near(t, "two hours of 500 and 1000 W/m²", whole.Hours, 1.5)
	near(t, "of which all are known", whole.Covered, 1)
	// A missing hour in which 500 of 2,000 Wh/m² are expected, and a night.
	expected := []float64{500, 1000, 500, 0}
	part := ReferenceYield(hourly(400, 800, nan, nan), func(i int) float64 { return expected[i] })
	near(t, "three quarters", part.Covered, 0.75)
	near(t, "scaled", part.Hours, 1.6)
	none := ReferenceYield(hourly(nan), nil)
	near(t, "no reading", none.Hours, nan)
	near(t, "no reading covers nothing", none.Covered, 0)
	near(t, "night", ReferenceYield(hourly(nan), func(int) float64 { return 0 }).Covered, nan)
}

// By hand, at 800 W/m² in air of 30 °C with 2 m/s of wind: close to a roof
// 800·e^(−2.98−0.0942) + 30 + 0.8 = 36.98 + 30.8; insulated 800·e^(−2.81−0.091) + 30.
func TestMountings(t *testing.T) {
	for m, want := range map[Mounting]float64{OpenRack: 51.98, OpenRackGlass: 54.52, CloseRoof: 67.78, Insulated: 73.97, Tracker: 51.98, "": 51.98} {
		if got := m.CellTemperatureC(800, 30, 2); math.Abs(got-want) > 0.02 {
			t.Errorf("%q: %.3f °C, want %.2f", m, got, want)
		}
	}
}

// By hand: 800 W/m², 30 °C, 2 m/s: 800·e^(−3.56−0.15) = 800·0.024478 = 19.582;
// 19.582 + 30 + 2.4 = 51.982 °C.
func TestCellTemperature(t *testing.T) {
	if got := OpenRack.CellTemperatureC(800, 30, 2); math.Abs(got-51.98) > 0.01 {
		t.Errorf("%.3f °C, want 51.98", got)
	}
	near(t, "by night it is the air's", OpenRack.CellTemperatureC(0, 7, nan), 7)
}

// 100 kW at 1000 W/m² and 65 °C make 100·(1 − 0.004·40) = 84 kW; measured are
// 75.6 kW: 0.9 of what the heat leaves, 0.756 of the rating.
func TestCorrectedPerformanceRatio(t *testing.T) {
	near(t, "hot", CorrectedPerformanceRatio(hourly(75.6), hourly(1000), hourly(65), 100, -0.004, 25), 0.9)
	near(t, "plain", PerformanceRatio(hourly(75.6), hourly(1000), 100), 0.756)
	near(t, "no temperature", CorrectedPerformanceRatio(hourly(75.6), hourly(1000), hourly(nan), 100, -0.004, 25), nan)
	// Against its own mean the heat of an average hour corrects nothing.
	g, c := hourly(800, 800), hourly(50, 50)
	near(t, "own mean", CorrectedPerformanceRatio(hourly(64, 64), g, c, 100, GammaPerK, 50), 0.8)
}

func TestEnergyFigures(t *testing.T) {
	near(t, "capacity factor: 240 kWh of 50 kW in a day", CapacityFactor(240, 50, 24*time.Hour), 0.2)
	near(t, "capacity factor without a rating", CapacityFactor(240, 0, 24*time.Hour), nan)
}

func TestSoilingRatio(t *testing.T) {
	near(t, "weighted by insolation", SoilingRatio([]float64{0.80, 0.72, nan}, []float64{0.80, 0.80, 0.8}, []float64{6, 2, 5}), (6*1+2*0.9)/8)
	near(t, "of nothing", SoilingRatio([]float64{nan}, []float64{1}, []float64{1}), nan)
}

// A yield that falls by 0.8 % a year under a season that returns is found to
// 0.05 %, and its band holds it.
func TestPerformanceLossRate(t *testing.T) {
	for _, rate := range []float64{-0.5, -0.8, -2, 0} {
		var days []DayYield
		for d := range 3 * 365 {
			season := 1 + 0.2*math.Cos(2*math.Pi*float64(d)/365)
			noise := 0.01 * math.Sin(float64(d*d%1009))
			days = append(days, DayYield{day.AddDate(0, 0, d), (season + noise) * math.Pow(1+rate/100, float64(d)/365)})
		}
		got := PerformanceLossRate(days)
		if math.Abs(got.PercentPerYear-rate) > 0.15 || got.Low > rate || got.High < rate || got.High-got.Low > 0.6 || got.Pairs < 700 {
			t.Errorf("%v %% a year is found as %+v", rate, got)
		}
	}
	if got := PerformanceLossRate([]DayYield{{day, 1}, {day.AddDate(1, 0, 0), 0.99}}); !math.IsNaN(got.PercentPerYear) {
		t.Errorf("two days make a rate of %v", got)
	}
}

// Repairs 2, 4 and 30 h after the onset: mean 12, median 4; detected after half an
// hour, an hour and 6 hours: mean 2.5, median 1; acknowledged half an hour and two
// hours after that.
func TestRepairTimes(t *testing.T) {
	at := func(h float64) time.Time { return day.Add(time.Duration(h * float64(time.Hour))) }
	got := RepairTimes([]Failure{{day, at(0.5), at(1), at(2)}, {day, at(1), at(3), at(4)}, {day, at(6), time.Time{}, at(30)}, {Onset: day}})
	near(t, "mean", got.MeanToRepairH, 12)
	near(t, "median", got.MedianToRepairH, 4)
	near(t, "detected", got.MeanToDetectH, 2.5)
	near(t, "detected, median", got.MedianToDetectH, 1)
	near(t, "acknowledged", got.MeanToAcknowledgeH, 1.25)
	near(t, "unknown", RepairTimes(nil).MeanToRepairH, nan)
	near(t, "MTBF", MeanTimeBetweenFailuresH(4000, 2), 2000)
	if !math.IsInf(MeanTimeBetweenFailuresH(4000, 0), 1) {
		t.Error("MTBF without a failure is finite")
	}
}

// 1000 kWh were expected and 700 measured; 150 and 80 are explained, 70 are not.
func TestWaterfallCloses(t *testing.T) {
	lost := map[string]float64{"inverter_outage": 150, "soiling": 80, "clipping": 0}
	got := NewWaterfall(1000, 700, lost)
	want := Waterfall{ExpectedKWh: 1000, ActualKWh: 700, UnexplainedKWh: 70, Causes: []Cause{{"inverter_outage", 150}, {"soiling", 80}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	near(t, "more than expected", NewWaterfall(900, 700, lost).UnexplainedKWh, -30)
	near(t, "no expectation", NewWaterfall(nan, 700, lost).ExpectedKWh, 930)
	near(t, "and nothing is unexplained", NewWaterfall(nan, 700, lost).UnexplainedKWh, 0)
	rapid.Check(t, func(t *rapid.T) {
		kWh := rapid.Float64Range(0, 1e6)
		lost := rapid.MapOf(rapid.StringMatching("[a-e]"), kWh).Draw(t, "lost")
		w := NewWaterfall(kWh.Draw(t, "expected"), kWh.Draw(t, "actual"), lost)
		left, causes := w.ExpectedKWh, 0.0
		for i, c := range w.Causes {
			left, causes = left-c.KWh, causes+c.KWh
			if c.KWh <= 0 || c.KWh > lost[c.Name]*(1+1e-9) || i > 0 && c.KWh > w.Causes[i-1].KWh {
				t.Fatalf("causes %v of %v", w.Causes, lost)
			}
		}
		if math.Abs(left-w.UnexplainedKWh-w.ActualKWh) > 1e-6 || causes > w.ExpectedKWh+1e-6 {
			t.Fatalf("%+v does not close", w)
		}
	})
}

// Below nine tenths of the data only the figures that count missing data are
// reportable.
func TestFigure(t *testing.T) {
	to := day.AddDate(0, 0, 1)
	f := NewFigure("performance_ratio", 0.83, day, to, 0.95)
	if !f.Reportable() || f.Value != 0.83 || f.Unit != "1" || f.Source == "" {
		t.Errorf("%+v", f)
	}
	for _, c := range []struct{ value, data float64 }{{0.83, 0.899}, {0.83, nan}, {nan, 1}} {
		if f := NewFigure("performance_ratio", c.value, day, to, c.data); f.Reportable() || !math.IsNaN(f.Value) || f.Note == "" {
			t.Errorf("%v of %v data: %+v", c.value, c.data, f)
		}
	}
	for _, name := range []string{"data_availability", "time_availability"} {
		if f := NewFigure(name, 0.3, day, to, 0.3); !f.Reportable() {
			t.Errorf("%+v", f)
		}
	}
	if f := NewFigure("time_availability", nan, day, to, 0.3); f.Reportable() || f.Note == "" {
		t.Errorf("%+v", f)
	}
}

// A performance ratio above 1.05 or not above 0 is withheld with its likely
// reason.
func TestImplausibleRatios(t *testing.T) {
	to := day.AddDate(0, 0, 1)
	poa := Irradiance{Role: PlaneOfArray, Uncertainty: nan}
	assumed, low := poa, poa
	assumed.Inferred = true
	low.Sensors = []SensorState{{ID: "INV-1", Role: PlaneOfArray, Used: true, Health: Low}}
	set, capacity := RatingBasis{100, true, RatingSet}, RatingBasis{100, true, RatingCapacity}
	for _, c := range []struct {
		value   float64
		light   Irradiance
		rating  RatingBasis
		suspect Suspect
		note    string
	}{
		{1.05, poa, capacity, "", ""},
		{0.01, assumed, capacity, "", ""},
		{1.051, poa, set, SuspectSensor, "reads low"},
		{1.31, poa, capacity, SuspectRating, "DC rating, which is inferred (the capacity), is too low"},
		{1.31, assumed, capacity, SuspectHorizontal, "horizontal"},
		{1.31, low, set, SuspectSensor, "sensor of INV-1 is low"},
		{0, poa, set, SuspectOutage, "produced nothing"},
		{-0.1, poa, set, SuspectOutage, "produced nothing"},
	} {
		f := NewFigure("performance_ratio", c.value, day, to, 1).WithIrradiance(c.light)
		f.Rating = &c.rating
		f = f.CheckRatio()
		if f.Suspect != c.suspect || f.Reportable() != (c.note == "") || !strings.Contains(f.Note, c.note) || math.IsNaN(f.Value) == f.Reportable() {
			t.Errorf("%v with %s and %s: %v, %s, %q", c.value, c.light.Description(), c.rating.Description(), f.Value, f.Suspect, f.Note)
		}
	}
}

func TestFiguresWithoutIrradiance(t *testing.T) {
	to := day.AddDate(0, 0, 1)
	f := NewFigure("performance_ratio", 0.8, day, to, 1).WithIrradiance(Irradiance{Note: "No irradiance is measured."})
	if f.Reportable() || f.Note != "No irradiance is measured." || !math.IsNaN(f.Value) {
		t.Errorf("%+v", f)
	}
	if f = NewFigure("reference_yield", 4, day, to, 1).WithCovered(0.89, "Irradiance"); f.Reportable() || !strings.Contains(f.Note, "89 %") || !math.IsNaN(f.Value) {
		t.Errorf("%+v", f)
	}
	if f = NewFigure("reference_yield", 4, day, to, 1).WithCovered(0.95, "Irradiance"); !f.Reportable() || f.Covered != 0.95 {
		t.Errorf("%+v", f)
	}
}

// Four due hours: one without power, one without irradiance. A night is not due.
func TestRatioCoverage(t *testing.T) {
	covered, excluded := RatioCoverage(hourly(1, nan, 1, 1, nan), hourly(1, 1, nan, 1, nan), func(i int) float64 { return []float64{1, 2, 1, 4, 0}[i] })
	near(t, "covered", covered, 5.0/8)
	if !slices.Equal(excluded, []Excluded{{"no_power", 1}, {"no_irradiance", 1}}) {
		t.Errorf("excluded %+v", excluded)
	}
	covered, excluded = RatioCoverage(hourly(1), hourly(1), func(int) float64 { return 0 })
	near(t, "by night", covered, nan)
	if excluded != nil {
		t.Errorf("excluded %+v", excluded)
	}
}

func hourly(values ...float64) series.Series {
	return series.Series{Start: time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC), Step: time.Hour, Values: values}
}

var nan = math.NaN()

func near(t *testing.T, name string, got, want float64) {
	t.Helper()
	if math.IsNaN(want) != math.IsNaN(got) || math.Abs(got-want) > 1e-9 {
		t.Errorf("%s is %g, want %g", name, got, want)
	}
}

func TestSpecificYield(t *testing.T) {
	near(t, "yield of 450 kWh by 100 kW", SpecificYield(450, 100), 4.5)
	near(t, "yield without a rating", SpecificYield(450, 0), nan)
}

func TestPerformanceRatio(t *testing.T) {
	near(t, "PR of 80 kW a 1000 W/m² on 100 kW", PerformanceRatio(hourly(80, 40), hourly(1000, 500), 100), 0.8)
	near(t, "PR leaves out what either lacks", PerformanceRatio(hourly(80, nan, 50), hourly(1000, 700, nan), 100), 0.8)
	near(t, "PR by night", PerformanceRatio(hourly(0, 0), hourly(0, 0), 100), nan)
	near(t, "PR in half hours", PerformanceRatio(
		series.Series{Start: hourly().Start, Step: 30 * time.Minute, Values: []float64{80, 80}},
		series.Series{Start: hourly().Start, Step: 30 * time.Minute, Values: []float64{1000, 1000}}, 100), 0.8)
}

// The note of a figure that is withheld has the share of the data that is shown next to
// it, which is rounded to three decimals, and never the share that is needed.
func TestNoteOfTooFewData(t *testing.T) {
	for share, want := range map[float64]string{0.8398: "Only 84 %", 0.8394: "Only 83 %", 0: "Only 0 %", 0.89999: "Only 89 %"} {
		if f := NewFigure("energy", 1, day, day.AddDate(0, 0, 1), share); !strings.HasPrefix(f.Note, want) {
			t.Errorf("of a share of %v the note is %q, want %q", share, f.Note, want)
		}
	}
}
