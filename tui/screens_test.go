package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/layout"
	"app.sunloop/tui/terminal"
)

// Whole screens: each pane focused on small and middle screens, the four
// together on large ones, one of them zoomed.
func TestScreens(t *testing.T) {
	for _, size := range []layout.Size{{Columns: 80, Rows: 24}, {Columns: 120, Rows: 36}, {Columns: 160, Rows: 45}, {Columns: 200, Rows: 60}} {
		d := start(t, size.Columns, size.Rows, nil)
		d.press("n")
		var b strings.Builder
		keys := []string{"1", "2", "3", "4"}
		if size.Columns >= 160 {
			keys = []string{"1", "z"}
		}
		for _, k := range keys {
			d.press(k)
			fmt.Fprintf(&b, "%s\n", d.text())
		}
		picture.Golden(t, fmt.Sprintf("console-%dx%d", size.Columns, size.Rows), b.String())
	}
}

// A screen in ASCII holds nothing else, and one without colours has none.
func TestPlainScreens(t *testing.T) {
	for _, size := range []layout.Size{{Columns: 80, Rows: 24}, {Columns: 160, Rows: 45}} {
		d := start(t, size.Columns, size.Rows, func(o *Options, _ *plant.Service) {
			o.ASCII, o.Pen, o.Profile, o.User = true, chart.ASCII, themes.NoColor, nil
		})
		for _, keys := range [][]string{{"n"}, {"left"}, {"esc", "g"}, {"esc", "2"}, {"3"}, {"4"}, {":"}, {"esc", "?"}, {"esc", "S"}, {"esc", "T"}, {"esc", "U"}, {"esc", "g", "u"}, {"esc", "g", "m"}, {"right"}, {"esc", "g", "f"}, {"right"}, {"right"}, {"right"}, {"esc", "g", "p"}, {"right"}, {"right"}, {"right"}, {"right"}, {"esc", "g", "i"}, {"right"}, {"esc", "g", "l"}, {"esc", "g", "k"}, {"c"}, {"esc", "esc", "g", "a"}} {
			d.press(keys...)
			for y, line := range strings.Split(d.text(), "\n") {
				for _, r := range line {
					if r > 0x7e {
						t.Errorf("%v at %d×%d, line %d: %q is not ASCII: %s", keys, size.Columns, size.Rows, y, r, line)
						break
					}
				}
			}
			w, h := d.m.frame.grid.Size()
			for i := range w * h {
				if s := d.m.frame.grid.Cell(i%w, i/w).Style; s.FG > themes.Default || s.BG > themes.Default {
					t.Fatalf("%v: cell %d,%d has a colour", keys, i%w, i/w)
				}
			}
		}
	}
}

// Every size draws whole lines, with any dialog open, and none loses the place.
func TestResizeKeepsThePlace(t *testing.T) {
	for _, open := range [][]string{nil, {"z"}, {":"}, {"?"}, {"g", "u"}, {"U"}, {"T"}, {"/"}, {"2"}, {"3", "z"}} {
		d := start(t, 160, 45, nil)
		d.press("n")
		d.press(open...)
		before, picture160 := d.place(), d.text()
		for _, size := range []layout.Size{{Columns: 80, Rows: 24}, {Columns: 20, Rows: 5}, {Columns: 1, Rows: 1}, {Columns: 60, Rows: 20}, {Columns: 119, Rows: 29}, {Columns: 140, Rows: 36}, {Columns: 300, Rows: 80}, {Columns: 160, Rows: 45}} {
			d.send(tea.WindowSizeMsg{Width: size.Columns, Height: size.Rows})
			text := d.text()
			lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
			if len(lines) != size.Rows {
				t.Fatalf("%v at %d×%d: %d lines", open, size.Columns, size.Rows, len(lines))
			}
			for y, line := range lines {
				if terminal.Width(line) > size.Columns {
					t.Fatalf("%v at %d×%d: line %d has %d cells", open, size.Columns, size.Rows, y, terminal.Width(line))
				}
			}
		}
		if after := d.place(); after != before {
			t.Errorf("%v: from %q to %q", open, before, after)
		}
		if after := d.text(); after != picture160 {
			t.Errorf("%v: the screen is another one after the way back:\n%s", open, after)
		}
	}
}
