package terminal

import (
	"testing"

	"app.sunloop/themes"
)

// The exact bytes of small changes: what is sent, and what is omitted.
func TestPaintBytes(t *testing.T) {
	grey, red := Style{FG: themes.Indexed(250), BG: themes.Indexed(234)}, Style{FG: themes.RGB(255, 135, 135), BG: themes.Indexed(234)}
	base := func(r Region) {
		r.Clear(grey)
		r.Put(0, 0, "abc def ghi", grey)
	}
	tests := []struct {
		name   string
		change func(Region)
		want   string
	}{
		{"nothing", func(Region) {}, ""},
		{"one character", func(r Region) { r.Put(2, 0, "X", grey) }, "\x1b[1;3HX"},
		{"two close by: the gap is sent again", func(r Region) { r.Put(0, 0, "X", grey); r.Put(3, 0, "Y", grey) }, "\x1b[1;1HXbcY"},
		{"two far apart: a move in the row", func(r Region) { r.Put(0, 0, "X", grey); r.Put(9, 0, "Y", grey) }, "\x1b[1;1HX\x1b[10GY"},
		{"another row", func(r Region) { r.Put(0, 0, "X", grey); r.Put(0, 1, "Y", grey) }, "\x1b[1;1HX\x1b[2;1HY"},
		{"one colour changes alone", func(r Region) { r.Put(0, 0, "X", red) }, "\x1b[1;1H\x1b[38;2;255;135;135mX"},
		{"bold, then not", func(r Region) { r.Put(0, 0, "X", grey.With(themes.Bold)); r.Put(1, 0, "Y", grey) }, "\x1b[1;1H\x1b[1mX\x1b[22mY"},
		{"a blank's foreground does not show", func(r Region) { r.Put(3, 0, " ", red) }, ""},
		{"a blank takes no foreground", func(r Region) { r.Put(0, 0, " ", red) }, "\x1b[1;1H "},
		{"to the terminal's own colours", func(r Region) { r.Put(0, 0, "X", Style{FG: themes.Default, BG: themes.Default}) }, "\x1b[1;1H\x1b[mX"},
		{"system colours are short", func(r Region) { r.Put(0, 0, "X", Style{FG: themes.Indexed(9), BG: themes.Indexed(4)}) }, "\x1b[1;1H\x1b[91;44mX"},
		{"wide characters count two", func(r Region) { r.Put(0, 0, "世界x", grey) }, "\x1b[1;1H世界x"},
		{"after an emoji the place is uncertain", func(r Region) { r.Put(0, 0, "X🙂Y", grey) }, "\x1b[1;1HX\x1b[2G🙂\x1b[1;4HY"},
		{"after the last column too", func(r Region) { r.Put(11, 0, "X", grey); r.Put(0, 1, "Y", grey) }, "\x1b[1;12HX\x1b[2;1HY"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := &recorder{}
			out := NewOutput(rec, OutputOptions{})
			mustString(t, out, enterAlt)
			g := NewGrid(12, 2)
			base(g.All())
			out.Frame(g)
			mustWrite(t, out, "1")
			rec.Reset()
			tt.change(g.All())
			out.Frame(g)
			mustWrite(t, out, "2")
			if got := rec.String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
