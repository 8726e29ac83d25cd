package pane

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// Act shows the work orders, what is late first, and the details of the one in
// hand; beside them, or below where there is room, the files on their way and
// the trail of what was done.
type Act struct {
	view.Base
	orders  List
	page    Page
	trail   trail
	onTrail bool // the trail has the pane

	ordersAt, pageAt, trailAt terminal.Rect
}

// NewAct shows the orders by urgency and the trail newest first.
func NewAct() *Act { return &Act{orders: List{SortBy: -1}, trail: trail{list: List{SortBy: -1}}} }

// Title names the pane.
func (a *Act) Title() string { return view.Act }

// Scope is that of the pane's own keys.
func (a *Act) Scope() keymap.Scope { return keymap.InAct }

// Queries are what the pane shows.
func (a *Act) Queries(v view.Context) []state.Need {
	return []state.Need{
		{Query: state.QueryActivities, Period: 10 * time.Second}, {Query: state.QueryUploads, Period: 20 * time.Second},
		{Query: state.QueryOrders, Period: 15 * time.Second}, {Query: state.QueryOrder, Of: CurrentOrder(v).OrderID, Period: 20 * time.Second},
		{Query: state.QuerySubscriptions, Period: 2 * time.Minute},
	}
}

// showsTrail says that the trail has the whole pane.
func (a *Act) showsTrail(v view.Context) bool { return a.onTrail || len(v.Site.Orders.Data) == 0 }

// ordersStale is when the list of orders counts as old.
const ordersStale = 5 * time.Minute

// Draw draws the board with the details of an order, or the trail.
func (a *Act) Draw(r terminal.Region, v view.Context) {
	a.ordersAt, a.pageAt, a.trailAt = terminal.Rect{}, terminal.Rect{}, terminal.Rect{}
	w, h := r.Size()
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

// drawNone says that there is no order, or why none is known, and answers the
// rows it took.
func (a *Act) drawNone(r terminal.Region, v view.Context) int {
	orders := v.Site.Orders
	words, role := "No work order yet. With a finding in hand, o makes one.", themes.Dim
	switch {
	case a.onTrail && len(orders.Data) > 0, orders.At.IsZero() && orders.Err == nil:
		return 0
	case orders.Err != nil:
		words, role = "No answer about work orders: "+state.Reason(orders.Err)+".", themes.Warning
	}
	return v.Paragraph(r, 0, 0, words, role)
}

// drawOrders draws the list, and beside or below it the details.
func (a *Act) drawOrders(r terminal.Region, v view.Context) {
	if v.Site.Orders.Face(v.Now, ordersStale, false) == state.Stale {
		r = drawAge(v, r, "These orders are", v.Site.Orders.At, v.Site.Orders.Err)
	}
	w, h := r.Size()
	rows := orderRows(v)
	list := min(len(rows)+1, max((h-1)/3, 3))
	a.ordersAt = terminal.Rect{Y: 1, W: w, H: list}
	a.pageAt = terminal.Rect{Y: list + 2, W: w, H: h - list - 2}
	if w >= 110 {
		a.ordersAt = terminal.Rect{Y: 1, W: w * 52 / 100, H: h - 1}
		a.pageAt = terminal.Rect{X: a.ordersAt.W + 2, Y: 1, W: w - a.ordersAt.W - 2, H: h - 1}
	} else if a.pageAt.H > 0 {
		r.HLine(0, list+1, w, terminal.LinesFor(v.ASCII), v.Style(themes.Border))
	}
	a.orders.Selected = ""
	o := CurrentOrder(v)
	if o.OrderID == v.Selection.OrderID || v.Selection.AssetID != "" && o.AssetID == v.Selection.AssetID {
		a.orders.Selected = o.OrderID
	}
	a.orders.Draw(r.Region(a.ordersAt), v, orderColumns(v), rows)
	v.Heading(r, 0, "Work orders", orderNotes(v), a.orders.Range(), view.Words("→ trail", v.ASCII))
	if a.pageAt.H > 0 {
		a.page.Draw(r.Region(a.pageAt), v, o.OrderID, func(r terminal.Region) int { return DrawOrder(r, v, o) })
	}
}

// orderNotes are how many orders are in each state, and how many are late.
func orderNotes(v view.Context) string {
	late := 0
	count := map[string]int{}
	for _, o := range v.Site.Orders.Data {
		count[o.Status]++
		if dueOf(o).late(v.SiteNow) {
			late++
		}
	}
	var words []string
	if late > 0 {
		words = append(words, fmt.Sprintf("%d late", late))
	}
	for _, status := range append(slices.Clone(board), api.OrderCompleted) {
		if n := count[status]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, OrderStatus(status)))
		}
	}
	return strings.Join(words, ", ")
}

func orderColumns(v view.Context) []Column {
	unit, what, when := 6, 8, 5
	for _, o := range v.Site.Orders.Data {
		unit, what = max(unit, terminal.Width(o.AssetID)), max(what, terminal.Width(orderWords(o)))
		when = max(when, terminal.Width(When(o.PlannedStart.Time, v.SiteNow, v.Site.Zone)))
	}
	return []Column{
		{Title: "unit", Width: min(unit, 30), Min: min(unit, 11), IDs: true}, {Title: "what", Min: min(what, 16)}, {Title: "state", Width: 11},
		{Title: "due", Width: 18, Min: 14}, {Title: "priority", Width: 8, Rank: 1}, {Title: "technician", Width: 12, Min: 10, Rank: 2}, {Title: "parts", Width: 8, Rank: 3}, {Title: "planned", Width: when, Right: true, Rank: 4},
	}
}

func orderRows(v view.Context) []Row {
	rows := make([]Row, 0, len(v.Site.Orders.Data))
	for _, o := range byUrgency(v) {
		text, dim := themes.Text, themes.Dim
		if !openOrder(o) {
			text, dim = themes.Muted, themes.Muted
		}
		due := dueOf(o)
		role := dim
		if due.late(v.SiteNow) {
			role = themes.Warning
		}
		rows = append(rows, Row{ID: o.OrderID, Cells: []Cell{
			{Text: o.AssetID, Role: text}, {Text: orderWords(o), Role: text}, {Text: OrderStatus(o.Status), Role: text}, {Text: due.words(v.SiteNow), Role: role},
			{Text: o.Priority, Role: text}, {Text: o.AssignedTechnician, Role: dim}, partsCell(o, dim), {Text: When(o.PlannedStart.Time, v.SiteNow, v.Site.Zone), Role: dim},
		}, Sort: []any{o.AssetID, orderWords(o), o.Status, due.at.Format(time.RFC3339), float64(slices.Index(api.Priorities(), o.Priority)), o.AssignedTechnician, float64(-o.PartsShort), o.PlannedStart.String()}})
	}
	return rows
}

// partsCell says whether the parts of an order are there.
func partsCell(o api.Order, dim themes.Role) Cell {
	switch {
	case !openOrder(o):
		return Cell{}
	case o.PartsShort > 0:
		return Cell{Text: fmt.Sprintf("%d short", o.PartsShort), Role: themes.Warning}
	}
	return Cell{Text: "there", Role: dim}
}

// Strip shows the open orders, most urgent first, then what was done last.
func (a *Act) Strip(r terminal.Region, v view.Context) {
	w, h := r.Size()
	y := 0
	for _, o := range byUrgency(v) {
		if !openOrder(o) || y >= max(h-1, 1) {
			break
		}
		due := dueOf(o)
		role := themes.Dim
		if due.late(v.SiteNow) {
			role = themes.Warning
		}
		x := v.PutIn(r, 0, y, w, v.ShortID(o.AssetID, max(w/3, 10))+" ", themes.Text)
		x = v.PutIn(r, x, y, w-x, due.words(v.SiteNow), role)
		v.PutIn(r, x, y, w-x, v.Separator()+orderWords(o)+v.Separator()+OrderStatus(o.Status)+v.Separator()+o.AssignedTechnician, themes.Dim)
		y++
	}
	a.trail.strip(r, v, y)
}

// Do moves through the orders, which takes them in hand, or through the trail;
// left and right go from one to the other.
func (a *Act) Do(k keymap.Action, v view.Context) view.Request {
	switch {
	case k == keymap.Left || k == keymap.Right:
		a.onTrail = !a.onTrail && len(v.Site.Orders.Data) > 0
	case a.showsTrail(v):
		return a.trail.do(k, v)
	case k == keymap.Open:
		return view.Batch{selectOrder(v, CurrentOrder(v).OrderID), view.Run{Action: keymap.OrderWhole}}
	case a.page.Do(k):
	case a.orders.Do(k, len(orderColumns(v))) && moves(k):
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
	o := KnownOrder(v, CurrentOrder(v))
	switch {
	case k != keymap.OrderWhole && k != keymap.ResolveIssue:
		return ""
	case o.OrderID == "":
		return "there is no work order here"
	case k == keymap.ResolveIssue && o.IssueID == "":
		return "the order of " + o.AssetID + " is about no issue"
	case k == keymap.ResolveIssue && o.Status != api.OrderCompleted:
		return "the order of " + o.AssetID + " is " + OrderStatus(o.Status)
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
	if by > 0 {
		return a.Do(keymap.Down, v)
	}
	return a.Do(keymap.Up, v)
}

// Help are the pane's own keys.
func (a *Act) Help() [][2]string {
	return [][2]string{
		{"↓ ↑", "take a work order in hand; its details say which moves it allows"},
		{"pgdn pgup", "scroll its details: clocks, parts, history"},
		{"→ ←", "to the trail of what was done, and back"},
		{"enter", "the order with its whole trail; on the trail: take the entry's unit in hand"},
	}
}

// Export is what is shown: the orders or the trail.
func (a *Act) Export(v view.Context) [][]string {
	if a.showsTrail(v) {
		return a.trail.export(v)
	}
	rows := [][]string{{"order_id", "asset_id", "status", "priority", "maintenance_type", "fault_family", "assigned_technician", "parts_short", "planned_start (UTC)", "start_due (UTC)", "restore_due (UTC)", "late"}}
	for _, o := range byUrgency(v) {
		rows = append(rows, []string{o.OrderID, o.AssetID, o.Status, o.Priority, o.MaintenanceType, o.FaultFamily, o.AssignedTechnician, fmt.Sprint(o.PartsShort),
			o.PlannedStart.String(), o.Clocks.StartDue.String(), o.Clocks.RestoreDue.String(), fmt.Sprint(dueOf(o).late(v.SiteNow))})
	}
	return rows
}

// Lists are the orders and the trail.
func (a *Act) Lists() view.Lists {
	active := &a.orders
	if a.onTrail {
		active = &a.trail.list
	}
	return view.Lists{All: map[string]view.List{"orders": &a.orders, "trail": &a.trail.list}, Active: active}
}
