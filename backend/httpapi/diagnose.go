package httpapi

import (
	"context"
	"fmt"

	"app.sunloop/backend/api"
)

// Diagnoser says what is wrong.
type Diagnoser interface {
	// Diagnose explains an asset's detection, or what a new run over its last
	// hours finds, and stores that; api.ErrDetectionNotFound for a detection
	// that is not of the asset.
	Diagnose(ctx context.Context, scope api.Scope, r api.DiagnoseRequest) (api.Diagnostic, error)
	// Diagnostics lists stored diagnoses newest first; all ids of q narrow.
	Diagnostics(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Diagnostic, string, error)
}

func (s *server) diagnose(in *input) (*call, error) {
	var b api.DiagnoseRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	switch b.Action {
	case api.ActionRun:
	case api.ActionList:
		return s.diagnoseList(b)
	default:
		return nil, api.ErrInvalidAction
	}
	if b.AssetID == "" {
		return nil, api.MissingField("asset_id")
	}
	if b.LookbackHours < 0 || b.LookbackHours > maxLookbackHours {
		return nil, api.InvalidField("lookback_hours", fmt.Sprintf("a whole number from 1 to %d", maxLookbackHours))
	}
	ref := b.Ref()
	t := target{customerID: b.CustomerID, siteID: &b.SiteID, asset: &ref}
	return &call{action: b.Action, target: t, fingerprint: in.digest(), run: func(ctx context.Context, g granted) (any, error) {
		d, err := s.Diagnoser.Diagnose(ctx, g.scope, b)
		return api.DiagnoseResponse{Success: true, Message: "Diagnosis completed", DiagnosticID: d.DiagnosticID, AssetID: d.AssetID,
			RootCause: d.RootCause, Confidence: &d.Confidence, Status: d.Status, DetectionID: d.DetectionID, Analysis: &d.Analysis, Count: 1}, err
	}}, nil
}

func (s *server) diagnoseList(b api.DiagnoseRequest) (*call, error) {
	page, err := pageOf(b.Page)
	if err != nil {
		return nil, err
	}
	t := target{customerID: b.CustomerID, siteID: &b.SiteID}
	if b.AssetID != "" {
		ref := b.Ref()
		t.asset = &ref
	}
	return &call{action: b.Action, target: t, run: func(ctx context.Context, g granted) (any, error) {
		q := api.ListQuery{CustomerID: b.CustomerID, SiteID: b.SiteID, AssetID: b.AssetID, Page: page}
		list, next, err := s.Diagnoser.Diagnostics(ctx, g.scope, q)
		return api.DiagnoseResponse{Success: true, Diagnostics: there(list), Count: len(list), NextCursor: next}, err
	}}, nil
}

func (s *server) diagnostics(in *input) (*call, error) {
	var b api.DiagnoseRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	return s.diagnoseList(b)
}
