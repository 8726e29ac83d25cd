package plain

import (
	"fmt"
	"maps"
	"slices"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/tui/view/widget"
)

// keyed returns the items by their id.
func keyed[T any](list []T, id func(T) string) map[string]T {
	m := make(map[string]T, len(list))
	for _, v := range list {
		m[id(v)] = v
	}
	return m
}

// over returns the items that were and are not any more, by their id.
func over[T any](was, is map[string]T) (gone []T) {
	for _, id := range slices.Sorted(maps.Keys(was)) {
		if _, there := is[id]; !there {
			gone = append(gone, was[id])
		}
	}
	return gone
}

// printAlerts prints alerts that are new, have changed state, or are cleared.
func (w *watcher) printAlerts(list []Sited[api.Alert]) {
	is := keyed(list, func(v Sited[api.Alert]) string { return v.Fact.AlertID })
	for _, v := range list {
		a := v.Fact
		what := fault(a.AssetID, alertUnits(a), a.AlertType)
		risk := fmt.Sprintf("%s since %s, %s at risk (daylight mean)", what, w.when(v.Site, a.Timestamp), display.Power(a.EnergyAtRiskKW))
		state := alertState(a, w.plants.Zones.Of(v.Site))
		former, known := w.alerts[a.AlertID]
		was := former.Fact
		switch {
		case !w.begun:
			w.at(v.Site, "%s alarm, %s: %s", widget.AlarmPriority(a.AlertSeverity), state, risk)
		case !known:
			w.at(v.Site, "new %s alarm: %s", widget.AlarmPriority(a.AlertSeverity), risk)
		case a.State == api.AlertUnacknowledged && was.State != a.State:
			w.at(v.Site, "%s alarm again: %s", widget.AlarmPriority(a.AlertSeverity), risk)
		case state != alertState(was, w.plants.Zones.Of(v.Site)):
			w.at(v.Site, "%s alarm now %s: %s", widget.AlarmPriority(a.AlertSeverity), state, what)
		case was.AlertSeverity != a.AlertSeverity:
			w.at(v.Site, "alarm now %s, was %s: %s", widget.AlarmPriority(a.AlertSeverity), widget.AlarmPriority(was.AlertSeverity), risk)
		}
	}
	for _, v := range over(w.alerts, is) {
		a := v.Fact
		w.at(v.Site, "%s alarm cleared: %s", widget.AlarmPriority(a.AlertSeverity), fault(a.AssetID, alertUnits(a), a.AlertType))
	}
	w.alerts = is
}

// printFindings prints findings that are new, have become worse or better, or
// have ended.
func (w *watcher) printFindings(list []Sited[api.Finding]) {
	is := keyed(list, func(v Sited[api.Finding]) string { return v.Fact.SummaryID })
	for _, v := range list {
		f := v.Fact
		what := fmt.Sprintf("%s since %s, %s at risk (daylight mean), %s sure. %s", fault(f.AssetID, f.AssetIDs, f.FaultFamily),
			w.when(v.Site, f.StartedAt), display.Power(f.EnergyAtRiskKW), display.Percent(f.Confidence), Label(f.RootCause))
		former, known := w.findings[f.SummaryID]
		was := former.Fact
		switch {
		case !w.begun:
			w.at(v.Site, "%s finding: %s", widget.FindingPriority(f), what)
		case !known:
			w.at(v.Site, "new %s finding: %s", widget.FindingPriority(f), what)
		case widget.FindingPriority(was) != widget.FindingPriority(f):
			w.at(v.Site, "finding now %s, was %s: %s", widget.FindingPriority(f), widget.FindingPriority(was), what)
		}
	}
	for _, v := range over(w.findings, is) {
		f := v.Fact
		w.at(v.Site, "finding over: %s, %s", fault(f.AssetID, f.AssetIDs, f.FaultFamily), widget.LostWords(f))
	}
	w.findings = is
}

// printOrders prints orders that are new, have changed status or technician,
// ended or become late. Ended orders are printed once and forgotten.
func (w *watcher) printOrders(list []Sited[api.Order]) {
	is := map[string]Sited[api.Order]{}
	for _, v := range list {
		o := v.Fact
		if OrderOpen(o) {
			is[o.OrderID] = v
		}
		what := fmt.Sprintf("%s %s", Unit(o.AssetID, nil), orderWork(o))
		due := ""
		if do, by, _ := next(o); do != "" && !by.IsZero() {
			due = fmt.Sprintf(", to %s by %s", do, w.when(v.Site, by))
		}
		status, by := orderStatus(o), "for no one yet"
		if o.AssignedTechnician != api.TechnicianUnassigned && o.AssignedTechnician != "" {
			by = "for " + o.AssignedTechnician
		}
		former, known := w.orders[o.OrderID]
		was := former.Fact
		switch {
		case !w.begun:
			w.at(v.Site, "%s order, %s, %s: %s%s", o.Priority, status, by, what, due)
		case !known:
			w.at(v.Site, "new %s order, %s, %s: %s%s", o.Priority, status, by, what, due)
		case status != orderStatus(was):
			w.at(v.Site, "order now %s: %s%s", status, what, due)
		case was.AssignedTechnician != o.AssignedTechnician:
			w.at(v.Site, "order now %s: %s%s", by, what, due)
		}
		if OrderLate(o) && !OrderLate(was) {
			w.at(v.Site, "order late: %s%s", what, due)
		}
	}
	w.orders = is
}
