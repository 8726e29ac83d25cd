package pane

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// planned is a piece of work with its day.
type planned struct {
	at         time.Time
	assetID    string
	what       string // in words
	scheduleID string // of a schedule
	late       bool
	again      bool // a date to come of recurring work, which is not made yet
}

// plannedWork is the open work of the site: schedules with the dates to come
// of recurring ones, and orders that no schedule stands for.
func plannedWork(v view.Context) []planned {
	var out []planned
	last := view.MidnightOf(v.SiteNow.In(v.Site.Zone)).AddDate(0, 0, horizonDays)
	for _, s := range v.Site.Schedules.Data {
		if !OpenPlan(s) {
			continue
		}
		p := planned{at: s.ScheduledDate.Time, assetID: s.AssetID, scheduleID: s.ScheduleID, late: s.Overdue, what: planWords(s)}
		out = append(out, p)
		for p.at = after(s, p.at, v.SiteNow); Recurs(s) != "" && p.at.Before(last); p.at = after(s, p.at, v.SiteNow) {
			p.late, p.again = false, true
			out = append(out, p)
		}
	}
	for _, o := range v.Site.Orders.Data {
		if openOrder(o) && scheduleOf(v, o.ScheduleID) == nil {
			out = append(out, planned{at: o.PlannedStart.Time, assetID: o.AssetID, late: o.PlannedStart.Before(v.SiteNow) && o.Status == api.OrderPending,
				what: orderWords(o) + ", order " + OrderStatus(o.Status) + ", " + o.AssignedTechnician})
		}
	}
	slices.SortStableFunc(out, func(a, b planned) int { return a.at.Compare(b.at) })
	return out
}

// after is the next date of recurring work if it is done on one; of late work,
// if it is done now.
func after(s api.Schedule, at, now time.Time) time.Time {
	if at.Before(now) {
		at = now
	}
	return at.AddDate(0, s.EveryMonths, s.EveryDays)
}

// planWords are what a schedule is.
func planWords(s api.Schedule) string {
	words := []string{s.MaintenanceType}
	if s.Reason != "" {
		words[0] += ": " + s.Reason
	}
	if again := Recurs(s); again != "" {
		words = append(words, again)
	}
	words = append(words, PlanState(s))
	if s.OrderID != "" {
		words = append(words, "an order does it")
	}
	return strings.Join(words, ", ")
}

// PlanState is a schedule's status in a word, with overdue, which is none of
// the service's.
func PlanState(s api.Schedule) string {
	if s.Overdue && OpenPlan(s) {
		return "overdue"
	}
	return s.Status
}

func OpenPlan(s api.Schedule) bool {
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
func planNotes(v view.Context) string {
	open, overdue := 0, 0
	for _, s := range v.Site.Schedules.Data {
		if OpenPlan(s) {
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

// drawPlans draws the work of a day, a line each.
func drawPlans(r terminal.Region, v view.Context, y int, plans []planned) int {
	w, _ := r.Size()
	for _, p := range plans {
		role := themes.Text
		switch {
		case p.late:
			role = themes.Warning
		case p.again:
			role = themes.Dim
		}
		x := v.PutIn(r, 0, y, w, planMark(p)+" "+When(p.at, v.SiteNow, v.Site.Zone)+"  ", role)
		x = v.PutIn(r, x, y, w-x, v.ShortID(p.assetID, 16)+"  ", themes.Text)
		words := p.what
		if p.again {
			words += ", if it is done in time until then"
		}
		v.PutIn(r, x, y, w-x, words, role)
		y++
	}
	return y
}
