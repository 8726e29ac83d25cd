package screen

import (
	"net/url"
	"strings"

	"github.com/boombuler/barcode/qr"

	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
)

// qrLines draws text as a QR code in half blocks, two modules a row: a light
// module is a space of the light background, quiet how many of them stand
// around the code. The standard wants four; two scan on every phone tried and
// keep the code within 80×24, and one is better than no code. Nil when the text
// is too long.
func qrLines(text string, quiet int) []string {
	code, err := qr.Encode(text, qr.L, qr.Auto)
	if err != nil {
		return nil
	}
	n := code.Bounds().Dx()
	dark := func(x, y int) bool {
		x, y = x-quiet, y-quiet
		if x < 0 || y < 0 || x >= n || y >= n {
			return false
		}
		r, _, _, _ := code.At(x, y).RGBA()
		return r == 0
	}
	var lines []string
	for y := 0; y < n+2*quiet; y += 2 {
		var b strings.Builder
		for x := range n + 2*quiet {
			switch up, down := dark(x, y), dark(x, y+1); {
			case up && down:
				b.WriteRune('█')
			case up:
				b.WriteRune('▀')
			case down:
				b.WriteRune('▄')
			default:
				b.WriteByte(' ')
			}
		}
		lines = append(lines, b.String())
	}
	return lines
}

func qrWidth(lines []string) int {
	if len(lines) == 0 {
		return 0
	}
	return terminal.Width(lines[0])
}

// secretOf is the secret of a provisioning URI.
func secretOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return ""
	}
	return terminal.Printable(u.Query().Get("secret"))
}

// grouped writes a secret in groups of four.
func grouped(s string) string {
	var b strings.Builder
	for i, c := range s {
		if i > 0 && i%4 == 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// ink is black on white whatever the theme: scanners read nothing else.
func ink(p *terminal.Palette) terminal.Style {
	switch p.Profile {
	case themes.TrueColor:
		return terminal.Style{FG: themes.RGB(0, 0, 0), BG: themes.RGB(255, 255, 255)}
	case themes.Colors256:
		return terminal.Style{FG: themes.Indexed(16), BG: themes.Indexed(231)}
	case themes.Colors16:
		return terminal.Style{FG: themes.Indexed(0), BG: themes.Indexed(15)}
	}
	if p.Dark { // light text on dark: reversed it is what is wanted
		return terminal.Style{Attr: themes.Reverse}
	}
	return terminal.Style{}
}
