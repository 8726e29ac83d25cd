package kpi

import (
	"context"
	"fmt"
	"math"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/availability"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/engine/kpi"
	"app.sunloop/engine/series"
)

// Rollup is the summary of a site's data in a window: its KPIs and
// the values that partners read with them. NaN is not known.
type Rollup struct {
	api.KPIs
	ProductionKWh float64 // as it was measured
	StateUptime   float64 // share of the sun-up time, by rating, in which units said they were running
	Target        float64 // of the contractual availability, 0 to 1
	Battery       *api.RollupBattery
}

// Figure is the value of a KPI; NaN when it is not reportable.
func (r Rollup) Figure(name string) float64 {
	for _, f := range r.Figures {
		if f.Name == name && f.Value != nil {
			return *f.Value
		}
	}
	return math.NaN()
}

// Rollup reads the window from <= t < to of a site, which is not empty. It
// leaves out what requires years of data.
func (s *Service) Rollup(ctx context.Context, site api.Site, units []api.Asset, from, to time.Time) (Rollup, error) {
	out := Rollup{ProductionKWh: math.NaN(), StateUptime: math.NaN()}
	r, err := s.read(ctx, site, units, from, to)
	if err != nil {
		return out, err
	}
	found, err := s.readEvents(ctx, site.SiteID, r.zone)
	if err != nil {
		return out, err
	}
	out.Target = r.available.Contract.Target
	k := withoutLossRate(r.figures(site, found, years{from: from, share: math.NaN()}))
	if out.KPIs, err = s.keep(ctx, r, site, units, k); err != nil {
		return out, err
	}
	out.ProductionKWh = r.days.kWh
	newest, err := s.telemetry.Latest(ctx, site.SiteID)
	if err != nil {
		return out, fmt.Errorf("read the latest samples of site %s: %w", site.SiteID, err)
	}
	out.Battery = batteryOf(newest)
	out.StateUptime, err = s.stateUptime(ctx, r)
	return out, err
}

// batteryOf is what units with a state of charge reported last; nil when none
// does.
func batteryOf(newest []store.AssetFrame) *api.RollupBattery {
	charge, health := 0.0, 0.0
	charged, healthy := 0, 0
	for _, a := range newest {
		if v := a.Frame.At(series.StateOfCharge, 0); !math.IsNaN(v) {
			charge, charged = charge+v, charged+1
		}
		if v := a.Frame.At(series.StateOfHealth, 0); !math.IsNaN(v) {
			health, healthy = health+v, healthy+1
		}
	}
	if charged == 0 {
		return nil
	}
	return &api.RollupBattery{AvgSoC: record.Known(charge / float64(charged)), AvgSoH: record.Number(health / float64(healthy)), AssetCount: charged}
}

// Operating states of SunSpec (models 101 to 103) in which a unit runs.
const (
	stateStarting  = 3
	stateMPPT      = 4
	stateThrottled = 5
)

// runs is 1 for a sample of a unit that says it is running, 0 for one that
// says it is not, and NaN for one that says nothing.
func runs(state, run float64) float64 {
	switch {
	case state == stateStarting || state == stateMPPT || state == stateThrottled, math.IsNaN(state) && run == 1:
		return 1
	case math.IsNaN(state) && run != 0:
		return math.NaN()
	}
	return 0
}

// stateUptime is the share of the sun-up time in which units said they were
// running, by rating, of the time in which they said something. Time in which a
// unit that reports states is silent counts as not running.
func (s *Service) stateUptime(ctx context.Context, r *reading) (float64, error) {
	up, known := 0.0, 0.0
	list := r.available.Units
	ids := make([]string, len(list))
	for i, u := range list {
		ids[i] = u.Asset.AssetID
	}
	at := 0
	for of, err := range s.telemetry.ReadUnits(ctx, r.siteID, ids, r.from, r.to, series.InverterState, series.RunState) {
		if err != nil {
			return math.NaN(), fmt.Errorf("read the states: %w", err)
		}
		f, u := of.Frame, list[at]
		at++
		reported, ran := 0.0, 0.0
		for i, seconds := range availability.Intervals(f) {
			state := runs(f.At(series.InverterState, i), f.At(series.RunState, i))
			if math.IsNaN(state) {
				continue
			}
			span := kpi.Span{From: max(f.Times[i], u.Due.From), To: min(f.Times[i]+seconds, u.Due.To)}
			hours := r.available.Sun.Extent(span, 0).SunUpHours
			reported, ran = reported+hours, ran+hours*state
		}
		if reported > 0 {
			reported += u.Amounts[kpi.InformationUnavailable].SunUpHours
			up, known = up+ran*u.WeightKW, known+reported*u.WeightKW
		}
	}
	return up / known, nil // 0/0 is NaN
}
