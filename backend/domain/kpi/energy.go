package kpi

import (
	"context"
	"fmt"
	"math"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/engine/energy"
	"app.sunloop/engine/kpi"
	"app.sunloop/engine/series"
	"app.sunloop/internal/display"
)

// dayEnergy is the production of units in a window: that of telemetry, dailies and
// reports. kWh is NaN for a window without data.
type dayEnergy struct {
	kWh, counter, interval, extrapolated float64

	// As in [store.DaySum], of the days that the window touches.
	compared, difference float64
}

func (e *dayEnergy) add(kWh float64, of store.DaySources) {
	e.kWh, e.counter, e.interval, e.extrapolated = e.kWh+kWh, e.counter+of.CounterKWh, e.interval+of.IntervalKWh, e.extrapolated+of.ExtrapolatedKWh
	e.compared, e.difference = e.compared+of.ComparedKWh, e.difference+of.DifferenceKWh
}

// shares are those of an energy that is at least e; the rest was extrapolated.
func (e dayEnergy) shares(kWh float64) *kpi.EnergyShares {
	if !(kWh > 0) || !(e.kWh >= 0) {
		return nil
	}
	return &kpi.EnergyShares{Counter: e.counter / kWh, Interval: e.interval / kWh, Extrapolated: (e.extrapolated + kWh - e.kWh) / kWh,
		Power: max(e.kWh-e.counter-e.interval-e.extrapolated, 0) / kWh}
}

// differs compares counters and interval energy with power; nil if nothing was
// measured twice. A difference of more than [energy.DifferenceLimit] is flagged.
func (e dayEnergy) differs() *kpi.Difference {
	s := energy.Sum{ComparedKWh: e.compared, DifferenceKWh: e.difference}
	share, ok := s.Difference()
	if !ok {
		return nil
	}
	return &kpi.Difference{Share: share, ComparedKWh: e.compared, Flagged: math.Abs(share) > energy.DifferenceLimit}
}

// flag is a clause about a difference that is flagged; else empty.
func (e dayEnergy) flag() string {
	d := e.differs()
	if d == nil || !d.Flagged {
		return ""
	}
	return fmt.Sprintf("; counters and interval energy differ from power by %s, more than %s", display.Change(100*d.Share), display.Percentage(100*energy.DifferenceLimit))
}

// windowEnergy is the production of units in the window of r: the stored sums of
// whole days and of the day so far, and of the other days the samples in the
// window, as records show them.
func (s *Service) windowEnergy(ctx context.Context, r *reading, ids []string) (dayEnergy, error) {
	var e dayEnergy
	if len(ids) == 0 {
		return dayEnergy{kWh: math.NaN()}, nil
	}
	first, last, known := r.from, series.Midnight(r.to, r.zone), false
	part := func(from, to time.Time) error {
		ok, err := s.addPart(ctx, &e, r, ids, from, to)
		known = known || ok
		return err
	}
	if !r.from.Equal(series.Midnight(r.from, r.zone)) {
		if first = series.NextMidnight(r.from, r.zone); r.to.Before(first) {
			first = r.to
		}
		if err := part(r.from, first); err != nil {
			return e, err
		}
	}
	running := !r.to.Before(s.now())
	if running {
		last = r.to
	}
	if first.Before(last) {
		sums, err := s.telemetry.Daily(ctx, r.siteID, first, last, ids...)
		if err != nil {
			return e, fmt.Errorf("read the days of site %s: %w", r.siteID, err)
		}
		for _, d := range sums {
			e.add(d.EnergyKWh, d.Parts())
		}
		known = known || len(sums) > 0
	}
	if !last.Before(first) && last.Before(r.to) {
		if err := part(last, r.to); err != nil {
			return e, err
		}
	}
	if !known {
		e.kWh = math.NaN()
	}
	return e, nil
}

// addPart adds the production from..to of units, a part of one day; it reports
// whether there is a sample.
func (s *Service) addPart(ctx context.Context, e *dayEnergy, r *reading, ids []string, from, to time.Time) (known bool, err error) {
	steps, err := s.telemetry.Steps(ctx, r.siteID)
	if err != nil {
		return false, fmt.Errorf("read the steps of site %s: %w", r.siteID, err)
	}
	day, next, now := series.Midnight(from, r.zone), series.NextMidnight(from, r.zone), s.now()
	var sum energy.Integrator
	var each []energy.Sample
	for of, err := range s.telemetry.ReadUnits(ctx, r.siteID, ids, day, next, energy.Quantities...) {
		if err != nil {
			return known, err
		}
		f := of.Frame
		if f.Len() == 0 {
			continue
		}
		in := energy.FrameInput(f, day.Unix(), next.Unix(), steps[of.AssetID])
		if now.Before(next) {
			in.Now = now.Unix()
		}
		var total energy.Sum
		each, total = sum.Samples(each[:0], in)
		produced, of := 0.0, store.DaySources{ComparedKWh: total.ComparedKWh, DifferenceKWh: total.DifferenceKWh}
		if since(f.Times, each) >= from.Unix() && f.Times[f.Len()-1] < to.Unix() { // with what a counter measured at times without power
			of.CounterKWh, of.IntervalKWh, of.ExtrapolatedKWh = total.CounterKWh, total.IntervalKWh, total.ExtrapolatedKWh
			known = known || total.Source() != energy.None
			e.add(total.ProductionKWh, of)
			continue
		}
		for i, one := range each {
			kWh := max(one.Within(f.Times[i], from.Unix(), to.Unix()), 0)
			if inside := f.Times[i] >= from.Unix() && f.Times[i] < to.Unix() && !math.IsNaN(one.KWh); !inside && kWh == 0 {
				continue
			}
			known = true
			produced += kWh
			switch one.Source {
			case energy.Counter:
				of.CounterKWh += kWh
			case energy.Interval:
				of.IntervalKWh += kWh
			}
		}
		e.add(produced, of)
	}
	return known, nil
}

// since is the first second of which samples at stamps have energy.
func since(times []int64, each []energy.Sample) int64 {
	first := times[0]
	for i, one := range each {
		first = min(first, times[i]-one.GapS)
	}
	return first
}
