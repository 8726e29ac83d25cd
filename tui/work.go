package tui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/layout"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/screen"
)

// whyNoMove is why a move of the order on screen is not possible, empty when
// it is or when the action is no move.
func (m *Model) whyNoMove(a keymap.Action) string {
	return pane.OrderMoveWhy(m.orderOnScreen(), a)
}

// orderOnScreen is the order whose details Act shows, as it is known best.
func (m *Model) orderOnScreen() api.Order {
	return pane.KnownOrder(m.view(), pane.CurrentOrder(m.view()))
}

// moveOrder does a move, or asks for what it needs.
func (m *Model) moveOrder(action string) tea.Cmd {
	d, asIs := screen.NewOrderMove(m.orderOnScreen(), action, m.view())
	if d != nil {
		m.dialogs = append(m.dialogs, d)
		return nil
	}
	return m.send(asIs)
}

// askFor opens a form, and asks for its defaults.
func (m *Model) askFor(d *screen.WorkForm, defaults screen.Send) tea.Cmd {
	m.dialogs = append(m.dialogs, d)
	return m.send(defaults)
}

// chosenDay is the day that was chosen in Decide; the zero time without one.
func (m *Model) chosenDay() time.Time {
	if d, ok := m.panes[layout.Decide].(*pane.Decide); ok {
		return d.ChosenDay(m.view())
	}
	return time.Time{}
}

// makeOrder opens the form of an order for the finding, or the unit, in hand;
// where the finding has an open order, that is taken in hand.
func (m *Model) makeOrder() tea.Cmd {
	if m.store.Site == nil {
		return nil
	}
	if o := m.store.Site.OpenOrder(m.hand.FindingID); o != nil {
		m.hand.OrderID, m.focus = o.OrderID, layout.Act
		m.say("This finding has a work order already; here it is.", themes.Text)
		return m.poll()
	}
	return m.askFor(screen.NewOrderForm(m.view(), m.chosenDay()))
}

// makePlan opens the form of planned maintenance of the unit in hand.
func (m *Model) makePlan() tea.Cmd {
	if m.store.Site == nil {
		return nil
	}
	return m.askFor(screen.NewPlanForm(m.view(), m.chosenDay()))
}

// movePlan opens the form of a move of the plan that Decide shows.
func (m *Model) movePlan(a keymap.Action) tea.Cmd {
	d, ok := m.panes[layout.Decide].(*pane.Decide)
	action, known := pane.PlanMove(a)
	if p := d.PlanInHand(m.view()); ok && known && p != nil {
		m.dialogs = append(m.dialogs, screen.NewPlanMove(*p, action, m.view()))
	}
	return nil
}

// nextStep does what comes next on the way from a sign of trouble to a repair
// that holds, with a form that is filled in already.
func (m *Model) nextStep() tea.Cmd {
	v := m.view()
	way := pane.WayOf(v)
	switch {
	case way.Next == pane.StepNone:
		m.say("There is no next step: "+way.Why+".", themes.Dim)
		return nil
	case way.Next == pane.StepTake:
		m.hand, _ = pane.Worst(v)
		m.notice = notice{}
		return m.poll()
	case v.WriteWhy != "":
		m.say("Not now: "+v.WriteWhy+".", themes.Dim)
		return nil
	case m.store.Link.Down:
		m.say("Not now: the service does not answer.", themes.Dim)
		return nil
	}
	if way.Finding != nil { // maybe it was a unit alone
		m.hand.FindingID = way.Finding.SummaryID
	}
	if way.Order != nil {
		m.hand.OrderID = way.Order.OrderID
	}
	switch way.Next {
	case pane.StepDetect:
		return m.detect()
	case pane.StepDiagnose:
		m.say("Looking for what is behind it …", themes.Dim)
		return m.send(screen.Diagnose(m.view()))
	case pane.StepPlan:
		return m.makePlan()
	case pane.StepParts:
		m.dialogs = append(m.dialogs, screen.NewPartsForm(m.view()))
		return nil
	case pane.StepOrder:
		return m.makeOrder()
	case pane.StepResolve:
		m.dialogs = append(m.dialogs, screen.NewResolve(m.orderOnScreen()))
		return nil
	}
	m.focus, m.screens = layout.Act, nil
	return m.moveOrder(way.Move)
}
