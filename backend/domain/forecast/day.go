package forecast

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// Day is what was issued for one day of a site: each interval holds
// the newest value issued before the interval began, so that a past hour never
// knows what came after it.
type Day struct {
	SiteID      string         `json:"site_id" limit:"id"`
	Day         string         `json:"day" limit:"word"` // 2006-01-02, the site's
	Start       time.Time      `json:"start"`
	StepMinutes int            `json:"step_minutes"`
	P10KW       record.Numbers `json:"p10_kw" limit:"20000"`
	P50KW       record.Numbers `json:"p50_kw" limit:"20000"`
	P90KW       record.Numbers `json:"p90_kw" limit:"20000"`
	ClearSkyKW  record.Numbers `json:"clear_sky_kw" limit:"20000"`
	Band        Band           `json:"band,omitzero"` // of the newest forecast
	// FirstP50KWh is the whole day's P50 of the first forecast that reached
	// over all of it, issued at FirstIssuedAt.
	FirstP50KWh   float64   `json:"first_p50_kwh"`
	FirstIssuedAt time.Time `json:"first_issued_at,omitzero"`
	Backcast      *Backcast `json:"backcast,omitempty"` // set: it was computed after the day
}

var days = store.Table[Day]{
	Bucket: "forecast-days",
	Key:    func(d Day) []byte { return store.Key(d.SiteID, d.Day) },
}

// Day is what was issued for the site's day that holds t;
// [store.ErrNotFound] when nothing was.
func (s *Service) Day(ctx context.Context, siteID string, t time.Time, zone *time.Location) (Day, error) {
	var d Day
	err := s.records.View(ctx, func(tx store.Tx) (err error) {
		d, err = s.DayIn(tx, siteID, t, zone)
		return err
	})
	return d, err
}

// DayIn is Day within a transaction.
func (s *Service) DayIn(tx store.Tx, siteID string, t time.Time, zone *time.Location) (Day, error) {
	d, err := days.Get(tx, store.Key(siteID, t.In(zone).Format(time.DateOnly)))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		err = fmt.Errorf("read the forecast day of site %s: %w", siteID, err)
	}
	return d, err
}

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
		d, err := days.Get(tx, store.Key(f.SiteID, day))
		fresh := errors.Is(err, store.ErrNotFound)
		if err != nil && !fresh {
			return fmt.Errorf("read the forecast day %s of site %s: %w", day, f.SiteID, err)
		}
		fresh = fresh || d.Backcast != nil // what is issued replaces what was computed afterwards
		if fresh || d.StepMinutes != f.StepMinutes {
			d = emptyDay(f, day, from, to, d)
		}
		d.issue(f, fresh)
		if d.FirstIssuedAt.IsZero() && !f.Start.After(d.Start) && !f.End().Before(d.End()) {
			d.FirstP50KWh, d.FirstIssuedAt = d.EnergyKWh(d.Start, d.End()), f.IssuedAt
		}
		if err := days.Put(tx, d); err != nil {
			return fmt.Errorf("store the forecast day %s of site %s: %w", day, f.SiteID, err)
		}
	}
	return nil
}

// emptyDay is a day in the forecast's steps without values, with the whole-day
// figure of the former record where there is one.
func emptyDay(f Forecast, day string, from, to time.Time, was Day) Day {
	step := f.Step()
	// The forecast's grid, continued to the day's first interval.
	start := f.Start.Add(from.Sub(f.Start).Truncate(step))
	if start.Before(from) {
		start = start.Add(step)
	}
	n := int((to.Sub(start) + step - 1) / step)
	missing := func() record.Numbers {
		v := make(record.Numbers, n)
		for i := range v {
			v[i] = math.NaN()
		}
		return v
	}
	return Day{SiteID: f.SiteID, Day: day, Start: start, StepMinutes: f.StepMinutes, P10KW: missing(), P50KW: missing(),
		P90KW: missing(), ClearSkyKW: missing(), FirstP50KWh: was.FirstP50KWh, FirstIssuedAt: was.FirstIssuedAt}
}

func (d *Day) step() time.Duration { return time.Duration(d.StepMinutes) * time.Minute }

func (d *Day) time(i int) time.Time { return d.Start.Add(time.Duration(i) * d.step()) }

// End is the end of the last interval.
func (d *Day) End() time.Time { return d.time(len(d.P50KW)) }

func (d *Day) issue(f Forecast, fresh bool) {
	offset := int(d.Start.Sub(f.Start) / f.Step())
	d.Band = f.Band
	for i := range d.P50KW {
		k := offset + i
		if k < 0 || k >= len(f.P50KW) || !fresh && d.time(i).Before(f.IssuedAt) {
			continue
		}
		d.P10KW[i], d.P50KW[i], d.P90KW[i] = f.P10KW[k], f.P50KW[k], f.P90KW[k]
		d.ClearSkyKW[i] = f.ClearSkyKW.At(k)
	}
}

// EnergyKWh is the P50 energy within from..to; part of an interval counts in
// proportion.
func (d *Day) EnergyKWh(from, to time.Time) float64 {
	var sum float64
	for i, v := range d.P50KW {
		a, b := d.time(i), d.time(i+1)
		if a.Before(from) {
			a = from
		}
		if b.After(to) {
			b = to
		}
		if record.Finite(v) && b.After(a) {
			sum += v * b.Sub(a).Hours()
		}
	}
	return sum
}

// At interpolates values between the middles of the intervals around t: what
// is expected at one moment, not over an hour.
func (d *Day) At(values record.Numbers, t time.Time) float64 {
	if d.StepMinutes <= 0 {
		return math.NaN()
	}
	x := float64(t.Sub(d.Start))/float64(d.step()) - 0.5
	i := int(math.Floor(x))
	low, high := values.At(i), values.At(i+1)
	switch {
	case !record.Finite(low):
		return high
	case !record.Finite(high):
		return low
	}
	return low + (high-low)*(x-float64(i))
}

// Values are the day's intervals that hold a value, in hours, as GET
// /forecast shows them.
func (d *Day) Values() []api.ForecastValue {
	h := Forecast{Start: d.Start, StepMinutes: d.StepMinutes, P10KW: d.P10KW, P50KW: d.P50KW, P90KW: d.P90KW, ClearSkyKW: d.ClearSkyKW}.Hourly()
	out := []api.ForecastValue{}
	for i := range h.P50KW {
		if record.Finite(h.P50KW[i]) {
			out = append(out, h.value(i))
		}
	}
	return out
}
