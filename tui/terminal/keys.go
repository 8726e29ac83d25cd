package terminal

import tea "github.com/charmbracelet/bubbletea"

// SplitRunes turns keys typed faster than they were read, which Bubble Tea delivers as one message with several runes, into a
// message each, as the keymap expects them. Pastes and single keys come back as they are. Text fields take the message whole.
func SplitRunes(msg tea.KeyMsg) []tea.KeyMsg {
	if msg.Type != tea.KeyRunes || msg.Paste || len(msg.Runes) < 2 {
		return []tea.KeyMsg{msg}
	}
	keys := make([]tea.KeyMsg, len(msg.Runes))
	for i := range msg.Runes {
		keys[i] = tea.KeyMsg{Type: tea.KeyRunes, Runes: msg.Runes[i : i+1 : i+1], Alt: msg.Alt}
	}
	return keys
}
