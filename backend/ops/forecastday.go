package ops

import (
	"errors"
	"fmt"
	"math"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// issueDays writes a forecast into the site's days: only intervals that begin
// at or after its issue, save on a day that had nothing yet. Such a day's past
// hours are filled by the part of f before its issue, if f has one (see
// [Forecast.Start]): the pipeline makes it from what was known at the site's
// midnight.
func (s *Service) issueDays(tx store.Tx, f Forecast, zone *time.Location) error {
	step := f.Step()
	if step <= 0 || len(f.P50KW) == 0 {
		return nil
	}
	for from, to := range series.Days(f.Start, f.End(), zone) {
		day := from.In(zone).Format(time.DateOnly)
		d, err := forecastDays.Get(tx, store.Key(f.SiteID, day))
		fresh := errors.Is(err, store.ErrNotFound)
		if err != nil && !fresh {
			return fmt.Errorf("read the forecast day %s of site %s: %w", day, f.SiteID, err)
		}
		if fresh || d.StepMinutes != f.StepMinutes {
			d = emptyDay(f, day, from, to, d)
		}
		d.issue(f, fresh)
		if d.FirstIssuedAt.IsZero() && !f.Start.After(d.Start) && !f.End().Before(d.end()) {
			d.FirstP50KWh, d.FirstIssuedAt = d.energyKWh(d.Start, d.end()), f.IssuedAt
		}
		if err := forecastDays.Put(tx, d); err != nil {
			return fmt.Errorf("store the forecast day %s of site %s: %w", day, f.SiteID, err)
		}
	}
	return nil
}

// emptyDay is a day in the forecast's steps without values, with the whole-day
// figure of the former record where there is one.
func emptyDay(f Forecast, day string, from, to time.Time, was ForecastDay) ForecastDay {
	step := f.Step()
	// The forecast's grid, continued to the day's first interval.
	start := f.Start.Add(from.Sub(f.Start).Truncate(step))
	if start.Before(from) {
		start = start.Add(step)
	}
	n := int((to.Sub(start) + step - 1) / step)
	missing := func() Numbers {
		v := make(Numbers, n)
		for i := range v {
			v[i] = math.NaN()
		}
		return v
	}
	return ForecastDay{SiteID: f.SiteID, Day: day, Start: start, StepMinutes: f.StepMinutes, P10KW: missing(), P50KW: missing(),
		P90KW: missing(), ClearSkyKW: missing(), FirstP50KWh: was.FirstP50KWh, FirstIssuedAt: was.FirstIssuedAt}
}

func (d *ForecastDay) step() time.Duration { return time.Duration(d.StepMinutes) * time.Minute }

func (d *ForecastDay) time(i int) time.Time { return d.Start.Add(time.Duration(i) * d.step()) }

func (d *ForecastDay) end() time.Time { return d.time(len(d.P50KW)) }

func (d *ForecastDay) issue(f Forecast, fresh bool) {
	offset := int(d.Start.Sub(f.Start) / f.Step())
	for i := range d.P50KW {
		k := offset + i
		if k < 0 || k >= len(f.P50KW) || !fresh && d.time(i).Before(f.IssuedAt) {
			continue
		}
		d.P10KW[i], d.P50KW[i], d.P90KW[i] = f.P10KW[k], f.P50KW[k], f.P90KW[k]
		d.ClearSkyKW[i] = f.ClearSkyKW.At(k)
	}
}

// energyKWh is the P50 energy within from..to; part of an interval counts in
// proportion.
func (d *ForecastDay) energyKWh(from, to time.Time) float64 {
	var sum float64
	for i, v := range d.P50KW {
		a, b := d.time(i), d.time(i+1)
		if a.Before(from) {
			a = from
		}
		if b.After(to) {
			b = to
		}
		if finite(v) && b.After(a) {
			sum += v * b.Sub(a).Hours()
		}
	}
	return sum
}

// at interpolates values between the middles of the intervals around t: what
// is expected at one moment, not over an hour.
func (d *ForecastDay) at(values Numbers, t time.Time) float64 {
	if d.StepMinutes <= 0 {
		return math.NaN()
	}
	x := float64(t.Sub(d.Start))/float64(d.step()) - 0.5
	i := int(math.Floor(x))
	low, high := values.At(i), values.At(i+1)
	switch {
	case !finite(low):
		return high
	case !finite(high):
		return low
	}
	return low + (high-low)*(x-float64(i))
}

// Values are the day's intervals that hold a value, in hours, as GET
// /forecast shows them.
func (d *ForecastDay) Values() []api.ForecastValue {
	h := Forecast{Start: d.Start, StepMinutes: d.StepMinutes, P10KW: d.P10KW, P50KW: d.P50KW, P90KW: d.P90KW, ClearSkyKW: d.ClearSkyKW}.Hourly()
	out := []api.ForecastValue{}
	for i := range h.P50KW {
		if finite(h.P50KW[i]) {
			out = append(out, h.value(i))
		}
	}
	return out
}
