package tui

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/layout"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/screen"
	"app.sunloop/tui/state"
)

// plannedMsg brings what a new order is made of to its form.
type plannedMsg struct {
	form    *screen.WorkForm
	bill    *api.BOM
	windows *api.ProposeResponse // nil: there is no forecast
	err     error
}

// whyNoMove is why a move of the order on screen is not possible, empty when
// it is or when the action is no move.
func (m *Model) whyNoMove(a keymap.Action) string {
	action, ok := pane.OrderMove(a)
	if !ok {
		return ""
	}
	o := m.orderOnScreen()
	switch {
	case o.OrderID == "":
		return "there is no work order here"
	case !slices.Contains(pane.OrderMoves(o), action):
		return "the order of " + o.AssetID + " is " + pane.OrderStatus(o.Status)
	}
	return ""
}

// orderOnScreen is the order whose details Act shows, as it is known best.
func (m *Model) orderOnScreen() api.Order {
	o := pane.CurrentOrder(m.view())
	if m.store.Site != nil {
		if d := m.store.Site.Order.Data; d.OrderID == o.OrderID && d.Version >= o.Version {
			return d
		}
	}
	return o
}

// me is who is signed in; empty when that is not known.
func (m *Model) me() string {
	if m.user == nil {
		return ""
	}
	return m.user.Username
}

// moveOrder does a move, or asks for what it needs.
func (m *Model) moveOrder(action string) tea.Cmd {
	d, asIs := screen.NewOrderMove(m.orderOnScreen(), action, m.me())
	if d != nil {
		m.dialogs = append(m.dialogs, d)
		return nil
	}
	return m.send(asIs)
}

// makeOrder opens the form of an order for the finding, or the unit, in hand;
// where the finding has an open order, that is taken in hand.
func (m *Model) makeOrder() tea.Cmd {
	site := m.store.Site
	if site == nil {
		return nil
	}
	if o := site.OpenOrder(m.hand.FindingID); o != nil {
		m.hand.OrderID, m.focus = o.OrderID, layout.Act
		m.say("This finding has a work order already; here it is.", themes.Text)
		return m.poll()
	}
	form := screen.NewOrderForm(m.hand.AssetID)
	m.dialogs = append(m.dialogs, form)
	record, hand, known := site.Site, m.hand, site.FreeBOM(m.hand.AssetID, m.hand.FindingID)
	if hand.FindingID == "" {
		known = nil // the fault may be another one by now
	}
	return m.run(func(ctx context.Context) tea.Msg {
		bill, windows, err := m.plan(ctx, record, hand, known)
		return plannedMsg{form, bill, windows, err}
	})
}

// plan asks for the bill of materials of a repair, unless one is known, and
// for the windows in which it costs least.
func (m *Model) plan(ctx context.Context, site api.Site, hand pane.Hand, known *api.BOM) (*api.BOM, *api.ProposeResponse, error) {
	bill := known
	if bill == nil {
		r, err := m.o.Client.GenerateBOM(ctx, api.BOMRequest{CustomerID: site.CustomerID, SiteID: site.SiteID, AssetID: hand.AssetID})
		if err != nil {
			return nil, nil, err
		}
		bill = r.BOM
	}
	kind := api.WorkIsolating
	if bill.Measuring && !bill.Isolating {
		kind = api.WorkMeasuring
	}
	windows, err := m.o.Client.Propose(ctx, api.ScheduleRequest{CustomerID: site.CustomerID, SiteID: site.SiteID, AssetID: hand.AssetID, Kind: kind,
		MaintenanceType: bill.MaintenanceType, EstimatedDurationHours: cmp.Or(bill.EstimatedHours, state.VisitHours)})
	if errors.Is(err, api.ErrNoForecastResult) {
		return bill, nil, nil
	}
	return bill, windows, err
}

// planned fills the form of a new order.
func (m *Model) planned(msg plannedMsg) {
	m.dirty = true
	m.store.Planner.Forget(state.QueryBOMs)
	if msg.err != nil {
		m.tell(msg.form, msg.err)
		return
	}
	site := m.store.Site
	if site == nil || site.SiteID != msg.bill.SiteID {
		return
	}
	begin, why := nextMorning(m.siteNow()), "No window is proposed: the next morning."
	if msg.windows != nil && len(msg.windows.Windows) > 0 {
		w := msg.windows.Windows[0]
		begin, why = w.Start.Time, pane.WindowWords(w, msg.windows.Currency, len(msg.windows.Windows))
	}
	msg.form.Plan(site.Site, site.Zone, *msg.bill, begin, why, m.me())
}

// nextMorning is seven o'clock of the next working day.
func nextMorning(now time.Time) time.Time {
	y, mo, d := now.Date()
	for {
		d++
		t := time.Date(y, mo, d, 7, 0, 0, 0, now.Location())
		if t.Weekday() != time.Saturday && t.Weekday() != time.Sunday {
			return t
		}
	}
}
