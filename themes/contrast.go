package themes

import (
	"fmt"
	"math"
)

// The least contrasts of WCAG 2.1: of text (1.4.3) and of graphical objects (1.4.11).
const (
	leastText    = 4.5
	leastDrawing = 3.0
)

// Weak lists the pairs of colours with too little contrast, as sentences: text under 4.5:1 on any ground it is drawn on, lines under 3:1
// on what charts are drawn on, each in full colour and after conversion to 256 and 16 colours. Pairs in which a colour is the
// terminal's own are not known and not named.
func (t *Theme) Weak() []string {
	var out []string
	for _, depth := range []struct {
		depth Depth
		words string
	}{{TrueColor, "in full colour"}, {Colors256, "in 256 colours"}, {Colors16, "in 16 colours"}} {
		for r := range Roles {
			least, grounds := 0.0, []Role(nil)
			switch r.Kind() {
			case Reading:
				least, grounds = leastText, []Role{Background, Panel, Bar, Field, Selection}
			case Drawing:
				least, grounds = leastDrawing, []Role{Background, Panel, Band, Fill, Loss}
			}
			for _, g := range grounds {
				// Not a number where a colour is the terminal's own.
				if got := Contrast(t.At(r, depth.depth).Color, t.At(g, depth.depth).Color); !math.IsNaN(got) && got < least {
					out = append(out, fmt.Sprintf("%s on %s is %.1f:1 %s, %.1f:1 is wanted", r, g, got, depth.words, least))
				}
			}
		}
	}
	return out
}
