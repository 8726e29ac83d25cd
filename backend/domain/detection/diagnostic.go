package detection

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/activity"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
)

// Diagnostic is a diagnosis with its customer and site.
type Diagnostic struct {
	api.Diagnostic
	CustomerID string
	SiteID     string
}

var diagnostics = store.Table[Diagnostic]{
	Bucket: "diagnostics",
	Key:    func(d Diagnostic) []byte { return store.Key(d.SiteID, d.DiagnosticID) },
	Indexes: []store.Index[Diagnostic]{
		{Name: "customer", Key: func(d Diagnostic) []byte { return store.Key(d.CustomerID, d.DiagnosticID) }},
		{Name: "time", Key: func(d Diagnostic) []byte { return store.Key(d.DiagnosticID) }},
	},
	Form: store.As(newDiagnosticRecord, diagnosticRecord.diagnostic),
}

// Diagnose explains what is wrong with an asset by the findings of the
// detection that is named, or of its newest: the most severe of those that
// were there in the lookback hours before it, a day when 0. It stores the
// diagnosis. [api.ErrDetectionNotFound] for a detection that is not of the asset.
func (s *Service) Diagnose(ctx context.Context, scope api.Scope, r api.DiagnoseRequest) (api.Diagnostic, error) {
	asset, err := s.sites.Asset(ctx, scope, r.Ref())
	if err != nil {
		return api.Diagnostic{}, err
	}
	var d Diagnostic
	err = s.records.Update(ctx, func(tx store.Tx) error {
		at, err := s.detectionOf(tx, asset, r.DetectionID)
		if err != nil {
			return err
		}
		back := finding.CalmPeriod
		if r.LookbackHours > 0 {
			back = time.Duration(r.LookbackHours) * time.Hour
		}
		worst, err := worstFinding(tx, asset, at, back)
		if err != nil {
			return fmt.Errorf("list the findings of site %s: %w", asset.SiteID, err)
		}
		d = Diagnostic{CustomerID: asset.CustomerID, SiteID: asset.SiteID}
		d.DiagnosticID, d.AssetID, d.DiagnosedAt, d.DetectionID = record.NewID("dia", s.now()), asset.AssetID, api.At(s.now()), at.DetectionID
		d.explain(worst)
		if err := diagnostics.Put(tx, d); err != nil {
			return fmt.Errorf("store diagnosis %s: %w", d.DiagnosticID, err)
		}
		return s.activities.Record(tx, activity.Record{CustomerID: d.CustomerID, SiteID: d.SiteID, AssetID: d.AssetID, Phase: api.PhaseOrient,
			Title: "Diagnosis made", Description: d.Analysis.Summary, Actor: scope.Actor})
	})
	return d.Diagnostic, err
}

// detectionOf is the detection of the asset with the id, or the newest; one of
// now if none exists.
func (s *Service) detectionOf(tx store.Tx, asset api.Asset, id string) (Detection, error) {
	if id != "" {
		d, err := detections.Get(tx, store.Key(asset.SiteID, asset.AssetID, id))
		return d, record.NotFoundAs(err, api.ErrDetectionNotFound, "detection "+id)
	}
	list, _, err := detections.List(tx, store.Query{Prefix: store.Key(asset.SiteID, asset.AssetID), Reverse: true, Limit: 1})
	if err != nil {
		return Detection{}, fmt.Errorf("read the last detection of asset %s: %w", asset.AssetID, err)
	}
	if len(list) > 0 {
		return list[0], nil
	}
	var none Detection
	none.DetectedAt = api.At(s.now())
	return none, nil
}

// worstFinding returns the finding of the asset that a diagnosis is about: of those
// that existed in the time before the detection or are its anomalies, an active one, then
// the most severe, then the one with the highest confidence; or nil.
func worstFinding(tx store.Tx, asset api.Asset, d Detection, back time.Duration) (worst *finding.Finding, err error) {
	at := d.DetectedAt.Time
	named := func(id string) bool {
		return d.Analysis != nil && slices.ContainsFunc(d.Analysis.Anomalies, func(n api.Anomaly) bool { return n.SummaryID == id })
	}
	err = finding.EachOfSite(tx, asset.SiteID, func(f finding.Finding) error {
		if f.AssetID != asset.AssetID && !slices.Contains(f.AssetIDs, asset.AssetID) || f.StartedAt.After(at) ||
			!f.Active && f.EndedAt.Before(at.Add(-back)) && !named(f.SummaryID) {
			return nil
		}
		if worst == nil || cmp.Or(-record.CompareBool(f.Active, worst.Active), -cmp.Compare(finding.Rank(f.SeverityLabel), finding.Rank(worst.SeverityLabel)),
			-cmp.Compare(f.Confidence, worst.Confidence)) < 0 {
			worst = &f
		}
		return nil
	})
	return worst, err
}

// explain puts the finding's causes into the diagnosis.
func (d *Diagnostic) explain(f *finding.Finding) {
	d.Status, d.Severity = "completed", api.SeverityNormal
	a := api.Diagnosis{RootCause: "none", Category: "none", Summary: "No abnormality was detected.",
		RecommendedActions: []api.Action{}, Evidence: []api.Evidence{}, Alternatives: []api.Cause{}}
	if f != nil {
		d.SummaryID, d.Severity = f.SummaryID, f.SeverityLabel
		if !f.Active {
			d.Severity = finding.EndedSeverity(d.Severity)
		}
		a.RootCause, a.Category, a.Summary = "unknown", f.FaultFamily, f.Summary
		a.RecommendedActions = append(a.RecommendedActions, f.RecommendedActions...)
		a.Evidence = append(a.Evidence, f.Evidence...)
		if len(f.Causes) > 0 {
			a.RootCause, a.Confidence = f.Causes[0].Cause, f.Causes[0].Confidence
			a.Alternatives = append(a.Alternatives, f.Causes[1:]...)
		}
	}
	d.Analysis, d.RootCause, d.Confidence = a, a.RootCause, a.Confidence
}

// Diagnostics lists the stored diagnoses within the scope, newest first.
func (s *Service) Diagnostics(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Diagnostic, string, error) {
	sq := record.NewestFirst(q)
	list, next, err := record.List(ctx, s.records, diagnostics, sq, q.Page, func(d Diagnostic) bool {
		return record.Matches(scope, q)(d.CustomerID, d.SiteID, d.AssetID) && q.Since(d.DiagnosedAt.Time) && record.Is(q.Filter.Severity, d.Severity)
	})
	if err != nil {
		return nil, "", fmt.Errorf("list diagnoses: %w", err)
	}
	out := make([]api.Diagnostic, len(list))
	for i, d := range list {
		out[i] = d.Diagnostic
	}
	return out, next, nil
}
