package terminal

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"app.sunloop/themes"
)

// asked returns what a terminal that says so much is sent by a query, and what the query returns.
func asked(t *testing.T, said string, images bool, window ...PixelSize) (sent string, got Answers) {
	t.Helper()
	var wire bytes.Buffer
	out, in, src := NewOutput(&wire, OutputOptions{}), NewInput(strings.NewReader(""), InputOptions{}), &script{}
	in.src = src
	for _, cell := range window {
		in.cell = func() PixelSize { return cell }
	}
	done := make(chan Answers)
	go func() {
		a, err := Query(t.Context(), in, out, images)
		if err != nil {
			t.Error(err)
		}
		done <- a
	}()
	for waiting := false; !waiting; runtime.Gosched() {
		in.answers.mu.Lock()
		waiting = in.answers.complete != nil
		in.answers.mu.Unlock()
	}
	src.chunks = []string{"j", said, "k"}
	if keys := drain(in, 256); keys != "jk" {
		t.Errorf("keys next to the responses: %q", keys)
	}
	got = <-done
	return wire.String(), got
}

// A protocol of images is the one that the terminal reports, and is asked for only if wanted.
func TestGraphicsQuery(t *testing.T) {
	for name, tt := range map[string]struct {
		said string
		want Graphics
		cell PixelSize
	}{
		"kitty":                  {"\x1b_Gi=31;OK\x1b\\\x1b[6;20;10t\x1b[?62;c", Kitty, PixelSize{10, 20}},
		"kitty without a size":   {"\x1b_Gi=31;OK\x1b\\\x1b[?62;c", Kitty, usualCell},
		"kitty and sixel":        {"\x1b_Gi=31;OK\x1b\\\x1b[6;20;10t\x1b[?62;4;22c", Kitty, PixelSize{10, 20}},
		"kitty refuses":          {"\x1b_Gi=31;ENOTSUPPORTED:no\x1b\\\x1b[6;20;10t\x1b[?62;c", NoGraphics, PixelSize{10, 20}},
		"sixel":                  {"\x1b[6;18;9t\x1b[?62;4;22c", Sixel, PixelSize{9, 18}},
		"sixel without a size":   {"\x1b[?62;4;22c", NoGraphics, PixelSize{}},
		"sixel, senseless size":  {"\x1b[6;9999;1t\x1b[?62;4c", NoGraphics, PixelSize{}},
		"neither":                {"\x1b[6;18;9t\x1b[?62;22c", NoGraphics, PixelSize{9, 18}},
		"4 is the first, a type": {"\x1b[6;18;9t\x1b[?4c", NoGraphics, PixelSize{9, 18}},
	} {
		sent, got := asked(t, tt.said, true)
		if got.Graphics != tt.want || got.Cell != tt.cell {
			t.Errorf("%s: %v with cells of %v, want %v with %v", name, got.Graphics, got.Cell, tt.want, tt.cell)
		}
		if sent != query+imageQuery+lastQuery {
			t.Errorf("%s: asked %q", name, sent)
		}
	}
	// The size of the window is taken where none is reported.
	for _, tt := range []struct {
		said   string
		window PixelSize
		want   Graphics
		cell   PixelSize
	}{
		{"\x1b[?62;4c", PixelSize{7, 14}, Sixel, PixelSize{7, 14}}, {"\x1b[6;18;9t\x1b[?62;4c", PixelSize{7, 14}, Sixel, PixelSize{9, 18}},
		{"\x1b[?62;4c", PixelSize{0, 0}, NoGraphics, PixelSize{}}, {"\x1b[?62;4c", PixelSize{1, 2}, NoGraphics, PixelSize{}},
	} {
		if _, got := asked(t, tt.said, true, tt.window); got.Graphics != tt.want || got.Cell != tt.cell {
			t.Errorf("%q in a window with cells of %v: %v with cells of %v, want %v with %v", tt.said, tt.window, got.Graphics, got.Cell, tt.want, tt.cell)
		}
	}
	if sent, got := asked(t, "\x1b[?62;4c", false); sent != query+lastQuery || got.Graphics != NoGraphics {
		t.Errorf("unasked: sent %q, got %v", sent, got)
	}
}

// screenWithImage is an output in the alternate screen with a clock that the test sets.
type screenWithImage struct {
	t    *testing.T
	wire bytes.Buffer
	out  *Output
	now  time.Time
	grid Grid
}

func newScreenWithImage(t *testing.T, g Graphics) *screenWithImage {
	s := &screenWithImage{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	s.out = NewOutput(&s.wire, OutputOptions{Now: func() time.Time { return s.now }})
	s.out.SetGraphics(g)
	if _, err := s.out.WriteString(enterAlt); err != nil {
		t.Fatal(err)
	}
	return s
}

// draw draws an image, nil for none, with a word over it, and returns what is sent.
func (s *screenWithImage) draw(pixels *image.Paletted, word string, user bool) string {
	s.t.Helper()
	s.grid.Reset(40, 10)
	s.grid.All().Clear(Style{BG: themes.RGB(1, 2, 3)})
	if pixels != nil && !s.grid.Region(Rect{X: 4, Y: 2, W: 20, H: 5}).Image(pixels) {
		s.t.Fatal("no place for the image")
	}
	s.grid.All().Put(6, 3, word, Style{FG: themes.RGB(9, 9, 9)})
	s.wire.Reset()
	s.out.Frame(&s.grid)
	if user {
		if err := s.out.FlushNow(); err != nil {
			s.t.Fatal(err)
		}
	}
	if _, err := s.out.Write(nil); err != nil {
		s.t.Fatal(err)
	}
	return s.wire.String()
}

// columns is an image whose first n columns have a second colour.
func columns(n int) *image.Paletted {
	p := image.NewPaletted(image.Rect(0, 0, 160, 80), color.Palette{color.RGBA{10, 20, 30, 255}, color.RGBA{200, 100, 0, 255}})
	for i := range p.Pix {
		if i%160 < n {
			p.Pix[i] = 1
		}
	}
	return p
}

var kittyPart = regexp.MustCompile("\x1b_G([^;]*);([^\x1b]*)\x1b\\\\")

// kittyImage returns the keys and the decoded image of the sequences sent.
func kittyImage(t *testing.T, sent string) (keys string, pixels image.Image) {
	t.Helper()
	var data strings.Builder
	for i, part := range kittyPart.FindAllStringSubmatch(sent, -1) {
		if i == 0 {
			keys = part[1]
		}
		data.WriteString(part[2])
		if len(part[2]) > kittyChunk {
			t.Errorf("a part has %d bytes", len(part[2]))
		}
	}
	raw, err := base64.StdEncoding.DecodeString(data.String())
	if err != nil {
		t.Fatal(err)
	}
	pixels, err = png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return keys, pixels
}

// An image of the Kitty protocol is sent when it is new, differs, or the user caused a small
// difference; a small difference of data waits for its turn. It is deleted when the frame has none,
// when it is replaced, and before the screen is left.
func TestKittyImage(t *testing.T) {
	s := newScreenWithImage(t, Kitty)
	sent := s.draw(columns(80), "at noon", false)
	keys, pixels := kittyImage(t, sent)
	if want := "a=T,f=100,q=2,C=1,z=-1,i=1397489665,c=20,r=5,m=0"; keys != want {
		t.Errorf("sent with %q, want %q", keys, want)
	}
	if !strings.Contains(sent, "\x1b[3;5H\x1b_G") {
		t.Errorf("the image is not at its place: %.200q", sent)
	}
	for x := range 160 {
		if pixels.At(x, 7) != columns(80).At(x, 7) {
			t.Fatalf("pixel %d is %v", x, pixels.At(x, 7))
		}
	}
	none := func(what, sent string) {
		t.Helper()
		if strings.Contains(sent, "\x1b_G") {
			t.Errorf("%s: sent %.80q", what, sent)
		}
	}
	replaced := func(what, sent, old string) {
		t.Helper()
		if !strings.Contains(sent, "\x1b_Ga=T") || !strings.HasSuffix(sent, "\x1b_Ga=d,d=I,q=2,i="+old+"\x1b\\") {
			t.Errorf("%s: not replaced: %q", what, sent)
		}
	}
	if got := s.draw(columns(80), "at noon", false); got != "" {
		t.Errorf("nothing changed: sent %q", got)
	}
	none("another word", s.draw(columns(80), "at one", false))
	none("a little more before its turn", s.draw(columns(83), "at one", false))
	s.now = s.now.Add(time.Hour)
	replaced("a little more at its turn", s.draw(columns(83), "at two", false), "1397489665")
	replaced("much more", s.draw(columns(120), "at two", false), "1397489666")
	replaced("by the user", s.draw(columns(123), "at two", true), "1397489667")
	if got := s.draw(nil, "a dialog", false); !strings.Contains(got, "\x1b_Ga=d,d=I,q=2,i=1397489668\x1b\\") || strings.Contains(got, "a=T") {
		t.Errorf("not deleted: %q", got)
	}
	s.draw(columns(80), "", false)
	s.wire.Reset()
	if _, err := s.out.WriteString(leaveAlt); err != nil || s.wire.String() != deleteImages+resetPen+leaveAlt {
		t.Errorf("left with %q, %v", s.wire.String(), err)
	}
	if _, err := s.out.WriteString(enterAlt); err != nil {
		t.Fatal(err)
	}
	if got := s.draw(columns(80), "", false); !strings.Contains(got, "a=T") {
		t.Errorf("on the screen that was entered again: %.80q", got)
	}
	s.out.SetGraphics(NoGraphics)
	if got := s.draw(columns(80), "", false); !strings.Contains(got, deleteImages) || strings.Contains(got, "a=T") {
		t.Errorf("switched off: %.80q", got)
	}
	s.out.Repaint()
	none("after that", s.draw(columns(80), "", false))
}

// A large image comes in parts, whole.
func TestKittyImageInParts(t *testing.T) {
	p := image.NewPaletted(image.Rect(0, 0, 640, 160), columns(0).Palette)
	for i, noise := 0, uint32(1); i < len(p.Pix); i++ {
		noise = noise*1664525 + 1013904223
		p.Pix[i] = uint8(noise >> 31)
	}
	sent := newScreenWithImage(t, Kitty).draw(p, "", false)
	if n := strings.Count(sent, "\x1b_G"); n < 2 || strings.Count(sent, "m=1;") != n-1 {
		t.Errorf("%d parts, %d of them with more to come", n, strings.Count(sent, "m=1;"))
	}
	_, got := kittyImage(t, sent)
	for i := range p.Pix {
		if x, y := i%640, i/640; got.At(x, y) != p.At(x, y) {
			t.Fatalf("pixel %d, %d is %v", x, y, got.At(x, y))
		}
	}
}

// decodeSixel returns the colour numbers of an image, -1 where nothing was drawn.
func decodeSixel(t *testing.T, sent string, w, h int) []int {
	t.Helper()
	_, body, ok := strings.Cut(sent, "\x1bP0;1;0q\"1;1;160;80")
	body, _, ended := strings.Cut(body, "\x1b\\")
	if !ok || !ended {
		t.Fatalf("no image: %.80q", sent)
	}
	out := make([]int, w*h)
	for i := range out {
		out[i] = -1
	}
	x, top, c := 0, 0, 0
	number := func(i *int) (n int) {
		for *i < len(body) && body[*i] >= '0' && body[*i] <= '9' {
			n = n*10 + int(body[*i]-'0')
			*i++
		}
		return n
	}
	for i := 0; i < len(body); {
		repeat := 1
		switch b := body[i]; {
		case b == '#':
			i++
			c = number(&i)
			for i < len(body) && body[i] == ';' {
				i++
				number(&i)
			}
			continue
		case b == '$':
			x, i = 0, i+1
			continue
		case b == '-':
			x, top, i = 0, top+6, i+1
			continue
		case b == '!':
			i++
			repeat = number(&i)
		}
		for bit := range 6 {
			for k := range repeat {
				if (body[i]-'?')>>bit&1 == 1 && top+bit < h {
					out[(top+bit)*w+x+k] = c
				}
			}
		}
		x, i = x+repeat, i+1
	}
	return out
}

// An image of the sixel protocol has each pixel; text over it is painted after it, a change of a
// cell below sends it again, and its removal paints the cells again.
func TestSixelImage(t *testing.T) {
	s := newScreenWithImage(t, Sixel)
	p := columns(37)
	sent := s.draw(p, "noon", false)
	for i, c := range decodeSixel(t, sent, 160, 80) {
		if c != int(p.Pix[i]) {
			t.Fatalf("pixel %d, %d is %d", i%160, i/160, c)
		}
	}
	if !strings.Contains(sent, "#1;2;78;39;0") {
		t.Errorf("no colour in percent: %.80q", sent)
	}
	if _, after, _ := strings.Cut(sent, "\x1b\\"); !strings.Contains(after, "noon") {
		t.Errorf("the text is not over the image: %q", after)
	}
	if got := s.draw(p, "noon", false); got != "" {
		t.Errorf("nothing changed: sent %q", got)
	}
	if got := s.draw(p, "one", false); !strings.Contains(got, "\x1bP") {
		t.Errorf("a word below was painted and the image was not: %q", got)
	}
	got := s.draw(nil, "one", false)
	if strings.Contains(got, "\x1bP") || strings.Count(got, " ") < 5*20-3 {
		t.Errorf("removed by %q", got)
	}
}

// A terminal that did not report images gets none.
func TestNoImages(t *testing.T) {
	s := newScreenWithImage(t, NoGraphics)
	for _, sent := range []string{s.draw(columns(80), "x", false), s.draw(columns(2), "x", true), s.draw(nil, "", false)} {
		if strings.Contains(sent, "\x1b_") || strings.Contains(sent, "\x1bP") {
			t.Errorf("sent %q", sent)
		}
	}
	if s.grid.Region(Rect{X: 30, Y: 2, W: 20, H: 5}).Image(columns(1)) {
		t.Error("a region that is cut off takes an image")
	}
}
