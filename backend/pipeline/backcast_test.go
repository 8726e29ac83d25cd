package pipeline

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/pipeline/forecasting"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// runs are those of the site.
func (p *plant) runs() []api.ManualRun {
	p.t.Helper()
	list, _, err := p.ManualRuns(p.t.Context(), admin, api.ListQuery{SiteID: "South"})
	if err != nil {
		p.t.Fatal(err)
	}
	return list
}

// The first model of a site brings forecasts of its last days, by a model that has not
// seen them, marked, and no figure of issued forecasts has them.
func TestBackcast(t *testing.T) {
	p := newPlant(t, day0, func(c *Config) { c.TrainingDays = 60 })
	s := fleet(100, 1)
	p.importNow(request(api.UploadTrain), csvOf(t, s, s.Start, day0, time.Hour))
	list := p.runs()
	if len(list) != 1 || list[0].Kind != api.RunBackcast || list[0].Status != api.RunQueued || list[0].RequestedBy != sitedata.Actor {
		t.Fatalf("after the first training the runs are %+v", list)
	}
	job := store.Claimed{Job: p.NewJob(sitedata.JobManual, sitedata.Payload{SiteID: "South", RunID: list[0].RunID})}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.runManual(stopped, job); err == nil || p.runs()[0].Ended() {
		t.Fatalf("a stop of the service ended it as %+v, %v", p.runs()[0], err)
	}
	if err := p.runManual(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	r := p.runs()[0]
	if r.Status != api.RunCompleted || !strings.Contains(r.Result, "hindcasts of 30 days, by a model trained on the data before 2026-05-16; error in daylight ") {
		t.Fatalf("ended as %+v", r)
	}

	past := func() api.GeneratedForecast {
		t.Helper()
		g, err := p.Generate(t.Context(), admin, api.ForecastQuery{CustomerID: "acme", SiteID: "South", HorizonHours: 24, PastDays: 40})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	g := past()
	n := 0
	for _, d := range g.Days {
		over := d.Day < day0.Format(time.DateOnly)
		if (d.Issued == api.IssuedBackcast) != over || d.TrainedOnDay || over && (!strings.Contains(d.WeatherSource, "climat") || !d.Complete || !(d.P10KWh < d.P50KWh && d.P50KWh < d.P90KWh)) {
			t.Errorf("%+v", d)
		}
		if over {
			n++
		}
	}
	if n != 30 || len(g.Past) != 30*24 {
		t.Errorf("%d days and %d hours of the past", n, len(g.Past))
	}

	a, err := p.Accuracy(t.Context(), admin, api.AccuracyRequest{CustomerID: "acme", SiteID: "South"})
	if err != nil || a.Overall.Samples != 0 || len(a.Leads) != 0 || a.Backcast == nil || a.Backcast.Samples < 300 || a.Backcast.NMAEPercent <= 0 || a.Backcast.NMAEPercent > 20 {
		t.Errorf("accuracy %+v with %+v, %v", a, a.Backcast, err)
	}
	k, err := p.Domain.KPIs.KPIs(t.Context(), admin, "South", day0.AddDate(0, 0, -7), day0)
	if err != nil || k.Losses == nil || k.Losses.ExpectedBy != api.ExpectedByBackcast {
		t.Errorf("losses %+v, %v", k.Losses, err)
	}
}

// A backcast of a day knows nothing of the day; without earlier data it is made by the
// model in production, and says so.
func TestBackcastKnowsNothingOfItsDay(t *testing.T) {
	p := newPlant(t, day0, func(c *Config) { c.TrainingDays = 60 })
	s := fleet(75, 1)
	p.importNow(request(api.UploadTrain), csvOf(t, s, s.Start, day0, time.Hour))
	words, err := p.Pipeline.Training.Backcast(t.Context(), "South", func(float64) {})
	if err != nil || !strings.Contains(words, "by model 1.0.0, which was trained on these days") {
		t.Fatalf("%q, %v", words, err)
	}
	g, err := p.Generate(t.Context(), admin, api.ForecastQuery{CustomerID: "acme", SiteID: "South", HorizonHours: 24, PastDays: 1})
	if err != nil || len(g.Days) == 0 || g.Days[0].Issued != api.IssuedBackcast || !g.Days[0].TrainedOnDay {
		t.Errorf("%+v, %v", g.Days, err)
	}

	record, err := p.Domain.Models.InProduction(t.Context(), "South", sitedata.ModelType)
	if err != nil {
		t.Fatal(err)
	}
	site, err := p.Domain.Sites.Site(t.Context(), admin, "South")
	if err != nil {
		t.Fatal(err)
	}
	units, err := p.Domain.Sites.SiteAssets(t.Context(), "South")
	if err != nil {
		t.Fatal(err)
	}
	last := series.Midnight(day0, time.UTC).AddDate(0, 0, -1)
	days := []forecasting.Span{{From: last.AddDate(0, 0, -1), To: last}, {From: last, To: last.AddDate(0, 0, 1)}}
	make := func(change float64) []forecast.Day {
		m, err := p.DecodeModel(t.Context(), record)
		if err != nil {
			t.Fatal(err)
		}
		h, err := p.ReadHistory(t.Context(), "South", units, s.Start, day0, sitedata.ModelStep, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		for i := range h.Power.Values {
			if !h.Power.Time(i).Before(last) {
				h.Power.Values[i] *= change
			}
		}
		list, err := p.Pipeline.Forecasts.Backcasts(t.Context(), forecasting.Past{Site: site, Zone: time.UTC, CapacityKW: 50, History: h, Model: m}, days, func(float64) {})
		if err != nil || len(list) != 2 {
			t.Fatalf("%d days, %v", len(list), err)
		}
		return list
	}
	is, other := make(1), make(0.3)
	for i := range is {
		if is[i].Backcast.Score == other[i].Backcast.Score != (i == 0) {
			t.Errorf("%s: the score does not follow the measured power", is[i].Day)
		}
		is[i].Backcast, other[i].Backcast = nil, nil
	}
	if d := cmp.Diff(is, other); d != "" {
		t.Errorf("the forecast follows the power of its day (-before +after):\n%s", d)
	}
}

// BenchmarkBackcast is the backcast of 30 days of a site of 10 units with a year of quarter
// hours: its own training and 30 forecasts; with -short of less.
func BenchmarkBackcast(b *testing.B) {
	days, units := 365, 10
	if testing.Short() {
		days, units = 100, 1
	}
	p := newPlant(b, day0, func(c *Config) { c.TrainingDays = 60 })
	s := fleet(days, units)
	for from := s.Start; from.Before(day0); from = from.AddDate(0, 0, 90) {
		to := from.AddDate(0, 0, 90)
		if to.After(day0) {
			to = day0
		}
		p.importNow(request(api.UploadTrain), csvOf(b, s, from, to, 15*time.Minute))
	}
	for b.Loop() {
		if _, err := p.Pipeline.Training.Backcast(b.Context(), "South", func(float64) {}); err != nil {
			b.Fatal(err)
		}
	}
}
