package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/layout"
	"app.sunloop/tui/view"
)

func (m *Model) toggleMouse() tea.Cmd {
	m.mouse = !m.mouse
	if m.mouse {
		m.say("The console has the mouse; M gives it back.", themes.Dim)
		return tea.EnableMouseCellMotion
	}
	m.say("The terminal has the mouse, for selecting text; M takes it.", themes.Dim)
	return tea.DisableMouse
}

// click answers a mouse event by the layout's own rectangles.
func (m *Model) click(e tea.MouseMsg) tea.Cmd {
	if m.typing() {
		return nil
	}
	if m.screen() != nil && m.layout.Body.Contains(e.X, e.Y) {
		return m.clickScreen(e)
	}
	hit, p := m.layout.At(e.X, e.Y)
	wheel := map[tea.MouseButton]int{tea.MouseButtonWheelUp: -1, tea.MouseButtonWheelDown: 1}[e.Button]
	press := e.Button == tea.MouseButtonLeft && e.Action == tea.MouseActionPress
	switch {
	case wheel != 0 && hit == layout.OnPane && m.store.Site != nil:
		at := m.layout.Inside(m.layout.Panes[p])
		return m.perform(m.panes[p].Wheel(e.X-at.X, e.Y-at.Y, wheel, m.focusedContext()))
	case !press:
	case hit == layout.OnStatus && e.X < m.siteEnd:
		return m.perform(view.Run{Action: keymap.Sites})
	case hit == layout.OnTabs:
		m.goTo(m.tabAt(e.X))
	case hit == layout.OnStrip:
		m.focus, m.trail = p, nil
	case hit == layout.OnPane:
		if m.focus != p {
			m.focus, m.trail = p, nil
		}
		if m.store.Site != nil {
			at := m.layout.Inside(m.layout.Panes[p])
			return m.perform(m.panes[p].Click(e.X-at.X, e.Y-at.Y, m.focusedContext()))
		}
	}
	return nil
}

// clickScreen gives the screen the mouse.
func (m *Model) clickScreen(e tea.MouseMsg) tea.Cmd {
	at, s, v := m.layout.Further(), m.screen(), m.focusedContext()
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
