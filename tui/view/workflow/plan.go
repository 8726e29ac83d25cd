package workflow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// planned is a piece of work with its day.
type planned struct {
	at         time.Time
	AssetID    string
	What       string // as text
	ScheduleID string // of a schedule
	Late       bool
	Again      bool // a date to come of recurring work, which is not made yet
}

// plannedWork returns the open work of the site: schedules with the future dates
// of recurring ones, and orders without a schedule.
func plannedWork(v view.Context) []planned {
	var out []planned
	last := view.MidnightOf(v.SiteNow.In(v.Site.Zone)).AddDate(0, 0, HorizonDays)
	for _, s := range v.Site.Schedules.Data {
		if !OpenPlan(s) {
			continue
		}
		p := planned{at: s.ScheduledDate.Time, AssetID: s.AssetID, ScheduleID: s.ScheduleID, Late: s.Overdue, What: planWords(s)}
		out = append(out, p)
		for p.at = after(s, p.at, v.SiteNow); Recurs(s) != "" && p.at.Before(last); p.at = after(s, p.at, v.SiteNow) {
			p.Late, p.Again = false, true
			out = append(out, p)
		}
	}
	for _, o := range v.Site.Orders.Data {
		if IsOpen(o) && ScheduleByID(v, o.ScheduleID) == nil {
			out = append(out, planned{at: o.PlannedStart.Time, AssetID: o.AssetID, Late: o.PlannedStart.Before(v.SiteNow) && o.Status == api.OrderPending,
				What: OrderText(o) + ", order " + OrderStatus(o.Status) + ", " + o.AssignedTechnician})
		}
	}
	slices.SortStableFunc(out, func(a, b planned) int { return a.at.Compare(b.at) })
	return out
}

// after returns the next date of recurring work if it is done on one; recently work,
// if it is done now.
func after(s api.Schedule, at, now time.Time) time.Time {
	if at.Before(now) {
		at = now
	}
	return at.AddDate(0, s.EveryMonths, s.EveryDays)
}

// planWords returns what a schedule is.
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

// PlanState returns a schedule's status in a word, with overdue, which is none of
// the service's.
func PlanState(s api.Schedule) string {
	if s.Overdue && OpenPlan(s) {
		return "overdue"
	}
	return s.Status
}

// OpenPlan reports whether a schedule is pending or confirmed.
func OpenPlan(s api.Schedule) bool {
	return s.Status == api.SchedulePending || s.Status == api.ScheduleConfirmed
}

// Recurs returns how often planned work recurs, empty if it does not.
func Recurs(s api.Schedule) string {
	switch {
	case s.EveryDays == 1:
		return "every day"
	case s.EveryDays > 0:
		return "every " + display.CountOf(s.EveryDays, "day", "days")
	case s.EveryMonths == 1:
		return "every month"
	case s.EveryMonths > 0:
		return "every " + display.CountOf(s.EveryMonths, "month", "months")
	}
	return ""
}

// PlanNotes returns how much work is planned, and how much of it is overdue.
func PlanNotes(v view.Context) string {
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

// DrawPlans draws the work of a day, a line each.
func DrawPlans(r terminal.Region, v view.Context, y int, plans []planned) int {
	w, _ := r.Size()
	for _, p := range plans {
		role := themes.Text
		switch {
		case p.Late:
			role = themes.Warning
		case p.Again:
			role = themes.Dim
		}
		x := v.PutIn(r, 0, y, w, PlanMark(p)+" "+display.When(p.at, v.SiteNow, v.Site.Zone)+"  ", role)
		x = v.PutIn(r, x, y, w-x, v.ShortID(p.AssetID, 16)+"  ", themes.Text)
		words := p.What
		if p.Again {
			words += ", if it is done in time until then"
		}
		v.PutIn(r, x, y, w-x, words, role)
		y++
	}
	return y
}

// PlanActions are the changes of status behind the keys of schedules.
var PlanActions = map[keymap.Action]string{keymap.ConfirmPlan: api.ActionConfirm, keymap.CompletePlan: api.ActionComplete, keymap.CancelPlan: api.ActionCancel}

// PlanDisabledReason returns why a move of a schedule is not possible, empty when it is.
func PlanDisabledReason(p api.Schedule, action string) string {
	switch {
	case p.OrderID != "" && OpenPlan(p):
		return "a work order carries out this plan: change the order"
	case !slices.Contains(api.ScheduleActions(p.Status), action):
		return "the plan of " + p.AssetID + " is " + p.Status + "; possible: " + cmp.Or(strings.Join(api.ScheduleActions(p.Status), ", "), "nothing")
	}
	return ""
}

// PlanMark returns the letter of a piece of work.
func PlanMark(p planned) string {
	switch {
	case p.Late:
		return "!"
	case p.Again:
		return "r"
	case p.ScheduleID != "":
		return "p"
	}
	return "o"
}
