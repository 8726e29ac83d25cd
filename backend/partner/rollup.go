package partner

import (
	"context"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/kpi"
	"app.sunloop/backend/domain/record"
	"app.sunloop/engine/series"
)

const (
	// rollupEvery is how old a rollup may become within a day: what it is of
	// changes with late data and with faults that are found afterwards.
	rollupEvery = time.Hour
	// dawn is how late in a day a site's first sample may be for the day to be
	// whole: by night there is nothing to measure.
	dawn = 6 * time.Hour
)

// rollup covers the last whole days before end. It returns the former one while
// it is still current, and nil for a site without a whole day of data.
func (s *Service) rollup(ctx context.Context, site api.Site, units []api.Asset, end time.Time, former *api.KPIRollup) (*api.KPIRollup, error) {
	zone, now := record.Zone(site.Timezone), s.Now()
	first, _, ok, err := s.Domain.Sites.DataPeriod(ctx, site.SiteID)
	if err != nil || !ok {
		return nil, err
	}
	from, to := rollupPeriod(zone, first, end, len(units))
	if !from.Before(to) {
		return nil, nil
	}
	period := api.RollupPeriod{Start: api.DateOf(from, zone), End: api.DateOf(to.Add(-time.Second), zone), Timezone: zone.String()}
	for range series.Days(from, to, zone) {
		period.Days++
	}
	if former != nil && former.Period == period {
		if age := now.Sub(former.GeneratedAt.Time); age >= 0 && age < rollupEvery {
			return former, nil
		}
	}
	r, err := s.Domain.KPIs.Rollup(ctx, site, units, from, to)
	if err != nil {
		return nil, err
	}
	out := rollupOf(r, s.money(site), period)
	out.SiteID, out.GeneratedAt = site.SiteID, api.At(now)
	out.System = api.RollupSystem{RatedCapacityKW: rounded(record.CapacityKW(site, units)), DeviceCount: len(units)}
	return out, nil
}

// rollupPeriod are whole days of the zone: at most [api.RollupDays], fewer
// where the data began later, or where there are very many units.
func rollupPeriod(zone *time.Location, first, end time.Time, units int) (from, to time.Time) {
	to = series.Midnight(end, zone)
	days := min(api.RollupDays, api.MaxKPIUnitDays/max(units, 1))
	from = series.Midnight(to.AddDate(0, 0, -days).Add(12*time.Hour), zone)
	began := series.Midnight(first, zone)
	if first.Sub(began) > dawn {
		began = series.NextMidnight(first, zone)
	}
	if began.After(from) {
		from = began
	}
	return from, to
}

// numbers writes the numbers of a rollup: an unknown one is 0 and listed.
type numbers struct{ notKnown []string }

func (n *numbers) known(path string, v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		n.notKnown = append(n.notKnown, path)
		return 0
	}
	return rounded(v)
}

// worth is [money.worth] of energy; an unknown value is 0 and listed.
func (n *numbers) worth(m money, path string, kWh float64) (own, zar *float64) {
	if math.IsNaN(kWh) && m.currency != "" {
		n.notKnown = append(n.notKnown, path)
		if m.rate > 0 {
			n.notKnown = append(n.notKnown, path+"_zar")
		}
		kWh = 0
	}
	return m.worth(kWh)
}

// recoveries are the shares of the loss that a rollup shows as potential.
var recoveries = map[string]float64{"50pct": 0.5, "75pct": 0.75, "95pct": 0.95, "100pct": 1}

// rollupOf writes a window's figures as partners read them.
func rollupOf(r kpi.Rollup, m money, period api.RollupPeriod) *api.KPIRollup {
	out := &api.KPIRollup{Period: period, Battery: r.Battery}
	n := &numbers{notKnown: []string{}}
	nan := math.NaN()
	out.EnergyBalance = api.RollupBalance{
		ConsumptionKWh:     n.known("energy_balance.consumption_kwh", nan),
		SolarProductionKWh: n.known("energy_balance.solar_production_kwh", r.ProductionKWh),
		GridPurchasesKWh:   n.known("energy_balance.grid_purchases_kwh", nan),
		SolarOffsetPct:     n.known("energy_balance.solar_offset_pct", nan),
	}
	ratio, lost := r.Figure("performance_ratio"), r.Figure("energy_lost")
	out.Performance = api.RollupPerformance{
		SystemPR: n.known("performance.system_pr", ratio), PRTarget: api.PRTarget, PRStatus: prStatus(ratio),
		TrueUptimePct:      n.known("performance.true_uptime_pct", 100*r.Figure("time_availability")),
		StateUptimePct:     n.known("performance.state_uptime_pct", 100*r.StateUptime),
		AvailabilityPct:    n.known("performance.availability_pct", 100*r.Figure("contractual_availability")),
		AvailabilityTarget: r.Target,
	}
	out.EAR = api.RollupEAR{
		EnergyLostKWh:          n.known("ear.energy_lost_kwh", lost),
		EnergyLostPct:          n.known("ear.energy_lost_pct", 100*lost/(lost+r.ProductionKWh)),
		CapacityUtilizationPct: n.known("ear.capacity_utilization_pct", 100*r.Figure("capacity_factor")),
		RecoveryPotentialKWh:   map[string]float64{},
	}
	for name, share := range recoveries {
		out.EAR.RecoveryPotentialKWh[name] = n.known("ear.recovery_potential_kwh."+name, share*lost)
	}
	ear, fin := &out.EAR, &out.Financial
	fin.TariffCurrency, fin.TOUBreakdown = m.currency, map[string]api.TOUPeriod{}
	ear.ValueLost, ear.ValueLostZAR = n.worth(m, "ear.value_lost", lost)
	ear.RealizedSavings, ear.RealizedSavingsZAR = n.worth(m, "ear.realized_savings", r.ProductionKWh)
	ear.AnnualProjection, ear.AnnualProjectionZAR = n.worth(m, "ear.annual_projection", lost*365/float64(period.Days))
	fin.ShortfallCost, fin.ShortfallCostZAR = n.worth(m, "financial.shortfall_cost", lost)
	fin.RealizedSavings, fin.RealizedSavingsZAR = n.worth(m, "financial.realized_savings", r.ProductionKWh)
	fin.TotalPotentialValue, fin.TotalPotentialValueZAR = n.worth(m, "financial.total_potential_value", lost+r.ProductionKWh)
	if m.rate > 0 {
		fin.ZARRate = &m.rate
	}
	if own, zar := m.worth(r.ProductionKWh); own != nil {
		fin.TOUBreakdown["all"] = api.TOUPeriod{TariffPerKWh: m.tariff, EnergyKWh: rounded(r.ProductionKWh), Value: *own, ValueZAR: zar}
	}
	slices.Sort(n.notKnown)
	out.NotKnown = n.notKnown
	for _, f := range r.Figures {
		out.Figures = append(out.Figures, api.RollupFigure{Value: f.Value, DataAvailability: f.DataAvailability, KPI: f})
	}
	out.AsOf, out.Revision = r.AsOf, r.Revision
	return out
}

func prStatus(ratio float64) string {
	switch {
	case math.IsNaN(ratio):
		return api.PRUnknown
	case ratio < api.PRTarget:
		return api.PRBelowTarget
	}
	return api.PROnTarget
}
