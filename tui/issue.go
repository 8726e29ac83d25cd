package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/screen"
)

// moveIssue opens a form about the issue of the finding in hand.
func (m *Model) moveIssue(form func(api.Issue, api.Finding) *screen.WorkForm) tea.Cmd {
	v := m.view()
	f := pane.FindingInHand(v)
	if f == nil {
		return nil
	}
	if i := pane.IssueOf(v, f.SummaryID); i != nil {
		m.dialogs = append(m.dialogs, form(*i, *f))
	}
	return nil
}
