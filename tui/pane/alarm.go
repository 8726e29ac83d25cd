package pane

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// priorities are how an alert's severity is shown: shape, letter and word say what the colour says.
var priorities = map[string]struct {
	shape, ascii rune
	letter       string
	role         themes.Role
}{
	api.AlertCritical: {'▲', '!', "C", themes.Critical},
	api.AlertMajor:    {'▲', '!', "M", themes.Critical},
	api.AlertModerate: {'●', '*', "m", themes.Warning},
	api.AlertMinor:    {'○', 'o', "i", themes.Notice},
	api.AlertNormal:   {'○', 'o', "n", themes.Dim},
}

// urgency orders severities: 0 is the worst.
func urgency(severity string) int {
	if i := slices.Index(api.AlertSeverities(), severity); i >= 0 {
		return i
	}
	return len(api.AlertSeverities())
}

// IsUnseen says whether an alert waits to be acknowledged.
func IsUnseen(a api.Alert) bool {
	return a.State == api.AlertUnacknowledged || a.State == api.AlertReturned
}

// annunciated says whether an alert is shown as something to do: what is shelved, suppressed or cleared is not.
func annunciated(a api.Alert) bool { return IsUnseen(a) || a.State == api.AlertAcknowledged }

// drawPriority draws an alert's priority: inverse while it waits to be acknowledged, and without its colour while it is nothing to
// do.
func drawPriority(v view.Context, r terminal.Region, severity, state string) {
	p, ok := priorities[severity]
	if !ok {
		p = priorities[api.AlertNormal]
	}
	shape := p.shape
	if v.ASCII {
		shape = p.ascii
	}
	style := v.Style(p.role)
	switch state {
	case api.AlertShelved, api.AlertSuppressed, api.AlertCleared:
		style = v.Style(themes.Muted)
	case api.AlertUnacknowledged, api.AlertReturned:
		style = style.On(v.Style(themes.Panel)).Inverse()
	}
	w, _ := r.Size()
	r.PutRune(0, 0, shape, style)
	r.PutIn(1, 0, w-1, p.letter+" "+severity, style, v.ASCII)
}

// PriorityRole is the colour of a severity.
func PriorityRole(severity string) themes.Role {
	if p, ok := priorities[severity]; ok {
		return p.role
	}
	return themes.Dim
}

// summaryOf is the finding that an alert tells of.
func summaryOf(a api.Alert) string {
	if a.Metadata == nil {
		return ""
	}
	return a.Metadata.SummaryID
}

// unitsOfAlert are the units that an alert is about.
func unitsOfAlert(a api.Alert) []string {
	if a.Metadata != nil && len(a.Metadata.AssetIDs) > 0 {
		return a.Metadata.AssetIDs
	}
	if a.AssetID == "" {
		return nil
	}
	return []string{a.AssetID}
}

// AlertUnit is the unit of an alert, or how many.
func AlertUnit(a api.Alert) string {
	units := unitsOfAlert(a)
	switch len(units) {
	case 0:
		return a.SiteID
	case 1:
		return units[0]
	}
	return CountOf(len(units), "unit", "units")
}

// AlarmGroup is one line of alarms: a single one, or all that one cause brought. The first is the one that came first.
type AlarmGroup struct {
	ID     string
	Alerts []api.Alert
}

const (
	// sameCause is how far apart alarms of one cause begin.
	sameCause = 10 * time.Minute
	// leastGroup is from how many alarms of a kind a group is made.
	leastGroup = 3
)

// GroupAlarms puts together what one cause brought: under an alarm of several units those of its units that began with it, and
// three or more of one kind and cause that began together. Groups stand where their most urgent alarm stood, and within one
// the order is that of time.
func GroupAlarms(alerts []api.Alert) []AlarmGroup {
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
		if group[i] < 0 && len(unitsOfAlert(alerts[i])) > 1 {
			gather(alerts, byTime, group, i, func(b api.Alert) bool {
				return b.AssetID != "" && len(unitsOfAlert(b)) == 1 && slices.Contains(unitsOfAlert(alerts[i]), b.AssetID)
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
	var out []AlarmGroup
	placed := map[int]bool{}
	for i := range alerts {
		g := group[i]
		if g < 0 {
			out = append(out, AlarmGroup{alerts[i].AlertID, alerts[i : i+1]})
			continue
		}
		if placed[g] {
			continue
		}
		placed[g] = true
		all := AlarmGroup{ID: "group " + alerts[g].AlertID}
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

// worst is the most urgent alarm of a group.
func (g AlarmGroup) worst() api.Alert {
	return slices.MinFunc(g.Alerts, func(a, b api.Alert) int { return cmp.Compare(urgency(a.AlertSeverity), urgency(b.AlertSeverity)) })
}

// unseen are how many of a group wait to be acknowledged.
func (g AlarmGroup) unseen() int {
	n := 0
	for _, a := range g.Alerts {
		if IsUnseen(a) {
			n++
		}
	}
	return n
}

// state is a group's state in a word: that of its members, or how many of them wait.
func (g AlarmGroup) state() string {
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

// units are how many units a group is about.
func (g AlarmGroup) units() int {
	seen := map[string]bool{}
	for _, a := range g.Alerts {
		for _, u := range unitsOfAlert(a) {
			seen[u] = true
		}
	}
	return len(seen)
}

// risk is the power that a group costs. An alarm of several units stands for those of its units.
func (g AlarmGroup) risk() float64 {
	whole, single := 0.0, 0.0
	for _, a := range g.Alerts {
		if len(unitsOfAlert(a)) > 1 {
			whole = max(whole, a.EnergyAtRiskKW)
		} else {
			single += a.EnergyAtRiskKW
		}
	}
	return max(whole, single)
}

// AlarmNote says who did what with an alarm, or when it ends.
func AlarmNote(v view.Context, a api.Alert) string {
	when := func(t api.Time) string { return When(t.Time, v.SiteNow, v.Site.Zone) }
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
		return fmt.Sprintf("%d times", a.Occurrences)
	}
	return ""
}
