package themes

import (
	"fmt"
	"strings"
)

// Attr is a set of text attributes.
type Attr uint8

// The attributes every terminal has. Blinking is left out on purpose: it is slow over a line and unsafe for some readers.
const (
	Bold Attr = 1 << iota
	Dimmed
	Underline
	Reverse
)

var attrNames = []struct {
	name string
	attr Attr
}{{"bold", Bold}, {"dim", Dimmed}, {"underline", Underline}, {"reverse", Reverse}}

// Token is a role's style: its colour and its attributes.
type Token struct {
	Color Color
	Attr  Attr
}

// String writes the token as a theme file does, as in "#d75f5f bold".
func (t Token) String() string {
	words := []string{t.Color.String()}
	for _, a := range attrNames {
		if t.Attr&a.attr != 0 {
			words = append(words, a.name)
		}
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

// ParseToken reads a colour followed by any of bold, dim, underline and reverse.
func ParseToken(s string) (Token, error) {
	words := strings.Fields(s)
	if len(words) == 0 {
		return Token{}, fmt.Errorf("a colour is missing")
	}
	c, err := ParseColor(words[0])
	if err != nil {
		return Token{}, err
	}
	t := Token{Color: c}
next:
	for _, w := range words[1:] {
		for _, a := range attrNames {
			if strings.EqualFold(w, a.name) {
				t.Attr |= a.attr
				continue next
			}
		}
		return Token{}, fmt.Errorf("%q is not an attribute: write bold, dim, underline or reverse", w)
	}
	return t, nil
}

// Theme is one complete style of the console.
type Theme struct {
	// Name is the file's name without its ending, Title what people read.
	Name, Title string
	// Dark reports whether the theme is made for dark surroundings.
	Dark bool
	// Tokens are the styles in full colour, by role.
	Tokens [Roles]Token
	// Sixteen replaces the nearest of the sixteen system colours where the nearest is not good enough; Unset where it is.
	Sixteen [Roles]Token
}

// Depth is how many colours a terminal shows.
type Depth uint8

// The depths, in rising order.
const (
	NoColor Depth = iota
	Colors16
	Colors256
	TrueColor
)

// At returns a role's style on a terminal with that many colours. With no
// colours, only attributes remain.
func (t *Theme) At(r Role, d Depth) Token {
	tok := t.Tokens[r]
	switch d {
	case NoColor:
		return Token{Color: Default, Attr: tok.Attr}
	case Colors16:
		if s := t.Sixteen[r]; s != (Token{}) {
			return s
		}
		tok.Color = tok.Color.To16()
	case Colors256:
		tok.Color = tok.Color.To256()
	}
	return tok
}
