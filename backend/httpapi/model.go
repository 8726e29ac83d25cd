package httpapi

import (
	"context"
	"fmt"

	"app.sunloop/backend/api"
)

func (s *server) models(in *input) (*call, error) {
	var b api.ModelsRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	var err error
	if b.Page, err = pageOf(b.Page); err != nil {
		return nil, err
	}
	c := &call{action: b.Action, target: target{customerID: b.CustomerID, siteID: &b.SiteID}, fingerprint: in.digest()}
	if b.Action == "" || b.Action == api.ActionList {
		c.run = func(ctx context.Context, g granted) (any, error) {
			list, next, err := s.Models.Models(ctx, g.scope, api.ListQuery{CustomerID: b.CustomerID, SiteID: b.SiteID, Page: b.Page})
			for i := range list {
				list[i] = withLayers(list[i])
			}
			return api.ModelsResponse{Success: true, ModelMetrics: there(list), Count: len(list), NextCursor: next}, err
		}
		return c, nil
	}
	if c.run = s.modelMove(&b); c.run == nil {
		return nil, api.ErrInvalidAction
	}
	switch {
	case b.SiteID == "":
		return nil, api.MissingField("site_id")
	case b.ModelType != "" && b.ModelType != api.ModelForecasting && b.ModelType != api.ModelInterpolation:
		return nil, api.InvalidField("model_type", "it is "+api.ModelForecasting+" or "+api.ModelInterpolation)
	}
	return c, nil
}

// modelMove is what an action on one model does; nil for no such action.
func (s *server) modelMove(b *api.ModelsRequest) func(context.Context, granted) (any, error) {
	done := func(words string, m api.Model, former string) api.ModelMoveResponse {
		return api.ModelMoveResponse{Success: true, Message: fmt.Sprintf(words, m.ModelName, m.ModelVersion), Model: withLayers(m), FormerVersion: former}
	}
	switch b.Action {
	case api.ActionHistory:
		return func(ctx context.Context, g granted) (any, error) {
			list, next, err := s.Models.ModelHistory(ctx, g.scope, *b)
			return api.ModelHistoryResponse{Success: true, History: there(list), Count: len(list), NextCursor: next}, err
		}
	case api.ActionEvaluate:
		return func(ctx context.Context, g granted) (any, error) {
			m, err := s.Models.EvaluateModel(ctx, g.scope, *b)
			return done("Model %s %s evaluated", m, ""), err
		}
	case api.ActionPromote:
		return func(ctx context.Context, g granted) (any, error) {
			m, former, err := s.Models.PromoteModel(ctx, g.scope, *b)
			return done("Model %s %s is in production", m, former), err
		}
	case api.ActionRollback:
		return func(ctx context.Context, g granted) (any, error) {
			m, former, err := s.Models.RollbackModel(ctx, g.scope, *b)
			return done("Model %s %s is in production again", m, former), err
		}
	}
	return nil
}

// withLayers is a model whose layers are a list also where it has no network.
func withLayers(m api.Model) api.Model {
	m.Hyperparameters.Layers = there(m.Hyperparameters.Layers)
	return m
}
