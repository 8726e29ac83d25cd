package kpi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/availability"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/engine/kpi"
	"app.sunloop/engine/series"
)

// standardCellC is the cell temperature of standard test conditions.
const standardCellC = 25

// unit is a unit on the window's grid.
type unit struct {
	id         string
	CapacityKW float64
	PowerKW    series.Series
	first      time.Time  // of its data: before it nothing was due
	gaps       []kpi.Span // of its power, with energy by its counter
}

// reading is a window of telemetry on an even grid.
type reading struct {
	siteID                  string
	zone                    *time.Location
	from, to                time.Time
	step                    time.Duration
	units                   []unit
	places                  map[string]int // of the units, by id
	ratedKW                 float64
	power, irradiance, cell series.Series // of the site
	known                   int           // intervals with power
	sensor                  string        // a unit that measures irradiance
	sensors                 []kpi.Sensor  // of irradiance, as measured
	air, wind               []float64     // °C, m/s, as measured
	forecast                []float64     // P50 as a share of the rating
	backcast                bool          // of a day it was computed afterwards
	available               *availability.Reading
	basis                   basis
	days                    dayEnergy
	silentKWh               float64 // what silent units made, by the others
}

// gridMean collects values on a grid.
type gridMean struct{ sum, n []float64 }

func newGridMean(n int) *gridMean { return &gridMean{make([]float64, n), make([]float64, n)} }

func (m *gridMean) add(one series.Series) {
	for i, v := range one.Values {
		if !math.IsNaN(v) {
			m.sum[i] += v
			m.n[i]++
		}
	}
}

func (m *gridMean) values() []float64 {
	out := make([]float64, len(m.sum))
	for i := range out {
		out[i] = m.sum[i] / m.n[i] // 0/0 is NaN
	}
	return out
}

// longWindow is the window above which hours take the place of quarter hours.
const longWindow = 31 * 24 * time.Hour

// read keeps of each unit its power on the grid.
func (s *Service) read(ctx context.Context, site api.Site, units []api.Asset, from, to time.Time) (*reading, error) {
	r := &reading{siteID: site.SiteID, zone: record.Zone(site.Timezone), from: from, to: to, step: ratioStep}
	if to.Sub(from) > longWindow {
		r.step = time.Hour
	}
	start := time.Unix(from.Unix()-from.Unix()%int64(r.step/time.Second), 0).UTC()
	n := int((to.Sub(start) + r.step - 1) / r.step)
	grid := func(values []float64) series.Series {
		return series.Series{Start: start, Step: r.step, Values: values}
	}
	air, wind := newGridMean(n), newGridMean(n)
	ratings, err := s.ratings(ctx, site, units)
	if err != nil {
		return nil, err
	}
	var sensors []kpi.Sensor
	var reporting []api.Asset
	places := map[string]int{}
	r.places = places
	for _, u := range units {
		if !(u.CapacityKW > 0) {
			continue
		}
		first, _, ok, err := s.telemetry.Period(ctx, site.SiteID, u.AssetID)
		if err != nil {
			return nil, fmt.Errorf("read the period of asset %s: %w", u.AssetID, err)
		}
		if !ok || !first.Before(to) {
			continue
		}
		places[u.AssetID] = len(r.units)
		r.units = append(r.units, unit{id: u.AssetID, CapacityKW: u.CapacityKW, first: first, PowerKW: grid(unknown(n))})
		r.ratedKW += u.CapacityKW
		reporting = append(reporting, u)
	}
	add := func(id string, f series.Frame) {
		i, counted := places[id]
		if !counted {
			return
		}
		on := func(q series.Quantity) series.Series { return onGrid(f, q, grid(nil), n) }
		sun := on(series.IrradianceWM2)
		if r.sensor == "" && slices.ContainsFunc(sun.Values, func(v float64) bool { return v > 0 }) {
			r.sensor = id
		}
		if len(sensors) < maxSensors && slices.ContainsFunc(sun.Values, func(v float64) bool { return !math.IsNaN(v) }) {
			one := sensorOf(site, reporting[i])
			one.Values = sun
			sensors = append(sensors, one)
		}
		air.add(on(series.TemperatureC))
		wind.add(on(series.WindSpeedMS))
		r.units[i].PowerKW, r.units[i].gaps = on(series.PowerKW), countedGaps(f, r.units[i].CapacityKW)
	}
	if r.available, err = s.availability.ReadWith(ctx, site, units, from, to, add, series.TemperatureC, series.WindSpeedMS); err != nil {
		return nil, err
	}
	r.power = grid(make([]float64, n))
	r.sum()
	if r.basis, err = s.readBasis(ctx, site, reporting, ratings, sensors, r.power, to); err != nil {
		return nil, err
	}
	r.irradiance, r.sensors, r.air, r.wind = r.basis.light.Series, sensors, air.values(), wind.values()
	if r.days, err = s.windowEnergy(ctx, r, record.AssetIDs(units)); err != nil {
		return nil, err
	}
	r.cell = cells(r.basis.mounts, r.irradiance, r.air, r.wind)
	return r, s.readExpected(ctx, r)
}

// unknown are n values that are not known.
func unknown(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.NaN()
	}
	return out
}

// onGrid is a quantity of f on n intervals from the grid's start.
func onGrid(f series.Frame, q series.Quantity, grid series.Series, n int) series.Series {
	even := f.Resample(q, grid.Step)
	grid.Values = make([]float64, n)
	for i := range grid.Values {
		grid.Values[i] = even.At(grid.Time(i))
	}
	return grid
}

// cells are cell temperatures; NaN where irradiance or air is not known.
func cells(mounting kpi.Mounting, irradiance series.Series, airC, windMS []float64) series.Series {
	out := irradiance
	out.Values = make([]float64, len(irradiance.Values))
	for i, g := range irradiance.Values {
		out.Values[i] = math.NaN()
		if !math.IsNaN(airC[i]) {
			out.Values[i] = mounting.CellTemperatureC(g, airC[i], windMS[i])
		}
	}
	return out
}

// sum makes the site's power, where units of half the rating reported. Where a counter
// ran through a gap of a unit, its energy is measured and not that of a silent unit.
func (r *reading) sum() {
	for i := range r.power.Values {
		total, reporting, counted, n := 0.0, 0.0, 0.0, 0
		middle := r.power.Time(i).Add(r.step / 2).Unix()
		for k := range r.units {
			u := &r.units[k]
			switch p := u.PowerKW.Values[i]; {
			case !math.IsNaN(p):
				total, reporting, n = total+p, reporting+u.CapacityKW, n+1
			case u.inGap(middle):
				counted += u.CapacityKW
			}
		}
		r.power.Values[i] = math.NaN()
		if n > 0 && 2*reporting >= r.ratedKW {
			r.power.Values[i] = total * r.ratedKW / reporting
			if silent := r.ratedKW - reporting; silent > 0 {
				r.silentKWh += max(r.power.Values[i]-total, 0) * max(silent-counted, 0) / silent * r.step.Hours()
			}
			r.known++
		}
	}
}

// readExpected reads the forecasts that were issued for the window's days.
func (s *Service) readExpected(ctx context.Context, r *reading) error {
	r.forecast = unknown(len(r.power.Values))
	for from, to := range series.Days(r.from, r.to, r.zone) {
		d, err := s.forecasts.Day(ctx, r.siteID, from, r.zone)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		r.backcast = r.backcast || d.Backcast != nil
		e := expectation{day: d, capacityKW: r.ratedKW}
		first := max(int((from.Sub(r.power.Start)+r.step-1)/r.step), 0)
		for i := first; i < len(r.forecast) && r.power.Time(i).Before(to); i++ {
			// The least of the interval's ends, so that dawn and dusk within it
			// do not count as useful.
			r.forecast[i] = math.Min(e.share(r.power.Time(i)), e.share(r.power.Time(i+1)))
		}
	}
	return nil
}
