package pipeline

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/ops"
	"app.sunloop/engine/series"
)

// TestScoresByLead holds forecasts against power by hand: a site of 100 kW, a
// forecast at 09:30 and one at 11:00, actuals up to 13:00.
func TestScoresByLead(t *testing.T) {
	nine := time.Date(2026, 6, 15, 9, 0, 0, 0, time.UTC)
	power := series.Series{Start: nine, Step: time.Hour, Values: []float64{50, 60, math.NaN(), 40, 30}}
	said := func(issue time.Time, p10, p50, p90 float64) ops.Forecast {
		f := ops.Forecast{IssuedAt: issue, Start: nine, StepMinutes: 60}
		for range 30 {
			f.P10KW, f.P50KW, f.P90KW, f.ClearSkyKW = append(f.P10KW, p10), append(f.P50KW, p50), append(f.P90KW, p90), append(f.ClearSkyKW, 80)
		}
		f.ClearSkyKW[4] = 1 // 13:00 is dark
		return f
	}
	classes := make([]ops.Tally, len(ops.Leads))
	until := nine.Add(4 * time.Hour)
	addForecast(classes, said(nine.Add(30*time.Minute), 45, 55, 65), power, nine, until, 100)
	addForecast(classes, said(nine.Add(2*time.Hour), 50, 60, 70), power, nine, until, 100)
	addForecast(classes, said(nine.Add(-10*time.Hour), 40, 50, 58), power, nine, until, 100)
	// 1 to 6 h. The first spoke of 10:00 (60) and 12:00 (40), 11:00 is missing,
	// 09:00 had begun; the second of 12:00 alone.
	near := ops.Tally{N: 3, Abs: 0.05 + 0.15 + 0.20, Bias: -0.05 + 0.15 + 0.20, Width: 0.20 * 3, Within: 1}
	near.Pinball = (ops.Pinball(45, 55, 65, 60) + ops.Pinball(45, 55, 65, 40) + ops.Pinball(50, 60, 70, 40)) / 100
	// 7 to 12 h: the third of 09:00 and 10:00, eleven and twelve hours ahead;
	// 13 to 24 h: of 12:00.
	mid := ops.Tally{N: 2, Abs: 0.10, Bias: -0.10, Width: 0.18 * 2, Within: 1, Pinball: (ops.Pinball(40, 50, 58, 50) + ops.Pinball(40, 50, 58, 60)) / 100}
	far := ops.Tally{N: 1, Abs: 0.10, Bias: 0.10, Width: 0.18, Within: 1, Pinball: ops.Pinball(40, 50, 58, 40) / 100}
	want := []ops.Tally{near, mid, far, {}, {}, {}, {}}
	if diff := cmp.Diff(want, classes, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-12 })); diff != "" {
		t.Error(diff)
	}
}

// live is a plant with a model and a clock that goes on by days, a nowcast and a
// forecast each quarter of a day.
type live struct {
	*plant
	feed func(until time.Time)
}

func newLive(t *testing.T) *live {
	p := newPlant(t, day0, func(c *Config) { quickTraining(c); c.RetrainEvery = 1000 * day })
	s := fleet(70, 1)
	p.importNow(request(api.UploadTrain), csvOf(t, s, day0.AddDate(0, 0, -70), day0, time.Hour))
	l := &live{plant: p}
	l.feed = func(until time.Time) {
		for p.now().Before(until) {
			from := p.now()
			p.pass(6 * time.Hour)
			p.importNow(request(api.UploadNowcast), csvOf(t, s, from, p.now(), time.Hour))
			if err := p.issue(t.Context(), "South"); err != nil {
				t.Fatal(err)
			}
		}
	}
	return l
}

func (l *live) state() calibration {
	l.t.Helper()
	m, err := l.Ops.ProductionModel(l.t.Context(), "South", modelType)
	if err != nil {
		l.t.Fatal(err)
	}
	c, err := l.calibration(l.t.Context(), m)
	if err != nil {
		l.t.Fatal(err)
	}
	return c
}

// TestCalibrationOutlivesARestart: bands learn from the days that are over, and
// a service that was restarted on the way says what one that was not says.
func TestCalibrationOutlivesARestart(t *testing.T) {
	if testing.Short() {
		t.Skip("it trains for seconds")
	}
	straight, restarted := newLive(t), newLive(t)
	until := day0.AddDate(0, 0, 4)
	straight.feed(until)
	for d := 1; d <= 4; d++ {
		restarted.feed(day0.AddDate(0, 0, d))
		restarted.reopen()
	}
	a, b := straight.state(), restarted.state()
	if a.To.IsZero() || !a.To.Equal(b.To) || !bytes.Equal(a.State, b.State) {
		t.Fatalf("calibrated up to %v and %v, alike: %v", a.To, b.To, bytes.Equal(a.State, b.State))
	}
	if zone := ops.Zone(api.Site{}); !a.To.Equal(series.Midnight(until, zone)) {
		t.Errorf("up to %v, want the midnight before %v", a.To, until)
	}
	q := api.ForecastQuery{SiteID: "South", HorizonHours: 72}
	f, err := straight.Generate(t.Context(), admin, q)
	if err != nil {
		t.Fatal(err)
	}
	g, err := restarted.Generate(t.Context(), admin, q)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f.Forecasts, g.Forecasts); diff != "" {
		t.Error(diff)
	}
	// Without what was learned the bands are others.
	m, err := restarted.Ops.ProductionModel(t.Context(), "South", modelType)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := restarted.decode(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(fresh.Calibration(), a.State) {
		t.Error("nothing was learned")
	}
	// The same days score the forecasts.
	acc, err := straight.Accuracy(t.Context(), admin, api.AccuracyRequest{CustomerID: "acme", SiteID: "South", Days: 7})
	if err != nil {
		t.Fatal(err)
	}
	if len(acc.Leads) < 4 || acc.Leads[0].FromHours != 1 || acc.Leads[0].ToHours != 6 || acc.Promised == nil || acc.From == "" {
		t.Fatalf("accuracy %+v", acc)
	}
	n := 0
	for _, l := range acc.Leads {
		n += l.Samples
		if !(l.NMAEPercent > 0 && l.NMAEPercent < 40 && l.PinballPercent > 0 && l.Coverage80 >= 0 && l.Coverage80 <= 1) {
			t.Errorf("%+v", l)
		}
	}
	if n != acc.Overall.Samples || n < 100 {
		t.Errorf("%d samples by lead, %d in all", n, acc.Overall.Samples)
	}
	// A day is scored anew, not again.
	if err := straight.issue(t.Context(), "South"); err != nil {
		t.Fatal(err)
	}
	again, err := straight.Accuracy(t.Context(), admin, api.AccuracyRequest{CustomerID: "acme", Days: 7})
	if err != nil || again.Overall.Samples != acc.Overall.Samples {
		t.Errorf("%d samples, then %d, %v", acc.Overall.Samples, again.Overall.Samples, err)
	}
}
