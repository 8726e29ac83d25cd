package terminal

import (
	"fmt"
	"strings"

	"app.sunloop/themes"
)

// Profile is how many colours the terminal shows.
type Profile = themes.Depth

// ParseProfile reads the value of the colour flag: none, 16, 256, true, or auto and "" for detection (ok is false).
func ParseProfile(s string) (p Profile, ok bool, err error) {
	switch strings.ToLower(s) {
	case "", "auto":
		return themes.NoColor, false, nil
	case "none", "never", "mono":
		return themes.NoColor, true, nil
	case "16":
		return themes.Colors16, true, nil
	case "256":
		return themes.Colors256, true, nil
	case "true", "truecolor", "24bit":
		return themes.TrueColor, true, nil
	}
	return themes.NoColor, false, fmt.Errorf("%q is not a number of colours: write auto, none, 16, 256 or true", s)
}

// DetectProfile finds the colours from the environment. NO_COLOR (no-color.org) wins over everything, then a missing
// terminal means none unless CLICOLOR_FORCE is set, then COLORTERM, then TERM.
func DetectProfile(env func(string) string, isTerminal bool) Profile {
	if env("NO_COLOR") != "" || env("CLICOLOR") == "0" {
		return themes.NoColor
	}
	force := env("CLICOLOR_FORCE")
	forced := force != "" && force != "0"
	if !isTerminal && !forced {
		return themes.NoColor
	}
	term := strings.ToLower(env("TERM"))
	switch strings.ToLower(env("COLORTERM")) {
	case "truecolor", "24bit":
		// GNU screen passes COLORTERM on but not the colours.
		if !strings.HasPrefix(term, "screen") || env("TMUX") != "" {
			return themes.TrueColor
		}
	}
	p := profileOfTerm(term)
	if p == themes.NoColor && forced {
		return themes.Colors16
	}
	return p
}

// profileOfTerm reads TERM. Unknown names with a colour count are evaluated;
// the known others are listed.
func profileOfTerm(term string) Profile {
	if term == "" || term == "dumb" || strings.HasSuffix(term, "-m") || strings.HasSuffix(term, "-mono") || strings.HasPrefix(term, "vt1") {
		return themes.NoColor
	}
	for _, s := range []string{"direct", "truecolor", "24bit"} {
		if strings.HasSuffix(term, s) {
			return themes.TrueColor
		}
	}
	for _, s := range []string{"alacritty", "ghostty", "kitty", "wezterm", "foot", "contour", "rio"} {
		if strings.Contains(term, s) {
			return themes.TrueColor
		}
	}
	if strings.Contains(term, "256color") {
		return themes.Colors256
	}
	return themes.Colors16
}

// Remote reports whether the session is over SSH, where timeouts are longer and frames fewer.
func Remote(env func(string) string) bool {
	return env("SSH_CONNECTION") != "" || env("SSH_TTY") != "" || env("SSH_CLIENT") != ""
}
