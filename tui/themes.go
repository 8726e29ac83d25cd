package tui

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/themes"
)

// themesEvery is how many ticks of the clock pass between two looks at the
// person's own theme files.
const themesEvery = 2

// watchThemes looks for changed theme files now and then.
func (m *Model) watchThemes() tea.Cmd {
	if m.o.ReloadThemes == nil || m.tick%themesEvery != 0 {
		return nil
	}
	return m.run(func(context.Context) tea.Msg {
		all, changed, err := m.o.ReloadThemes()
		return themesMsg{all, changed, err}
	})
}

// takeThemes lists changed themes, and draws with the one in use as it is now.
func (m *Model) takeThemes(msg themesMsg) {
	if !msg.changed {
		return
	}
	m.o.Themes = msg.all
	if msg.err != nil { // a file that cannot be used is left out; the look stays
		m.say("A theme file is not used: "+msg.err.Error(), themes.Warning)
		return
	}
	if t, ok := themes.Find(msg.all, m.theme.Name); ok && t != m.theme {
		m.useTheme(t)
		m.say("The theme "+t.Name+" is shown as its file is now.", themes.Dim)
	}
}
