package workflow

import (
	"math"
	"slices"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
)

// even returns a forecast of 10 kW in steps, with P10 at 8 and P90 at 12.
func even(from time.Time, n int, step time.Duration) api.GeneratedForecast {
	f := api.GeneratedForecast{StepMinutes: int(step.Minutes())}
	for i := range n {
		f.Forecasts = append(f.Forecasts, api.ForecastValue{Timestamp: api.At(from.Add(time.Duration(i) * step)), PredictedPowerKW: 10, ConfidenceInterval: api.Interval{Lower: 8, Upper: 12}})
	}
	return f
}

// aheadOf returns the days ahead of a site that has that forecast.
func aheadOf(f api.GeneratedForecast, now time.Time) []ForecastDay {
	s := &state.Site{Zone: now.Location()}
	s.Forecast.Set(f, now)
	return ForecastDays(view.Context{Site: s, SiteNow: now})
}

func TestDaysAhead(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones here")
	}
	at := func(month time.Month, day, hour int) time.Time {
		return time.Date(2026, month, day, hour, 0, 0, 0, zone)
	}
	type day struct {
		p50      float64
		complete bool
	}
	for _, tt := range []struct {
		name  string
		from  time.Time
		steps int
		step  time.Duration
		want  []day // those that the forecast covers
	}{
		{"two whole days", at(6, 1, 0), 48, time.Hour, []day{{240, true}, {240, true}}},
		{"an evening", at(6, 1, 18), 30, time.Hour, []day{{60, false}, {240, true}}},
		{"quarter hours", at(6, 1, 0), 96, 15 * time.Minute, []day{{240, true}}},
		{"clocks forward: a day of 23 hours", at(3, 29, 0), 23, time.Hour, []day{{230, true}}},
		{"clocks back: a day of 25 hours", at(10, 25, 0), 25, time.Hour, []day{{250, true}}},
		{"clocks back: 24 hours are not all", at(10, 25, 0), 24, time.Hour, []day{{240, false}}},
		{"an unknown step is an hour", at(6, 1, 0), 24, 0, []day{{240, true}}},
		{"nothing", at(6, 1, 0), 0, time.Hour, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			step := tt.step
			if step == 0 {
				step = time.Hour
			}
			f := even(tt.from, tt.steps, step)
			if tt.step == 0 {
				f.StepMinutes = 0
			}
			days := aheadOf(f, tt.from)
			if len(days) != HorizonDays {
				t.Fatalf("%d days", len(days))
			}
			for i, d := range days {
				if want := tt.from.AddDate(0, 0, i).Format(time.DateOnly); d.Day.Format(time.DateOnly) != want || d.Day.Hour() != 0 {
					t.Fatalf("day %d is %s, want %s", i, d.Day, want)
				}
				if d.Known != (i < len(tt.want)) {
					t.Errorf("day %d is known: %v", i, d.Known)
				}
				if i < len(tt.want) {
					want := tt.want[i]
					if math.Abs(d.P50-want.p50) > 1e-9 || math.Abs(d.P10-0.8*want.p50) > 1e-9 || math.Abs(d.P90-1.2*want.p50) > 1e-9 || d.Complete != want.complete {
						t.Errorf("day %d: %+v, want %+v", i, d, want)
					}
				}
			}
		})
	}
}

// Each day has the best of its windows; their ranks go by the service's order.
func TestWindowsOfDays(t *testing.T) {
	p := plant.New()
	v := stage.ContextOf(t, stage.SiteOf(p, stage.Noon))
	v.Selection = view.Selection{AssetID: p.UnitID(plant.DeadUnit)}
	start := p.Midnight(stage.Noon).AddDate(0, 0, 2)
	worse := api.WorkWindow{Start: api.At(start.Add(9 * time.Hour)), End: api.At(start.Add(12 * time.Hour)), EnergyKWh: 90}
	v.Site.Windows.Data.Windows = append(v.Site.Windows.Data.Windows, worse)
	days := ForecastDays(v)
	for i, want := range []struct {
		rank int
		kWh  float64
	}{{0, 0}, {1, 38}, {2, 41.5}, {3, 44}, {0, 0}} {
		d := days[i]
		if d.Rank != want.rank || d.Rank > 0 && d.Window.EnergyKWh != want.kWh {
			t.Errorf("day %d: rank %d, window %+v; want %+v", i, d.Rank, d.Window, want)
		}
	}
	if BestDay(days) != 1 {
		t.Errorf("the best day is %d", BestDay(days))
	}
	v.Selection = view.Selection{AssetID: p.UnitID(0)} // its windows are not known yet
	if d := ForecastDays(v); d[1].Window != nil {
		t.Error("windows of another unit are shown")
	}
}

// A day has the open work that is planned for it: late work is on today,
// recurring work recurs, an order that does a schedule counts once.
func TestPlansOfDays(t *testing.T) {
	p := plant.New()
	v := stage.ContextOf(t, stage.SiteOf(p, stage.Noon))
	v.Site.Schedules.Data[1].EveryDays = 30
	on := func(day int) (ids []string) {
		for _, w := range ForecastDays(v)[day].Plans {
			id := w.AssetID
			if w.Again {
				id += " again"
			}
			if w.Late {
				id += " late"
			}
			ids = append(ids, id)
		}
		return ids
	}
	check := func(day int, want ...string) {
		t.Helper()
		got := on(day)
		if len(got) != len(want) {
			t.Errorf("day %d: %q, want %q", day, got, want)
			return
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("day %d: %q, want %q", day, got, want)
			}
		}
	}
	check(0, "INV-04 late", "INV-07 late", "INV-06", "INV-05")
	check(1)
	check(2, "INV-07")
	check(32, "INV-07 again")
	check(60, "INV-08")
	check(62, "INV-07 again")
	if got := PlanNotes(v); got != "3 planned, 1 overdue" {
		t.Errorf("notes: %q", got)
	}
	o := &v.Site.Orders.Data[2]
	o.ScheduleID, o.PlannedStart = "sch_soon", v.Site.Schedules.Data[1].ScheduledDate
	check(2, "INV-07")
}

// What waiting and doing cost, in the site's money where it has a tariff.
func TestChoices(t *testing.T) {
	p := plant.New()
	v := stage.ContextOf(t, stage.SiteOf(p, stage.Noon))
	v.Selection = view.Selection{AssetID: p.UnitID(plant.DeadUnit), FindingID: "f-dead"}
	chosen := p.Midnight(stage.Noon).AddDate(0, 0, 2)
	choices := Choices(v, chosen)
	if len(choices) < 3 || choices[0].Name != "chosen day" || choices[1].Name != "least energy" {
		t.Fatalf("%+v", choices)
	}
	best := choices[1]
	hourly, mean, n := map[int64]float64{}, 0.0, 0.0
	for _, f := range slices.Concat(v.Site.Forecast.Data.Today, v.Site.Forecast.Data.Forecasts) {
		hourly[f.Timestamp.Unix()] = f.PredictedPowerKW
	}
	for _, d := range ForecastDays(v) {
		if d.Complete {
			mean, n = mean+d.P50, n+1
		}
	}
	due := 0.0
	for at := stage.Noon; at.Before(best.Begin); at = at.Add(time.Minute) {
		due += hourly[at.Truncate(time.Hour).Unix()] / 60
	}
	wait := 662 * due / (mean / n)
	if hours := best.Begin.Sub(stage.Noon).Hours(); wait <= 0 || wait >= 662*hours/24 {
		t.Errorf("waiting for %g h, most of them a night, costs %g of 662 a day", hours, wait)
	}
	night := v
	night.SiteNow = best.Begin.Add(-9 * time.Hour) // 21:00
	if w := waitDays(night, ForecastDays(night), best.Begin.Add(-2*time.Hour)); w > 0.001 {
		t.Errorf("a night of waiting counts as %g days", w)
	}
	if w := waitDays(v, ForecastDays(v), stage.Noon.AddDate(0, 0, 30)); math.Abs(w-30) > 1 {
		t.Errorf("30 days of waiting count as %g", w)
	}
	if total, ok := best.Total(); !ok || math.Abs(total-(wait+57+1840.5)) > 1e-6 {
		t.Errorf("in all %g, want %g", total, wait+57+1840.5)
	}
	if math.Abs(best.WaitKWh-best.Wait/1.5) > 1e-6 {
		t.Errorf("%g kWh for %g at 1.5 a kWh", best.WaitKWh, best.Wait)
	}
	v.Site.BOMs.Data[0].Currency = "USD"
	if _, ok := Choices(v, chosen)[1].Total(); ok {
		t.Error("money of two currencies is added up")
	}
	// Without a price it is energy: the share lost of what the unit should make.
	v.Site.TariffPerKWh = 0
	f := v.Site.Findings.Data[0]
	f.RevenueAtRisk = 0
	days := ForecastDays(v)
	b := delayCostOf(v, f, days)
	sum, n := 0.0, 0.0
	for _, d := range days {
		if d.Complete {
			sum, n = sum+d.P50, n+1
		}
	}
	if want := sum / n / 8; math.Abs(b.kWhDay-want) > 1e-6 || b.moneyDay != 0 {
		t.Errorf("%+v, want %g kWh", b, want)
	}
}

// What an order has reserved for itself is not said to be short.
func TestShortageOfAnOrderedBill(t *testing.T) {
	v := stage.ContextOf(t, stage.SiteOf(plant.New(), stage.Noon))
	item, stock := api.BOMItem{PartNumber: "FAN-KIT", Quantity: 1}, api.Part{PartNumber: "FAN-KIT", Counted: true, OnHand: 1, Reserved: 1}
	if n := lackOf(v, Workflow{}, item, stock); n != 1 {
		t.Errorf("without an order %d are short", n)
	}
	o := api.Order{OrderID: "ord_x", Parts: []api.OrderPart{{PartNumber: "FAN-KIT", Quantity: 1, Reserved: 1}}}
	if n := lackOf(v, Workflow{Order: &o}, item, stock); n != 0 {
		t.Errorf("of the order's own %d are short", n)
	}
	o.Parts[0].Reserved, o.Parts[0].Short = 0, 1
	if n := lackOf(v, Workflow{Order: &o}, item, stock); n != 1 {
		t.Errorf("of an order that lacks one %d are short", n)
	}
}
