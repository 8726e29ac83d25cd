package httpapi

import (
	"context"

	"app.sunloop/backend/api"
)

// Runs are what people have the service do now.
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
