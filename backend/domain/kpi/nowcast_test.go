package kpi_test

import (
	"math"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/domaintest"
	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/store"
)

func pointer(v float64) *float64 { return &v }

func same(a, b *float64) bool {
	return (a == nil) == (b == nil) && (a == nil || math.Abs(*a-*b) < 1e-9)
}

// overview is a fleet at 10:00 UTC: INV-1 has reported for an hour and feeds
// 20 kW at 30 °C, INV-2 for half an hour, INV-3 fell silent three hours ago,
// INV-4 never spoke. All are of 50 kW.
func overview(t *testing.T) *domaintest.Fixture {
	d := domaintest.New(t)
	south := d.AddSite("South", "acme")
	for _, id := range []string{"INV-1", "INV-2", "INV-3", "INV-4"} {
		d.AddUnit(id, "South")
	}
	hour := d.Clock.Add(-time.Hour)
	first := make([]float64, 13)
	warm := make([]float64, 13)
	for i := range first {
		first[i], warm[i] = 20, 30
	}
	d.Report(south, "INV-1", hour, first, warm)
	d.Report(south, "INV-2", hour.Add(30*time.Minute), []float64{10, 10, 10, 10, 0, 0, 0}, nil)
	d.Report(south, "INV-3", d.Clock.Add(-4*time.Hour), []float64{5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5}, nil)
	return d
}

func TestNowcast(t *testing.T) {
	d := overview(t)
	// The expected power is 40 of 100 kW all day: a unit that is down is not active.
	var f forecast.Forecast
	f.ForecastID, f.CustomerID, f.SiteID, f.Start, f.StepMinutes = "fc_1", "acme", "South", d.Clock.Add(-12*time.Hour), 60
	for range 36 {
		f.P10KW, f.P50KW, f.P90KW, f.ClearSkyKW = append(f.P10KW, 30), append(f.P50KW, 40), append(f.P90KW, 50), append(f.ClearSkyKW, 50)
	}
	d.Update(func(tx store.Tx) error { return d.Forecasts.Add(tx, f, time.UTC) })

	n, err := d.KPIs.Nowcast(t.Context(), domaintest.Acme, api.NowcastRequest{CustomerID: "acme", TimeRange: api.Range1h})
	if err != nil {
		t.Fatal(err)
	}
	m := n.LatestMetrics
	// 20 kW of the 100 kW that report.
	if m.TotalPowerKW != 20 || m.AvgCapacityFactor != 20 || m.ActiveInverters != 1 || m.TotalInverters != 4 || !same(m.AvgTemperatureC, pointer(30)) || !m.LastUpdated.Equal(d.Clock) {
		t.Errorf("latest %+v", m)
	}
	if n.StepMinutes != 5 || n.TimeRange != "1h" || len(n.TimeSeries) != 12 {
		t.Fatalf("%d points of %d minutes", len(n.TimeSeries), n.StepMinutes)
	}
	for i, want := range map[int]api.NowcastPoint{
		0:  {TotalPowerKW: 20, AvgCapacityFactor: pointer(40), ActiveInverters: 1}, // INV-1 alone
		5:  {TotalPowerKW: 30, AvgCapacityFactor: pointer(30), ActiveInverters: 2}, // 20 and 10 of 100 kW
		11: {TotalPowerKW: 20, AvgCapacityFactor: pointer(20), ActiveInverters: 1},
	} {
		got := n.TimeSeries[i]
		at := d.Clock.Add(time.Duration(i-11) * 5 * time.Minute)
		if !got.Timestamp.Equal(at) || got.TotalPowerKW != want.TotalPowerKW || !same(got.AvgCapacityFactor, want.AvgCapacityFactor) || !same(got.AvgTemperatureC, pointer(30)) || got.ActiveInverters != want.ActiveInverters {
			t.Errorf("point %d is %+v, want %+v at %s", i, got, want, at)
		}
	}
}

// Without a forecast it is unknown whether a unit should feed in. An interval
// shows once more than half of it is measured: two stretches of 65 minutes are
// 26 intervals of 5 minutes, 8 quarter hours and 2 hours.
func TestNowcastRanges(t *testing.T) {
	d := overview(t)
	for r, want := range map[string]struct{ step, points int }{
		api.Range6h: {5, 26}, api.Range24h: {15, 8}, api.Range7d: {60, 2}, api.RangeLatest: {0, 0}, "": {15, 8},
	} {
		n, err := d.KPIs.Nowcast(t.Context(), domaintest.Acme, api.NowcastRequest{CustomerID: "acme", TimeRange: r})
		if err != nil || n.StepMinutes != want.step || n.TimeSeries == nil || len(n.TimeSeries) != want.points || n.LatestMetrics.ActiveInverters != 2 {
			t.Errorf("%q: %d points of %d minutes, %+v, %v", r, len(n.TimeSeries), n.StepMinutes, n.LatestMetrics, err)
		}
		for i := 1; i < len(n.TimeSeries); i++ {
			if !n.TimeSeries[i-1].Timestamp.Before(n.TimeSeries[i].Timestamp.Time) {
				t.Errorf("%q: point %d does not follow on the one before", r, i)
			}
		}
	}
	n, err := d.KPIs.Nowcast(t.Context(), domaintest.Acme, api.NowcastRequest{CustomerID: "acme", TimeRange: api.RangeLatest, AssetFilter: []string{"INV-2", "INV-3", "INV-0"}})
	if m := n.LatestMetrics; err != nil || m.TotalInverters != 2 || m.TotalPowerKW != 0 || m.AvgCapacityFactor != 0 || m.AvgTemperatureC != nil {
		t.Errorf("two units: %+v, %v", m, err)
	}
	n, err = d.KPIs.Nowcast(t.Context(), domaintest.Acme, api.NowcastRequest{CustomerID: "else"})
	if err != nil || n.LatestMetrics.TotalInverters != 0 || len(n.TimeSeries) != 0 {
		t.Errorf("another customer: %+v, %v", n, err)
	}
}
