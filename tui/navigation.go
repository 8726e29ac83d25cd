package tui

import (
	"github.com/charmbracelet/bubbletea"

	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/layout"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/operations"
	"app.sunloop/tui/view/widget"
)

// navigation is the state of the screen: panes, screens and focus.
type navigation struct {
	panes     [layout.Panes]view.Pane
	orient    *operations.Orient // of the panes
	decide    *operations.Decide // of the panes
	focus     layout.Pane
	zoom      bool
	selection view.Selection
	screens   []view.View   // cover the panes; the last one is visible
	trail     []layout.Pane // panes that were left with enter, for esc
	filter    *widget.Field // of the list that has the keys; nil while it is not edited
	pending   string        // first key of a two-key binding
}

func newNavigation() navigation {
	orient, decide := operations.NewOrient(), operations.NewDecide()
	return navigation{
		orient: orient, decide: decide,
		panes: [layout.Panes]view.Pane{layout.Observe: operations.NewObserve(), layout.Orient: orient, layout.Decide: decide, layout.Act: operations.NewAct()},
	}
}

// screen returns the visible screen, possibly behind a dialog; nil while the panes are
// visible.
func (n *navigation) screen() view.View {
	if last := len(n.screens) - 1; last >= 0 {
		return n.screens[last]
	}
	return nil
}

// top returns the screen that is seen, else the focused pane.
func (n *navigation) top() view.View {
	if s := n.screen(); s != nil {
		return s
	}
	return n.panes[n.focus]
}

// scopes returns the active scopes.
func (n *navigation) scopes() []keymap.Scope {
	if n.screen() != nil {
		return []keymap.Scope{n.screen().Scope(), keymap.List, keymap.Global}
	}
	return []keymap.Scope{n.panes[n.focus].Scope(), keymap.List, keymap.Panes, keymap.Global}
}

// goTo goes to a pane.
func (n *navigation) goTo(p layout.Pane) { n.focus, n.trail, n.screens = p, nil, nil }

// selectThing selects an object in all panes. If it changes the pane, back returns to
// the former one.
func (n *navigation) selectThing(r view.Select) {
	n.selection = r.Selection
	if p, ok := layout.Named(r.Focus); ok && p != n.focus {
		n.trail = append(n.trail, n.focus)
		n.focus = p
	}
}

// reset restores the initial state.
func (n *navigation) reset() {
	*n = navigation{panes: n.panes, orient: n.orient, decide: n.decide}
	for _, p := range n.panes {
		for _, list := range p.Lists().All {
			list.Restore(view.Memory{})
		}
	}
}

// openScreen opens a screen in place of the panes.
func (m *Model) openScreen(r view.OpenScreen) {
	if !r.Over {
		m.nav.screens = nil
	}
	for _, s := range m.nav.screens {
		m.places.saveLists(s)
	}
	m.places.restoreLists(r.Screen)
	m.nav.screens, m.nav.filter = append(m.nav.screens, r.Screen), nil
}

// closeTop closes the dialog on top, else the screen, and reports whether it was
// the screen.
func (m *Model) closeTop() (left bool) {
	switch {
	case m.dialogs.top() != nil:
		m.dialogs.pop()
		m.nav.pending = ""
	case m.nav.screen() != nil:
		m.leave()
		return true
	}
	return false
}

// leave closes the visible screen.
func (m *Model) leave() {
	n := len(m.nav.screens) - 1
	m.places.saveLists(m.nav.screens[n])
	m.nav.screens[n] = nil
	m.nav.screens = m.nav.screens[:n]
}

// list returns the list that has the keys, nil without one.
func (m *Model) list() view.List {
	if m.nav.screen() == nil && m.data.Site == nil {
		return nil
	}
	return m.nav.top().Lists().Active
}

// startFilter opens the filter line of the list that has the keys.
func (m *Model) startFilter() {
	list := m.list()
	if list == nil {
		m.notify("There is no list to filter here.", themes.Dim)
		return
	}
	field := widget.NewField("/", "part of a name or state", list.Filter())
	m.nav.filter = &field
}

// filterKey edits the filter, which applies with each key.
func (m *Model) filterKey(k tea.KeyMsg) {
	list := m.list()
	switch a, _, _ := m.o.Keys.Match(k.String(), keymap.Dialog); a {
	case keymap.Accept:
		m.nav.filter = nil
	case keymap.Dismiss:
		list.SetFilter("")
		m.nav.filter = nil
	default:
		m.nav.filter.Key(k)
		list.SetFilter(m.nav.filter.Value())
	}
}

func (m *Model) toggleMouse() tea.Cmd {
	m.prefs.mouse = !m.prefs.mouse
	if m.prefs.mouse {
		m.notify("The console uses the mouse; M returns it to the terminal.", themes.Dim)
		return tea.EnableMouseCellMotion
	}
	m.notify("The terminal uses the mouse, to select text; M returns it to the console.", themes.Dim)
	return tea.DisableMouse
}

// click processes a mouse event by the rectangles of the layout.
func (m *Model) click(e tea.MouseMsg) tea.Cmd {
	if m.typing() {
		return nil
	}
	if m.nav.screen() != nil && m.frame.layout.Body.Contains(e.X, e.Y) {
		return m.clickScreen(e)
	}
	hit, p := m.frame.layout.At(e.X, e.Y)
	wheel := map[tea.MouseButton]int{tea.MouseButtonWheelUp: -1, tea.MouseButtonWheelDown: 1}[e.Button]
	press := e.Button == tea.MouseButtonLeft && e.Action == tea.MouseActionPress
	switch {
	case wheel != 0 && hit == layout.OnPane && m.data.Site != nil:
		at := m.frame.layout.Inside(m.frame.layout.Panes[p])
		return m.perform(m.nav.panes[p].Wheel(e.X-at.X, e.Y-at.Y, wheel, m.focusedContext()))
	case !press:
	case hit == layout.OnStatus && e.X < m.frame.siteEnd:
		return m.perform(view.Run{Action: keymap.Sites})
	case hit == layout.OnTabs:
		m.nav.goTo(m.tabAt(e.X))
	case hit == layout.OnStrip:
		m.nav.focus, m.nav.trail = p, nil
	case hit == layout.OnPane:
		if m.nav.focus != p {
			m.nav.focus, m.nav.trail = p, nil
		}
		if m.data.Site != nil {
			at := m.frame.layout.Inside(m.frame.layout.Panes[p])
			return m.perform(m.nav.panes[p].Click(e.X-at.X, e.Y-at.Y, m.focusedContext()))
		}
	}
	return nil
}

// clickScreen passes a mouse event to the screen.
func (m *Model) clickScreen(e tea.MouseMsg) tea.Cmd {
	at, s, v := m.frame.layout.Further(), m.nav.screen(), m.focusedContext()
	x, y := e.X-at.X, e.Y-at.Y
	var r view.Request
	switch {
	case e.Button == tea.MouseButtonWheelUp:
		r = s.Wheel(x, y, -1, v)
	case e.Button == tea.MouseButtonWheelDown:
		r = s.Wheel(x, y, 1, v)
	case e.Button == tea.MouseButtonLeft && e.Action == tea.MouseActionPress:
		r = s.Click(x, y, v)
	default:
		return nil
	}
	next, cmd := m.answered(r)
	return tea.Batch(cmd, m.perform(next))
}
