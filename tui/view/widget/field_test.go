package widget

import (
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"pgregory.net/rapid"

	"app.sunloop/themes"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/terminal"
)

// What is pasted into a field cannot steer the terminal, and whatever is typed
// stays within the field.
func TestFieldIsSafe(t *testing.T) {
	v := stage.ScreenContext(t, false)
	rapid.Check(t, func(t *rapid.T) {
		f := NewField("Name", "hint", "")
		f.Secret = rapid.Bool().Draw(t, "secret")
		f.Key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(rapid.String().Draw(t, "text") + "\x1b[31m日本🙂"), Paste: true})
		for range rapid.IntRange(0, 5).Draw(t, "left") {
			f.Key(tea.KeyMsg{Type: tea.KeyLeft})
		}
		if strings.ContainsAny(f.Value(), "\x1b\x07\n") {
			t.Fatalf("%q holds controls", f.Value())
		}
		w := rapid.IntRange(12, 40).Draw(t, "w")
		g := terminal.NewGrid(w+2, 1)
		g.All().Clear(v.Palette.Style(themes.Panel))
		f.Draw(g.Region(terminal.Rect{X: 1, W: w, H: 1}), 0, 6, v, true)
		if l, r := g.Cell(0, 0), g.Cell(w+1, 0); l.Text != " " || r.Text != " " {
			t.Fatalf("drawn outside the field: %q %q", l.Text, r.Text)
		}
		cursor := 0
		for x := range w + 2 {
			if g.Cell(x, 0).Style.Attr&themes.Reverse != 0 {
				cursor++
			}
		}
		if cursor < 1 || cursor > 2 {
			t.Fatalf("%d cells of cursor", cursor)
		}
	})
}
