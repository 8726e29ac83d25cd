package weather

import (
	"math"
	"time"

	"app.sunloop/engine/solar"
)

// Align resamples the forecast to n intervals of step from start. Irradiance
// keeps its energy: a split interval follows the course of the clear sky at
// loc, and joined intervals are averaged by time. Temperature, wind and cloud
// are interpolated linearly between middles. Where the forecast covers at most
// half of an interval, values are unknown. Columns are unchanged. Steps are
// whole seconds.
func (f Forecast) Align(loc solar.Location, start time.Time, step time.Duration, n int) Forecast {
	out := Forecast{IssuedAt: f.IssuedAt, Start: start, Step: step, Source: f.Source, Columns: f.Columns, Conditions: make([]Conditions, max(n, 0))}
	if f.Step == step && start.Sub(f.Start)%step == 0 { // the same grid
		for i := range out.Conditions {
			out.Conditions[i], _ = f.At(out.Time(i))
		}
		return out
	}
	for i := range out.Conditions {
		out.Conditions[i] = f.between(out.Time(i).Add(step / 2))
	}
	f.alignIrradiance(loc, out)
	return out
}

// between is temperature, wind and cloud at t, linear between the middles of
// intervals and level in the outer halves; irradiance is left unknown.
func (f Forecast) between(t time.Time) Conditions {
	c := Unknown()
	held, ok := f.At(t)
	if !ok {
		return c
	}
	i := int(t.Sub(f.Start) / f.Step)
	off := float64(t.Sub(f.Time(i)))/float64(f.Step) - 0.5
	other := held
	if j := i + sign(off); j >= 0 && j < len(f.Conditions) {
		other = f.Conditions[j]
	}
	w := math.Abs(off)
	c.TemperatureC = blend(held.TemperatureC, other.TemperatureC, w)
	c.WindSpeedMS = blend(held.WindSpeedMS, other.WindSpeedMS, w)
	c.CloudCover = blend(held.CloudCover, other.CloudCover, w)
	return c
}

func sign(v float64) int {
	if v < 0 {
		return -1
	}
	return 1
}

// blend goes from a to b; an unknown b leaves a.
func blend(a, b, w float64) float64 {
	if math.IsNaN(b) {
		return a
	}
	return a + w*(b-a)
}

// alignIrradiance works on cells, the largest grid common to both steps: the
// source's energy is distributed over its cells like the clear sky's, then each
// target interval averages its cells.
func (f Forecast) alignIrradiance(loc solar.Location, out Forecast) {
	if f.Step < time.Second || out.Step < time.Second {
		return
	}
	cell := gcd(gcd(f.Step, out.Step), out.Start.Sub(f.Start).Abs())
	if cell < time.Second { // the promise of whole seconds is broken: near enough
		cell = time.Second
	}
	spread := spreader{forecast: f, loc: loc, cell: cell, held: -1}
	perStep := int(out.Step / cell)
	for i := range out.Conditions {
		var sum solar.Irradiance
		known := 0
		for k := range perStep {
			if irr, ok := spread.at(out.Time(i).Add(time.Duration(k) * cell)); ok {
				sum.GHI, sum.DNI, sum.DHI = sum.GHI+irr.GHI, sum.DNI+irr.DNI, sum.DHI+irr.DHI
				known++
			}
		}
		if 2*known <= perStep {
			continue
		}
		c, count := &out.Conditions[i], float64(known)
		c.GHI, c.DNI, c.DHI = sum.GHI/count, sum.DNI/count, sum.DHI/count
	}
}

// spreader returns the irradiance of single cells, caching the clear sky of the
// current source interval.
type spreader struct {
	forecast Forecast
	loc      solar.Location
	cell     time.Duration
	held     int // source interval of clear and mean
	clear    []solar.Irradiance
	mean     solar.Irradiance
}

// dimWM2 is the clear-sky irradiance below which an interval's irradiance is
// distributed evenly, because a ratio to almost zero is meaningless.
const dimWM2 = 1

func (s *spreader) at(t time.Time) (solar.Irradiance, bool) {
	c, ok := s.forecast.At(t)
	if !ok || math.IsNaN(c.GHI) && math.IsNaN(c.DNI) && math.IsNaN(c.DHI) {
		return solar.Irradiance{}, false
	}
	i := int(t.Sub(s.forecast.Start) / s.forecast.Step)
	if i != s.held {
		s.hold(i)
	}
	k := int(t.Sub(s.forecast.Time(i)) / s.cell)
	share := func(value, clear, mean float64) float64 {
		if mean < dimWM2 {
			return value
		}
		return value * clear / mean
	}
	return solar.Irradiance{
		GHI: share(c.GHI, s.clear[k].GHI, s.mean.GHI),
		DNI: share(c.DNI, s.clear[k].DNI, s.mean.DNI),
		DHI: share(c.DHI, s.clear[k].DHI, s.mean.DHI),
	}, true
}

func (s *spreader) hold(i int) {
	s.held, s.clear, s.mean = i, s.clear[:0], solar.Irradiance{}
	n := int(s.forecast.Step / s.cell)
	for k := range n {
		mid := s.forecast.Time(i).Add(time.Duration(k)*s.cell + s.cell/2)
		irr := solar.ClearSky(mid, solar.At(mid, s.loc), s.loc, 0)
		s.clear = append(s.clear, irr)
		s.mean.GHI += irr.GHI / float64(n)
		s.mean.DNI += irr.DNI / float64(n)
		s.mean.DHI += irr.DHI / float64(n)
	}
}

// gcd of two durations; gcd(a, 0) is a.
func gcd(a, b time.Duration) time.Duration {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
