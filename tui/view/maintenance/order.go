// Package maintenance shows work orders, schedules, parts and webhook
// subscriptions, and has the forms that change them.
package maintenance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/admin"
	"app.sunloop/tui/view/operations"
	"app.sunloop/tui/view/widget"
	"app.sunloop/tui/view/workflow"
)

// OrderScreen shows the selected order with all details: its workflow from the alarm
// to the verification, time limits, parts and history, and next to it the
// actions on its unit and, for users who may read it, the audit trail of the
// order.
type OrderScreen struct {
	view.Base
	page, trail     widget.Page
	pageAt, trailAt terminal.Rect
}

// NewOrderScreen shows the selected order.
func NewOrderScreen() *OrderScreen { return &OrderScreen{} }

// Title names the screen.
func (s *OrderScreen) Title() string { return "Work order" }

// Scope is that of the panes: the keys of the order's moves count here too.
func (s *OrderScreen) Scope() keymap.Scope { return keymap.Panes }

// Disabled returns why a move of the order is not possible.
func (s *OrderScreen) Disabled(a keymap.Action, v view.Context) string {
	return workflow.DisabledReason(workflow.KnownOrder(v, workflow.CurrentOrder(v)), a)
}

// Queries returns what the screen shows.
func (s *OrderScreen) Queries(v view.Context) []state.Need {
	needs := operations.NewAct().Queries(v)
	for i := range needs {
		needs[i].Focused = true
	}
	needs = append(needs, state.Need{Query: state.QuerySchedules, Period: 30 * time.Second, Focused: true}, state.Need{Query: state.QueryAlerts, Period: 30 * time.Second, Focused: true})
	if mayAudit(v) {
		needs = append(needs, state.Need{Query: state.QueryAudit, Of: state.AuditQuestion{}.Of(), Period: 30 * time.Second, Focused: true})
	}
	return needs
}

// mayAudit reports whether the user may read the audit trail.
func mayAudit(v view.Context) bool {
	return v.Admin != nil && v.User != nil && (slices.Contains(v.User.ApplicationPermissions, string(api.PermissionAudit)) || v.User.RoleID == api.RoleAdmin)
}

// Draw draws the order and its trail.
func (s *OrderScreen) Draw(r terminal.Region, v view.Context) {
	s.pageAt, s.trailAt = terminal.Rect{}, terminal.Rect{}
	o := workflow.CurrentOrder(v)
	if o.OrderID == "" {
		v.Paragraph(r, 0, 0, "There is no work order.", themes.Dim)
		return
	}
	w, h := r.Size()
	order := func(r terminal.Region) int { return workflow.DrawOrder(r, v, o) }
	trail := func(r terminal.Region) int { return widget.DrawDetails(r, v, s.trailOf(v, o)) }
	if w < 110 {
		s.pageAt = terminal.Rect{W: w, H: h}
		s.page.Draw(r, v, o.OrderID, func(r terminal.Region) int {
			y := order(r) + 1
			rw, rh := r.Size()
			return y + trail(r.Region(terminal.Rect{Y: y, W: rw, H: rh - y}))
		})
		return
	}
	s.pageAt = terminal.Rect{W: w * 56 / 100, H: h}
	s.trailAt = terminal.Rect{X: s.pageAt.W + 2, W: w - s.pageAt.W - 2, H: h}
	s.page.Draw(r.Region(s.pageAt), v, o.OrderID, order)
	s.trail.Draw(r.Region(s.trailAt), v, o.OrderID, trail)
}

// trailOf returns the activities about the order's unit, and the changes of the order with their users.
func (s *OrderScreen) trailOf(v view.Context, o api.Order) []widget.Detail {
	lines := []widget.Detail{{Heading: "Activity on " + o.AssetID}}
	for _, a := range v.Site.Activities.Data {
		if a.AssetID == o.AssetID {
			lines = append(lines, widget.Detail{Label: display.When(a.Timestamp.Time, v.SiteNow, v.Site.Zone), Text: a.Title + ", " + a.Actor + ": " + a.Description, Role: themes.Text})
		}
	}
	if len(lines) == 1 {
		lines = append(lines, widget.Detail{Text: "Nothing in the last 24 hours.", Role: themes.Dim})
	}
	if !mayAudit(v) {
		return lines
	}
	return append(lines, auditOf(v, o.OrderID, o.ScheduleID, o.BOMID, o.IssueID)...)
}

// auditOf returns the records of the audit trail that are about any of the ids.
func auditOf(v view.Context, ids ...string) []widget.Detail {
	lines := []widget.Detail{{Heading: "Audit trail"}}
	for _, a := range v.Admin.Audit.Data.Records {
		for _, id := range a.TargetIDs {
			if id != "" && slices.Contains(ids, id) {
				role := themes.Text
				if a.Status >= 400 {
					role = themes.Warning
				}
				lines = append(lines, widget.Detail{Label: display.When(a.Timestamp.Time, v.Now, v.Zone()), Text: admin.Actor(a) + ": " + a.Route + " " + a.Action + ", " + admin.Outcome(a), Role: role})
				break
			}
		}
	}
	if len(lines) == 1 {
		lines = append(lines, widget.Detail{Text: "No recent records.", Role: themes.Dim})
	}
	return lines
}

// Do scrolls.
func (s *OrderScreen) Do(a keymap.Action, _ view.Context) view.Request {
	switch a {
	case keymap.Down:
		s.page.Move(1)
	case keymap.Up:
		s.page.Move(-1)
	default:
		s.page.Do(a)
	}
	return nil
}

// Wheel scrolls what is under it.
func (s *OrderScreen) Wheel(x, y, by int, _ view.Context) view.Request {
	if s.trailAt.Contains(x, y) {
		s.trail.Move(2 * by)
	} else {
		s.page.Move(2 * by)
	}
	return nil
}

// Export returns the order's history.
func (s *OrderScreen) Export(v view.Context) [][]string {
	o := workflow.KnownOrder(v, workflow.CurrentOrder(v))
	rows := [][]string{{"order_id", "at (UTC)", "from", "to", "actor", "note"}}
	for _, m := range o.History {
		rows = append(rows, []string{o.OrderID, m.At.String(), m.From, m.To, m.Actor, m.Note})
	}
	return rows
}

// sendOrder asks the service to make or to move a work order.
func sendOrder(from view.Caller, r api.OrderRequest) view.Call {
	return view.Call{From: from, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
		answer, err := c.MoveOrder(ctx, r)
		if err != nil {
			return view.Result{}, err
		}
		done := view.Result{Selection: &view.Selection{AssetID: answer.AssetID, OrderID: answer.OrderID}, Refresh: workQueries()}
		if o := answer.Order; o != nil {
			done.Selection.FindingID = o.SummaryID
			done.Apply = func(s *state.Site) { s.KnowOrder(*o) }
		}
		if r.Action == api.ActionCreate {
			done.Focus = view.Act
		}
		done.Notice = func(v view.Context) view.Notify {
			return view.Notify{Text: orderWords(r, answer, v), Role: themes.Accent}
		}
		return done, nil
	}}
}

// orderWords describe the result of a step.
func orderWords(r api.OrderRequest, answer *api.OrderResponse, v view.Context) string {
	words := answer.Message + ": " + answer.AssetID
	if o := answer.Order; o != nil && r.Action == api.ActionCreate {
		words += ", planned " + display.When(o.PlannedStart.Time, v.SiteNow, v.Zone()) + ", " + o.Priority + " priority, " + o.AssignedTechnician
	}
	return words + "."
}

// MoveOrder changes an order's status, after a dialog where the change needs
// one.
func MoveOrder(o api.Order, action string, v view.Context) view.Request {
	base := api.OrderRequest{Action: action, OrderID: o.OrderID, Version: o.Version}
	form := func(title, verb string, take func(d *widget.StepForm, r *api.OrderRequest) (ok bool)) *widget.StepForm {
		return &widget.StepForm{Heading: title + " " + o.AssetID, Verb: verb, ServerForm: widget.ServerForm{Zone: v.Zone()}, Send: func(d *widget.StepForm) (view.Call, bool) {
			r := base
			if !take(d, &r) {
				return view.Call{}, false
			}
			return sendOrder(d, r), true
		}}
	}
	unassigned := o.AssignedTechnician == api.TechnicianUnassigned
	who := o.AssignedTechnician
	if unassigned {
		who = me(v)
	}
	technician := func(d *widget.StepForm, r *api.OrderRequest) bool {
		r.AssignedTechnician = d.Value("assigned_technician")
		return d.Need("assigned_technician", "Who carries it out?")
	}
	switch action {
	case api.ActionAssign:
		f := form("Assign", "assign", technician)
		f.Add("assigned_technician", widget.NewField("Technician", "a name, or unassigned", who))
		return view.OpenDialog{Dialog: f}
	case api.ActionStart:
		short := missing(o)
		other := otherDay(o, v)
		if short == "" && !unassigned && other == "" {
			break
		}
		f := form("Begin", "begin", technician)
		if other != "" {
			f = form("Begin", "begin now", technician)
		}
		f.Add("assigned_technician", widget.NewField("Technician", "a name", who))
		if short != "" {
			f = form("Begin", "start without them", func(d *widget.StepForm, r *api.OrderRequest) bool {
				r.Note, r.Force = d.Value("note"), true
				return technician(d, r) && d.Need("note", "Why without these parts?")
			})
			f.Intro = []string{"Short of " + short + "."}
			f.Add("assigned_technician", widget.NewField("Technician", "a name", who))
			f.Add("note", widget.NewField("Note", "why it starts without them", ""))
		}
		if other != "" {
			f.Intro = append([]string{other}, f.Intro...)
		}
		return view.OpenDialog{Dialog: f}
	case api.ActionHold:
		f := form("Hold", "hold", func(d *widget.StepForm, r *api.OrderRequest) bool {
			r.HoldReason, r.Note = d.Value("hold_reason"), d.Value("note")
			if r.Note != "" { // the history keeps one of the two
				r.Note = r.HoldReason + ": " + r.Note
			}
			return true
		})
		f.Intro = []string{"The time limits pause for weather, utility and access; for other reasons they continue."}
		f.Add("hold_reason", widget.NewChoice("Reason", api.HoldReasons(), widget.Verbatim))
		f.Add("note", widget.NewField("Note", "until when, and for whom", ""))
		return view.OpenDialog{Dialog: f}
	case api.ActionComplete:
		return view.OpenDialog{Dialog: newCompletion(o, form)}
	case api.ActionCancel, api.ActionReopen:
		title, verb := "Cancel", "cancel the order"
		if action == api.ActionReopen {
			title, verb = "Reopen", "reopen the order"
		}
		f := form(title, verb, func(d *widget.StepForm, r *api.OrderRequest) bool {
			r.Reason = d.Value("reason")
			return d.Need("reason", "Why?")
		})
		f.Add("reason", widget.NewField("Reason", "", ""))
		if action == api.ActionReopen {
			for _, p := range o.Proposals {
				f.Intro = append(f.Intro, p.Text)
			}
		}
		return view.OpenDialog{Dialog: f}
	}
	return sendOrder(nil, base)
}

// otherDay says for which day an order is planned, if that is not today; empty
// otherwise.
func otherDay(o api.Order, v view.Context) string {
	if o.PlannedStart.IsZero() {
		return ""
	}
	planned, now := o.PlannedStart.In(v.Zone()), v.SiteNow.In(v.Zone())
	days := int(view.MidnightOf(planned).Sub(view.MidnightOf(now)).Round(24*time.Hour) / (24 * time.Hour))
	switch {
	case days == 0:
		return ""
	case days > 0:
		return fmt.Sprintf("It is planned for %s, in %s. Start it now?", display.DayClock(planned), display.CountOf(days, "day", "days"))
	}
	return fmt.Sprintf("It was planned for %s, %s ago. Start it now?", display.DayClock(planned), display.CountOf(-days, "day", "days"))
}

// newCompletion asks what was done, in how many hours, and how many of each
// part it really took.
func newCompletion(o api.Order, form func(title, verb string, take func(*widget.StepForm, *api.OrderRequest) bool) *widget.StepForm) *widget.StepForm {
	f := form("Finish", "finish", func(d *widget.StepForm, r *api.OrderRequest) bool {
		r.CompletionNotes = d.Value("completion_notes")
		if !d.Need("completion_notes", "What was done?") {
			return false
		}
		var ok bool
		if r.ActualHours, ok = d.Hours("actual_hours"); !ok {
			return false
		}
		for _, p := range o.Parts {
			n, ok := d.Count(p.PartNumber, "How many were used", 0)
			if !ok {
				return false
			}
			r.PartsUsed = append(r.PartsUsed, api.PartCount{PartNumber: p.PartNumber, Quantity: n})
		}
		further, ok := partCounts(d, "parts_used")
		r.PartsUsed = append(r.PartsUsed, further...)
		return ok
	})
	f.Add("completion_notes", widget.Paragraph(widget.NewField("Notes", "what was done", ""), 3))
	f.Add("actual_hours", widget.NewField("Hours", "empty: since the start, without holds", ""))
	for _, p := range o.Parts {
		f.Add(p.PartNumber, widget.NewField(terminal.Truncate(p.Description, 26, false), p.PartNumber, fmt.Sprint(p.Reserved)))
	}
	f.Add("parts_used", widget.NewField("Others", "beyond the plan, as 2 FUSE-GPV-15A, 1 MC4-PAIR", ""))
	if len(o.Parts) > 0 {
		f.Intro = []string{"The quantity of each part that was used; the rest returns to stock."}
	}
	return f
}

// partCounts reads numbers with part numbers between commas.
func partCounts(d *widget.StepForm, name string) (parts []api.PartCount, ok bool) {
	for _, text := range widget.SplitList(d.Value(name)) {
		p := api.PartCount{}
		if n, err := fmt.Sscanf(text, "%d %s", &p.Quantity, &p.PartNumber); n != 2 || err != nil || p.Quantity < 1 {
			d.Refuse(slices.Index(d.Names, name), "Parts are written as a number and a part number, with commas between: 2 FUSE-GPV-15A, 1 MC4-PAIR.")
			return nil, false
		}
		parts = append(parts, p)
	}
	return parts, true
}

// missing returns the essential parts that an order is short of, as it is known
// here.
func missing(o api.Order) string {
	var out []string
	for _, p := range o.Parts {
		if p.Essential && p.Short > 0 {
			out = append(out, fmt.Sprintf("%d × %s", p.Short, p.Description))
		}
	}
	return strings.Join(out, ", ")
}

// NewResolve asks why the issue of a repaired unit is resolved.
func NewResolve(o api.Order) *widget.StepForm {
	d := &widget.StepForm{Heading: "Resolve the issue of " + o.AssetID, Verb: "resolve"}
	reason := "repaired: " + o.CompletionNotes
	for _, p := range o.Proposals {
		d.Intro = append(d.Intro, p.Text)
	}
	d.Add("reason", widget.NewField("Reason", "", reason))
	d.Send = func(d *widget.StepForm) (view.Call, bool) {
		why := d.Value("reason")
		if !d.Need("reason", "Why?") {
			return view.Call{}, false
		}
		return view.Call{From: d, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
			_, err := c.ResolveIssue(ctx, o.IssueID, why)
			return view.Result{Notice: view.Notice("Issue resolved: " + o.AssetID + "."), Refresh: append(workQueries(), state.QueryFindings)}, err
		}}, true
	}
	return d
}
