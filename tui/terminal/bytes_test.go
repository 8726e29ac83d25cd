package terminal

import (
	"fmt"
	"io"
	"testing"

	"app.sunloop/themes"
)

// fourPanes draws a screen like the console's: a status line, four frames, text and a braille chart.
func fourPanes(g *Grid, p *Palette, value string, scroll int) {
	w, h := g.Size()
	r := g.All()
	r.Clear(p.Style(themes.Background).On(p.Style(themes.Panel)))
	r.Put(1, 0, "Site A · 12:00 (UTC+2) · embedded · data 5 s old", p.Style(themes.Dim))
	r.Put(1, 1, value, p.Style(themes.Text))
	for i := range 4 {
		box := r.Region(Rect{i % 2 * (w / 2), 2 + i/2*((h-3)/2), w / 2, (h - 3) / 2}).Box(LinesFor(false), p.Style(themes.Border))
		for y := range 5 {
			box.Put(1, 1+y, fmt.Sprintf("INV-%02d", y+1), p.Style(themes.Text))
			box.Put(9, 1+y, "3.41 kW  97 %", p.Style(themes.Dim))
		}
		if i == 0 {
			for x := range 40 {
				n := x + scroll
				box.PutRune(10+x, 7+n*n%5, 0x2800+rune(1+n*7%255), p.Style(themes.Actual))
			}
		}
	}
}

// wire counts bytes.
type wire struct{ n int }

func (w *wire) Write(p []byte) (int, error) { w.n += len(p); return len(p), nil }

// perChange returns the mean number of bytes of a change between frames.
func perChange(w, h int, profile Profile, change func(g *Grid, p *Palette, i int)) int {
	theme := themes.Builtin()[0]
	p := NewPalette(&theme, profile)
	line := &wire{}
	out := NewOutput(line, OutputOptions{})
	_, _ = out.WriteString(enterAlt)
	g := NewGrid(w, h)
	frame := func(i int) {
		change(g, p, i)
		out.Frame(g)
		_, _ = out.Write(nil)
	}
	frame(0)
	line.n = 0
	const n = 20
	for i := range n {
		frame(i + 1)
	}
	return line.n / n
}

func digit(g *Grid, p *Palette, i int) { fourPanes(g, p, fmt.Sprintf("3.4%d MW", i%10), 0) }

// A changed digit costs a cursor move, a colour and a character, not a line.
func TestBytesOfADigit(t *testing.T) {
	for name, tt := range map[string]struct {
		w, h    int
		profile Profile
		most    int
	}{
		"true colour 120x36": {120, 36, themes.TrueColor, 31}, "256 colours 120x36": {120, 36, themes.Colors256, 23},
		"true colour 200x60": {200, 60, themes.TrueColor, 31}, "no colour": {120, 36, themes.NoColor, 12},
	} {
		if got := perChange(tt.w, tt.h, tt.profile, digit); got > tt.most || got == 0 {
			t.Errorf("%s: %d bytes for a digit, at most %d wanted", name, got, tt.most)
		}
	}
}

// The first frame is bounded by its cells and its changes of colour.
func TestBytesOfTheFirstFrame(t *testing.T) {
	theme := themes.Builtin()[0]
	g := NewGrid(120, 36)
	fourPanes(g, NewPalette(&theme, themes.TrueColor), "3.41 MW", 0)
	line := &wire{}
	out := NewOutput(line, OutputOptions{})
	_, _ = out.WriteString(enterAlt)
	out.Frame(g)
	_, _ = out.Write(nil)
	if line.n > 15_000 {
		t.Errorf("%d bytes", line.n)
	}
}

func BenchmarkBytes(b *testing.B) {
	for _, size := range []struct{ w, h int }{{120, 36}, {200, 60}} {
		for name, profile := range map[string]Profile{"true": themes.TrueColor, "256": themes.Colors256} {
			for what, change := range map[string]func(*Grid, *Palette, int){
				"digit":  digit,
				"scroll": func(g *Grid, p *Palette, i int) { fourPanes(g, p, "3.41 MW", i) },
			} {
				b.Run(fmt.Sprintf("%s/%s/%dx%d", what, name, size.w, size.h), func(b *testing.B) {
					n := 0
					for b.Loop() {
						n = perChange(size.w, size.h, profile, change)
					}
					b.ReportMetric(float64(n), "B/change")
				})
			}
		}
	}
}

// BenchmarkFrame is drawing and diffing a 200×60 screen of which one digit changed.
func BenchmarkFrame(b *testing.B) {
	theme := themes.Builtin()[0]
	p := NewPalette(&theme, themes.TrueColor)
	out := NewOutput(io.Discard, OutputOptions{})
	_, _ = out.WriteString(enterAlt)
	g := NewGrid(200, 60)
	values := []string{"3.41 MW", "3.42 MW"}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i++
		fourPanes(g, p, values[i%2], 0)
		out.Frame(g)
		_, _ = out.Write(nil)
	}
}

// BenchmarkFullRepaint is diffing with nothing known.
func BenchmarkFullRepaint(b *testing.B) {
	theme := themes.Builtin()[0]
	out := NewOutput(io.Discard, OutputOptions{})
	_, _ = out.WriteString(enterAlt)
	g := NewGrid(200, 60)
	fourPanes(g, NewPalette(&theme, themes.TrueColor), "3.41 MW", 0)
	out.Frame(g)
	for b.Loop() {
		out.Repaint()
		_, _ = out.Write(nil)
	}
}
