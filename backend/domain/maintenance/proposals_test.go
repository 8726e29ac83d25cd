package maintenance

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
)

// bell is the P50 of the test's days: 100 kW at 13:00 of the site, nothing
// from 19:00 to 07:00.
func bell(at time.Time) float64 {
	hour := at.Sub(at.Truncate(day)).Hours() + 2 // Vienna in summer
	return 100 * math.Max(0, math.Cos((hour-13)/12*math.Pi))
}

// foretell stores a forecast of two days from midnight UTC, in quarter hours,
// with a storm on the second.
func (d *desk) foretell() {
	d.t.Helper()
	start := d.clock.Truncate(day)
	f := forecast.Forecast{ForecastID: "fc_1", CustomerID: acme, SiteID: south, IssuedAt: d.clock, Start: start, StepMinutes: 15, Source: "test"}
	for i := range 2 * 96 {
		at := start.Add(time.Duration(i) * 15 * time.Minute)
		f.P50KW = append(f.P50KW, bell(at.Add(450*time.Second)))
		f.GHIWM2 = append(f.GHIWM2, 9*bell(at.Add(450*time.Second)))
		f.WindMS = append(f.WindMS, 3+12*float64(i/96))
		f.P10KW, f.P90KW = append(f.P10KW, 0.8*f.P50KW[i]), append(f.P90KW, 1.1*f.P50KW[i])
		f.ClearSkyKW, f.TemperatureC = append(f.ClearSkyKW, f.P50KW[i]), append(f.TemperatureC, 20)
	}
	if err := d.store.Update(d.t.Context(), func(tx store.Tx) error { return d.Domain.Forecasts.Add(tx, f, time.UTC) }); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) propose(r api.ScheduleRequest) api.ProposeResponse {
	d.t.Helper()
	out, err := d.Propose(d.t.Context(), boss, r)
	if err != nil {
		d.t.Fatal(err)
	}
	return out
}

func TestProposeWindows(t *testing.T) {
	d := newDesk(t, nil)
	d.clock = time.Date(2026, 6, 15, 3, 0, 0, 0, time.UTC) // 05:00 of the site
	ask := api.ScheduleRequest{AssetID: inv, MaintenanceType: api.MaintenanceCorrective, EstimatedDurationHours: 2}
	if _, err := d.Propose(t.Context(), boss, ask); !errors.Is(err, api.ErrNoForecastResult) {
		t.Errorf("without a forecast: %v", err)
	}
	d.foretell()
	out := d.propose(ask)
	// 07:00 to 18:00, in half hours: 19 windows of two hours a day.
	if len(out.Windows) != 38 || out.Kind != api.WorkIsolating || out.ForecastID != "fc_1" || out.Currency != "EUR" {
		t.Fatalf("%d windows: %+v", len(out.Windows), out)
	}
	best := out.Windows[0]
	if best.Start.String() != "2026-06-15T05:00:00Z" || best.End.Sub(best.Start.Time) != 2*time.Hour || best.ExtraKWh != 0 || best.ExtraCost != 0 {
		t.Errorf("least is lost at the edge of the day: %+v", best)
	}
	// The integral of the bell from 07:00 to 09:00, of half of the site.
	want := 100 * 12 / math.Pi * (math.Sin(-4.0/12*math.Pi) - math.Sin(-6.0/12*math.Pi)) / 2
	if math.Abs(best.EnergyKWh-want) > 0.05 || math.Abs(best.Cost-0.1*want) > 0.01 {
		t.Errorf("%g kWh cost %g, want %g kWh", best.EnergyKWh, best.Cost, want)
	}
	var noon api.WorkWindow
	for i, w := range out.Windows {
		if w.Windy != (i >= 19) || w.Windy != (w.WindMS > api.WindForWork) {
			t.Errorf("window %d is windy: %v", i, w.Windy)
		}
		if i > 0 && i != 19 && w.EnergyKWh < out.Windows[i-1].EnergyKWh {
			t.Errorf("window %d loses less than the one before", i)
		}
		if math.Abs(w.ExtraKWh-(w.EnergyKWh-best.EnergyKWh)) > 0.002 || math.Abs(w.ExtraCost-0.1*w.ExtraKWh) > 0.002 {
			t.Errorf("window %d costs %g kWh and %g more: %+v", i, w.ExtraKWh, w.ExtraCost, w)
		}
		if w.Start.String() == "2026-06-15T10:00:00Z" {
			noon = w
		}
	}
	if noon.EnergyKWh < 3*best.EnergyKWh {
		t.Errorf("noon loses %g kWh, the edge %g", noon.EnergyKWh, best.EnergyKWh)
	}

	ask.Kind = api.WorkMeasuring
	out = d.propose(ask)
	if w := out.Windows[0]; w.Start.String() != "2026-06-15T10:00:00Z" || !w.SunSuffices || w.IrradianceWM2 < 880 || w.Windy {
		t.Errorf("the sun is strongest around 13:00 of the site: %+v", w)
	}
	for _, w := range out.Windows {
		if w.Start.String() == "2026-06-15T05:00:00Z" && (w.SunSuffices || w.ExtraKWh > 0) {
			t.Errorf("the morning: %+v", w)
		}
	}

	ask.Kind, ask.AssetID, ask.SiteID = "", "", south
	if whole := d.propose(ask).Windows[0]; math.Abs(whole.EnergyKWh-2*best.EnergyKWh) > 0.01 {
		t.Errorf("the whole site loses %g kWh, a half %g", whole.EnergyKWh, best.EnergyKWh)
	}
	ask.MaintenanceType = api.MaintenanceEmergency
	if now := d.propose(ask); len(now.Windows) != 1 || !now.Windows[0].Start.Equal(d.clock) {
		t.Errorf("an emergency waits: %+v", now.Windows)
	}
	ask.MaintenanceType, ask.EstimatedDurationHours = api.MaintenancePreventive, 12
	if out := d.propose(ask); len(out.Windows) != 0 || out.Message == "" || out.Windows == nil {
		t.Errorf("twelve hours fit into a day of eleven: %+v", out)
	}
	// By noon the morning is over.
	d.clock = d.clock.Add(7 * time.Hour)
	ask.EstimatedDurationHours = 2
	if w := d.propose(ask).Windows[0]; w.Start.String() != "2026-06-15T14:00:00Z" {
		t.Errorf("after noon the best is %+v", w)
	}
}

// rains stores the forecast of foretell with what a source says of wind and,
// in the first hours of the first day's shift, of rain.
func (d *desk) rains(mm float64) {
	d.t.Helper()
	d.clock = d.clock.Add(time.Minute)
	start := d.clock.Truncate(day)
	wx := forecast.Weather{WeatherID: record.NewID("wx", d.clock), SiteID: south, IssuedAt: d.clock, Source: "a provider", Start: start, StepMinutes: 60}
	for h := range 24 { // what comes later is not known
		wx.GHIWM2, wx.DNIWM2, wx.DHIWM2 = append(wx.GHIWM2, 1), append(wx.DNIWM2, 1), append(wx.DHIWM2, 1)
		wx.TemperatureC, wx.CloudCover, wx.WindMS = append(wx.TemperatureC, 20), append(wx.CloudCover, 0), append(wx.WindMS, 2)
		wx.RainMMH = append(wx.RainMMH, 0)
		if h >= 5 && h < 9 { // 07:00 to 11:00 in Vienna
			wx.RainMMH[h] = mm
		}
	}
	if err := d.store.Update(d.t.Context(), func(tx store.Tx) error {
		f, err := d.Domain.Forecasts.Latest(d.t.Context(), south)
		if err != nil {
			return err
		}
		f.ForecastID, f.IssuedAt, f.Weather = fmt.Sprint("fc_", 1+d.clock.Minute()), d.clock, &wx
		return d.Domain.Forecasts.Add(tx, f, time.UTC)
	}); err != nil {
		d.t.Fatal(err)
	}
}

// Windows with rain come after the dry ones, except for work indoors and
// emergencies; without a source of weather it is unknown.
func TestProposeAvoidsRain(t *testing.T) {
	d := newDesk(t, nil)
	d.clock = time.Date(2026, 6, 15, 3, 0, 0, 0, time.UTC)
	d.foretell()
	ask := api.ScheduleRequest{AssetID: inv, MaintenanceType: api.MaintenanceCorrective, EstimatedDurationHours: 2}
	before := d.propose(ask)
	if w := before.Windows[0]; w.WeatherKnown || w.Rainy || w.RainMM != 0 || !strings.Contains(before.Message, "wind and rain are not known") {
		t.Errorf("without a source: %q, %+v", before.Message, w)
	}
	d.rains(1.5)
	out := d.propose(ask)
	best := out.Windows[0]
	if best.Rainy || !best.WeatherKnown || best.Start.String() != "2026-06-15T14:00:00Z" || strings.Contains(out.Message, "not known") {
		t.Errorf("in the rain the best is %+v, %q", best, out.Message)
	}
	rough := 0
	for i, w := range out.Windows {
		first := w.Start.UTC().Day() == 15
		if w.WeatherKnown != first {
			t.Errorf("window %d from %s is known: %v", i, w.Start, w.WeatherKnown)
		}
		// Two hours from 07:00 to before 11:00 in Vienna see rain.
		if rainy := first && w.Start.UTC().Hour() < 9; w.Rainy != rainy || rainy != (w.RainMM > 0) {
			t.Errorf("window %d from %s is rainy: %v, %g mm", i, w.Start, w.Rainy, w.RainMM)
		}
		if w.Rainy || w.Windy {
			rough++
		} else if rough > 0 {
			t.Errorf("window %d is fair and comes behind %d that are not", i, rough)
		}
		if w.Start.String() == "2026-06-15T05:00:00Z" && (w.RainMM != 3 || w.WindMS != 2) {
			t.Errorf("from 07:00 to 09:00 %g mm fall with %g m/s of wind", w.RainMM, w.WindMS)
		}
	}
	ask.Indoors = true
	if w := d.propose(ask).Windows[0]; w.Start.Time != before.Windows[0].Start.Time || !w.Rainy {
		t.Errorf("indoors the best is %+v", w)
	}
	ask.Indoors, ask.Kind = false, api.WorkMeasuring
	if w := d.propose(ask).Windows[0]; w.Rainy || w.Windy || w.Start.String() != "2026-06-15T10:00:00Z" {
		t.Errorf("measuring is best %+v", w)
	}
	d.rains(0.1)
	ask.Kind = ""
	if w := d.propose(ask).Windows[0]; w.Start.Time != before.Windows[0].Start.Time || w.Rainy || w.RainMM != 0.2 {
		t.Errorf("in a drizzle the best is %+v", w)
	}
}

// With the plane of the modules known, the light is that on it.
func TestMeasuringRequiresIrradiance(t *testing.T) {
	d := newDesk(t, nil)
	d.clock = time.Date(2026, 6, 15, 3, 0, 0, 0, time.UTC)
	tilt, east := 40.0, 90.0
	if _, err := d.Domain.Sites.SetSite(t.Context(), boss, api.Site{SiteID: south, TiltDeg: &tilt, AzimuthDeg: &east}); err != nil {
		t.Fatal(err)
	}
	d.foretell()
	w := d.propose(api.ScheduleRequest{SiteID: south, MaintenanceType: api.MaintenancePreventive, EstimatedDurationHours: 1, Kind: api.WorkMeasuring}).Windows[0]
	if hour := w.Start.UTC().Hour() + 2; hour < 8 || hour > 11 {
		t.Errorf("modules that face east are measured at %d:00 of the site: %+v", hour, w)
	}
}

func TestProposeBundles(t *testing.T) {
	d := newDesk(t, nil)
	d.clock = time.Date(2026, 6, 15, 3, 0, 0, 0, time.UTC)
	d.foretell()
	plan := func(in time.Duration) string {
		t.Helper()
		p, _, err := d.CreateSchedule(t.Context(), boss, api.ScheduleRequest{AssetID: "INV-2", MaintenanceType: api.MaintenancePreventive, ScheduledDate: api.At(d.clock.Add(in)), Priority: api.PriorityLow, Reason: "r"})
		if err != nil {
			t.Fatal(err)
		}
		return p.ScheduleID
	}
	soon := plan(10 * day)
	plan(20 * day)
	o := d.order()
	out := d.propose(api.ScheduleRequest{AssetID: inv, MaintenanceType: api.MaintenanceCorrective, EstimatedDurationHours: 2})
	if len(out.Bundle) != 2 || out.Bundle[0].OrderID != o.OrderID || out.Bundle[1].ScheduleID != soon || out.Bundle[1].AssetID != "INV-2" {
		t.Errorf("on the same journey: %+v", out.Bundle)
	}
}

// The cost of a window is what the unit would have produced in it: a unit that
// is down loses nothing more, and the site loses what its other units produce.
func TestProposeUsesTheStateOfUnits(t *testing.T) {
	d := newDesk(t, nil)
	d.clock = time.Date(2026, 6, 15, 3, 0, 0, 0, time.UTC)
	d.foretell()
	ask := func(assetID string) api.ProposeResponse {
		t.Helper()
		return d.propose(api.ScheduleRequest{AssetID: assetID, SiteID: south, MaintenanceType: api.MaintenanceCorrective, EstimatedDurationHours: 2})
	}
	noon := func(out api.ProposeResponse) api.WorkWindow {
		t.Helper()
		for _, w := range out.Windows {
			if w.Start.String() == "2026-06-15T10:00:00Z" {
				return w
			}
		}
		t.Fatal("no window at noon")
		return api.WorkWindow{}
	}
	whole := noon(ask("")).EnergyKWh
	site, err := d.Domain.Sites.Site(t.Context(), boss, south)
	if err != nil {
		t.Fatal(err)
	}
	event := func(family, unit string, loss, riskKW float64) finding.Event {
		return finding.Event{Family: family, Units: []string{unit}, Start: d.clock.Add(-time.Hour), LastSeen: d.clock, LossFraction: loss, EnergyAtRiskKW: riskKW, Confidence: 0.9,
			Severity: api.SeverityCritical, Summary: family}
	}
	if err := d.store.Update(t.Context(), func(tx store.Tx) error {
		_, err := d.Domain.Detections.RecordRun(tx, finding.Run{Site: site, ModelVersion: "rules", From: d.clock.Add(-30 * day), Now: d.clock, Units: []string{inv, "INV-2"},
			DayKWh: func([]string) float64 { return 300 },
			Events: []finding.Event{event("inverter_outage", inv, 1, 20), event("string_outage", "INV-2", 0.2, 4), event("soiling", "INV-2", 0.5, 10), event("communication_gap", "INV-2", 1, 0)}})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	// Of 100 kW, INV-2 has 50 kW and makes 0.8 × 0.5 of them; the other unit nothing.
	for _, want := range []struct {
		asset, of        string
		producing, share float64
		findings         int
	}{{inv, api.CostOfUnit, 0, 0, 1}, {"INV-2", api.CostOfUnit, 0.4, 0.2, 2}, {"", api.CostOfSite, 0.2, 0.2, 3}} {
		out := ask(want.asset)
		w := noon(out)
		if out.CostOf != want.of || math.Abs(out.ProducingShare-want.producing) > 1e-9 || len(out.StateFindings) != want.findings || !strings.Contains(out.Message, "at present") {
			t.Errorf("state of %q: %q, %g of its production, %v, %q", want.asset, out.CostOf, out.ProducingShare, out.StateFindings, out.Message)
		}
		if w.AssetID != want.asset || w.SiteID != south || math.Abs(w.EnergyKWh-want.share*whole) > 0.002 || math.Abs(w.Cost-0.1*want.share*whole) > 0.002 {
			t.Errorf("window of %q: %+v, want %g kWh", want.asset, w, want.share*whole)
		}
	}
	if first := ask(inv).Windows[0]; first.Start.String() != "2026-06-15T05:00:00Z" {
		t.Errorf("a unit that is down is worked on first at %s", first.Start)
	}
}
