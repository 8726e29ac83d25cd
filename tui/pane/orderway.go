package pane

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// waypoint is a station between an alarm and a repair that holds.
type waypoint struct {
	name string
	at   time.Time
	what string
	role themes.Role
}

// wayOfOrder are the stations of an order: alarm, finding, plan, order, its
// end and what the detector said of it, as far as each is known.
func wayOfOrder(v view.Context, o api.Order) []waypoint {
	var way []waypoint
	add := func(name string, at api.Time, role themes.Role, format string, args ...any) {
		way = append(way, waypoint{name, at.Time, fmt.Sprintf(format, args...), role})
	}
	if a := alarmOf(v, o.SummaryID); a != nil {
		words := a.AlertSeverity + " " + Family(a.AlertType)
		if a.AcknowledgedBy != "" {
			words += ", acknowledged by " + a.AcknowledgedBy
		}
		add("alarm", a.Timestamp, themes.Text, "%s", words)
	}
	if f := findingByID(v, o.SummaryID); f != nil {
		add("finding", f.StartedAt, themes.Text, "%s, %s sure, %s lost", Family(f.FaultFamily), Percent(f.Confidence), Energy(f.LostKWh))
	}
	if s := scheduleOf(v, o.ScheduleID); s != nil {
		add("plan", s.CreatedAt, themes.Text, "%s for %s, %s", s.MaintenanceType, When(s.ScheduledDate.Time, v.SiteNow, v.Site.Zone), s.Status)
	}
	add("order", o.CreatedAt, themes.Text, "%s priority, made by %s, for %s", o.Priority, cmp.Or(o.CreatedBy, "somebody"), o.AssignedTechnician)
	if !o.Clocks.StartedAt.IsZero() {
		add("begun", o.Clocks.StartedAt, themes.Text, "by %s", o.AssignedTechnician)
	}
	if !o.CompletedAt.IsZero() {
		add("done", o.CompletedAt, themes.Text, "in %.3g h: %s", o.ActualHours, o.CompletionNotes)
	}
	if ver := o.Verification; ver != nil {
		role := themes.Text
		if ver.State == api.VerificationFailed {
			role = themes.Warning
		}
		add("proof", ver.At, role, "%s", verifiedWords(*ver))
	}
	return way
}

// verifiedWords are what the detector says of a repair.
func verifiedWords(ver api.Verification) string {
	words := "the repair is " + verification[ver.State]
	if ver.Ratio > 0 {
		words += "; on " + ver.Day + " it made " + Percent(ver.Ratio) + " of what was expected"
	}
	return words
}

// drawWayOf draws the stations, a line each.
func drawWayOf(r terminal.Region, v view.Context, y int, o api.Order) int {
	v.Heading(r, y, "From alarm to proof")
	y++
	for _, p := range wayOfOrder(v, o) {
		v.Put(r, 0, y, p.name, themes.Dim)
		v.Put(r, 9, y, When(p.at, v.SiteNow, v.Site.Zone), themes.Dim)
		y = max(v.Paragraph(r, 23, y, p.what, p.role), y+1)
	}
	return y
}

// drawOutcome says whether the loss stopped once the work was done, and what is
// proposed; it draws nothing before.
func drawOutcome(r terminal.Region, v view.Context, y int, o api.Order) int {
	if o.Status == api.OrderCompleted && o.SummaryID != "" {
		words, role := "Its finding is not in sight any more: the loss has stopped.", themes.Text
		switch f := findingByID(v, o.SummaryID); {
		case f == nil:
		case f.Active && f.LastDetectionAt.After(o.CompletedAt.Time):
			words, role = "The loss goes on: "+Power(f.EnergyAtRiskKW)+" were at risk when it was last seen, "+When(f.LastDetectionAt.Time, v.SiteNow, v.Site.Zone)+".", themes.Warning
		case f.Active:
			words, role = "Nothing was measured since then: whether the loss stopped shows on the next clear day.", themes.Dim
		default:
			words = "The loss stopped " + When(f.EndedAt.Time, v.SiteNow, v.Site.Zone) + "; " + Energy(f.LostKWh) + " were lost."
		}
		y = v.Paragraph(r, 0, y, words, role)
	}
	for _, p := range o.Proposals {
		y = v.Paragraph(r, 0, y, p.Text, themes.Accent)
	}
	return y
}

// pause is a hold of an order.
type pause struct {
	from, to time.Time // to is zero while it lasts
	why      string
	stops    bool // the clocks stand still meanwhile
}

// pausesOf are the holds of an order, from its history.
func pausesOf(o api.Order) []pause {
	var out []pause
	for i, m := range o.History {
		if m.To != api.OrderOnHold {
			continue
		}
		p := pause{from: m.At.Time, why: m.Note}
		if i+1 < len(o.History) {
			p.to = o.History[i+1].At.Time
		} else if o.HoldReason != "" && p.why == "" {
			p.why = o.HoldReason
		}
		reason, _, _ := strings.Cut(p.why, ":")
		p.stops = slices.Contains([]string{api.HoldWeather, api.HoldUtility, api.HoldAccess}, reason)
		out = append(out, p)
	}
	return out
}

// drawPauses draws the holds below the clocks.
func drawPauses(r terminal.Region, v view.Context, y int, o api.Order) int {
	for _, p := range pausesOf(o) {
		words := When(p.from, v.SiteNow, v.Site.Zone)
		switch {
		case p.to.IsZero():
			words += " until now"
		default:
			words += " to " + When(p.to, v.SiteNow, v.Site.Zone)
		}
		words += ": " + p.why
		if p.stops {
			words += "; the clocks stand still"
		} else {
			words += "; the clocks run on"
		}
		v.Put(r, 0, y, "held", themes.Dim)
		y = max(v.Paragraph(r, 9, y, words, themes.Dim), y+1)
	}
	return y
}

// toldWords are the subscriptions of an order, and whether they hear of it.
func toldWords(v view.Context, o api.Order) string {
	n, bad := 0, 0
	for _, s := range v.Site.Subscriptions.Data {
		if s.OrderID != o.OrderID {
			continue
		}
		n++
		if s.Status == api.SubscriptionFailing || s.Status == api.SubscriptionDisabled {
			bad++
		}
	}
	switch {
	case n == 0:
		return ""
	case bad > 0:
		return fmt.Sprintf("%s told of it, %d of them in vain; g h shows each delivery.", CountOf(n, "place is", "places are"), bad)
	}
	return CountOf(n, "place is", "places are") + " told of it; g h shows each delivery."
}

// alarmOf is the alarm of a finding; nil when it is not known.
func alarmOf(v view.Context, summaryID string) *api.Alert {
	for i, a := range v.Site.Alerts.Data.Alerts {
		if summaryID != "" && a.Metadata != nil && a.Metadata.SummaryID == summaryID {
			return &v.Site.Alerts.Data.Alerts[i]
		}
	}
	return nil
}

func findingByID(v view.Context, summaryID string) *api.Finding {
	for i, f := range v.Site.Findings.Data {
		if summaryID != "" && f.SummaryID == summaryID {
			return &v.Site.Findings.Data[i]
		}
	}
	return nil
}
