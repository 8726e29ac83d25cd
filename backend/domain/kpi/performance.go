package kpi

import (
	"math"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/engine/kpi"
	"app.sunloop/engine/series"
	"app.sunloop/internal/display"
)

// performance are the yields and ratios of the window. Yields and performance
// ratios are by the DC rating, the capacity factor by the AC rating.
func (r *reading) performance(measured, data float64) []api.KPI {
	b := r.basis
	figure := func(name string, value float64) kpi.Figure { return kpi.NewFigure(name, value, r.from, r.to, data) }
	// Of energy the share is that which is known, as counters run through gaps of the data.
	share, ran := data, ""
	if known := r.energyKnown(); known >= kpi.LeastData && known > data {
		share, ran = known, "; known for "+display.Percentage(100*known)+" of the daylight, as counters continued through gaps"
	}
	ofEnergy := func(name string, value float64) kpi.Figure {
		f := kpi.NewFigure(name, value, r.from, r.to, share)
		f.DataAvailability = data
		return f
	}
	energyKWh := measured + r.silentKWh // yields extrapolate silent units
	produced := func(f kpi.Figure) kpi.Figure {
		f.Energy, f.Difference = r.days.shares(energyKWh), r.days.differs()
		return f
	}
	energy := ofEnergy("energy", measured)
	energy.Energy, energy.Difference = r.days.shares(measured), r.days.differs()
	reference := kpi.ReferenceYield(r.irradiance, b.due)
	yr := b.figure(figure("reference_yield", reference.Hours), false, true)
	yr.Rating = nil // it is the sun's
	if yr.Note == "" {
		yr = yr.WithCovered(reference.Covered, "Irradiance")
	}
	dc, gamma := b.rating.DCKW, b.gamma
	return []api.KPI{
		toAPI(energy, "the stored energies of the days of all units, as measured"+ran+r.days.flag()),
		toAPI(produced(b.figure(ofEnergy("specific_yield", kpi.SpecificYield(energyKWh, dc)), true, false)), basisPower+ran),
		toAPI(yr, "irradiance in the plane of the modules; missing intervals are scaled by the share of the insolation that is covered"),
		toAPI(produced(b.ratio(figure("performance_ratio", kpi.PerformanceRatio(r.power, r.irradiance, dc)), r.power)), basisPower),
		toAPI(produced(b.ratio(figure("corrected_performance_ratio", kpi.CorrectedPerformanceRatio(r.power, r.irradiance, r.cell, dc, gamma, standardCellC)), r.power)), b.words()),
		toAPI(produced(b.figure(ofEnergy("capacity_factor", kpi.CapacityFactor(energyKWh, b.rating.ACKW, r.to.Sub(r.from))), false, false)), basisPower+ran),
	}
}

// today fills in the yield and the performance ratio of a day so far, and the
// figures that show what its numbers rest on.
func (b basis) today(out *api.SiteSummary, power series.Series, stored dayEnergy, from, now time.Time) {
	due, known := 0.0, 0.0
	for i, p := range power.Values {
		if w := b.due(i); w > 0 && power.Time(i).Before(now) {
			due++
			if !math.IsNaN(p) {
				known++
			}
		}
	}
	data := known / due // 0/0 is NaN
	add := func(f kpi.Figure, basis string) *float64 {
		f.AsOf, f.Energy, f.Difference = now, stored.shares(stored.kWh), stored.differs()
		v := toAPI(f, basis)
		v.AsOf, v.DataAvailability = api.At(now), record.Number(data)
		out.Figures = append(out.Figures, v)
		return v.Value
	}
	energy, until := out.TotalKWhToday, "now"
	switch out.EnergyState {
	case api.EnergyNone:
		energy = math.NaN()
	case api.EnergyStale:
		until = api.Time(out.LastUpdated).String() + ", the newest sample"
	}
	add(kpi.NewFigure("energy", energy, from, now, 1), "as measured until "+until+stored.flag())
	out.SpecificYieldKWhKWp = add(b.figure(kpi.NewFigure("specific_yield", kpi.SpecificYield(energy, b.rating.DCKW), from, now, 1), true, false), "energy of today until "+until)
	ratio := b.figure(kpi.NewFigure("performance_ratio", kpi.PerformanceRatio(power, b.light.Series, b.rating.DCKW), from, now, 1), true, true)
	_, ratio.Excluded = kpi.RatioCoverage(power, b.light.Series, b.due)
	if v := add(ratio.CheckRatio(), "the intervals of today with power and irradiance"); v != nil {
		out.FleetPRPct = record.Percent(*v)
	}
}
