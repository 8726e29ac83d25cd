package pipeline

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/engine/series"
)

// live is a plant with a model and a clock that advances by days, a nowcast and
// a forecast each quarter of a day.
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
			if err := p.Issue(t.Context(), "South"); err != nil {
				t.Fatal(err)
			}
		}
	}
	return l
}

func (l *live) state() sitedata.Calibration {
	l.t.Helper()
	m, err := l.Domain.Models.InProduction(l.t.Context(), "South", sitedata.ModelType)
	if err != nil {
		l.t.Fatal(err)
	}
	c, err := l.Calibration(l.t.Context(), m)
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
	if zone := record.Zone(""); !a.To.Equal(series.Midnight(until, zone)) {
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
	m, err := restarted.Domain.Models.InProduction(t.Context(), "South", sitedata.ModelType)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := restarted.DecodeModel(t.Context(), m)
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
	if len(acc.Leads) < 4 || acc.Leads[0].FromHours != 1 || acc.Leads[0].ToHours != 6 || acc.From == "" {
		t.Fatalf("accuracy %+v", acc)
	}
	// The model was backtested with the measured weather of the files, which no
	// live forecast has, so its score is no promise.
	if acc.Promised != nil || acc.MeasuredWeather == nil || !acc.MeasuredWeather.MeasuredWeather {
		t.Errorf("promised %+v, with measured weather %+v", acc.Promised, acc.MeasuredWeather)
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
	// Each day is scored once.
	if err := straight.Issue(t.Context(), "South"); err != nil {
		t.Fatal(err)
	}
	again, err := straight.Accuracy(t.Context(), admin, api.AccuracyRequest{CustomerID: "acme", Days: 7})
	if err != nil || again.Overall.Samples != acc.Overall.Samples {
		t.Errorf("%d samples, then %d, %v", acc.Overall.Samples, again.Overall.Samples, err)
	}
}
