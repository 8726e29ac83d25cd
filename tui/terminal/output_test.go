package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"strings"
	"testing"

	"github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/vt"
	"pgregory.net/rapid"

	"app.sunloop/themes"
)

// clusters are the elements of random frames: narrow, wide, combining, joined,
// and those that join their neighbours.
var clusters = []string{
	"a", "Z", " ", "7", "é", "ß", "─", "│", "⣿", "▀", "▲", "●", "…", "世", "界", "가", "あ",
	"🙂", "👩‍🔧", "🇩🇪", "🇩", "☀️", "☀", "e\u0301", "x\u0323\u0302", "क्षि", "ᄀ", "ᅡ", "ﷺ", "½", "\u0903", "\u200d", "\u0301", "\x1b", "\a", "\u202e",
	"™", "©", "0️⃣", "ｱ", "㊗", "\u00ad", "ำ",
}

var testColors = []themes.Color{
	themes.Unset, themes.Default, themes.Indexed(1), themes.Indexed(12), themes.Indexed(238), themes.RGB(1, 2, 3), themes.RGB(200, 100, 0),
}

func drawStyle(t *rapid.T) Style {
	return Style{
		FG:   rapid.SampledFrom(testColors).Draw(t, "fg"),
		BG:   rapid.SampledFrom(testColors).Draw(t, "bg"),
		Attr: themes.Attr(rapid.IntRange(0, 15).Draw(t, "attr")),
	}
}

// scribble draws random things into a grid, through regions that clip.
func scribble(t *rapid.T, g *Grid) {
	w, h := g.Size()
	for range rapid.IntRange(0, 6).Draw(t, "strokes") {
		r := g.Region(Rect{
			rapid.IntRange(-2, w).Draw(t, "rx"), rapid.IntRange(-2, h).Draw(t, "ry"),
			rapid.IntRange(0, w).Draw(t, "rw"), rapid.IntRange(0, h).Draw(t, "rh"),
		})
		x, y := rapid.IntRange(-3, w).Draw(t, "x"), rapid.IntRange(-1, h).Draw(t, "y")
		s := drawStyle(t)
		switch rapid.IntRange(0, 4).Draw(t, "what") {
		case 0, 1, 2:
			parts := rapid.SliceOfN(rapid.SampledFrom(clusters), 0, 12).Draw(t, "text")
			r.Put(x, y, strings.Join(parts, ""), s)
		case 3:
			r.Fill(Rect{x, y, 5, 2}, ' ', s)
		case 4:
			r.Shade(Rect{x, y, 6, 3}, s)
		}
	}
}

// The grid stays well formed whatever is drawn: a wide cell has its second half behind it, a second half has its first
// before it, and no cell holds a control character.
func checkGrid(t *rapid.T, g *Grid) {
	w, h := g.Size()
	for y := range h {
		for x := range w {
			c := g.Cell(x, y)
			switch c.Width {
			case 0:
				if x == 0 || g.Cell(x-1, y).Width != 2 || c.Text != "" {
					t.Fatalf("cell %d,%d is half of nothing: %+v", x, y, c)
				}
			case 1, 2:
				if c.Width == 2 && (x == w-1 || g.Cell(x+1, y).Width != 0) {
					t.Fatalf("wide cell %d,%d has no second half", x, y)
				}
				if got := Width(c.Text); got != int(c.Width) {
					t.Fatalf("cell %d,%d %q says width %d, measures %d", x, y, c.Text, c.Width, got)
				}
			default:
				t.Fatalf("cell %d,%d has width %d", x, y, c.Width)
			}
			for _, r := range c.Text {
				if hidden(r) {
					t.Fatalf("cell %d,%d holds %U", x, y, r)
				}
			}
		}
	}
}

// look describes a cell of the grid and of the emulator in the same form.
func look(c Cell) string {
	s := c.Style
	text := c.Text
	if invisible(&c) {
		s.FG, s.Attr = themes.Default, 0
	}
	return fmt.Sprintf("%q %s on %s %d", text, rgb(tcolor(s.FG)), rgb(tcolor(s.BG)), s.Attr)
}

func screenLook(c *uv.Cell) string {
	if c == nil {
		return "nothing"
	}
	var attr themes.Attr
	for _, a := range []struct {
		vt   uint8
		ours themes.Attr
	}{{uv.AttrBold, themes.Bold}, {uv.AttrFaint, themes.Dimmed}, {uv.AttrReverse, themes.Reverse}} {
		if c.Style.Attrs&a.vt != 0 {
			attr |= a.ours
		}
	}
	if c.Style.Underline != uv.UnderlineNone {
		attr |= themes.Underline
	}
	fg := c.Style.Fg
	if c.Content == " " && attr&(themes.Reverse|themes.Underline) == 0 {
		fg, attr = nil, 0
	}
	return fmt.Sprintf("%q %s on %s %d", c.Content, rgb(fg), rgb(c.Style.Bg), attr)
}

func tcolor(c themes.Color) color.Color {
	r, g, b, ok := c.Values()
	if !ok {
		return nil
	}
	if n, indexed := c.Index(); indexed {
		return indexedLook(n)
	}
	return color.RGBA{r, g, b, 255}
}

// indexedLook returns a colour of the emulator's palette.
func indexedLook(n uint8) color.Color { return vt.NewEmulator(1, 1).IndexedColor(int(n)) }

func rgb(c color.Color) string {
	if c == nil {
		return "default"
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}

// compare fails if the emulator's screen is not the grid.
func compare(t interface {
	Fatalf(string, ...any)
}, screen *vt.Emulator, g *Grid, sent []byte) {
	w, h := g.Size()
	for y := range h {
		for x := range w {
			c := g.Cell(x, y)
			if c.Width == 0 {
				continue
			}
			if want, got := look(c), screenLook(screen.CellAt(x, y)); want != got {
				t.Fatalf("cell %d,%d: the screen has %s, the grid %s\nframe: %q", x, y, got, want, sent)
			}
		}
	}
}

// What the terminal shows after any sequence of frames is the last frame, wide characters, emoji and combining marks
// included; resizes and lost screens in between.
func TestReplayEqualsFrame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(1, 24).Draw(t, "w"), rapid.IntRange(1, 6).Draw(t, "h")
		screen := vt.NewEmulator(w, h)
		var wire bytes.Buffer
		out := NewOutput(&wire, OutputOptions{Sync: rapid.Bool().Draw(t, "sync")})
		if _, err := out.WriteString(enterAlt); err != nil {
			t.Fatal(err)
		}
		g := NewGrid(w, h)
		for range rapid.IntRange(1, 5).Draw(t, "frames") {
			switch rapid.IntRange(0, 9).Draw(t, "event") {
			case 0:
				w, h = rapid.IntRange(1, 24).Draw(t, "w"), rapid.IntRange(1, 6).Draw(t, "h")
				screen.Resize(w, h)
				g.Reset(w, h)
			case 1:
				g.Reset(w, h)
			case 2:
				if _, err := out.WriteString(clearAll); err != nil {
					t.Fatal(err)
				}
			}
			scribble(t, g)
			checkGrid(t, g)
			out.Frame(g)
			if _, err := out.Write([]byte("bubble tea's own frame")); err != nil {
				t.Fatal(err)
			}
			sent := append([]byte(nil), wire.Bytes()...)
			wire.Reset()
			if _, err := screen.Write(sent); err != nil {
				t.Fatal(err)
			}
			compare(t, screen, g, sent)
		}
	})
}

func TestTokenChangesWithTheGrid(t *testing.T) {
	out := NewOutput(&bytes.Buffer{}, OutputOptions{})
	g := NewGrid(10, 2)
	first := out.Frame(g)
	if again := out.Frame(g); again != first {
		t.Errorf("the same grid gave %q, then %q", first, again)
	}
	g.All().Put(0, 0, "x", Inherit)
	if second := out.Frame(g); second == first {
		t.Error("a changed grid gave the same token")
	}
}

// recorder counts Write calls.
type recorder struct {
	bytes.Buffer
	calls int
	fail  error
}

func (r *recorder) Write(p []byte) (int, error) {
	r.calls++
	if r.fail != nil {
		return 0, r.fail
	}
	return r.Buffer.Write(p)
}

func mustString(t testing.TB, out *Output, s string) {
	t.Helper()
	if _, err := out.WriteString(s); err != nil {
		t.Fatal(err)
	}
}

func mustWrite(t testing.TB, out *Output, s string) {
	t.Helper()
	if _, err := out.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
}

func TestControlSequencesPassFramesDoNot(t *testing.T) {
	rec := &recorder{}
	out := NewOutput(rec, OutputOptions{})
	mustWrite(t, out, "a frame before the alternate screen")
	for _, s := range []string{enterAlt, "\x1b[?25l", "\x1b[?1002h", "\x1b[?1006h", "\x1b[?2004h", "\x1b]2;title\a"} {
		mustString(t, out, s)
	}
	mustWrite(t, out, "a frame before any grid")
	if got, want := rec.String(), enterAlt+"\x1b[?25l\x1b[?1002h\x1b[?1006h\x1b[?2004h\x1b]2;title\a"; got != want {
		t.Errorf("passed %q, want %q", got, want)
	}
	rec.Reset()
	mustString(t, out, leaveAlt)
	if got, want := rec.String(), "\x1b[m"+leaveAlt; got != want {
		t.Errorf("leaving: %q, want %q: the shell must not inherit colours", got, want)
	}
}

func TestOneWritePerFrameAndNoneWithoutChange(t *testing.T) {
	rec := &recorder{}
	out := NewOutput(rec, OutputOptions{Sync: true})
	mustString(t, out, enterAlt)
	g := NewGrid(80, 24)
	g.All().Clear(Style{BG: themes.RGB(28, 28, 28)})
	rec.calls = 0
	out.Frame(g)
	mustWrite(t, out, "1")
	if rec.calls != 1 {
		t.Errorf("a frame took %d writes", rec.calls)
	}
	if s := rec.String(); !strings.Contains(s, beginSync) || !strings.HasSuffix(s, endSync) {
		t.Error("a whole frame is not marked as synchronized")
	}
	out.Frame(g)
	mustWrite(t, out, "1")
	if rec.calls != 1 {
		t.Error("the same frame was written again")
	}
	rec.Reset()
	g.All().Put(3, 3, "7", Inherit)
	out.Frame(g)
	mustWrite(t, out, "2")
	if s := rec.String(); strings.Contains(s, beginSync) {
		t.Errorf("a small frame is marked: %q", s)
	}
	rec.Reset()
	mustWrite(t, out, "\x1b[H\rwhat Bubble Tea writes after a repaint request")
	if rec.Len() < 80*24 {
		t.Errorf("a repaint wrote %d bytes", rec.Len())
	}
}

// The answer to a key does not wait for Bubble Tea's tick, but a tick has one
// such frame at most, and nothing is written twice.
func TestEarlyFrames(t *testing.T) {
	rec := &recorder{}
	out := NewOutput(rec, OutputOptions{})
	g := NewGrid(20, 2)
	early := func(text string) string {
		rec.Reset()
		g.All().Put(0, 0, text, Inherit)
		out.Frame(g)
		if err := out.FlushNow(); err != nil {
			t.Fatal(err)
		}
		return rec.String()
	}
	if got := early("z"); got != "" {
		t.Errorf("before the alternate screen: %q", got)
	}
	mustString(t, out, enterAlt)
	mustWrite(t, out, "tick")
	if got := early("a"); !strings.Contains(got, "a") {
		t.Errorf("the first key of a tick is answered by %q", got)
	}
	if got := early("b"); got != "" {
		t.Errorf("the second key of a tick is answered by %q", got)
	}
	mustWrite(t, out, "tick")
	if got := rec.String(); !strings.Contains(got, "b") || strings.Contains(got, "a") {
		t.Errorf("the tick brings %q", got)
	}
	if got := early("c"); !strings.Contains(got, "c") {
		t.Errorf("the first key of the next tick is answered by %q", got)
	}
	rec.Reset()
	mustWrite(t, out, "tick")
	if got := rec.String(); got != "" {
		t.Errorf("a frame that is there is written again: %q", got)
	}
}

func TestFailedWriteRepaintsLater(t *testing.T) {
	rec := &recorder{}
	out := NewOutput(rec, OutputOptions{})
	mustString(t, out, enterAlt)
	g := NewGrid(20, 2)
	rec.fail = errors.New("line is gone")
	out.Frame(g)
	if _, err := out.Write(nil); !errors.Is(err, rec.fail) {
		t.Fatalf("got %v", err)
	}
	rec.fail = nil
	mustWrite(t, out, "again")
	if rec.Len() < 40 {
		t.Errorf("after a failed write only %d bytes came: %q", rec.Len(), rec.String())
	}
}

func TestNotifyAndCopy(t *testing.T) {
	tests := []struct {
		name string
		tmux bool
		do   func(*Output) error
		want string
	}{
		{"bell", false, func(o *Output) error { return o.Notify("", true, false) }, "\a"},
		{"desktop", false, func(o *Output) error { return o.Notify("INV-07\x1b[2J down", true, true) }, "\x1b]9;Sunloop: INV-07[2J down\a\a"},
		{"copy", false, func(o *Output) error { return o.Copy("kWh") }, "\x1b]52;c;a1do\a"},
		{"copy in tmux", true, func(o *Output) error { return o.Copy("kWh") }, "\x1bPtmux;\x1b\x1b]52;c;a1do\a\x1b\\"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := &recorder{}
			if err := tt.do(NewOutput(rec, OutputOptions{Tmux: tt.tmux})); err != nil {
				t.Fatal(err)
			}
			if got := rec.String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	rec := &recorder{}
	if err := NewOutput(rec, OutputOptions{}).Copy(strings.Repeat("x", CopyLimit)); !errors.Is(err, ErrCopyTooLong) || rec.Len() > 0 {
		t.Errorf("a long text: %v, %d bytes", err, rec.Len())
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	rec := &recorder{}
	out := NewOutput(rec, OutputOptions{})
	mustString(t, out, enterAlt)
	g := NewGrid(120, 36)
	n := 0
	frame := func() {
		g.Reset(120, 36)
		r := g.Region(Rect{0, 0, 60, 18}).Box(LinesFor(false), Style{FG: themes.Indexed(240)})
		r.Put(1, 1, []string{"3.41 MW", "3.42 MW"}[n%2], Style{FG: themes.RGB(200, 200, 200)})
		r.PutRune(5, 5, 0x2800+rune(n%256), Style{})
		n++
		out.Frame(g)
		_, _ = out.Write(nil)
		rec.Reset()
	}
	for range 3 {
		frame()
	}
	if got := testing.AllocsPerRun(50, frame); got > 1 { // the token
		t.Errorf("%v allocations a frame", got)
	}
}
