package terminal

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"app.sunloop/themes"
)

// Cell sizes of an SVG picture in pixels, those of a common font at 14 px.
const (
	svgCellWidth  = 8.4
	svgCellHeight = 17.0
	svgMargin     = 12.0
)

// SVG writes the grid as a picture for documents. Colours that the terminal
// would choose are those of the palette's text on its background.
func (g *Grid) SVG(w io.Writer, p *Palette) error {
	var b strings.Builder
	width, height := float64(g.w)*svgCellWidth+2*svgMargin, float64(g.h)*svgCellHeight+2*svgMargin
	ground := hex(p.Color(themes.Background), "#1c1c1c")
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", ground)
	text := hex(p.Color(themes.Text), "#d0d0d0")
	for y := range g.h {
		for x := 0; x < g.w; {
			end := x + 1
			for end < g.w && g.Cell(end, y).Style == g.Cell(x, y).Style {
				end++
			}
			g.svgRun(&b, x, end, y, text, ground)
			x = end
		}
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// svgRun writes the cells x..end of a row, which share one style.
func (g *Grid) svgRun(b *strings.Builder, x, end, y int, text, ground string) {
	s := g.Cell(x, y).Style
	fg, bg := hex(s.FG, text), hex(s.BG, ground)
	if s.Attr&themes.Reverse != 0 {
		fg, bg = bg, fg
	}
	left, top := svgMargin+float64(x)*svgCellWidth, svgMargin+float64(y)*svgCellHeight
	if bg != ground {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", left, top, float64(end-x)*svgCellWidth+0.2, svgCellHeight+0.2, bg)
	}
	var line strings.Builder
	for i := x; i < end; i++ {
		if c := g.Cell(i, y); c.Width > 0 {
			line.WriteString(c.Text)
		}
	}
	run := strings.TrimRight(line.String(), " ")
	if run == "" {
		return
	}
	extra := ""
	if s.Attr&themes.Bold != 0 {
		extra += ` font-weight="bold"`
	}
	if s.Attr&themes.Underline != 0 {
		extra += ` text-decoration="underline"`
	}
	if s.Attr&themes.Dimmed != 0 {
		extra += ` opacity="0.7"`
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" fill="%s" textLength="%.1f" lengthAdjust="spacingAndGlyphs" xml:space="preserve"%s>`,
		left, top+svgCellHeight*0.76, fg, float64(Width(run))*svgCellWidth, extra)
	_ = xml.EscapeText(b, []byte(run)) // a strings.Builder takes everything
	b.WriteString("</text>\n")
}

// hex returns a colour for SVG, or the substitute for the terminal's default.
func hex(c themes.Color, otherwise string) string {
	r, g, b, ok := c.Values()
	if !ok {
		return otherwise
	}
	return fmt.Sprintf("#%02x%02x%02x", r, g, b)
}
