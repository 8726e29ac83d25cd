package tui

import (
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/keymap"
)

// The palette finds actions of every pane and screen by the user's words, and does
// them where they belong.
func TestPaletteFindsEveryAction(t *testing.T) {
	for _, tt := range []struct{ typed, place string }{
		{"add user", "[Users] [Add a user]"},
		{"new token", "[API keys] [Create an API key]"},
		{"promote model", "[Models]"},
		{"fill the gaps", "[Runs]"},
		{"train", "[Runs]"},
		{"retrain", "[Runs]"},
		{"forecast now", "[Runs]"},
		{"detect now", "[Runs] [Run detection now]"},
		{"what the history shows", "[What the history shows]"},
		{"interpolation", "[Interpolation]"},
		{"replace component", "[Assets]"},
		{"send delivery again", "[Subscriptions]"},
		{"modbus", "[Sources]"},
		{"import", "[Import a file]"},
		{"contract", "[KPIs] [Availability contract of Sibaya]"},
		{"ratings", "[Assets] [Change the site Sibaya]"},
		{"count stock", "[Stock]"},
	} {
		d := start(t, 120, 36, func(o *Options, _ *plant.Service) {
			o.User = &api.User{UserID: "u1", Username: "anna", RoleID: api.RoleAdmin, RoleName: "Administrator"}
		})
		d.press(":", tt.typed)
		list := d.text()
		d.press("enter")
		if got := d.place(); !strings.Contains(got, tt.place) {
			t.Errorf("%q: at %q, want %q:\n%s", tt.typed, got, tt.place, list)
		}
	}
}

// Each action of each pane and screen is found by its description, wherever one is.
func TestPaletteListsEveryAction(t *testing.T) {
	for _, place := range []string{"1", "g m"} {
		d := start(t, 200, 60, func(o *Options, _ *plant.Service) {
			o.User = &api.User{UserID: "u1", Username: "anna", RoleID: api.RoleAdmin, RoleName: "Administrator"}
		})
		d.press(strings.Fields(place)...)
		d.blind = true
		hidden := map[keymap.Action]bool{}
		for _, e := range d.m.o.Keys.Entries() {
			if e.Scope == keymap.Global || e.Scope == keymap.Panes {
				hidden[e.Action] = !e.Palette || e.Scope == keymap.Panes && place != "1" // moves of the focus, and what needs the panes
			}
			if e.Scope == keymap.List || e.Scope == keymap.Dialog || hidden[e.Action] {
				continue
			}
			words := e.Binding.Help().Desc
			d.press(":", words)
			if text := d.text(); !strings.Contains(text, words[:min(len(words), 60)]) {
				t.Errorf("at %s: %q of %s is not found:\n%s", place, words, e.Scope, text)
			}
			d.press("esc")
		}
	}
}

// A key without effect says so, where it has none.
func TestKeyWithoutEffect(t *testing.T) {
	d := start(t, 120, 36, nil)
	d.press("%")
	d.shows("% has no effect here; ? shows the keys.")
	d.press("g", "f", "n")
	d.shows("n has no effect here")
	d.press("esc")
	d.shows("n select the worst")
	d.hides("has no effect here")
}

// A word that was typed faster than it was read is text, also if it names a key.
func TestWordsThatNameKeysAreTyped(t *testing.T) {
	d := start(t, 120, 36, nil)
	d.press(":")
	for _, word := range []string{"delete", "up", "home"} {
		d.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(word)})
	}
	d.shows("›  deleteuphome")
}
