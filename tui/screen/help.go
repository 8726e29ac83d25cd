package screen

import (
	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/terminal"
)

// HelpDialog shows every key, made from the keymap.
type HelpDialog struct {
	where  string
	keys   keymap.Map
	scroll int
	lines  []helpLine
}

type helpLine struct{ heading, key, words string }

// NewHelp shows the keys; where says where the person is.
func NewHelp(where string, keys keymap.Map) *HelpDialog {
	d := &HelpDialog{where: where, keys: keys}
	for _, s := range []keymap.Scope{keymap.Global, keymap.List, keymap.Dialog} {
		d.lines = append(d.lines, helpLine{heading: "In " + string(s)})
		for _, e := range keys.Entries() {
			if e.Scope == s {
				d.lines = append(d.lines, helpLine{key: e.Binding.Help().Key, words: e.Binding.Help().Desc})
			}
		}
	}
	d.lines = append(d.lines,
		helpLine{heading: "Signs"},
		helpLine{key: "▲C  ●W  ○N", words: "alarm priorities: critical, warning, notice"},
		helpLine{key: "grey values", words: "older than they should be; the age stands beside them"},
		helpLine{heading: "Mouse"},
		helpLine{key: "click, wheel", words: "focus a pane, choose a row, scroll; shift (option on a Mac) selects text"},
	)
	return d
}

// Title says where the person is.
func (d *HelpDialog) Title() string { return "Help: " + d.where }

// Size takes most of the screen.
func (d *HelpDialog) Size(w, h int) (int, int) { return min(76, w-4), min(len(d.lines)+2, h-2) }

// Draw draws the part that fits.
func (d *HelpDialog) Draw(r terminal.Region, v pane.View) {
	w, h := r.Size()
	rows := max(h-1, 1)
	d.scroll = min(max(d.scroll, 0), max(len(d.lines)-rows, 0))
	for y := 0; y < rows && d.scroll+y < len(d.lines); y++ {
		line := d.lines[d.scroll+y]
		if line.heading != "" {
			r.PutIn(0, y, w, line.heading, v.Palette.Style(themes.Title), v.ASCII)
			continue
		}
		r.PutIn(1, y, 17, line.key, v.Palette.Style(themes.Key), v.ASCII)
		r.PutIn(19, y, w-19, line.words, v.Palette.Style(themes.Text), v.ASCII)
	}
	keyLine(r, h-1, v, "↓ ↑", "scroll", "esc", "back")
}

// Key scrolls or closes.
func (d *HelpDialog) Key(k tea.KeyMsg, keys keymap.Map) Result {
	if a, _, _ := keys.Match(k.String(), keymap.Dialog); a == keymap.Dismiss || a == keymap.Accept {
		return Result{Close: true}
	}
	switch a, _, _ := keys.Match(k.String(), keymap.List, keymap.Global); a {
	case keymap.Help, keymap.Quit:
		return Result{Close: true}
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
	return Result{}
}
