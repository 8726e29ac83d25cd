package app

import (
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// Help lists the keys from the keymap, those of the current view first.
type Help struct {
	view.Base
	where  string
	scroll int
	lines  []helpLine
}

type helpLine struct{ heading, key, words string }

// Width of a column of help: at least leastColumn, where there are several; one takes what
// its longest line needs.
const (
	leastColumn = 72
	helpWords   = 17 // where the words begin
)

// NewHelp shows the keys; where names the pane or screen, scope is that of its
// keys and own describes other keys there.
func NewHelp(where string, scope keymap.Scope, own [][2]string, keys keymap.Map) *Help {
	d := &Help{where: where}
	section := func(heading string) {
		if len(d.lines) > 0 {
			d.lines = append(d.lines, helpLine{})
		}
		d.lines = append(d.lines, helpLine{heading: heading})
	}
	section("In " + where)
	scoped := func(s keymap.Scope) {
		for _, e := range keys.Entries() {
			if e.Scope == s {
				d.lines = append(d.lines, helpLine{key: e.Binding.Help().Key, words: e.Binding.Help().Desc})
			}
		}
	}
	if scope != "" {
		scoped(scope)
	}
	for _, k := range own {
		d.lines = append(d.lines, helpLine{key: k[0], words: k[1]})
	}
	for _, s := range keymap.Scopes() {
		if s == scope || !slices.ContainsFunc(keys.Entries(), func(e keymap.Entry) bool { return e.Scope == s }) {
			continue
		}
		section(strings.ToUpper(string(s[:1])) + string(s[1:]))
		if s != keymap.Global {
			d.lines[len(d.lines)-1].heading = "In " + string(s)
		}
		scoped(s)
	}
	section("Signs")
	d.lines = append(d.lines,
		helpLine{key: "▲C ▲H ●M ○L ○J", words: "alarm priorities: critical, high, medium, low, journal"},
		helpLine{key: "grey values", words: "older than they should be; the age is shown with them"},
	)
	section("Mouse")
	d.lines = append(d.lines, helpLine{key: "click, wheel", words: "focus, choose, scroll; shift (option on a Mac) selects text"})
	return d
}

// Title names the current view.
func (d *Help) Title() string { return "Help" }

// columns returns how many columns a width has.
func (d *Help) columns(w int) int { return min(max((w+2)/(leastColumn+2), 1), 3) }

// column returns the width of each of n columns in a width: as the longest line needs it.
func (d *Help) column(w, n int) int {
	longest := leastColumn
	for _, line := range d.lines {
		longest = max(longest, helpWords+terminal.Width(line.words))
	}
	return min(longest, (w+2)/n-2)
}

// Size takes most of the screen, in columns where it is wide.
func (d *Help) Size(w, h int) (int, int) {
	n := d.columns(w - 8)
	rows := (len(d.lines) + n - 1) / n
	return min(n*(d.column(w-8, n)+2)-2, w-4), min(rows+3, h-2)
}

// Draw draws the part that fits.
func (d *Help) Draw(r terminal.Region, v view.Context) {
	w, h := r.Size()
	n := d.columns(w)
	wide := d.column(w, n)
	rows := max(h-2, 1)
	seen := rows * n
	d.scroll = min(max(d.scroll, 0), max(len(d.lines)-seen, 0))
	for i := 0; i < seen && d.scroll+i < len(d.lines); i++ {
		column := r.Region(terminal.Rect{X: i / rows * (wide + 2), Y: i % rows, W: wide, H: 1})
		width, _ := column.Size()
		line := d.lines[d.scroll+i]
		if line.heading != "" {
			column.PutIn(0, 0, width, line.heading, v.Palette.Style(themes.Title), v.ASCII)
			continue
		}
		column.PutIn(1, 0, helpWords-2, widget.KeyNames(line.key, v.ASCII), v.Palette.Style(themes.Key), v.ASCII)
		column.PutIn(helpWords, 0, width-helpWords, line.words, v.Palette.Style(themes.Text), v.ASCII)
	}
	if seen < len(d.lines) {
		widget.KeyLine(r, h-1, v, widget.KeyNames("↓ ↑", v.ASCII), "scroll", "esc", "back")
		return
	}
	widget.KeyLine(r, h-1, v, "esc", "back")
}

// Key scrolls or closes.
func (d *Help) Key(k tea.KeyMsg, v view.Context) view.Request {
	if a, _, _ := v.Keys.Match(k.String(), keymap.Dialog); a == keymap.Dismiss || a == keymap.Accept {
		return view.Close{}
	}
	switch a, _, _ := v.Keys.Match(k.String(), keymap.List, keymap.Global); a {
	case keymap.Help, keymap.Quit:
		return view.Close{}
	case keymap.Down:
		d.scroll++
	case keymap.Up:
		d.scroll--
	case keymap.PageDown:
		d.scroll += 10
	case keymap.PageUp:
		d.scroll -= 10
	case keymap.Top:
		d.scroll = 0
	case keymap.Bottom:
		d.scroll = len(d.lines)
	}
	return nil
}
