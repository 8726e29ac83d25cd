package pane

import (
	"fmt"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
)

// drawProposals draws what a repair of the unit in hand takes and the windows
// in which it costs least, in at most that many rows, and answers the y after.
func drawProposals(r terminal.Region, v View, y, most int) int {
	w, _ := r.Size()
	end := y + most
	if b := v.Site.FreeBOM(v.Hand.AssetID, v.Hand.FindingID); b != nil && y < end {
		y = v.Paragraph(r, 0, y, fmt.Sprintf("It takes %s of parts (%s) and %.3g h; o makes the work order.", Money(b.TotalCost, b.Currency), countOf(b.ItemCount, "item", "items"), b.EstimatedHours), themes.Text)
	}
	windows := v.Site.Windows.Data
	if v.Site.Wanted(state.QueryWindows) != v.Hand.AssetID {
		return y
	}
	for i, window := range windows.Windows {
		if i == 3 || y >= end {
			break
		}
		name, role := "best", themes.Text
		if i > 0 {
			name, role = "next", themes.Dim
		}
		v.put(r, 0, y, name, themes.Dim)
		v.putIn(r, 7, y, w-7, windowFacts(v, window, windows.Currency), role)
		y++
	}
	return y
}

// windowFacts are when a window is, and what work in it costs.
func windowFacts(v View, w api.WorkWindow, currency string) string {
	to := "–"
	if v.ASCII {
		to = "-"
	}
	words := w.Start.In(v.Site.Zone).Format("Mon 02 Jan 15:04") + to + w.End.In(v.Site.Zone).Format("15:04") + "  loses " + Energy(w.EnergyKWh)
	if w.Cost > 0 && currency != "" {
		words += ", " + Money(w.Cost, currency)
	}
	if w.Windy {
		words += fmt.Sprintf("; wind of %.0f m/s", w.WindMS)
	}
	return words
}

// plannedOn is the open work that is planned for a site day: of schedules, and
// of orders that no schedule stands for.
func plannedOn(v View, day time.Time) string {
	first, n := "", 0
	add := func(assetID string, at api.Time) {
		if !at.Before(day) && at.Before(day.AddDate(0, 0, 1)) {
			if n++; n == 1 {
				first = assetID
			}
		}
	}
	for _, s := range v.Site.Schedules.Data {
		if openPlan(s) {
			add(s.AssetID, s.ScheduledDate)
		}
	}
	for _, o := range v.Site.Orders.Data {
		if openOrder(o) && o.ScheduleID == "" {
			add(o.AssetID, o.PlannedStart)
		}
	}
	switch {
	case n == 0:
		return ""
	case n == 1:
		return v.asset(first, 12)
	}
	return fmt.Sprintf("%s +%d", v.asset(first, 9), n-1)
}

func openPlan(s api.Schedule) bool {
	return s.Status == api.SchedulePending || s.Status == api.ScheduleConfirmed
}

// Recurs says how often planned work comes again, empty when it does not.
func Recurs(s api.Schedule) string {
	switch {
	case s.EveryDays == 1:
		return "every day"
	case s.EveryDays > 0:
		return fmt.Sprintf("every %d days", s.EveryDays)
	case s.EveryMonths == 1:
		return "every month"
	case s.EveryMonths > 0:
		return fmt.Sprintf("every %d months", s.EveryMonths)
	}
	return ""
}

// planNotes are how much work is planned, and how much of it is overdue.
func planNotes(v View) string {
	open, overdue := 0, 0
	for _, s := range v.Site.Schedules.Data {
		if openPlan(s) {
			open++
			if s.Overdue {
				overdue++
			}
		}
	}
	switch {
	case open == 0:
		return ""
	case overdue == 0:
		return fmt.Sprintf("%d planned", open)
	}
	return fmt.Sprintf("%d planned, %d overdue", open, overdue)
}
