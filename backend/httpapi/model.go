package httpapi

import (
	"context"
	"fmt"

	"app.sunloop/backend/api"
)

// Models is the registry.
type Models interface {
	// Models lists by site, newest version first.
	Models(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Model, string, error)
	// EvaluateModel returns the challenger with its evaluation;
	// api.ErrModelNotFound for an unknown one, 409 for one that is not a
	// challenger.
	EvaluateModel(ctx context.Context, scope api.Scope, r api.ModelsRequest) (api.Model, error)
	// PromoteModel and RollbackModel answer the model that is in production
	// now, and the version of the one that was.
	PromoteModel(ctx context.Context, scope api.Scope, r api.ModelsRequest) (m api.Model, former string, err error)
	RollbackModel(ctx context.Context, scope api.Scope, r api.ModelsRequest) (m api.Model, former string, err error)
	// ModelHistory lists changes of status, newest first.
	ModelHistory(ctx context.Context, scope api.Scope, r api.ModelsRequest) ([]api.ModelMove, string, error)
}

func (s *server) modelHandlers() {
	done := func(words string, m api.Model, former string) api.ModelMoveResponse {
		return api.ModelMoveResponse{Success: true, Message: fmt.Sprintf(words, m.ModelName, m.ModelVersion), Model: withLayers(m), FormerVersion: former}
	}
	handle(s, api.ListModels, func(ctx context.Context, c *caller, r *api.ModelsRequest) (api.ModelsResponse, error) {
		list, next, err := s.Models.Models(ctx, c.scope, api.ListQuery{CustomerID: r.CustomerID, SiteID: r.SiteID, Filter: api.Filter{Status: r.Status, Type: r.ModelType}, Page: r.Page})
		for i := range list {
			list[i] = withLayers(list[i])
		}
		return api.ModelsResponse{Success: true, ModelMetrics: nonNil(list), Count: len(list), NextCursor: next}, err
	})
	handle(s, api.ListModelHistory, func(ctx context.Context, c *caller, r *api.ModelsRequest) (api.ModelHistoryResponse, error) {
		list, next, err := s.Models.ModelHistory(ctx, c.scope, *r)
		return api.ModelHistoryResponse{Success: true, History: nonNil(list), Count: len(list), NextCursor: next}, err
	})
	handle(s, api.EvaluateModel, func(ctx context.Context, c *caller, r *api.ModelsRequest) (api.ModelMoveResponse, error) {
		m, err := s.Models.EvaluateModel(ctx, c.scope, *r)
		return done("Model %s %s evaluated", m, ""), err
	})
	handle(s, api.PromoteModel, func(ctx context.Context, c *caller, r *api.ModelsRequest) (api.ModelMoveResponse, error) {
		m, former, err := s.Models.PromoteModel(ctx, c.scope, *r)
		return done("Model %s %s is in production", m, former), err
	})
	handle(s, api.RollbackModel, func(ctx context.Context, c *caller, r *api.ModelsRequest) (api.ModelMoveResponse, error) {
		m, former, err := s.Models.RollbackModel(ctx, c.scope, *r)
		return done("Model %s %s is in production again", m, former), err
	})
}

// withLayers returns a model whose layers are a list also if it has no network.
func withLayers(m api.Model) api.Model {
	m.Hyperparameters.Layers = nonNil(m.Hyperparameters.Layers)
	return m
}

// Runs starts work of the service that people request, and lists it.
type Runs interface {
	// StartRun enqueues a run; 409 while one of its kind is in progress.
	StartRun(ctx context.Context, scope api.Scope, r api.RunsRequest) (api.ManualRun, error)
	// ManualRuns lists the runs of a site, newest first.
	ManualRuns(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.ManualRun, string, error)
}

func (s *server) runHandlers() {
	handle(s, api.StartRun, func(ctx context.Context, c *caller, r *api.RunsRequest) (api.RunResponse, error) {
		is, err := s.Runs.StartRun(ctx, c.scope, *r)
		return api.RunResponse{Success: true, Message: "Run started", Run: is}, err
	})
	handle(s, api.ListRuns, func(ctx context.Context, c *caller, r *api.RunsRequest) (api.RunsResponse, error) {
		list, next, err := s.Runs.ManualRuns(ctx, c.scope, api.ListQuery{CustomerID: r.CustomerID, SiteID: r.SiteID, Page: r.Page})
		return api.RunsResponse{Success: true, Runs: nonNil(list), Count: len(list), NextCursor: next}, err
	})
}
