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
	"app.sunloop/tui/view/widget"
)

// statusKeys are the keys of the moves of an order, by the service's actions.
var statusKeys = map[string]keymap.Action{
	api.ActionAssign: keymap.AssignOrder, api.ActionStart: keymap.StartOrder, api.ActionHold: keymap.HoldOrder, api.ActionResume: keymap.ResumeOrder,
	api.ActionComplete: keymap.CompleteOrder, api.ActionCancel: keymap.CancelOrder, api.ActionReopen: keymap.ReopenOrder,
}

// StatusAction returns the service's action behind a key; ok is false for other keys.
func StatusAction(k keymap.Action) (action string, ok bool) {
	for action, key := range statusKeys {
		if key == k {
			return action, true
		}
	}
	return "", false
}

// StatusActions returns the actions that an order allows in its state.
func StatusActions(o api.Order) []string {
	moves := slices.Clone(api.OrderActions(o.Status))
	if IsOpen(o) {
		moves = append([]string{api.ActionAssign}, moves...)
	}
	return moves
}

// DisabledReason returns why a move of an order is not possible, empty when it is or
// when the action is no move.
func DisabledReason(o api.Order, k keymap.Action) string {
	action, ok := StatusAction(k)
	switch {
	case !ok:
		return ""
	case o.OrderID == "":
		return "there is no work order here"
	case !slices.Contains(StatusActions(o), action):
		return "the order of " + o.AssetID + " is " + OrderStatus(o.Status)
	}
	return ""
}

// IsOpen reports whether an order is neither completed nor cancelled.
func IsOpen(o api.Order) bool {
	return o.Status != api.OrderCompleted && o.Status != api.OrderCancelled
}

// OrderStatus returns the name of a status.
func OrderStatus(status string) string { return strings.ReplaceAll(status, "_", " ") }

// OrderText describes the subject of an order.
func OrderText(o api.Order) string {
	if o.FaultFamily != "" {
		return widget.Family(o.FaultFamily)
	}
	return o.MaintenanceType + " work"
}

// due is what an order must come to next.
type due struct {
	what   string // empty when nothing is due
	At     time.Time
	paused bool
}

// DueOf returns the first of an order's time limits that is still running.
func DueOf(o api.Order) due {
	c := o.Clocks
	switch {
	case !IsOpen(o):
		return due{}
	case c.AcknowledgedAt.IsZero():
		return due{"assign", c.AcknowledgeDue.Time, c.Paused}
	case c.StartedAt.IsZero():
		return due{"begin", c.StartDue.Time, c.Paused}
	}
	return due{"restore", c.RestoreDue.Time, c.Paused}
}

// Late reports whether the time is past.
func (d due) Late(now time.Time) bool { return d.what != "" && !d.At.IsZero() && now.After(d.At) }

// Text states what is due and when.
func (d due) Text(now time.Time) string {
	switch {
	case d.what == "" || d.At.IsZero():
		return ""
	case d.Late(now):
		return d.what + " late " + display.Span(now.Sub(d.At))
	case d.paused:
		return d.what + ", stopped"
	}
	return d.what + " in " + display.Span(d.At.Sub(now))
}

// BoardStatuses is the order of states: work in progress first.
var BoardStatuses = []string{api.OrderInProgress, api.OrderOnHold, api.OrderPending}

// OrdersByUrgency returns the orders in the order of the board: what is late first, the
// longest at the top; then by state, each by what is due first; then those that
// ended, as the service lists them.
func OrdersByUrgency(v view.Context) []api.Order {
	out := slices.Clone(v.Site.Orders.Data)
	slices.SortStableFunc(out, func(a, b api.Order) int {
		x, y := IsOpen(a), IsOpen(b)
		switch {
		case x != y && x:
			return -1
		case x != y:
			return 1
		case !x:
			return 0
		}
		late := func(o api.Order) int {
			if DueOf(o).Late(v.SiteNow) {
				return -1
			}
			return slices.Index(BoardStatuses, o.Status)
		}
		return cmp.Or(late(a)-late(b), DueOf(a).At.Compare(DueOf(b).At), slices.Index(api.Priorities(), a.Priority)-slices.Index(api.Priorities(), b.Priority))
	})
	return out
}

// CurrentOrder returns the selected order, else an open one of the selected
// finding or unit, else the most urgent one; the zero order without one.
func CurrentOrder(v view.Context) api.Order {
	if v.Site == nil || len(v.Site.Orders.Data) == 0 {
		return api.Order{}
	}
	orders := OrdersByUrgency(v)
	for _, is := range []func(api.Order) bool{
		func(o api.Order) bool { return o.OrderID == v.Selection.OrderID },
		func(o api.Order) bool {
			return v.Selection.FindingID != "" && o.SummaryID == v.Selection.FindingID && IsOpen(o)
		},
		func(o api.Order) bool { return o.AssetID == v.Selection.AssetID && IsOpen(o) },
	} {
		if i := slices.IndexFunc(orders, is); i >= 0 {
			return orders[i]
		}
	}
	return orders[0]
}

// KnownOrder returns an order with its details if they are known: parts and history
// arrive after it was selected.
func KnownOrder(v view.Context, o api.Order) api.Order {
	if v.Site == nil {
		return o
	}
	if d := v.Site.Order.Data; d.OrderID == o.OrderID && d.Version >= o.Version {
		return d
	}
	return o
}

// DrawOrder draws an order with all details and returns the number of rows. Parts and
// history arrive after the order was selected.
func DrawOrder(r terminal.Region, v view.Context, o api.Order) int {
	o = KnownOrder(v, o)
	w, _ := r.Size()
	what := "  " + OrderText(o) + v.Separator() + OrderStatus(o.Status) + v.Separator() + o.Priority
	x := v.PutIn(r, 0, 0, w, v.ShortID(o.AssetID, max(w-terminal.Width(what), 10)), themes.Title)
	v.PutIn(r, x, 0, w-x, what, themes.Title)
	y := 1 + drawMoves(r, v, 1, o)
	y = v.Paragraph(r, 0, y, orderFacts(v, o), themes.Text)
	for _, line := range o.Warnings {
		y = v.Paragraph(r, 0, y, line, themes.Warning)
	}
	y = drawOutcome(r, v, y, o)
	y = drawCosts(r, v, y, o)
	y = drawClocks(r, v, y, o)
	y = drawPauses(r, v, y, o)
	if len(o.Parts) > 0 && o.Costs == nil {
		v.Heading(r, y, "Parts")
		y = drawParts(r, v, y+1, o)
	}
	y = drawWayOf(r, v, y, o)
	if text := webhookText(v, o); text != "" {
		y = v.Paragraph(r, 0, y, text, themes.Dim)
	}
	if len(o.History) > 0 {
		v.Heading(r, y, "History")
		y++
		for _, m := range slices.Backward(o.History) {
			line := display.When(m.At.Time, v.SiteNow, v.Site.Zone) + "  " + OrderStatus(m.To) + ", " + m.Actor
			if m.Note != "" {
				line += ": " + m.Note
			}
			y = v.Paragraph(r, 0, y, line, themes.Dim)
		}
	}
	return v.Paragraph(r, 0, y, o.OrderID, themes.Muted)
}

// VerificationText are the words for the states of a verification.
var VerificationText = map[string]string{
	api.VerificationWaiting: "not verified yet: needs a clear day", api.VerificationVerified: "verified",
	api.VerificationFailed: "not verified: the unit does not produce the expected power", api.VerificationExpired: "not verified: no clear day came",
}

// drawMoves draws the keys of the moves that are possible, and returns the
// rows it took.
func drawMoves(r terminal.Region, v view.Context, y int, o api.Order) int {
	if v.ReadOnly != "" {
		return 0
	}
	w, _ := r.Size()
	x, first := 0, y
	for _, action := range StatusActions(o) {
		e, ok := v.Keys.Entry(statusKeys[action])
		if !ok {
			continue
		}
		key := e.Binding.Help().Key
		if need := terminal.Width(key) + 1 + terminal.Width(e.Footer); x > 0 && x+need > w {
			x, y = 0, y+1
		}
		x = v.PutIn(r, x, y, w-x, key, themes.Key)
		x = v.PutIn(r, x, y, w-x, " "+e.Footer, themes.Dim) + 2
	}
	if x == 0 {
		return 0
	}
	return y - first + 1
}

// orderFacts returns technician, start and duration of an order.
func orderFacts(v view.Context, o api.Order) string {
	who := "unassigned"
	if o.AssignedTechnician != api.TechnicianUnassigned {
		who = o.AssignedTechnician
	}
	facts := []string{who, "planned " + display.When(o.PlannedStart.Time, v.SiteNow, v.Site.Zone), display.Hours(o.EstimatedDurationHours)}
	if IsOpen(o) {
		facts = append(facts, "done by "+display.When(o.EstimatedCompletion.Time, v.SiteNow, v.Site.Zone))
	}
	if o.Isolating {
		facts = append(facts, "the unit is down during the work")
	}
	if o.HoldReason != "" {
		facts = append(facts, "held for "+o.HoldReason)
	}
	if o.CreatedBy != "" {
		facts = append(facts, "created by "+o.CreatedBy+" "+display.When(o.CreatedAt.Time, v.SiteNow, v.Site.Zone))
	}
	return strings.Join(facts, "; ")
}

// drawClocks draws the time limits of an order, and when they were met.
func drawClocks(r terminal.Region, v view.Context, y int, o api.Order) int {
	c := o.Clocks
	note := ""
	if c.PausedMinutes > 0 || c.Paused {
		note = "stopped for " + display.Span(time.Duration(c.PausedMinutes)*time.Minute)
	}
	v.Heading(r, y, "Clocks", note)
	for _, row := range []struct {
		name     string
		due, was api.Time
	}{{"assign", c.AcknowledgeDue, c.AcknowledgedAt}, {"begin", c.StartDue, c.StartedAt}, {"restore", c.RestoreDue, c.RestoredAt}} {
		y++
		role, words := themes.Dim, "due "+display.When(row.due.Time, v.SiteNow, v.Site.Zone)
		switch {
		case !row.was.IsZero() && row.was.After(row.due.Time):
			words, role = words+", done late "+display.When(row.was.Time, v.SiteNow, v.Site.Zone), themes.Warning
		case !row.was.IsZero():
			words += ", done " + display.When(row.was.Time, v.SiteNow, v.Site.Zone)
		case IsOpen(o) && v.SiteNow.After(row.due.Time):
			words, role = words+", late "+display.Span(v.SiteNow.Sub(row.due.Time)), themes.Warning
		}
		v.Put(r, 0, y, row.name, themes.Dim)
		w, _ := r.Size()
		v.PutIn(r, 9, y, w-9, words, role)
	}
	return y + 1
}

// drawParts draws the parts of an order with their shortages.
func drawParts(r terminal.Region, v view.Context, y int, o api.Order) int {
	w, _ := r.Size()
	for _, p := range o.Parts {
		words, role := fmt.Sprintf("%d reserved", p.Reserved), themes.Dim
		switch {
		case p.Short > 0:
			words, role = fmt.Sprintf("%d short", p.Short), themes.Warning
			if p.Essential {
				words += ", needed to start"
			}
		case !IsOpen(o):
			words = fmt.Sprintf("%d used", p.Used)
		}
		v.Put(r, 0, y, fmt.Sprintf("%3d", p.Quantity), themes.Text)
		end := w - terminal.Width(words) - 1
		v.PutIn(r, 4, y, end-4, p.Description+"  "+p.PartNumber, themes.Text)
		v.PutIn(r, max(end+1, 4), y, w-max(end+1, 4), words, role)
		y++
	}
	return y
}

// WindowWords returns what the best of n proposed windows costs.
func WindowWords(w api.WorkWindow, currency string, n int) string {
	if n == 1 {
		return windowCost("The one window", w, currency)
	}
	return windowCost("The best of "+display.CountOf(n, "window", "windows"), w, currency)
}

// DayWindowWords returns what the best window of a chosen day costs, also against
// the best of all.
func DayWindowWords(w api.WorkWindow, currency string) string {
	words := strings.TrimSuffix(windowCost("The best window of the selected day", w, currency), ".")
	if w.ExtraKWh > 0 {
		words += "; " + display.Energy(w.ExtraKWh)
		if w.ExtraCost > 0 && currency != "" {
			words += ", " + display.Money(w.ExtraCost, currency)
		}
		words += " more than the best"
	}
	return words + "."
}

// WindowSubject returns what loses the energy of a window: a unit or the whole site.
func WindowSubject(w api.WorkWindow) string {
	switch {
	case w.AssetID != "":
		return w.AssetID
	case w.SiteID != "":
		return "the whole site"
	}
	return "it" // a service that does not answer it
}

func windowCost(what string, w api.WorkWindow, currency string) string {
	words := what + "; " + WindowSubject(w) + " loses " + display.Energy(w.EnergyKWh)
	if w.Cost > 0 && currency != "" {
		words += ", " + display.Money(w.Cost, currency)
	}
	if w.Windy {
		words += "; wind of " + display.Wind(w.WindMS)
	}
	if w.Rainy {
		words += "; rain of " + display.Rain(w.RainMM)
	}
	return words + "."
}
