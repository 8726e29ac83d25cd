// Package alarm shows alarms: the grouped list of a site, and the screen with
// their history and the performance of the alarm system.
package alarm

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// IsUnacknowledged reports whether an alert is unacknowledged.
func IsUnacknowledged(a api.Alert) bool {
	return a.State == api.AlertUnacknowledged || a.State == api.AlertReturned
}

// IsAnnunciated reports whether an alert is shown as active: not shelved, suppressed or cleared.
func IsAnnunciated(a api.Alert) bool { return IsUnacknowledged(a) || a.State == api.AlertAcknowledged }

// DrawPriority draws an alert's priority: inverse while it waits to be acknowledged, and without its colour while it is nothing to
// do.
func DrawPriority(v view.Context, r terminal.Region, severity, state string) {
	shape, letter := widget.PriorityMark(severity, v.ASCII)
	style := v.Style(widget.PriorityRole(severity))
	switch state {
	case api.AlertShelved, api.AlertSuppressed, api.AlertCleared:
		style = v.Style(themes.Muted)
	case api.AlertUnacknowledged, api.AlertReturned:
		style = style.On(v.Style(themes.Panel)).Inverse()
	}
	w, _ := r.Size()
	r.PutRune(0, 0, shape, style)
	r.PutIn(1, 0, w-1, letter+" "+widget.AlarmPriority(severity), style, v.ASCII)
}

// OfFinding returns the alarm of a finding, nil without one.
func OfFinding(v view.Context, findingID string) *api.Alert {
	if v.Site == nil || findingID == "" {
		return nil
	}
	return widget.Find(v.Site.Alerts.Data.Alerts, func(a api.Alert) bool { return FindingOf(a) == findingID && !a.Resolved })
}

// DrawFinding draws shape and letter of a finding's priority, which is that of its
// alarm, and returns the x after them.
func DrawFinding(v view.Context, r terminal.Region, x, y int, f api.Finding) int {
	return widget.DrawPriorityMark(v, r, x, y, findingSeverity(v, f))
}

// findingSeverity returns the severity of a finding: that of its alarm.
func findingSeverity(v view.Context, f api.Finding) string {
	if a := OfFinding(v, f.SummaryID); a != nil {
		return a.AlertSeverity
	}
	return widget.FindingSeverity(f)
}

// FindingRole returns the colour of a finding's priority.
func FindingRole(v view.Context, f api.Finding) themes.Role {
	return widget.PriorityRole(findingSeverity(v, f))
}

// FindingRank orders findings by priority: 0 is the worst.
func FindingRank(v view.Context, f api.Finding) int {
	return widget.PriorityRank(findingSeverity(v, f))
}

// FindingPriority writes a finding's priority: that of its alarm.
func FindingPriority(v view.Context, f api.Finding) string {
	return widget.AlarmPriority(findingSeverity(v, f))
}

// FindingOf returns the finding that an alert reports.
func FindingOf(a api.Alert) string {
	if a.Metadata == nil {
		return ""
	}
	return a.Metadata.SummaryID
}

// Units returns the units that an alert is about.
func Units(a api.Alert) []string {
	if a.Metadata != nil && len(a.Metadata.AssetIDs) > 0 {
		return a.Metadata.AssetIDs
	}
	if a.AssetID == "" {
		return nil
	}
	return []string{a.AssetID}
}

// UnitOf returns the unit of an alert, or how many.
func UnitOf(a api.Alert) string {
	units := Units(a)
	switch len(units) {
	case 0:
		return a.SiteID
	case 1:
		return units[0]
	}
	return display.CountOf(len(units), "unit", "units")
}

// Group is one line of alarms: a single one, or all of one cause. The first is the earliest.
type Group struct {
	ID     string
	Alerts []api.Alert
}

const (
	// sameCause is how far apart alarms of one cause begin.
	sameCause = 10 * time.Minute
	// leastGroup is from how many alarms of a kind a group is made.
	leastGroup = 3
)

// GroupAlerts groups alarms of one cause: under an alarm of several units those of its units that began with it, and
// three or more of one kind and cause that began together. A group has the position of its most urgent alarm, and within one
// the order is that of time.
func GroupAlerts(alerts []api.Alert) []Group {
	byTime := make([]int, len(alerts))
	for i := range byTime {
		byTime[i] = i
	}
	slices.SortStableFunc(byTime, func(a, b int) int {
		return cmp.Or(alerts[a].Timestamp.Compare(alerts[b].Timestamp.Time), cmp.Compare(alerts[a].AlertID, alerts[b].AlertID))
	})
	group := make([]int, len(alerts)) // index of the group's first member, -1 for none
	for i := range group {
		group[i] = -1
	}
	for _, i := range byTime {
		if group[i] < 0 && len(Units(alerts[i])) > 1 {
			gather(alerts, byTime, group, i, func(b api.Alert) bool {
				return b.AssetID != "" && len(Units(b)) == 1 && slices.Contains(Units(alerts[i]), b.AssetID)
			}, 2)
		}
	}
	for _, i := range byTime {
		if a := alerts[i]; group[i] < 0 {
			gather(alerts, byTime, group, i, func(b api.Alert) bool {
				return b.AlertType == a.AlertType && rootCause(b) == rootCause(a) && !b.Timestamp.Before(a.Timestamp.Time)
			}, leastGroup)
		}
	}
	var out []Group
	placed := map[int]bool{}
	for i := range alerts {
		g := group[i]
		if g < 0 {
			out = append(out, Group{alerts[i].AlertID, alerts[i : i+1]})
			continue
		}
		if placed[g] {
			continue
		}
		placed[g] = true
		all := Group{ID: "group " + alerts[g].AlertID}
		for _, k := range byTime {
			if group[k] == g {
				all.Alerts = append(all.Alerts, alerts[k])
			}
		}
		out = append(out, all)
	}
	return out
}

// gather makes a group of alarm i and of those free ones that began with it and belong to it, if they are enough.
func gather(alerts []api.Alert, byTime, group []int, i int, belongs func(api.Alert) bool, least int) {
	var members []int
	for _, k := range byTime {
		apart := alerts[k].Timestamp.Sub(alerts[i].Timestamp.Time).Abs()
		if k == i || group[k] < 0 && apart <= sameCause && belongs(alerts[k]) {
			members = append(members, k)
		}
	}
	if len(members) < least {
		return
	}
	for _, k := range members {
		group[k] = i
	}
}

func rootCause(a api.Alert) string {
	if a.Metadata == nil {
		return ""
	}
	return a.Metadata.RootCause
}

// Worst returns the most urgent alarm of a group.
func (g Group) Worst() api.Alert {
	return slices.MinFunc(g.Alerts, func(a, b api.Alert) int {
		return cmp.Compare(widget.PriorityRank(a.AlertSeverity), widget.PriorityRank(b.AlertSeverity))
	})
}

// unseen returns how many alarms of a group are unacknowledged.
func (g Group) unseen() int {
	n := 0
	for _, a := range g.Alerts {
		if IsUnacknowledged(a) {
			n++
		}
	}
	return n
}

// state returns a group's state in a word: that of its members, or how many of them wait.
func (g Group) state() string {
	first := g.Alerts[0].State
	for _, a := range g.Alerts {
		if a.State != first {
			if n := g.unseen(); n > 0 {
				return fmt.Sprintf("unack %d/%d", n, len(g.Alerts))
			}
			return "several"
		}
	}
	return first
}

// units returns how many units a group is about.
func (g Group) units() int {
	seen := map[string]bool{}
	for _, a := range g.Alerts {
		for _, u := range Units(a) {
			seen[u] = true
		}
	}
	return len(seen)
}

// Risk returns the power at risk of a group. An alarm of several units counts for
// each of those units.
func (g Group) Risk() float64 {
	whole, single := 0.0, 0.0
	for _, a := range g.Alerts {
		if len(Units(a)) > 1 {
			whole = max(whole, a.EnergyAtRiskKW)
		} else {
			single += a.EnergyAtRiskKW
		}
	}
	return max(whole, single)
}

// Note returns the last change of an alarm with its user, or when its state ends.
func Note(v view.Context, a api.Alert) string {
	when := func(t api.Time) string { return display.When(t.Time, v.SiteNow, v.Site.Zone) }
	by := ""
	reason := ""
	if n := len(a.History); n > 0 && a.History[n-1].Actor != "detector" {
		by, reason = a.History[n-1].Actor, a.History[n-1].Reason
	}
	join := func(words string, more ...string) string {
		for _, m := range more {
			if m != "" {
				words += ", " + m
			}
		}
		return words
	}
	switch a.State {
	case api.AlertAcknowledged:
		if a.AcknowledgedBy == "" {
			return "no action needed"
		}
		return a.AcknowledgedBy + " " + when(a.AcknowledgedAt)
	case api.AlertReturned:
		return "gone " + when(a.ResolvedAt)
	case api.AlertShelved:
		return join("to "+when(a.ShelvedUntil), by, reason)
	case api.AlertSuppressed:
		if a.SuppressedTo.IsZero() {
			return join("until ended", by, reason)
		}
		return join("to "+when(a.SuppressedTo), by, reason)
	case api.AlertCleared:
		return "gone " + when(a.ResolvedAt)
	}
	if a.Occurrences > 1 {
		return display.CountOf(a.Occurrences, "time", "times")
	}
	return ""
}

// CanChange reports whether an alert's state allows an action.
func CanChange(a keymap.Action, alert api.Alert) bool {
	switch a {
	case keymap.Acknowledge, keymap.AckAlarm:
		return IsUnacknowledged(alert)
	case keymap.Shelve, keymap.ShelveAlarm:
		return alert.State == api.AlertUnacknowledged || alert.State == api.AlertAcknowledged || alert.State == api.AlertShelved
	case keymap.Unshelve, keymap.UnshelveOne:
		return alert.State == api.AlertShelved
	}
	return false
}

// DisabledReason returns why no alarm can be changed by an action.
func DisabledReason(a keymap.Action) string {
	switch a {
	case keymap.Acknowledge, keymap.AckAlarm:
		return "no selected alarm needs acknowledgement"
	case keymap.Shelve, keymap.ShelveAlarm:
		return "no active alarm is selected"
	}
	return "no selected alarm is shelved"
}

// DrawHistory draws what happened to an alarm, who did it and when, newest
// first, and returns the y after.
func DrawHistory(v view.Context, r terminal.Region, x, y int, a api.Alert) int {
	for _, m := range slices.Backward(a.History) {
		what := m.To
		if m.From == "" && m.To == api.AlertUnacknowledged {
			what = "raised"
		}
		words := display.When(m.At.Time, v.SiteNow, v.Site.Zone) + " " + what + " by " + m.Actor
		if !m.Until.IsZero() {
			words += ", to " + display.When(m.Until.Time, v.SiteNow, v.Site.Zone)
		}
		if m.Reason != "" {
			words += ": " + m.Reason
		}
		y = v.Paragraph(r, x, y, words, themes.Dim)
	}
	return y
}
