package kpi

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

// DayPower is the power of a site over one of its days, in kW and equal steps from Start.
// NaN is unknown.
type DayPower struct {
	Start, End time.Time
	Zone       *time.Location
	Step       time.Duration
	ActualKW   []float64 // up to now
	ExpectedKW []float64 // P50 as issued
}

// DayPower returns the power of the day of a site that has the date of t in the zone of t.
func (s *Service) DayPower(ctx context.Context, scope api.Scope, siteID string, t time.Time) (DayPower, error) {
	site, err := s.sites.Site(ctx, scope, siteID)
	if err != nil {
		return DayPower{}, err
	}
	units, err := s.sites.SiteAssets(ctx, siteID)
	if err != nil {
		return DayPower{}, err
	}
	out := DayPower{Zone: record.Zone(site.Timezone), Step: ratioStep}
	year, month, day := t.Date()
	out.Start = series.Midnight(time.Date(year, month, day, 12, 0, 0, 0, out.Zone), out.Zone)
	out.End = series.NextMidnight(out.Start, out.Zone)
	if now := s.now(); out.Start.Before(now) {
		to := out.End
		if to.After(now) {
			to = now
		}
		r, err := s.read(ctx, site, units, out.Start, to)
		if err != nil {
			return out, fmt.Errorf("read the power of site %s: %w", siteID, err)
		}
		for at := out.Start; at.Before(to); at = at.Add(out.Step) {
			out.ActualKW = append(out.ActualKW, r.power.At(at))
		}
	}
	issued, err := s.forecasts.Day(ctx, siteID, out.Start, out.Zone)
	if errors.Is(err, store.ErrNotFound) || err == nil && issued.Backcast != nil {
		return out, nil // only what was issued is drawn
	}
	if err != nil {
		return out, err
	}
	for at := out.Start; at.Before(out.End); at = at.Add(out.Step) {
		v := issued.At(issued.P50KW, at.Add(out.Step/2))
		if math.IsInf(v, 0) {
			v = math.NaN()
		}
		out.ExpectedKW = append(out.ExpectedKW, v)
	}
	return out, nil
}
