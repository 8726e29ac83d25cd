package widget

import (
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/tui/keymap"
	"app.sunloop/tui/view"
)

// The keys of lists move in a chooser too, unless they may begin what is searched.
func TestChooserKeys(t *testing.T) {
	v := view.Context{Keys: keymap.Default()}
	press := func(c *Chooser, keys ...string) string {
		for _, k := range keys {
			c.Key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)}, v)
		}
		if len(c.shown) == 0 {
			return ""
		}
		return c.shown[c.at].Text
	}
	colours := []Choice{{Text: "daylight"}, {Text: "contrast"}, {Text: "mono"}}
	sites := []Choice{{Text: "Havelland"}, {Text: "Jena"}, {Text: "Kalahari"}}
	shift := []Choice{{Text: "show what happened, and hand the shift over", Terms: "handover"}, {Text: "hand the shift over with a signed entry", Terms: "hand over, end of shift"}}
	for _, tt := range []struct {
		name, hint string
		choices    []Choice
		keys       []string
		want       string
	}{
		{"down", "", colours, []string{"j", "j"}, "mono"},
		{"down and up", "", colours, []string{"j", "k"}, "daylight"},
		{"a site that begins with it", "", sites, []string{"j"}, "Jena"},
		{"after the first letter it is text", "", colours, []string{"m", "j"}, ""},
		{"known by the phrase", "type", shift, []string{"hand over"}, "hand the shift over with a signed entry"},
		{"the palette is for typing", "type", colours, []string{"j"}, ""},
	} {
		if got := press(NewChooser("", tt.hint, tt.choices, nil), tt.keys...); got != tt.want {
			t.Errorf("%s: %q is chosen, want %q", tt.name, got, tt.want)
		}
	}
}
