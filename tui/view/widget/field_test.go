package widget

import (
	"slices"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"pgregory.net/rapid"

	"app.sunloop/themes"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/keymap"
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

// A proposed value is replaced by what is typed into its field, kept by a key that moves the
// cursor, and a refused one is corrected; a text of several lines is continued. Letters select
// a choice.
func TestFormReplacesProposedValues(t *testing.T) {
	key := func(f *Form, keys ...string) {
		for _, k := range keys {
			switch special := map[string]tea.KeyType{"tab": tea.KeyTab, "end": tea.KeyEnd, "backspace": tea.KeyBackspace, "right": tea.KeyRight}; {
			case k == "tab":
				f.Edit(keymap.NextField, tea.KeyMsg{Type: tea.KeyTab})
			case special[k] != 0:
				f.Edit("", tea.KeyMsg{Type: special[k]})
			default:
				for _, c := range k {
					f.Edit("", tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{c}})
				}
			}
		}
	}
	hours := func(s string) string { return s + " h" }
	for name, tt := range map[string]struct {
		keys []string
		want [4]string
	}{
		"the first field":    {[]string{"Lena"}, [4]string{"Lena", "4", "was", "1"}},
		"a field further on": {[]string{"tab", "12"}, [4]string{"operator", "12", "was", "1"}},
		"continued":          {[]string{"end", "2"}, [4]string{"operator2", "4", "was", "1"}},
		"emptied":            {[]string{"backspace", "x"}, [4]string{"x", "4", "was", "1"}},
		"once only":          {[]string{"a", "b", "backspace", "c"}, [4]string{"ac", "4", "was", "1"}},
		"several lines":      {[]string{"tab", "tab", "!"}, [4]string{"operator", "4", "was!", "1"}},
		"a choice by letter": {[]string{"tab", "tab", "tab", "2"}, [4]string{"operator", "4", "was", "2"}},
		"by two letters":     {[]string{"tab", "tab", "tab", "12"}, [4]string{"operator", "4", "was", "12"}},
		"by no letter":       {[]string{"tab", "tab", "tab", "z"}, [4]string{"operator", "4", "was", "1"}},
		"by arrow":           {[]string{"tab", "tab", "tab", "12", "right"}, [4]string{"operator", "4", "was", "1"}},
	} {
		f := Form{Fields: []Field{NewField("Technician", "", "operator"), NewField("Hours", "", "4"), Paragraph(NewField("Text", "", "was"), 2), NewChoice("For", []string{"1", "2", "12"}, hours)}}
		key(&f, tt.keys...)
		for i, want := range tt.want {
			if got := f.Fields[i].Value(); got != want {
				t.Errorf("%s: field %d is %q, want %q", name, i, got, want)
			}
		}
	}
	f := Form{Fields: []Field{NewField("Name", "", ""), NewField("Hours", "", "4x")}}
	f.Refuse(1, "no number")
	key(&f, "backspace", "5")
	if got := f.Fields[1].Value(); got != "45" {
		t.Errorf("a refused value is corrected to %q", got)
	}
	proposed := Form{Fields: []Field{NewField("Begin", "", "")}}
	proposed.enter()
	proposed.Fields[0].Set("2026-12-01") // the service answered
	key(&proposed, "now")
	if got := proposed.Fields[0].Value(); got != "now" {
		t.Errorf("a value that came later is replaced by %q", got)
	}
}

// A text on several lines is divided between words, and each rune and the cursor after it have
// a place of their own.
func TestFieldWrapsWords(t *testing.T) {
	for _, tt := range []struct {
		text string
		room int
		want []string
	}{
		{"waiting for the fuse", 10, []string{"waiting", "for the", "fuse"}},
		{"waiting for", 11, []string{"waiting for"}},
		{"waiting for ", 11, []string{"waiting for"}},
		{"a  b", 2, []string{"a", "b"}},
		{"INV-1000000054495192 is off", 8, []string{"INV-1000", "00005449", "5192 is", "off"}},
		{"über Straße 東京都庁", 7, []string{"über", "Straße", "東京都", "庁"}},
		{"", 5, []string{""}},
	} {
		text := []rune(tt.text)
		at := places(text, tt.room)
		last := at[len(text)].y
		lines := make([]string, last+1)
		for i, c := range text {
			if at[i].x > tt.room || at[i].y > last {
				t.Fatalf("%q: rune %d is at %v", tt.text, i, at[i])
			}
			lines[at[i].y] += string(c)
		}
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " ")
		}
		if !slices.Equal(lines, tt.want) {
			t.Errorf("%q on %d cells: %q, want %q", tt.text, tt.room, lines, tt.want)
		}
		if end := at[len(text)]; end.x > tt.room {
			t.Errorf("%q: the cursor is at %v", tt.text, end)
		}
	}
}
