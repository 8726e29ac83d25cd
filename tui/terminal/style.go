package terminal

import "app.sunloop/themes"

// Style is the style of a cell: colours as this terminal can show them, and
// attributes. The zero Style changes no colour: text in it keeps the existing
// foreground and background.
type Style struct {
	FG, BG themes.Color
	Attr   themes.Attr
}

// On returns the style upon another's background.
func (s Style) On(ground Style) Style {
	s.BG = ground.BG
	return s
}

// With returns the style with attributes added.
func (s Style) With(a themes.Attr) Style {
	s.Attr |= a
	return s
}

// Inverse swaps foreground and background. Where either is the terminal's own, the reverse attribute does it.
func (s Style) Inverse() Style {
	if s.FG > themes.Default && s.BG > themes.Default {
		s.FG, s.BG = s.BG, s.FG
		return s
	}
	s.Attr ^= themes.Reverse
	return s
}

// over lays s upon what a cell has: colours that s leaves open stay.
func (s Style) over(under Style) Style {
	if s.FG == themes.Unset {
		s.FG = under.FG
	}
	if s.BG == themes.Unset {
		s.BG = under.BG
	}
	return s
}

// Palette is a theme resolved for one terminal's colours, once. It is a value of a session, never of the process: two
// sessions may differ.
type Palette struct {
	// Profile is what it was resolved for.
	Profile Profile
	// Name is the theme's, Dark whether it is for dark surroundings.
	Name string
	Dark bool

	styles [themes.Roles]Style
}

// NewPalette resolves a theme. A terminal without colour gets the attributes of the mono theme, because another theme's
// attributes presume its colours.
func NewPalette(theme *themes.Theme, profile Profile) *Palette {
	p := &Palette{Profile: profile, Name: theme.Name, Dark: theme.Dark}
	if profile == themes.NoColor {
		if mono, ok := themes.Find(themes.Builtin(), themes.Mono); ok {
			theme = &mono
		}
	}
	for r := range themes.Roles {
		tok := theme.At(r, profile)
		switch r.Kind() {
		case themes.Ground, themes.Area:
			p.styles[r] = Style{BG: tok.Color, Attr: tok.Attr}
			if tok.Attr&themes.Reverse != 0 {
				// Reversed, each foreground would become a different background: one for the whole row is
				// easier to read.
				p.styles[r].FG = theme.At(themes.Text, profile).Color
			}
		default:
			p.styles[r] = Style{FG: tok.Color, Attr: tok.Attr}
		}
	}
	return p
}

// Style returns a role's style: a background for grounds and areas, a
// foreground for everything else.
func (p *Palette) Style(r themes.Role) Style { return p.styles[r] }

// Color returns a role's one colour, to be used as either foreground or background.
func (p *Palette) Color(r themes.Role) themes.Color {
	if s := p.styles[r]; s.FG != themes.Unset {
		return s.FG
	}
	return p.styles[r].BG
}

// Colorless reports whether areas cannot be distinguished by colour, so that
// characters are needed: no colours, or a theme that leaves them to the
// terminal.
func (p *Palette) Colorless() bool {
	return p.Profile == themes.NoColor || p.styles[themes.HeatNormal].BG == p.styles[themes.HeatLow4].BG
}
