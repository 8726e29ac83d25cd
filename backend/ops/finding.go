package ops

import (
	"context"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// Finding is the record of an OODA summary.
type Finding struct {
	api.Finding
	CustomerID string `json:"customer_id" limit:"id"`
	// Subject is the unit, or empty for a finding that groups several.
	Subject    string    `json:"subject" limit:"name"`
	SeverityAt time.Time `json:"severity_at"`            // when the label was last deserved
	Grade      string    `json:"grade" limit:"word cut"` // the severity on the finer scale of the detector
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
}

// Event is a fault as a run of the detector saw it, within the run's span.
type Event struct {
	Family          string
	Units           []string
	Start, LastSeen time.Time
	End             time.Time // zero while it lasts
	LossFraction    float64
	LostKWh         float64
	EnergyAtRiskKW  float64
	Confidence      float64
	Severity        string // api.SeverityCritical, …
	Grade           string // Critical, High, Medium, Low; empty where only Severity is known
	Summary         string
	Causes          []api.Cause
	Actions         []api.Action
	Evidence        []api.Evidence
}

func (e Event) subject() string {
	if len(e.Units) == 1 {
		return e.Units[0]
	}
	return ""
}

// end is when the event was last there.
func (e Event) end() time.Time {
	if e.End.IsZero() {
		return e.LastSeen
	}
	return e.End
}

// Reopening is how long after its end a finding is opened again by the same
// fault, rather than a new one made.
const Reopening = 72 * time.Hour

// calm is how long a lower severity must last before the label falls.
const calm = 24 * time.Hour

// reconcile brings a site's findings up to date with a run: each event updates
// the finding it continues or opens one, and an active finding whose units
// were judged and that was not seen again is ended. It writes into out those
// that opened (also again), those that ended, and those of the past.
func (s *Service) reconcile(tx store.Tx, run Run, out *Outcome) error {
	events := slices.Clone(run.Events)
	slices.SortStableFunc(events, func(a, b Event) int { return a.Start.Compare(b.Start) })
	seen := map[string]*Finding{} // by id, in this run
	var order []string
	wasActive, isNew := map[string]bool{}, map[string]bool{}
	for _, e := range events {
		if len(e.Units) == 0 {
			continue
		}
		f, known, err := s.continued(tx, run, e, seen)
		if err != nil {
			return err
		}
		if known && seen[f.SummaryID] == nil {
			wasActive[f.SummaryID] = f.Active
		}
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
		switch {
		case f.Active && !wasActive[id]:
			out.Opened = append(out.Opened, *f)
		case !f.Active && wasActive[id]:
			out.Ended = append(out.Ended, *f)
		case isNew[id] && !f.Active:
			out.Past = append(out.Past, *f)
		}
		if err := findings.Put(tx, *f); err != nil {
			return fmt.Errorf("store finding %s: %w", id, err)
		}
	}
	list, err := active(tx, run.Site.SiteID)
	if err != nil {
		return err
	}
	for _, f := range list {
		if seen[f.SummaryID] != nil || !run.judged(f) {
			continue
		}
		f.Active, f.EndedAt = false, f.LastDetectionAt
		f.EnergyAtRiskKW, f.RevenueAtRisk = 0, 0
		out.Ended = append(out.Ended, f)
		if err := findings.Put(tx, f); err != nil {
			return fmt.Errorf("end finding %s: %w", f.SummaryID, err)
		}
	}
	return nil
}

// continued is the finding that the event goes on with, or a new one.
func (s *Service) continued(tx store.Tx, run Run, e Event, seen map[string]*Finding) (f Finding, known bool, err error) {
	former, _, err := findings.List(tx, store.Query{Index: "subject", Prefix: store.Key(run.Site.SiteID, e.subject(), e.Family)})
	if err != nil {
		return f, false, fmt.Errorf("look up the findings of %s: %w", e.Family, err)
	}
	// Those that this run made are not in the index yet.
	for _, g := range seen {
		if g.Subject == e.subject() && g.FaultFamily == e.Family {
			former = slices.DeleteFunc(former, func(h Finding) bool { return h.SummaryID == g.SummaryID })
			former = append(former, *g)
		}
	}
	slices.SortFunc(former, func(a, b Finding) int { return b.StartedAt.Compare(a.StartedAt.Time) })
	for _, g := range former {
		last := g.LastDetectionAt.Time
		if g.EndedAt.After(last) {
			last = g.EndedAt.Time
		}
		if !e.Start.After(last.Add(Reopening)) && !e.end().Before(g.StartedAt.Time) {
			return g, true, nil
		}
	}
	f = Finding{CustomerID: run.Site.CustomerID, Subject: e.subject()}
	f.SummaryID = NewID("fnd", s.now())
	f.SiteID, f.AssetID, f.FaultFamily = run.Site.SiteID, e.Units[0], e.Family
	f.CreatedAt, f.StartedAt = api.At(s.now()), api.At(e.Start)
	f.Detections = []string{}
	return f, false, nil
}

// updated is f with what the event says. again: the run touched f before, with
// an earlier event of the same fault.
func updated(f Finding, e Event, run Run, again bool) Finding {
	if !again {
		former := f.LostKWh
		f.LostKWh = 0
		// A span that began after the fault did not see all of the loss.
		if f.StartedAt.Before(run.From) {
			f.LostKWh = max(former-e.LostKWh, 0)
		}
		f.Active = false
	}
	if e.Start.Before(f.StartedAt.Time) {
		f.StartedAt = api.At(e.Start)
	}
	f.LostKWh += e.LostKWh
	f.LastDetectionAt = latest(f.LastDetectionAt, api.At(e.LastSeen))
	if e.End.IsZero() {
		f.Active, f.EndedAt = true, api.Time{}
	} else if !f.Active {
		f.EndedAt = latest(f.EndedAt, api.At(e.End))
	}
	if f.Subject == "" {
		for _, u := range e.Units {
			if !slices.Contains(f.AssetIDs, u) {
				f.AssetIDs = append(f.AssetIDs, u)
			}
		}
		slices.Sort(f.AssetIDs)
	}
	if rank(e.Severity) >= rank(f.SeverityLabel) || run.Now.Sub(f.SeverityAt) >= calm {
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
		f.RevenueAtRisk = e.LossFraction * run.DayKWh(e.Units) * run.Site.TariffPerKWh
	}
	if !f.Active {
		f.EnergyAtRiskKW, f.RevenueAtRisk = 0, 0 // nothing is at risk any more
	}
	return f
}

func latest(a, b api.Time) api.Time {
	if a.Before(b.Time) {
		return b
	}
	return a
}

func rank(severity string) int {
	return slices.Index([]string{"", api.SeverityNormal, api.SeverityWarning, api.SeverityCritical}, severity)
}

// findingsOf calls do with each finding of a site.
func findingsOf(tx store.Tx, siteID string, do func(Finding) error) error {
	return findings.Each(tx, store.Query{Prefix: store.Key(siteID)}, do)
}

// activeOf calls do with each active finding of a site.
func activeOf(tx store.Tx, siteID string, do func(Finding) error) error {
	return findings.Each(tx, store.Query{Index: "active", Prefix: store.Key(siteID)}, do)
}

// active returns the active findings of a site.
func active(tx store.Tx, siteID string) ([]Finding, error) {
	list, _, err := findings.List(tx, store.Query{Index: "active", Prefix: store.Key(siteID)})
	return list, wrap(err, "list the active findings of site "+siteID)
}

// ActiveFindings are those of a site, inside the transaction.
func (s *Service) ActiveFindings(tx store.Tx, siteID string) ([]api.Finding, error) {
	list, err := active(tx, siteID)
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
// risk first, then the newest; [api.ErrNoSummaries] when there is none.
func (s *Service) Findings(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Finding, string, error) {
	ids := api.ListQuery{CustomerID: q.CustomerID, SiteID: q.SiteID}
	some := false
	part, next, err := sortedList[Finding]{
		table: findings, query: narrowest(q),
		keep: func(f *Finding) bool {
			is := asked(scope, ids)(f.CustomerID, f.SiteID, "") && (q.AssetID == "" || f.AssetID == q.AssetID || slices.Contains(f.AssetIDs, q.AssetID))
			some = some || is
			return is
		},
		order: func(f *Finding) sortKey {
			return sortKey{}.first(f.Active).descending(f.EnergyAtRiskKW).number(-int64(rank(f.SeverityLabel))).newestFirst(f.LastDetectionAt.Time)
		},
	}.page(ctx, s.records, q.Page)
	switch {
	case err != nil:
		return nil, "", wrap(err, "list findings")
	case !some:
		return nil, "", api.ErrNoSummaries
	}
	out := make([]api.Finding, len(part))
	for i, f := range part {
		out[i] = f.Finding
	}
	return out, next, nil
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// OpenFindings counts the active findings of all sites by severity.
func (s *Service) OpenFindings(ctx context.Context) (map[string]int, error) {
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
