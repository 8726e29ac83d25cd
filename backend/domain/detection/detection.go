// Package detection records the runs of the detector: one transaction brings
// findings, issues and alerts up to date. It also keeps diagnoses, and lists faults
// for partner systems.
package detection

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/activity"
	"app.sunloop/backend/domain/alert"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/issue"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/store"
)

// Service records the runs of the detector and what follows from them. It is safe for concurrent use; its state is in the store.
type Service struct {
	records    store.Records
	now        func() time.Time
	activities *activity.Service
	sites      *site.Service
	findings   *finding.Service
	alerts     *alert.Service
	issues     *issue.Service
}

// New returns a Service over a store. now is the plant's clock.
func New(records store.Records, now func() time.Time, activities *activity.Service, sites *site.Service, findings *finding.Service, alerts *alert.Service, issues *issue.Service) *Service {
	return &Service{records: records, now: now, activities: activities, sites: sites, findings: findings, alerts: alerts, issues: issues}
}

// Tables returns the tables of the package, for a check of the data.
func Tables() []store.Checked { return []store.Checked{detections, diagnostics} }

// Detection is a run of the detector over one asset.
type Detection struct {
	api.Detection
	CustomerID string
	SiteID     string
	Signature  string // of what was found; a run with the signature of the previous one repeats it
}

var detections = store.Table[Detection]{
	Bucket: "detections",
	Key:    func(d Detection) []byte { return store.Key(d.SiteID, d.AssetID, d.DetectionID) },
	Indexes: []store.Index[Detection]{
		{Name: "customer", Key: func(d Detection) []byte { return store.Key(d.CustomerID, d.DetectionID) }},
		{Name: "time", Key: func(d Detection) []byte { return store.Key(d.DetectionID) }},
	},
	Form: store.As(newDetectionRecord, detectionRecord.detection),
}

func detectionOwner(d Detection) (customer, site, asset string) {
	return d.CustomerID, d.SiteID, d.AssetID
}

// RecordRun stores a run: the detections of the assets about which it says
// something new, and the findings they lead to, with their activities.
func (s *Service) RecordRun(tx store.Tx, run finding.Run) (finding.RunResult, error) {
	if run.DayKWh == nil {
		run.DayKWh = func([]string) float64 { return 0 }
	}
	out := finding.RunResult{Detections: map[string]api.Detection{}}
	if err := s.findings.Reconcile(tx, run, &out); err != nil {
		return out, err
	}
	found, err := findingsOf(tx, run)
	if err != nil {
		return out, err
	}
	for _, asset := range run.Units {
		if a, ok := run.Analyses[asset]; ok {
			run.Analyses[asset] = withFindings(a, asset, found)
		}
		d, isNew, err := s.detection(tx, run, asset)
		if err != nil {
			return out, err
		}
		if isNew || slices.Contains(run.Requested, asset) {
			if err := detections.Put(tx, d); err != nil {
				return out, fmt.Errorf("store detection %s: %w", d.DetectionID, err)
			}
			out.Detections[asset] = d.Detection
		}
	}
	lasting, err := finding.Active(tx, run.Site.SiteID)
	if err != nil {
		return out, err
	}
	if err := s.issues.Reconcile(tx, run, out, lasting); err != nil {
		return out, err
	}
	if err := s.alerts.Reconcile(tx, run, out, lasting); err != nil {
		return out, err
	}
	if err := s.announce(tx, run, out); err != nil {
		return out, err
	}
	return out, finding.LinkDetections(tx, out, slices.Concat(lasting, out.Ended, out.Past))
}

// RecordPast stores the findings of a run over years before the present, with cleared
// alerts. All of its events have ended: they open no issue and raise no alarm.
func (s *Service) RecordPast(tx store.Tx, run finding.Run) error {
	var out finding.RunResult
	run.Past = true
	if run.DayKWh == nil {
		run.DayKWh = func([]string) float64 { return 0 }
	}
	if err := s.findings.Reconcile(tx, run, &out); err != nil {
		return err
	}
	return s.alerts.Reconcile(tx, run, out, nil)
}

// findingsOf returns the findings of the site that are active, and those that the
// events of a run may be part of.
func findingsOf(tx store.Tx, run finding.Run) (list []finding.Finding, err error) {
	if len(run.Analyses) == 0 {
		return nil, nil
	}
	err = finding.EachOfSite(tx, run.Site.SiteID, func(f finding.Finding) error {
		if f.Active || !f.EndedAt.Before(run.From) {
			list = append(list, f)
		}
		return nil
	})
	return list, record.Wrap(err, "list the findings of site "+run.Site.SiteID)
}

// withFindings returns an analysis whose anomalies name their findings and have the losses
// and the severity of these, so that the run, its findings and their alerts say the same.
// An active finding that the run did not evaluate, such as soiling in a short run, is one
// of the anomalies.
func withFindings(a api.Analysis, asset string, found []finding.Finding) api.Analysis {
	a.Anomalies = slices.Clone(a.Anomalies)
	named := map[string]bool{}
	for i := range a.Anomalies {
		n := &a.Anomalies[i]
		for _, f := range found {
			if f.FaultFamily == n.FaultFamily && slices.Contains(f.Units(), asset) && !n.LastSeenAt.Before(f.StartedAt.Time) && !n.StartedAt.After(f.LastDetectionAt.Time) {
				part := f.Part(asset)
				n.SummaryID, n.LostKWh, n.StartedAt = f.SummaryID, part.LostKWh, part.StartedAt
				if f.Active && n.EndedAt.IsZero() {
					n.SeverityLabel = f.SeverityLabel
				}
				named[f.SummaryID] = true
			}
		}
	}
	for _, f := range found {
		if named[f.SummaryID] || !f.Affects(asset) {
			continue
		}
		part := f.Part(asset)
		a.Anomalies = append(a.Anomalies, api.Anomaly{SummaryID: f.SummaryID, FaultFamily: f.FaultFamily, SeverityLabel: f.SeverityLabel, StartedAt: part.StartedAt,
			LastSeenAt: part.LastSeenAt, LossFraction: part.LossFraction, LostKWh: part.LostKWh, Confidence: f.Confidence, Summary: f.Summary})
		a.EnergyAtRiskKW = max(a.EnergyAtRiskKW, f.EnergyAtRiskKW/float64(max(len(f.Affected()), 1)))
	}
	finding.Conclude(&a)
	return a
}

func (s *Service) detection(tx store.Tx, run finding.Run, asset string) (d Detection, isNew bool, err error) {
	d = Detection{CustomerID: run.Site.CustomerID, SiteID: run.Site.SiteID}
	d.DetectionID, d.AssetID, d.DetectedAt = record.NewID("det", s.now()), asset, api.At(run.Now)
	d.Status, d.Severity = "completed", api.SeverityNormal
	var marks []string
	for _, e := range run.Events {
		if !slices.Contains(e.Units, asset) || finding.LastPresent(e.Part(asset)).Before(run.Now.Add(-finding.CalmPeriod)) {
			continue
		}
		d.AnomaliesDetected++
		ended := !e.Part(asset).EndedAt.IsZero()
		if !ended && finding.Rank(e.Severity) > finding.Rank(d.Severity) {
			d.Severity = e.Severity
		}
		mark := e.Family + " " + e.Severity
		if ended {
			mark += " ended"
		}
		marks = append(marks, mark)
	}
	if a, ok := run.Analyses[asset]; ok {
		d.Analysis = &a
		d.AnomaliesDetected, d.Severity = len(a.Anomalies), a.SeverityLabel
	}
	slices.Sort(marks)
	d.Signature = strings.Join(marks, "; ")
	last, _, err := detections.List(tx, store.Query{Prefix: store.Key(run.Site.SiteID, asset), Reverse: true, Limit: 1})
	if err != nil {
		return d, false, fmt.Errorf("read the last detection of asset %s: %w", asset, err)
	}
	was := ""
	if len(last) > 0 {
		was = last[0].Signature
	}
	return d, d.Signature != was, nil
}

func (s *Service) announce(tx store.Tx, run finding.Run, out finding.RunResult) error {
	note := func(f finding.Finding, phase, title string) error {
		return s.activities.Record(tx, activity.Record{CustomerID: run.Site.CustomerID, SiteID: run.Site.SiteID, AssetID: f.AssetID, Phase: phase,
			Title: title, Description: cmp.Or(f.Summary, f.FaultFamily), Actor: "detector"})
	}
	for _, f := range out.Opened {
		if err := note(f, api.PhaseOrient, "Finding opened"); err != nil {
			return err
		}
	}
	for _, f := range out.Ended {
		if err := note(f, api.PhaseOrient, "Finding ended"); err != nil {
			return err
		}
	}
	return nil
}

// Detections lists the stored runs within the scope, newest first.
func (s *Service) Detections(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Detection, string, error) {
	sq := store.Query{Index: "time", Reverse: true}
	switch {
	case q.SiteID != "" && q.AssetID != "":
		sq.Index, sq.Prefix = "", store.Key(q.SiteID, q.AssetID)
	case q.CustomerID != "":
		sq.Index, sq.Prefix = "customer", store.Key(q.CustomerID)
	}
	list, next, err := record.List(ctx, s.records, detections, sq, q.Page, func(d Detection) bool {
		return record.Matches(scope, q)(detectionOwner(d)) && q.Since(d.DetectedAt.Time) && record.Is(q.Filter.Severity, d.Severity)
	})
	if err != nil {
		return nil, "", fmt.Errorf("list detections: %w", err)
	}
	out := make([]api.Detection, len(list))
	for i, d := range list {
		out[i] = d.Detection
	}
	return out, next, nil
}

// PruneDetections deletes detections from before a time.
func PruneDetections(tx store.Tx, before time.Time) (int, error) {
	return record.Prune(tx, detections, func(_ string, made time.Time) bool { return made.Before(before) })
}

// PruneDiagnostics deletes diagnostics from before a time.
func PruneDiagnostics(tx store.Tx, before time.Time) (int, error) {
	return record.Prune(tx, diagnostics, func(_ string, made time.Time) bool { return made.Before(before) })
}

// RenameAsset replaces a unit by another one in the runs of the detector and the
// diagnoses of a site.
func RenameAsset(tx store.Tx, siteID, from, to string) error {
	err := detections.ChangePrefix(tx, store.Key(siteID), func(d *Detection) bool { return record.Rename(&d.AssetID, from, to) })
	if err != nil {
		return err
	}
	return diagnostics.ChangePrefix(tx, store.Key(siteID), func(d *Diagnostic) bool { return record.Rename(&d.AssetID, from, to) })
}
