package kpi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/forecast"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/engine/kpi"
	"app.sunloop/engine/series"
)

// SiteSummary is a site's vital signs: today is the site's day so far.
func (s *Service) SiteSummary(ctx context.Context, scope api.Scope, siteID string) (api.SiteSummary, error) {
	site, err := s.sites.Site(ctx, scope, siteID)
	if err != nil {
		return api.SiteSummary{}, err
	}
	units, err := s.sites.SiteAssets(ctx, siteID)
	if err != nil {
		return api.SiteSummary{}, err
	}
	sum, _, err := s.today(ctx, site, units)
	return sum, err
}

// today is a site's day so far, and its power over the expected by the hour.
func (s *Service) today(ctx context.Context, site api.Site, units []api.Asset) (api.SiteSummary, []*float64, error) {
	siteID := site.SiteID
	now, zone := s.now(), record.Zone(site.Timezone)
	midnight := series.Midnight(now, zone)
	out := api.SiteSummary{TotalInverters: len(units), ServiceTime: api.At(now), PowerState: api.PowerNone, EnergyState: api.EnergyNone}
	sums, err := s.telemetry.Daily(ctx, siteID, midnight, series.NextMidnight(now, zone))
	if err != nil {
		return out, nil, fmt.Errorf("read today's energy of site %s: %w", siteID, err)
	}
	var stored dayEnergy
	for _, d := range sums {
		if d.Samples > 0 || d.EnergyKWh > 0 {
			out.EnergyState = api.EnergyMeasured
		}
		out.TotalKWhToday += d.EnergyKWh
		stored.add(d.EnergyKWh, d.Parts())
	}
	out.TotalKWhToday = record.Known(out.TotalKWhToday)

	day, err := s.forecasts.Day(ctx, siteID, now, zone)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return out, nil, err
	}
	expect := expectation{day: day, capacityKW: record.CapacityKW(site, units)}
	if err == nil {
		out.ExpectedPowerKW = record.Number(day.At(day.P50KW, now))
		out.ExpectedKWhSoFar = record.Number(day.EnergyKWh(day.Start, now))
		if !day.FirstIssuedAt.IsZero() { // of the same issues: what is expected so far is a part of it
			out.ExpectedKWhToday = record.Number(day.EnergyKWh(day.Start, day.End()))
		}
	}
	if err := s.latest(ctx, siteID, units, expect, now, &out); err != nil {
		return out, nil, err
	}
	if now.After(midnight) {
		r, err := s.availability.Read(ctx, site, units, midnight, now)
		if err != nil {
			return out, nil, err
		}
		out.FleetAvailabilityPct = record.Percent(r.Figures().Time)
	}
	power, err := s.ratios(ctx, site, units, expect, stored, midnight, now, &out)
	return out, expect.hours(power, series.NextMidnight(now, zone)), err
}

// expectation is what a sound plant would make, as a share of its capacity.
type expectation struct {
	day        forecast.Day
	capacityKW float64
}

// share at t is by the P50 as issued; NaN when nothing was issued.
func (e expectation) share(t time.Time) float64 {
	if !(e.capacityKW > 0) {
		return math.NaN()
	}
	return e.day.At(e.day.P50KW, t) / e.capacityKW
}

// leastExpected is the share of capacity below which measured and expected
// power are not compared: near dawn and dusk small errors of either are large.
const leastExpected = 0.05

// hours are the power of each hour, until the end of the day, over what was
// expected; nil where there is nothing to compare.
func (e expectation) hours(power series.Series, end time.Time) []*float64 {
	out := []*float64{}
	for from := power.Start; from.Before(end); from = from.Add(time.Hour) {
		var is, due float64
		for t := from; t.Before(from.Add(time.Hour)); t = t.Add(power.Step) {
			p, want := power.At(t), e.share(t.Add(power.Step/2))
			if !math.IsNaN(p) && want > leastExpected {
				is, due = is+p, due+want*e.capacityKW
			}
		}
		ratio := math.NaN()
		if due > 0 {
			ratio = max(is/due, 0)
		}
		out = append(out, record.Number(ratio))
	}
	return out
}

// stale is how old a unit's newest sample may be before the unit no longer
// counts as reporting: two intervals of the slowest (hourly) exports.
const stale = api.PowerStaleAfter

// latest fills in power and counts: a unit is active while it reports and,
// when the sun should give more than 5 % of capacity, feeds in.
func (s *Service) latest(ctx context.Context, siteID string, units []api.Asset, expect expectation, now time.Time, out *api.SiteSummary) error {
	frames, err := s.telemetry.Latest(ctx, siteID)
	if err != nil {
		return fmt.Errorf("read the latest samples of site %s: %w", siteID, err)
	}
	capacity := map[string]float64{}
	for _, u := range units {
		capacity[u.AssetID] = u.CapacityKW
	}
	sun, measured := expect.share(now), 0
	for _, f := range frames {
		if f.Frame.Len() == 0 {
			continue
		}
		at := time.Unix(f.Frame.Times[f.Frame.Len()-1], 0)
		out.LastUpdated = api.NullTime(record.Latest(api.Time(out.LastUpdated), api.At(at)))
		power := f.Frame.At(series.PowerKW, f.Frame.Len()-1)
		if now.Sub(at) > stale || math.IsNaN(power) {
			continue
		}
		measured++
		out.TotalPowerKW += max(power, 0)
		if isProducing(power, capacity[f.AssetID], sun) {
			out.ActiveInverters++
		}
	}
	out.TotalPowerKW = record.Known(out.TotalPowerKW)
	switch {
	case measured > 0:
		out.PowerState = api.PowerMeasured
	case out.LastUpdated.IsZero():
		out.PowerState = api.PowerNone
	default:
		out.PowerState = api.PowerStale
	}
	if out.EnergyState == api.EnergyMeasured && now.Sub(api.Time(out.LastUpdated).Time) > stale {
		out.EnergyState = api.EnergyStale
	}
	return nil
}

// ratioStep is the grid on which today's ratios are made.
const ratioStep = 15 * time.Minute

// ratios fills in the performance ratio of today so far, and returns the site's
// power on its grid.
func (s *Service) ratios(ctx context.Context, site api.Site, units []api.Asset, expect expectation, stored dayEnergy, from, now time.Time, out *api.SiteSummary) (series.Series, error) {
	var sum []float64 // site power on the grid
	var sensors []kpi.Sensor
	n := int(now.Sub(from)/ratioStep) + 1
	total, reporting := make([]float64, n), make([]float64, n)
	at := 0
	for of, err := range s.telemetry.ReadUnits(ctx, site.SiteID, record.AssetIDs(units), from, now.Add(time.Second), series.PowerKW, series.CoveredS, series.StepS, series.IrradianceWM2) {
		if err != nil {
			return series.Series{}, err
		}
		f, u := of.Frame, units[at]
		at++
		if f.Len() == 0 {
			continue
		}
		power := grid(f, series.PowerKW, from, n)
		light := grid(f, series.IrradianceWM2, from, n)
		if len(sensors) < maxSensors && slices.ContainsFunc(light.Values, func(v float64) bool { return !math.IsNaN(v) }) {
			one := sensorOf(site, u)
			one.Values = light
			sensors = append(sensors, one)
		}
		for i := range n {
			if p := power.Values[i]; !math.IsNaN(p) {
				total[i] += p
				reporting[i] += u.CapacityKW
			}
		}
	}
	capacity := 0.0
	for _, u := range units {
		capacity += u.CapacityKW
	}
	for i := range n {
		p := math.NaN()
		if reporting[i] > 0 {
			p = total[i] * expect.capacityKW / reporting[i]
		}
		sum = append(sum, p)
	}
	power := series.Series{Start: from, Step: ratioStep, Values: sum}
	ratings, err := s.ratings(ctx, site, units)
	if err != nil {
		return power, err
	}
	b, err := s.readBasis(ctx, site, units, ratings, sensors, power, now)
	if err != nil {
		return power, err
	}
	scaled := power // to the units' capacity, which their ratings are of
	scaled.Values = slices.Clone(power.Values)
	for i := range scaled.Values {
		scaled.Values[i] *= capacity / expect.capacityKW
	}
	b.today(out, scaled, stored, from, now)
	return power, nil
}

// grid puts a quantity on n intervals of ratioStep from a site's midnight.
func grid(f series.Frame, q series.Quantity, from time.Time, n int) series.Series {
	out := series.Series{Start: from, Step: ratioStep, Values: make([]float64, n)}
	s := f.Resample(q, ratioStep)
	for i := range out.Values {
		out.Values[i] = s.At(out.Time(i))
	}
	return out
}
