// Package view is the protocol between the console and what it shows: a [View] draws
// from a [Context] and answers events with a [Request].
package view

import (
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
)

// Context is all that a view needs to draw itself.
type Context struct {
	Site      *state.Site  // nil until a site is open
	Admin     *state.Admin // what administrators see; nil for none
	Sites     []api.Site   // accessible sites
	User      *api.User    // who is signed in; nil when not known
	Now       time.Time    // wall clock, for ages
	SiteNow   time.Time    // the service's time in the site's zone
	Selection Selection
	Focused   bool
	Palette   *terminal.Palette
	ASCII     bool
	Pen       chart.Pen
	Images    *chart.Images // draws charts as images; nil: in cells
	Keys      keymap.Map
	Memo      *Memo     // nil: nothing is kept
	Preparing *Progress // what the program does before it sends data; nil: nothing
	// ReadOnly is why this person may not change things, empty if they may.
	ReadOnly string
}

// Progress is how far something is.
type Progress struct {
	What  string
	Share float64 // 0 to 1
	Pace  state.Pace
}

// Selection is the selected object, which all panes show.
type Selection struct {
	AssetID   string
	FindingID string
	OrderID   string
}

// Style returns a role's look.
func (v Context) Style(r themes.Role) terminal.Style { return v.Palette.Style(r) }

// Put draws text in a role and returns the x after it.
func (v Context) Put(r terminal.Region, x, y int, text string, role themes.Role) int {
	return r.Put(x, y, Drawable(text, v.ASCII), v.Style(role))
}

// PutIn draws text within width cells.
func (v Context) PutIn(r terminal.Region, x, y, width int, text string, role themes.Role) int {
	return r.PutIn(x, y, width, Drawable(text, v.ASCII), v.Style(role), v.ASCII)
}

var asciiSymbols = strings.NewReplacer("…", "...", "–", "-", "−", "-", "·", "|", "×", "x", "←", "left", "→", "right", "↑", "up", "↓", "down", "›", ">", "°", "", "²", "2", "±", "+-", "Σ", "sum", "γ", "gamma")

// Drawable returns a text as the terminal can draw it: with ascii, ASCII in
// place of the console's own symbols.
func Drawable(s string, ascii bool) string {
	if !ascii {
		return s
	}
	return asciiSymbols.Replace(s)
}

// Heading draws a section's title with a quiet rule behind it, and on the
// right those of the notes that are not empty.
func (v Context) Heading(r terminal.Region, y int, title string, notes ...string) {
	w, _ := r.Size()
	notes = slices.DeleteFunc(notes, func(s string) bool { return s == "" })
	right := strings.Join(notes, ", ")
	x := v.Put(r, 0, y, title+" ", themes.Title)
	end := w
	if right != "" {
		end = r.PutRight(w, y, right, v.Style(themes.Dim)) - 1
	}
	if x < end {
		r.HLine(x, y, end-x, terminal.LinesFor(v.ASCII), v.Style(themes.Border))
	}
}

// Paragraph draws text wrapped at words and returns the y after it.
func (v Context) Paragraph(r terminal.Region, x, y int, text string, role themes.Role) int {
	w, h := r.Size()
	for _, line := range Wrap(Drawable(text, v.ASCII), w-x) {
		if y >= h {
			break
		}
		v.PutIn(r, x, y, w-x, line, role)
		y++
	}
	return y
}

// Know returns what is known of the value of a query.
func (v Context) Know(n state.Need) state.Knowledge {
	return state.KnowledgeOf(v.Site, v.Admin, n, v.Now)
}

// DrawKnowledge draws in the last row of a region which of the needed values are
// unknown or outdated, since when and why, and returns the region above it; all
// of it if everything is known.
func (v Context) DrawKnowledge(r terminal.Region, needs []state.Need) terminal.Region {
	w, h := r.Size()
	words, bad := state.KnowledgeText(v.Site, v.Admin, needs, v.Now, v.Zone(), w)
	if words == "" || h < 4 {
		return r
	}
	role := themes.Dim
	if bad {
		role = themes.Warning
	}
	v.PutIn(r, 0, h-1, w, words, role)
	return r.Region(terminal.Rect{W: w, H: h - 1})
}

// Separator separates facts in one line.
func (v Context) Separator() string {
	if v.ASCII {
		return " | "
	}
	return " · "
}

// ShortID returns a unit's id for a place of that width.
func (v Context) ShortID(id string, width int) string {
	return terminal.TruncateMiddle(id, min(4, width/3), width, v.ASCII)
}

// Wrap cuts text into lines of at most width cells, at spaces but not between a number and
// its unit or currency; a word longer than a line is cut where the line ends.
func Wrap(text string, width int) []string {
	if width < 1 {
		return nil
	}
	var lines []string
	line := ""
	for _, word := range words(text, width) {
		if line != "" && terminal.Width(line)+1+terminal.Width(word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for line = word; ; {
			head, rest := terminal.Break(line, width)
			if rest == "" { // it fits, or is one wide cluster in a narrow place
				break
			}
			lines, line = append(lines, head), rest
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// words returns the words of a text. A number and its unit or currency are one word, if it
// is at most width cells wide.
func words(text string, width int) []string {
	var out []string
	for _, word := range strings.Fields(text) {
		if n := len(out); n > 0 && belongs(out[n-1], word) && terminal.Width(out[n-1])+1+terminal.Width(word) <= width {
			out[n-1] += " " + word
			continue
		}
		out = append(out, word)
	}
	return out
}

// units are what [display] writes behind numbers.
var units = []string{"%", "W", "kW", "MW", "GW", "Wh", "kWh", "MWh", "GWh", "kWh/kWp", "W/m²", "W/m2", "°C", "m/s", "mm", "V", "A", "ms", "s", "min", "h", "d", "B", "kB", "MB", "GB"}

// belongs reports whether two words are a number with its unit, or a currency with its amount.
func belongs(before, word string) bool {
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	if digit(before[len(before)-1]) && slices.Contains(units, strings.TrimRight(word, ".,;:)")) {
		return true
	}
	currency := len(before) == 3 && strings.Trim(before, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
	return currency && digit(word[0])
}

// SelectionStyle returns the look of the selected row: clearly visible in the pane that has
// the keys, quieter in the others.
func (v Context) SelectionStyle() terminal.Style {
	switch {
	case v.Focused:
		return v.Style(themes.Selection)
	case v.Palette.Colorless(), v.Style(themes.Selection).Attr&themes.Reverse != 0: // reversed, its colour is that of text
		return terminal.Style{Attr: themes.Underline}
	}
	return terminal.Style{BG: v.Palette.Color(themes.Selection)}
}

// Zone returns the time zone of the site, UTC without a site.
func (v Context) Zone() *time.Location {
	if v.Site == nil {
		return time.UTC
	}
	return v.Site.Zone
}
