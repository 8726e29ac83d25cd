package client

import (
	"context"

	"app.sunloop/backend/api"
)

// Diagnose explains a unit's detection, or, without one, what a new run of the
// detector finds.
func (c *Client) Diagnose(ctx context.Context, req api.DiagnoseRequest) (*api.DiagnoseResponse, error) {
	req.Action = api.ActionRun
	return post[api.DiagnoseResponse](ctx, c, api.PathDiagnose, req, request{})
}

// Diagnostics lists diagnoses, newest first.
func (c *Client) Diagnostics(ctx context.Context, q api.ListQuery) (*api.DiagnoseResponse, error) {
	return read[api.DiagnoseResponse](ctx, c, api.PathDiagnostics, api.DiagnoseRequest{Action: api.ActionList, AssetID: q.AssetID, SiteID: q.SiteID, CustomerID: q.CustomerID, Page: q.Page})
}
