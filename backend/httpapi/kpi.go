package httpapi

import (
	"cmp"
	"context"
	"time"

	"app.sunloop/backend/api"
)

// KPIs are a site's KPIs.
type KPIs interface {
	// KPIs of from <= t < to; zero times are the service's to choose. A window
	// that is empty or too large is a 400.
	KPIs(ctx context.Context, scope api.Scope, siteID string, from, to time.Time) (api.KPIs, error)
}

// Nowcasts are live overviews.
type Nowcasts interface {
	// Nowcast is of the units within the scope that r asks for, whose range is
	// one of the contract's.
	Nowcast(ctx context.Context, scope api.Scope, r api.NowcastRequest) (api.Nowcast, error)
}

func (s *server) kpiHandlers() {
	handle(s, api.GetKPIs, func(ctx context.Context, c *caller, r *api.KPIRequest) (api.KPIs, error) {
		zone, err := zoneOf(c.site)
		if err != nil {
			return api.KPIs{}, err
		}
		from, to, err := r.Window(zone) // times without an offset are the site's
		if err != nil {
			return api.KPIs{}, err
		}
		return s.KPIs.KPIs(ctx, c.scope, r.SiteID, from.Time, to.Time)
	})
	handle(s, api.GetNowcast, func(ctx context.Context, c *caller, r *api.NowcastRequest) (api.NowcastResponse, error) {
		r.TimeRange = cmp.Or(r.TimeRange, api.Range24h)
		n, err := s.Nowcasts.Nowcast(ctx, c.scope, *r)
		return api.NowcastResponse{Success: true, Data: n}, err
	})
}
