package httpapi

import (
	"context"

	"app.sunloop/backend/api"
)

// Nowcasts are live overviews.
type Nowcasts interface {
	// Nowcast is of the units within the scope that r asks for, whose range is
	// one of the contract's.
	Nowcast(ctx context.Context, scope api.Scope, r api.NowcastRequest) (api.Nowcast, error)
}

func (s *server) nowcast(in *input) (*call, error) {
	var b api.NowcastRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	if b.CustomerID == "" && b.SiteID == "" {
		return nil, api.MissingField("customer_id")
	}
	if b.TimeRange == "" {
		b.TimeRange = api.Range24h
	}
	if err := word("time_range", &b.TimeRange, api.NowcastRanges()); err != nil {
		return nil, err
	}
	return &call{action: b.Action, target: target{customerID: b.CustomerID, siteID: &b.SiteID}, run: func(ctx context.Context, g granted) (any, error) {
		n, err := s.Nowcasts.Nowcast(ctx, g.scope, b)
		return api.NowcastResponse{Success: true, Data: n}, err
	}}, nil
}
