package terminal

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/themes"
)

// text returns a grid as lines.
func text(g *Grid) string {
	w, h := g.Size()
	var b strings.Builder
	for y := range h {
		for x := range w {
			b.WriteString(g.Cell(x, y).Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestDrawing(t *testing.T) {
	tests := []struct {
		name string
		w, h int
		draw func(Region)
		want string
	}{
		{"box", 4, 3, func(r Region) { r.Box(LinesFor(false), Inherit).Put(0, 0, "ab", Inherit) }, "┌──┐\n│ab│\n└──┘\n"},
		{"ascii box", 4, 3, func(r Region) { r.Box(LinesFor(true), Inherit) }, "+--+\n|  |\n+--+\n"},
		{"text is clipped on both sides", 3, 1, func(r Region) { r.Put(-2, 0, "abcdefgh", Inherit) }, "cde\n"},
		{"a wide rune at the right edge", 3, 1, func(r Region) { r.Put(0, 0, "ab世", Inherit) }, "ab \n"},
		{"a wide rune at the left edge", 3, 1, func(r Region) { r.Put(-1, 0, "世ab", Inherit) }, " ab\n"},
		{"the left half overwritten", 3, 1, func(r Region) { r.Put(0, 0, "世x", Inherit); r.Put(0, 0, "a", Inherit) }, "a x\n"},
		{"the right half overwritten", 3, 1, func(r Region) { r.Put(0, 0, "世x", Inherit); r.Put(1, 0, "a", Inherit) }, " ax\n"},
		{"wide over two halves", 5, 1, func(r Region) { r.Put(0, 0, "世界x", Inherit); r.Put(1, 0, "平", Inherit) }, " 平 x\n"},
		{"controls are not drawn", 6, 1, func(r Region) { r.Put(0, 0, "a\x1b[2Jb\n", Inherit) }, "a[2Jb \n"},
		{"right aligned", 6, 1, func(r Region) { r.PutRight(6, 0, "12.3", Inherit) }, "  12.3\n"},
		{"within a width", 6, 1, func(r Region) { r.PutIn(0, 0, 4, "abcdefg", Inherit, false) }, "abc…  \n"},
		{"a region in a region clips", 4, 2, func(r Region) { r.Region(Rect{1, 1, 9, 9}).Region(Rect{1, 0, 9, 1}).Put(0, 0, "xyz", Inherit) }, "    \n  xy\n"},
		{"an empty region", 2, 1, func(r Region) { r.Region(Rect{1, 0, 0, 1}).Put(-1, 0, "世", Inherit) }, "  \n"},
	}
	for _, tt := range tests {
		g := NewGrid(tt.w, tt.h)
		tt.draw(g.All())
		if diff := cmp.Diff(tt.want, text(g)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestStyles(t *testing.T) {
	red, panel, chosen := themes.Indexed(9), themes.Indexed(234), themes.Indexed(236)
	g := NewGrid(4, 1)
	r := g.All()
	r.Clear(Style{FG: themes.Indexed(250), BG: panel})
	r.Put(0, 0, "ab", Style{FG: red, Attr: themes.Bold})
	r.Put(1, 0, "b", Inherit)
	r.Shade(Rect{0, 0, 4, 1}, Style{BG: chosen, Attr: themes.Underline})
	want := []Style{
		{red, chosen, themes.Bold | themes.Underline},
		{red, chosen, themes.Underline}, // the text's own attributes, not those under it
		{themes.Indexed(250), chosen, themes.Underline},
	}
	for x, w := range want {
		if got := g.Cell(x, 0).Style; got != w {
			t.Errorf("cell %d: %+v, want %+v", x, got, w)
		}
	}
	if got, want := (Style{FG: red, BG: panel}).Inverse(), (Style{FG: panel, BG: red}); got != want {
		t.Errorf("inverse %+v, want %+v", got, want)
	}
	if got, want := (Style{FG: red}).Inverse(), (Style{FG: red, Attr: themes.Reverse}); got != want {
		t.Errorf("inverse on the terminal's ground %+v, want %+v", got, want)
	}
}

func TestPalette(t *testing.T) {
	theme := themes.Builtin()[0]
	full := NewPalette(&theme, themes.TrueColor)
	if !full.Color(themes.Critical).IsRGB() || full.Style(themes.Panel).FG != themes.Unset || full.Colorless() {
		t.Errorf("full colour: %+v %+v", full.Style(themes.Critical), full.Style(themes.Panel))
	}
	for r := range themes.Roles {
		if n, ok := NewPalette(&theme, themes.Colors256).Color(r).Index(); !ok || n < 16 {
			t.Errorf("%s is not of the 256: %v", r, n)
		}
		if n, ok := NewPalette(&theme, themes.Colors16).Color(r).Index(); !ok || n > 15 {
			t.Errorf("%s is not of the 16: %v", r, n)
		}
		if c := NewPalette(&theme, themes.NoColor).Color(r); c != themes.Default {
			t.Errorf("%s has colour %s without colours", r, c)
		}
	}
	none := NewPalette(&theme, themes.NoColor)
	if none.Style(themes.Selection).Attr != themes.Reverse || none.Style(themes.Critical).Attr == 0 || !none.Colorless() {
		t.Error("without colour the selection and the alarms must be distinguished by attributes")
	}
}

func TestDetectProfile(t *testing.T) {
	tests := []struct {
		name string
		env  map[string]string
		tty  bool
		want Profile
	}{
		{"plain xterm", map[string]string{"TERM": "xterm"}, true, themes.Colors16},
		{"xterm-256color, as over SSH", map[string]string{"TERM": "xterm-256color"}, true, themes.Colors256},
		{"COLORTERM", map[string]string{"TERM": "xterm-256color", "COLORTERM": "truecolor"}, true, themes.TrueColor},
		{"COLORTERM in screen", map[string]string{"TERM": "screen-256color", "COLORTERM": "truecolor"}, true, themes.Colors256},
		{"COLORTERM in tmux", map[string]string{"TERM": "screen-256color", "COLORTERM": "truecolor", "TMUX": "x"}, true, themes.TrueColor},
		{"alacritty without COLORTERM", map[string]string{"TERM": "alacritty"}, true, themes.TrueColor},
		{"direct", map[string]string{"TERM": "xterm-direct"}, true, themes.TrueColor},
		{"Linux console", map[string]string{"TERM": "linux"}, true, themes.Colors16},
		{"dumb", map[string]string{"TERM": "dumb"}, true, themes.NoColor},
		{"vt100", map[string]string{"TERM": "vt100"}, true, themes.NoColor},
		{"NO_COLOR wins", map[string]string{"TERM": "xterm", "COLORTERM": "truecolor", "NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, true, themes.NoColor},
		{"empty NO_COLOR does not count", map[string]string{"TERM": "xterm", "NO_COLOR": ""}, true, themes.Colors16},
		{"CLICOLOR=0", map[string]string{"TERM": "xterm", "CLICOLOR": "0"}, true, themes.NoColor},
		{"a pipe", map[string]string{"TERM": "xterm-256color"}, false, themes.NoColor},
		{"a pipe, forced", map[string]string{"TERM": "xterm-256color", "CLICOLOR_FORCE": "1"}, false, themes.Colors256},
		{"dumb, forced", map[string]string{"TERM": "dumb", "CLICOLOR_FORCE": "1"}, false, themes.Colors16},
		{"no TERM", nil, true, themes.NoColor},
	}
	for _, tt := range tests {
		if got := DetectProfile(func(k string) string { return tt.env[k] }, tt.tty); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	for word, want := range map[string]Profile{"none": themes.NoColor, "16": themes.Colors16, "256": themes.Colors256, "true": themes.TrueColor} {
		if got, ok, err := ParseProfile(word); err != nil || !ok || got != want {
			t.Errorf("%s: %v, %v, %v", word, got, ok, err)
		}
	}
	if _, ok, err := ParseProfile("auto"); ok || err != nil {
		t.Error("auto is not a separate profile")
	}
	if _, _, err := ParseProfile("many"); err == nil {
		t.Error("many is accepted")
	}
	if !Remote(func(k string) string { return map[string]string{"SSH_TTY": "/dev/pts/3"}[k] }) || Remote(func(string) string { return "" }) {
		t.Error("SSH is not recognised")
	}
}

func TestRects(t *testing.T) {
	r := Rect{2, 3, 10, 6}
	tests := []struct {
		name      string
		got, want Rect
	}{
		{"top", r.Top(2), Rect{2, 3, 10, 2}},
		{"bottom", r.Bottom(2), Rect{2, 7, 10, 2}},
		{"left", r.Left(3), Rect{2, 3, 3, 6}},
		{"right", r.Right(3), Rect{9, 3, 3, 6}},
		{"inset", r.Inset(1), Rect{3, 4, 8, 4}},
		{"inset away", r.Inset(9), Rect{11, 12, 0, 0}},
		{"more than there is", r.Top(99), r},
		{"intersection", r.Intersect(Rect{0, 0, 4, 4}), Rect{2, 3, 2, 1}},
		{"nothing shared", r.Intersect(Rect{50, 50, 4, 4}), Rect{50, 50, 0, 0}},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, tt.got, tt.want)
		}
	}
}
