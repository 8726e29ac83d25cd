// Package picture compares drawn grids with golden files, for tests of the
// console.
package picture

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
)

var update = flag.Bool("update", false, "write the golden files")

// Text returns a grid's text, a line a row, without the space at the ends of lines.
func Text(g *terminal.Grid) string {
	var b strings.Builder
	w, h := g.Size()
	for y := range h {
		var row strings.Builder
		for x := range w {
			row.WriteString(g.Cell(x, y).Text)
		}
		b.WriteString(strings.TrimRight(row.String(), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// Golden compares text with testdata/name.txt, or writes it with -update.
func Golden(t testing.TB, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s changed (-want +got):\n%s", file, diff)
	}
}

// looks are the variants in which [Looks] draws: dark in true colour, light in
// 256 colours, and without any.
var looks = []struct {
	name, theme string
	profile     terminal.Profile
}{
	{"dark, true colour", themes.ControlRoom, themes.TrueColor}, {"light, 256 colours", themes.Daylight, themes.Colors256}, {"no colour", themes.ControlRoom, themes.NoColor},
}

// Looks compares one picture in three variants with a golden file: its text if
// it differs from the variant before, and the style of each cell.
func Looks(t testing.TB, name string, draw func(*terminal.Palette) *terminal.Grid) {
	t.Helper()
	var b strings.Builder
	before := ""
	for _, l := range looks {
		theme, ok := themes.Find(themes.Builtin(), l.theme)
		if !ok {
			t.Fatalf("no theme %s", l.theme)
		}
		p := terminal.NewPalette(&theme, l.profile)
		g := draw(p)
		b.WriteString("== " + l.name + "\n")
		if text := Text(g); text != before {
			b.WriteString(text + "\n")
			before = text
		}
		b.WriteString(Attributes(g, p.Style(themes.Panel)) + "\n")
	}
	Golden(t, name, b.String())
}

// Attributes returns the styles of a grid's cells, a line a row: how many cells
// in a row have the style of a letter, and the meaning of the letters. A dot is
// the plain background; rows of only that are empty, and blanks have the style
// of their background.
func Attributes(g *terminal.Grid, plain terminal.Style) string {
	var rows, meaning strings.Builder
	names := map[terminal.Style]string{plain: "."}
	w, h := g.Size()
	for y := range h {
		last, n := "", 0
		var row strings.Builder
		flush := func() {
			if n > 0 {
				fmt.Fprintf(&row, "%d%s ", n, last)
			}
		}
		for x := range w {
			c := g.Cell(x, y)
			s := c.Style
			if c.Text == " " && s.Attr&(themes.Reverse|themes.Underline) == 0 {
				s = terminal.Style{FG: plain.FG, BG: s.BG, Attr: plain.Attr}
			}
			name, known := names[s]
			if !known {
				name = letter(len(names) - 1)
				names[s] = name
				fmt.Fprintf(&meaning, "%s %s\n", name, strings.TrimSpace(fmt.Sprintf("%s on %s", themes.Token{Color: s.FG, Attr: s.Attr}, s.BG)))
			}
			if name != last {
				flush()
				last, n = name, 0
			}
			n++
		}
		flush()
		line := strings.TrimSuffix(row.String(), " ")
		if line == fmt.Sprintf("%d.", w) {
			line = ""
		}
		rows.WriteString(line + "\n")
	}
	return rows.String() + meaning.String()
}

// letter names the n-th style: a to z, then aa and so on.
func letter(n int) string {
	name := string(rune('a' + n%26))
	if n >= 26 {
		return letter(n/26-1) + name
	}
	return name
}
