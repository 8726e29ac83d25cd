package availability_test

import (
	"math"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/availability"
	"app.sunloop/backend/domain/domaintest"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/engine/kpi"
	"app.sunloop/engine/series"
)

// plant is the site South with units of 50 kW; day is the last midnight but one, and
// utc the hour 0 of UTC on it.
type plant struct {
	*domaintest.Fixture
	site     api.Site
	day, utc time.Time
}

func newPlant(t *testing.T, units ...string) *plant {
	t.Helper()
	p := &plant{Fixture: domaintest.New(t)}
	p.site = p.AddSite("South", "acme")
	for _, id := range units {
		p.AddUnit(id, "South")
	}
	p.day = series.Midnight(p.Clock.Add(-24*time.Hour), record.Zone(p.site.Timezone))
	p.utc = p.day.Add(2 * time.Hour)
	return p
}

// at returns an hour of UTC of the day.
func (p *plant) at(hour float64) time.Time {
	return p.utc.Add(time.Duration(hour * float64(time.Hour)))
}

// measured is a frame from an hour to another at a step, at 500 W/m², with the power
// of each hour.
func (p *plant) measured(from, to float64, step time.Duration, powerKW func(hour float64) float64) series.Frame {
	var f series.Frame
	var power, light []float64
	for at := p.at(from); at.Before(p.at(to)); at = at.Add(step) {
		f.Times = append(f.Times, at.Unix())
		power, light = append(power, powerKW(at.Sub(p.utc).Hours())), append(light, 500)
	}
	f.Set(series.PowerKW, power)
	f.Set(series.IrradianceWM2, light)
	return f
}

func (p *plant) store(unit string, frames ...series.Frame) {
	p.T.Helper()
	for _, f := range frames {
		if err := p.Store.Append(p.T.Context(), store.SiteKey{ID: "South", Zone: record.Zone(p.site.Timezone)}, []store.AssetFrame{{AssetID: unit, Frame: f}}); err != nil {
			p.T.Fatal(err)
		}
	}
}

// list returns the availability of the day, with stretches.
func (p *plant) list() (api.AvailabilityResponse, map[string]api.UnitAvailability) {
	p.T.Helper()
	r, err := p.Availability.List(p.T.Context(), domaintest.Acme, api.AvailabilityRequest{SiteID: "South", From: api.At(p.day), To: api.At(p.day.Add(24 * time.Hour)), Stretches: true})
	if err != nil {
		p.T.Fatal(err)
	}
	units := map[string]api.UnitAvailability{}
	for _, u := range r.Units {
		units[u.AssetID] = u
	}
	return r, units
}

// sunUp returns the sun-up hours by category that are not 0.
func sunUp(f api.AvailabilityFigures) map[string]float64 {
	out := map[string]float64{}
	for _, c := range f.Categories {
		if c.SunUpHours != 0 {
			out[c.Category] = c.SunUpHours
		}
	}
	return out
}

func (p *plant) want(name string, got *float64, want float64) {
	p.T.Helper()
	if math.IsNaN(want) != (got == nil) || got != nil && math.Abs(*got-want) > 1e-3 {
		p.T.Errorf("%s is %v, want %v", name, show(got), want)
	}
}

func show(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}

func (p *plant) wantHours(name string, got api.AvailabilityFigures, want map[string]float64) {
	p.T.Helper()
	is := sunUp(got)
	for c, h := range want {
		if math.Abs(is[c]-h) > 1e-3 {
			p.T.Errorf("%s: %s for %v h, want %v", name, c, is[c], h)
		}
	}
	if len(is) != len(want) {
		p.T.Errorf("%s: %v, want %v", name, is, want)
	}
	all := 0.0
	for _, c := range got.Categories {
		all += c.Hours
	}
	if math.Abs(all-24) > 0.01 {
		p.T.Errorf("%s: the categories sum to %v h", name, all)
	}
}

func steady(float64) float64 { return 20 }

// Sun from 06:00 to 16:00 UTC. A runs; B is down from 08:00 to 10:00 and silent from
// 14:00; C never reported. Of 30 unit-hours 10 + 6 are in service, and 12 without
// information; the rest is an outage.
func TestSilentUnitsCount(t *testing.T) {
	p := newPlant(t, "A", "B", "C")
	before := p.measured(-18, -8, 15*time.Minute, steady) // the day before: the site exists
	p.store("A", before, p.measured(6, 16, 15*time.Minute, steady))
	p.store("B", before, p.measured(6, 14, 15*time.Minute, func(h float64) float64 {
		if h >= 8 && h < 10 {
			return 0
		}
		return 20
	}))
	r, units := p.list()
	p.wantHours("A", units["A"].AvailabilityFigures, map[string]float64{"full_performance": 10})
	p.wantHours("B", units["B"].AvailabilityFigures, map[string]float64{"full_performance": 6, "forced_outage": 2, "information_unavailable": 2})
	p.wantHours("C", units["C"].AvailabilityFigures, map[string]float64{"information_unavailable": 10})
	p.wantHours("site", r.Site, map[string]float64{"full_performance": 16 / 3.0, "forced_outage": 2 / 3.0, "information_unavailable": 4})
	p.want("time", r.Site.TimeAvailability, 16/30.0)
	p.want("energy", r.Site.EnergyAvailability, 16/30.0)
	p.want("contractual", r.Site.ContractualAvailability, 16/30.0)
	p.want("data", r.Site.DataAvailability, 18/30.0)
	p.want("data of C", units["C"].DataAvailability, 0)
	// The same number is on the other surfaces.
	k, figures := p.KPIsOf(p.day, p.day.Add(24*time.Hour))
	p.want("the KPI", figures["time_availability"].Value, 16/30.0)
	p.want("data of the KPIs", k.DataAvailability, 18/30.0)
}

// B is silent for a day while A reports: what was expected of B is what A showed, and not
// what the sun gives under a thick overcast.
func TestExpectedOfSilentUnit(t *testing.T) {
	p := newPlant(t, "A", "B")
	only := func(f series.Frame) series.Frame {
		out := series.Frame{Times: f.Times}
		out.Set(series.PowerKW, f.Values(series.PowerKW))
		return out
	}
	before := only(p.measured(-18, -8, 15*time.Minute, steady))
	p.store("A", before, only(p.measured(6, 16, 15*time.Minute, steady)))
	p.store("B", before)
	r, units := p.list()
	p.want("energy of B", units["B"].EnergyAvailability, 0)
	p.want("energy", r.Site.EnergyAvailability, 0.5)
	for _, c := range r.Site.Categories {
		if c.Category == "information_unavailable" && math.Abs(c.ExpectedKWh-200) > 2 {
			t.Errorf("%v kWh were expected of B, want about 200", c.ExpectedKWh)
		}
	}
}

// A unit that is installed later is not due before.
func TestInstallation(t *testing.T) {
	p := newPlant(t, "A")
	p.store("A", p.measured(6, 16, 15*time.Minute, steady))
	_, err := p.Sites.AddAsset(t.Context(), domaintest.Acme, api.Asset{AssetID: "B", Name: "B", Type: "inverter", CapacityKW: 50, Location: "roof", SiteID: "South",
		Components: []api.Component{{OEM: "SMA", Model: "STP", Serial: "1", InstalledDate: p.day.AddDate(0, 0, 2).Format(time.DateOnly)}}})
	if err != nil {
		t.Fatal(err)
	}
	r, units := p.list()
	if _, listed := units["B"]; listed || r.Count != 1 {
		t.Errorf("a unit that was not installed is listed: %v", units)
	}
	p.want("time", r.Site.TimeAvailability, 1)
	p.want("data", r.Site.DataAvailability, 1)
}

// A history of quarter hours followed by five minutes, within the day and over
// days, is complete.
func TestMixedSteps(t *testing.T) {
	p := newPlant(t, "A")
	p.store("A", p.measured(-18, -8, 15*time.Minute, steady), p.measured(6, 11, 15*time.Minute, steady), p.measured(11, 16, 5*time.Minute, steady))
	r, units := p.list()
	p.want("data", r.Site.DataAvailability, 1)
	p.want("time", r.Site.TimeAvailability, 1)
	if n := len(units["A"].Stretches); n != 3 {
		t.Errorf("%d stretches, want night, service, night: %+v", n, units["A"].Stretches)
	}
	k, figures := p.KPIsOf(p.day.AddDate(0, 0, -1), p.day.Add(24*time.Hour))
	p.want("data over two days", k.DataAvailability, 1)
	if !k.Reportable || figures["specific_yield"].Value == nil {
		t.Errorf("nothing is reportable: %+v", k)
	}
}

// Work, findings and people: B is down from 08:00 to 10:00.
func TestCauses(t *testing.T) {
	down := func(h float64) float64 {
		if h >= 8 && h < 10 {
			return 0
		}
		return 20
	}
	for _, c := range []struct {
		name  string
		setup func(p *plant)
		work  []availability.Work
		want  map[string]float64
	}{
		{"preventive work with a hold", nil, []availability.Work{{Category: kpi.ScheduledMaintenance, From: time.Unix(8*3600, 0), To: time.Unix(10*3600, 0),
			Interruptions: []availability.Interruption{{From: time.Unix(9*3600, 0), To: time.Unix(9.5*3600, 0)}}}}, map[string]float64{"full_performance": 8, "scheduled_maintenance": 1.5, "suspended": 0.5}},
		{"a repair that was planned", nil, []availability.Work{{Category: kpi.PlannedCorrective, From: time.Unix(8*3600, 0), To: time.Unix(9*3600, 0)}},
			map[string]float64{"full_performance": 8, "planned_corrective": 1, "forced_outage": 1}},
		{"the repair of a failure", func(p *plant) {
			e := domaintest.Outage("B", p.at(8), p.at(10))
			e.End = e.LastSeen
			p.RecordRun(p.site, e)
		}, []availability.Work{{Category: kpi.PlannedCorrective, From: time.Unix(9*3600, 0), To: time.Unix(10*3600, 0)}}, map[string]float64{"full_performance": 8, "forced_outage": 2}},
		{"the grid", func(p *plant) {
			e := domaintest.Outage("B", p.at(8), p.at(10))
			e.Family, e.End = "site_outage_grid", e.LastSeen
			p.RecordRun(p.site, e)
		}, nil, map[string]float64{"full_performance": 8, "out_of_grid": 2}},
		{"a string", func(p *plant) {
			e := domaintest.Outage("B", p.at(7), p.at(12))
			e.Family, e.End = "string_outage", e.LastSeen
			p.RecordRun(p.site, e)
		}, nil, map[string]float64{"full_performance": 5, "partial_performance": 3, "forced_outage": 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlant(t, "A", "B")
			p.store("A", p.measured(-18, -8, 15*time.Minute, steady), p.measured(6, 16, 15*time.Minute, steady))
			p.store("B", p.measured(-18, -8, 15*time.Minute, steady), p.measured(6, 16, 15*time.Minute, down))
			if c.setup != nil {
				c.setup(p)
			}
			of := func(t time.Time) time.Time { return p.utc.Add(time.Duration(t.Unix()) * time.Second) }
			for i := range c.work {
				w := &c.work[i]
				w.OrderID, w.AssetID, w.From, w.To = "ord_1", "B", of(w.From), of(w.To)
				for k, h := range w.Interruptions {
					w.Interruptions[k] = availability.Interruption{From: of(h.From), To: of(h.To)}
				}
			}
			p.Availability.SetWork(func(store.Tx, string) ([]availability.Work, error) { return c.work, nil })
			_, units := p.list()
			p.wantHours("B", units["B"].AvailabilityFigures, c.want)
			p.wantHours("A", units["A"].AvailabilityFigures, map[string]float64{"full_performance": 10})
		})
	}
}

func TestChanges(t *testing.T) {
	p := newPlant(t, "A", "B")
	p.store("A", p.measured(-18, -8, 15*time.Minute, steady), p.measured(6, 16, 15*time.Minute, steady))
	p.store("B", p.measured(-18, -8, 15*time.Minute, steady), p.measured(6, 16, 15*time.Minute, func(h float64) float64 {
		if h >= 8 && h < 12 {
			return 0
		}
		return 20
	}))
	set := func(from, to float64, category string, units ...string) api.AvailabilityChange {
		t.Helper()
		c, err := p.Availability.Set(t.Context(), domaintest.Acme, api.AvailabilityRequest{SiteID: "South", AssetIDs: units, From: api.At(p.at(from)), To: api.At(p.at(to)), Category: category, Reason: " flood "})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	flood := set(8, 12, api.AvailabilityForceMajeure)
	set(9, 10, api.AvailabilityForced, "B")
	if flood.Reason != "flood" || flood.By == "" || flood.ChangeID == "" {
		t.Errorf("%+v", flood)
	}
	r, units := p.list()
	p.wantHours("A", units["A"].AvailabilityFigures, map[string]float64{"full_performance": 6, "force_majeure": 4})
	p.wantHours("B", units["B"].AvailabilityFigures, map[string]float64{"full_performance": 6, "force_majeure": 3, "forced_outage": 1})
	p.want("contractual", r.Site.ContractualAvailability, 12/13.0)
	p.want("time", r.Site.TimeAvailability, 12/20.0)
	if len(r.Changes) != 2 || r.Changes[1].ChangeID != flood.ChangeID {
		t.Errorf("changes %+v", r.Changes)
	}
	// A contract that counts force majeure, and all hours of the day.
	_, err := p.Sites.SetSite(t.Context(), domaintest.Acme, api.Site{SiteID: "South", Availability: &api.AvailabilityContract{Target: 0.97, TimeBase: api.TimeBaseAll,
		Rules: map[string]string{api.AvailabilityForceMajeure: api.TreatmentUnavailable, api.AvailabilityEnvironment: api.TreatmentAvailable}}})
	if err != nil {
		t.Fatal(err)
	}
	r, _ = p.list()
	p.want("by another contract", r.Site.ContractualAvailability, (2*14+12)/48.0)
	if r.Contract.Target != 0.97 || r.Contract.Rules[api.AvailabilityForced] != api.TreatmentUnavailable {
		t.Errorf("contract %+v", r.Contract)
	}
	// A change that is revoked counts no more, and is kept.
	before, after, err := p.Availability.Revoke(t.Context(), domaintest.Acme, "South", flood.ChangeID, "withdrawn")
	if err != nil || !before.RevokedAt.IsZero() || after.RevokedAt.IsZero() || after.RevokeReason != "withdrawn" {
		t.Errorf("%+v, %+v, %v", before, after, err)
	}
	_, units = p.list()
	p.wantHours("A", units["A"].AvailabilityFigures, map[string]float64{"full_performance": 10})
	p.wantHours("B", units["B"].AvailabilityFigures, map[string]float64{"full_performance": 6, "forced_outage": 4})
	_, _, err = p.Availability.Revoke(t.Context(), domaintest.Acme, "South", flood.ChangeID, "again")
	domaintest.WantError(t, err, 409, "Availability change "+flood.ChangeID+" is revoked already")
	_, _, err = p.Availability.Revoke(t.Context(), domaintest.Acme, "South", "avc_none", "no")
	domaintest.WantError(t, err, 404, "Availability change not found")
	list, _, err := p.Availability.Changes(t.Context(), domaintest.Acme, "South", api.Page{})
	if err != nil || len(list) != 2 || list[1].RevokedBy == "" || list[0].Category != api.AvailabilityForced {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestChangeErrors(t *testing.T) {
	p := newPlant(t, "A")
	good := api.AvailabilityRequest{SiteID: "South", AssetIDs: []string{"A"}, From: api.At(p.at(8)), To: api.At(p.at(9)), Category: api.AvailabilitySuspended, Reason: "r"}
	for _, c := range []struct {
		edit    func(*api.AvailabilityRequest)
		status  int
		message string
	}{
		{func(r *api.AvailabilityRequest) { r.AssetIDs = []string{"Z"} }, 400, "Invalid field: asset_ids"},
		{func(r *api.AvailabilityRequest) { r.To = api.At(p.at(24 * 500)) }, 400, "Invalid field: to"},
		{func(r *api.AvailabilityRequest) { r.From, r.To = api.At(p.at(24*400)), api.At(p.at(24*401)) }, 400, "Invalid field: to"},
		{func(r *api.AvailabilityRequest) { r.SiteID = "Nowhere" }, 404, "Site not found"},
	} {
		r := good
		c.edit(&r)
		_, err := p.Availability.Set(t.Context(), domaintest.Acme, r)
		domaintest.WantError(t, err, c.status, c.message)
	}
	_, err := p.Availability.Set(t.Context(), api.Scope{Customers: []string{"other"}, Sites: []string{api.Every}}, good)
	domaintest.WantError(t, err, 403, "")
	_, err = p.Availability.List(t.Context(), domaintest.Acme, api.AvailabilityRequest{SiteID: "South", AssetID: "Z"})
	domaintest.WantError(t, err, 400, "Invalid field: asset_id")
	_, err = p.Availability.List(t.Context(), domaintest.Acme, api.AvailabilityRequest{SiteID: "South", AssetID: "A", Stretches: true, From: api.At(p.day.AddDate(-3, 0, 0))})
	domaintest.WantError(t, err, 400, "Invalid field: from")
	_, err = p.Sites.SetSite(t.Context(), domaintest.Acme, api.Site{SiteID: "South", Availability: &api.AvailabilityContract{Rules: map[string]string{"holiday": "excluded"}}})
	domaintest.WantError(t, err, 400, "Invalid field: availability.rules")
}
