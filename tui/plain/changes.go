package plain

import (
	"fmt"
	"maps"
	"slices"

	"app.sunloop/backend/api"
)

// keyed are the items by their id.
func keyed[T any](list []T, id func(T) string) map[string]T {
	m := make(map[string]T, len(list))
	for _, v := range list {
		m[id(v)] = v
	}
	return m
}

// over are the items that were and are not any more, by their id.
func over[T any](was, is map[string]T) (gone []T) {
	for _, id := range slices.Sorted(maps.Keys(was)) {
		if _, there := is[id]; !there {
			gone = append(gone, was[id])
		}
	}
	return gone
}

// tellAlerts tells of alerts that are new, have moved, or are cleared.
func (w *watcher) tellAlerts(list []api.Alert) {
	is := keyed(list, func(a api.Alert) string { return a.AlertID })
	for _, a := range list {
		what := fault(a.AssetID, alertUnits(a), a.AlertType)
		risk := fmt.Sprintf("%s since %s, %s kW at risk", what, w.when(a.SiteID, a.Timestamp), Number(a.EnergyAtRiskKW))
		state := alertState(a, w.plants.Zones.Of(a.SiteID))
		was, known := w.alerts[a.AlertID]
		switch {
		case !w.begun:
			w.at(a.SiteID, "%s alarm, %s: %s", a.AlertSeverity, state, risk)
		case !known:
			w.at(a.SiteID, "new %s alarm: %s", a.AlertSeverity, risk)
		case a.State == api.AlertUnacknowledged && was.State != a.State:
			w.at(a.SiteID, "%s alarm again: %s", a.AlertSeverity, risk)
		case state != alertState(was, w.plants.Zones.Of(a.SiteID)):
			w.at(a.SiteID, "%s alarm now %s: %s", a.AlertSeverity, state, what)
		case was.AlertSeverity != a.AlertSeverity:
			w.at(a.SiteID, "alarm now %s, was %s: %s", a.AlertSeverity, was.AlertSeverity, risk)
		}
	}
	for _, a := range over(w.alerts, is) {
		w.at(a.SiteID, "%s alarm cleared: %s", a.AlertSeverity, fault(a.AssetID, alertUnits(a), a.AlertType))
	}
	w.alerts = is
}

// tellFindings tells of findings that are new, have become worse or better, or
// are over.
func (w *watcher) tellFindings(list []api.Finding) {
	is := keyed(list, func(f api.Finding) string { return f.SummaryID })
	for _, f := range list {
		what := fmt.Sprintf("%s since %s, %s kW at risk, %s %% sure. %s", fault(f.AssetID, f.AssetIDs, f.FaultFamily),
			w.when(f.SiteID, f.StartedAt), Number(f.EnergyAtRiskKW), Number(100*f.Confidence), Words(f.RootCause))
		was, known := w.findings[f.SummaryID]
		switch {
		case !w.begun:
			w.at(f.SiteID, "%s finding: %s", f.SeverityLabel, what)
		case !known:
			w.at(f.SiteID, "new %s finding: %s", f.SeverityLabel, what)
		case was.SeverityLabel != f.SeverityLabel:
			w.at(f.SiteID, "finding now %s, was %s: %s", f.SeverityLabel, was.SeverityLabel, what)
		}
	}
	for _, f := range over(w.findings, is) {
		w.at(f.SiteID, "finding over: %s, %s kWh lost", fault(f.AssetID, f.AssetIDs, f.FaultFamily), Number(f.LostKWh))
	}
	w.findings = is
}

// tellOrders tells of orders that are new, have moved, changed hands, ended or
// become late. Those that have ended are told once and forgotten.
func (w *watcher) tellOrders(list []api.Order) {
	is := map[string]api.Order{}
	for _, o := range list {
		if OrderOpen(o) {
			is[o.OrderID] = o
		}
		what := fmt.Sprintf("%s %s", Unit(o.AssetID, nil), orderWork(o))
		due := ""
		if do, by, _ := next(o); do != "" && !by.IsZero() {
			due = fmt.Sprintf(", to %s by %s", do, w.when(o.SiteID, by))
		}
		status, by := orderStatus(o), "for nobody yet"
		if o.AssignedTechnician != api.TechnicianUnassigned && o.AssignedTechnician != "" {
			by = "for " + o.AssignedTechnician
		}
		was, known := w.orders[o.OrderID]
		switch {
		case !w.begun:
			w.at(o.SiteID, "%s order, %s, %s: %s%s", o.Priority, status, by, what, due)
		case !known:
			w.at(o.SiteID, "new %s order, %s, %s: %s%s", o.Priority, status, by, what, due)
		case status != orderStatus(was):
			w.at(o.SiteID, "order now %s: %s%s", status, what, due)
		case was.AssignedTechnician != o.AssignedTechnician:
			w.at(o.SiteID, "order now %s: %s%s", by, what, due)
		}
		if OrderLate(o) && !OrderLate(was) {
			w.at(o.SiteID, "order late: %s%s", what, due)
		}
	}
	w.orders = is
}
