package pipeline

import (
	"context"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// Diagnose explains what is wrong with an asset. Without a detection it runs
// the detector first; the change that it makes is the diagnosis.
func (p *Pipeline) Diagnose(ctx context.Context, scope api.Scope, r api.DiagnoseRequest) (api.Diagnostic, error) {
	if r.DetectionID == "" {
		d, err := p.Detect(store.Aside(ctx), scope, r.Ref(), r.LookbackHours)
		if err != nil {
			return api.Diagnostic{}, err
		}
		r.DetectionID = d.DetectionID
	}
	return p.Ops.Diagnose(ctx, scope, r)
}

// Diagnostics lists the stored diagnoses within the scope, newest first.
func (p *Pipeline) Diagnostics(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Diagnostic, string, error) {
	return p.Ops.Diagnostics(ctx, scope, q)
}
