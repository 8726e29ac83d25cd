// Package alert keeps alerts of findings: their states as in ISA-18.2, their lists and
// the performance of the alarm system.
package alert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/activity"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/store"
)

// Service keeps alerts and their states. It is safe for concurrent use; its state is in the store.
type Service struct {
	records    store.Records
	now        func() time.Time
	activities *activity.Service
	sites      *site.Service

	// OnChange is called with each alert that is stored and what it was before, nil for
	// a new one, within the transaction; optional. It is set before the first change.
	OnChange func(tx store.Tx, before *Alert, a Alert) error
}

// New returns a Service over a store. now is the plant's clock.
func New(records store.Records, now func() time.Time, activities *activity.Service, sites *site.Service) *Service {
	return &Service{records: records, now: now, activities: activities, sites: sites}
}

// Tables returns the tables of the package, for a check of the data.
func Tables() []store.Checked { return []store.Checked{alerts} }

// SiteRecords returns the records of this package, which are of sites.
func SiteRecords() []record.OfSite {
	return []record.OfSite{{Prefixed: alerts, Effect: func(e *api.SiteEffects) *int { return &e.Alerts }}}
}

// Alert is an alert with its customer and its finding.
type Alert struct {
	api.Alert
	CustomerID string
	SummaryID  string // of the finding that it reports
}

var alerts = store.Table[Alert]{
	Bucket: "alerts",
	// By device and time: that is how they are read over years.
	Key: func(a Alert) []byte {
		return store.Key(a.SiteID, a.TerminalDeviceID, a.Timestamp.String(), a.AlertID)
	},
	Indexes: []store.Index[Alert]{
		{Name: "id", Key: func(a Alert) []byte { return store.Key(a.AlertID) }},
		{Name: "finding", Key: func(a Alert) []byte { return store.Key(a.SiteID, a.SummaryID) }},
		{Name: "open", Key: func(a Alert) []byte {
			if a.State == api.AlertCleared {
				return nil
			}
			return store.Key(a.SiteID)
		}},
	},
	Form: store.As(newAlertRecord, alertRecord.alert),
}

func alertOwner(a Alert) (customer, site, asset string) { return a.CustomerID, a.SiteID, a.AssetID }

func (a *Alert) move(to string, m api.AlertMove) {
	m.From, m.To = a.State, to
	a.State = to
	a.History = append(a.History, m)
	if to == api.AlertUnacknowledged {
		a.AcknowledgedBy, a.AcknowledgedAt = "", api.Time{}
	}
}

// ExpireTimers ends what was only for a time: nothing stays shelved or suppressed
// in silence.
func (a *Alert) ExpireTimers(now time.Time) {
	until := a.ShelvedUntil
	if a.State == api.AlertSuppressed {
		until = a.SuppressedTo
	}
	if (a.State == api.AlertShelved || a.State == api.AlertSuppressed) && !until.IsZero() && !now.Before(until.Time) {
		a.move(api.AlertUnacknowledged, api.AlertMove{At: until, Actor: "service", Reason: "the time has ended"})
		a.ShelvedUntil, a.SuppressedTo = api.Time{}, api.Time{}
	}
}

// Reconcile brings the site's alerts up to date with its findings.
func (s *Service) Reconcile(tx store.Tx, run finding.Run, out finding.RunResult, active []finding.Finding) error {
	for _, list := range [][]finding.Finding{active, out.Ended, out.Past, out.Revised} {
		for _, f := range list {
			a, err := LatestOf(tx, f.SiteID, f.SummaryID)
			if err != nil {
				return err
			}
			var before *Alert
			opened := out.HasOpened(f)
			if a == nil || a.State == api.AlertCleared && opened {
				a, err = s.newAlert(tx, run, f)
			} else {
				was := *a
				before = &was
				a.ExpireTimers(s.now())
				s.update(a, f, opened)
			}
			if err != nil {
				return err
			}
			if err := s.put(tx, before, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// put stores an alert and announces the change. Each change of an alert goes through it.
func (s *Service) put(tx store.Tx, before *Alert, changed *Alert) error {
	changed.UpdatedAtMS = s.now().UnixMilli()
	a := *changed
	if err := alerts.Put(tx, a); err != nil {
		return fmt.Errorf("store alert %s: %w", a.AlertID, err)
	}
	if s.OnChange == nil {
		return nil
	}
	return s.OnChange(tx, before, a)
}

// LatestOf is the newest alert of a finding; nil if none exists.
func LatestOf(tx store.Tx, siteID, summaryID string) (*Alert, error) {
	var newest *Alert
	err := alerts.Each(tx, store.Query{Index: "finding", Prefix: store.Key(siteID, summaryID)}, func(a Alert) error {
		// By id, which sorts by when it was raised: devices and starts may differ.
		if newest == nil || a.AlertID > newest.AlertID {
			newest = &a
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look up the alerts of finding %s: %w", summaryID, err)
	}
	return newest, nil
}

func (s *Service) newAlert(tx store.Tx, run finding.Run, f finding.Finding) (*Alert, error) {
	a := &Alert{CustomerID: run.Site.CustomerID, SummaryID: f.SummaryID}
	a.AlertID, a.SiteID, a.AssetID, a.AlertType, a.SourceSystem = record.NewID("alt", s.now()), f.SiteID, f.AssetID, f.FaultFamily, api.AlertSource
	a.Timestamp, a.Occurrences = f.StartedAt, 1
	a.TerminalDeviceID = site.TerminalOf(run.Site)
	unit, err := site.AssetIn(tx, f.SiteID, f.AssetID)
	switch {
	case err == nil && len(f.AssetIDs) == 0:
		a.TerminalDeviceID = cmp.Or(unit.TerminalDeviceID, a.TerminalDeviceID)
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return nil, fmt.Errorf("read asset %s: %w", f.AssetID, err)
	}
	a.setMessage(f)
	m := api.AlertMove{At: api.At(s.now()), Actor: "detector"}
	switch {
	case !f.Active:
		a.Resolved, a.ResolvedAt, m.Reason = true, f.EndedAt, "it had ended before it was detected"
		a.move(api.AlertCleared, m)
	case finding.NeedsAction(a.AlertSeverity):
		a.move(api.AlertUnacknowledged, m)
	default:
		m.Reason = "no action is required"
		a.move(api.AlertAcknowledged, m)
	}
	return a, nil
}

// setMessage writes what the finding says now.
func (a *Alert) setMessage(f finding.Finding) {
	a.AlertSeverity, a.Message, a.EnergyAtRiskKW = finding.AlertSeverity(f), cmp.Or(f.Summary, f.FaultFamily), f.EnergyAtRiskKW
	a.Metadata = &api.AlertMetadata{SummaryID: f.SummaryID, AssetIDs: f.AssetIDs, RootCause: f.RootCause, Confidence: f.Confidence,
		LossFraction: f.LossFraction, LostKWh: f.LostKWh}
}

// update brings an open alert up to date with its finding.
func (s *Service) update(a *Alert, f finding.Finding, opened bool) {
	was := a.AlertSeverity
	a.setMessage(f)
	m := api.AlertMove{At: api.At(s.now()), Actor: "detector"}
	switch hidden := a.State == api.AlertShelved || a.State == api.AlertSuppressed; {
	case a.State == api.AlertCleared:
	case !f.Active:
		a.Resolved, a.ResolvedAt = true, f.EndedAt
		if a.State == api.AlertReturned {
			break
		}
		to := api.AlertCleared
		if a.State == api.AlertUnacknowledged {
			to = api.AlertReturned
		}
		a.ShelvedUntil, a.SuppressedTo = api.Time{}, api.Time{}
		a.move(to, m)
	case opened:
		a.Resolved, a.ResolvedAt = false, api.Time{}
		a.Occurrences++
		if !hidden {
			m.Reason = "it recurred"
			a.move(api.AlertUnacknowledged, m)
		}
	case !hidden && finding.UrgencyRank(a.AlertSeverity) < finding.UrgencyRank(was) && a.State == api.AlertAcknowledged && finding.NeedsAction(a.AlertSeverity):
		m.Reason = fmt.Sprintf("priority changed from %s to %s", was, a.AlertSeverity)
		a.move(api.AlertUnacknowledged, m)
	}
}

// alertMoves are the states from which an action leads, and where to.
var alertMoves = map[string]struct {
	from []string
	to   string
	done string // message of the response
}{
	api.ActionAcknowledge: {[]string{api.AlertUnacknowledged, api.AlertReturned}, api.AlertAcknowledged, "Alarm acknowledged"},
	api.ActionShelve:      {[]string{api.AlertUnacknowledged, api.AlertAcknowledged, api.AlertShelved}, api.AlertShelved, "Alarm shelved"},
	api.ActionUnshelve:    {[]string{api.AlertShelved}, api.AlertUnacknowledged, "Alarm unshelved"},
	api.ActionSuppress:    {[]string{api.AlertUnacknowledged, api.AlertAcknowledged, api.AlertShelved, api.AlertSuppressed}, api.AlertSuppressed, "Alarm suppressed"},
	api.ActionUnsuppress:  {[]string{api.AlertSuppressed}, api.AlertUnacknowledged, "Alarm no longer suppressed"},
}

// allowedAlertActions are the actions that a state allows, in order.
func allowedAlertActions(state string) []string {
	out := []string{}
	for action, m := range alertMoves {
		if slices.Contains(m.from, state) {
			out = append(out, action)
		}
	}
	slices.Sort(out)
	return out
}

// MoveAlert does what r.Action says to an alert, and answers it with what was
// done as a sentence; 409 with the actions that are allowed for another. To
// acknowledge once more is no error.
func (s *Service) MoveAlert(ctx context.Context, scope api.Scope, r api.AlertsRequest) (api.Alert, string, error) {
	move, ok := alertMoves[r.Action]
	if !ok {
		return api.Alert{}, "", api.ErrInvalidAction
	}
	if r.Action == api.ActionSuppress && !r.Until.IsZero() && !r.Until.After(s.now()) {
		return api.Alert{}, "", api.InvalidField("until", "it is over already")
	}
	var a Alert
	err := s.records.Update(ctx, func(tx store.Tx) error {
		var err error
		if a, err = s.alert(tx, scope, r.SiteID, r.AlertID); err != nil {
			return err
		}
		if a.State == move.to && r.Action == api.ActionAcknowledge {
			return nil
		}
		if !slices.Contains(move.from, a.State) {
			return api.InvalidTransition("Alert %s is %s: it cannot be changed by %s", a.AlertID, a.State, r.Action).With("allowed", allowedAlertActions(a.State))
		}
		before := a
		s.moveAlert(&a, move.to, scope.Actor, r)
		if err := s.put(tx, &before, &a); err != nil {
			return err
		}
		return s.activities.Record(tx, activity.Record{CustomerID: a.CustomerID, SiteID: a.SiteID, AssetID: a.AssetID, Phase: api.PhaseOrient, Title: move.done,
			Description: a.Message, Actor: scope.Actor})
	})
	return a.Alert, move.done, err
}

func (s *Service) moveAlert(a *Alert, to, actor string, r api.AlertsRequest) {
	now := s.now()
	m := api.AlertMove{At: api.At(now), Actor: actor, Reason: r.Reason}
	a.ShelvedUntil, a.SuppressedTo = api.Time{}, api.Time{}
	switch to {
	case api.AlertAcknowledged:
		a.AcknowledgedBy, a.AcknowledgedAt = actor, api.At(now)
		if a.Resolved {
			to = api.AlertCleared
		}
	case api.AlertShelved:
		a.ShelvedUntil = api.At(now.Add(time.Duration(r.Minutes) * time.Minute))
		m.Until = a.ShelvedUntil
	case api.AlertSuppressed:
		a.SuppressedTo = r.Until
		m.Until = r.Until
	}
	a.move(to, m)
}

// alert is one within the scope, as it is now; siteID may be empty.
func (s *Service) alert(tx store.Tx, scope api.Scope, siteID, id string) (Alert, error) {
	list, _, err := alerts.List(tx, store.Query{Index: "id", Prefix: store.Key(id)})
	if err != nil {
		return Alert{}, fmt.Errorf("look up alert %s: %w", id, err)
	}
	if len(list) == 0 || siteID != "" && siteID != list[0].SiteID {
		return Alert{}, api.ErrAlertNotFound
	}
	a := list[0]
	a.ExpireTimers(s.now())
	if err := scope.Check(a.CustomerID, a.SiteID); err != nil {
		return a, err
	}
	return a, site.CheckWritable(tx, scope, a.SiteID)
}

// FindAlert is one alert; [api.ErrAlertNotFound] for an unknown id, and for
// one of another site where a site is named.
func (s *Service) FindAlert(ctx context.Context, scope api.Scope, siteID, id string) (api.Alert, error) {
	var a Alert
	err := s.records.View(ctx, func(tx store.Tx) error {
		var err error
		a, err = s.alert(tx, scope, siteID, id)
		return err
	})
	return a.Alert, err
}

// AcknowledgeFor acknowledges the alert of a finding, if it requires that: the actor
// has done something that shows that the alert was seen.
func (s *Service) AcknowledgeFor(tx store.Tx, siteID, summaryID, actor, reason string) error {
	if summaryID == "" {
		return nil
	}
	a, err := LatestOf(tx, siteID, summaryID)
	if err != nil || a == nil {
		return err
	}
	a.ExpireTimers(s.now())
	if !slices.Contains(alertMoves[api.ActionAcknowledge].from, a.State) {
		return nil
	}
	before := *a
	s.moveAlert(a, api.AlertAcknowledged, actor, api.AlertsRequest{Reason: reason})
	return s.put(tx, &before, a)
}

// Get returns an alert within the scope as it is now; [api.ErrAlertNotFound] for an
// unknown id.
func (s *Service) Get(tx store.Tx, scope api.Scope, id string) (Alert, error) {
	return s.alert(tx, scope, "", id)
}

// NeedsAcknowledgement reports whether an alert exists and waits for an acknowledgement.
func (s *Service) NeedsAcknowledgement(tx store.Tx, id string) (bool, error) {
	a, err := s.alert(tx, api.Unlimited("service"), "", id)
	if errors.Is(err, api.ErrAlertNotFound) {
		return false, nil
	}
	return err == nil && slices.Contains(alertMoves[api.ActionAcknowledge].from, a.State), err
}

// AcknowledgeIn acknowledges an alert within a transaction, if it waits for that, with
// its activity.
func (s *Service) AcknowledgeIn(tx store.Tx, id, actor, reason string) error {
	a, err := s.alert(tx, api.Unlimited(actor), "", id)
	if err != nil || !slices.Contains(alertMoves[api.ActionAcknowledge].from, a.State) {
		return err
	}
	before := a
	s.moveAlert(&a, api.AlertAcknowledged, actor, api.AlertsRequest{Reason: reason})
	if err := s.put(tx, &before, &a); err != nil {
		return err
	}
	return s.activities.Record(tx, activity.Record{CustomerID: a.CustomerID, SiteID: a.SiteID, AssetID: a.AssetID, Phase: api.PhaseOrient,
		Title: alertMoves[api.ActionAcknowledge].done, Description: a.Message, Actor: actor})
}

// EachOpen calls do with each alert of a site that is not cleared, as it is now.
func EachOpen(tx store.Tx, siteID string, now time.Time, do func(Alert)) error {
	return alerts.Each(tx, store.Query{Index: "open", Prefix: store.Key(siteID)}, func(a Alert) error {
		a.ExpireTimers(now)
		do(a)
		return nil
	})
}

// RenameAsset replaces a unit by another one in the alerts of a site.
func RenameAsset(tx store.Tx, siteID, from, to string) error {
	return alerts.ChangePrefix(tx, store.Key(siteID), func(a *Alert) bool {
		one := record.Rename(&a.AssetID, from, to)
		return a.Metadata != nil && record.RenameIn(&a.Metadata.AssetIDs, from, to) || one
	})
}
