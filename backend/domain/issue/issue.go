// Package issue keeps issues: the tickets of findings, and those that people open.
package issue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/activity"
	"app.sunloop/backend/domain/alert"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/store"
)

// Service keeps issues. It is safe for concurrent use; its state is in the store.
type Service struct {
	records    store.Records
	now        func() time.Time
	activities *activity.Service
	sites      *site.Service
	alerts     *alert.Service
}

// New returns a Service over a store. now is the plant's clock.
func New(records store.Records, now func() time.Time, activities *activity.Service, sites *site.Service, alerts *alert.Service) *Service {
	return &Service{records: records, now: now, activities: activities, sites: sites, alerts: alerts}
}

// Tables returns the tables of the package, for a check of the data.
func Tables() []store.Checked { return []store.Checked{issues} }

// Issue is the record of an issue.
type Issue struct {
	IssueID         string         `json:"issue_id" limit:"id"`
	AssetID         string         `json:"asset_id,omitempty" limit:"id"`
	AssetIDs        []string       `json:"asset_ids,omitempty" limit:"10000 id cut"` // of a group of units
	SiteID          string         `json:"site_id" limit:"id"`
	Component       string         `json:"component" limit:"name cut"`
	IssueType       string         `json:"issue_type" limit:"name cut"` // the fault's family, when the service made it
	Status          string         `json:"status" limit:"word"`
	Priority        string         `json:"priority" limit:"word"`
	EnergyAtRiskKW  float64        `json:"energy_at_risk_kw"`
	FinancialImpact float64        `json:"financial_impact"` // a day's revenue at risk, in the site's currency
	CreatedAt       api.Time       `json:"created_at"`
	UpdatedAt       api.Time       `json:"updated_at"`
	UpdatedMS       int64          `json:"updated_ms,omitempty"`
	Description     string         `json:"description" limit:"line cut"`
	History         []StatusChange `json:"history" limit:"1000 last"` // oldest first
	SummaryID       string         `json:"summary_id,omitempty" limit:"id"`
	Reopened        int            `json:"reopened,omitempty"` // times

	CustomerID string `json:"customer_id" limit:"id"`
	Subject    string `json:"subject" limit:"name"` // the unit or component; empty for a group of units
}

// StatusChange is a change of an issue's status.
type StatusChange struct {
	From  string   `json:"from,omitempty" limit:"word"` // absent: it was made
	To    string   `json:"to" limit:"word"`
	At    api.Time `json:"at"`
	Actor string   `json:"actor" limit:"name cut"`
	Note  string   `json:"note,omitempty" limit:"text cut"`
}

// Of reports whether an issue is of a unit, alone or with others.
func (i Issue) Of(assetID string) bool {
	return i.AssetID == assetID || slices.Contains(i.AssetIDs, assetID)
}

func (i Issue) toAPI() api.Issue {
	return api.Issue{
		IssueID: i.IssueID, AssetID: i.AssetID, AssetIDs: i.AssetIDs, SiteID: i.SiteID, Component: i.Component, IssueType: i.IssueType, Status: i.Status, Priority: i.Priority,
		EnergyAtRiskKW: i.EnergyAtRiskKW, FinancialImpact: i.FinancialImpact, CreatedAt: i.CreatedAt, UpdatedAt: i.UpdatedAt, UpdatedAtMS: i.UpdatedMS, Description: i.Description,
		History: record.Convert(i.History, func(m StatusChange) api.IssueMove { return api.IssueMove(m) }), SummaryID: i.SummaryID, Reopened: i.Reopened,
	}
}

var issues = store.Table[Issue]{
	Bucket: "issues",
	Key:    func(i Issue) []byte { return store.Key(i.SiteID, i.IssueID) },
	Indexes: []store.Index[Issue]{
		{Name: "customer", Key: func(i Issue) []byte { return store.Key(i.CustomerID, i.IssueID) }},
		{Name: "id", Key: func(i Issue) []byte { return store.Key(i.IssueID) }},
		{Name: "subject", Key: func(i Issue) []byte { return store.Key(i.SiteID, i.Subject, i.IssueType) }},
	},
}

// priorityOf a severity.
var priorityOf = map[string]string{api.SeverityCritical: api.PriorityHigh, api.SeverityWarning: api.PriorityMedium, api.SeverityNormal: api.PriorityLow}

// issueMoves are the moves that a person may make, by status. An
// unacknowledged issue is resolved only as a duplicate.
var issueMoves = map[string][]string{
	api.IssueNew:        {api.IssueInProgress},
	api.IssueInProgress: {api.IssueResolved},
	api.IssueResolved:   {},
}

func (s *Service) moveIssue(i *Issue, to, actor, note string) {
	i.UpdatedAt, i.UpdatedMS = api.At(s.now()), s.now().UnixMilli()
	i.History = append(i.History, StatusChange{From: i.Status, To: to, At: i.UpdatedAt, Actor: actor, Note: note})
	i.Status = to
}

// lastIssue is the newest issue of a subject and type; nil if none exists.
func lastIssue(tx store.Tx, siteID, subject, issueType string) (*Issue, error) {
	list, _, err := issues.List(tx, store.Query{Index: "subject", Prefix: store.Key(siteID, subject, issueType), Reverse: true, Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("look up the issues of %s: %w", issueType, err)
	}
	if len(list) == 0 {
		return nil, nil
	}
	return &list[0], nil
}

// maxGroups is how many issues of groups of units are looked through, the newest first.
const maxGroups = 100

// ofGroups returns the newest issues of groups of units of a type, the newest first.
func ofGroups(tx store.Tx, siteID, issueType string) ([]Issue, error) {
	list, _, err := issues.List(tx, store.Query{Index: "subject", Prefix: store.Key(siteID, "", issueType), Reverse: true, Limit: maxGroups})
	if err != nil {
		return nil, fmt.Errorf("look up the issues of %s: %w", issueType, err)
	}
	return list, nil
}

// candidates returns the issues that may be of a finding: of groups, the newest first, or
// the last one of its unit. A group may have begun with one of its units.
func candidates(tx store.Tx, f finding.Finding) (list []Issue, err error) {
	units := f.Units()
	if f.Subject == "" {
		if list, err = ofGroups(tx, f.SiteID, f.FaultFamily); err != nil {
			return nil, err
		}
		if len(f.Members) == 0 {
			units = nil // of the whole site from the beginning
		}
	}
	for _, unit := range units {
		last, err := lastIssue(tx, f.SiteID, unit, f.FaultFamily)
		if err != nil {
			return nil, err
		}
		if last != nil {
			list = append(list, *last)
		}
	}
	return list, nil
}

// ofFinding returns the issue of a finding, also if units joined it since; nil if none
// exists.
func ofFinding(list []Issue, f finding.Finding) *Issue {
	if at := slices.IndexFunc(list, func(i Issue) bool { return i.SummaryID == f.SummaryID }); at >= 0 {
		return &list[at]
	}
	return nil
}

// continued returns the issue that an active finding continues: its own, or the last one
// of the same unit or of a group with a unit in common, whose finding is not active any
// more. It is nil if none exists.
func continued(list []Issue, f finding.Finding, active []finding.Finding) *Issue {
	if i := ofFinding(list, f); i != nil {
		return i
	}
	at := slices.IndexFunc(list, func(i Issue) bool {
		if f.Subject != "" {
			return true // the only one
		}
		common := len(i.AssetIDs) == 0 || slices.ContainsFunc(f.Units(), func(u string) bool { return slices.Contains(i.AssetIDs, u) })
		return i.Subject == "" && common && !slices.ContainsFunc(active, func(g finding.Finding) bool { return g.SummaryID == i.SummaryID })
	})
	if at < 0 {
		return nil
	}
	return &list[at]
}

// Reconcile brings the site's issues up to date with its findings: a finding
// that matters has one open issue, which is resolved when the finding ends and
// opened again when that fires within [ReopenWithin]. Its priority follows the
// finding's severity, which falls only after a calm day.
func (s *Service) Reconcile(tx store.Tx, run finding.Run, out finding.RunResult, active []finding.Finding) error {
	for _, f := range active {
		if err := s.raiseIssue(tx, run, f, active, out.HasOpened(f)); err != nil {
			return err
		}
	}
	for _, f := range out.Ended {
		list, err := candidates(tx, f)
		if err != nil {
			return err
		}
		i := ofFinding(list, f)
		if i == nil || i.Status == api.IssueResolved {
			continue
		}
		i.EnergyAtRiskKW, i.FinancialImpact = 0, 0
		s.moveIssue(i, api.IssueResolved, "detector", api.ReasonAuto)
		if err := s.putIssue(tx, *i, "Issue resolved", "detector"); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) raiseIssue(tx store.Tx, run finding.Run, f finding.Finding, active []finding.Finding, opened bool) error {
	list, err := candidates(tx, f)
	if err != nil {
		return err
	}
	i := continued(list, f, active)
	fresh := i == nil || i.Status == api.IssueResolved && s.now().Sub(i.UpdatedAt.Time) > finding.ReopenWithin
	title := ""
	switch {
	case fresh && (f.SeverityLabel == api.SeverityNormal || i != nil && !opened):
		return nil // to be watched, or seen to by a person already
	case fresh:
		i = &Issue{CustomerID: run.Site.CustomerID}
		i.IssueID, i.SiteID, i.IssueType = record.NewID("iss", s.now()), f.SiteID, f.FaultFamily
		i.CreatedAt, title = api.At(s.now()), "Issue opened"
		s.moveIssue(i, api.IssueNew, "detector", "")
	case i.Status == api.IssueResolved && !opened:
		return nil
	case i.Status == api.IssueResolved:
		i.Reopened++
		title = "Issue reopened"
		s.moveIssue(i, api.IssueInProgress, "detector", "the fault recurred within 72 h")
	}
	before := *i
	i.SummaryID, i.Description, i.Priority = f.SummaryID, f.Summary, priorityOf[f.SeverityLabel]
	i.Subject, i.Component, i.AssetID, i.AssetIDs = f.Subject, cmp.Or(f.Subject, f.SiteID), f.AssetID, f.AssetIDs
	i.EnergyAtRiskKW, i.FinancialImpact = f.EnergyAtRiskKW, f.RevenueAtRisk
	if title == "" && before.SummaryID == i.SummaryID && before.Description == i.Description && before.Priority == i.Priority && before.Subject == i.Subject && slices.Equal(before.AssetIDs, i.AssetIDs) &&
		before.EnergyAtRiskKW == i.EnergyAtRiskKW && before.FinancialImpact == i.FinancialImpact {
		return nil
	}
	i.UpdatedAt, i.UpdatedMS = api.At(s.now()), s.now().UnixMilli()
	return s.putIssue(tx, *i, title, "detector")
}

// putIssue stores the issue, and a note of what was done unless title is empty.
func (s *Service) putIssue(tx store.Tx, i Issue, title, actor string) error {
	if err := issues.Put(tx, i); err != nil {
		return fmt.Errorf("store issue %s: %w", i.IssueID, err)
	}
	if title == "" {
		return nil
	}
	return s.activities.Record(tx, activity.Record{CustomerID: i.CustomerID, SiteID: i.SiteID, AssetID: i.AssetID, Phase: api.PhaseDecide, Title: title,
		Description: cmp.Or(i.Description, i.IssueType), Actor: actor})
}

// EachOfSite calls do with each issue of a site.
func EachOfSite(tx store.Tx, siteID string, do func(Issue) error) error {
	return issues.Each(tx, store.Query{Prefix: store.Key(siteID)}, do)
}

// CreateIssue makes an issue by hand; 409 when the component has an open one
// of that type.
func (s *Service) CreateIssue(ctx context.Context, scope api.Scope, r api.IssuesRequest) (api.Issue, error) {
	site, err := s.sites.Site(ctx, scope, r.Site)
	if err != nil {
		return api.Issue{}, err
	}
	i := Issue{CustomerID: site.CustomerID, Subject: r.Component}
	asset, err := s.sites.Asset(ctx, scope, api.AssetRef{AssetID: r.Component, SiteID: site.SiteID})
	if err != nil && !errors.Is(err, api.ErrAssetNotFound) {
		return api.Issue{}, err
	}
	i.IssueID, i.SiteID, i.AssetID, i.Component, i.IssueType = record.NewID("iss", s.now()), site.SiteID, asset.AssetID, r.Component, r.IssueType
	i.Description, i.Priority, i.CreatedAt = r.Description, cmp.Or(r.Priority, api.PriorityMedium), api.At(s.now())
	s.moveIssue(&i, api.IssueNew, scope.Actor, "")
	err = s.records.Update(ctx, func(tx store.Tx) error {
		former, err := lastIssue(tx, i.SiteID, i.Subject, i.IssueType)
		if err != nil {
			return err
		}
		if former != nil && former.Status != api.IssueResolved {
			return api.AlreadyExists("Issue %s of %s is open for this already", former.IssueID, i.Component).With("issue_id", former.IssueID)
		}
		if err := roomForIssue(tx, i.SiteID); err != nil {
			return err
		}
		return s.putIssue(tx, i, "Issue opened", scope.Actor)
	})
	return i.toAPI(), err
}

// roomForIssue refuses an issue of a site that has as many open ones as there may
// be.
func roomForIssue(tx store.Tx, siteID string) error {
	ofSite := store.Query{Prefix: store.Key(siteID)}
	if full, err := issues.Full(tx, ofSite, api.MaxOpenIssues); err != nil || !full {
		return err
	}
	open := 0
	err := issues.Each(tx, ofSite, func(i Issue) error {
		if i.Status != api.IssueResolved {
			open++
		}
		return nil
	})
	switch {
	case err != nil:
		return fmt.Errorf("count the issues of site %s: %w", siteID, err)
	case open >= api.MaxOpenIssues:
		return api.TooMany("Site "+siteID, api.MaxOpenIssues, "open issues")
	}
	return nil
}

// MoveIssue acknowledges (to [api.IssueInProgress]) or resolves an issue; 409
// with the moves that are allowed for another. To stay is no error.
func (s *Service) MoveIssue(ctx context.Context, scope api.Scope, r api.IssuesRequest, to string) (api.Issue, error) {
	var i Issue
	err := s.records.Update(ctx, func(tx store.Tx) error {
		var err error
		if i, err = s.FindInTx(tx, scope, r.SiteID, r.IssueID); err != nil {
			return err
		}
		duplicate := i.Status == api.IssueNew && to == api.IssueResolved && r.Reason == api.ReasonDuplicate
		switch {
		case i.Status == to:
			return nil
		case !duplicate && !slices.Contains(issueMoves[i.Status], to):
			return api.InvalidTransition("Issue %s is %s: it cannot become %s", i.IssueID, i.Status, to).With("allowed", issueMoves[i.Status])
		}
		i, err = s.SetStatus(tx, i, to, scope.Actor, r.Reason)
		return err
	})
	return i.toAPI(), err
}

// FindInTx is an issue by its id, inside the transaction: [api.ErrIssueNotFound]
// if none exists, or none of the site if that is given;
// [api.ErrForbidden] when it is another's.
func (s *Service) FindInTx(tx store.Tx, scope api.Scope, siteID, issueID string) (Issue, error) {
	list, _, err := issues.List(tx, store.Query{Index: "id", Prefix: store.Key(issueID), Limit: 1})
	if err != nil {
		return Issue{}, fmt.Errorf("look up issue %s: %w", issueID, err)
	}
	if len(list) == 0 || siteID != "" && siteID != list[0].SiteID {
		return Issue{}, api.ErrIssueNotFound
	}
	if err := scope.Check(list[0].CustomerID, list[0].SiteID); err != nil {
		return list[0], err
	}
	return list[0], site.CheckWritable(tx, scope, list[0].SiteID)
}

// LatestOpen is the newest issue of a type that is not resolved, of a unit or of a group
// that it belongs to; ok is false if none exists.
func (s *Service) LatestOpen(tx store.Tx, siteID, assetID, issueType string) (i Issue, ok bool, err error) {
	last, err := lastIssue(tx, siteID, assetID, issueType)
	if err != nil {
		return i, false, err
	}
	if last != nil && last.Status != api.IssueResolved {
		return *last, true, nil
	}
	groups, err := ofGroups(tx, siteID, issueType)
	at := slices.IndexFunc(groups, func(i Issue) bool { return i.Status != api.IssueResolved && slices.Contains(i.AssetIDs, assetID) })
	if err != nil || at < 0 {
		return i, false, err
	}
	return groups[at], true, nil
}

// SetStatus changes the status of an issue, which another kind of record has
// decided, whatever a person may do to it. To stay is no change.
func (s *Service) SetStatus(tx store.Tx, i Issue, to, actor, note string) (Issue, error) {
	if i.Status == to {
		return i, nil
	}
	s.moveIssue(&i, to, actor, note)
	title := "Issue acknowledged"
	if to == api.IssueResolved {
		title = "Issue resolved"
	} else if err := s.alerts.AcknowledgeFor(tx, i.SiteID, i.SummaryID, actor, "issue "+i.IssueID+" was taken on"); err != nil {
		return i, err
	}
	return i, s.putIssue(tx, i, title, actor)
}

// Issues lists those within the scope: open first, then the last changed.
func (s *Service) Issues(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Issue, string, error) {
	ids := api.ListQuery{CustomerID: q.CustomerID, SiteID: q.SiteID}
	part, next, err := record.SortedList[Issue]{
		Table: issues, Query: record.Narrowest(q),
		Keep: func(i *Issue) bool {
			return record.Matches(scope, ids)(i.CustomerID, i.SiteID, "") && (q.AssetID == "" || i.Of(q.AssetID)) && q.SinceUnix(i.UpdatedMS, i.UpdatedAt) &&
				record.Is(q.Filter.Status, i.Status) && record.Is(q.Filter.Priority, i.Priority) && record.Is(q.Filter.Type, i.IssueType)
		},
		Order: func(i *Issue) record.SortKey {
			return record.SortKey{}.First(i.Status != api.IssueResolved).NewestFirst(i.UpdatedAt.Time)
		},
	}.Page(ctx, s.records, q.Page)
	out := make([]api.Issue, len(part))
	for n, i := range part {
		out[n] = i.toAPI()
	}
	return out, next, record.Wrap(err, "list issues")
}

// RenameAsset replaces a unit by another one in the issues of a site.
func RenameAsset(tx store.Tx, siteID, from, to string) error {
	return issues.ChangePrefix(tx, store.Key(siteID), func(i *Issue) bool {
		one := record.Rename(&i.AssetID, from, to)
		some := record.RenameIn(&i.AssetIDs, from, to)
		return record.Rename(&i.Subject, from, to) || one || some
	})
}
