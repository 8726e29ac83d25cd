package httpapi

import (
	"context"
	"fmt"

	"app.sunloop/backend/api"
)

// defaultEnergyHours of POST /forecast.
const defaultEnergyHours = 24

func (s *server) forecast(in *input) (*call, error) {
	customer, err := in.required("customer_id")
	if err != nil {
		return nil, err
	}
	q := api.ForecastQuery{CustomerID: customer, SiteID: in.parameter("site_id")}
	if q.HorizonHours, err = in.integer("horizon_hours", api.DefaultHorizonHours, 1, api.MaxHorizonHours); err != nil {
		return nil, err
	}
	if q.PastDays, err = in.integer("past_days", 0, 0, api.MaxPastDays); err != nil {
		return nil, err
	}
	return &call{target: target{customerID: q.CustomerID, siteID: &q.SiteID}, run: func(ctx context.Context, g granted) (any, error) {
		return s.Forecasts.Generate(ctx, g.scope, q)
	}}, nil
}

func (s *server) energyForecast(in *input) (*call, error) {
	var b api.EnergyForecastRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	switch {
	case b.DeviceID != "" && b.SiteID == "":
		return nil, api.MissingField("site_id")
	case b.CustomerID == "" && b.SiteID == "":
		return nil, api.MissingField("customer_id")
	case b.ForecastHours == 0:
		b.ForecastHours = defaultEnergyHours
	case b.ForecastHours < 0 || b.ForecastHours > api.MaxHorizonHours:
		return nil, api.InvalidField("forecast_hours", fmt.Sprintf("a whole number from 1 to %d", api.MaxHorizonHours))
	}
	t := target{customerID: b.CustomerID, siteID: &b.SiteID}
	if b.DeviceID != "" {
		t.asset = &api.AssetRef{AssetID: b.DeviceID, SiteID: b.SiteID, CustomerID: b.CustomerID}
	}
	return &call{target: t, run: func(ctx context.Context, g granted) (any, error) {
		return s.Forecasts.Energy(ctx, g.scope, b)
	}}, nil
}

// customerList reads the body of the terminal paths that list by customer.
func customerList(in *input, customerRequired bool) (api.CustomerRequest, error) {
	var b api.CustomerRequest
	if err := in.json(&b); err != nil {
		return b, err
	}
	if customerRequired && b.CustomerID == "" {
		return b, api.MissingField("customer_id")
	}
	var err error
	b.Page, err = pageOf(b.Page)
	return b, err
}

func listQuery(b api.CustomerRequest) api.ListQuery {
	return api.ListQuery{CustomerID: b.CustomerID, SiteID: b.SiteID, Page: b.Page}
}

func (s *server) storedForecasts(in *input) (*call, error) {
	b, err := customerList(in, true)
	if err != nil {
		return nil, err
	}
	c := &call{action: b.Action, target: target{customerID: b.CustomerID, siteID: &b.SiteID}}
	if b.Action == api.ActionAccuracy {
		if b.Days < 0 || b.Days > api.MaxAccuracyDays {
			return nil, api.InvalidField("days", fmt.Sprintf("a whole number from 1 to %d", api.MaxAccuracyDays))
		}
		c.run = func(ctx context.Context, g granted) (any, error) {
			a, err := s.Forecasts.Accuracy(ctx, g.scope, api.AccuracyRequest{CustomerID: b.CustomerID, SiteID: b.SiteID, Days: b.Days})
			return api.AccuracyResponse{Success: true, Accuracy: a}, err
		}
		return c, nil
	}
	c.run = func(ctx context.Context, g granted) (any, error) {
		list, next, err := s.Forecasts.Stored(ctx, g.scope, listQuery(b))
		return api.StoredForecastsResponse{Success: true, CustomerID: b.CustomerID, ForecastResults: there(list), Count: len(list), NextCursor: next}, err
	}
	return c, nil
}

func (s *server) interpolations(in *input) (*call, error) {
	b, err := customerList(in, true)
	if err != nil {
		return nil, err
	}
	c := &call{action: b.Action, target: target{customerID: b.CustomerID, siteID: &b.SiteID}}
	if b.Action == api.ActionGaps {
		c.run = func(ctx context.Context, g granted) (any, error) {
			return s.Interpolations.Gaps(ctx, g.scope, b.ResultID, listQuery(b))
		}
		return c, nil
	}
	c.run = func(ctx context.Context, g granted) (any, error) {
		list, next, err := s.Interpolations.Interpolations(ctx, g.scope, listQuery(b))
		return api.InterpolationsResponse{Success: true, CustomerID: b.CustomerID, InterpolationResults: there(list), Count: len(list), NextCursor: next}, err
	}
	return c, nil
}

func (s *server) ooda(in *input) (*call, error) {
	b, err := customerList(in, true)
	if err != nil {
		return nil, err
	}
	return &call{action: b.Action, target: target{customerID: b.CustomerID, siteID: &b.SiteID}, run: func(ctx context.Context, g granted) (any, error) {
		list, next, err := s.Findings.Findings(ctx, g.scope, listQuery(b))
		return api.FindingsResponse{Success: true, CustomerID: b.CustomerID, MLEnhancedActivities: there(list), Count: len(list), NextCursor: next}, err
	}}, nil
}

// there is a list that JSON writes as [] when it is empty.
func there[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
