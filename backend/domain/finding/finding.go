// Package finding keeps detected and diagnosed faults, and reconciles them with each
// run of the detector.
package finding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
)

// Service keeps findings. It is safe for concurrent use; its state is in the store.
type Service struct {
	records store.Records
	now     func() time.Time
}

// New returns a Service over a store. now is the plant's clock.
func New(records store.Records, now func() time.Time) *Service {
	return &Service{records: records, now: now}
}

// Tables returns the tables of the package, for a check of the data.
func Tables() []store.Checked { return []store.Checked{findings} }

// SiteRecords returns the records of this package, which are of sites.
func SiteRecords() []record.OfSite {
	return []record.OfSite{{Prefixed: findings, Effect: func(e *api.SiteEffects) *int { return &e.Findings }}}
}

// Units are those of the finding.
func (f Finding) Units() []string {
	if len(f.AssetIDs) > 0 {
		return f.AssetIDs
	}
	return []string{f.AssetID}
}

// Affected are the units that an active finding affects now.
func (f Finding) Affected() []string {
	return slices.DeleteFunc(slices.Clone(f.Units()), func(u string) bool { return !f.Affects(u) })
}

// Finding is an OODA summary with what the service needs to continue it.
type Finding struct {
	api.Finding
	CustomerID string
	// Subject is the unit, or empty for a finding that groups several.
	Subject    string
	SeverityAt time.Time // when the label was last deserved
	Grade      string    // the severity on the finer scale of the detector
	// Losses is LostKWh by hour, as the runs until LossesAsOf saw it; see
	// [Finding.Ledger].
	Losses     []LossRun
	LossesAsOf time.Time
	// Occasions are the times at which the fault was there, if there is more than
	// one; see [Finding.Periods].
	Occasions []Period
}

var findings = store.Table[Finding]{
	Bucket: "findings",
	Key:    func(f Finding) []byte { return store.Key(f.SiteID, f.SummaryID) },
	Indexes: []store.Index[Finding]{
		{Name: "customer", Key: func(f Finding) []byte { return store.Key(f.CustomerID, f.SummaryID) }},
		{Name: "subject", Key: func(f Finding) []byte { return store.Key(f.SiteID, f.Subject, f.FaultFamily) }},
		{Name: "active", Key: func(f Finding) []byte {
			if !f.Active {
				return nil
			}
			return store.Key(f.SiteID)
		}},
	},
	Form: store.As(newFindingRecord, findingRecord.finding),
}

// ReopenWithin is how long after its end a finding is opened again by the same
// fault, rather than a new one made.
const ReopenWithin = 72 * time.Hour

// CalmPeriod is how long a lower severity must last before the label falls.
const CalmPeriod = 24 * time.Hour

// Reconcile brings a site's findings up to date with a run: each event updates
// the finding it continues or opens one, and an active finding whose units
// were judged and that was not seen again is ended. It writes into out those
// that opened (also again), those that ended, and those of the past.
func (s *Service) Reconcile(tx store.Tx, run Run, out *RunResult) error {
	events := slices.Clone(run.Events)
	slices.SortStableFunc(events, func(a, b Event) int { return a.Start.Compare(b.Start) })
	seen := map[string]*Finding{} // by id, in this run
	var order []string
	wasActive, isNew := map[string]bool{}, map[string]bool{}
	former, latest := map[string]Finding{}, map[string][]Event{}
	for _, e := range events {
		if len(e.Units) == 0 {
			continue
		}
		f, known, err := s.continued(tx, run, e, seen)
		if err != nil {
			return err
		}
		if known && run.Past && f.Active {
			continue // the runs over the present keep it
		}
		if known && seen[f.SummaryID] == nil {
			wasActive[f.SummaryID] = f.Active
			former[f.SummaryID] = f
		}
		latest[f.SummaryID] = append(latest[f.SummaryID], e)
		isNew[f.SummaryID] = isNew[f.SummaryID] || !known
		again := seen[f.SummaryID] != nil
		f = updated(f, e, run, again)
		if !again {
			order = append(order, f.SummaryID)
		}
		seen[f.SummaryID] = &f
	}
	for _, id := range order {
		f := seen[id]
		f.addLosses(former[id], latest[id], run)
		f.addMembers(former[id], latest[id], run)
		switch {
		case f.Active && !wasActive[id]:
			out.Opened = append(out.Opened, *f)
		case !f.Active && wasActive[id]:
			out.Ended = append(out.Ended, *f)
		case isNew[id] && !f.Active:
			out.Past = append(out.Past, *f)
		case !f.Active && f.LostKWh != former[id].LostKWh:
			out.Revised = append(out.Revised, *f)
		}
		f.UpdatedAtMS = run.Now.UnixMilli()
		if err := findings.Put(tx, *f); err != nil {
			return fmt.Errorf("store finding %s: %w", id, err)
		}
	}
	if run.Past {
		return nil
	}
	list, err := Active(tx, run.Site.SiteID)
	if err != nil {
		return err
	}
	for _, f := range list {
		if seen[f.SummaryID] != nil || !run.evaluated(f) {
			continue
		}
		f.Active, f.EndedAt = false, f.LastDetectionAt
		f.EnergyAtRiskKW, f.RevenueAtRisk = 0, 0
		f.addLosses(f, nil, run)
		f.addMembers(f, nil, run)
		f.UpdatedAtMS = run.Now.UnixMilli()
		out.Ended = append(out.Ended, f)
		if err := findings.Put(tx, f); err != nil {
			return fmt.Errorf("end finding %s: %w", f.SummaryID, err)
		}
	}
	return nil
}

// continued is the finding that the event continues, or a new one.
func (s *Service) continued(tx store.Tx, run Run, e Event, seen map[string]*Finding) (f Finding, known bool, err error) {
	former, err := formerOf(tx, run.Site.SiteID, e, seen)
	if err != nil {
		return f, false, err
	}
	if g, ok := best(former, e); ok {
		return g, true, nil
	}
	f = Finding{CustomerID: run.Site.CustomerID, Subject: e.subject()}
	f.SummaryID = record.NewID("fnd", s.now())
	f.SiteID, f.AssetID, f.FaultFamily = run.Site.SiteID, e.Units[0], e.Family
	f.CreatedAt, f.StartedAt = api.At(s.now()), api.At(e.Start)
	f.DetectedAt = f.CreatedAt
	if !e.End.IsZero() && !e.DetectedAt.IsZero() && e.DetectedAt.Before(f.CreatedAt.Time) {
		f.DetectedAt = api.At(e.DetectedAt) // it was over when the data arrived
	}
	f.Detections = []string{}
	return f, false, nil
}

// updated is f with what the event says. again: the run touched f before, with
// an earlier event of the same fault.
func updated(f Finding, e Event, run Run, again bool) Finding {
	if !again {
		f.Active = false
	}
	if e.Start.Before(f.StartedAt.Time) {
		f.StartedAt = api.At(e.Start)
	}
	f.LastDetectionAt = record.Latest(f.LastDetectionAt, api.At(e.LastSeen))
	if e.End.IsZero() {
		f.Active, f.EndedAt = true, api.Time{}
	} else if !f.Active {
		f.EndedAt = record.Latest(f.EndedAt, api.At(e.End))
	}
	f.addUnits(e.Units)
	if Rank(e.Severity) >= Rank(f.SeverityLabel) || run.Now.Sub(f.SeverityAt) >= CalmPeriod {
		f.SeverityLabel, f.SeverityAt, f.Grade = e.Severity, run.Now, e.Grade
	}
	f.ModelVersion = run.ModelVersion
	f.LossFraction, f.EnergyAtRiskKW, f.Confidence = e.LossFraction, e.EnergyAtRiskKW, e.Confidence
	f.Summary, f.Causes, f.Evidence = e.Summary, e.Causes, e.Evidence
	f.RecommendedActions = e.Actions
	if f.RecommendedActions == nil {
		f.RecommendedActions = []api.Action{}
	}
	f.RootCause = ""
	if len(e.Causes) > 0 {
		f.RootCause = e.Causes[0].Cause
	}
	f.RevenueAtRisk, f.Currency = 0, ""
	if run.Site.TariffPerKWh > 0 && run.Site.Currency != "" {
		f.Currency = run.Site.Currency
		f.RevenueAtRisk = e.LossFraction * run.DayKWh(e.Affected()) * run.Site.TariffPerKWh
	}
	if !f.Active {
		f.EnergyAtRiskKW, f.RevenueAtRisk = 0, 0 // nothing is at risk any more
	}
	return f
}

// EachOfSite calls do with each finding of a site.
func EachOfSite(tx store.Tx, siteID string, do func(Finding) error) error {
	return findings.Each(tx, store.Query{Prefix: store.Key(siteID)}, do)
}

// EachActive calls do with each active finding of a site.
func EachActive(tx store.Tx, siteID string, do func(Finding) error) error {
	return findings.Each(tx, store.Query{Index: "active", Prefix: store.Key(siteID)}, do)
}

// Find returns the finding of a site by its id; ok is false without one.
func (s *Service) Find(tx store.Tx, siteID, summaryID string) (f api.Finding, ok bool, err error) {
	found, err := findings.Get(tx, store.Key(siteID, summaryID))
	if errors.Is(err, store.ErrNotFound) {
		return f, false, nil
	}
	if err != nil {
		return f, false, fmt.Errorf("read finding %s of site %s: %w", summaryID, siteID, err)
	}
	return found.Finding, true, nil
}

// Active returns the active findings of a site.
func Active(tx store.Tx, siteID string) ([]Finding, error) {
	list, _, err := findings.List(tx, store.Query{Index: "active", Prefix: store.Key(siteID)})
	return list, record.Wrap(err, "list the active findings of site "+siteID)
}

// Active are those of a site, inside the transaction.
func (s *Service) Active(tx store.Tx, siteID string) ([]api.Finding, error) {
	list, err := Active(tx, siteID)
	if err != nil {
		return nil, err
	}
	out := make([]api.Finding, len(list))
	for i, f := range list {
		out[i] = f.Finding
	}
	return out, nil
}

// Findings lists the summaries within the scope: active first, most energy at
// risk first, then the newest; [api.ErrNoSummaries] if none exists.
func (s *Service) Findings(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Finding, string, error) {
	ids := api.ListQuery{CustomerID: q.CustomerID, SiteID: q.SiteID}
	some := false
	part, next, err := record.SortedList[Finding]{
		Table: findings, Query: record.Narrowest(q),
		Keep: func(f *Finding) bool {
			is := record.Matches(scope, ids)(f.CustomerID, f.SiteID, "") && (q.AssetID == "" || f.AssetID == q.AssetID || slices.Contains(f.AssetIDs, q.AssetID))
			some = some || is
			return is && f.within(q.From.Time, q.To.Time) && q.SinceUnix(f.UpdatedAtMS, f.LastDetectionAt) && record.Is(q.Filter.Severity, f.SeverityLabel) && record.Is(q.Filter.Type, f.FaultFamily)
		},
		Order: func(f *Finding) record.SortKey {
			return record.SortKey{}.First(f.Active).Descending(f.EnergyAtRiskKW).Number(-int64(Rank(f.SeverityLabel))).NewestFirst(f.LastDetectionAt.Time)
		},
	}.Page(ctx, s.records, q.Page)
	switch {
	case err != nil:
		return nil, "", record.Wrap(err, "list findings")
	case !some:
		return nil, "", api.ErrNoSummaries
	}
	out := make([]api.Finding, len(part))
	for i, f := range part {
		out[i] = f.Finding
	}
	return out, next, nil
}

// CountActive counts the active findings of all sites by severity.
func (s *Service) CountActive(ctx context.Context) (map[string]int, error) {
	open := map[string]int{}
	err := s.records.View(ctx, func(tx store.Tx) error {
		clear(open)
		return findings.Each(tx, store.Query{Index: "active"}, func(f Finding) error {
			open[f.Severity()]++
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("count the open findings: %w", err)
	}
	return open, nil
}

// RenameAsset replaces a unit by another one in the findings of a site.
func RenameAsset(tx store.Tx, siteID, from, to string) error {
	return findings.ChangePrefix(tx, store.Key(siteID), func(f *Finding) bool {
		a, b := record.Rename(&f.AssetID, from, to), record.Rename(&f.Subject, from, to)
		for i := range f.Members {
			b = record.Rename(&f.Members[i].AssetID, from, to) || b
		}
		return record.RenameIn(&f.AssetIDs, from, to) || a || b
	})
}
