package httpapi

import (
	"context"

	"app.sunloop/backend/api"
)

// Findings are the OODA summaries.
type Findings interface {
	// Findings lists active first, most energy at risk first;
	// api.ErrNoSummaries without any.
	Findings(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Finding, string, error)
	// History sums up those that were there from q.From to before q.To.
	History(ctx context.Context, scope api.Scope, q api.ListQuery) (api.History, error)
}

// Activities are what the service and people did.
type Activities interface {
	// Activities are of the last 24 hours, newest first.
	Activities(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Activity, string, error)
}

// Detector looks for faults.
type Detector interface {
	// Detect runs over one asset's last hours (0: the detector's own span) and
	// stores the run.
	Detect(ctx context.Context, scope api.Scope, ref api.AssetRef, lookbackHours int) (api.Detection, error)
	// Detections lists stored runs newest first; all ids of q narrow.
	Detections(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Detection, string, error)
}

// Diagnoser says what is wrong.
type Diagnoser interface {
	// Diagnose explains an asset's detection, or what a new run over its last
	// hours finds, and stores that; api.ErrDetectionNotFound for a detection
	// that is not of the asset.
	Diagnose(ctx context.Context, scope api.Scope, r api.DiagnoseRequest) (api.Diagnostic, error)
	// Diagnostics lists stored diagnoses newest first; all ids of q narrow.
	Diagnostics(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Diagnostic, string, error)
}

func (s *server) findingHandlers() {
	handle(s, api.ListFindings, func(ctx context.Context, c *caller, r *api.FindingsRequest) (api.FindingsResponse, error) {
		list, next, err := s.Findings.Findings(ctx, c.scope, api.ListQuery{CustomerID: r.CustomerID, SiteID: r.SiteID, From: r.From, To: r.To, Filter: api.Filter{Severity: r.Severity, Type: r.Family}, Page: r.Page})
		return api.FindingsResponse{Success: true, CustomerID: r.CustomerID, MLEnhancedActivities: nonNil(list), Count: len(list), NextCursor: next}, err
	})
	handle(s, api.GetHistory, func(ctx context.Context, c *caller, r *api.FindingsRequest) (api.HistoryResponse, error) {
		h, err := s.Findings.History(ctx, c.scope, api.ListQuery{CustomerID: r.CustomerID, SiteID: r.SiteID, From: r.From, To: r.To})
		return api.HistoryResponse{Success: true, CustomerID: r.CustomerID, SiteID: r.SiteID, History: h}, err
	})
	handle(s, api.ListActivities, func(ctx context.Context, c *caller, r *api.ActivitiesRequest) (api.ActivitiesResponse, error) {
		list, next, err := s.Activities.Activities(ctx, c.scope, api.ListQuery{CustomerID: r.CustomerID, SiteID: r.SiteID, Page: r.Page})
		return api.ActivitiesResponse{Success: true, Activities: nonNil(list), Count: len(list), NextCursor: next}, err
	})
	handle(s, api.RunDetection, func(ctx context.Context, c *caller, r *api.DetectRequest) (api.DetectResponse, error) {
		d, err := s.Detector.Detect(ctx, c.scope, api.AssetRef{AssetID: r.AssetID, SiteID: r.SiteID, CustomerID: r.CustomerID}, r.LookbackHours)
		return api.DetectResponse{Success: true, Message: "Detection completed", DetectionID: d.DetectionID, AssetID: d.AssetID,
			AnomaliesDetected: &d.AnomaliesDetected, Status: d.Status, Analysis: d.Analysis, Count: 1}, err
	})
	handle(s, api.ListDetectRuns, s.listDetections)
	handle(s, api.ListDetections, s.listDetections)
	handle(s, api.RunDiagnosis, func(ctx context.Context, c *caller, r *api.DiagnoseRequest) (api.DiagnoseResponse, error) {
		d, err := s.Diagnoser.Diagnose(ctx, c.scope, *r)
		return api.DiagnoseResponse{Success: true, Message: "Diagnosis completed", DiagnosticID: d.DiagnosticID, AssetID: d.AssetID,
			RootCause: d.RootCause, Confidence: &d.Confidence, Status: d.Status, DetectionID: d.DetectionID, Analysis: &d.Analysis, Count: 1}, err
	})
	handle(s, api.ListDiagnoseRuns, s.listDiagnostics)
	handle(s, api.ListDiagnostics, s.listDiagnostics)
}

func (s *server) listDetections(ctx context.Context, c *caller, r *api.DetectRequest) (api.DetectResponse, error) {
	list, next, err := s.Detector.Detections(ctx, c.scope, api.ListQuery{CustomerID: r.CustomerID, SiteID: r.SiteID, AssetID: r.AssetID, Filter: api.Filter{Severity: r.Severity}, Page: r.Page})
	return api.DetectResponse{Success: true, Detections: nonNil(list), Count: len(list), NextCursor: next}, err
}

func (s *server) listDiagnostics(ctx context.Context, c *caller, r *api.DiagnoseRequest) (api.DiagnoseResponse, error) {
	list, next, err := s.Diagnoser.Diagnostics(ctx, c.scope, api.ListQuery{CustomerID: r.CustomerID, SiteID: r.SiteID, AssetID: r.AssetID, Filter: api.Filter{Severity: r.Severity}, Page: r.Page})
	return api.DiagnoseResponse{Success: true, Diagnostics: nonNil(list), Count: len(list), NextCursor: next}, err
}
