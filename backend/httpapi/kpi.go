package httpapi

import (
	"context"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// KPIs are a site's key figures.
type KPIs interface {
	// KPIs of from <= t < to; zero times are the service's to choose. A window
	// that is empty or too large is a 400.
	KPIs(ctx context.Context, scope api.Scope, siteID string, from, to time.Time) (api.KPIs, error)
}

func (s *server) siteKPIs(in *input) (*call, error) {
	site := in.PathValue("site_id")
	texts := [2]string{in.parameter("from"), in.parameter("to")}
	read := func(zone *time.Location) (window [2]time.Time, err error) {
		for i, name := range []string{"from", "to"} {
			if texts[i] == "" {
				continue
			}
			t, err := api.ParseTime(texts[i], zone)
			if err != nil {
				return window, api.InvalidParameter(name, "not an ISO 8601 time")
			}
			window[i] = t.Time
		}
		if !window[0].IsZero() && !window[1].IsZero() && !window[0].Before(window[1]) {
			return window, api.InvalidParameter("to", "it lies after from")
		}
		return window, nil
	}
	if _, err := read(time.UTC); err != nil {
		return nil, err
	}
	return &call{target: target{customerID: in.parameter("customer_id"), siteID: &site}, run: func(ctx context.Context, g granted) (any, error) {
		zone, err := store.Zone(g.site.Timezone)
		if err != nil {
			return nil, err
		}
		window, err := read(zone) // times without an offset are the site's
		if err != nil {
			return nil, err
		}
		return s.KPIs.KPIs(ctx, g.scope, site, window[0], window[1])
	}}, nil
}
