// Package kpi makes KPIs of a site: KPIs and rollups of a window, the summary
// of the day, the live overview and the fleet. All use one reading of telemetry,
// forecasts, findings and issues.
package kpi

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/availability"
	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/store"
	"app.sunloop/engine/kpi"
	"app.sunloop/engine/series"
	"app.sunloop/internal/display"
)

// Service computes KPIs of what is stored. It keeps the figures of windows that are
// over, so that they change only with a revision.
type Service struct {
	records      store.Records
	telemetry    store.Telemetry
	now          func() time.Time
	sites        *site.Service
	models       *model.Service
	forecasts    *forecast.Service
	roles        roleCache
	availability *availability.Service
}

// New returns a Service over a store. now is the plant's clock.
func New(records store.Records, telemetry store.Telemetry, now func() time.Time, sites *site.Service, models *model.Service, forecasts *forecast.Service,
	availability *availability.Service) *Service {
	return &Service{records: records, telemetry: telemetry, now: now, sites: sites, models: models, forecasts: forecasts, availability: availability}
}

// KPIs are the site's KPIs from <= t < to, made from its stored
// telemetry, findings and issues. A zero to is the site's last midnight, a zero
// from 30 days before to; what lies after now is cut off. A window that is
// empty or too large for the number of units is a 400.
func (s *Service) KPIs(ctx context.Context, scope api.Scope, siteID string, from, to time.Time) (api.KPIs, error) {
	site, err := s.sites.Site(ctx, scope, siteID)
	if err != nil {
		return api.KPIs{}, err
	}
	units, err := s.sites.SiteAssets(ctx, siteID)
	if err != nil {
		return api.KPIs{}, err
	}
	from, to, err = s.window(record.Zone(site.Timezone), from, to, len(units))
	if err != nil {
		return api.KPIs{}, err
	}
	r, err := s.read(ctx, site, units, from, to)
	if err != nil {
		return api.KPIs{}, err
	}
	found, err := s.readEvents(ctx, siteID, r.zone)
	if err != nil {
		return api.KPIs{}, err
	}
	long, err := s.readYears(ctx, r, to)
	if err != nil {
		return api.KPIs{}, err
	}
	return s.keep(ctx, r, site, units, r.figures(site, found, long))
}

func (s *Service) window(zone *time.Location, from, to time.Time, units int) (time.Time, time.Time, error) {
	now := s.now()
	end := "to"
	if to.IsZero() {
		to, end = series.Midnight(now, zone), "the last midnight, which is the end of the window without to,"
	}
	if to.After(now) {
		to, end = now, "now,"
	}
	if from.IsZero() {
		from = series.Midnight(to.Add(-1), zone).AddDate(0, 0, 1-api.DefaultKPIDays)
	}
	if !from.Before(to) {
		return from, to, api.InvalidParameter("from", fmt.Sprintf("must be before %s %s", end, api.At(to)))
	}
	most := api.MaxKPIUnitDays / max(units, 1)
	if asked := to.Sub(from); asked > time.Duration(most)*24*time.Hour {
		return from, to, api.InvalidParameter("from", fmt.Sprintf("the window from %s to %s has %s; for a site of %s a window has at most %d days, so from must be %s or later",
			api.At(from), api.At(to), display.CountOf(int(asked.Hours()/24), "day", "days"), display.CountOf(units, "unit", "units"), most, api.At(to.AddDate(0, 0, -most))))
	}
	return from, to, nil
}

// Words for what went into figures.
const (
	basisPower       = "mean power; silent units are estimated from the others, by rating"
	basisFound       = "losses that detection found, in the hours in which they occurred"
	basisYears       = "days with 1 kWh/m² or more, insolation of one unit's sensor, cell temperature to 25 °C where air is measured"
	basisRepair      = "failures of inverters, strings, trackers and insulation that ended in the window"
	basisOperational = "sun-up time of all installed units, by rating; only units in service count as available, and silent units do not; readings, findings, work orders and changes by people give the category"
)

// figures makes all figures of what was read.
func (r *reading) figures(site api.Site, found events, long years) api.KPIs {
	data := r.available.DataAvailability
	out := api.KPIs{SiteID: site.SiteID, From: api.At(r.from), To: api.At(r.to), StepMinutes: int(r.step / time.Minute), Units: len(r.units), RatedKW: record.Known(r.ratedKW),
		DataAvailability: record.Number(data), Reportable: data >= kpi.LeastData, UsefulBy: []string{}, Figures: []api.KPI{}, Categories: []api.CategoryHours{}}
	add := func(name string, value float64, basis string) *api.KPI {
		out.Figures = append(out.Figures, toAPI(kpi.NewFigure(name, value, r.from, r.to, data), basis))
		return &out.Figures[len(out.Figures)-1]
	}
	energy := r.days.kWh
	add("data_availability", data, "daylight that samples cover, of all installed units, by rating")
	out.Figures = append(out.Figures, r.performance(energy, data)...)
	out.Ratings, out.Irradiance = ratingsToAPI(r.basis.rating), irradianceToAPI(r.basis.light, true)

	out.UsefulBy = append(out.UsefulBy, r.available.UsefulBy...)
	up := r.available.Figures()
	operational, contract := kpi.OperationalRules(), r.available.Contract
	add("time_availability", up.Time, basisOperational).Excluded = excludedHours(r.available.Amounts, operational, kpi.SunUpHours)
	add("contractual_availability", up.Contractual, basisContract(contract)).Excluded = excludedHours(r.available.Amounts, contract.Rules, contract.Extent())
	out.Categories = append(out.Categories, categoryHours(r.available.Amounts)...)
	add("energy_availability", up.Energy, basisOperational+"; weighted by the expected energy").Excluded = excludedHours(r.available.Amounts, operational, kpi.SunUpHours)
	lost := found.lostKWh(r.from, r.to, nil)
	add("energy_lost", lost, basisFound)
	if site.TariffPerKWh > 0 && site.Currency != "" {
		f := add("revenue_lost", lost*site.TariffPerKWh, basisFound+", at the site's tariff")
		f.Unit = site.Currency
	}
	add("soiling_ratio", r.soiling(found), basisFound)

	loss := kpi.PerformanceLossRate(long.days)
	f := toAPI(kpi.NewFigure("performance_loss_rate", loss.PercentPerYear, long.from, r.to, long.share), basisYears)
	if f.Reportable {
		f.Low, f.High = record.Number(loss.Low), record.Number(loss.High)
	} else if long.share >= kpi.LeastData {
		f.Note = "Too few pairs of days a year apart: " + fmt.Sprint(loss.Pairs) + "."
	}
	out.Figures = append(out.Figures, f)

	served := r.available.InServiceHours()
	failures := found.failures(r.from, r.to)
	mtbf := kpi.MeanTimeBetweenFailuresH(served, found.begun(r.from, r.to))
	explainMissing(add("mtbf", mtbf, "sun-up hours in service of all units, over failures that began in the window"), math.IsInf(mtbf, 1), "Nothing failed in the window.")
	times := kpi.RepairTimes(failures)
	for _, of := range []struct {
		name  string
		value float64
		note  string
	}{
		{"mttr_mean", times.MeanToRepairH, "No failure ended in the window."},
		{"mttr_median", times.MedianToRepairH, "No failure ended in the window."},
		{"mttd_mean", times.MeanToDetectH, "No failure ended in the window."},
		{"mtta_mean", times.MeanToAcknowledgeH, "No failure that ended in the window was acknowledged."},
	} {
		explainMissing(add(of.name, of.value, basisRepair), math.IsNaN(of.value), of.note)
	}
	if r.known > 0 && !math.IsNaN(energy) {
		out.Losses = r.waterfall(found, energy)
	}
	return out
}

// expectedKWh returns the P50 as issued over the intervals with measured power; NaN
// if a fiftieth of them or more has no forecast.
func (r *reading) expectedKWh() float64 {
	sum, missing := 0.0, 0
	for i, p := range r.power.Values {
		switch share := r.forecast[i]; {
		case math.IsNaN(p):
		case math.IsNaN(share):
			missing++
		default:
			sum += share * r.ratedKW * r.step.Hours()
		}
	}
	if 50*missing >= r.known {
		return math.NaN()
	}
	return sum
}

// waterfall leads from the expected energy of the window to the measured energy.
func (r *reading) waterfall(found events, actualKWh float64) *api.Losses {
	lost := map[string]float64{}
	for i, f := range found.findings {
		lost[f.FaultFamily] += found.losses[i].Between(r.from, r.to)
	}
	expected := r.expectedKWh()
	w := kpi.NewWaterfall(expected, actualKWh, lost)
	out := &api.Losses{ExpectedBy: api.ExpectedByForecast, ByCause: []api.LossCause{}, ActualKWh: record.Known(actualKWh)}
	switch {
	case math.IsNaN(expected):
		out.ExpectedBy = api.ExpectedByLosses
	case r.backcast:
		out.ExpectedBy = api.ExpectedByBackcast
	}
	left := record.Known(w.ExpectedKWh)
	out.ExpectedKWh = left
	for _, c := range w.Causes {
		if kWh := record.Known(c.KWh); kWh > 0 {
			out.ByCause = append(out.ByCause, api.LossCause{FaultFamily: c.Name, LostKWh: kWh})
			left -= kWh
		}
	}
	out.UnexplainedKWh = record.Known(left - out.ActualKWh) // of the rounded values, so that they close
	return out
}

// explainMissing notes the known reason why a figure could not be made,
// unless too little data is the reason.
func explainMissing(f *api.KPI, holds bool, note string) {
	if holds && f.DataAvailability != nil && *f.DataAvailability >= kpi.LeastData {
		f.Value, f.Reportable, f.Note = nil, false, note
	}
}

// toAPI is a figure as clients read it.
func toAPI(f kpi.Figure, basis string) api.KPI {
	out := api.KPI{Name: f.Name, Value: record.Number(f.Value), Unit: f.Unit, From: api.At(f.From), To: api.At(f.To), Source: f.Source, Basis: basis,
		DataAvailability: record.Number(f.DataAvailability), Reportable: f.Reportable(), Note: f.Note, Suspect: string(f.Suspect), Formula: f.Formula, Covered: record.Number(f.Covered)}
	if r := f.Rating; r != nil {
		out.Rating = &api.FigureRating{KW: record.Known(r.KW), Side: "ac", Source: string(r.Source), Inferred: r.Source != kpi.RatingSet}
		if r.DC {
			out.Rating.Side = "dc"
		}
	}
	if f.Irradiance != nil {
		out.Irradiance = irradianceToAPI(*f.Irradiance, false)
	}
	if e := f.Energy; e != nil {
		out.Energy = &api.EnergyShares{Power: record.Known(e.Power), Counter: record.Known(e.Counter), Interval: record.Known(e.Interval), Extrapolated: record.Known(e.Extrapolated)}
	}
	if d := f.Difference; d != nil {
		out.Difference = &api.EnergyDifference{Share: record.Known(d.Share), ComparedKWh: record.Known(d.ComparedKWh), Flagged: d.Flagged}
	}
	for _, e := range f.Excluded {
		out.Excluded = append(out.Excluded, api.ExcludedHours{Category: e.Category, Hours: record.Known(e.Hours)})
	}
	return out
}

// basisContract states the rules of a contract.
func basisContract(c availability.Contract) string {
	time := "sun-up time"
	if c.AllTime {
		time = "all time"
	}
	excluded := []string{}
	for _, category := range kpi.Categories() {
		if c.Rules[category] == kpi.TreatExcluded {
			excluded = append(excluded, strings.ReplaceAll(string(category), "_", " "))
		}
	}
	return fmt.Sprintf("%s of all installed units, by rating; target %s; excluded: %s", time, display.Percentage(100*c.Target), strings.Join(excluded, ", "))
}

// excludedHours are the hours, by one extent, of the categories that rules exclude.
func excludedHours(a kpi.Amounts, rules kpi.Rules, extent func(kpi.Amount) float64) (out []api.ExcludedHours) {
	for _, c := range kpi.Categories() {
		if hours := extent(a[c]); hours > 0 && rules[c] == kpi.TreatExcluded {
			out = append(out, api.ExcludedHours{Category: string(c), Hours: record.Known(hours)})
		}
	}
	return out
}

// categoryHours returns the sun-up hours of each category.
func categoryHours(amounts kpi.Amounts) []api.CategoryHours {
	var list []api.CategoryHours
	all := 0.0
	for _, c := range kpi.Categories() {
		all += amounts[c].SunUpHours
	}
	for _, c := range kpi.Categories() {
		hours := amounts[c].SunUpHours
		list = append(list, api.CategoryHours{Category: string(c), Hours: record.Known(hours), Share: record.Known(hours / all)})
	}
	return list
}
