package kpi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// nowcastRange is how far a range looks back, and the step that suits it: a
// chart has one or two hundred points at most.
type nowcastRange struct{ span, step time.Duration }

var nowcastRanges = map[string]nowcastRange{
	api.Range1h:  {time.Hour, 5 * time.Minute},
	api.Range6h:  {6 * time.Hour, 5 * time.Minute},
	api.Range24h: {24 * time.Hour, 15 * time.Minute},
	api.Range7d:  {7 * 24 * time.Hour, time.Hour},
}

// isProducing says whether a unit that reports is active: it feeds in, or the sun,
// as a share of capacity that is expected, is too little for a result.
func isProducing(powerKW, capacityKW, sun float64) bool {
	return powerKW > 0.005*capacityKW || !(sun > 0.05)
}

// Nowcast is the live overview of the units within the scope that r asks for;
// without any it is empty. An empty range is 24h.
func (s *Service) Nowcast(ctx context.Context, scope api.Scope, r api.NowcastRequest) (api.Nowcast, error) {
	if r.TimeRange == "" {
		r.TimeRange = api.Range24h
	}
	q := api.ListQuery{CustomerID: r.CustomerID, SiteID: r.SiteID}
	var all []api.Asset
	err := s.records.View(ctx, func(tx store.Tx) (err error) {
		all, err = site.AssetsWithoutComponents(tx, record.Narrowest(q))
		return err
	})
	if err != nil {
		return api.Nowcast{}, fmt.Errorf("list assets: %w", err)
	}
	bySite := map[string][]api.Asset{}
	for _, a := range record.FilterScope(all, scope, q, site.AssetOwner) {
		bySite[a.SiteID] = append(bySite[a.SiteID], a)
	}
	var own []api.Site
	err = s.records.View(ctx, func(tx store.Tx) error {
		own, err = s.sites.SitesIn(tx, scope, q)
		return err
	})
	if err != nil {
		return api.Nowcast{}, fmt.Errorf("list sites: %w", err)
	}
	g := newNowcastGrid(nowcastRanges[r.TimeRange], s.now())
	for _, site := range own {
		units := bySite[site.SiteID]
		capacityKW := record.CapacityKW(site, units)
		if len(r.AssetFilter) > 0 {
			units = slices.DeleteFunc(units, func(a api.Asset) bool { return !slices.Contains(r.AssetFilter, a.AssetID) })
		}
		if err := s.nowcastSite(ctx, site, units, capacityKW, g); err != nil {
			return api.Nowcast{}, err
		}
	}
	out := api.Nowcast{LatestMetrics: g.latest.metrics(), TimeSeries: g.points(), TimeRange: r.TimeRange, StepMinutes: int(g.step / time.Minute)}
	out.LatestMetrics.TotalInverters, out.LatestMetrics.LastUpdated = g.units, g.updated
	return out, nil
}

// nowcastSum gathers what units make in one interval.
type nowcastSum struct {
	powerKW, ratedKW, temperatureC  float64
	reporting, temperatures, active int
}

func (n *nowcastSum) add(powerKW, temperatureC, capacityKW, sun float64) {
	if math.IsNaN(powerKW) {
		return
	}
	powerKW = max(powerKW, 0) // by night units draw a little
	n.powerKW, n.ratedKW, n.reporting = n.powerKW+powerKW, n.ratedKW+capacityKW, n.reporting+1
	if isProducing(powerKW, capacityKW, sun) {
		n.active++
	}
	if !math.IsNaN(temperatureC) {
		n.temperatureC, n.temperatures = n.temperatureC+temperatureC, n.temperatures+1
	}
}

func (n nowcastSum) metrics() api.NowcastMetrics {
	return api.NowcastMetrics{TotalPowerKW: record.Known(n.powerKW), AvgTemperatureC: record.Number(n.temperatureC / float64(n.temperatures)),
		AvgCapacityFactor: record.Known(100 * n.powerKW / n.ratedKW), ActiveInverters: n.active}
}

// nowcastGrid is the overview while units are added to it.
type nowcastGrid struct {
	now     time.Time
	grid    series.Series // start and step of the chart, without values
	step    time.Duration
	sums    []nowcastSum // of the chart's intervals
	latest  nowcastSum
	units   int
	updated api.Time
}

// newNowcastGrid is a chart that ends with the interval of now; none for the
// zero range.
func newNowcastGrid(r nowcastRange, now time.Time) *nowcastGrid {
	g := &nowcastGrid{now: now, step: r.step}
	if r.step > 0 {
		g.grid = series.Series{Start: now.Add(-r.span).Truncate(r.step).Add(r.step).UTC(), Step: r.step}
		g.sums = make([]nowcastSum, int(r.span/r.step))
	}
	return g
}

func (g *nowcastGrid) points() []api.NowcastPoint {
	out := []api.NowcastPoint{}
	for i, n := range g.sums {
		if n.reporting == 0 {
			continue
		}
		m := n.metrics()
		out = append(out, api.NowcastPoint{Timestamp: api.At(g.grid.Time(i)), TotalPowerKW: m.TotalPowerKW, AvgTemperatureC: m.AvgTemperatureC,
			AvgCapacityFactor: record.Number(100 * n.powerKW / n.ratedKW), ActiveInverters: m.ActiveInverters})
	}
	return out
}

// nowcastSite adds units of a site, whose whole capacity is capacityKW.
func (s *Service) nowcastSite(ctx context.Context, site api.Site, units []api.Asset, capacityKW float64, g *nowcastGrid) error {
	g.units += len(units)
	if len(units) == 0 {
		return nil
	}
	from := g.now
	if len(g.sums) > 0 {
		from = g.grid.Start
	}
	sun, err := s.expectedSun(ctx, site, capacityKW, from, g.now)
	if err != nil {
		return err
	}
	newest, err := s.telemetry.Latest(ctx, site.SiteID)
	if err != nil {
		return fmt.Errorf("read the latest samples of site %s: %w", site.SiteID, err)
	}
	capacity, charted := map[string]float64{}, []string{}
	for _, u := range units {
		capacity[u.AssetID] = u.CapacityKW
		i, ok := slices.BinarySearchFunc(newest, u.AssetID, func(f store.AssetFrame, id string) int { return strings.Compare(f.AssetID, id) })
		if !ok || newest[i].Frame.Len() == 0 {
			continue
		}
		f := newest[i].Frame
		at := time.Unix(f.Times[0], 0)
		g.updated = record.Latest(g.updated, api.At(at))
		if g.now.Sub(at) <= stale {
			g.latest.add(f.At(series.PowerKW, 0), f.At(series.TemperatureC, 0), u.CapacityKW, sun(g.now))
		}
		if at.Before(from.Add(-stale)) || len(g.sums) == 0 {
			continue
		}
		charted = append(charted, u.AssetID)
	}
	// From before the chart on, to include the sample that is valid at its start.
	for f, err := range s.telemetry.ReadUnits(ctx, site.SiteID, charted, from.Add(-stale), g.now.Add(time.Second), series.PowerKW, series.CoveredS, series.StepS, series.TemperatureC) {
		if err != nil {
			return err
		}
		power, heat := onGrid(f.Frame, series.PowerKW, g.grid, len(g.sums)), onGrid(f.Frame, series.TemperatureC, g.grid, len(g.sums))
		for i := range g.sums {
			g.sums[i].add(power.Values[i], heat.Values[i], capacity[f.AssetID], sun(g.grid.Time(i)))
		}
	}
	return nil
}

// expectedSun is what a sound plant was expected to make at a time within
// from..to, as a share of its capacity, by what was issued for the days; NaN
// where nothing was.
func (s *Service) expectedSun(ctx context.Context, site api.Site, capacityKW float64, from, to time.Time) (func(time.Time) float64, error) {
	zone := record.Zone(site.Timezone)
	days := map[int64]expectation{} // by the Unix time of midnight
	for midnight := range series.Days(from, to.Add(time.Second), zone) {
		d, err := s.forecasts.Day(ctx, site.SiteID, midnight, zone)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		if err == nil {
			days[series.Midnight(midnight, zone).Unix()] = expectation{day: d, capacityKW: capacityKW}
		}
	}
	return func(t time.Time) float64 { return days[series.Midnight(t, zone).Unix()].share(t) }, nil
}
