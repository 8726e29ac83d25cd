package partner

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/domain/kpi"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/engine/series"
)

// plant is a Service on a real store: the site "South field" in Johannesburg's
// time with three units of 50 kW, at noon of Monday, 15 June 2026.
type plant struct {
	*Service
	t     *testing.T
	store *bolt.Store
	plans *plans
	clock time.Time
	site  api.Site
}

const south = "South field"

func newPlant(t *testing.T, as api.Site) *plant {
	t.Helper()
	p := &plant{t: t, clock: time.Date(2026, 6, 15, 10, 0, 0, 0, time.UTC)}
	now := func() time.Time { return p.clock }
	var err error
	if p.store, err = bolt.Open(t.TempDir(), bolt.Options{Now: now}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.store.Close(); err != nil {
			t.Error(err)
		}
	})
	services := domain.New(p.store, p.store, now)
	p.plans = &plans{now: now, hours: map[string]float64{}}
	p.Service, err = New(Config{Records: p.store, Domain: services, Now: now, Schedules: p.plans, Rates: site.Rates{"EUR": 20}})
	if err != nil {
		t.Fatal(err)
	}
	as.SiteID, as.CustomerID, as.Timezone = south, "acme", "Africa/Johannesburg"
	if p.site, err = services.Sites.SetSite(t.Context(), api.Unlimited("test"), as); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"INV-1", "INV-2", "INV-3"} {
		a := api.Asset{AssetID: id, Name: id, Type: "inverter", CapacityKW: 50, Location: "roof", SiteID: south}
		if id == "INV-3" { // new: it did not report before, and was not due
			a.Components = []api.Component{{OEM: "SMA", Model: "STP 50", Serial: "3", InstalledDate: "2026-06-15"}}
		}
		if _, err := services.Sites.AddAsset(t.Context(), api.Unlimited("test"), a); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// plans are the schedules of South field, the open ones first, a page of one
// at a time.
type plans struct {
	now   func() time.Time
	list  []api.Schedule
	hours map[string]float64 // of orders

	meanwhile func() // nil: nothing happens while they are read
	broken    error
}

func (p *plans) Schedules(_ context.Context, _ api.Scope, q api.ListQuery, _ string, _ bool) ([]api.Schedule, string, error) {
	list := p.list // as it is when the reading begins
	if p.meanwhile != nil {
		p.meanwhile()
	}
	at := 0
	if q.Cursor != "" {
		at, _ = strconv.Atoi(q.Cursor)
	}
	if at >= len(list) || q.SiteID != south || p.broken != nil {
		return nil, "", p.broken
	}
	one := list[at]
	one.Overdue = p.now().After(one.ScheduledDate.Time)
	return []api.Schedule{one}, strconv.Itoa(at + 1), nil
}

func (p *plans) Order(_ context.Context, _ api.Scope, id string) (api.Order, error) {
	hours, ok := p.hours[id]
	if !ok {
		return api.Order{}, api.ErrOrderNotFound
	}
	return api.Order{OrderID: id, EstimatedDurationHours: hours}, nil
}

// yesterday is the site's day before now.
func (p *plant) yesterday() time.Time {
	return series.Midnight(p.clock.Add(-24*time.Hour), record.Zone(p.site.Timezone))
}

// sunny stores quarter hours from 06:00 to 16:00 of a day under 500 W/m²: the
// unit produces 20 kW, but from one hour to another it reports a fault.
func (p *plant) sunny(unit string, day time.Time, still, again float64) {
	p.t.Helper()
	var f series.Frame
	var power, light, state []float64
	for h := 6.0; h < 16; h += 0.25 {
		f.Times = append(f.Times, day.Add(time.Duration(h*float64(time.Hour))).Unix())
		kW, is := 20.0, 4.0
		if h >= still && h < again {
			kW, is = 0, 7
		}
		power, light, state = append(power, kW), append(light, 500), append(state, is)
	}
	f.Set(series.PowerKW, power)
	f.Set(series.IrradianceWM2, light)
	f.Set(series.InverterState, state)
	if err := p.store.Append(p.t.Context(), store.SiteKey{ID: p.site.SiteID, Zone: record.Zone(p.site.Timezone)}, []store.AssetFrame{{AssetID: unit, Frame: f}}); err != nil {
		p.t.Fatal(err)
	}
}

// judge records a detection run with events, and its measurements of INV-2.
func (p *plant) judge(events ...finding.Event) {
	p.t.Helper()
	number, state := func(v float64) *float64 { return &v }, 7
	run := finding.Run{Site: p.site, From: p.clock.Add(-60 * 24 * time.Hour), Now: p.clock, Units: []string{"INV-1", "INV-2", "INV-3"}, Events: events,
		Analyses: map[string]api.Analysis{"INV-2": {SeverityLabel: api.SeverityCritical,
			Anomalies: []api.Anomaly{{FaultFamily: "inverter_outage", SeverityLabel: api.SeverityCritical, StartedAt: api.At(p.clock.Add(-time.Hour)), LastSeenAt: api.At(p.clock)}}, Metrics: api.AnalysisMetrics{LatestPowerKW: number(5),
				BaselinePowerKW: number(20), LatestIrradianceWM2: number(500), LatestInverterState: &state}}}}
	err := p.store.Update(p.t.Context(), func(tx store.Tx) error {
		_, err := p.Domain.Detections.RecordRun(tx, run)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// event began at a time and lasts.
func (p *plant) event(family, grade string, start time.Time, units ...string) finding.Event {
	severity := map[string]string{api.PartnerCritical: api.SeverityCritical, api.PartnerHigh: api.SeverityCritical, api.PartnerMedium: api.SeverityWarning}[grade]
	if severity == "" {
		severity = api.SeverityNormal
	}
	return finding.Event{Family: family, Units: units, Start: start, LastSeen: p.clock, LossFraction: 0.5, LostKWh: 10, Severity: severity, Grade: grade,
		Summary: "Something is wrong.", Actions: []api.Action{{Priority: "high", Action: "Look."}, {Priority: "low", Action: "Wait."}}}
}

func made[T any](p *plant, kind string) T {
	p.t.Helper()
	if err := p.Make(p.t.Context(), south, p.clock); err != nil {
		p.t.Fatal(err)
	}
	v, err := read[T](p.t.Context(), p.Service, south, kind)
	if err != nil {
		p.t.Fatal(err)
	}
	return *v
}

func near(t *testing.T, name string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-3 {
		t.Errorf("%s is %v, want %v", name, got, want)
	}
}

func money3(a, b, c *float64) [3]float64 {
	out := [3]float64{math.NaN(), math.NaN(), math.NaN()}
	for i, v := range []*float64{a, b, c} {
		if v != nil {
			out[i] = *v
		}
	}
	return out
}

// Two units produce 20 kW for ten hours at half the sun, one of them except for
// two hours: 360 kWh of the 100 kW that reported. Detection states that 40 kWh
// were lost.
func TestRollup(t *testing.T) {
	for _, c := range []struct {
		name     string
		site     api.Site
		own, zar [3]float64 // lost, saved, a year's loss
	}{
		{"ZAR", api.Site{Currency: "ZAR", TariffPerKWh: 2}, [3]float64{80, 720, 29200}, [3]float64{80, 720, 29200}},
		{"a rate", api.Site{Currency: "EUR", TariffPerKWh: 0.2}, [3]float64{8, 72, 2920}, [3]float64{160, 1440, 58400}},
		{"no rate", api.Site{Currency: "USD", TariffPerKWh: 0.2}, [3]float64{8, 72, 2920}, money3(nil, nil, nil)},
		{"no tariff", api.Site{}, money3(nil, nil, nil), money3(nil, nil, nil)},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlant(t, c.site)
			day := p.yesterday()
			p.sunny("INV-1", day, 0, 0)
			p.sunny("INV-2", day, 8, 10)
			down := p.event("inverter_outage", api.PartnerHigh, day.Add(8*time.Hour), "INV-2")
			down.LastSeen = day.Add(10 * time.Hour)
			down.End, down.LostKWh = down.LastSeen, 40
			p.judge(down)
			r := made[api.KPIRollup](p, api.SnapshotKPIs)

			want := api.RollupPeriod{Start: "2026-06-14", End: "2026-06-14", Days: 1, Timezone: "Africa/Johannesburg"}
			if r.SiteID != south || r.Period != want || !r.GeneratedAt.Equal(p.clock) || r.System != (api.RollupSystem{RatedCapacityKW: 150, DeviceCount: 3}) || r.Battery != nil {
				t.Errorf("%+v", r)
			}
			near(t, "production", r.EnergyBalance.SolarProductionKWh, 360)
			near(t, "PR", r.Performance.SystemPR, 0.72) // 3.6 h of 5 h
			near(t, "true uptime", r.Performance.TrueUptimePct, 90)
			near(t, "state uptime", r.Performance.StateUptimePct, 90)
			near(t, "availability", r.Performance.AvailabilityPct, 90)
			near(t, "lost", r.EAR.EnergyLostKWh, 40)
			near(t, "lost share", r.EAR.EnergyLostPct, 10)
			near(t, "utilization", r.EAR.CapacityUtilizationPct, 15)
			for name, kWh := range map[string]float64{"50pct": 20, "75pct": 30, "95pct": 38, "100pct": 40} {
				near(t, name, r.EAR.RecoveryPotentialKWh[name], kWh)
			}
			if r.Performance.PRStatus != api.PRBelowTarget || r.Performance.PRTarget != 0.8 || r.Performance.AvailabilityTarget != 0.98 || r.Financial.TariffCurrency != c.site.Currency {
				t.Errorf("%+v, %+v", r.Performance, r.Financial)
			}
			notKnown := []string{"energy_balance.consumption_kwh", "energy_balance.grid_purchases_kwh", "energy_balance.solar_offset_pct"}
			if !slices.Equal(r.NotKnown, notKnown) {
				t.Errorf("not known: %v", r.NotKnown)
			}
			same := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-3 || math.IsNaN(a) && math.IsNaN(b) })
			for what, got := range map[string][2][3]float64{
				"own":       {money3(r.EAR.ValueLost, r.EAR.RealizedSavings, r.EAR.AnnualProjection), c.own},
				"ZAR":       {money3(r.EAR.ValueLostZAR, r.EAR.RealizedSavingsZAR, r.EAR.AnnualProjectionZAR), c.zar},
				"financial": {money3(r.Financial.ShortfallCostZAR, r.Financial.RealizedSavingsZAR, r.Financial.TotalPotentialValueZAR), [3]float64{c.zar[0], c.zar[1], c.zar[0] + c.zar[1]}},
			} {
				if diff := cmp.Diff(got[1], got[0], same); diff != "" {
					t.Errorf("%s: %s", what, diff)
				}
			}
			if all, ok := r.Financial.TOUBreakdown["all"]; ok != (c.site.Currency != "") || ok && all.EnergyKWh != 360 {
				t.Errorf("periods of the tariff: %+v", r.Financial.TOUBreakdown)
			}
		})
	}
}

// A unit that measures power only has no ratio; a site without a whole day has
// no rollup, but signals and a schedule.
func TestRollupOfLittle(t *testing.T) {
	p := newPlant(t, api.Site{})
	today := series.Midnight(p.clock, record.Zone(p.site.Timezone))
	p.sunny("INV-1", today, 0, 0)
	if err := p.Make(t.Context(), south, p.clock); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Snapshot(t.Context(), south, api.SnapshotKPIs); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("without a whole day: %v", err)
	}
	for _, kind := range []string{api.SnapshotSignals, api.SnapshotSchedule} {
		if doc, err := p.Snapshot(t.Context(), south, kind); err != nil || !json.Valid(doc) {
			t.Errorf("%s: %s, %v", kind, doc, err)
		}
	}
	p = newPlant(t, api.Site{})
	var f series.Frame
	for h := range 24 {
		f.Times = append(f.Times, p.yesterday().Add(time.Duration(h)*time.Hour).Unix())
	}
	power := make([]float64, 24)
	power[12] = 30
	f.Set(series.PowerKW, power)
	if err := p.store.Append(t.Context(), store.SiteKey{ID: p.site.SiteID, Zone: record.Zone(p.site.Timezone)}, []store.AssetFrame{{AssetID: "INV-1", Frame: f}}); err != nil {
		t.Fatal(err)
	}
	r := made[api.KPIRollup](p, api.SnapshotKPIs)
	if r.Performance.SystemPR != 0 || r.Performance.PRStatus != api.PRUnknown || r.EnergyBalance.SolarProductionKWh != 30 {
		t.Errorf("%+v", r)
	}
	for _, path := range []string{"performance.system_pr", "performance.state_uptime_pct", "energy_balance.consumption_kwh"} {
		if !slices.Contains(r.NotKnown, path) {
			t.Errorf("%s is said to be known: %v", path, r.NotKnown)
		}
	}
}

// Where too little of the data arrived, the money is 0 and named, as the
// energy is.
func TestRollupOfTooLittleData(t *testing.T) {
	r := rollupOf(kpi.Rollup{ProductionKWh: 100, StateUptime: math.NaN()}, money{currency: "EUR", tariff: 0.2, rate: 20}, api.RollupPeriod{Days: 30})
	if v := money3(r.EAR.ValueLostZAR, r.EAR.RealizedSavingsZAR, r.EAR.AnnualProjectionZAR); v != [3]float64{0, 400, 0} {
		t.Errorf("money %v", v)
	}
	for path, named := range map[string]bool{"ear.energy_lost_kwh": true, "ear.recovery_potential_kwh.95pct": true, "ear.value_lost": true, "ear.value_lost_zar": true,
		"ear.annual_projection_zar": true, "financial.shortfall_cost_zar": true, "financial.total_potential_value": true, "ear.realized_savings_zar": false, "energy_balance.solar_production_kwh": false} {
		if slices.Contains(r.NotKnown, path) != named {
			t.Errorf("%s is named: %v", path, !named)
		}
	}
	if b, err := json.Marshal(r); err != nil || !json.Valid(b) {
		t.Errorf("%s, %v", b, err)
	}
}

func TestRollupPeriod(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Vienna")
	if err != nil {
		t.Fatal(err)
	}
	at := func(text string) time.Time {
		v, err := api.ParseTime(text, zone)
		if err != nil {
			t.Fatal(err)
		}
		return v.Time
	}
	for _, c := range []struct {
		first, end string
		units      int
		from, to   string
	}{
		{"2020-01-01", "2026-06-15T10:00", 10, "2026-05-16", "2026-06-15"},
		{"2020-01-01", "2026-04-05T10:00", 10, "2026-03-06", "2026-04-05"},   // the clock changed
		{"2026-06-10T05:30", "2026-06-15", 10, "2026-06-10", "2026-06-15"},   // from its first morning on
		{"2026-06-10T09:00", "2026-06-15", 10, "2026-06-11", "2026-06-15"},   // its first day is not whole
		{"2020-01-01", "2026-06-15T10:00", 3660, "2026-06-05", "2026-06-15"}, // very many units
	} {
		from, to := rollupPeriod(zone, at(c.first), at(c.end), c.units)
		if !from.Equal(at(c.from)) || !to.Equal(at(c.to)) {
			t.Errorf("%+v: %s to %s", c, from, to)
		}
	}
}

func TestSignals(t *testing.T) {
	p := newPlant(t, api.Site{})
	hour := p.clock.Add(-time.Hour)
	clipping := p.event("clipping", api.PartnerLow, hour, "INV-3")
	clipping.LossFraction = 0 // it only requires the site to be known
	p.judge(p.event("inverter_outage", api.PartnerHigh, hour, "INV-2"), p.event("ground_or_insulation_fault", api.PartnerCritical, hour.Add(-time.Hour), "INV-1"),
		p.event("communication_gap", api.PartnerMedium, hour.Add(-2*time.Hour), "INV-3"), p.event("soiling", api.PartnerMedium, hour.Add(-3*time.Hour), "INV-1", "INV-3"), clipping)
	m := made[api.MaintenanceSignals](p, api.SnapshotSignals)
	var got [][4]string
	for _, s := range m.Signals {
		got = append(got, [4]string{s.Timestamp.String()[11:16], s.AssetID, s.Type, s.Severity})
	}
	want := [][4]string{{"09:00", "INV-2", api.SignalZero, "High"}, {"08:00", "INV-1", api.SignalCritical, "Critical"}, {"07:00", "INV-3", api.SignalWarning, "Medium"}, {"06:00", "INV-1", api.SignalCapacity, "Medium"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	if s := m.Signals[0]; s.StateCode != "7" || *s.RatedKW != 50 || *s.ActualKW != 5 || *s.ExpectedKW != 20 || *s.CapacityPct != 10 || *s.IrradianceWM2 != 500 || !s.Active || s.AlertID == "" {
		t.Errorf("%+v", s)
	}
	if s := m.Signals[3]; s.ActualKW != nil || *s.RatedKW != 100 || !slices.Equal(s.AssetIDs, []string{"INV-1", "INV-3"}) {
		t.Errorf("of two units: %+v", s)
	}
	counts := api.MaintenanceCounts{ByType: map[string]int{api.SignalZero: 1, api.SignalCritical: 1, api.SignalWarning: 1, api.SignalCapacity: 1},
		BySeverity: map[string]int{"High": 1, "Critical": 1, "Medium": 2}, ByAsset: map[string]int{"INV-1": 2, "INV-2": 1, "INV-3": 1}}
	if diff := cmp.Diff(counts, m.Summary); diff != "" || m.Cursor != "2026-06-15T09:00:00Z" {
		t.Errorf("%s, cursor %s", diff, m.Cursor)
	}
	// The gap becomes worse, the outage ends: one is news.
	p.clock = p.clock.Add(time.Hour)
	p.judge(p.event("communication_gap", api.PartnerHigh, hour.Add(-2*time.Hour), "INV-3"))
	now := made[api.MaintenanceSignals](p, api.SnapshotSignals)
	if now.Signals[0].AssetID != "INV-3" || now.Signals[0].Type != api.SignalCritical || now.Signals[0].Timestamp.String() != "2026-06-15T11:00:00Z" || now.Cursor != "2026-06-15T11:00:00Z" {
		t.Errorf("%+v", now.Signals[0])
	}
	if s := now.Signals[1]; s.AssetID != "INV-2" || s.Active || s.Timestamp.String() != "2026-06-15T09:00:00Z" {
		t.Errorf("what ended: %+v", s)
	}
	// A month later nothing is left.
	p.clock = p.clock.Add(32 * 24 * time.Hour)
	p.judge()
	if m := made[api.MaintenanceSignals](p, api.SnapshotSignals); len(m.Signals) != 0 || m.Signals == nil || m.Cursor != now.Cursor {
		t.Errorf("a month later: %+v", m)
	}
}

func TestSchedule(t *testing.T) {
	p := newPlant(t, api.Site{})
	plan := func(asset, kind, date, priority, status, order string) {
		t.Helper()
		at, err := api.ParseTime(date, record.Zone(p.site.Timezone))
		if err != nil {
			t.Fatal(err)
		}
		p.plans.list = append(p.plans.list, api.Schedule{ScheduleID: "sch_" + date, AssetID: asset, SiteID: south, MaintenanceType: kind, ScheduledDate: at,
			Priority: priority, Status: status, Reason: "Planned.", OrderID: order})
	}
	p.plans.hours["ord_1"] = 6
	plan("INV-1", api.MaintenancePreventive, "2026-07-01T08:00", api.PriorityLow, api.SchedulePending, "ord_0") // whose order is gone
	plan("INV-1", api.MaintenancePreventive, "2026-09-14T08:00", api.PriorityLow, api.SchedulePending, "")      // the day after the horizon
	plan("INV-3", api.MaintenanceCorrective, "2026-06-16T08:00", api.PriorityHigh, api.ScheduleConfirmed, "ord_1")
	plan("INV-2", api.MaintenanceEmergency, "2026-06-16T09:00", api.PriorityHigh, api.ScheduleCompleted, "")
	hour := p.clock.Add(-time.Hour)
	p.judge(p.event("inverter_outage", api.PartnerHigh, hour, "INV-2"), // Wednesday
		p.event("string_outage", api.PartnerMedium, hour, "INV-3"), // its repair is planned
		p.event("soiling", api.PartnerMedium, hour, "INV-1"), p.event("snow_cover", api.PartnerLow, hour, "INV-2"))
	m := made[api.MaintenanceSchedule](p, api.SnapshotSchedule)
	tasks := func(m api.MaintenanceSchedule) (out []api.MaintenanceTask) {
		for _, one := range m.Tasks {
			if (one.ScheduleID == "") == (one.SummaryID == "") {
				t.Errorf("unknown source: %+v", one)
			}
			one.ScheduleID, one.SummaryID = "", ""
			out = append(out, one)
		}
		return out
	}
	repair := api.MaintenanceTask{AssetID: "INV-3", TaskType: api.TaskCorrective, Reason: "Planned.", RecommendedDate: "2026-06-16", EstimatedDurationHours: 6, Priority: "High", Status: api.ScheduleConfirmed}
	swap := api.MaintenanceTask{AssetID: "INV-2", TaskType: api.TaskCorrective, Reason: "Something is wrong. Look.", RecommendedDate: "2026-06-17", EstimatedDurationHours: 5.5, Priority: "High"}
	wash := api.MaintenanceTask{AssetID: "INV-1", TaskType: api.TaskService, Reason: "Something is wrong. Look.", RecommendedDate: "2026-06-29", EstimatedDurationHours: 8, Priority: "Medium"}
	service := api.MaintenanceTask{AssetID: "INV-1", TaskType: api.TaskService, Reason: "Planned.", RecommendedDate: "2026-07-01", EstimatedDurationHours: 1, Priority: "Low", Status: api.SchedulePending}
	if diff := cmp.Diff([]api.MaintenanceTask{repair, swap, wash, service}, tasks(m)); diff != "" {
		t.Error(diff)
	}
	counts := api.TaskCounts{TotalTasks: 4, ByPriority: map[string]int{"High": 2, "Medium": 1, "Low": 1},
		ByTaskType: map[string]int{api.TaskCorrective: 2, api.TaskService: 2}, ByAsset: map[string]int{"INV-1": 2, "INV-2": 1, "INV-3": 1}}
	if diff := cmp.Diff(counts, m.Summary); diff != "" || m.Horizon != (api.ScheduleHorizon{Start: "2026-06-15", End: "2026-09-13"}) {
		t.Errorf("%s, horizon %+v", diff, m.Horizon)
	}
	// On Thursday two are late: they are for today.
	p.clock = p.clock.Add(3 * 24 * time.Hour)
	repair.RecommendedDate, repair.Overdue, swap.RecommendedDate = "2026-06-18", true, "2026-06-18"
	m = made[api.MaintenanceSchedule](p, api.SnapshotSchedule)
	service2 := service
	service2.RecommendedDate = "2026-09-14"
	if diff := cmp.Diff([]api.MaintenanceTask{swap, repair, wash, service, service2}, tasks(m)); diff != "" {
		t.Error(diff)
	}
}

func TestWorkingDays(t *testing.T) {
	friday := time.Date(2026, 6, 12, 9, 0, 0, 0, time.UTC)
	if got := workingDays(friday, 2); got.Format(time.DateOnly) != "2026-06-16" {
		t.Errorf("two working days after a Friday is %s", got)
	}
}

// TestForecast: three hours of 10, 20 and 30 kW at 0.20 EUR, and 20 ZAR for
// one of these.
func TestForecast(t *testing.T) {
	p := newPlant(t, api.Site{Currency: "EUR", TariffPerKWh: 0.2})
	f := forecast.Forecast{ForecastID: "fc_1", CustomerID: "acme", SiteID: south, IssuedAt: p.clock, ModelName: "ensemble", ModelVersion: "1.0.0", Start: p.clock, StepMinutes: 60,
		P10KW: record.Numbers{5, 10, 15}, P50KW: record.Numbers{10, 20, 30}, P90KW: record.Numbers{15, 30, 45}}
	err := p.store.Update(t.Context(), func(tx store.Tx) error { return p.Domain.Forecasts.Add(tx, f, time.UTC) })
	if err != nil {
		t.Fatal(err)
	}
	all := made[api.ForecastSnapshot](p, api.SnapshotForecast)
	if all.HorizonHours != 3 || all.ModelID != "ensemble-1.0.0" || all.Totals.TotalKWh != 60 || *all.Totals.TotalRevenue != 12 || *all.Totals.TotalRevenueZAR != 240 || *all.Intervals[2].RevenueZAR != 120 {
		t.Errorf("%+v", all)
	}
	two, err := p.Forecast(t.Context(), p.site, 2)
	if err != nil || two.HorizonHours != 2 || len(two.Intervals) != 2 || two.Totals.TotalKWh != 30 || *two.Totals.TotalRevenue != 6 {
		t.Errorf("two hours: %+v, %v", two, err)
	}
	if _, err := p.Forecast(t.Context(), p.site, 4); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("four hours: %v", err)
	}
	p.clock = p.clock.Add(time.Hour)
	if _, err := p.Forecast(t.Context(), p.site, 1); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("when its first hour has passed: %v", err)
	}
}

func TestRatesAreChecked(t *testing.T) {
	p := newPlant(t, api.Site{})
	for code, rate := range map[string]float64{"EUR": 0, "USD": -1, "euro": 20, "eur": 20, "CHF": math.Inf(1), "GBP": math.NaN(), "ZAR": 2} {
		cfg := p.Config
		cfg.Rates = map[string]float64{code: rate}
		if _, err := New(cfg); err == nil {
			t.Errorf("%s=%v passes", code, rate)
		}
	}
}
