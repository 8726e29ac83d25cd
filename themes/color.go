package themes

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Color is a terminal colour: unset (the zero value), the terminal's default,
// one of the 256 indexed colours, or 24-bit RGB. It is a small comparable
// value: the kind in the top byte, the value below.
type Color uint32

const (
	kindMask    Color = 0xff000000
	kindDefault Color = 0x01000000
	kindIndexed Color = 0x02000000
	kindRGB     Color = 0x03000000

	// Unset means that no colour was chosen: the existing one is kept.
	Unset Color = 0
	// Default is the terminal's own foreground or background.
	Default = kindDefault
)

// Indexed is a colour of the 256-colour palette; 0–15 are the terminal's own sixteen.
func Indexed(n uint8) Color { return kindIndexed | Color(n) }

// RGB is a 24-bit colour.
func RGB(r, g, b uint8) Color { return kindRGB | Color(r)<<16 | Color(g)<<8 | Color(b) }

// Index returns the palette index and whether the colour is an indexed one.
func (c Color) Index() (uint8, bool) { return uint8(c), c&kindMask == kindIndexed }

// IsRGB reports whether the colour is a 24-bit one.
func (c Color) IsRGB() bool { return c&kindMask == kindRGB }

// IsDefault reports whether the colour is the terminal's own default.
func (c Color) IsDefault() bool { return c == Default }

// Values returns red, green and blue. Indexed colours give the values of
// xterm's palette. ok is false for Unset and Default, whose values only the
// terminal knows.
func (c Color) Values() (r, g, b uint8, ok bool) {
	switch c & kindMask {
	case kindRGB:
		return uint8(c >> 16), uint8(c >> 8), uint8(c), true
	case kindIndexed:
		v := xterm[uint8(c)]
		return uint8(v >> 16), uint8(v >> 8), uint8(v), true
	}
	return 0, 0, 0, false
}

// String writes the colour as a theme file does: "#rrggbb", an index, "default" or "".
func (c Color) String() string {
	switch c & kindMask {
	case kindRGB:
		return fmt.Sprintf("#%06x", uint32(c&^kindMask))
	case kindIndexed:
		return strconv.Itoa(int(uint8(c)))
	case kindDefault:
		return "default"
	}
	return ""
}

// ParseColor reads "#rrggbb", "#rgb", "0" … "255", the name of one of the sixteen ("red", "bright-blue") or "default".
func ParseColor(s string) (Color, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	if s == "default" {
		return Default, nil
	}
	if n, ok := sixteenNames[s]; ok {
		return Indexed(n), nil
	}
	if hex, ok := strings.CutPrefix(s, "#"); ok {
		if len(hex) == 3 {
			hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
		}
		v, err := strconv.ParseUint(hex, 16, 32)
		if err != nil || len(hex) != 6 {
			return Unset, fmt.Errorf("%q is not a colour: write #rrggbb with hexadecimal digits", s)
		}
		return kindRGB | Color(v), nil
	}
	n, err := strconv.ParseUint(s, 10, 8)
	if err != nil {
		return Unset, fmt.Errorf("%q is not a colour: write #rrggbb, 0-255, one of the sixteen names such as bright-red, or default", s)
	}
	return Indexed(uint8(n)), nil
}

var sixteenNames = map[string]uint8{
	"black": 0, "red": 1, "green": 2, "yellow": 3, "blue": 4, "magenta": 5, "cyan": 6, "white": 7,
	"bright-black": 8, "bright-red": 9, "bright-green": 10, "bright-yellow": 11,
	"bright-blue": 12, "bright-magenta": 13, "bright-cyan": 14, "bright-white": 15,
}

// xterm is the default palette of xterm: sixteen system colours, a 6×6×6 cube and 24 greys.
var xterm = func() (p [256]uint32) {
	sixteen := [16]uint32{
		0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5,
		0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00, 0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff,
	}
	copy(p[:], sixteen[:])
	steps := [6]uint32{0x00, 0x5f, 0x87, 0xaf, 0xd7, 0xff}
	for i := range 216 {
		p[16+i] = steps[i/36]<<16 | steps[i/6%6]<<8 | steps[i%6]
	}
	for i := range uint32(24) {
		grey := 8 + 10*i
		p[232+i] = grey<<16 | grey<<8 | grey
	}
	return p
}()

// To256 returns the nearest colour of the cube and the grey ramp (16–255). The first sixteen are never chosen, because every
// terminal shows its own. Unset, Default and indexed colours come back unchanged.
func (c Color) To256() Color {
	if !c.IsRGB() {
		return c
	}
	return Indexed(nearest(c, 16, 256))
}

// To16 returns the nearest of the sixteen system colours, by xterm's values. Unset, Default and the sixteen come back unchanged.
func (c Color) To16() Color {
	if n, ok := c.Index(); c == Unset || c == Default || ok && n < 16 {
		return c
	}
	return Indexed(nearest(c, 0, 16))
}

func nearest(c Color, from, to int) uint8 {
	best, bestDistance := from, math.Inf(1)
	for i := from; i < to; i++ {
		if d := distance(c, Indexed(uint8(i))); d < bestDistance {
			best, bestDistance = i, d
		}
	}
	return uint8(best)
}

// distance compares two colours in Oklab, which is perceptually uniform (B.
// Ottosson, "A perceptual color space for image processing", 2020): in RGB dark
// greys would become blue or green.
func distance(a, b Color) float64 {
	l1, a1, b1 := a.oklab()
	l2, a2, b2 := b.oklab()
	return (l1-l2)*(l1-l2) + (a1-a2)*(a1-a2) + (b1-b2)*(b1-b2)
}

func (c Color) oklab() (l, a, b float64) {
	r8, g8, b8, _ := c.Values()
	r, g, bl := linear(r8), linear(g8), linear(b8)
	x := math.Cbrt(0.4122214708*r + 0.5363325363*g + 0.0514459929*bl)
	y := math.Cbrt(0.2119034982*r + 0.6806995451*g + 0.1073969566*bl)
	z := math.Cbrt(0.0883024619*r + 0.2817188376*g + 0.6299787005*bl)
	return 0.2104542553*x + 0.7936177850*y - 0.0040720468*z,
		1.9779984951*x - 2.4285922050*y + 0.4505937099*z,
		0.0259040371*x + 0.7827717662*y - 0.8086757660*z
}

// linear undoes the sRGB transfer function (IEC 61966-2-1).
func linear(v uint8) float64 {
	f := float64(v) / 255
	if f <= 0.04045 {
		return f / 12.92
	}
	return math.Pow((f+0.055)/1.055, 2.4)
}

// Luminance is the relative luminance of WCAG 2.1, 0 for black to 1 for white; NaN for Unset and Default.
func (c Color) Luminance() float64 {
	r, g, b, ok := c.Values()
	if !ok {
		return math.NaN()
	}
	return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
}

// Contrast is the contrast ratio of WCAG 2.1 (success criterion 1.4.3), 1 to 21; NaN when either colour is the terminal's own.
func Contrast(a, b Color) float64 {
	la, lb := a.Luminance(), b.Luminance()
	return (math.Max(la, lb) + 0.05) / (math.Min(la, lb) + 0.05)
}
