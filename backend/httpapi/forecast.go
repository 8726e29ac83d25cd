package httpapi

import (
	"context"

	"app.sunloop/backend/api"
)

// Forecasts makes and keeps forecasts.
type Forecasts interface {
	// Generate returns api.ErrNoModel until a model is trained.
	Generate(ctx context.Context, scope api.Scope, q api.ForecastQuery) (api.GeneratedForecast, error)
	// GenerateCustomer is Generate of all sites of a customer. write calls piece with functions that
	// append the next part of the JSON.
	GenerateCustomer(ctx context.Context, scope api.Scope, q api.ForecastQuery) (write func(piece func(next func(b []byte) ([]byte, error)) error) error, err error)
	// Energy is the hourly energy of POST /forecast; ForecastHours is filled in.
	Energy(ctx context.Context, scope api.Scope, req api.EnergyForecastRequest) (api.EnergyForecast, error)
	// Stored lists newest first; api.ErrNoForecastResult when the customer has none.
	Stored(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.StoredForecast, string, error)
	// ForecastSnapshot returns api.ErrNotFound until a model is trained.
	ForecastSnapshot(ctx context.Context, scope api.Scope, siteID string, hours int) (api.ForecastSnapshot, error)
	// Accuracy is how stored forecasts have done, by lead.
	Accuracy(ctx context.Context, scope api.Scope, q api.AccuracyRequest) (api.Accuracy, error)
}

// Interpolations are what filling gaps gave.
type Interpolations interface {
	// Interpolations lists newest first; api.ErrNoInterpolation when the
	// customer has none.
	Interpolations(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.InterpolationResult, string, error)
	// Gaps are those that one run filled, the longest first.
	Gaps(ctx context.Context, scope api.Scope, resultID string, q api.ListQuery) (api.GapsResponse, error)
}

func (s *server) forecastHandlers() {
	handleStream(s, api.GenerateForecast, func(ctx context.Context, c *caller, q *api.ForecastQuery) (any, error) {
		if q.SiteID != "" {
			return s.Forecasts.Generate(ctx, c.scope, *q)
		}
		write, err := s.Forecasts.GenerateCustomer(ctx, c.scope, *q)
		if err != nil {
			return nil, err
		}
		return streamed(func(b *body) error {
			return write(func(next func(b []byte) ([]byte, error)) (err error) {
				if b.buf, err = next(b.buf); err != nil {
					return err
				}
				return b.pass()
			})
		}), nil
	})
	handle(s, api.ForecastEnergy, func(ctx context.Context, c *caller, r *api.EnergyForecastRequest) (api.EnergyForecast, error) {
		return s.Forecasts.Energy(ctx, c.scope, *r)
	})
	handle(s, api.ListForecasts, func(ctx context.Context, c *caller, r *api.CustomerRequest) (api.StoredForecastsResponse, error) {
		list, next, err := s.Forecasts.Stored(ctx, c.scope, listQuery(r))
		return api.StoredForecastsResponse{Success: true, CustomerID: r.CustomerID, ForecastResults: nonNil(list), Count: len(list), NextCursor: next}, err
	})
	handle(s, api.GetAccuracy, func(ctx context.Context, c *caller, r *api.CustomerRequest) (api.AccuracyResponse, error) {
		a, err := s.Forecasts.Accuracy(ctx, c.scope, api.AccuracyRequest{CustomerID: r.CustomerID, SiteID: r.SiteID, Days: r.Days})
		return api.AccuracyResponse{Success: true, Accuracy: a}, err
	})
	handle(s, api.ListInterpolations, func(ctx context.Context, c *caller, r *api.CustomerRequest) (api.InterpolationsResponse, error) {
		list, next, err := s.Interpolations.Interpolations(ctx, c.scope, listQuery(r))
		return api.InterpolationsResponse{Success: true, CustomerID: r.CustomerID, InterpolationResults: nonNil(list), Count: len(list), NextCursor: next}, err
	})
	handle(s, api.ListGaps, func(ctx context.Context, c *caller, r *api.CustomerRequest) (api.GapsResponse, error) {
		return s.Interpolations.Gaps(ctx, c.scope, r.ResultID, listQuery(r))
	})
}

func listQuery(r *api.CustomerRequest) api.ListQuery {
	return api.ListQuery{CustomerID: r.CustomerID, SiteID: r.SiteID, Page: r.Page}
}
