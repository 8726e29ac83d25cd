package terminal

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"app.sunloop/themes"
)

// query requests the background (OSC 11) and synchronized output (DECRQM 2026). imageQuery
// requests images: a try of the Kitty protocol with one pixel, and the size of a cell. lastQuery
// requests the device attributes, which every terminal reports: their response shows that no
// other will follow.
const (
	query      = "\x1b]11;?\x1b\\" + "\x1b[?2026$p"
	imageQuery = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\" + "\x1b[16t"
	lastQuery  = "\x1b[c"
)

const (
	localQuery  = 150 * time.Millisecond
	remoteQuery = 400 * time.Millisecond
)

// QueryWait returns how long to wait for the terminal's answers.
func QueryWait(remote bool) time.Duration {
	if remote {
		return remoteQuery
	}
	return localQuery
}

// Answers holds the terminal's responses. It is the message of the command that
// queries them.
type Answers struct {
	// Background is the terminal's background, themes.Unset if it did not
	// respond.
	Background themes.Color
	// Sync reports that the terminal has synchronized output.
	Sync bool
	// Graphics is the protocol of images that the terminal has, if it was asked for it.
	Graphics Graphics
	// Cell is the size of a cell in pixels.
	Cell PixelSize
}

// Dark reports whether the background is dark, which is also assumed without a response: white text has more contrast on it than black text (the luminance
// where both contrasts of WCAG 2.1 are equal is 0.179).
func (a Answers) Dark() bool { return a.Background == themes.Unset || a.Background.Luminance() < 0.179 }

// Query queries the terminal and waits for its responses until ctx ends; give
// ctx a deadline of QueryWait. Run it as a Bubble Tea command, while Bubble Tea
// reads from in. Later responses are dropped by the Input. Images are asked for only if
// wanted.
func Query(ctx context.Context, in *Input, out *Output, images bool) (Answers, error) {
	var cell PixelSize
	if images && in.cell != nil {
		cell = in.cell()
	}
	complete := in.answers.expect(cell)
	defer in.answers.stop()
	all := query + lastQuery
	if images {
		all = query + imageQuery + lastQuery
	}
	if err := out.between([]byte(all)); err != nil {
		return Answers{}, fmt.Errorf("ask terminal: %w", err)
	}
	select {
	case <-complete:
	case <-ctx.Done():
	}
	return in.answers.got(), nil
}

// answers collects the terminal's responses during a query.
type answers struct {
	mu       sync.Mutex
	complete chan struct{} // nil without a waiter
	all      Answers

	sixel, kitty bool
	window       PixelSize // of a cell, by the size of the window; zero: unknown
}

// decideGraphics chooses the protocol. Sixel images have pixels of the screen, so that they
// require the size of a cell: as reported, or by the size of the window, since xterm does not
// report it unless it is allowed to.
func (a *answers) decideGraphics() {
	if a.all.Cell == (PixelSize{}) {
		a.all.Cell = a.window
	}
	if c := a.all.Cell; c.W < 3 || c.W > 64 || c.H < 6 || c.H > 128 {
		a.all.Cell = PixelSize{}
	}
	switch {
	case a.kitty:
		a.all.Graphics = Kitty
		if a.all.Cell == (PixelSize{}) {
			a.all.Cell = usualCell
		}
	case a.sixel && a.all.Cell != (PixelSize{}):
		a.all.Graphics = Sixel
	}
}

func (a *answers) expect(window PixelSize) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all, a.complete, a.sixel, a.kitty, a.window = Answers{}, make(chan struct{}), false, false, window
	return a.complete
}

func (a *answers) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.complete = nil
}

func (a *answers) got() Answers {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all
}

// take reads one response: kind is the introducer's character, '?' for a private CSI answer.
func (a *answers) take(kind byte, text []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.complete == nil {
		return
	}
	switch {
	case kind == ']':
		if value, ok := bytes.CutPrefix(text, []byte("11;")); ok {
			if c, ok := parseAnswer(string(value)); ok {
				a.all.Background = c
			}
		}
	case kind == '?' && bytes.HasSuffix(text, []byte("$y")):
		// 1 is set, 2 reset, 3 and 4 the same permanently; 0 is unknown.
		switch string(text) {
		case "2026;1$y", "2026;2$y", "2026;3$y":
			a.all.Sync = true
		}
	case kind == '_' && string(text) == "Gi=31;OK":
		a.kitty = true
	case kind == 't':
		a.all.Cell = parseCell(string(text))
	case kind == '?' && bytes.HasSuffix(text, []byte("c")):
		attributes := strings.Split(strings.TrimSuffix(string(text), "c"), ";")
		a.sixel = slices.Contains(attributes[1:], "4")
		a.decideGraphics()
		close(a.complete)
		a.complete = nil
	}
}

// parseCell reads the size of a cell: 6, its height, its width. It is zero for anything else.
func parseCell(s string) PixelSize {
	part := strings.Split(strings.TrimSuffix(s, "t"), ";")
	if len(part) != 3 || part[0] != "6" {
		return PixelSize{}
	}
	h, err1 := strconv.Atoi(part[1])
	w, err2 := strconv.Atoi(part[2])
	if err1 != nil || err2 != nil {
		return PixelSize{}
	}
	return PixelSize{w, h}
}

// parseAnswer reads the colour of an OSC 11 answer: rgb:r/g/b with one to four hexadecimal digits each (XParseColor), rgba:
// with a fourth part that is ignored, or #rrggbb.
func parseAnswer(s string) (themes.Color, bool) {
	if strings.HasPrefix(s, "#") {
		c, err := themes.ParseColor(s)
		return c, err == nil
	}
	space, value, ok := strings.Cut(s, ":")
	if !ok || space != "rgb" && space != "rgba" {
		return themes.Unset, false
	}
	parts := strings.Split(value, "/")
	if len(parts) < 3 || len(parts) > 4 {
		return themes.Unset, false
	}
	var v [3]uint8
	for i := range v {
		p := parts[i]
		n, err := strconv.ParseUint(p, 16, 16)
		if err != nil || len(p) > 4 {
			return themes.Unset, false
		}
		most := uint64(1)<<(4*len(p)) - 1
		v[i] = uint8((n*255 + most/2) / most) //nolint:gosec // n <= most
	}
	return themes.RGB(v[0], v[1], v[2]), true
}

// KnownBackground reports whether the background is dark, by the first source
// that is set: the flag, the configuration ("dark", "light"; anything else is
// ignored), or COLORFGBG, which rxvt and Konsole set. If none is, use Query.
func KnownBackground(flag, config, colorFGBG string) (dark, known bool) {
	for _, word := range []string{flag, config} {
		switch strings.ToLower(word) {
		case "dark":
			return true, true
		case "light":
			return false, true
		}
	}
	fields := strings.Split(colorFGBG, ";")
	n, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil || len(fields) < 2 || n < 0 || n > 15 {
		return false, false
	}
	// Of the sixteen, white and the bright ones but bright black are light.
	return n < 7 || n == 8, true
}
