package widget

import (
	"math"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// Every row of a list and every choice can be read in every theme and depth of colour:
// selected or not, with the keys or without, disabled or not. The colours of priorities
// stay on the selected row, unless the theme reverses it.
func TestSelectedRowsAreReadable(t *testing.T) {
	const least = 4.5
	roles := []themes.Role{themes.Text, themes.Dim, themes.Muted, themes.Critical, themes.Warning, themes.Notice, themes.Accent}
	columns := []Column{{Title: "what", Min: 8}, {Title: "state", Min: 8}}
	var rows []Row
	for _, role := range roles {
		rows = append(rows, Row{ID: role.String(), Cells: []Cell{{Text: role.String(), Role: role}, {Text: "disabled", Role: themes.Muted}}})
	}
	for _, theme := range themes.Builtin() {
		for _, depth := range []terminal.Profile{themes.TrueColor, themes.Colors256, themes.Colors16} {
			for _, focused := range []bool{true, false} {
				v := view.Context{Palette: terminal.NewPalette(&theme, depth), Keys: keymap.Default(), Focused: focused}
				check := func(what string, g *terminal.Grid) {
					t.Helper()
					w, h := g.Size()
					for i := range w * h {
						c := g.Cell(i%w, i/w)
						if got := themes.Contrast(c.Style.FG, c.Style.BG); c.Text != " " && c.Text != "" && !math.IsNaN(got) && got < least {
							t.Fatalf("%s at depth %v, focused %v, %s: %q at %d,%d has %.1f:1, %v on %v", theme.Name, depth, focused, what, c.Text, i%w, i/w, got, c.Style.FG, c.Style.BG)
						}
					}
				}
				for i, role := range roles {
					l := List{Selected: role.String(), SortBy: -1}
					g := terminal.NewGrid(40, len(rows)+1)
					g.All().Clear(v.Palette.Style(themes.Panel))
					l.Draw(g.All(), v, columns, rows)
					check(role.String()+" selected", g)
					cell, reversed := g.Cell(0, i+1), v.SelectionStyle().Attr&themes.Reverse != 0
					if coloured := role == themes.Critical || role == themes.Warning || role == themes.Notice; coloured && !reversed && cell.Style.FG != v.Palette.Color(role) && cell.Style.BG != v.Palette.Color(role) {
						t.Errorf("%s at depth %v, focused %v: the selected row draws %s as %v on %v", theme.Name, depth, focused, role, cell.Style.FG, cell.Style.BG)
					}
				}
				d := NewChooser("Choices", "", []Choice{{Text: "enabled", Detail: "detail", Key: "z"}, {Text: "disabled", Why: "your role only reads", Key: "U"}}, nil)
				for _, at := range []string{"the first choice", "the disabled choice"} {
					g := terminal.NewGrid(60, 8)
					g.All().Clear(v.Palette.Style(themes.Panel))
					d.Draw(g.All(), v)
					check(at, g)
					d.Key(tea.KeyMsg{Type: tea.KeyDown}, v)
				}
			}
		}
	}
}

// A theme that reverses the selected row leaves its bars as they are: a reversed bar shows the
// opposite of its value.
func TestSelectedBarIsNotReversed(t *testing.T) {
	theme, ok := themes.Find(themes.Builtin(), themes.Mono)
	if !ok {
		t.Fatal("no theme")
	}
	v := view.Context{Palette: terminal.NewPalette(&theme, themes.TrueColor), Keys: keymap.Default(), Focused: true}
	rows := []Row{{ID: "a", Cells: []Cell{{Text: "name"}, {Text: "word", Draw: func(r terminal.Region) { r.Put(0, 0, "word", v.Style(themes.Text)) }}, {Draw: func(r terminal.Region) { DrawSize(r, v, 0.5) }}}}}
	g := terminal.NewGrid(30, 2)
	g.All().Clear(v.Palette.Style(themes.Panel))
	l := List{Selected: "a", SortBy: -1}
	l.Draw(g.All(), v, []Column{{Title: "what", Width: 6}, {Title: "mark", Width: 6}, {Title: "size", Min: 8}}, rows)
	for x, want := range map[int]bool{0: true, 7: true, 14: false, 29: false} {
		if got := g.Cell(x, 1).Style.Attr&themes.Reverse != 0; got != want {
			t.Errorf("cell %d: reversed is %v, want %v", x, got, want)
		}
	}
}
