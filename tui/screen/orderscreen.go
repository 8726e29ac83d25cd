package screen

import (
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// OrderScreen shows the order in hand whole: its way from the alarm to the
// proof, clocks, parts and history, and beside it what was done about its unit
// and, for those who may read it, the audit trail of the order.
type OrderScreen struct {
	view.Base
	page, trail     pane.Page
	pageAt, trailAt terminal.Rect
}

// NewOrderScreen shows the order in hand.
func NewOrderScreen() *OrderScreen { return &OrderScreen{} }

// Title names the screen.
func (s *OrderScreen) Title() string { return "Work order" }

// Scope is that of the panes: the keys of the order's moves count here too.
func (s *OrderScreen) Scope() keymap.Scope { return keymap.Panes }

// Disabled returns why a move of the order is not possible.
func (s *OrderScreen) Disabled(a keymap.Action, v view.Context) string {
	return pane.OrderMoveWhy(pane.KnownOrder(v, pane.CurrentOrder(v)), a)
}

// Queries are what the screen shows.
func (s *OrderScreen) Queries(v view.Context) []state.Need {
	needs := pane.NewAct().Queries(v)
	for i := range needs {
		needs[i].Focused = true
	}
	needs = append(needs, state.Need{Query: state.QuerySchedules, Period: 30 * time.Second, Focused: true}, state.Need{Query: state.QueryAlerts, Period: 30 * time.Second, Focused: true})
	if mayAudit(v) {
		needs = append(needs, state.Need{Query: state.QueryAudit, Of: state.AuditQuestion{}.Of(), Period: 30 * time.Second, Focused: true})
	}
	return needs
}

// mayAudit says whether the person reads the audit trail.
func mayAudit(v view.Context) bool {
	return v.Admin != nil && v.User != nil && (slices.Contains(v.User.ApplicationPermissions, string(api.PermissionAudit)) || v.User.RoleID == api.RoleAdmin)
}

// Draw draws the order and its trail.
func (s *OrderScreen) Draw(r terminal.Region, v view.Context) {
	s.pageAt, s.trailAt = terminal.Rect{}, terminal.Rect{}
	o := pane.CurrentOrder(v)
	if o.OrderID == "" {
		v.Paragraph(r, 0, 0, "There is no work order.", themes.Dim)
		return
	}
	w, h := r.Size()
	order := func(r terminal.Region) int { return pane.DrawOrder(r, v, o) }
	trail := func(r terminal.Region) int { return drawDetails(r, v, s.trailOf(v, o)) }
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

// trailOf is what was done about the order's unit, and who touched the order.
func (s *OrderScreen) trailOf(v view.Context, o api.Order) []Detail {
	lines := []Detail{{Heading: "What was done about " + o.AssetID}}
	for _, a := range v.Site.Activities.Data {
		if a.AssetID == o.AssetID {
			lines = append(lines, Detail{Label: pane.When(a.Timestamp.Time, v.SiteNow, v.Site.Zone), Words: a.Title + ", " + a.Actor + ": " + a.Description, Role: themes.Text})
		}
	}
	if len(lines) == 1 {
		lines = append(lines, Detail{Words: "Nothing in the last 24 hours.", Role: themes.Dim})
	}
	if !mayAudit(v) {
		return lines
	}
	return append(lines, auditOf(v, o.OrderID, o.ScheduleID, o.BOMID, o.IssueID)...)
}

// auditOf are the records of the audit trail that are about any of the ids.
func auditOf(v view.Context, ids ...string) []Detail {
	lines := []Detail{{Heading: "Audit trail"}}
	for _, a := range v.Admin.Audit.Data.Records {
		for _, id := range a.TargetIDs {
			if id != "" && slices.Contains(ids, id) {
				role := themes.Text
				if a.Status >= 400 {
					role = themes.Warning
				}
				lines = append(lines, Detail{Label: pane.When(a.Timestamp.Time, v.Now, v.Zone()), Words: who(a) + ": " + a.Route + " " + a.Action + ", " + outcome(a), Role: role})
				break
			}
		}
	}
	if len(lines) == 1 {
		lines = append(lines, Detail{Words: "No record of late.", Role: themes.Dim})
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

// Export is the order's history.
func (s *OrderScreen) Export(v view.Context) [][]string {
	o := pane.KnownOrder(v, pane.CurrentOrder(v))
	rows := [][]string{{"order_id", "at (UTC)", "from", "to", "actor", "note"}}
	for _, m := range o.History {
		rows = append(rows, []string{o.OrderID, m.At.String(), m.From, m.To, m.Actor, m.Note})
	}
	return rows
}
