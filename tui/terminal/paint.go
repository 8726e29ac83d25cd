package terminal

import (
	"strconv"
	"unicode/utf8"

	"app.sunloop/themes"
)

// painter turns the difference of two screens into bytes: absolute cursor moves, SGR and text, nothing else. Erasing,
// repeating and scrolling are left out because terminals disagree about them; text in cells they do not disagree about.
type painter struct {
	buf []byte
	// style is the current style of the terminal. It is kept from frame to
	// frame: most frames then need no SGR.
	style Style
	// x, y is the cursor position; -1 if it is not certain.
	x, y int
}

var plainStyle = Style{FG: themes.Default, BG: themes.Default}

// forget marks the terminal's style and cursor as unknown; the next paint
// begins with a reset.
func (p *painter) forget() { p.style = Style{} }

// paint appends what turns the screen shown into next. With full, every cell is written.
func (p *painter) paint(shown, next []Cell, w, h int, full bool) {
	p.x, p.y = -1, -1
	if p.style == (Style{}) {
		p.buf = append(p.buf, "\x1b[m"...)
		p.style = plainStyle
	}
	for y := range h {
		row := next[y*w : (y+1)*w]
		for x := 0; x < w; x++ {
			c := &row[x]
			if c.Width == 0 || !full && sameCell(c, &shown[y*w+x]) {
				continue
			}
			p.moveTo(row, x, y)
			p.cell(c, w)
		}
	}
}

// sameCell compares how two cells look: a blank has no visible foreground.
func sameCell(a, b *Cell) bool {
	if *a == *b {
		return true
	}
	return invisible(a) && invisible(b) && ground(a.Style.BG) == ground(b.Style.BG)
}

// invisible reports a blank of which only the background shows.
func invisible(c *Cell) bool {
	return c.Text == " " && c.Style.Attr&(themes.Reverse|themes.Underline) == 0
}

func ground(c themes.Color) themes.Color {
	if c == themes.Unset {
		return themes.Default
	}
	return c
}

// cell writes one cell at the cursor.
func (p *painter) cell(c *Cell, w int) {
	safe := hasStableWidth(c.Text)
	p.pen(p.wanted(c))
	p.buf = append(p.buf, c.Text...)
	p.x += int(c.Width)
	// In the last column terminals hold the cursor back in different ways; after an unsteady cluster they may differ about
	// its width. Both leave the place uncertain.
	if p.x >= w || !safe {
		p.x, p.y = -1, -1
	}
}

// wanted returns the style a cell needs. For a blank only the background counts, so the pen's other parts stay as they are.
func (p *painter) wanted(c *Cell) Style {
	s := Style{FG: ground(c.Style.FG), BG: ground(c.Style.BG), Attr: c.Style.Attr}
	if invisible(c) {
		s.FG = p.style.FG
		s.Attr = p.style.Attr &^ (themes.Reverse | themes.Underline)
	}
	return s
}

// moveTo brings the cursor to x, y: by writing the unchanged cells between where that is shorter, else by an absolute move.
func (p *painter) moveTo(row []Cell, x, y int) {
	onRow := p.y == y && p.x >= 0
	if onRow && hasStableWidth(row[x].Text) {
		if p.x == x {
			return
		}
		if p.x < x && x-p.x <= 4 && p.repeatable(row[p.x:x]) {
			for i := p.x; i < x; i++ {
				p.buf = append(p.buf, row[i].Text...)
			}
			p.x = x
			return
		}
	}
	p.buf = append(p.buf, "\x1b["...)
	if onRow {
		p.buf = strconv.AppendInt(p.buf, int64(x+1), 10)
		p.buf = append(p.buf, 'G')
	} else {
		p.buf = strconv.AppendInt(p.buf, int64(y+1), 10)
		p.buf = append(p.buf, ';')
		p.buf = strconv.AppendInt(p.buf, int64(x+1), 10)
		p.buf = append(p.buf, 'H')
	}
	p.x, p.y = x, y
}

// repeatable reports cells that can be written again at a byte each with the pen as it is.
func (p *painter) repeatable(cells []Cell) bool {
	for i := range cells {
		c := &cells[i]
		if len(c.Text) != 1 || p.wanted(c) != p.style {
			return false
		}
	}
	return true
}

// pen changes the terminal's pen to s with the shortest SGR that does it.
func (p *painter) pen(s Style) {
	if s == p.style {
		return
	}
	if s == plainStyle {
		p.buf = append(p.buf, "\x1b[m"...)
		p.style = s
		return
	}
	p.buf = append(p.buf, "\x1b["...)
	start := len(p.buf)
	p.attrs(s.Attr)
	if s.FG != p.style.FG {
		p.color(s.FG, 30)
	}
	if s.BG != p.style.BG {
		p.color(s.BG, 40)
	}
	if len(p.buf) > start {
		p.buf = p.buf[:len(p.buf)-1] // the last separator
	}
	p.buf = append(p.buf, 'm')
	p.style = s
}

// attrs switches attributes off, then on. Bold and dim share one code for off.
func (p *painter) attrs(want themes.Attr) {
	have := p.style.Attr
	if gone := have &^ want; gone != 0 {
		if gone&(themes.Bold|themes.Dimmed) != 0 {
			p.buf = append(p.buf, "22;"...)
			have &^= themes.Bold | themes.Dimmed
		}
		if gone&themes.Underline != 0 {
			p.buf = append(p.buf, "24;"...)
		}
		if gone&themes.Reverse != 0 {
			p.buf = append(p.buf, "27;"...)
		}
		have &= want
	}
	for _, a := range [...]struct {
		attr themes.Attr
		on   string
	}{{themes.Bold, "1;"}, {themes.Dimmed, "2;"}, {themes.Underline, "4;"}, {themes.Reverse, "7;"}} {
		if want&^have&a.attr != 0 {
			p.buf = append(p.buf, a.on...)
		}
	}
}

// color appends the parameters of a foreground (base 30) or background (base 40).
func (p *painter) color(c themes.Color, base int64) {
	if n, ok := c.Index(); ok {
		switch {
		case n < 8:
			p.buf = strconv.AppendInt(p.buf, base+int64(n), 10)
		case n < 16:
			p.buf = strconv.AppendInt(p.buf, base+60+int64(n-8), 10)
		default:
			p.buf = strconv.AppendInt(p.buf, base+8, 10)
			p.buf = append(p.buf, ";5;"...)
			p.buf = strconv.AppendInt(p.buf, int64(n), 10)
		}
	} else if c.IsRGB() {
		r, g, b, _ := c.Values()
		p.buf = strconv.AppendInt(p.buf, base+8, 10)
		p.buf = append(p.buf, ";2;"...)
		p.buf = strconv.AppendInt(p.buf, int64(r), 10)
		p.buf = append(p.buf, ';')
		p.buf = strconv.AppendInt(p.buf, int64(g), 10)
		p.buf = append(p.buf, ';')
		p.buf = strconv.AppendInt(p.buf, int64(b), 10)
	} else {
		p.buf = strconv.AppendInt(p.buf, base+9, 10)
	}
	p.buf = append(p.buf, ';')
}

// hasStableWidth reports a cluster of one rune whose width is the same on every
// terminal and that joins no neighbour: ASCII, Latin, Greek, Cyrillic, arrows,
// mathematics, boxes, blocks, shapes, braille, kana, ideographs and Hangul
// syllables.
func hasStableWidth(text string) bool {
	if len(text) == 1 {
		return true
	}
	r, n := utf8.DecodeRuneInString(text)
	if n != len(text) {
		return false
	}
	for _, s := range steadyRunes {
		if r >= s[0] && r <= s[1] {
			return true
		}
	}
	return false
}

// steadyRunes are ordered by how often they are drawn. The gaps hold combining marks, emoji and joiners.
var steadyRunes = [...][2]rune{
	{0x2500, 0x25fc}, {0x2800, 0x28ff}, {0xa1, 0xa8}, {0xaa, 0xac}, {0xaf, 0x24f}, {0x2012, 0x2027}, {0x2030, 0x203b},
	{0x2190, 0x2193}, {0x2200, 0x22ff}, {0x370, 0x482}, {0x48a, 0x52f}, {0x3041, 0x3096}, {0x30a1, 0x30fa},
	{0x4e00, 0x9fff}, {0xac00, 0xd7a3},
}
