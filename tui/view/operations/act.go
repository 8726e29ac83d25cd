package operations

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/plant"
	"app.sunloop/tui/view/widget"
	"app.sunloop/tui/view/workflow"
)

// Act shows the work orders, late ones first, and the details of the selected
// one; next to them, or below if there is space, the running uploads and the
// activities.
type Act struct {
	view.Base
	orders       widget.List
	page         widget.Page
	trail        trail
	trailFocused bool // the trail has the pane

	ordersAt, pageAt, trailAt terminal.Rect
}

// NewAct shows the orders by urgency and the trail newest first.
func NewAct() *Act {
	return &Act{orders: widget.List{SortBy: -1}, trail: trail{list: widget.List{SortBy: -1}}}
}

// Title names the pane.
func (a *Act) Title() string { return view.Act }

// Scope is that of the pane's own keys.
func (a *Act) Scope() keymap.Scope { return keymap.InAct }

// Queries returns what the pane shows.
func (a *Act) Queries(v view.Context) []state.Need {
	return []state.Need{
		{Query: state.QueryActivities, Period: 10 * time.Second}, {Query: state.QueryUploads, Period: 20 * time.Second},
		{Query: state.QueryOrders, Period: 15 * time.Second}, {Query: state.QueryOrder, Of: workflow.CurrentOrder(v).OrderID, Period: 20 * time.Second},
		{Query: state.QuerySubscriptions, Period: 2 * time.Minute},
	}
}

// showsTrail says that the trail has the whole pane.
func (a *Act) showsTrail(v view.Context) bool { return a.trailFocused || len(v.Site.Orders.Data) == 0 }

// ordersStale is the age at which the list of orders is stale.
const ordersStale = 5 * time.Minute

// Draw draws the board with the details of an order, or the trail.
func (a *Act) Draw(r terminal.Region, v view.Context) {
	a.ordersAt, a.pageAt, a.trailAt = terminal.Rect{}, terminal.Rect{}, terminal.Rect{}
	w, h := r.Size()
	if words := HandOverWords(v); words != "" && h > 8 {
		v.PutIn(r, 0, 0, w, words, themes.Accent)
		r = r.Region(terminal.Rect{Y: 1, W: w, H: h - 1})
		h--
		defer func() { a.ordersAt.Y, a.pageAt.Y, a.trailAt.Y = a.ordersAt.Y+1, a.pageAt.Y+1, a.trailAt.Y+1 }()
	}
	if a.showsTrail(v) {
		y := a.drawNone(r, v)
		a.trailAt = terminal.Rect{Y: y, W: w, H: h - y}
		a.trail.draw(r.Region(a.trailAt), v)
		return
	}
	if h >= 40 { // room for both
		board := h * 3 / 5
		a.trailAt = terminal.Rect{Y: board + 1, W: w, H: h - board - 1}
		a.trail.draw(r.Region(a.trailAt), v)
		h = board
	}
	a.drawOrders(r.Region(terminal.Rect{W: w, H: h}), v)
}

// HandOverWords say that another person handed the shift over in the last 24 hours, until
// the shift log is known to be read. The activities tell it, so that it costs no request.
func HandOverWords(v view.Context) string {
	if v.Site == nil {
		return ""
	}
	for _, a := range v.Site.Activities.Data {
		if a.Title != titleHandOver {
			continue
		}
		if v.User == nil || a.Actor == v.User.Username || !v.Site.Shift.At.IsZero() && unreadHandOver(v) == nil {
			return ""
		}
		return a.Actor + " handed the shift over (" + display.When(a.Timestamp.Time, v.SiteNow, v.Site.Zone) + "): press g c to read it."
	}
	return ""
}

// drawNone shows that there is no order, or why orders are unknown, and returns the
// number of rows drawn.
func (a *Act) drawNone(r terminal.Region, v view.Context) int {
	orders := v.Site.Orders
	words, role := "No work orders. Select a finding and press o to create one.", themes.Dim
	switch {
	case a.trailFocused && len(orders.Data) > 0, orders.At.IsZero() && orders.Err == nil:
		return 0
	case orders.Err != nil:
		words, role = "No answer about work orders: "+state.Reason(orders.Err)+".", themes.Warning
	}
	return v.Paragraph(r, 0, 0, words, role)
}

// drawOrders draws the list, and next to or below it the details.
func (a *Act) drawOrders(r terminal.Region, v view.Context) {
	if v.Site.Orders.Status(v.Now, ordersStale, false) == state.Stale {
		r = widget.DrawAge(v, r, "These orders are", v.Site.Orders.At, v.Site.Orders.Err)
	}
	w, h := r.Size()
	rows := orderRows(v)
	list := min(len(rows)+1, max((h-1)/3, 3))
	a.ordersAt = terminal.Rect{Y: 1, W: w, H: list}
	a.pageAt = terminal.Rect{Y: list + 2, W: w, H: h - list - 2}
	if w >= 110 {
		list := min(max(w*52/100, widget.ListWidth(orderColumns(v), rows)), w-46)
		a.ordersAt = terminal.Rect{Y: 1, W: list, H: h - 1}
		a.pageAt = terminal.Rect{X: a.ordersAt.W + 2, Y: 1, W: w - a.ordersAt.W - 2, H: h - 1}
	} else if a.pageAt.H > 0 {
		r.HLine(0, list+1, w, terminal.LinesFor(v.ASCII), v.Style(themes.Border))
	}
	a.orders.Selected = ""
	o := workflow.CurrentOrder(v)
	if o.OrderID == v.Selection.OrderID || v.Selection.AssetID != "" && o.AssetID == v.Selection.AssetID {
		a.orders.Selected = o.OrderID
	}
	a.orders.Draw(r.Region(a.ordersAt), v, orderColumns(v), rows)
	v.Heading(r, 0, "Work orders", orderNotes(v), a.orders.Range(), view.Drawable("→ trail", v.ASCII))
	if a.pageAt.H > 0 {
		a.page.Draw(r.Region(a.pageAt), v, o.OrderID, func(r terminal.Region) int { return workflow.DrawOrder(r, v, o) })
	}
}

// orderNotes returns how many orders are in each state, and how many are late.
func orderNotes(v view.Context) string {
	late := 0
	count := map[string]int{}
	for _, o := range v.Site.Orders.Data {
		count[o.Status]++
		if workflow.DueOf(o).Late(v.SiteNow) {
			late++
		}
	}
	var words []string
	if late > 0 {
		words = append(words, fmt.Sprintf("%d late", late))
	}
	for _, status := range append(slices.Clone(workflow.BoardStatuses), api.OrderCompleted) {
		if n := count[status]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, workflow.OrderStatus(status)))
		}
	}
	return strings.Join(words, ", ")
}

func orderColumns(v view.Context) []widget.Column {
	unit, what, when := 6, 8, 5
	for _, o := range v.Site.Orders.Data {
		unit, what = max(unit, terminal.Width(o.AssetID)), max(what, terminal.Width(workflow.OrderText(o)))
		when = max(when, terminal.Width(display.When(o.PlannedStart.Time, v.SiteNow, v.Site.Zone)))
	}
	return []widget.Column{
		{Title: "unit", Width: min(unit, 30), Min: min(unit, 11), IDs: true}, {Title: "what", Min: min(what, 16)}, {Title: "state", Width: 11},
		{Title: "due", Width: 18, Min: 14}, {Title: "priority", Width: 8, Rank: 1}, {Title: "technician", Width: 12, Min: 10, Rank: 2}, {Title: "parts", Width: 8, Rank: 3}, {Title: "planned", Width: when, Right: true, Rank: 4},
	}
}

func orderRows(v view.Context) []widget.Row {
	rows := make([]widget.Row, 0, len(v.Site.Orders.Data))
	for _, o := range workflow.OrdersByUrgency(v) {
		text, dim := themes.Text, themes.Dim
		if !workflow.IsOpen(o) {
			text, dim = themes.Muted, themes.Muted
		}
		due := workflow.DueOf(o)
		role := dim
		if due.Late(v.SiteNow) {
			role = themes.Warning
		}
		rows = append(rows, widget.Row{ID: o.OrderID, Cells: []widget.Cell{
			{Text: o.AssetID, Role: text}, {Text: workflow.OrderText(o), Role: text}, {Text: workflow.OrderStatus(o.Status), Role: text}, {Text: due.Text(v.SiteNow), Role: role},
			{Text: o.Priority, Role: text}, {Text: o.AssignedTechnician, Role: dim}, partsCell(o, dim), {Text: display.When(o.PlannedStart.Time, v.SiteNow, v.Site.Zone), Role: dim},
		}, Sort: []any{o.AssetID, workflow.OrderText(o), o.Status, due.At.Format(time.RFC3339), float64(slices.Index(api.Priorities(), o.Priority)), o.AssignedTechnician, float64(-o.PartsShort), o.PlannedStart.String()}})
	}
	return rows
}

// partsCell shows whether the parts of an order are available.
func partsCell(o api.Order, dim themes.Role) widget.Cell {
	switch {
	case !workflow.IsOpen(o):
		return widget.Cell{}
	case o.PartsShort > 0:
		return widget.Cell{Text: fmt.Sprintf("%d short", o.PartsShort), Role: themes.Warning}
	}
	return widget.Cell{Text: "there", Role: dim}
}

// Strip shows the open orders, most urgent first, then what was done last.
func (a *Act) Strip(r terminal.Region, v view.Context) {
	w, h := r.Size()
	y := 0
	for _, o := range workflow.OrdersByUrgency(v) {
		if !workflow.IsOpen(o) || y >= max(h-1, 1) {
			break
		}
		due := workflow.DueOf(o)
		role := themes.Dim
		if due.Late(v.SiteNow) {
			role = themes.Warning
		}
		x := v.PutIn(r, 0, y, w, v.ShortID(o.AssetID, max(w/3, 10))+" ", themes.Text)
		x = v.PutIn(r, x, y, w-x, due.Text(v.SiteNow), role)
		v.PutIn(r, x, y, w-x, v.Separator()+workflow.OrderText(o)+v.Separator()+workflow.OrderStatus(o.Status)+v.Separator()+o.AssignedTechnician, themes.Dim)
		y++
	}
	a.trail.strip(r, v, y)
}

// Do moves through the orders, which selects them, or through the activities;
// left and right switch between them.
func (a *Act) Do(k keymap.Action, v view.Context) view.Request {
	switch {
	case k == keymap.Left || k == keymap.Right:
		a.trailFocused = !a.trailFocused && len(v.Site.Orders.Data) > 0
	case a.showsTrail(v):
		return a.trail.do(k, v)
	case k == keymap.Open:
		return view.Batch{selectOrder(v, workflow.CurrentOrder(v).OrderID), view.Run{Action: keymap.OrderWhole}}
	case a.page.Do(k):
	case a.orders.Do(k, len(orderColumns(v))) && widget.MovesSelection(k):
		return selectOrder(v, a.orders.Current())
	}
	return nil
}

// selectOrder selects an order with its unit and its finding.
func selectOrder(v view.Context, orderID string) view.Request {
	for _, o := range v.Site.Orders.Data {
		if o.OrderID == orderID {
			return view.Select{Selection: view.Selection{AssetID: o.AssetID, FindingID: o.SummaryID, OrderID: orderID}}
		}
	}
	return nil
}

// Disabled returns why a key of the pane does nothing now.
func (a *Act) Disabled(k keymap.Action, v view.Context) string {
	o := workflow.KnownOrder(v, workflow.CurrentOrder(v))
	switch {
	case k != keymap.OrderWhole && k != keymap.ResolveIssue:
		return ""
	case o.OrderID == "":
		return "there is no work order here"
	case k == keymap.ResolveIssue && o.IssueID == "":
		return "the order of " + o.AssetID + " is about no issue"
	case k == keymap.ResolveIssue && o.Status != api.OrderCompleted:
		return "the order of " + o.AssetID + " is " + workflow.OrderStatus(o.Status)
	}
	return ""
}

// Click marks an order or an entry.
func (a *Act) Click(x, y int, v view.Context) view.Request {
	switch {
	case a.ordersAt.Contains(x, y) && a.orders.Click(y-a.ordersAt.Y):
		return selectOrder(v, a.orders.Selected)
	case a.trailAt.Contains(x, y):
		if y -= a.trailAt.Y; a.trail.listAt.Contains(x, y) {
			a.trail.list.Click(y - a.trail.listAt.Y)
		}
	}
	return nil
}

// Wheel scrolls the details, or moves in the list.
func (a *Act) Wheel(x, y, by int, v view.Context) view.Request {
	if a.pageAt.Contains(x, y) {
		a.page.Move(2 * by)
		return nil
	}
	return a.Do(widget.WheelAction(by, keymap.Up, keymap.Down), v)
}

// Help returns the pane's own keys.
func (a *Act) Help() [][2]string {
	return [][2]string{
		{"↓ ↑", "select a work order; its details list the allowed transitions"},
		{"pgdn pgup", "scroll its details: time limits, parts, history"},
		{"→ ←", "go to the activity, and back"},
		{"enter", "show the order with its whole history; on the trail: select the entry's unit"},
	}
}

// Export returns what is shown: the orders or the trail.
func (a *Act) Export(v view.Context) [][]string {
	if a.showsTrail(v) {
		return a.trail.export(v)
	}
	rows := [][]string{{"order_id", "asset_id", "status", "priority", "maintenance_type", "fault_family", "assigned_technician", "parts_short", "planned_start (UTC)", "start_due (UTC)", "restore_due (UTC)", "late"}}
	for _, o := range workflow.OrdersByUrgency(v) {
		rows = append(rows, []string{o.OrderID, o.AssetID, o.Status, o.Priority, o.MaintenanceType, o.FaultFamily, o.AssignedTechnician, fmt.Sprint(o.PartsShort),
			o.PlannedStart.String(), o.Clocks.StartDue.String(), o.Clocks.RestoreDue.String(), fmt.Sprint(workflow.DueOf(o).Late(v.SiteNow))})
	}
	return rows
}

// Lists returns the orders and the trail.
func (a *Act) Lists() view.Lists {
	active := &a.orders
	if a.trailFocused {
		active = &a.trail.list
	}
	return view.Lists{All: map[string]view.List{"orders": &a.orders, "trail": &a.trail.list}, Active: active}
}

// trail shows uploads during import, training and forecast,
// and the actions of the service and its users, those on the selected unit
// first.
type trail struct {
	list   widget.List
	listAt terminal.Rect
}

// trailStale is the age at which the trail is stale.
const trailStale = 5 * time.Minute

// draw draws the running uploads, then the trail.
func (a *trail) draw(r terminal.Region, v view.Context) {
	a.listAt = terminal.Rect{}
	w, h := r.Size()
	y := a.drawUploads(r, v)
	act := v.Site.Activities
	face := act.Status(v.Now, trailStale, len(act.Data) == 0)
	rest := r.Region(terminal.Rect{Y: y, W: w, H: h - y})
	if widget.DrawPlaceholder(v, rest, face, act.Err, act.FailedSince, act.NextTry, "what was done", "No activity in the last 24 hours. Imports, trainings, forecasts, findings and actions of users are listed here.") {
		return
	}
	if face == state.Stale {
		widget.DrawAge(v, r, "This trail is", act.At, act.Err)
		h--
	}
	full := a.entry(v)
	below := 0
	if full != "" && h-y >= 12 { // what the line has no room for
		below = min(len(view.Wrap(full, w)), 3) + 1
	}
	rows, own := trailRows(v)
	a.listAt = terminal.Rect{Y: y + 1, W: w, H: h - y - 1 - below}
	a.list.Draw(r.Region(a.listAt), v, trailColumns(v), rows)
	notes := ""
	if v.Selection.AssetID != "" {
		notes = fmt.Sprintf("%d about %s", own, v.ShortID(v.Selection.AssetID, 20))
	}
	v.Heading(r, y, "Trail of 24 hours", notes, a.list.Range())
	if below > 0 {
		bottom := r.Region(terminal.Rect{Y: h - below, W: w, H: below})
		bottom.HLine(0, 0, w, terminal.LinesFor(v.ASCII), v.Style(themes.Border))
		v.Paragraph(bottom, 0, 1, full, themes.Dim)
	}
}

// entry returns the marked entry in full, empty without one.
func (a *trail) entry(v view.Context) string {
	ids := entryIDs(v.Site.Activities.Data)
	for i, act := range v.Site.Activities.Data {
		if ids[i] == a.list.Selected {
			words := act.Title + ": " + act.Description
			if act.Actor != "" {
				words += " (" + act.Actor + ")"
			}
			return words
		}
	}
	return ""
}

// drawUploads draws the running uploads, those that failed, and if there is
// space the newest completed; it returns the number of rows drawn.
func (a *trail) drawUploads(r terminal.Region, v view.Context) int {
	w, h := r.Size()
	ups := notable(v.Site.Uploads.Data)
	if len(ups) == 0 {
		return 0
	}
	note := "g u for all"
	if n := len(plant.Importing(v)); n > 0 {
		note = fmt.Sprintf("%d running, %s", n, note)
	}
	v.Heading(r, 0, "Files", note)
	y := 1
	name := 0
	for _, u := range ups {
		name = max(name, terminal.Width(plant.FileName(u)))
	}
	name = min(name, max(w*2/5, 10))
	for _, u := range ups[:min(len(ups), max(h/5, 2))] {
		v.Put(r, 0, y, terminal.TruncateMiddle(plant.FileName(u), name/3, name, v.ASCII), themes.Text)
		x := name + 2
		if !u.Ended() {
			widget.DrawBar(r.Region(terminal.Rect{X: x, Y: y, W: 12, H: 1}), v, u.Progress)
			x += 13
		}
		v.PutIn(r, x, y, w-x, uploadWords(u), plant.UploadRole(u))
		y++
	}
	return y
}

// notable returns the uploads worth a line: running, then failed, then
// completed. A live feed sends a small file every few seconds: of those only
// the failed count.
func notable(ups []api.Upload) []api.Upload {
	out := slices.DeleteFunc(slices.Clone(ups), func(u api.Upload) bool {
		return u.Kind == api.UploadNowcast && (!u.Ended() || u.Error == "")
	})
	rank := func(u api.Upload) int {
		switch {
		case !u.Ended():
			return 0
		case u.Error != "":
			return 1
		}
		return 2
	}
	slices.SortStableFunc(out, func(a, b api.Upload) int { return rank(a) - rank(b) })
	return out
}

func uploadWords(u api.Upload) string {
	switch {
	case u.Error != "":
		return plant.UploadState(u) + ": " + u.Error
	case u.Ended():
		return plant.UploadState(u) + ", " + display.CountOf(u.RowsStored, "row", "rows")
	}
	return plant.UploadState(u)
}

func trailColumns(v view.Context) []widget.Column {
	when, what := 5, 4
	for _, a := range v.Site.Activities.Data {
		when = max(when, terminal.Width(display.When(a.Timestamp.Time, v.SiteNow, v.Site.Zone)))
		what = max(what, terminal.Width(a.Title))
	}
	return []widget.Column{
		{Title: "when", Width: when}, {Title: "phase", Width: 7, Rank: 2}, {Title: "what", Width: min(what, 32), Min: min(what, 18)},
		{Title: "details", Min: 16, Rank: 1}, {Title: "who", Width: 12, Min: 8, Rank: 3},
	}
}

// entryIDs identify the entries, and stay when newer ones come in front.
func entryIDs(trail []api.Activity) []string {
	ids, seen := make([]string, len(trail)), map[string]int{}
	for i := len(trail) - 1; i >= 0; i-- {
		a := trail[i]
		id := a.Timestamp.String() + a.Phase + a.Title + a.AssetID + a.Description
		seen[id]++
		ids[i] = fmt.Sprint(id, seen[id])
	}
	return ids
}

// trailRows returns the entries, and how many of them are about the selected
// unit: those are first.
func trailRows(v view.Context) (rows []widget.Row, own int) {
	ids := entryIDs(v.Site.Activities.Data)
	for i, a := range v.Site.Activities.Data {
		mine := v.Selection.AssetID != "" && a.AssetID == v.Selection.AssetID
		title, rest := themes.Text, themes.Dim
		if v.Selection.AssetID != "" && !mine {
			title, rest = themes.Dim, themes.Muted
		}
		row := widget.Row{ID: ids[i], Cells: []widget.Cell{
			{Text: display.When(a.Timestamp.Time, v.SiteNow, v.Site.Zone), Role: rest}, {Text: a.Phase, Role: rest},
			{Text: a.Title, Role: title}, {Text: a.Description, Role: rest}, {Text: a.Actor, Role: rest},
		}, Sort: []any{a.Timestamp.String(), a.Phase, a.Title, a.Description, a.Actor}}
		if mine {
			rows = slices.Insert(rows, own, row)
			own++
			continue
		}
		rows = append(rows, row)
	}
	return rows, own
}

// strip shows running work, then the latest completed work, from y on.
func (a *trail) strip(r terminal.Region, v view.Context, y int) {
	w, h := r.Size()
	y += plant.DrawImporting(r.Region(terminal.Rect{Y: y, W: w, H: max(h-y, 0)}), v, h-y)
	for _, act := range v.Site.Activities.Data {
		if y >= h {
			return
		}
		x := v.Put(r, 0, y, display.When(act.Timestamp.Time, v.SiteNow, v.Site.Zone)+"  ", themes.Dim)
		x = v.PutIn(r, x, y, w-x, act.Title, themes.Text)
		v.PutIn(r, x+2, y, w-x-2, act.Description, themes.Dim)
		y++
	}
	if y == 0 {
		words, role := widget.NoneKnown(v, state.Need{Query: state.QueryActivities, Period: 10 * time.Second}, "activities", "no activity in the last 24 hours")
		v.PutIn(r, 0, 0, w, words, role)
	}
}

// do moves through the activities; enter selects the unit of an entry.
func (a *trail) do(k keymap.Action, v view.Context) view.Request {
	if k == keymap.Open {
		ids := entryIDs(v.Site.Activities.Data)
		for i, act := range v.Site.Activities.Data {
			if ids[i] != a.list.Current() {
				continue
			}
			if act.AssetID == "" {
				return view.Notify{Text: "This entry is about the whole site, not about a unit.", Role: themes.Dim}
			}
			return view.Select{Selection: view.Selection{AssetID: act.AssetID, FindingID: findingOf(v, act.AssetID)}}
		}
		return nil
	}
	a.list.Do(k, len(trailColumns(v)))
	return nil
}

// export returns the trail.
func (a *trail) export(v view.Context) [][]string {
	rows := [][]string{{"timestamp (UTC)", "phase", "title", "description", "asset_id", "actor"}}
	for _, act := range v.Site.Activities.Data {
		rows = append(rows, []string{act.Timestamp.String(), act.Phase, act.Title, act.Description, act.AssetID, act.Actor})
	}
	return rows
}
