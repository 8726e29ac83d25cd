package maintenance

import (
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
	"app.sunloop/tui/view/workflow"
)

// How often what is planned is asked for on its own screen, and how old it may
// be.
const (
	workPeriod = 10 * time.Second
	workAge    = time.Minute
)

// listedPlanMoves are the service's actions behind the keys of the list.
var listedPlanMoves = map[keymap.Action]string{
	keymap.ListedConfirmPlan: api.ActionConfirm, keymap.ListedCompletePlan: api.ActionComplete, keymap.ListedCancelPlan: api.ActionCancel,
}

// NewSchedules lists all planned maintenance of the site: what is due first,
// then what has ended.
func NewSchedules() *Schedules {
	s := &Schedules{TableView: &widget.TableView{
		Heading: "Schedules", Query: state.QuerySchedules, Period: workPeriod, Keys: keymap.PlanList,
		Empty: "No planned maintenance. Select a unit and press p, or R for recurring work.",
		List:  widget.List{SortBy: -1},
		Columns: []widget.Column{
			{Title: "unit", Min: 10, IDs: true}, {Title: "date", Width: 12}, {Title: "state", Width: 9}, {Title: "type", Width: 10, Rank: 1},
			{Title: "priority", Width: 8, Rank: 2}, {Title: "again", Width: 15, Rank: 3}, {Title: "reason", Width: 20, Min: 12, Rank: 1},
		},
		Rows: scheduleRows, Detail: scheduleDetail, Act: planAct,
		Status: func(v view.Context) widget.ValueStatus {
			return siteStatus(v, func(s *state.Site) widget.ValueStatus { return workStatus(v, s.Schedules, len(s.Schedules.Data) == 0) })
		},
		Reason: func(a keymap.Action, id string, v view.Context) string {
			move, ok := listedPlanMoves[a]
			if !ok {
				return ""
			}
			p := scheduleByID(v, id)
			if p == nil {
				return "nothing is selected"
			}
			return workflow.PlanDisabledReason(*p, move)
		},
	}}
	return s
}

// Schedules is the table of planned maintenance; the selected plan is shown with its
// history.
type Schedules struct{ *widget.TableView }

// Queries also asks for the chosen plan.
func (s *Schedules) Queries(v view.Context) []state.Need {
	return append(s.TableView.Queries(v), state.Need{Query: state.QuerySchedule, Of: s.List.Current(), Period: 30 * time.Second, Focused: true})
}

// siteStatus returns the status of a value of the site; loading without a site.
func siteStatus(v view.Context, of func(*state.Site) widget.ValueStatus) widget.ValueStatus {
	if v.Site == nil {
		return widget.ValueStatus{Status: state.Loading}
	}
	return of(v.Site)
}

func workStatus[T any](v view.Context, value state.Value[T], empty bool) widget.ValueStatus {
	return widget.ValueStatus{Status: value.Status(v.Now, workAge, empty), Err: value.Err, Age: v.Now.Sub(value.At), NextTry: value.NextTry}
}

// planAct returns what a key of the list leads to.
func planAct(a keymap.Action, id string, v view.Context) view.Request {
	p := scheduleByID(v, id)
	switch a {
	case keymap.ListedMakePlan:
		return NewPlanForm(v, time.Time{})
	case keymap.ListedRecurPlan:
		return view.OpenDialog{Dialog: NewRecurringForm(v, time.Time{})}
	case keymap.Open:
		if p != nil {
			return view.Select{Selection: view.Selection{AssetID: p.AssetID, OrderID: p.OrderID}}
		}
	}
	if move, ok := listedPlanMoves[a]; ok && p != nil {
		return view.OpenDialog{Dialog: NewPlanMove(*p, move, v)}
	}
	return nil
}

func scheduleByID(v view.Context, id string) *api.Schedule {
	if v.Site == nil {
		return nil
	}
	return widget.Find(v.Site.Schedules.Data, func(p api.Schedule) bool { return p.ScheduleID == id })
}

func scheduleRows(v view.Context) []widget.Row {
	if v.Site == nil {
		return nil
	}
	rows := make([]widget.Row, 0, len(v.Site.Schedules.Data))
	for _, p := range v.Site.Schedules.Data {
		role, mark := themes.Text, themes.Text
		switch {
		case !workflow.OpenPlan(p):
			role, mark = themes.Muted, themes.Muted
		case p.Overdue:
			mark = themes.Warning
		}
		rows = append(rows, widget.Row{
			ID: p.ScheduleID, Sort: []any{p.AssetID, p.ScheduledDate.String(), workflow.PlanState(p), p.MaintenanceType, float64(slices.Index(api.Priorities(), p.Priority)), workflow.Recurs(p), p.Reason},
			Cells: []widget.Cell{
				{Text: p.AssetID, Role: role}, {Text: display.When(p.ScheduledDate.Time, v.SiteNow, v.Zone()), Role: role}, {Text: workflow.PlanState(p), Role: mark},
				{Text: p.MaintenanceType, Role: role}, {Text: p.Priority, Role: role}, {Text: workflow.Recurs(p), Role: role}, {Text: p.Reason, Role: role},
			},
		})
	}
	return rows
}

func scheduleDetail(v view.Context, id string) []widget.Detail {
	p := scheduleByID(v, id)
	if p == nil {
		return nil
	}
	if d := v.Site.Schedule.Data; d.ScheduleID == id && d.Version >= p.Version {
		p = &d
	}
	lines := []widget.Detail{{Heading: p.MaintenanceType + " maintenance of " + p.AssetID}}
	add := widget.FactsOf(&lines)
	at := widget.TimesOf(v)
	if p.Overdue && workflow.OpenPlan(*p) {
		lines = append(lines, widget.Detail{Label: "state", Text: "overdue; it is " + p.Status, Role: themes.Warning})
	} else {
		add("state", p.Status)
	}
	add("date", at(p.ScheduledDate))
	add("priority", p.Priority)
	add("reason", p.Reason)
	add("again", workflow.Recurs(*p))
	add("task", p.Task)
	add("order", p.OrderID)
	add("next", p.NextID)
	add("completed", at(p.CompletedAt))
	add("made", strings.TrimSpace(at(p.CreatedAt)+" "+by(p.CreatedBy)))
	add("possible", strings.Join(possible(*p), ", "))
	add("id", p.ScheduleID)
	return append(lines, historyDetail(v, p.History)...)
}

// possible returns the moves that a schedule allows now.
func possible(p api.Schedule) []string {
	if p.OrderID != "" && workflow.OpenPlan(p) {
		return []string{"a work order carries it out: change the order"}
	}
	return api.ScheduleActions(p.Status)
}

func by(who string) string {
	if who == "" {
		return ""
	}
	return "by " + who
}

// historyDetail returns what happened to a thing, the newest first.
func historyDetail(v view.Context, moves []api.WorkMove) []widget.Detail {
	if len(moves) == 0 {
		return nil
	}
	lines := []widget.Detail{{Heading: "History"}}
	for _, m := range slices.Backward(moves) {
		words := workflow.OrderStatus(m.To) + ", " + m.Actor
		if m.Note != "" {
			words += ": " + m.Note
		}
		lines = append(lines, widget.Detail{Label: display.When(m.At.Time, v.SiteNow, v.Zone()), Text: words, Role: themes.Dim})
	}
	return lines
}
