package pipeline

import (
	"context"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/ops"
	"app.sunloop/engine/forecast"
	"app.sunloop/engine/series"
	"app.sunloop/engine/weather"
)

// modelStep is the step of forecasts: hours, as the contract's answers are, so
// that their bands are those of hourly means.
const modelStep = time.Hour

// history is a site's past on an even grid. Only what was asked for is there.
type history struct {
	power      series.Series    // kW, of the whole site
	weather    []weather.Column // what the customer's files have of it
	reported   *sumOf           // power of the units that reported and, as weights, their capacity
	capacityKW float64          // of all units that ever did
	points     int              // intervals with power
	days       int              // site days with power

	siblings []forecast.Sibling // of the fleet, while its seasons are new
	young    bool               // too few days to train on its own
}

// weatherQuantities are what files have of the weather, each a column under
// the quantity's name. Whether irradiance was measured in the plane of the
// modules or flat, files rarely say; most sensors stand in the plane.
var weatherQuantities = []struct {
	from     series.Quantity
	as       weather.Quantity
	measured bool
}{
	{series.PredictedGHIWM2, weather.GHI, false},
	{series.PredictedTempC, weather.AirTemperature, false},
	{series.IrradianceWM2, weather.POA, true},
	{series.TemperatureC, weather.AirTemperature, true},
	{series.WindSpeedMS, weather.WindSpeed, true},
}

// of is a quantity of the weather; empty where no file has it.
func (h history) of(q series.Quantity) series.Series {
	for _, c := range h.weather {
		if c.Name == q.String() {
			return c.Series
		}
	}
	return series.Series{}
}

// reportingShare is the share of capacity that must report for an interval to
// stand for the site.
const reportingShare = 0.3

// readHistory sums the site's units over from..to. Where some units are silent
// the others stand for them by capacity.
func (p *Pipeline) readHistory(ctx context.Context, siteID string, units []api.Asset, from, to time.Time, step time.Duration, zone *time.Location) (history, error) {
	from, to = from.UTC().Truncate(step), to.UTC()
	n := int((to.Sub(from) + step - 1) / step)
	if n <= 0 {
		return history{}, nil
	}
	sum := newSum(n)
	wanted, extra := []series.Quantity{series.PowerKW}, map[series.Quantity]*sumOf{}
	for _, w := range weatherQuantities {
		wanted, extra[w.from] = append(wanted, w.from), newSum(n)
	}
	capacity := 0.0
	i := 0
	for of, err := range p.Telemetry.ReadUnits(ctx, siteID, ops.IDs(units), from, to, wanted...) {
		if err != nil {
			return history{}, err
		}
		f, weight := of.Frame, weightOf(units[i])
		i++
		if f.Len() == 0 {
			continue
		}
		capacity += weight
		sum.add(resampled(f, series.PowerKW, step), from, weight)
		for q, s := range extra {
			s.add(resampled(f, q, step), from, 1)
		}
	}
	grid := func(values []float64) series.Series {
		return series.Series{Start: from, Step: step, Values: values}
	}
	h := history{power: grid(sum.whole(capacity)), reported: sum, capacityKW: capacity}
	for _, w := range weatherQuantities {
		if values := extra[w.from].mean(); values != nil {
			h.weather = append(h.weather, weather.Column{Name: w.from.String(), Quantity: w.as, Measured: w.measured, Series: grid(values)})
		}
	}
	h.count(zone)
	return h, nil
}

// weightOf is what a unit counts for: its capacity.
func weightOf(u api.Asset) float64 {
	if u.CapacityKW > 0 {
		return u.CapacityKW
	}
	return 1e-6 // reports, but nothing is known of its size
}

func resampled(f series.Frame, q series.Quantity, step time.Duration) series.Series {
	values := f.Values(q)
	if values == nil {
		return series.Series{}
	}
	return series.Resample(f.Times, values, step, 0)
}

// sumOf adds units up on one grid.
type sumOf struct{ value, weight []float64 }

func newSum(n int) *sumOf { return &sumOf{make([]float64, n), make([]float64, n)} }

func (s *sumOf) add(one series.Series, from time.Time, weight float64) {
	if one.Len() == 0 {
		return
	}
	at := int(one.Start.Sub(from) / one.Step)
	for i, v := range one.Values {
		if k := at + i; k >= 0 && k < len(s.value) && !math.IsNaN(v) {
			s.value[k] += v
			s.weight[k] += weight
		}
	}
}

// whole is the sum as if all of capacity had reported.
func (s *sumOf) whole(capacity float64) []float64 {
	out := make([]float64, len(s.value))
	for i, w := range s.weight {
		out[i] = math.NaN()
		if w > 0 && w >= reportingShare*capacity {
			out[i] = s.value[i] * capacity / w
		}
	}
	return out
}

// without is the mean of the others, per weight: the sum less one of its parts.
// NaN where they are less than the given share of their weight altogether.
func (s *sumOf) without(one series.Series, from time.Time, weight, whole, share float64) []float64 {
	out := make([]float64, len(s.value))
	at := int(from.Sub(one.Start) / one.Step)
	for i, w := range s.weight {
		v := s.value[i]
		if k := at + i; k >= 0 && k < one.Len() && !math.IsNaN(one.Values[k]) {
			v, w = v-one.Values[k], w-weight
		}
		out[i] = math.NaN()
		if w > 1e-9*whole && w >= share*(whole-weight) {
			out[i] = max(v, 0) / w
		}
	}
	return out
}

// mean is the mean of those that reported; nil when none ever did.
func (s *sumOf) mean() []float64 {
	out, any := make([]float64, len(s.value)), false
	for i, w := range s.weight {
		out[i] = math.NaN()
		if w > 0 {
			out[i], any = s.value[i]/w, true
		}
	}
	if !any {
		return nil
	}
	return out
}

// count counts the intervals and the site's days that have power.
func (h *history) count(zone *time.Location) {
	last := ""
	for i, v := range h.power.Values {
		if math.IsNaN(v) {
			continue
		}
		h.points++
		if day := h.power.Time(i).In(zone).Format(time.DateOnly); day != last {
			h.days, last = h.days+1, day
		}
	}
}

// before is what was known at a time: what was measured before it, and all
// that was forecast.
func (h history) before(t time.Time) history {
	h.power = h.power.Slice(h.power.Start, t)
	h.weather = slices.Clone(h.weather)
	for i, c := range h.weather {
		if c.Measured {
			h.weather[i].Series = c.Series.Slice(c.Series.Start, t)
		}
	}
	h.siblings = slices.Clone(h.siblings)
	for i, s := range h.siblings {
		h.siblings[i].History.Power = s.History.Power.Slice(s.History.Power.Start, t)
	}
	return h
}

// trimmed is h without the empty ends of its power.
func (h history) trimmed() series.Series {
	v := h.power.Values
	i, j := 0, len(v)
	for i < j && math.IsNaN(v[i]) {
		i++
	}
	for j > i && math.IsNaN(v[j-1]) {
		j--
	}
	return series.Series{Start: h.power.Time(i), Step: h.power.Step, Values: v[i:j]}
}
