package sitedata

import (
	"context"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/engine/forecast"
	"app.sunloop/engine/series"
	"app.sunloop/engine/weather"
)

// ModelStep is the step of forecasts. It is the hour of the API's answers, so that
// the bands are those of hourly means.
const ModelStep = time.Hour

// History is a site's past on an even grid. It holds only what was asked for.
type History struct {
	Power      series.Series    // kW, of the whole site
	Weather    []weather.Column // what the customer's files have of it
	Reported   *Sum             // power of the units that reported and, as weights, their capacity
	CapacityKW float64          // of all units that ever did
	Points     int              // intervals with power
	Days       int              // site days with power

	Peers     []forecast.Sibling // of the fleet, while its seasons are new
	ColdStart bool               // too few days to train on its own
}

// weatherQuantities are the quantities of files that describe the weather, each
// with its column. Files rarely say whether irradiance was measured in the plane
// of array or horizontally; most sensors are in the plane.
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

// Quantity returns a measured or predicted quantity of the weather; an empty
// series if no file has it.
func (h History) Quantity(q series.Quantity) series.Series {
	for _, c := range h.Weather {
		if c.Name == q.String() {
			return c.Series
		}
	}
	return series.Series{}
}

// reportingShare is the least share of capacity that must report for an interval
// to count for the site.
const reportingShare = 0.3

// ReadHistory sums the site's assets over from..to. Assets that do not report are
// replaced by the others, in proportion to capacity.
func (d *Data) ReadHistory(ctx context.Context, siteID string, units []api.Asset, from, to time.Time, step time.Duration, zone *time.Location) (History, error) {
	from, to = from.UTC().Truncate(step), to.UTC()
	n := int((to.Sub(from) + step - 1) / step)
	if n <= 0 {
		return History{}, nil
	}
	sum := newSum(n)
	wanted, extra := []series.Quantity{series.PowerKW, series.CoveredS, series.StepS}, map[series.Quantity]*Sum{}
	for _, w := range weatherQuantities {
		wanted, extra[w.from] = append(wanted, w.from), newSum(n)
	}
	capacity := 0.0
	i := 0
	for of, err := range d.Telemetry.ReadUnits(ctx, siteID, record.AssetIDs(units), from, to, wanted...) {
		if err != nil {
			return History{}, err
		}
		f, weight := of.Frame, weightOf(units[i])
		i++
		if f.Len() == 0 {
			continue
		}
		capacity += weight
		sum.add(f.Resample(series.PowerKW, step), from, weight)
		for q, s := range extra {
			s.add(f.Resample(q, step), from, 1)
		}
	}
	grid := func(values []float64) series.Series {
		return series.Series{Start: from, Step: step, Values: values}
	}
	h := History{Power: grid(sum.scaled(capacity)), Reported: sum, CapacityKW: capacity}
	for _, w := range weatherQuantities {
		if values := extra[w.from].mean(); values != nil {
			h.Weather = append(h.Weather, weather.Column{Name: w.from.String(), Quantity: w.as, Measured: w.measured, Series: grid(values)})
		}
	}
	h.count(zone)
	return h, nil
}

// weightOf returns the weight of an asset: its capacity.
func weightOf(u api.Asset) float64 {
	if u.CapacityKW > 0 {
		return u.CapacityKW
	}
	return 1e-6 // reports, but nothing is known of its size
}

// Sum adds series of assets on one grid.
type Sum struct{ value, weight []float64 }

func newSum(n int) *Sum { return &Sum{make([]float64, n), make([]float64, n)} }

func (s *Sum) add(one series.Series, from time.Time, weight float64) {
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

// scaled returns the sum as if all of the capacity had reported.
func (s *Sum) scaled(capacity float64) []float64 {
	out := make([]float64, len(s.value))
	for i, w := range s.weight {
		out[i] = math.NaN()
		if w > 0 && w >= reportingShare*capacity {
			out[i] = s.value[i] * capacity / w
		}
	}
	return out
}

// MeanWithout returns the mean of the other parts by weight: the sum less one of
// its parts. It is NaN where they have less than the given share of their weight.
func (s *Sum) MeanWithout(one series.Series, from time.Time, weight, whole, share float64) []float64 {
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

// mean returns the mean of the parts that reported; nil if none ever did.
func (s *Sum) mean() []float64 {
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
func (h *History) count(zone *time.Location) {
	last := ""
	for i, v := range h.Power.Values {
		if math.IsNaN(v) {
			continue
		}
		h.Points++
		if day := h.Power.Time(i).In(zone).Format(time.DateOnly); day != last {
			h.Days, last = h.Days+1, day
		}
	}
}

// Before returns what was known at a time: what was measured before it, and all
// that was forecast.
func (h History) Before(t time.Time) History {
	h.Power = h.Power.Slice(h.Power.Start, t)
	h.Weather = slices.Clone(h.Weather)
	for i, c := range h.Weather {
		if c.Measured {
			h.Weather[i].Series = c.Series.Slice(c.Series.Start, t)
		}
	}
	h.Peers = slices.Clone(h.Peers)
	for i, s := range h.Peers {
		h.Peers[i].History.Power = s.History.Power.Slice(s.History.Power.Start, t)
	}
	return h
}

// Trimmed returns the power without its empty ends.
func (h History) Trimmed() series.Series {
	v := h.Power.Values
	i, j := 0, len(v)
	for i < j && math.IsNaN(v[i]) {
		i++
	}
	for j > i && math.IsNaN(v[j-1]) {
		j--
	}
	return series.Series{Start: h.Power.Time(i), Step: h.Power.Step, Values: v[i:j]}
}

// Daylight is the share of capacity that a clear sky must yield for an hour to be
// scored.
const Daylight = 0.02

// RecentSpan is how much of a site's newest power a forecast is made from.
const RecentSpan = 45 * day
